//! Says in a few sentences how EM and SEM compare: likelihoods, models, convergence, speed.

use super::Summary;
use super::page::two_digits;
use super::summary::{Outcomes, StartSummary};

/// Matched means that differ by more than this share of Γ_μ belong to different models.
const SAME_MODEL: f64 = 0.01;

/// What is the same after the last round, what is not, whether either had converged, and how fast SEM was.
pub(super) fn sentence(summary: &Summary, n_rounds: u64) -> String {
    let share = summary.last_difference.matched.mean / summary.gamma_mean;
    let mut sentences = vec![
        likelihoods(&summary.outcomes, &summary.starts),
        models(&summary.outcomes, share),
        convergence(&summary.starts, summary.outcomes.equal_within, n_rounds),
        speed(summary.time.speedup),
    ];
    if summary.outcomes.runs.worse > 0 {
        sentences.push("Use fit --algorithm auto --guard to keep the better of both.".into());
    }
    sentences.join(" ")
}

fn likelihoods(outcomes: &Outcomes, starts: &[StartSummary]) -> String {
    let (counts, runs, within) = (outcomes.starts, outcomes.runs, two_digits(outcomes.equal_within));
    let n = counts.total();
    let all = match n {
        1 => "From the one start".into(),
        2 => "From both starts".into(),
        n => format!("From all {n} starts"),
    };
    let greatest = |of: fn(&StartSummary) -> f64| starts.iter().map(of).fold(0.0, f64::max);
    let lowest = greatest(|start| start.em - start.sem.median);
    let highest = greatest(|start| start.sem.median - start.em);
    let is_unanimous = [runs.better, runs.equal, runs.worse].contains(&runs.total());
    // A start is judged by its median run, so single runs may have ended elsewhere.
    let hides_runs = runs.total() > n && !is_unanimous;
    let sem = if hides_runs { "the median run of SEM" } else { "SEM" };
    let told = if counts.equal == n {
        format!("{all} {sem} ended with the likelihood of EM (to {within} nats per row)")
    } else if counts.better == n {
        format!("{all} {sem} ended higher than EM (by up to {highest:.3} nats per row)")
    } else if counts.worse == n {
        format!("{all} {sem} ended lower than EM (by up to {lowest:.3} nats per row)")
    } else {
        let mut parts = Vec::new();
        if counts.equal > 0 {
            parts.push(format!("with the likelihood of EM from {} (to {within} nats per row)", counts.equal));
        }
        if counts.better > 0 {
            parts.push(format!("higher from {} (by up to {highest:.3})", counts.better));
        }
        if counts.worse > 0 {
            parts.push(format!("lower from {} (by up to {lowest:.3})", counts.worse));
        }
        format!("Of {n} starts, {sem} ended {}", listed(&parts))
    };
    let worst = greatest(|start| start.em - start.sem.minimum);
    match runs.worse {
        worse if worse > 0 && hides_runs => {
            format!("{told}; {worse} of {} runs ended worse (by up to {worst:.3}).", runs.total())
        }
        _ => format!("{told}."),
    }
}

/// Whether equal likelihoods belong to equal models.
fn models(outcomes: &Outcomes, share: f64) -> String {
    let per_cent = 100.0 * share;
    if share > SAME_MODEL {
        let contrast = if outcomes.starts.equal == outcomes.starts.total() { "But the" } else { "The" };
        return format!(
            "{contrast} models are not the same: means of matched components differ by up to {per_cent:.1} % of Γ."
        );
    }
    format!("Means of matched components differ by at most {per_cent:.2} % of Γ.")
}

fn convergence(starts: &[StartSummary], equal_within: f64, n_rounds: u64) -> String {
    let climbing = |of: fn(&StartSummary) -> f64| starts.iter().filter(|start| of(start) > equal_within).count();
    let from = |n: usize| match (n, starts.len()) {
        (_, 1) => String::new(),
        (n, all) if n == all => " from any start".into(),
        (n, all) => format!(" from {n} of {all} starts"),
    };
    let rounds = if n_rounds == 1 { "1 round".into() } else { format!("{n_rounds} rounds") };
    let rest = "so more rounds may change the picture.";
    match (climbing(|start| start.em_climbs), climbing(|start| start.sem_climbs)) {
        (0, 0) => format!("Both had converged after {rounds}."),
        (em, 0) => format!("EM had not converged after {rounds}{}, {rest}", from(em)),
        (0, sem) => format!("SEM had not converged after {rounds}{}, {rest}", from(sem)),
        (em, sem) if em == sem => format!("Neither had converged after {rounds}{}, {rest}", from(em)),
        (em, sem) => {
            format!("EM had not converged after {rounds}{}, nor SEM{}, {rest}", from(em), from(sem))
        }
    }
}

