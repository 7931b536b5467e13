//! Compares EM and SEM from the same starts, round by round.

mod difference;
mod digest;
mod files;
mod operations;
pub(crate) mod page;
mod progress;
mod publication;
mod run;
mod summary;
mod timing;
mod words;

pub use difference::{Difference, RoundDifferences};
pub use digest::{Differences, Repairs, StartDigest};
pub use files::Files;
pub use operations::Operations;
pub use page::{PageSettings, page};
pub use progress::{Progress, Watcher};
pub use publication::Publication;
pub use run::{Answer, BoundRound, Held, StartResult, Statements, Trace};
pub use summary::{BoundSummary, Counts, Outcome, Outcomes, StartBounds, StartSummary, Summary};
pub use timing::Timing;

use mixtura::driver::Problem;
use mixtura::sweep::Threads;
use mixtura::{Algorithm, Error, FullGaussian, Mixture, Options, Rows, Source, Start};
use serde::Serialize;

use self::progress::Meter;
use self::run::Runner;

/// The plan of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Plan {
    /// K.
    pub n_components: usize,
    /// Number of starts, at least 1.
    pub starts: u64,
    /// Runs of SEM from each start, at least 1.
    pub runs: u64,
    /// Number of these runs that are compared with EM's update and the bounds in every round.
    pub bound_runs: u64,
    /// Number of starts for which this is done.
    pub bound_starts: u64,
    /// Rounds of each run, at least 1.
    pub rounds: u64,
    /// How the starts are chosen.
    #[serde(skip)]
    pub start: Start<FullGaussian>,
    /// Random seed.
    pub seed: u64,
    /// Variance floor, in units of the squared robust column scale.
    pub regularization: f64,
    /// Confidence that all bounds of a round hold simultaneously.
    pub confidence: f64,
    /// Log-likelihoods count as equal if they differ by less than this, in nats per row.
    pub equal_within: f64,
    /// Whether `auto` is run from each start as well.
    pub auto: bool,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            n_components: 1,
            starts: 5,
            runs: 5,
            bound_runs: 1,
            bound_starts: u64::MAX,
            rounds: 50,
            start: Start::KmeansPlusPlus,
            seed: 0,
            regularization: Options::default().regularization,
            confidence: 0.99,
            equal_within: 1e-3,
            auto: false,
        }
    }
}

/// The results of a comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// The plan.
    pub plan: Plan,
    /// N.
    pub n_rows: usize,
    /// D.
    pub n_columns: usize,
    /// Δ_d, in the units of the comparison.
    pub spread: Vec<f64>,
    /// Number of threads.
    pub n_threads: usize,
    /// Rounds of both algorithms timed in turn, if that was done; else times are those of the runs.
    pub timing: Option<Timing>,
    /// The results of each start; fewer than planned if the comparison was stopped.
    pub starts: Vec<StartDigest>,
}

impl Plan {
    /// Validates the plan.
    pub fn check(&self) -> Result<(), Error> {
        let counts = [("starts", self.starts), ("runs", self.runs), ("rounds", self.rounds)];
        for (option, value) in counts {
            if value == 0 {
                return Err(Error::Option { option, expected: "at least 1", value: "0".into() });
            }
        }
        if self.bound_runs > self.runs {
            let value = self.bound_runs.to_string();
            return Err(Error::Option { option: "bound runs", expected: "at most the number of runs", value });
        }
        self.options(Algorithm::Em).check()
    }

    /// Exactly `rounds` rounds of an algorithm.
    fn options(&self, algorithm: Algorithm) -> Options {
        Options::default()
            .algorithm(algorithm)
            .rounds(self.rounds)
            .tolerance(0.0)
            .seed(self.seed)
            .regularization(self.regularization)
    }

    /// The model that a start gives both algorithms.
    fn initial(&self, source: &Source<Threads<'_>>, start: u64) -> Result<Mixture<FullGaussian>, Error> {
        // Each start has its own seed, so that start 3 of five equals start 3 of thirty.
        let options = self.options(Algorithm::Em).seed(self.seed.wrapping_add(start));
        Problem::new(source, self.n_components, self.start.clone(), options)?.first_model(0)
    }
}

/// Runs a comparison start by start.
pub struct Comparer<'a> {
    rows: &'a Rows<'a>,
    source: Source<Threads<'a>>,
    plan: &'a Plan,
    meter: Meter<'a>,
}

impl<'a> Comparer<'a> {
    /// Prepares a comparison, with one pass over the rows.
    pub fn new(rows: &'a Rows<'a>, plan: &'a Plan, watcher: &'a dyn Watcher) -> Result<Self, Error> {
        plan.check()?;
        let source = Source::new(Threads::new(rows).with_stop(|| watcher.is_stopped()))?;
        if plan.bound_runs > 0 && source.summary().weighted {
            return Err(Error::Weighted { what: "bounds" });
        }
        Ok(Self { rows, source, plan, meter: Meter::new(plan, watcher) })
    }

    /// Runs both algorithms from one start, counted from 0; `None` if stopped.
    pub fn start(&self, start: u64) -> Result<Option<StartResult>, Error> {
        let Self { source, plan, meter, .. } = self;
        let run = || Runner { source, plan, meter, start }.run(&self.plan.initial(source, start)?);
        match run() {
            // A start that was stopped at any point is not finished.
            Err(Error::Interrupted) => Ok(None),
            other => other,
        }
    }

    /// Marks a start as already done, for the estimate of the time left.
    pub fn skip(&self, start: u64) {
        self.meter.skip_start(self.plan, start);
    }

    /// The constant added to log-likelihoods: the logarithm of the volume factor between the units of the comparison
    /// and those of the data.
    pub fn ln_volume(&self) -> f64 {
        self.rows.normalization().map_or(0.0, mixtura::rows::Normalization::ln_volume)
    }

    /// Condenses the results of a start.
    pub fn digest(&self, start: &StartResult) -> StartDigest {
        StartDigest::of(start, self.ln_volume(), self.plan.equal_within)
    }

    /// The results of all starts.
    pub fn comparison(&self, starts: Vec<StartDigest>) -> Comparison {
        let summary = self.source.summary();
        Comparison {
            plan: self.plan.clone(),
            n_rows: self.rows.n_rows(),
            n_columns: self.rows.n_columns(),
            spread: summary.maximum.iter().zip(&summary.minimum).map(|(max, min)| max - min).collect(),
            n_threads: rayon::current_num_threads(),
            timing: None,
            starts,
        }
    }
}

/// Runs both algorithms from all starts, and passes each start with all its runs to `each`. Ends early, with the
/// finished starts, if the watcher requests it.
///
/// Time per start: `rounds` rounds of EM and `runs · rounds` rounds of SEM, and for each of the `bound_runs` one
/// measurement of the theorems' quantities per round, each as long as about three rounds of EM. Everything except
/// the times is the same for any number of threads.
pub fn compare(
    rows: &Rows<'_>,
    plan: &Plan,
    watcher: &dyn Watcher,
    mut each: impl FnMut(u64, &StartResult),
) -> Result<Comparison, Error> {
    let comparer = Comparer::new(rows, plan, watcher)?;
    let mut digests = Vec::new();
    for number in 0..plan.starts {
        let Some(start) = comparer.start(number)? else { break };
        each(number, &start);
        digests.push(comparer.digest(&start));
    }
    Ok(comparer.comparison(digests))
}
