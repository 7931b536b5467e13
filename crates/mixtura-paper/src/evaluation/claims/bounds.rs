//! Claims about single updates and the theoretical bounds (test type 3).

use super::{Claim, Verdict, artificial, counted, untested};
use crate::Quantiles;
use crate::comparison::{BoundRound, BoundSummary, Held, Statements};
use crate::evaluation::early::Peaks;
use crate::evaluation::{Evaluated, Evaluation, SETS};
use crate::quantiles::short;

pub(super) fn claims(evaluation: &Evaluation) -> Vec<Claim> {
    let mut claims = theorems(evaluation);
    claims.extend(sizes(evaluation));
    claims.push(smaller_n(evaluation));
    claims.push(smaller_than_bound(evaluation));
    claims.push(similar_development(evaluation));
    claims.push(early(evaluation));
    claims
}

fn bounded(evaluation: &Evaluation) -> impl Iterator<Item = (&Evaluated, &BoundSummary)> {
    evaluation.sets.iter().filter_map(|set| Some((set, set.summary.bounds.as_ref()?)))
}

/// Theorems 1 to 3 hold with the stated probability.
fn theorems(evaluation: &Evaluation) -> Vec<Claim> {
    let statements = bounded(evaluation).fold(Statements::default(), |all, (_, bounds)| all.and(bounds.theorems));
    let confidence = bounded(evaluation).map(|(_, bounds)| bounds.confidence).next().unwrap_or(0.99);
    let paper = "with probability 1 − δ each";
    let one = |name: &str, held: Held| {
        let claim = format!("{name} holds");
        if held.statements == 0 {
            return untested(&claim, "all data sets", paper);
        }
        let share = 100.0 * held.held as f64 / held.statements as f64;
        Claim {
            claim,
            about: "all data sets".into(),
            paper: paper.into(),
            here: format!("{share:.3} % of {} bounds held", held.statements),
            verdict: if share >= 100.0 * confidence { Verdict::Holds } else { Verdict::Fails },
            because: String::new(),
        }
    };
    let mut claims = vec![
        one("Theorem 1, on weights,", statements.weight),
        one("Theorem 2, on means,", statements.mean),
        one("Theorem 3, on covariances,", statements.covariance),
    ];
    let (claim, paper) = ("All bounds of a round hold simultaneously", "with probability at least 0.99");
    let (held, rounds) = bounded(evaluation)
        .fold((0, 0), |(held, rounds), (_, bounds)| (held + bounds.rounds_held, rounds + bounds.rounds));
    claims.push(if rounds == 0 {
        untested(claim, "all data sets", paper)
    } else {
        Claim {
            claim: claim.into(),
            about: "all data sets".into(),
            paper: paper.into(),
            here: format!("in {held} of {} of SEM", counted(rounds, "round")),
            verdict: if held as f64 >= confidence * rounds as f64 { Verdict::Holds } else { Verdict::Fails },
            because: "The paper's δ covers weights and means; here it also covers covariances.".into(),
        }
    });
    claims
}

