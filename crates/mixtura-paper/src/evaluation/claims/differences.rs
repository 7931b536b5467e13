//! Claims about the differences between the models during a run (test type 2).

use super::{Claim, Verdict, artificial, counted, range, untested};
use crate::Quantiles;
use crate::evaluation::early::{FIRST, PARTS, Part, Peaks, curve};
use crate::evaluation::sets::{LARGE, LARGE_ROWS, SMALL_FACTOR, SMALL_ROWS};
use crate::evaluation::{DataSet, Evaluated, Evaluation, SETS};
use crate::quantiles::short;

pub(super) fn claims(evaluation: &Evaluation) -> Vec<Claim> {
    let mut claims = largest(evaluation);
    claims.push(very_similar(evaluation));
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
            let paper = in_paper(set, [LARGE.weight, LARGE.mean, LARGE.covariance][at], value, sign);
            claims.push(match evaluated {
                Some(evaluated) => at_most(claim, paper, evaluated, part, (value, units(evaluated)[at])),
                None => untested(&claim, set.title, &paper),
            });
        }
    }
    claims
}

/// The paper's value: for 10,000 rows it is a multiple of that for 1,000,000.
fn in_paper(set: &DataSet, large: Option<f64>, value: f64, sign: &str) -> String {
    match large.filter(|_| set.n_artificial() == Some(SMALL_ROWS)) {
        Some(large) => format!("{SMALL_FACTOR} × {large} = {value}{sign}"),
        None => format!("{value}{sign}"),
    }
}

/// A claim that the largest value of each start is at most a value.
fn at_most(
    claim: String,
    paper: String,
    set: &Evaluated,
    part: Part,
    (value, (unit, sign)): (f64, (f64, &str)),
) -> Claim {
    let found = by_start(set, part, unit);
    let five = Quantiles::of(found.iter().copied());
    let is_above = |largest: &f64| *largest > value;
    let n = found.len() - found.iter().filter(|largest| is_above(largest)).count();
    let verdict = Verdict::of_share(n, found.len());
    let mut because = String::new();
    if n < found.len() {
        let curves = set.comparison.starts.iter().map(|start| curve(start, part)).zip(&found);
        let above: Vec<Vec<f64>> = curves.filter(|(_, largest)| is_above(largest)).map(|(curve, _)| curve).collect();
        let rounds = Peaks::of(&above).round;
        let data = if set.set.n_artificial().is_some() {
            "The paper's artificial data are not available; this is another mixture of the same shape. "
        } else {
            ""
        };
        let when = match range(rounds.minimum, rounds.maximum) {
            one if rounds.minimum == rounds.maximum => format!("round {one}"),
            several => format!("rounds {several} (median {:.0})", rounds.median),
        };
        because = format!(
            "{data}The paper shows selected starts; where its value is exceeded, the largest difference is in {when}."
        );
    }
    Claim {
        claim,
        about: set.set.title.into(),
        paper,
        here: format!(
            "median start {}, best {}, worst {}{sign}; {n} of {} within the paper's value",
            short(five.median),
            short(five.minimum),
            short(five.maximum),
            counted(found.len(), "start")
        ),
        verdict,
        because,
    }
}

/// "In relation to the spread, the parameter vectors are very similar", of the real data.
fn very_similar(evaluation: &Evaluation) -> Claim {
    /// What "very similar" means, as a share of Γ_μ.
    const VERY: f64 = 0.01;
    let (claim, paper) = ("In relation to the spread, the parameter vectors are very similar", "very similar");
    let sets: Vec<&Evaluated> = evaluation.sets.iter().filter(|set| set.set.n_artificial().is_none()).collect();
    if sets.is_empty() {
        return untested(claim, "real data", paper);
    }
    let found = sets.iter().map(|set| by_start(set, PARTS[1].1, set.summary.gamma_mean));
    let found: Vec<Vec<f64>> = found.collect();
    let words = sets.iter().zip(&found).map(|(set, found)| {
        let n = found.iter().filter(|&&largest| largest <= VERY).count();
        let worst = 100.0 * found.iter().copied().fold(0.0, f64::max);
        format!("{}: {n} of {} starts, worst {} %", set.set.label, found.len(), short(worst))
    });
    let all: Vec<f64> = found.iter().flatten().copied().collect();
    let words: Vec<String> = words.collect();
    Claim {
        claim: claim.into(),
        about: "real data".into(),
        paper: paper.into(),
        here: format!("means within {} % of Γ_μ in all rounds: {}", 100.0 * VERY, words.join("; ")),
        verdict: Verdict::of_share(all.iter().filter(|&&largest| largest <= VERY).count(), all.len()),
        because: format!("“Very similar” is taken as {} % of Γ_μ.", 100.0 * VERY),
    }
}

