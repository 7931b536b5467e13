//! Summarizes a comparison in numbers and in a few sentences.

use serde::Serialize;

use super::digest::{Differences, Repairs, StartDigest};
use super::run::{Held, Statements};
use super::{Comparison, Operations};
use crate::Quantiles;
use crate::comparison::words::sentence;

/// The summary of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// What is the same after the last round, what is not, whether either had converged, and how much faster SEM is.
    pub sentence: String,
    /// Number of starts and runs in which SEM ended better, equal or worse.
    pub outcomes: Outcomes,
    /// The result of each start.
    pub starts: Vec<StartSummary>,
    /// Median time per round, and the number of operations.
    pub time: Time,
    /// Number of rounds with repairs.
    pub repairs: Repairs,
    /// Largest difference of any component over all starts, runs and rounds.
    pub largest_difference: Largest,
    /// Largest difference of any component after the last round.
    pub last_difference: Largest,
    /// Γ_μ = √D·Δ, the largest possible difference of means.
    pub gamma_mean: f64,
    /// Γ_Σ = D·Δ², the largest possible difference of covariances.
    pub gamma_covariance: f64,
    /// Single updates compared with the bounds; `None` if that was not requested.
    pub bounds: Option<BoundSummary>,
}

/// Whether SEM's last model was better than EM's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// A higher likelihood.
    Better,
    /// The same within the tolerance.
    Equal,
    /// A lower likelihood.
    Worse,
}

impl Outcome {
    /// Of a difference of log-likelihoods.
    fn of(difference: f64, equal_within: f64) -> Self {
        if difference.abs() <= equal_within {
            Self::Equal
        } else if difference > 0.0 {
            Self::Better
        } else {
            Self::Worse
        }
    }

    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Equal => "equal",
            Self::Worse => "worse",
        }
    }
}

/// How often each outcome occurred.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Counts {
    /// SEM ended better.
    pub better: usize,
    /// Equal.
    pub equal: usize,
    /// Worse.
    pub worse: usize,
}

impl Counts {
    fn of(outcomes: impl Iterator<Item = Outcome>) -> Self {
        outcomes.fold(Self::default(), |mut counts, outcome| {
            match outcome {
                Outcome::Better => counts.better += 1,
                Outcome::Equal => counts.equal += 1,
                Outcome::Worse => counts.worse += 1,
            }
            counts
        })
    }

    /// Number of all.
    pub fn total(&self) -> usize {
        self.better + self.equal + self.worse
    }
}

/// Number of starts, by the median run, and of single runs in which SEM's last model was better, equal or worse than
/// EM's.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Outcomes {
    /// Starts.
    #[serde(flatten)]
    pub starts: Counts,
    /// Runs.
    pub runs: Counts,
    /// Log-likelihoods count as equal if they differ by less than this, in nats per row.
    pub equal_within: f64,
}

/// The result of a start: final log-likelihoods in nats per row.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct StartSummary {
    /// EM's last model.
    pub em: f64,
    /// SEM's last models, over its runs.
    pub sem: Quantiles,
    /// SEM's median compared with EM.
    pub outcome: Outcome,
    /// Each run compared with EM.
    pub runs: Counts,
    /// The best model of each run of SEM.
    pub sem_best: Quantiles,
    /// The result that `fit --algorithm sem` would return: the average over a run's flat tail, or else the best model.
    pub sem_answer: Quantiles,
    /// Number of runs whose result is an average.
    pub averages: usize,
    /// The result of `auto`, if it was run.
    pub auto: Option<f64>,
    /// EM's gain over its last rounds.
    pub em_climbs: f64,
    /// The same for the median of SEM's runs, from one batch of rounds to the next.
    pub sem_climbs: f64,
}

/// Times per round.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Time {
    /// Median seconds per EM round.
    pub em_seconds: f64,
    /// Median seconds per SEM round.
    pub sem_seconds: f64,
    /// Time of EM divided by time of SEM.
    pub speedup: f64,
    /// Operations of an EM round.
    pub em_operations: Operations,
    /// Operations of a SEM round.
    pub sem_operations: Operations,
}

/// Largest differences of a component.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Largest {
    /// Between components of the same number, as in the paper.
    pub unmatched: Parts,
    /// Between matched components.
    pub matched: Parts,
}

