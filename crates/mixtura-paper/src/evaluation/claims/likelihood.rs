//! Claims about the likelihoods of the last models (test type 1).

use super::{Claim, Verdict, artificial, counted, untested};
use crate::comparison::Counts;
use crate::evaluation::sets::SMALL_ROWS;
use crate::evaluation::{Evaluated, Evaluation};
use crate::quantiles::short;

pub(super) fn claims(evaluation: &Evaluation) -> Vec<Claim> {
    let mut claims = coincide(evaluation);
    claims.push(between(evaluation));
    claims.push(better_or_worse(evaluation));
    claims.push(other_shapes(evaluation));
    claims
}

/// SEM's last log-likelihood minus EM's, for every run.
fn gaps(set: &Evaluated) -> impl Iterator<Item = f64> + '_ {
    let starts = set.comparison.starts.iter();
    starts.flat_map(|start| start.sem_last.iter().map(move |last| last - start.em_last()))
}

/// Starts and runs in words.
fn words(starts: Counts, runs: Counts) -> String {
    format!(
        "better / equal / worse from {} / {} / {} of {}, in {} / {} / {} of {}",
        starts.better,
        starts.equal,
        starts.worse,
        counted(starts.total(), "start"),
        runs.better,
        runs.equal,
        runs.worse,
        counted(runs.total(), "run")
    )
}

/// "For the majority of our experiments the log-likelihood of the solutions almost coincide."
fn coincide(evaluation: &Evaluation) -> Vec<Claim> {
    let (claim, paper) = ("Likelihoods almost coincide in most experiments", "the majority");
    if evaluation.sets.is_empty() {
        return vec![untested(claim, "all data sets", paper)];
    }
    let one = |set: &Evaluated| {
        let outcomes = &set.summary.outcomes;
        let runs = outcomes.runs;
        // The paper speaks of experiments, which are runs: the majority of them must agree.
        let verdict = match 2 * runs.equal {
            n if n <= runs.total() => Verdict::Fails,
            _ if 2 * outcomes.starts.equal <= outcomes.starts.total() => Verdict::Limited,
            _ => Verdict::Holds,
        };
        let near = outcomes.equal_within / 10.0;
        let n_near = gaps(set).filter(|gap| gap.abs() <= near).count();
        let climbing = set.summary.starts.iter().filter(|start| start.em_climbs > outcomes.equal_within).count();
        let still = match climbing {
            0 => String::new(),
            n => format!(" EM itself was still climbing after 50 rounds from {}.", counted(n, "start")),
        };
        let because = format!("Within a tenth of that: {n_near} runs.{still}");
        Claim {
            claim: claim.into(),
            about: set.set.title.into(),
            paper: paper.into(),
            here: format!(
                "{}; equal is within {} nats per row",
                words(outcomes.starts, runs),
                short(outcomes.equal_within)
            ),
            verdict,
            because,
        }
    };
    evaluation.sets.iter().map(one).collect()
}

/// "For N = 10,000 we sometimes observe a small difference between the log-likelihood of the computed solutions."
fn between(evaluation: &Evaluation) -> Claim {
    let (claim, paper) = ("With 10,000 rows likelihoods sometimes differ a little during the run", "sometimes");
    let sets: Vec<&Evaluated> = artificial(evaluation, SMALL_ROWS).collect();
    if sets.is_empty() {
        return untested(claim, "artificial, 10,000 rows", paper);
    }
    let starts = || sets.iter().flat_map(|set| set.comparison.starts.iter().map(move |start| (set, start)));
    let largest = |start: &crate::comparison::StartDigest| {
        start.gap[1..].iter().map(|five| five.median.abs()).fold(0.0, f64::max)
    };
    let differing = starts().filter(|(set, start)| largest(start) > set.summary.outcomes.equal_within).count();
    let lag =
        starts().flat_map(|(_, start)| start.lag.iter().flatten().map(|five| five.median.abs())).fold(0.0, f64::max);
    Claim {
        claim: claim.into(),
        about: "artificial, 10,000 rows, both kinds of weights".into(),
        paper: paper.into(),
        here: format!(
            "the median run differs by more than counts as equal in some round from {differing} of {}",
            counted(starts().count(), "start")
        ),
        verdict: if differing > 0 { Verdict::Holds } else { Verdict::Fails },
        because: format!("While EM climbs, the median run of SEM lags or leads it by up to {lag:.1} rounds."),
    }
}

