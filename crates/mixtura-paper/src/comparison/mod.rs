//! Compares EM and SEM from the same starts, round by round.

mod difference;
mod digest;
mod files;
pub(crate) mod page;
mod progress;
mod publication;
mod run;
mod summary;

pub use difference::{Difference, RoundDifferences};
pub use digest::{Differences, Repairs, StartDigest};
pub use files::Files;
pub use page::{PageSettings, page};
pub use progress::{Progress, Watcher};
pub use publication::Publication;
pub use run::{BoundRound, StartResult, Trace};
pub use summary::{Outcome, Summary};

use mixtura::driver::Quiet;
use mixtura::family::Floor;
use mixtura::pass::{Source, Threads};
use mixtura::{Algorithm, Error, FullGaussian, Mixture, Options, Rows, Start};
use serde::Serialize;

use self::progress::Meter;
use self::run::Runner;

/// What is compared, and how often.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Plan {
    /// K.
    pub n_components: usize,
    /// Number of starts, at least 1.
    pub starts: u64,
    /// Runs of SEM from each start, at least 1.
    pub runs: u64,
    /// How many of them are compared with EM's update and the theorems' bounds in each round.
    pub bound_runs: u64,
    /// From how many starts.
    pub bound_starts: u64,
    /// Rounds of each run, at least 1.
    pub rounds: u64,
    /// Where the starts come from.
    #[serde(skip)]
    pub start: Start<FullGaussian>,
    /// Seed of all random draws.
    pub seed: u64,
    /// Least variance in units of the squared robust column scale.
    pub regularization: f64,
    /// With which all statements of the theorems hold at once in a round.
    pub confidence: f64,
    /// Log-likelihoods that differ by less, in nats per row, count as equal.
    pub equal_within: f64,
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
        }
    }
}

/// What a comparison found.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// What was asked for.
    pub plan: Plan,
    /// N.
    pub n_rows: usize,
    /// D.
    pub n_columns: usize,
    /// Δ_d, in the units that were compared in.
    pub spread: Vec<f64>,
    /// Threads that it ran on.
    pub n_threads: usize,
    /// What came of each start. Fewer than asked for if it was stopped.
    pub starts: Vec<StartDigest>,
}

impl Plan {
    /// Refuses what cannot be compared.
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
        Options::default().algorithm(algorithm).rounds(self.rounds).tolerance(0.0).seed(self.seed).regularization(self.regularization)
    }

    /// The model that a start gives both algorithms.
    fn initial(&self, engine: &Threads<'_, FullGaussian>, start: u64) -> Result<Mixture<FullGaussian>, Error> {
        // The seed of a start is its own, so that start 3 of five is start 3 of thirty.
        let options = self.options(Algorithm::Em).rounds(0).seed(self.seed.wrapping_add(start));
        Ok(mixtura::fit(engine, self.n_components, &self.start, &options, &Quiet)?.model)
    }
}

/// Compares start by start.
pub struct Comparer<'a> {
    rows: &'a Rows<'a>,
    engine: Threads<'a, FullGaussian>,
    plan: &'a Plan,
    floor: Floor,
    meter: Meter<'a>,
}

impl<'a> Comparer<'a> {
    /// Looks at the rows once.
    pub fn new(rows: &'a Rows<'a>, plan: &'a Plan, watcher: &'a dyn Watcher) -> Result<Self, Error> {
        plan.check()?;
        let engine = Threads::new(rows)?.with_stop(|| watcher.is_stopped());
        if plan.bound_runs > 0 && engine.is_weighted() {
            return Err(Error::Weighted { what: "bounds" });
        }
        let floor = Floor::new(engine.summary(), plan.regularization, 0.0);
        Ok(Self { rows, engine, plan, floor, meter: Meter::new(plan, watcher) })
    }

    /// Both algorithms from one start, counted from 0; nothing if stopped.
    pub fn start(&self, start: u64) -> Result<Option<StartResult>, Error> {
        let Self { engine, plan, floor, meter, .. } = self;
        let run = || Runner { engine, plan, floor, meter, start }.run(&self.plan.initial(engine, start)?);
        match run() {
            // A start that was stopped anywhere on its way was not finished.
            Err(Error::Interrupted) => Ok(None),
            other => other,
        }
    }

    /// Says that a start is known already, for the sake of the time left.
    pub fn skip(&self, start: u64) {
        self.meter.skip_start(self.plan, start);
    }

    /// What is added to likelihoods: ln of the volume that a unit of the compared units has in the data's.
    pub fn ln_volume(&self) -> f64 {
        self.rows.normalization().map_or(0.0, mixtura::rows::Normalization::ln_volume)
    }

    /// All starts together.
    pub fn comparison(&self, starts: Vec<StartDigest>) -> Comparison {
        let summary = self.engine.summary();
        Comparison {
            plan: self.plan.clone(),
            n_rows: self.rows.n_rows(),
            n_columns: self.rows.n_columns(),
            spread: summary.maximum.iter().zip(&summary.minimum).map(|(max, min)| max - min).collect(),
            n_threads: rayon::current_num_threads(),
            starts,
        }
    }
}

/// Runs both algorithms from all starts, and shows each to `each` with all its runs. Ends early, with the
/// starts that are done, if the watcher says so.
///
/// Time: for each start `rounds` rounds of EM and `runs · rounds` of SEM, and for each of its `bound_runs`
/// as many measurements of the theorems' quantities, about three rounds of EM each. All but the times is the
/// same for any number of threads.
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
        digests.push(StartDigest::of(&start, comparer.ln_volume()));
    }
    Ok(comparer.comparison(digests))
}
