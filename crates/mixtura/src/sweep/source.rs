//! Combines an engine with a summary of its columns, and fetches rows through it.

use super::{CHUNK_ROWS, Engine, Summary, Sweep, Threads, picks};
use crate::random::Generator;
use crate::{Error, Rows};

/// Rows behind an engine, with a summary of their columns.
///
/// ```
/// use mixtura::{Rows, Source};
///
/// let rows = Rows::from_slice(&[0.0, 1.0, 2.0, 3.0], 1)?;
/// let source = Source::of(&rows)?;
/// assert_eq!((source.summary().n_rows, source.summary().mean[0]), (4, 1.5));
/// assert_eq!(source.pick(&[2, 0])?.row(0), [2.0]);
/// # Ok::<(), mixtura::Error>(())
/// ```
pub struct Source<E> {
    engine: E,
    summary: Summary,
}

impl<'a> Source<Threads<'a>> {
    /// Rows in memory, on the threads of this machine.
    pub fn of(rows: &'a Rows<'a>) -> Result<Self, Error> {
        Self::new(Threads::new(rows))
    }

    /// Ends sweeps early, with [`Error::Interrupted`], when `stop` returns true; see [`Crew::with_stop`](super::Crew).
    ///
    /// ```
    /// use std::sync::atomic::{AtomicBool, Ordering};
    ///
    /// use mixtura::{Error, Gmm, Rows, Source};
    ///
    /// let rows = Rows::from_slice(&[0.0, 0.1, 0.2, 5.0, 5.1, 5.2], 1)?;
    /// let flag = AtomicBool::new(true);
    /// let source = Source::of(&rows)?.with_stop(|| flag.load(Ordering::Relaxed));
    /// assert_eq!(Gmm::new(2).fit_source(&source).unwrap_err(), Error::Interrupted);
    /// # Ok::<(), mixtura::Error>(())
    /// ```
    #[must_use]
    pub fn with_stop(self, stop: impl Fn() -> bool + Send + Sync + 'a) -> Self {
        Self { engine: self.engine.with_stop(stop), ..self }
    }
}

impl<E: Engine> Source<E> {
    /// Rows of any engine. Cost: two or three sweeps.
    pub fn new(engine: E) -> Result<Self, Error> {
        let summary = Summary::measure(&engine)?;
        Ok(Self { engine, summary })
    }

    /// Rows of an engine whose columns were summarized before.
    pub fn summarized(engine: E, summary: Summary) -> Self {
        Self { engine, summary }
    }

    /// The engine.
    pub fn engine(&self) -> &E {
        &self.engine
    }

    /// The summary of the columns.
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// Runs a sweep over all rows.
    pub fn sweep<S: Sweep>(&self, sweep: &S) -> Result<S::Tally, Error> {
        self.engine.sweep(sweep)
    }

    /// Number of columns.
    pub fn n_columns(&self) -> usize {
        self.summary.mean.len()
    }

    /// Number of chunks in the data set.
    pub fn n_chunks(&self) -> usize {
        self.summary.n_rows.div_ceil(CHUNK_ROWS)
    }

    /// Refuses a model with a different number of columns.
    pub(crate) fn check_width(&self, n_model: usize) -> Result<(), Error> {
        let n_data = self.n_columns();
        if n_model == n_data { Ok(()) } else { Err(Error::Width { n_model, n_data }) }
    }

    /// Copies the rows with these numbers, with their weights.
    pub fn pick(&self, rows: &[u64]) -> Result<Rows<'static>, Error> {
        picks::pick(&self.engine, rows, self.summary.weighted)
    }

    /// At most `n` representative rows: every row of positive weight if there are no more than `n` rows. Otherwise one
    /// row drawn from each of `n` equal shares of the total weight, in row order, without weights.
    pub fn sample(&self, n: usize, generator: &mut Generator) -> Result<Rows<'static>, Error> {
        picks::sample(&self.engine, self.summary.n_rows as u64, self.summary.weighted, n, generator)
    }

    /// A random sample that has about this share of the rows, with their weights, in row order; rows of weight 0 are
    /// left out. With the same seed, smaller samples are part of larger ones.
    ///
    /// ```
    /// use mixtura::{Rows, Source};
    ///
    /// let values: Vec<f64> = (0..1000).map(f64::from).collect();
    /// let rows = Rows::from_slice(&values, 1)?;
    /// let sample = Source::of(&rows)?.share(0.1, 7)?;
    /// assert!((50..150).contains(&sample.n_rows()));
    /// # Ok::<(), mixtura::Error>(())
    /// ```
    pub fn share(&self, share: f64, seed: u64) -> Result<Rows<'static>, Error> {
        picks::share(&self.engine, share, seed, self.summary.weighted)
    }

    /// Numbers of the first rows of positive weight that differ from all previous rows, at most `limit`.
    pub fn distinct(&self, limit: usize) -> Result<Vec<u64>, Error> {
        picks::distinct(&self.engine, self.summary.n_rows as u64, limit)
    }

    /// Whether work on the rows should end as soon as possible.
    pub fn is_stopped(&self) -> bool {
        self.engine.is_stopped()
    }

    /// Returns [`Error::Interrupted`] if work should end.
    pub fn check_stopped(&self) -> Result<(), Error> {
        if self.is_stopped() { Err(Error::Interrupted) } else { Ok(()) }
    }
}
