//! Summarizes a comparison in numbers and in one sentence.

use serde::Serialize;

use super::Comparison;
use super::digest::{Differences, Repairs, StartDigest};
use crate::Quantiles;

/// The summary of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// One sentence that says whether SEM is safe on this data, and how much faster it is.
    pub sentence: String,
    /// Number of starts from which SEM ended better, equal or worse.
    pub outcomes: Outcomes,
    /// The result of each start.
    pub starts: Vec<StartSummary>,
    /// Median time per round, and the number of multiplications.
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

/// Whether SEM's result was better than EM's.
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

/// Number of starts from which SEM ended better, equal or worse, by the median over its runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Outcomes {
    /// A higher likelihood.
    pub better: usize,
    /// The same.
    pub equal: usize,
    /// A lower likelihood.
    pub worse: usize,
    /// Log-likelihoods count as equal if they differ by less than this, in nats per row.
    pub equal_within: f64,
}

/// The result of a start: final log-likelihoods in nats per row.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct StartSummary {
    /// EM's.
    pub em: f64,
    /// SEM's, over its runs.
    pub sem: Quantiles,
    /// SEM's median compared with EM.
    pub outcome: Outcome,
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
    /// Multiplications per EM round as counted in the paper, 2KND².
    pub em_multiplications: f64,
    /// The same for SEM, KND².
    pub sem_multiplications: f64,
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
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct BoundSummary {
    /// Number of rounds considered; rounds with a repair are left out.
    pub rounds: usize,
    /// Number of bounds in these rounds.
    pub statements: u64,
    /// Number of bounds that held.
    pub held: u64,
    /// Number of differences within one typical deviation.
    pub within_one: u64,
    /// Number of differences within two typical deviations.
    pub within_two: u64,
    /// Confidence that all bounds of a round hold simultaneously.
    pub confidence: f64,
    /// Largest bound on the distance of two means.
    pub largest_mean_bound: f64,
    /// Largest distance of two means.
    pub largest_mean_distance: f64,
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
        let Comparison { plan, starts, spread, n_rows, n_columns, .. } = comparison;
        let summaries: Vec<StartSummary> = starts.iter().map(|start| start_summary(comparison, start)).collect();
        let count = |outcome: Outcome| summaries.iter().filter(|start| start.outcome == outcome).count();
        let outcomes = Outcomes {
            better: count(Outcome::Better),
            equal: count(Outcome::Equal),
            worse: count(Outcome::Worse),
            equal_within: plan.equal_within,
        };
        let time = time(comparison);
        let widest = spread.iter().copied().fold(0.0, f64::max);
        let multiplications = plan.n_components as f64 * *n_rows as f64 * (*n_columns as f64).powi(2);
        Self {
            sentence: sentence(&outcomes, &summaries, time),
            outcomes,
            starts: summaries,
            time: Time {
                em_seconds: time.0,
                sem_seconds: time.1,
                speedup: time.0 / time.1,
                em_multiplications: 2.0 * multiplications,
                sem_multiplications: multiplications,
            },
            repairs: starts.iter().fold(Repairs::default(), |all, start| all.and(start.repairs)),
            largest_difference: largest(starts, false),
            last_difference: largest(starts, true),
            gamma_mean: (*n_columns as f64).sqrt() * widest,
            gamma_covariance: *n_columns as f64 * widest * widest,
            bounds: bound_summary(comparison),
        }
    }
}

fn start_summary(comparison: &Comparison, start: &StartDigest) -> StartSummary {
    let em = start.em_answer;
    let sem = Quantiles::of(start.sem_answers.iter().copied());
    let difference = sem.median - em;
    let outcome = if difference.abs() <= comparison.plan.equal_within {
        Outcome::Equal
    } else if difference > 0.0 {
        Outcome::Better
    } else {
        Outcome::Worse
    };
    StartSummary { em, sem, outcome }
}

