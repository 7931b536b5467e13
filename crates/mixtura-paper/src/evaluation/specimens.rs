//! Evaluates EM and SEM on many artificial mixtures with different overlap.

use mixtura::generate::{Artificial, Balance, separation};
use mixtura::{Error, FullGaussian, Rows, Start};
use serde::Serialize;

use super::Scale;
use crate::Quantiles;
use crate::comparison::{Plan, Summary, Watcher, compare};

/// Number of rows used to estimate the Bayes error.
const ROWS_FOR_ERROR: usize = 20_000;

/// An artificial mixture to evaluate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SpecimenPlan {
    /// D.
    pub n_columns: usize,
    /// K.
    pub n_components: usize,
    /// N.
    pub n_rows: usize,
    /// Whether the weights are equal.
    pub balance: Balance,
    /// Which of the parameter vectors.
    pub seed: u64,
}

impl SpecimenPlan {
    /// Multiplications per EM round as counted in the paper, 2KND².
    pub fn em_multiplications(&self) -> f64 {
        2.0 * self.sem_multiplications()
    }

    /// The same for SEM, KND².
    pub fn sem_multiplications(&self) -> f64 {
        (self.n_components * self.n_rows * self.n_columns * self.n_columns) as f64
    }
}

/// The results for an artificial mixture.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Specimen {
    /// The mixture.
    pub plan: SpecimenPlan,
    /// The median over components of the c-separation from the nearest neighbour (Dasgupta 1999): components are
    /// almost completely separated at about 2, and overlap below 1.
    pub separation: f64,
    /// The share of rows that even the true model assigns to the wrong component.
    pub bayes_error: f64,
    /// The median over columns of the range of values.
    pub spread: f64,
    /// SEM's log-likelihood minus EM's, in nats per row.
    pub gap: f64,
    /// Largest difference of matched means after the last round, in Γ_μ.
    pub mean_difference: f64,
    /// Milliseconds per EM round.
    pub em_milliseconds: f64,
    /// Milliseconds per SEM round.
    pub sem_milliseconds: f64,
}

impl Specimen {
    /// Time of an EM round divided by that of a SEM round.
    pub fn speedup(&self) -> f64 {
        self.em_milliseconds / self.sem_milliseconds
    }
}

/// The mixtures to evaluate: several D and K, several parameter vectors for each, both kinds of weights, and several
/// N for each parameter vector.
pub fn specimen_plans(scale: Scale) -> Vec<SpecimenPlan> {
    let (shapes, seeds, sizes): (&[(usize, usize)], u64, &[usize]) = match scale {
        Scale::Quick => (&[(2, 3), (5, 5), (10, 10), (20, 5)], 2, &[5_000, 50_000]),
        Scale::Full => {
            (&[(2, 3), (2, 10), (5, 5), (5, 20), (10, 3), (10, 10), (20, 10), (50, 5)], 3, &[10_000, 100_000])
        }
    };
    let mut plans = Vec::new();
    for &(n_columns, n_components) in shapes {
        for balance in [Balance::Balanced, Balance::Unbalanced] {
            for seed in 1..=seeds {
                let plan = |&n_rows| SpecimenPlan { n_columns, n_components, n_rows, balance, seed };
                plans.extend(sizes.iter().map(plan));
            }
        }
    }
    plans
}

/// Draws rows from a mixture, measures how much its components overlap, and runs 50 rounds of EM and SEM. `None` if
/// stopped.
pub fn specimen(plan: &SpecimenPlan, watcher: &dyn Watcher) -> Result<Option<Specimen>, Error> {
    let SpecimenPlan { n_columns, n_components, n_rows, balance, seed } = *plan;
    let artificial = Artificial { n_columns, n_components, balance, ..Artificial::default() };
    let truth = artificial.mixture(seed)?;
    let (values, _) = truth.sample(0..n_rows, seed)?;
    let rows = Rows::from_vec(values, n_columns)?;
    let comparing =
        Plan { n_components, starts: 1, runs: 1, bound_runs: 0, start: Start::KmeansPlusPlus, seed, ..Plan::default() };
    let comparison = compare(&rows, &comparing, watcher, |_, _| {})?;
    if comparison.starts.is_empty() {
        return Ok(None);
    }
    let summary = Summary::of(&comparison);
    let all = |of: fn(&FullGaussian, usize) -> &[f64]| -> Vec<f64> {
        (0..n_components).flat_map(|k| of(&truth.components, k).to_vec()).collect()
    };
    Ok(Some(Specimen {
        plan: *plan,
        separation: separation(&all(FullGaussian::mean), &all(FullGaussian::covariance), n_columns),
        bayes_error: bayes_error(&truth, seed)?,
        spread: Quantiles::of(comparison.spread.iter().copied()).median,
        gap: summary.starts[0].sem.median - summary.starts[0].em,
        mean_difference: summary.last_difference.matched.mean / summary.gamma_mean,
        em_milliseconds: 1e3 * summary.time.em_seconds,
        sem_milliseconds: 1e3 * summary.time.sem_seconds,
    }))
}

/// The share of rows whose most probable component is not the one they were drawn from.
fn bayes_error(truth: &mixtura::Mixture<FullGaussian>, seed: u64) -> Result<f64, Error> {
    // Separate rows: those of the fit are numbered from 0.
    const FIRST: usize = 1 << 40;
    let (values, drawn) = truth.sample(FIRST..FIRST + ROWS_FOR_ERROR, seed)?;
    let rows = Rows::from_vec(values, truth.components.mean(0).len())?;
    let found = truth.labels(&rows)?;
    let wrong = found.iter().zip(&drawn).filter(|(found, drawn)| found != drawn).count();
    Ok(wrong as f64 / ROWS_FOR_ERROR as f64)
}