/// Largest differences of weights, means and covariances.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Parts {
    /// Of weights.
    pub weight: f64,
    /// Of means, as Euclidean distance.
    pub mean: f64,
    /// Of covariances, as Frobenius norm.
    pub covariance: f64,
}

/// Single updates compared with the bounds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BoundSummary {
    /// Number of rounds considered; rounds with a repair are left out.
    pub rounds: usize,
    /// Number of these rounds in which every bound held.
    pub rounds_held: usize,
    /// Bounds of all theorems in these rounds.
    #[serde(flatten)]
    pub all: Held,
    /// Bounds by theorem.
    pub theorems: Statements,
    /// Confidence that all bounds of a round hold simultaneously.
    pub confidence: f64,
    /// Each start for which single updates were compared.
    pub starts: Vec<StartBounds>,
    /// Largest distance of two means.
    pub largest_mean_distance: f64,
}

/// The bounds on the distance of two means from one start, over all rounds and components.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct StartBounds {
    /// The largest bound, as the paper reports it; `None` if one of them is void.
    pub largest: Option<f64>,
    /// The largest bound that is not void; 0 if all are.
    pub largest_usable: f64,
    /// Number of void bounds: there is none because the component is too light, or it exceeds Γ_μ, which no distance
    /// can.
    pub void: usize,
    /// Number of bounds.
    pub bounds: usize,
}

impl Parts {
    /// The largest differences over some rounds.
    fn include(&mut self, differences: &Differences, first_round: usize) {
        let greatest = |part: &[Vec<Quantiles>]| {
            part[first_round..].iter().flatten().map(|quantiles| quantiles.maximum).fold(0.0, f64::max)
        };
        self.weight = self.weight.max(greatest(&differences.weight));
        self.mean = self.mean.max(greatest(&differences.mean));
        self.covariance = self.covariance.max(greatest(&differences.covariance));
    }
}

impl Summary {
    /// Summarizes a comparison with at least one start.
    pub fn of(comparison: &Comparison) -> Self {
        let Comparison { plan, starts, spread, n_columns, .. } = comparison;
        let within = plan.equal_within;
        let summaries: Vec<StartSummary> = starts.iter().map(|start| StartSummary::of(start, within)).collect();
        let (em, last) = (starts.iter().map(StartDigest::em_last), starts.iter().map(|start| &start.sem_last));
        let outcomes = Outcomes {
            starts: Counts::of(summaries.iter().map(|start| start.outcome)),
            runs: Counts::of(
                em.zip(last).flat_map(|(em, runs)| runs.iter().map(move |run| Outcome::of(run - em, within))),
            ),
            equal_within: within,
        };
        let widest = spread.iter().copied().fold(0.0, f64::max);
        let gamma_mean = (*n_columns as f64).sqrt() * widest;
        let mut summary = Self {
            sentence: String::new(),
            outcomes,
            starts: summaries,
            time: Time::of(comparison),
            repairs: starts.iter().fold(Repairs::default(), |all, start| all.and(start.repairs)),
            largest_difference: largest(starts, false),
            last_difference: largest(starts, true),
            gamma_mean,
            gamma_covariance: *n_columns as f64 * widest * widest,
            bounds: (plan.bound_runs > 0).then(|| BoundSummary::of(comparison, gamma_mean)),
        };
        summary.sentence = sentence(&summary, plan.rounds);
        summary
    }
}

impl StartSummary {
    fn of(start: &StartDigest, equal_within: f64) -> Self {
        let em = start.em_last();
        let five = |values: &[f64]| Quantiles::of(values.iter().copied());
        let sem = five(&start.sem_last);
        let medians: Vec<f64> = start.sem.iter().map(|five| five.median).collect();
        let (last, before) = last_batches(&medians);
        let (_, em_before) = last_batches(&start.em);
        Self {
            em,
            sem,
            outcome: Outcome::of(sem.median - em, equal_within),
            runs: Counts::of(start.sem_last.iter().map(|run| Outcome::of(run - em, equal_within))),
            sem_best: five(&start.sem_best),
            sem_answer: Quantiles::of(start.sem_answers.iter().map(|answer| answer.ln_likelihood)),
            averages: start.sem_answers.iter().filter(|answer| answer.is_average).count(),
            auto: start.auto,
            em_climbs: em - em_before.last().copied().unwrap_or(em),
            sem_climbs: mean(last) - mean(before),
        }
    }
}

