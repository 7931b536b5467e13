//! Evaluates EM and SEM on many artificial mixtures with different overlap.

use mixtura::generate::{Artificial, Balance, separation};
use mixtura::{Error, FullGaussian, Rows, Start};
use serde::Serialize;

use super::{Scale, equal_within};
use crate::Quantiles;
use crate::comparison::{Comparer, Outcomes, Plan, Summary, Timing, Watcher};

/// Number of rows used to estimate the Bayes error.
const ROWS_FOR_ERROR: usize = 20_000;
/// Random starts of each mixture, and runs of SEM from each.
const STARTS: u64 = 3;
const RUNS: u64 = 3;

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
    /// The c-separation asked for.
    pub separation: f64,
    /// Which of the parameter vectors.
    pub seed: u64,
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
    /// SEM's last log-likelihood minus EM's, in nats per row: the median over starts of the median run.
    pub gap: f64,
    /// Starts and runs in which SEM ended better, equal or worse.
    pub outcomes: Outcomes,
    /// Largest difference of matched means after the last round, in Γ_μ, over all starts and runs.
    pub mean_difference: f64,
    /// Rounds of both algorithms, timed in turn.
    pub timing: Timing,
}

/// The mixtures to evaluate: several D and K, several separations and parameter vectors for each, both kinds of
/// weights, and several N for each parameter vector.
pub fn specimen_plans(scale: Scale) -> Vec<SpecimenPlan> {
    let (shapes, separations, seeds, sizes) = match scale {
        Scale::Quick => (&[(2, 3), (5, 5), (10, 10)][..], &[0.5, 1.0][..], 1, [5_000, 50_000]),
        Scale::Full => (
            &[(2, 3), (2, 10), (5, 5), (5, 20), (10, 3), (10, 10), (20, 10), (50, 5)][..],
            &[0.3, 0.6, 1.0][..],
            3,
            [10_000, 100_000],
        ),
    };
    let mut plans = Vec::new();
    for &(n_columns, n_components) in shapes {
        for &separation in separations {
            for balance in [Balance::Balanced, Balance::Unbalanced] {
                for seed in 1..=seeds {
                    let plan = |&n_rows| SpecimenPlan { n_columns, n_components, n_rows, balance, separation, seed };
                    plans.extend(sizes.iter().map(plan));
                }
            }
        }
    }
    plans
}

/// Draws rows from a mixture, measures how much its components overlap, and runs 50 rounds of EM and SEM from the
/// paper's random starts. `None` if stopped.
pub fn specimen(plan: &SpecimenPlan, watcher: &dyn Watcher) -> Result<Option<Specimen>, Error> {
    let SpecimenPlan { n_columns, n_components, n_rows, balance, separation: asked, seed } = *plan;
    let artificial = Artificial { n_columns, n_components, balance, separation: asked };
    let truth = artificial.mixture(seed)?;
    let (values, _) = truth.sample(0..n_rows, seed)?;
    let rows = Rows::from_vec(values, n_columns)?;
    let comparing = Plan {
        n_components,
        starts: STARTS,
        runs: RUNS,
        bound_runs: 0,
        start: Start::Random,
        seed,
        equal_within: equal_within(n_rows, n_columns, n_components),
        ..Plan::default()
    };
    let comparer = Comparer::new(&rows, &comparing, watcher)?;
    let mut digests = Vec::new();
    for number in 0..STARTS {
        let Some(start) = comparer.start(number)? else { return Ok(None) };
        digests.push(comparer.digest(&start));
    }
    let timing = match comparer.first_start().and_then(|first| comparer.timing(&first)) {
        Err(Error::Interrupted) => return Ok(None),
        timing => timing?,
    };
    let comparison = comparer.comparison(digests);
    let summary = Summary::of(&comparison);
    let all = |of: fn(&FullGaussian, usize) -> &[f64]| -> Vec<f64> {
        (0..n_components).flat_map(|k| of(&truth.components, k).to_vec()).collect()
    };
    Ok(Some(Specimen {
        plan: *plan,
        separation: separation(&all(FullGaussian::mean), &all(FullGaussian::covariance), n_columns),
        bayes_error: bayes_error(&truth, seed)?,
        spread: Quantiles::of(comparison.spread.iter().copied()).median,
        gap: Quantiles::of(summary.starts.iter().map(|start| start.sem.median - start.em)).median,
        outcomes: summary.outcomes,
        mean_difference: summary.last_difference.matched.mean / summary.gamma_mean,
        timing,
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