/// "Our bound is smaller than …"
fn sizes(evaluation: &Evaluation) -> Vec<Claim> {
    let claim = "The largest bound on the distance of means is at most …";
    let one = |set: &crate::evaluation::DataSet| {
        let value = set.claims.bound?;
        let paper = format!("{value} Γ_μ");
        let found = bounded(evaluation).find(|(evaluated, _)| evaluated.set.name == set.name);
        let Some((evaluated, bounds)) = found else { return Some(untested(claim, set.title, &paper)) };
        let gamma = evaluated.summary.gamma_mean;
        // A start with a void bound has no largest bound: it counts as infinite.
        let largest = bounds.starts.iter().map(|start| start.largest.map_or(f64::INFINITY, |bound| bound / gamma));
        let five = Quantiles::of(largest.clone());
        let n = largest.filter(|&bound| bound <= value).count();
        let (void, all) =
            bounds.starts.iter().fold((0, 0), |(void, all), start| (void + start.void, all + start.bounds));
        let usable = bounds.starts.iter().map(|start| start.largest_usable / gamma).fold(0.0, f64::max);
        let name = |bound: f64| if bound.is_finite() { format!("{} Γ_μ", short(bound)) } else { "void".into() };
        let verdict = Verdict::of_share(n, bounds.starts.len());
        let because = match verdict {
            Verdict::Holds | Verdict::Untested => String::new(),
            _ if void > 0 => format!(
                "{void} of {all} bounds are void, because the component has too little weight in that round; the largest of \
                 the others is {} Γ_μ.",
                short(usable)
            ),
            _ => "The bound grows with 1/√r_k, and from these starts some component is light for a few rounds.".into(),
        };
        Some(Claim {
            claim: claim.into(),
            about: set.title.into(),
            paper,
            here: format!(
                "median start {}, best {}, worst {}; {n} of {} within the paper's value",
                name(five.median),
                name(five.minimum),
                name(five.maximum),
                counted(bounds.starts.len(), "start")
            ),
            verdict,
            because,
        })
    };
    SETS.iter().filter_map(one).collect()
}

/// "Larger bounds … are not surprising, since smaller values of N result in smaller values of r_k."
fn smaller_n(evaluation: &Evaluation) -> Claim {
    let (claim, paper) = ("Bounds are larger for fewer rows", "0.065 against 0.0054 Γ_μ: 12 times");
    let typical = |n_rows: usize| {
        let sets = artificial(evaluation, n_rows).filter(|set| set.summary.bounds.is_some());
        let bounds = sets.flat_map(|set| {
            let rounds = set.comparison.starts.iter().flat_map(|start| start.bounds.iter().flatten());
            let gamma = set.summary.gamma_mean;
            rounds.flat_map(move |round| round.mean_bound.iter().flatten().map(move |bound| bound / gamma))
        });
        Quantiles::of(bounds).median
    };
    let (small, large) = (typical(10_000), typical(1_000_000));
    if !(small.is_finite() && large.is_finite()) {
        return untested(claim, "artificial sets", paper);
    }
    Claim {
        claim: claim.into(),
        about: "artificial sets".into(),
        paper: paper.into(),
        here: format!(
            "median bound {} Γ_μ with 10,000 rows, {} Γ_μ with 1,000,000: {:.0} times",
            short(small),
            short(large),
            small / large
        ),
        verdict: if small > large { Verdict::Holds } else { Verdict::Fails },
        because: "The bound is proportional to 1/√N where r_k is large: 10 times.".into(),
    }
}

/// Every bound that exists and the distance it bounds.
fn pairs(set: &Evaluated) -> impl Iterator<Item = (f64, f64)> + '_ {
    let rounds = set.comparison.starts.iter().flat_map(|start| start.bounds.iter().flatten());
    rounds.filter(|round| !round.is_repaired).flat_map(|round| {
        let bounds = round.mean_bound.iter().zip(&round.difference);
        bounds.filter_map(|(bound, difference)| Some(((*bound)?, difference.mean)))
    })
}

/// "The actual difference is significantly smaller than our bound."
fn smaller_than_bound(evaluation: &Evaluation) -> Claim {
    let (claim, paper) = ("Actual differences are significantly smaller than the bounds", "significantly");
    let ratios: Vec<f64> =
        evaluation.sets.iter().flat_map(|set| pairs(set).map(|(bound, actual)| actual / bound)).collect();
    if ratios.is_empty() {
        return untested(claim, "all data sets", paper);
    }
    let five = Quantiles::of(ratios.iter().copied());
    Claim {
        claim: claim.into(),
        about: "all data sets".into(),
        paper: paper.into(),
        here: format!("actual ÷ bound: median {}, largest {}", short(five.median), short(five.maximum)),
        verdict: if five.maximum < 1.0 { Verdict::Holds } else { Verdict::Limited },
        because: String::new(),
    }
}

/// The largest over components, for each round of the first run of each start.
fn curves(set: &Evaluated, of: fn(&BoundRound) -> f64) -> Vec<Vec<f64>> {
    let runs = set.comparison.starts.iter().filter_map(|start| start.bounds.first());
    runs.map(|rounds| rounds.iter().map(of).collect()).collect()
}

