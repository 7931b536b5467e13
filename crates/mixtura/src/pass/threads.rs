//! Runs passes over rows in memory, on the threads of this machine.

use std::collections::HashSet;
use std::sync::{Mutex, OnceLock};

use super::near::{Hints, Search};
use super::worker::{CHUNK_ROWS, Shared, Worker, least_exponent};
use super::{
    Assignment, Deviations, DeviationsPass, Engine, Pass, Precision, Source, Tally, all_or_none, deviations,
    merge_in_order,
};
use crate::family::{Family, check_values};
use crate::kernels::InstructionSet;
use crate::random::Generator;
use crate::rows::Summary;
use crate::{Error, Rows};

/// Largest value of a family whose values are not centred.
const LARGEST_VALUE: f64 = 1e290;

/// An engine over rows in memory. Memory: the rows, and buffers of a few chunks.
///
/// It runs on the rayon pool it is called in; the number of threads changes no bit of the result.
pub struct Threads<'a, F: Family> {
    rows: &'a Rows<'a>,
    summary: Summary,
    set: InstructionSet,
    workers: Mutex<Vec<Worker<F>>>,
    tallies: Mutex<Vec<(usize, Tally<F::Moments>)>>,
    hints: OnceLock<Hints>,
    searches: bool,
    stop: Option<Box<dyn Fn() -> bool + Send + Sync + 'a>>,
}

impl<'a, F: Family> Threads<'a, F> {
    /// Looks at the columns once; refuses values that no row of the family can have.
    pub fn new(rows: &'a Rows<'a>) -> Result<Self, Error> {
        Self::build(rows, None)
    }

    /// The same with a stop (see [`Self::with_stop`]) that is asked while the columns are looked at, too.
    pub fn stoppable(rows: &'a Rows<'a>, stop: impl Fn() -> bool + Send + Sync + 'a) -> Result<Self, Error> {
        Self::build(rows, Some(Box::new(stop)))
    }

    fn build(rows: &'a Rows<'a>, stop: Option<Box<dyn Fn() -> bool + Send + Sync + 'a>>) -> Result<Self, Error> {
        check_values::<F>(rows, 0..rows.n_rows())?;
        let mut summary = Summary::of_unless(rows, &|| stop.as_ref().is_some_and(|stop| stop()))?;
        if !F::CENTRED {
            summary.centre.fill(0.0);
            // Values as they are: their products with logarithms must stay finite.
            if let Some(column) = summary.maximum.iter().position(|&maximum| maximum > LARGEST_VALUE) {
                let (minimum, maximum) = (summary.minimum[column], summary.maximum[column]);
                return Err(Error::Overflow { column, minimum, maximum });
            }
        }
        Ok(Self {
            rows,
            summary,
            set: InstructionSet::detect(),
            workers: Mutex::default(),
            tallies: Mutex::default(),
            hints: OnceLock::new(),
            searches: true,
            stop,
        })
    }

    /// Ends passes early, with [`Error::Interrupted`], once `stop` says so. It is asked before every chunk of
    /// 1024 rows, by all threads, so it should be cheap: the load of an atomic flag.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicBool, Ordering};
    ///
    /// use mixtura::driver::Quiet;
    /// use mixtura::pass::Threads;
    /// use mixtura::{Error, FullGaussian, Options, Rows, Start, fit};
    ///
    /// let rows = Rows::from_slice(&[0.0, 0.1, 0.2, 5.0, 5.1, 5.2], 1)?;
    /// let flag = AtomicBool::new(true);
    /// let engine = Threads::<FullGaussian>::new(&rows)?.with_stop(|| flag.load(Ordering::Relaxed));
    /// let fitted = fit(&engine, 2, &Start::KmeansPlusPlus, &Options::default(), &Quiet);
    /// assert_eq!(fitted.unwrap_err(), Error::Interrupted);
    /// # Ok::<(), mixtura::Error>(())
    /// ```
    #[must_use]
    pub fn with_stop(self, stop: impl Fn() -> bool + Send + Sync + 'a) -> Self {
        Self { stop: Some(Box::new(stop)), ..self }
    }

    /// Computes every component for every row, even where most cannot count: the plain version of a pass.
    #[must_use]
    pub fn without_search(self) -> Self {
        Self { searches: false, ..self }
    }