/// "The differences increase by a factor of at most 50" from 1,000,000 to 10,000 rows.
fn factor(evaluation: &Evaluation) -> Vec<Claim> {
    let claim = "From 1,000,000 to 10,000 rows differences grow by a factor of at most …";
    let pair = |balance: &str| {
        let find = |n_rows| artificial(evaluation, n_rows).find(|set| set.set.title.ends_with(balance));
        Some((find(SMALL_ROWS)?, find(LARGE_ROWS)?))
    };
    let one = |balance: &str| {
        // " balanced" would also end "unbalanced" without the space.
        let about = format!("artificial,{balance}");
        let Some((small, large)) = pair(balance) else { return untested(claim, &about, "50") };
        let median = |set: &Evaluated, at: usize| Quantiles::of(by_start(set, PARTS[at].1, 1.0)).median;
        let factors = [0, 1, 2].map(|at| median(small, at) / median(large, at));
        let n = factors.iter().filter(|&&factor| factor <= SMALL_FACTOR).count();
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
                "In the units of the data, because Γ depends on the number of rows. A hundredth of the rows makes \
                      single updates differ about ten times as much."
                    .into(),
        }
    };
    [" balanced", " unbalanced"].map(one).into()
}

/// "This does not necessarily result in a different likelihood."
fn same_likelihood(evaluation: &Evaluation) -> Claim {
    let (claim, paper) = ("Larger differences do not necessarily mean another likelihood", "not necessarily");
    let sets: Vec<&Evaluated> = artificial(evaluation, SMALL_ROWS).collect();
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
            "{equal} of {} with means more than 0.0015 Γ_μ apart end within {} nats per row of EM",
            counted(differing, "start"),
            short(sets[0].summary.outcomes.equal_within)
        ),
        verdict: if equal > 0 { Verdict::Holds } else { Verdict::Fails },
        because: String::new(),
    }
}

/// "In most cases, only in the first couple of rounds the difference between the parameters is larger", of the real data
/// and of 1,000,000 artificial rows.
fn early(evaluation: &Evaluation) -> Vec<Claim> {
    let (claim, paper) = ("Only in the first couple of rounds are differences larger", "in most cases");
    let sets = || evaluation.sets.iter().filter(|set| set.set.n_artificial() != Some(SMALL_ROWS));
    if sets().next().is_none() {
        return vec![untested(claim, "real data and 1,000,000 rows", paper)];
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
    sets().map(one).collect()
}

/// How far EM and SEM are apart in likelihood while EM climbs, and in their means at the end.
fn on_the_way(set: &Evaluated) -> String {
    let starts = &set.comparison.starts;
    let end = |values: Vec<f64>| values[values.len() - 1] / values.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    let n_met = starts.iter().filter(|start| end(curve(start, PARTS[1].1)) < 0.5).count();
    let lag = |start: &crate::comparison::StartDigest| {
        start.lag.iter().flatten().map(|five| five.median.abs()).fold(0.0, f64::max)
    };
    let lag = Quantiles::of(starts.iter().map(lag)).median;
    format!(
        "While EM climbs, the median run of SEM lags or leads it by up to {lag:.1} rounds (median start). After the last \
         round the means differ by less than half of their largest difference from {n_met} of {}.",
        counted(starts.len(), "start")
    )
}

/// "The difference in the parameters of single components are substantially larger than those of the remaining."
fn single_components(evaluation: &Evaluation) -> Claim {
    /// What "substantially larger" means: the largest difference in units of the median component's.
    const SUBSTANTIALLY: f64 = 3.0;
    let (claim, paper) = ("Single components differ substantially more than the others", "in some experiments");
    let sets: Vec<&Evaluated> = artificial(evaluation, LARGE_ROWS).collect();
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
    let factors: Vec<(&str, f64)> = evaluation.sets.iter().map(|set| (set.set.label, factor(set))).collect();
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
