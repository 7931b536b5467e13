//! Claims about single updates and the theoretical bounds (test type 3).

use super::{Claim, Verdict, artificial, counted, range, untested};
use crate::Quantiles;
use crate::comparison::{BoundRound, BoundSummary, Held, Statements};
use crate::evaluation::early::{FIRST, Peaks};
use crate::evaluation::sets::{LARGE_ROWS, SMALL_ROWS};
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
    let one = |name: &str, of: fn(&Statements) -> Held| {
        let (claim, held) = (format!("{name} holds"), of(&statements));
        if held.statements == 0 {
            return untested(&claim, "all data sets", paper);
        }
        let without = bounded(evaluation).filter(|(_, bounds)| of(&bounds.theorems).statements == 0);
        let without: Vec<&str> = without.map(|(set, _)| set.set.label).collect();
        let expected = bounded(evaluation)
            .map(|(set, bounds)| of(&bounds.theorems).statements as f64 * delta(set, bounds.confidence))
            .sum();
        let (about, because) = match without.join(" and ") {
            none if none.is_empty() => ("all data sets".into(), String::new()),
            names => {
                (format!("all data sets but {names}"), "There, the variance floor changed every covariance.".into())
            }
        };
        Claim {
            claim,
            about,
            paper: paper.into(),
            here: format!("{} of {} bounds held", held.held, held.statements),
            verdict: verdict(held, expected),
            because,
        }
    };
    let mut claims = vec![
        one("Theorem 1, on weights,", |theorems| theorems.weight),
        one("Theorem 2, on means,", |theorems| theorems.mean),
        one("Theorem 3, on covariances,", |theorems| theorems.covariance),
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
            because: format!(
                "The paper's δ covers weights and means; here it also covers covariances that the variance floor did not \
                 change.{}",
                too_light(evaluation)
            ),
        }
    });
    claims
}

/// The probability that a single statement fails, at most, if all of a round hold simultaneously with this confidence.
fn delta(set: &Evaluated, confidence: f64) -> f64 {
    let (k, d) = (set.comparison.plan.n_components as f64, set.comparison.n_columns as f64);
    (1.0 - confidence) / (k * (1.0 + d + d * (d + 1.0) / 2.0))
}

/// Bounds hold if no more of them failed than are expected to at most.
fn verdict(held: Held, expected: f64) -> Verdict {
    if (held.statements - held.held) as f64 <= expected.ceil() { Verdict::Holds } else { Verdict::Fails }
}

