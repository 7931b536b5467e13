//! The HTML report of a comparison: findings, interactive figures, tables, and how to repeat it.

mod bounds;
mod differences;
mod likelihoods;
mod speed;

use mixtura_report::{Block, Choice, Finding, Mark, Page, Section, Table, Tone};

pub(crate) use self::bounds::{GAPS, bound_figure, bounds};
pub(crate) use self::differences::{Drawn, difference_figures, differences, grey_words};
pub(crate) use self::likelihoods::{Sign, likelihood_figure, likelihoods};
pub(crate) use self::speed::speed;
use super::{Comparison, Counts, Outcomes, StartDigest, Summary};
use crate::Quantiles;
use crate::quantiles::short;

/// Maximum number of starts with separate figures.
const MOST_STARTS: usize = 6;
/// Colours of the two algorithms, of theoretical values and of those of the paper.
pub(crate) const EM: usize = 1;
const SEM: usize = 0;
const BOUND: usize = 6;
const TYPICAL: usize = 2;
pub(crate) const PAPER: usize = 3;
/// Units of differences if columns were scaled.
pub(crate) const SCALED: &str = "units of the scaled columns";

/// Texts of the report that do not follow from the comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct PageSettings {
    /// Title.
    pub title: String,
    /// Description of the data in one line.
    pub data: String,
    /// Name of the data in the titles of figures.
    pub name: String,
    /// Units of the differences, such as "data units".
    pub units: String,
    /// How to repeat it: command, version and seed.
    pub footer: String,
}

/// A comparison and what figures say about it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scene<'a> {
    /// The results.
    pub comparison: &'a Comparison,
    /// Their summary.
    pub summary: &'a Summary,
    /// Name of the data in titles.
    pub name: &'a str,
    /// Units of the differences.
    pub units: &'a str,
    /// The paper's values, drawn as lines.
    pub levels: Levels,
}

/// Values that the paper reports, in the units of the figures.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Levels {
    /// Largest difference of weights.
    pub weight: Option<f64>,
    /// Largest distance of means.
    pub mean: Option<f64>,
    /// Largest distance of covariances.
    pub covariance: Option<f64>,
    /// Largest bound on the distance of means.
    pub bound: Option<f64>,
}

impl Scene<'_> {
    /// The end of a title: data, start and number of runs.
    fn place(&self, start: usize) -> String {
        format!("{}, start {}, {} of SEM", self.name, start + 1, self.runs())
    }

    /// How many runs of SEM there are from each start.
    pub(crate) fn runs(&self) -> String {
        match self.comparison.plan.runs {
            1 => "1 run".into(),
            runs => format!("{runs} runs"),
        }
    }

    /// Whether columns were scaled to [0, 1].
    fn is_scaled(&self) -> bool {
        self.units == SCALED
    }
}

/// The report of a comparison.
pub fn page(comparison: &Comparison, summary: &Summary, settings: &PageSettings) -> Page {
    let PageSettings { name, units, .. } = settings;
    let scene = Scene { comparison, summary, name, units, levels: Levels::default() };
    let mut sections = vec![likelihoods(&scene, Sign::Plain), differences(&scene)];
    sections.extend(bounds(&scene));
    sections.push(speed(&scene));
    sections.push(how(comparison));
    Page {
        title: settings.title.clone(),
        subtitle: settings.data.clone(),
        verdict: summary.sentence.clone(),
        findings: findings(summary),
        sections,
        footer: settings.footer.clone(),
    }
}

fn findings(summary: &Summary) -> Vec<Finding> {
    let finding =
        |value: String, label: &str, tone: Tone| Finding { name: String::new(), value, label: label.into(), tone };
    let speedup = summary.time.speedup;
    let mut findings = vec![
        finding(format!("{speedup:.2}×"), "speedup per round: time of EM divided by time of SEM", good(speedup > 1.0)),
        outcomes_finding(&summary.outcomes),
        finding(
            format!("{:.3} %", 100.0 * summary.last_difference.matched.mean / summary.gamma_mean),
            "largest difference of means after the last round, relative to the largest possible (matched components)",
            Tone::Neutral,
        ),
    ];
    if let Some(bounds) = summary.bounds.as_ref().filter(|bounds| bounds.all.statements > 0) {
        let held = 100.0 * bounds.all.held as f64 / bounds.all.statements as f64;
        findings.push(finding(
            format!("{held:.2} %"),
            "of the theoretical bounds on single updates held",
            good(bounds.all.held == bounds.all.statements),
        ));
    }
    findings
}

fn good(is_good: bool) -> Tone {
    if is_good { Tone::Good } else { Tone::Caution }
}

/// How the starts ended by their median run, which is good only if no single run ended worse.
fn outcomes_finding(outcomes: &Outcomes) -> Finding {
    let (starts, runs) = (outcomes.starts, outcomes.runs);
    let worse_runs = match runs.worse {
        0 => String::new(),
        worse => format!("; {worse} of {} runs ended worse", runs.total()),
    };
    Finding {
        name: String::new(),
        value: in_words(&starts),
        label: format!("starts, by the last model of SEM's median run compared with EM's{worse_runs}"),
        tone: good(runs.worse == 0),
    }
}

/// "3 of 3 equal", or "2 of 3 equal, 1 better".
pub(crate) fn in_words(counts: &Counts) -> String {
    let all = [(counts.equal, "equal"), (counts.better, "better"), (counts.worse, "worse")];
    let occurred = all.into_iter().filter(|(n, _)| *n > 0).enumerate();
    let part = |(number, (n, word)): (usize, (usize, &str))| match number {
        0 => format!("{n} of {} {word}", counts.total()),
        _ => format!("{n} {word}"),
    };
    occurred.map(part).collect::<Vec<_>>().join(", ")
}