    fn chunk(&self, shared: &Shared<'_, F>, components: &F, chunk: usize) -> Tally<F::Moments> {
        let n_components = shared.n_components;
        let worker = take(&self.workers, |worker| worker.fits(n_components));
        let mut worker = worker.unwrap_or_else(|| Worker::new(components, self.rows.n_blocks()));
        let tally = take(&self.tallies, |(n, _)| *n == n_components).map(|(_, tally)| tally);
        let mut tally = tally.unwrap_or_else(|| Tally::new(n_components, components.no_moments()));
        (tally.weight, tally.ln_likelihood, tally.ln_best_posterior) = (0.0, 0.0, 0.0);
        tally.squared_weights.fill(0.0);
        F::reset_moments(shared.prepared, &mut tally.moments);
        worker.run(shared, chunk, &mut tally);
        give(&self.workers, worker);
        tally
    }
}

/// Takes a buffer off the shelf if it fits; one of another shape is dropped.
fn take<T>(shelf: &Mutex<Vec<T>>, fits: impl Fn(&T) -> bool) -> Option<T> {
    shelf.lock().expect("invariant: no worker panics").pop().filter(fits)
}

fn give<T>(shelf: &Mutex<Vec<T>>, item: T) {
    shelf.lock().expect("invariant: no worker panics").push(item);
}

impl<F: Family> Source for Threads<'_, F> {
    fn summary(&self) -> &Summary {
        &self.summary
    }

    fn is_weighted(&self) -> bool {
        self.rows.weights().is_some()
    }

    fn gather(&self, rows: &[usize]) -> Result<Rows<'static>, Error> {
        Ok(self.rows.gather(rows))
    }

    fn sample(&self, n: usize, generator: &mut Generator) -> Result<Rows<'static>, Error> {
        Ok(self.rows.sample(n, generator))
    }

    fn is_stopped(&self) -> bool {
        self.stop.as_ref().is_some_and(|stop| stop())
    }

    fn distinct(&self, limit: usize) -> Result<Vec<usize>, Error> {
        let mut seen: HashSet<Vec<u64>> = HashSet::new();
        let mut rows = Vec::new();
        let mut row = vec![0.0; self.rows.n_columns()];
        for n in (0..self.rows.n_rows()).filter(|&n| self.rows.weight(n) > 0.0) {
            if rows.len() == limit {
                break;
            }
            self.rows.row_into(n, &mut row);
            // Adding 0 makes −0 and 0 the same value.
            if seen.insert(row.iter().map(|x| (x + 0.0).to_bits()).collect()) {
                rows.push(n);
            }
        }
        Ok(rows)
    }
}

impl<F: Family> Engine<F> for Threads<'_, F> {
    fn run(&self, pass: &Pass<F>) -> Result<Tally<F::Moments>, Error> {
        let components = &pass.model.components;
        if components.n_columns() != self.rows.n_columns() {
            return Err(Error::Width { n_model: components.n_columns(), n_data: self.rows.n_columns() });
        }
        let prepared = components.prepare(&pass.model.weights, &pass.centre)?;
        let is_narrow = pass.precision == Precision::Certified && matches!(pass.assignment, Assignment::Sampled(_));
        let narrow = if is_narrow { F::narrow_bound(&prepared) } else { None };
        let mut shared = Shared {
            search: None,
            narrow: narrow.map(|bound| bound.with_roundings(self.set.n_roundings())),
            rows: self.rows,
            prepared: &prepared,
            loader: self.rows.loader(&pass.data_centre()),
            n_components: components.n_components(),
            least: pass.model.weights.iter().map(|&weight| least_exponent(weight)).collect(),
            assignment: pass.assignment,
            split_counts: matches!(pass.assignment, Assignment::Sampled(_))
                && self.is_weighted()
                && self.summary.whole_weights,
            set: self.set,
        };
        if F::SEARCHES
            && self.searches
            && !shared.split_counts
            && !matches!(pass.assignment, Assignment::Given | Assignment::Evaluate)
        {
            shared.search = Search::new(&shared, components, &pass.centre, &self.hints);
        }
        let chunk = |chunk: usize| {
            self.check_stopped()?;
            Ok(self.chunk(&shared, components, chunk))
        };
        merge_in_order(
            self.n_chunks(),
            &chunk,
            &all_or_none(|left: &mut Tally<F::Moments>, right: Tally<F::Moments>| {
                left.merge(&right);
                give(&self.tallies, (shared.n_components, right));
            }),
        )
    }

    fn deviations(&self, pass: &DeviationsPass<F>) -> Result<Deviations, Error> {
        deviations::sweep(self.rows, pass, self.set, &|| self.check_stopped())
    }

    fn n_chunks(&self) -> usize {
        self.rows.n_rows().div_ceil(CHUNK_ROWS)
    }
}
