//! Claims about the differences between the models during a run (test type 2).

use super::{Claim, Verdict, artificial, counted, untested};
use crate::Quantiles;
use crate::evaluation::early::{FIRST, PARTS, Part, Peaks, curve};
use crate::evaluation::{Evaluated, Evaluation, SETS};
use crate::quantiles::short;

pub(super) fn claims(evaluation: &Evaluation) -> Vec<Claim> {
    let mut claims = largest(evaluation);
    claims.extend(factor(evaluation));
    claims.push(same_likelihood(evaluation));
    claims.extend(early(evaluation));
    claims.push(single_components(evaluation));
    claims.push(similar_starts(evaluation));
    claims
}

/// The largest difference of any component in any round, for each start, in units of the largest possible.
fn by_start(set: &Evaluated, part: Part, unit: f64) -> Vec<f64> {
    let largest = |values: Vec<f64>| values.into_iter().fold(0.0, f64::max) / unit;
    set.comparison.starts.iter().map(|start| largest(curve(start, part))).collect()
}

/// The largest possible difference of each part, and its symbol.
fn units(set: &Evaluated) -> [(f64, &'static str); 3] {
    [(1.0, ""), (set.summary.gamma_mean, " Γ_μ"), (set.summary.gamma_covariance, " Γ_Σ")]
}

/// "The weights, means and covariances differ by at most …"
fn largest(evaluation: &Evaluation) -> Vec<Claim> {
    let mut claims = Vec::new();
    for set in &SETS {
        let values = [set.claims.weight, set.claims.mean, set.claims.covariance];
        let evaluated = evaluation.sets.iter().find(|evaluated| evaluated.set.name == set.name);
        for (at, (name, part)) in PARTS.into_iter().enumerate() {
            let Some(value) = values[at] else { continue };
            let claim = format!("Differences of {name} over 50 rounds are at most …");
            let sign = ["", " Γ_μ", " Γ_Σ"][at];
            let paper = format!("{value}{sign}");
            let Some(evaluated) = evaluated else {
                claims.push(untested(&claim, set.title, &paper));
                continue;
            };
            let (unit, sign) = units(evaluated)[at];
            let found = by_start(evaluated, part, unit);
            claims.push(at_most(&claim, set.title, &found, value, sign));
        }
    }
    claims
}

/// A claim that the largest value of each start is at most a value.
fn at_most(claim: &str, about: &str, found: &[f64], value: f64, sign: &str) -> Claim {
    let five = Quantiles::of(found.iter().copied());
    let n = found.iter().filter(|&&largest| largest <= value).count();
    let verdict = Verdict::of_share(n, found.len());
    let because = match verdict {
        Verdict::Limited => {
            "From the other starts a component of SEM goes elsewhere than EM's of the same number for some rounds."
        }
        Verdict::Fails => {
            "The paper shows selected starts on its own data, whose parameters are unknown; how far components move \
             before they settle depends on both."
        }
        Verdict::Holds | Verdict::Untested => "",
    };
    Claim {
        claim: claim.into(),
        about: about.into(),
        paper: format!("{value}{sign}"),
        here: format!(
            "median start {}, best {}, worst {}{sign}; {n} of {} within the paper's value",
            short(five.median),
            short(five.minimum),
            short(five.maximum),
            counted(found.len(), "start")
        ),
        verdict,
        because: because.into(),
    }
}

/// "The differences increase by a factor of at most 50" from 1,000,000 to 10,000 rows.
fn factor(evaluation: &Evaluation) -> Vec<Claim> {
    const FACTOR: f64 = 50.0;
    let claim = "From 1,000,000 to 10,000 rows differences grow by a factor of at most …";
    let pair = |balance: &str| {
        let find = |n_rows| artificial(evaluation, n_rows).find(|set| set.set.title.ends_with(balance));
        Some((find(10_000)?, find(1_000_000)?))
    };
    let one = |balance: &str| {
        // " balanced" would also end "unbalanced" without the space.
        let about = format!("artificial,{balance}");
        let Some((small, large)) = pair(balance) else { return untested(claim, &about, "50") };
        let median = |set: &Evaluated, at: usize| Quantiles::of(by_start(set, PARTS[at].1, units(set)[at].0)).median;
        let factors = [0, 1, 2].map(|at| median(small, at) / median(large, at));
        let n = factors.iter().filter(|&&factor| factor <= FACTOR).count();
        Claim {
            claim: claim.into(),
            about,
            paper: "50".into(),
            here: format!(
                "weights {:.0}, means {:.0}, covariances {:.0} (median starts)",
                factors[0], factors[1], factors[2]
            ),
            verdict: Verdict::of_share(n, 3),
            because:
                "A hundredth of the rows makes single updates differ ten times as much; what is beyond comes from \
                      components that move elsewhere."
                    .into(),
        }
    };
    [" balanced", " unbalanced"].map(one).into()
}

/// "This does not necessarily result in a different likelihood."
fn same_likelihood(evaluation: &Evaluation) -> Claim {
    let (claim, paper) = ("Larger differences do not necessarily mean another likelihood", "not necessarily");
    let sets: Vec<&Evaluated> = artificial(evaluation, 10_000).collect();
    if sets.is_empty() {
        return untested(claim, "artificial, 10,000 rows", paper);
    }
    let (mut differing, mut equal) = (0, 0);
    for set in &sets {
        let found = by_start(set, PARTS[1].1, set.summary.gamma_mean);
        // Differences of means beyond the paper's value for a million rows.
        for (_, start) in found.iter().zip(&set.summary.starts).filter(|(largest, _)| **largest > 0.0015) {
            differing += 1;
            equal += usize::from(start.outcome == crate::comparison::Outcome::Equal);
        }
    }
    Claim {
        claim: claim.into(),
        about: "artificial, 10,000 rows, both kinds of weights".into(),
        paper: paper.into(),
        here: format!(
            "{equal} of {} with means more than 0.0015 Γ_μ apart end with the same likelihood",
            counted(differing, "start")
        ),
        verdict: if equal > 0 { Verdict::Holds } else { Verdict::Fails },
        because: String::new(),
    }
}

/// "In most cases, only in the first couple of rounds the difference between the parameters is larger."
fn early(evaluation: &Evaluation) -> Vec<Claim> {
    let (claim, paper) = ("Only in the first couple of rounds are differences larger", "in most cases");
    if evaluation.sets.is_empty() {
        return vec![untested(claim, "all data sets", paper)];
    }
    let one = |set: &Evaluated| {
        let peaks = PARTS.map(|(name, part)| {
            let curves: Vec<Vec<f64>> = set.comparison.starts.iter().map(|start| curve(start, part)).collect();
            (name, Peaks::of(&curves))
        });
        let holding = peaks.iter().filter(|(_, peaks)| 2 * peaks.early > peaks.starts).count();
        let [(_, weights), (_, means), (_, covariances)] = &peaks;
        let verdict = match holding {
            3 => Verdict::Holds,
            0 => Verdict::Fails,
            _ => Verdict::Limited,
        };
        let limit: Vec<&str> =
            peaks.iter().filter(|(_, peaks)| 2 * peaks.early > peaks.starts).map(|(name, _)| *name).collect();
        let because = match verdict {
            Verdict::Limited => format!("Only for {}.", limit.join(" and ")),
            Verdict::Fails => on_the_way(set),
            Verdict::Holds | Verdict::Untested => String::new(),
        };
        Claim {
            claim: claim.into(),
            about: set.set.title.into(),
            paper: paper.into(),
            here: format!(
                "largest in rounds 1–{FIRST} from {} (weights), {} (means), {} (covariances) of {}; median round of the \
                 largest {:.0}, {:.0}, {:.0}",
                weights.early,
                means.early,
                covariances.early,
                counted(means.starts, "start"),
                weights.round.median,
                means.round.median,
                covariances.round.median
            ),
            verdict,
            because,
        }
    };
    evaluation.sets.iter().map(one).collect()
}

/// What happens in the middle of a run, where the models differ most.
fn on_the_way(set: &Evaluated) -> String {
    let starts = &set.comparison.starts;
    let end = |values: Vec<f64>| values[values.len() - 1] / values.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    let left = Quantiles::of(starts.iter().map(|start| end(curve(start, PARTS[1].1)))).median;
    let lag = |start: &crate::comparison::StartDigest| {
        start.lag.iter().flatten().map(|five| five.median.abs()).fold(0.0, f64::max)
    };
    let lag = Quantiles::of(starts.iter().map(lag)).median;
    let (when, then) = if left < 0.5 {
        ("in the middle of a run, where components move fast", "then they meet again: after the last round")
    } else {
        ("where components move", "and are still apart at the end: after the last round")
    };
    format!(
        "They part {when}; while EM climbs, the median run of SEM lags or leads it by up to {lag:.1} rounds (median start); \
         {then} means differ by {:.0} % of the largest difference.",
        100.0 * left
    )
}

/// "The difference in the parameters of single components are substantially larger than those of the remaining."
fn single_components(evaluation: &Evaluation) -> Claim {
    /// What "substantially larger" means: the largest difference in units of the median component's.
    const SUBSTANTIALLY: f64 = 3.0;
    let (claim, paper) = ("Single components differ substantially more than the others", "in some experiments");
    let sets: Vec<&Evaluated> = artificial(evaluation, 1_000_000).collect();
    if sets.is_empty() {
        return untested(claim, "artificial, 1,000,000 rows", paper);
    }
    let ratio = |start: &crate::comparison::StartDigest| {
        let of = |k: usize| start.unmatched.mean[1..].iter().map(|round| round[k].median).fold(0.0, f64::max);
        let five = Quantiles::of((0..start.n_components()).map(of));
        five.maximum / five.median.max(f64::MIN_POSITIVE)
    };
    let ratios: Vec<f64> = sets.iter().flat_map(|set| set.comparison.starts.iter().map(ratio)).collect();
    let n = ratios.iter().filter(|&&ratio| ratio > SUBSTANTIALLY).count();
    Claim {
        claim: claim.into(),
        about: "artificial, 1,000,000 rows, both kinds of weights".into(),
        paper: paper.into(),
        here: format!(
            "the mean that differs most differs {:.1} times as much as the median component's (median start); more than \
             {SUBSTANTIALLY} times from {n} of {}",
            Quantiles::of(ratios.iter().copied()).median,
            counted(ratios.len(), "start")
        ),
        verdict: if n > 0 { Verdict::Holds } else { Verdict::Fails },
        because: String::new(),
    }
}

/// "We observed that the respective results hardly differed from each other" (for different initial solutions).
fn similar_starts(evaluation: &Evaluation) -> Claim {
    /// What "hardly" means: the quartiles of the largest difference over starts are within this factor.
    const HARDLY: f64 = 2.0;
    let (claim, paper) = ("Results from different starts hardly differ from each other", "hardly");
    if evaluation.sets.is_empty() {
        return untested(claim, "all data sets", paper);
    }
    let factor = |set: &Evaluated| {
        let five = Quantiles::of(by_start(set, PARTS[1].1, 1.0));
        five.upper_quartile / five.lower_quartile.max(f64::MIN_POSITIVE)
    };
    let factors: Vec<(&str, f64)> = evaluation.sets.iter().map(|set| (set.set.name, factor(set))).collect();
    let n = factors.iter().filter(|(_, factor)| *factor <= HARDLY).count();
    let list: Vec<String> = factors.iter().map(|(name, factor)| format!("{name} {factor:.1}")).collect();
    Claim {
        claim: claim.into(),
        about: "all data sets".into(),
        paper: paper.into(),
        here: format!("upper ÷ lower quartile over starts of the largest difference of means: {}", list.join(", ")),
        verdict: Verdict::of_share(n, factors.len()),
        because: format!("“Hardly” is taken as within a factor of {HARDLY}."),
    }
}