fn speed(ratio: f64) -> String {
    match ratio {
        ratio if ratio >= 1.05 => format!("SEM's rounds were {ratio:.1} times as fast."),
        ratio if ratio > 0.95 => "SEM's rounds were no faster.".into(),
        ratio => format!("SEM's rounds took {:.1} times as long.", 1.0 / ratio),
    }
}

/// "a", "a and b", "a, b and c".
fn listed(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [one] => one.clone(),
        [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Quantiles;
    use crate::comparison::{Counts, Outcome};

    fn starts_of(differences: &[f64], climbs: f64) -> (Outcomes, Vec<StartSummary>) {
        let start = |&difference: &f64| {
            let five = Quantiles::of([-1.0 + difference]);
            let outcome = match difference {
                d if d.abs() <= 1e-3 => Outcome::Equal,
                d if d > 0.0 => Outcome::Better,
                _ => Outcome::Worse,
            };
            StartSummary {
                em: -1.0,
                sem: five,
                outcome,
                runs: Counts::default(),
                sem_best: five,
                sem_answer: five,
                averages: 0,
                auto: None,
                em_climbs: climbs,
                sem_climbs: 0.0,
            }
        };
        let starts: Vec<StartSummary> = differences.iter().map(start).collect();
        let count = |outcome: Outcome| starts.iter().filter(|start| start.outcome == outcome).count();
        let counts =
            Counts { better: count(Outcome::Better), equal: count(Outcome::Equal), worse: count(Outcome::Worse) };
        (Outcomes { starts: counts, runs: counts, equal_within: 1e-3 }, starts)
    }

    #[test]
    fn likelihoods_are_told_by_start() {
        let told = |differences: &[f64]| {
            let (outcomes, starts) = starts_of(differences, 0.0);
            likelihoods(&outcomes, &starts)
        };
        assert_eq!(told(&[0.0, 1e-4]), "From both starts SEM ended with the likelihood of EM (to 0.001 nats per row).");
        assert_eq!(told(&[0.1]), "From the one start SEM ended higher than EM (by up to 0.100 nats per row).");
        assert_eq!(
            told(&[-0.25, 0.1, 0.0]),
            "Of 3 starts, SEM ended with the likelihood of EM from 1 (to 0.001 nats per row), higher from 1 (by up to \
             0.100) and lower from 1 (by up to 0.250)."
        );
    }

    #[test]
    fn equal_likelihoods_of_different_models_are_not_called_the_same() {
        let (outcomes, _) = starts_of(&[0.0], 0.0);
        assert_eq!(
            models(&outcomes, 0.08),
            "But the models are not the same: means of matched components differ by up to 8.0 % of Γ."
        );
        assert!(models(&outcomes, 0.001).contains("at most 0.10 %"));
    }

    #[test]
    fn a_climb_is_told() {
        let told = |climbs: f64| convergence(&starts_of(&[0.0, 0.0, 0.0], climbs).1, 1e-3, 50);
        assert_eq!(told(0.0), "Both had converged after 50 rounds.");
        assert!(told(0.5).starts_with("EM had not converged after 50 rounds from any start,"), "{}", told(0.5));
    }

    #[test]
    fn runs_that_ended_worse_are_not_hidden_behind_the_median() {
        let (mut outcomes, mut starts) = starts_of(&[0.0; 5], 0.0);
        outcomes.runs = Counts { better: 0, equal: 23, worse: 2 };
        starts[3].sem.minimum = -1.59;
        assert_eq!(
            likelihoods(&outcomes, &starts),
            "From all 5 starts the median run of SEM ended with the likelihood of EM (to 0.001 nats per row); 2 of 25 \
             runs ended worse (by up to 0.590)."
        );
        outcomes.runs = Counts { better: 0, equal: 25, worse: 0 };
        assert!(likelihoods(&outcomes, &starts).starts_with("From all 5 starts SEM ended with"));
    }
}