/// How many components were too light for a bound.
fn too_light(evaluation: &Evaluation) -> String {
    let rounds = bounded(evaluation).flat_map(|(set, _)| &set.comparison.starts);
    let rounds = rounds.flat_map(|start| start.bounds.iter().flatten());
    let (none, all) = rounds.fold((0, 0), |(none, all), round| {
        (none + round.mean_bound.iter().filter(|bound| bound.is_none()).count(), all + round.mean_bound.len())
    });
    if none == 0 {
        return String::new();
    }
    format!(" {none} of {all} times a component was too light for a bound.")
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
            _ => exceeding(evaluated, value * gamma),
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

/// In how many rounds the bound exceeds the paper's value, from the starts where it does.
fn exceeding(set: &Evaluated, value: f64) -> String {
    let above = |curve: Vec<f64>| curve.iter().filter(|&&bound| bound > value).count() as f64;
    let rounds = curves(set, bound).into_iter().map(above).filter(|&n| n > 0.0);
    let five = Quantiles::of(rounds);
    format!(
        "From the other starts the bound exceeds the paper's value in {} of {} rounds.",
        range(five.minimum, five.maximum),
        set.comparison.plan.rounds
    )
}

/// "Larger bounds … are not surprising, since smaller values of N result in smaller values of r_k."
fn smaller_n(evaluation: &Evaluation) -> Claim {
    let (claim, paper) = ("Bounds are larger for fewer rows", "0.065 against 0.0054 Γ_μ: 12 times");
    let middle = |n_rows: usize| {
        let sets = artificial(evaluation, n_rows).filter(|set| set.summary.bounds.is_some());
        let bounds = sets.flat_map(|set| {
            let rounds = set.comparison.starts.iter().flat_map(|start| start.bounds.iter().flatten());
            let gamma = set.summary.gamma_mean;
            rounds.flat_map(move |round| round.mean_bound.iter().flatten().map(move |bound| bound / gamma))
        });
        Quantiles::of(bounds).median
    };
    let (small, large) = (middle(SMALL_ROWS), middle(LARGE_ROWS));
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
        because:
            "The paper compares the largest bounds; here those are void with 10,000 rows, so these are medians over \
                  rounds and components. Where r_k is large, a bound is proportional to 1/√N: 10 times."
                .into(),
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

fn typical(round: &BoundRound) -> f64 {
    round.mean_typical.iter().copied().fold(0.0, f64::max)
}

/// NaN if that of any component is missing.
fn bound(round: &BoundRound) -> f64 {
    round
        .mean_bound
        .iter()
        .fold(0.0, |largest, bound| bound.map_or(f64::NAN, |bound| largest + (bound - largest).max(0.0)))
}

/// "The similar development of our bound and the actual difference indicates the accuracy of our analysis."
///
/// The actual difference of a round is a single draw, which scatters about the typical one; how it develops is how the
/// typical one does.
fn similar_development(evaluation: &Evaluation) -> Claim {
    /// The bound develops similarly if its ratio to the typical difference stays within this factor.
    const SIMILAR: f64 = 2.0;
    let (claim, paper) = ("Bound and actual difference develop similarly", "similar");
    let factor = |set: &Evaluated| {
        let both = curves(set, bound).into_iter().zip(curves(set, typical));
        let range = both.map(|(bounds, typical)| {
            let ratios = bounds.iter().zip(&typical).map(|(bound, typical)| bound / typical);
            let five = Quantiles::of(ratios.filter(|ratio| ratio.is_finite()));
            five.maximum / five.minimum
        });
        Quantiles::of(range.filter(|range| range.is_finite())).median
    };
    let found = bounded(evaluation).map(|(set, _)| (set.set.label, factor(set)));
    let found: Vec<(&str, f64)> = found.filter(|(_, factor)| factor.is_finite()).collect();
    if found.is_empty() {
        return untested(claim, "all data sets", paper);
    }
    let n = found.iter().filter(|(_, factor)| *factor <= SIMILAR).count();
    let list: Vec<String> = found.iter().map(|(label, factor)| format!("{label} {factor:.1}")).collect();
    Claim {
        claim: claim.into(),
        about: "all data sets".into(),
        paper: paper.into(),
        here: format!("bound ÷ typical distance varies over rounds by a factor of (median start): {}", list.join(", ")),
        verdict: Verdict::of_share(n, found.len()),
        because: format!(
            "“Similar” is taken as within a factor of {SIMILAR}. The actual distance of a round is one draw and scatters \
             about the typical one. Rounds in which a component has no bound are left out."
        ),
    }
}

/// "The largest differences occur in the first couple of rounds."
fn early(evaluation: &Evaluation) -> Claim {
    let (claim, paper) =
        ("The largest differences of single updates occur in the first rounds", "the first couple of rounds");
    let found: Vec<(&str, Peaks)> =
        bounded(evaluation).map(|(set, _)| (set.set.label, Peaks::of(&curves(set, actual)))).collect();
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
        here: format!("starts whose largest is in rounds 1–{}: {}", FIRST, list.join(", ")),
        verdict: Verdict::of_share(early, starts),
        because: format!(
            "“The first couple” is taken as {FIRST}; {} of {starts} peak in the first {}.",
            found.iter().map(|(_, peaks)| peaks.early_twice).sum::<usize>(),
            2 * FIRST
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_expected_where_there_are_many_statements() {
        let held = |held| Held { statements: 100_000, held, ..Held::default() };
        assert_eq!((verdict(held(100_000), 0.4), verdict(held(99_999), 0.4)), (Verdict::Holds, Verdict::Holds));
        assert_eq!(verdict(held(99_998), 0.4), Verdict::Fails);
    }
}