/// Median seconds per round of EM and of SEM, for the median start.
fn time(comparison: &Comparison) -> (f64, f64) {
    let median = |of: fn(&StartDigest) -> f64| Quantiles::of(comparison.starts.iter().map(of)).median;
    (median(|start| start.em_seconds), median(|start| start.sem_seconds))
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

fn bound_summary(comparison: &Comparison) -> Option<BoundSummary> {
    let rounds = comparison.starts.iter().flat_map(|start| start.bounds.iter().flatten());
    let rounds: Vec<_> = rounds.filter(|round| !round.is_repaired).collect();
    if comparison.plan.bound_runs == 0 {
        return None;
    }
    let total = |at: usize| rounds.iter().map(|round| round.statements[at]).sum();
    let largest = |values: &mut dyn Iterator<Item = f64>| values.filter(|x| x.is_finite()).fold(0.0, f64::max);
    Some(BoundSummary {
        rounds: rounds.len(),
        statements: total(0),
        held: total(1),
        within_one: total(2),
        within_two: total(3),
        confidence: comparison.plan.confidence,
        largest_mean_bound: largest(&mut rounds.iter().flat_map(|round| round.mean_bound.iter().flatten().copied())),
        largest_mean_distance: largest(
            &mut rounds.iter().flat_map(|round| round.difference.iter().map(|difference| difference.mean)),
        ),
    })
}

/// The sentence that says whether SEM is safe and how much faster it is.
fn sentence(outcomes: &Outcomes, starts: &[StartSummary], (em, sem): (f64, f64)) -> String {
    let n = starts.len();
    let (joint, speed) = match em / sem {
        ratio if ratio >= 1.05 => ("and", format!("its rounds were {ratio:.1} times as fast")),
        ratio if ratio > 0.95 => ("but", "its rounds were no faster".into()),
        ratio => ("but", format!("its rounds took {:.1} times as long", 1.0 / ratio)),
    };
    let within = outcomes.equal_within;
    let Outcomes { better, equal, worse, .. } = *outcomes;
    let from = match n {
        1 => "from the one start".into(),
        2 => "from both starts".into(),
        n => format!("from all {n} starts"),
    };
    if worse == 0 {
        let where_to = match (better, equal) {
            (0, _) => format!("it ended where EM did (to {within} nats per row)"),
            (_, 0) => "it ended higher than EM".into(),
            _ => format!("it ended where EM did (to {within} nats per row) or, from {better} of them, higher"),
        };
        return format!("SEM is safe on this data: {from} {where_to}, {joint} {speed}.");
    }
    let lowest = starts.iter().map(|start| start.em - start.sem.median).fold(0.0, f64::max);
    let other = if better > 0 { format!(", higher from {better}") } else { String::new() };
    format!(
        "SEM can miss EM's solution on this data: it ended lower from {worse} of {n} starts (by up to {lowest:.3} nats per \
         row){other}; {speed}. Use fit --algorithm auto --guard to keep the better of both."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome_of(differences: &[f64]) -> String {
        let starts: Vec<StartSummary> = differences
            .iter()
            .map(|&difference| {
                let outcome = match difference {
                    d if d.abs() <= 1e-3 => Outcome::Equal,
                    d if d > 0.0 => Outcome::Better,
                    _ => Outcome::Worse,
                };
                StartSummary { em: -1.0, sem: Quantiles::of([-1.0 + difference]), outcome }
            })
            .collect();
        let count = |outcome: Outcome| starts.iter().filter(|start| start.outcome == outcome).count();
        let (better, equal, worse) = (count(Outcome::Better), count(Outcome::Equal), count(Outcome::Worse));
        sentence(&Outcomes { better, equal, worse, equal_within: 1e-3 }, &starts, (0.02, 0.01))
    }

    #[test]
    fn the_sentence_says_what_happened() {
        assert_eq!(
            outcome_of(&[0.0, 1e-4]),
            "SEM is safe on this data: from both starts it ended where EM did (to 0.001 nats per row), and its rounds were 2.0 times as fast."
        );
        assert!(outcome_of(&[0.1]).contains("from the one start it ended higher than EM"));
        assert!(outcome_of(&[0.1, 0.0]).contains("or, from 1 of them, higher"));
        let mixed = outcome_of(&[-0.25, 0.1, 0.0]);
        assert!(mixed.contains("lower from 1 of 3 starts (by up to 0.250 nats per row), higher from 1;"), "{mixed}");
    }
}