fn actual(round: &BoundRound) -> f64 {
    round.difference.iter().map(|difference| difference.mean).fold(0.0, f64::max)
}

fn bound(round: &BoundRound) -> f64 {
    round.mean_bound.iter().flatten().copied().fold(0.0, f64::max)
}

/// "The similar development of our bound and the actual difference indicates the accuracy of our analysis."
fn similar_development(evaluation: &Evaluation) -> Claim {
    /// Correlation above which two curves develop similarly.
    const SIMILAR: f64 = 0.5;
    let (claim, paper) = ("Bound and actual difference develop similarly", "similar");
    let of = |set: &Evaluated| {
        let both = curves(set, bound).into_iter().zip(curves(set, actual));
        Quantiles::of(both.map(|(bound, actual)| correlation(&bound, &actual)).filter(|r| r.is_finite())).median
    };
    let found: Vec<(&str, f64)> =
        bounded(evaluation).map(|(set, _)| (set.set.name, of(set))).filter(|(_, r)| r.is_finite()).collect();
    if found.is_empty() {
        return untested(claim, "all data sets", paper);
    }
    let n = found.iter().filter(|(_, r)| *r >= SIMILAR).count();
    let list: Vec<String> = found.iter().map(|(name, r)| format!("{name} {r:.2}")).collect();
    Claim {
        claim: claim.into(),
        about: "all data sets".into(),
        paper: paper.into(),
        here: format!("correlation of their logarithms over rounds, median start: {}", list.join(", ")),
        verdict: Verdict::of_share(n, found.len()),
        because: format!(
            "“Similar” is taken as a correlation of at least {SIMILAR}. Once the components have settled, \
                          the bound is constant and the difference is noise around a constant."
        ),
    }
}

/// Pearson's correlation of the logarithms of positive values.
fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let pairs: Vec<(f64, f64)> =
        a.iter().zip(b).filter(|(a, b)| **a > 0.0 && **b > 0.0).map(|(a, b)| (a.ln(), b.ln())).collect();
    let n = pairs.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| pairs.iter().map(of).sum::<f64>() / n;
    let (x, y) = (mean(|pair| pair.0), mean(|pair| pair.1));
    let sum = |of: &dyn Fn(f64, f64) -> f64| pairs.iter().map(|(a, b)| of(a - x, b - y)).sum::<f64>();
    sum(&|a, b| a * b) / (sum(&|a, _| a * a) * sum(&|_, b| b * b)).sqrt()
}

/// "The largest differences occur in the first couple of rounds."
fn early(evaluation: &Evaluation) -> Claim {
    let (claim, paper) =
        ("The largest differences of single updates occur in the first rounds", "the first couple of rounds");
    let found: Vec<(&str, Peaks)> =
        bounded(evaluation).map(|(set, _)| (set.set.name, Peaks::of(&curves(set, actual)))).collect();
    if found.is_empty() {
        return untested(claim, "all data sets", paper);
    }
    let (early, starts) =
        found.iter().fold((0, 0), |(early, all), (_, peaks)| (early + peaks.early, all + peaks.starts));
    let list: Vec<String> =
        found.iter().map(|(name, peaks)| format!("{name} {} of {}", peaks.early, peaks.starts)).collect();
    Claim {
        claim: claim.into(),
        about: "all data sets".into(),
        paper: paper.into(),
        here: format!("starts whose largest is in rounds 1–{}: {}", crate::evaluation::early::FIRST, list.join(", ")),
        verdict: Verdict::of_share(early, starts),
        because: String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_that_are_proportional_correlate_fully() {
        let curve = [1.0, 3.0, 2.0, 8.0];
        assert!((correlation(&curve, &curve.map(|x| 5.0 * x)) - 1.0).abs() < 1e-12);
        assert!((correlation(&curve, &curve.map(|x| 1.0 / x)) + 1.0).abs() < 1e-12);
    }
}
