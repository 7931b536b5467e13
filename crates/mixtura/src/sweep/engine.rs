//! The interface to rows held elsewhere: an engine runs sweeps over them.

use super::{Crew, Hints, Piece, Sweep};
use crate::{Error, Rows};

/// Holds the rows: threads of this machine, a stream from a file, the machines of a cluster.
///
/// An engine runs a [`Sweep`] over all its pieces, using [`Crew::run`] wherever they are, and joins their
/// [`Tree`](super::Tree)s. This is all a fit needs: the summary of the columns, samples, single rows, passes and the
/// theorems' deviations are all sweeps. Every engine gives the same results for the same rows: bit for bit if pieces
/// are cut at multiples of [`CHUNK_ROWS`](super::CHUNK_ROWS), otherwise the same labels in each pass, and sums that agree up to
/// rounding.
pub trait Engine: Sync {
    /// Runs a sweep over all rows. Returns [`Error::Interrupted`] if it was stopped, and [`Error::NoRows`] if there are
    /// no rows.
    fn sweep<S: Sweep>(&self, sweep: &S) -> Result<S::Tally, Error>;

    /// Whether work should end as soon as possible. Checked during long work between sweeps.
    fn is_stopped(&self) -> bool {
        false
    }
}

/// An engine over rows in memory, on the threads of this machine.
pub struct Threads<'a> {
    rows: &'a Rows<'a>,
    crew: Crew<'a>,
    hints: Hints,
}

impl<'a> Threads<'a> {
    /// Uses the current rayon pool.
    pub fn new(rows: &'a Rows<'a>) -> Self {
        Self { rows, crew: Crew::default(), hints: Hints::new(rows.n_rows()) }
    }

    /// Ends sweeps early; see [`Crew::with_stop`].
    #[must_use]
    pub fn with_stop(self, stop: impl Fn() -> bool + Send + Sync + 'a) -> Self {
        Self { crew: self.crew.with_stop(stop), ..self }
    }
}

impl Engine for Threads<'_> {
    fn sweep<S: Sweep>(&self, sweep: &S) -> Result<S::Tally, Error> {
        let piece = Piece { hints: Some(&self.hints), ..Piece::of(self.rows) };
        self.crew.run(&sweep.prepare()?, piece)?.finish()?.ok_or(Error::NoRows)
    }

    fn is_stopped(&self) -> bool {
        self.crew.is_stopped()
    }
}
