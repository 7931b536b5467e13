//! Condenses the runs of one start into the statistics that are shown and stored.

use mixtura::{FullGaussian, Mixture};
use serde::{Deserialize, Serialize};

use super::{BoundRound, Difference, RoundDifferences, StartResult, Trace};
use crate::Quantiles;

/// Statistics of the runs of one start. Log-likelihoods are in nats per row, in the units of the data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StartDigest {
    /// Log-likelihood of EM's model after each round, beginning with the start.
    pub em: Vec<f64>,
    /// Log-likelihoods of SEM's models after each round, over the runs.
    pub sem: Vec<Quantiles>,
    /// The same, minus EM's after the same round.
    pub gap: Vec<Quantiles>,
    /// EM's last model, in the units of the comparison.
    pub em_model: Mixture<FullGaussian>,
    /// Its log-likelihood.
    pub em_answer: f64,
    /// Log-likelihood of the result of each SEM run.
    pub sem_answers: Vec<f64>,
    /// Median seconds per EM round.
    pub em_seconds: f64,
    /// Median seconds per SEM round.
    pub sem_seconds: f64,
    /// Number of rounds with repairs.
    pub repairs: Repairs,
    /// Differences between components of the same number.
    pub unmatched: Differences,
    /// Differences between matched components.
    pub matched: Differences,
    /// Each round of some SEM runs, compared with the bounds.
    pub bounds: Vec<Vec<BoundRound>>,
}

/// Number of rounds in which components were repaired, or variances raised to the floor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Repairs {
    /// EM rounds with a repair.
    pub em_repaired: usize,
    /// EM rounds with a variance raised to the floor.
    pub em_clipped: usize,
    /// EM rounds.
    pub em_rounds: usize,
    /// SEM rounds with a repair.
    pub sem_repaired: usize,
    /// SEM rounds with a variance raised to the floor.
    pub sem_clipped: usize,
    /// SEM rounds.
    pub sem_rounds: usize,
}

/// The differences over the runs, for each round from 0 and each component.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Differences {
    /// Of weights.
    pub weight: Vec<Vec<Quantiles>>,
    /// Of means, as Euclidean distance.
    pub mean: Vec<Vec<Quantiles>>,
    /// Of covariances, as Frobenius norm.
    pub covariance: Vec<Vec<Quantiles>>,
}

impl StartDigest {
    /// Condenses a start; `ln_volume` is added to log-likelihoods.
    pub fn of(start: &StartResult, ln_volume: f64) -> Self {
        let n_models = start.em.ln_likelihoods.len();
        let over_runs = |of: &dyn Fn(f64, usize) -> f64| -> Vec<Quantiles> {
            let at = |round: usize| Quantiles::of(start.sem.iter().map(|trace| of(trace.ln_likelihoods[round], round)));
            (0..n_models).map(at).collect()
        };
        let median = |traces: &mut dyn Iterator<Item = &Trace>| {
            Quantiles::of(traces.flat_map(|trace| trace.seconds.iter().copied()).collect::<Vec<_>>()).median
        };
        Self {
            em: start.em.ln_likelihoods.iter().map(|likelihood| likelihood + ln_volume).collect(),
            sem: over_runs(&|likelihood, _| likelihood + ln_volume),
            gap: over_runs(&|likelihood, round| likelihood - start.em.ln_likelihoods[round]),
            em_model: start.em_model.clone(),
            em_answer: start.em.answer + ln_volume,
            sem_answers: start.sem.iter().map(|trace| trace.answer + ln_volume).collect(),
            em_seconds: median(&mut std::iter::once(&start.em)),
            sem_seconds: median(&mut start.sem.iter()),
            repairs: Repairs::of(start),
            unmatched: Differences::of(&start.differences, |round| &round.unmatched),
            matched: Differences::of(&start.differences, |round| &round.matched),
            bounds: start.bounds.clone(),
        }
    }

    /// Number of components.
    pub fn n_components(&self) -> usize {
        self.matched.weight.first().map_or(0, Vec::len)
    }
}

impl Repairs {
    fn of(start: &StartResult) -> Self {
        let count =
            |traces: &[Trace], of: fn(&Trace) -> &Vec<usize>| traces.iter().flat_map(of).filter(|&&n| n > 0).count();
        let em = std::slice::from_ref(&start.em);
        Self {
            em_repaired: count(em, |trace| &trace.repairs),
            em_clipped: count(em, |trace| &trace.clippings),
            em_rounds: start.em.repairs.len(),
            sem_repaired: count(&start.sem, |trace| &trace.repairs),
            sem_clipped: count(&start.sem, |trace| &trace.clippings),
            sem_rounds: start.sem.iter().map(|trace| trace.repairs.len()).sum(),
        }
    }

    /// The sum of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            em_repaired: self.em_repaired + other.em_repaired,
            em_clipped: self.em_clipped + other.em_clipped,
            em_rounds: self.em_rounds + other.em_rounds,
            sem_repaired: self.sem_repaired + other.sem_repaired,
            sem_clipped: self.sem_clipped + other.sem_clipped,
            sem_rounds: self.sem_rounds + other.sem_rounds,
        }
    }

    /// The numbers in a sentence.
    pub fn sentence(&self) -> String {
        format!(
            "Components were repaired in {} of {} EM rounds and in {} of {} SEM rounds; variances were raised to the \
             floor in {} and {} rounds.",
            self.em_repaired, self.em_rounds, self.sem_repaired, self.sem_rounds, self.em_clipped, self.sem_clipped
        )
    }
}

impl Differences {
    fn of(runs: &[Vec<RoundDifferences>], which: fn(&RoundDifferences) -> &Vec<Difference>) -> Self {
        let (n_rounds, n_components) = (runs[0].len(), runs[0][0].unmatched.len());
        let table = |part: fn(&Difference) -> f64| -> Vec<Vec<Quantiles>> {
            let of_component =
                |round: usize, k: usize| Quantiles::of(runs.iter().map(|run| part(&which(&run[round])[k])));
            (0..n_rounds).map(|round| (0..n_components).map(|k| of_component(round, k)).collect()).collect()
        };
        Self {
            weight: table(|difference| difference.weight),
            mean: table(|difference| difference.mean),
            covariance: table(|difference| difference.covariance),
        }
    }
}
