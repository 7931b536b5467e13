//! Runs a sweep that arrives by name, for workers in other processes.

use serde::{Deserializer, Serialize, Serializer};

use super::picks::{ByWeight, Distinct, Picks, Share, WeighChunks};
use super::summary::Columns;
use super::values::Values;
use super::{Crew, Piece, Sweep, Tree};
use crate::Error;
use crate::family::Family;
use crate::pass::{DeviationsPass, Pass};

/// Runs the sweep called `name` over a piece, and writes its [`Tree`], for a fit of family `F`.
///
/// This is the other side of an [`Engine`](super::Engine) whose rows are in several processes: the engine sends
/// [`Sweep::NAME`] and the serialized sweep to each of them, and joins the trees that come back. Use a format that keeps
/// every bit of a float; `serde_json` does with its feature `float_roundtrip`.
///
/// ```
/// use mixtura::sweep::{Crew, Engine, Piece, Sweep, Tree, answer};
/// use mixtura::{Error, FullGaussian, Gmm, Rows, Source};
///
/// /// A process with some of the rows: bytes in, bytes out.
/// struct Worker<'a> { rows: Rows<'a>, first_row: u64, first_chunk: u64 }
///
/// impl Worker<'_> {
///     fn answer(&self, name: &str, request: &str) -> Result<String, Error> {
///         let piece = Piece { rows: &self.rows, first_row: self.first_row, first_chunk: self.first_chunk, hints: None };
///         let (mut request, mut out) = (serde_json::Deserializer::from_str(request), Vec::new());
///         answer::<FullGaussian, _, _>(name, &mut request, piece, &Crew::default(), &mut serde_json::Serializer::new(&mut out))?;
///         Ok(String::from_utf8(out).unwrap())
///     }
/// }
///
/// struct Cluster<'a>(Vec<Worker<'a>>);
///
/// impl Engine for Cluster<'_> {
///     fn sweep<S: Sweep>(&self, sweep: &S) -> Result<S::Tally, Error> {
///         let request = serde_json::to_string(sweep).unwrap();
///         let mut tree = Tree::new();
///         for worker in &self.0 {
///             let answer = worker.answer(S::NAME, &request)?;
///             tree.join(serde_json::from_str::<Tree<S::Tally>>(&answer).unwrap())?;
///         }
///         tree.finish()?.ok_or(Error::NoRows)
///     }
/// }
///
/// let values: Vec<f64> = (0..3000).map(|n| f64::from(n % 7) + 10.0 * f64::from(n % 2)).collect();
/// // Cut anywhere: chunk numbers of a piece follow those of the piece before.
/// let first = Worker { rows: Rows::from_slice(&values[..1500], 1)?, first_row: 0, first_chunk: 0 };
/// let second = Worker { rows: Rows::from_slice(&values[1500..], 1)?, first_row: 1500, first_chunk: 2 };
/// let fit = Gmm::new(2).fit_source(&Source::new(Cluster(vec![first, second]))?)?;
/// assert!(fit.termination.has_converged());
/// # Ok::<(), mixtura::Error>(())
/// ```
pub fn answer<'de, F: Family, D: Deserializer<'de>, S: Serializer>(
    name: &str,
    request: D,
    piece: Piece<'_>,
    crew: &Crew<'_>,
    out: S,
) -> Result<S::Ok, Error> {
    macro_rules! named {
        ($($sweep:ty)*) => {
            match name {
                $(<$sweep>::NAME => run::<$sweep, D, S>(request, piece, crew, out),)*
                _ => Err(Error::Request { name: name.into(), reason: "unknown".into() }),
            }
        };
    }
    named!(Columns Picks Share WeighChunks ByWeight Distinct Values<F> Pass<F> DeviationsPass<F>)
}

fn run<'de, W: Sweep, D: Deserializer<'de>, S: Serializer>(
    request: D,
    piece: Piece<'_>,
    crew: &Crew<'_>,
    out: S,
) -> Result<S::Ok, Error> {
    let refused = |reason: String| Error::Request { name: W::NAME.into(), reason };
    let sweep = W::deserialize(request).map_err(|error| refused(error.to_string()))?;
    let tree: Tree<W::Tally> = crew.run(&sweep.prepare()?, piece)?;
    tree.serialize(out).map_err(|error| refused(error.to_string()))
}
