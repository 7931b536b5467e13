//! Reads all rows once, wherever they are: load, process, merge.
//!
//! A [`Sweep`] describes what to compute, and can be sent to another process that holds rows. There it is prepared once
//! ([`Sweep::prepare`]) and run over any [`Piece`] of the rows. A piece knows its position in the whole data set, so
//! random draws belong to rows, not to pieces. The results are returned as [`Tree`]s, which give the same bits in
//! whatever order they are joined. An [`Engine`] does nothing else; [`Threads`] is the engine for rows in memory.
//!
//! ```
//! use mixtura::sweep::{CHUNK_ROWS, Crew, Engine, Piece, Sweep, Tree};
//! use mixtura::{Error, Gmm, Rows, Source};
//!
//! /// Rows in several parts, each a whole number of chunks long except the last.
//! struct Parts<'a> {
//!     rows: Vec<Rows<'a>>,
//!     /// Keeps memory from one sweep to the next.
//!     crew: Crew<'static>,
//! }
//!
//! impl Engine for Parts<'_> {
//!     fn sweep<S: Sweep>(&self, sweep: &S) -> Result<S::Tally, Error> {
//!         let prepared = sweep.prepare()?;
//!         let (mut tree, mut first_row) = (Tree::new(), 0);
//!         for rows in &self.rows {
//!             tree.join(self.crew.run(&prepared, Piece::at(rows, first_row)?)?)?;
//!             first_row += rows.n_rows() as u64;
//!         }
//!         tree.finish()?.ok_or(Error::NoRows)
//!     }
//! }
//!
//! let values: Vec<f64> = (0..3000).map(|n| f64::from(n % 7) + 10.0 * f64::from(n % 2)).collect();
//! let (left, right) = values.split_at(2 * CHUNK_ROWS);
//! let rows = vec![Rows::from_slice(left, 1)?, Rows::from_slice(right, 1)?];
//! let parts = Parts { rows, crew: Crew::default() };
//! let in_parts = Gmm::new(2).fit_source(&Source::new(parts)?)?;
//! let at_once = Gmm::new(2).fit(&Rows::from_slice(&values, 1)?)?;
//! assert_eq!(in_parts.model, at_once.model);
//! # Ok::<(), mixtura::Error>(())
//! ```

mod answer;
mod crew;
mod engine;
mod hints;
mod picks;
mod piece;
mod source;
mod spread;
mod summary;
mod tree;
mod values;

use serde::Serialize;
use serde::de::DeserializeOwned;

pub use answer::answer;
pub use crew::Crew;
pub use engine::{Engine, Threads};
pub use hints::Hints;
pub use piece::{CHUNK_ROWS, Chunk, Piece};
pub use source::Source;
pub use summary::{FarValue, Summary};
pub use tree::{Merge, Tree};

pub(crate) use piece::CHUNK_BLOCKS;
pub(crate) use values::check_rows;

use crate::Error;

/// Something to compute by reading all rows once, in the form in which it is sent to an engine.
pub trait Sweep: Serialize + DeserializeOwned + Send + Sync + 'static {
    /// The result.
    type Tally: Merge + Serialize + DeserializeOwned + 'static;
    /// The sweep, ready to run.
    type Prepared: Prepared<Tally = Self::Tally>;

    /// Its name, by which a worker that receives it knows what it is (see [`answer`]).
    const NAME: &'static str;

    /// Prepares the sweep. Done once per process, however many pieces it runs over.
    fn prepare(&self) -> Result<Self::Prepared, Error>;
}

/// A sweep that is ready to run over chunks of rows, on several threads at once.
pub trait Prepared: Sync {
    /// The result.
    type Tally: Merge + 'static;
    /// The buffers of one thread. Kept from chunk to chunk, and from one sweep to the next.
    type Workspace: Send + 'static;

    /// A workspace for chunks of up to `n_blocks` blocks of 16 rows.
    fn workspace(&self, n_blocks: usize) -> Self::Workspace;

    /// Whether a workspace from an earlier sweep can be reused.
    fn fits(&self, _workspace: &Self::Workspace) -> bool {
        true
    }

    /// The result over no rows.
    fn tally(&self) -> Self::Tally;

    /// Clears a result from an earlier sweep to reuse its memory; false if it has a different shape.
    fn clear(&self, _tally: &mut Self::Tally) -> bool {
        false
    }

    /// Adds the rows of a chunk to a result.
    fn add(&self, chunk: &Chunk<'_>, workspace: &mut Self::Workspace, tally: &mut Self::Tally) -> Result<(), Error>;
}
