//! Condenses the runs of one start into the statistics that are shown and stored.

use mixtura::{FullGaussian, Mixture};
use serde::{Deserialize, Serialize};

use super::{Answer, BoundRound, Difference, RoundDifferences, StartResult, Trace};
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
    /// Log-likelihood of the last model of each SEM run, which is what the paper compares.
    pub sem_last: Vec<f64>,
    /// Highest log-likelihood of each SEM run.
    pub sem_best: Vec<f64>,
    /// The result that `fit --algorithm sem` would return for each SEM run.
    pub sem_answers: Vec<Answer>,
    /// Log-likelihood of the result of `auto`, if it was run.
    pub auto: Option<f64>,
    /// How many rounds SEM is behind EM after each round, over the runs: SEM's round t minus the round at which EM had
    /// the same likelihood. `None` once EM gains less per round than counts as equal, so that a round is nothing, and
    /// where a run of SEM is above all that EM reached.
    pub lag: Vec<Option<Quantiles>>,
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
    /// Condenses a start; `ln_volume` is added to log-likelihoods, and a gain below `equal_within` is none.
    pub(super) fn of(start: &StartResult, ln_volume: f64, equal_within: f64) -> Self {
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
            sem_last: start.sem.iter().map(|trace| trace.ln_likelihoods[n_models - 1] + ln_volume).collect(),
            sem_best: start.sem.iter().map(|trace| greatest(&trace.ln_likelihoods) + ln_volume).collect(),
            sem_answers: (start.sem.iter())
                .map(|Trace { answer, .. }| Answer { ln_likelihood: answer.ln_likelihood + ln_volume, ..*answer })
                .collect(),
            auto: start.auto.map(|likelihood| likelihood + ln_volume),
            lag: lag(&start.em.ln_likelihoods, &start.sem, equal_within),
            em_seconds: median(&mut std::iter::once(&start.em)),
            sem_seconds: median(&mut start.sem.iter()),
            repairs: Repairs::of(start),
            unmatched: Differences::of(&start.differences, |round| &round.unmatched),
            matched: Differences::of(&start.differences, |round| &round.matched),
            bounds: start.bounds.clone(),
        }
    }

    /// Log-likelihood of EM's last model.
    pub fn em_last(&self) -> f64 {
        self.em.last().copied().unwrap_or(f64::NAN)
    }

    /// Number of components.
    pub fn n_components(&self) -> usize {
        self.matched.weight.first().map_or(0, Vec::len)
    }
}

fn greatest(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

/// For each round, by how many rounds the runs of SEM are behind EM; `None` if EM does not climb, or if it did not come
/// as high as some run in any of its rounds.
fn lag(em: &[f64], sem: &[Trace], equal_within: f64) -> Vec<Option<Quantiles>> {
    let climbs = |round: usize| round > 0 && em[round] - em[round - 1] >= equal_within;
    let at = |round: usize| {
        let behind = |trace: &Trace| Some(round as f64 - round_of(em, trace.ln_likelihoods[round])?);
        let behind: Option<Vec<f64>> = sem.iter().map(behind).collect();
        behind.filter(|_| climbs(round)).map(Quantiles::of)
    };
    (0..em.len()).map(at).collect()
}

/// The round, with a fraction, at which EM's likelihood first reached a value: 0 if it began above it, `None` if it never
/// came so high.
fn round_of(em: &[f64], likelihood: f64) -> Option<f64> {
    let after = em.iter().position(|&value| value >= likelihood)?;
    let Some(before) = after.checked_sub(1) else { return Some(0.0) };
    Some(before as f64 + (likelihood - em[before]) / (em[after] - em[before]))
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
             floor, a tiny share of each column's squared scale that keeps components from shrinking to a point, in {} \
             rounds of EM and {} of SEM.",
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lag_is_the_difference_of_the_rounds_with_the_same_likelihood() {
        let em = [-10.0, -6.0, -4.0, -3.0, -2.9999];
        assert_eq!(round_of(&em, -6.0), Some(1.0));
        assert_eq!(round_of(&em, -5.0), Some(1.5));
        assert_eq!((round_of(&em, -11.0), round_of(&em, 0.0)), (Some(0.0), None));
        let trace = |ln_likelihoods: &[f64]| Trace {
            ln_likelihoods: ln_likelihoods.to_vec(),
            seconds: vec![],
            repairs: vec![],
            clippings: vec![],
            answer: Answer { ln_likelihood: 0.0, is_average: false },
        };
        // The first run is half a round behind in round 2, the second a round ahead.
        let runs = [trace(&[-10.0, -6.0, -5.0, -3.0, -3.0]), trace(&[-10.0, -6.0, -3.0, -3.0, -3.0])];
        let found = lag(&em, &runs, 1e-3);
        assert_eq!(found[1].map(|five| five.median), Some(0.0));
        assert_eq!(found[2].map(|five| (five.minimum, five.maximum)), Some((-1.0, 0.5)));
        // Where a run is above all that EM reached, it leads by an unknown number of rounds.
        let found = lag(&em, &[trace(&[-10.0, -2.0, -5.0, -3.0, -3.0])], 1e-3);
        assert_eq!((found[1], found[2].map(|five| five.median)), (None, Some(0.5)));
        // EM no longer climbs by what counts as a difference, and before the first round there is none.
        assert_eq!((found[0], found[4]), (None, None));
    }
}