/// The last ten values and the ten before them, or fewer if there are not as many.
fn last_batches(values: &[f64]) -> (&[f64], &[f64]) {
    let batch = (values.len() / 2).clamp(1, 10).min(values.len());
    let (rest, last) = values.split_at(values.len() - batch);
    (last, &rest[rest.len().saturating_sub(batch)..])
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

impl Time {
    fn of(comparison: &Comparison) -> Self {
        let Comparison { plan, n_rows, n_columns, starts, timing, .. } = comparison;
        let median = |of: fn(&StartDigest) -> f64| Quantiles::of(starts.iter().map(of)).median;
        let (em_seconds, sem_seconds) = timing.map_or_else(
            || (median(|start| start.em_seconds), median(|start| start.sem_seconds)),
            |timing| (timing.em_seconds, timing.sem_seconds),
        );
        Self {
            em_seconds,
            sem_seconds,
            speedup: timing.map_or(em_seconds / sem_seconds, |timing| timing.speedup.median),
            em_operations: Operations::em(*n_rows, *n_columns, plan.n_components),
            sem_operations: Operations::sem(*n_rows, *n_columns, plan.n_components),
        }
    }
}

fn largest(starts: &[StartDigest], last_only: bool) -> Largest {
    let mut largest = Largest { unmatched: Parts::default(), matched: Parts::default() };
    for start in starts {
        let first = if last_only { start.em.len().saturating_sub(1) } else { 0 };
        largest.unmatched.include(&start.unmatched, first);
        largest.matched.include(&start.matched, first);
    }
    largest
}

impl BoundSummary {
    fn of(comparison: &Comparison, gamma_mean: f64) -> Self {
        let rounds = comparison.starts.iter().flat_map(|start| start.bounds.iter().flatten());
        let rounds: Vec<_> = rounds.filter(|round| !round.is_repaired).collect();
        let theorems = rounds.iter().fold(Statements::default(), |all, round| all.and(round.statements));
        let all_held = |all: Held| all.held == all.statements;
        let distances = rounds.iter().flat_map(|round| round.difference.iter().map(|difference| difference.mean));
        let compared = comparison.starts.iter().filter(|start| !start.bounds.is_empty());
        Self {
            rounds: rounds.len(),
            rounds_held: rounds.iter().filter(|round| all_held(round.statements.all())).count(),
            all: theorems.all(),
            theorems,
            confidence: comparison.plan.confidence,
            starts: compared.map(|start| StartBounds::of(start, gamma_mean)).collect(),
            largest_mean_distance: distances.filter(|x| x.is_finite()).fold(0.0, f64::max),
        }
    }
}

impl StartBounds {
    fn of(start: &StartDigest, gamma_mean: f64) -> Self {
        let rounds = start.bounds.iter().flatten().filter(|round| !round.is_repaired);
        let bounds: Vec<Option<f64>> = rounds.flat_map(|round| round.mean_bound.iter().copied()).collect();
        let usable = || bounds.iter().flatten().copied().filter(|bound| *bound <= gamma_mean);
        let void = bounds.len() - usable().count();
        let largest_usable = usable().fold(0.0, f64::max);
        Self { largest: (void == 0).then_some(largest_usable), largest_usable, void, bounds: bounds.len() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_are_the_last_rounds_and_those_before() {
        let values: Vec<f64> = (0..51).map(f64::from).collect();
        assert_eq!(last_batches(&values), (&values[41..], &values[31..41]));
        assert_eq!(last_batches(&values[..5]), (&values[3..5], &values[1..3]));
        assert_eq!(last_batches(&values[..1]), (&values[..1], &values[..0]));
    }

    #[test]
    fn every_run_is_counted() {
        let counts = Counts::of([0.2, 0.0, -0.2, 5e-4, -1e-3].into_iter().map(|gap| Outcome::of(gap, 1e-3)));
        assert_eq!(counts, Counts { better: 1, equal: 3, worse: 1 });
        assert_eq!(counts.total(), 5);
    }
}