/// A number with at most two digits, and without zeros at its end: 0.0055, 0.001.
pub(crate) fn two_digits(x: f64) -> String {
    let text = short(x);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').into() } else { text }
}

/// Consecutive integers, as positions.
fn numbers(from: usize, n: usize) -> Vec<f64> {
    (from..from + n).map(|round| round as f64).collect()
}

/// A choice with one option per start shown.
fn by_start(comparison: &Comparison, blocks: impl Fn(usize, &StartDigest) -> Vec<Block>) -> Block {
    let option = |number: usize| (format!("{}", number + 1), blocks(number, &comparison.starts[number]));
    Block::Choice(Choice {
        label: "start".into(),
        options: shown(&comparison.starts).into_iter().map(option).collect(),
        group: None,
    })
}

/// The starts to show: all, or if there are many, the first and a selection from the lowest to the highest result.
fn shown(starts: &[StartDigest]) -> Vec<usize> {
    if starts.len() <= MOST_STARTS {
        return (0..starts.len()).collect();
    }
    let order = by_outcome(starts);
    let picks = MOST_STARTS - 1;
    let mut shown: Vec<usize> = (0..picks).map(|i| order[i * (starts.len() - 1) / (picks - 1)]).collect();
    shown.push(0);
    shown.sort_unstable();
    shown.dedup();
    shown
}

/// The starts from the one where SEM ended lowest compared with EM to the one where it ended highest.
pub(crate) fn by_outcome(starts: &[StartDigest]) -> Vec<usize> {
    let outcome = |start: &StartDigest| Quantiles::of(start.sem_last.iter().copied()).median - start.em_last();
    let mut order: Vec<usize> = (0..starts.len()).collect();
    order.sort_by(|&a, &b| outcome(&starts[a]).total_cmp(&outcome(&starts[b])));
    order
}

/// Bands and a median line for the five-number summary of each round.
fn ribbon(x: &[f64], five: &[Quantiles]) -> Vec<Mark> {
    let each = |of: fn(&Quantiles) -> f64| five.iter().map(of).collect::<Vec<f64>>();
    vec![
        Mark::band("extremes", x.to_vec(), each(|q| q.minimum), each(|q| q.maximum)),
        Mark::band("quartiles", x.to_vec(), each(|q| q.lower_quartile), each(|q| q.upper_quartile)),
        Mark::line("median", x.to_vec(), each(|q| q.median)),
    ]
}

/// A share as a percentage, as in the terminal.
fn percent(share: f64) -> String {
    format!("{:.4} %", 100.0 * share)
}

/// A number with three digits, in scientific notation if it is very large or small.
pub(crate) fn digits(x: f64) -> String {
    match x.abs() {
        0.0 => "0".into(),
        size if (1e-4..1e4).contains(&size) => {
            let decimals = (2.0 - size.log10().floor()).max(0.0) as usize;
            format!("{x:.decimals$}")
        }
        _ => format!("{x:.2e}"),
    }
}

/// How components and starts are counted, said once on a page.
pub(crate) const NUMBERS: &str = "Components are numbered from 0, as in the labels of predict, and starts from 1.";

fn how(comparison: &Comparison) -> Section {
    let plan = &comparison.plan;
    let row = |name: &str, value: String| vec![name.to_string(), value];
    let table = Table {
        heading: vec!["setting".into(), "value".into()],
        rows: vec![
            row("rows × columns", format!("{} × {}", comparison.n_rows, comparison.n_columns)),
            row("components", plan.n_components.to_string()),
            row("starts", comparison.starts.len().to_string()),
            row("SEM runs per start", plan.runs.to_string()),
            row("runs compared with the bounds", plan.bound_runs.to_string()),
            row("rounds per run", plan.rounds.to_string()),
            row("variance floor (relative to the squared column scale)", format!("{:e}", plan.regularization)),
            row("likelihoods count as equal within, nats per row", two_digits(plan.equal_within)),
            row("seed of the runs", plan.seed.to_string()),
        ],
        ..Table::default()
    };
    Section { heading: "Settings".into(), blocks: vec![Block::Table(table), Block::Text(NUMBERS.into())] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_was_green_although_single_runs_ended_worse() {
        let starts = Counts { better: 0, equal: 5, worse: 0 };
        let card = |worse: usize| {
            outcomes_finding(&Outcomes {
                starts,
                runs: Counts { better: 0, equal: 25 - worse, worse },
                equal_within: 1e-3,
            })
        };
        assert_eq!(card(0).tone, Tone::Good);
        assert_eq!(card(2).tone, Tone::Caution);
        assert!(card(2).label.ends_with("; 2 of 25 runs ended worse"), "{}", card(2).label);
    }

    #[test]
    fn cards_counted_outcomes_without_words() {
        let words = |better, equal, worse| in_words(&Counts { better, equal, worse });
        assert_eq!(words(0, 3, 0), "3 of 3 equal");
        assert_eq!(words(1, 2, 0), "2 of 3 equal, 1 better");
        assert_eq!(words(4, 0, 1), "4 of 5 better, 1 worse");
    }

    #[test]
    fn tolerances_had_sixteen_digits() {
        assert_eq!([0.005_519_274_376_417_233_5, 0.001, 0.25, 10.0].map(two_digits), ["0.0055", "0.001", "0.25", "10"]);
    }
}
