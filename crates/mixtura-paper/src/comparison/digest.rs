//! Condenses the runs of one start into what is shown and kept of them.

use mixtura::{FullGaussian, Mixture};
use serde::{Deserialize, Serialize};

use super::{BoundRound, Difference, RoundDifferences, StartResult, Trace};
use crate::Quantiles;

/// What the runs of one start came to. Likelihoods are means in nats per row, in the data's own units.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StartDigest {
    /// EM's model after each round, the start first.
    pub em: Vec<f64>,
    /// SEM's models after each round, over the runs.
    pub sem: Vec<Quantiles>,
    /// The same, less EM's after the same round.
    pub gap: Vec<Quantiles>,
    /// EM's last model, in the units that were compared in.
    pub em_model: Mixture<FullGaussian>,
    /// Its likelihood.
    pub em_answer: f64,
    /// What each run of SEM answered.
    pub sem_answers: Vec<f64>,
    /// Median seconds of a round of EM.
    pub em_seconds: f64,
    /// Median seconds of a round of SEM.
    pub sem_seconds: f64,
    /// How often components had to be repaired.
    pub repairs: Repairs,
    /// Differences from the component of the same number.
    pub unmatched: Differences,
    /// Differences from the component it is matched with.
    pub matched: Differences,
    /// For some runs of SEM each round beside the theorems.
    pub bounds: Vec<Vec<BoundRound>>,
}

/// In how many rounds components had to be repaired, or their variances raised to the floor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Repairs {
    /// Rounds of EM with a repair.
    pub em_repaired: usize,
    /// Rounds of EM with a clipping.
    pub em_clipped: usize,
    /// Rounds of EM.
    pub em_rounds: usize,
    /// Rounds of SEM with a repair.
    pub sem_repaired: usize,
    /// Rounds of SEM with a clipping.
    pub sem_clipped: usize,
    /// Rounds of SEM.
    pub sem_rounds: usize,
}

/// For each round from 0 on, and each component, the differences over the runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Differences {
    /// Of the weights.
    pub weight: Vec<Vec<Quantiles>>,
    /// Of the means: Euclidean.
    pub mean: Vec<Vec<Quantiles>>,
    /// Of the covariances: Frobenius.
    pub covariance: Vec<Vec<Quantiles>>,
}

impl StartDigest {
    /// Condenses a start; `ln_volume` is added to likelihoods.
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

    /// Those of both.
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

    /// In a sentence.
    pub fn sentence(&self) -> String {
        format!(
            "Components were repaired in {} of {} rounds of EM and in {} of {} of SEM; variances were raised to the \
             floor in {} and {}.",
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