/// "In some cases this leads to final solutions with a log-likelihood that differs …, may be better or worse."
fn better_or_worse(evaluation: &Evaluation) -> Claim {
    let (claim, paper) = ("With 10,000 rows the final likelihood may be better or worse", "either, in some cases");
    let sets: Vec<&Evaluated> = artificial(evaluation, SMALL_ROWS).collect();
    if sets.is_empty() {
        return untested(claim, "artificial, 10,000 rows", paper);
    }
    let sum = |of: fn(&Evaluated) -> Counts| {
        sets.iter().map(|set| of(set)).fold(Counts::default(), |a, b| Counts {
            better: a.better + b.better,
            equal: a.equal + b.equal,
            worse: a.worse + b.worse,
        })
    };
    let (starts, runs) = (sum(|set| set.summary.outcomes.starts), sum(|set| set.summary.outcomes.runs));
    let within = sets[0].summary.outcomes.equal_within;
    let extreme = |sign: f64| sets.iter().flat_map(|set| gaps(set)).map(|gap| sign * gap).fold(0.0, f64::max);
    let none = |word: &str, sign: f64| {
        let most = short(extreme(sign));
        format!(
            "No run ended {word} by more than {} nats per row; the largest such difference is {most}.",
            short(within)
        )
    };
    let (verdict, because) = match (starts.better > 0 && starts.worse > 0, runs.better > 0, runs.worse > 0) {
        (true, ..) => (Verdict::Holds, String::new()),
        (false, true, true) => {
            (Verdict::Limited, "Both occur in single runs, but not in the median run of a start.".into())
        }
        (false, true, false) => (Verdict::Limited, none("worse", -1.0)),
        (false, false, true) => (Verdict::Limited, none("better", 1.0)),
        (false, false, false) => (Verdict::Fails, format!("{} {}", none("better", 1.0), none("worse", -1.0))),
    };
    Claim {
        claim: claim.into(),
        about: "artificial, 10,000 rows, both kinds of weights".into(),
        paper: paper.into(),
        here: words(starts, runs),
        verdict,
        because,
    }
}

/// "The experiments for the different combinations of D and K led to essentially similar results."
fn other_shapes(evaluation: &Evaluation) -> Claim {
    let (claim, paper) = ("Other D and K give essentially similar likelihoods", "essentially similar results");
    let specimens = &evaluation.specimens;
    if specimens.is_empty() {
        return untested(claim, "other artificial mixtures", paper);
    }
    let similar = |runs: &Counts| 2 * runs.equal > runs.total();
    let n = specimens.iter().filter(|specimen| similar(&specimen.outcomes.runs)).count();
    let mut others: Vec<String> = (specimens.iter())
        .filter(|specimen| !similar(&specimen.outcomes.runs))
        .map(|specimen| {
            let plan = specimen.plan;
            format!("{} × {}, K = {}", plan.n_rows, plan.n_columns, plan.n_components)
        })
        .collect();
    others.dedup();
    let which = if others.is_empty() { String::new() } else { format!(" The others: {}.", others.join("; ")) };
    let least = specimens.iter().map(|specimen| specimen.gap).fold(f64::INFINITY, f64::min);
    Claim {
        claim: claim.into(),
        about: counted(specimens.len(), "artificial mixture"),
        paper: paper.into(),
        here: format!(
            "in {n} of {} most runs ended with EM's likelihood; the lowest median is {} nats per row below EM",
            specimens.len(),
            short((-least).max(0.0))
        ),
        verdict: Verdict::of_share(n, specimens.len()),
        because: format!("From three random starts each, three runs per start.{which}"),
    }
}
