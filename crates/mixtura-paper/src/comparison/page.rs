//! The HTML report of a comparison: findings, interactive figures, tables, and how to repeat it.

use mixtura_report::{Axis, Block, Choice, Figure, Finding, Mark, Page, Section, Series, Table, Tone};

use super::{BoundRound, Comparison, Differences, Outcome, StartDigest, Summary};
use crate::Quantiles;

/// Maximum number of components with separate figures.
const MOST_COMPONENTS: usize = 12;
/// Maximum number of starts with separate figures.
const MOST_STARTS: usize = 6;
/// Colours of the two algorithms and of theoretical values.
const EM: usize = 1;
const SEM: usize = 0;
const BOUND: usize = 6;
const TYPICAL: usize = 2;

/// Texts of the report that do not follow from the comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct PageSettings {
    /// Title.
    pub title: String,
    /// Description of the data in one line.
    pub data: String,
    /// Units of the differences, such as "data units".
    pub units: String,
    /// How to repeat it: command, version and seed.
    pub footer: String,
}

/// The report of a comparison.
pub fn page(comparison: &Comparison, summary: &Summary, settings: &PageSettings) -> Page {
    let mut sections =
        vec![likelihoods(comparison, summary, Sign::Plain), differences(comparison, summary, &settings.units)];
    if let Some(section) = bounds(comparison, summary, &settings.units) {
        sections.push(section);
    }
    sections.push(speed(comparison, summary));
    sections.push(how(comparison));
    Page {
        title: settings.title.clone(),
        subtitle: settings.data.clone(),
        verdict: summary.sentence.clone(),
        findings: findings(comparison, summary),
        sections,
        footer: settings.footer.clone(),
    }
}

fn findings(comparison: &Comparison, summary: &Summary) -> Vec<Finding> {
    let finding = |value: String, label: &str, tone: Tone| Finding { value, label: label.into(), tone };
    let outcomes = &summary.outcomes;
    let n_starts = comparison.starts.len();
    let good = |is_good: bool| if is_good { Tone::Good } else { Tone::Caution };
    let speedup = summary.time.speedup;
    let mut findings = vec![
        finding(format!("{speedup:.2}×"), "speedup per round: time of EM divided by time of SEM", good(speedup > 1.0)),
        finding(
            format!("{} / {} / {}", outcomes.better, outcomes.equal, outcomes.worse),
            &format!("of {n_starts} starts: SEM ended better / equal / worse than EM"),
            good(outcomes.worse == 0),
        ),
        finding(
            format!("{:.3} %", 100.0 * summary.last_difference.matched.mean / summary.gamma_mean),
            "largest difference of means after the last round, relative to the largest possible (matched components)",
            Tone::Neutral,
        ),
    ];
    if let Some(bounds) = summary.bounds.as_ref().filter(|bounds| bounds.statements > 0) {
        let held = 100.0 * bounds.held as f64 / bounds.statements as f64;
        findings.push(finding(
            format!("{held:.2} %"),
            "of the theoretical bounds on single updates held",
            good(bounds.held == bounds.statements),
        ));
    }
    findings
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
        group: None,
        options: shown(&comparison.starts).into_iter().map(option).collect(),
    })
}

/// The starts to show: all, or if there are many, the first and a selection from the lowest to the highest result.
fn shown(starts: &[StartDigest]) -> Vec<usize> {
    if starts.len() <= MOST_STARTS {
        return (0..starts.len()).collect();
    }
    let outcome = |start: &StartDigest| Quantiles::of(start.sem_answers.iter().copied()).median - start.em_answer;
    let mut order: Vec<usize> = (0..starts.len()).collect();
    order.sort_by(|&a, &b| outcome(&starts[a]).total_cmp(&outcome(&starts[b])));
    let picks = MOST_STARTS - 1;
    let mut shown: Vec<usize> = (0..picks).map(|i| order[i * (starts.len() - 1) / (picks - 1)]).collect();
    shown.push(0);
    shown.sort_unstable();
    shown.dedup();
    shown
}

/// The sign of the likelihoods in figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sign {
    /// Log-likelihoods: higher is better.
    Plain,
    /// Negative log-likelihoods, as in the paper: lower is better.
    Negative,
}

pub(crate) fn likelihoods(comparison: &Comparison, summary: &Summary, sign: Sign) -> Section {
    let mut table = Table {
        caption: "Final log-likelihood, nats per row: EM's last model, SEM's average".into(),
        heading: ["start", "EM", "SEM median", "SEM min", "SEM max", "median − EM", "SEM is"].map(Into::into).into(),
        rows: Vec::new(),
        ..Table::default()
    };
    for (number, start) in summary.starts.iter().enumerate() {
        let outcome = match start.outcome {
            Outcome::Better => "better",
            Outcome::Equal => "equal",
            Outcome::Worse => "worse",
        };
        table.rows.push(vec![
            (number + 1).to_string(),
            format!("{:.6}", start.em),
            format!("{:.6}", start.sem.median),
            format!("{:.6}", start.sem.minimum),
            format!("{:.6}", start.sem.maximum),
            format!("{:+.6}", start.sem.median - start.em).replace('-', "−"),
            outcome.into(),
        ]);
    }
    let text = "Both algorithms start from the same model. The dark line is the median over SEM's runs; the bands show \
                the quartiles and the minimum and maximum. Drag over a figure to zoom in; double-click to reset the \
                zoom.";
    let choice = by_start(comparison, |number, start| {
        vec![Block::Figure(likelihood_figure(number, start, sign)), Block::Figure(gap_figure(number, start))]
    });
    Section { heading: "Likelihood".into(), blocks: vec![Block::Text(text.into()), Block::Table(table), choice] }
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

fn likelihood_figure(number: usize, start: &StartDigest, sign: Sign) -> Figure {
    // The start itself is left out: it is so much worse that it would hide everything else.
    let (x, mut em, mut sem) = (numbers(1, start.em.len() - 1), start.em[1..].to_vec(), start.sem[1..].to_vec());
    let what = match sign {
        Sign::Plain => "log-likelihood",
        Sign::Negative => {
            em.iter_mut().for_each(|value| *value = -*value);
            sem.iter_mut().for_each(|five| *five = five.negated());
            "negative log-likelihood"
        }
    };
    Figure::new(
        format!("likelihood-start-{}", number + 1),
        format!("{}{} of the model after each round", what[..1].to_uppercase(), &what[1..]),
        Axis::linear("round"),
        Axis::linear(&format!("{what}, nats per row")),
        vec![Series::new("SEM", SEM, ribbon(&x, &sem)), Series::new("EM", EM, vec![Mark::line("value", x, em)])],
    )
}

fn gap_figure(number: usize, start: &StartDigest) -> Figure {
    let x = numbers(0, start.em.len());
    let zero = vec![0.0; x.len()];
    Figure::new(
        format!("gap-start-{}", number + 1),
        "SEM's log-likelihood minus EM's after the same round",
        Axis::linear("round"),
        Axis::linear("difference, nats per row"),
        vec![
            Series::new("SEM − EM", SEM, ribbon(&x, &start.gap)),
            Series::new("EM", EM, vec![Mark::line("", x, zero)]),
        ],
    )
}

pub(crate) fn differences(comparison: &Comparison, summary: &Summary, units: &str) -> Section {
    let text = format!(
        "Differences between SEM's and EM's components after the same number of rounds, as the median over SEM's runs, in \
         {units}. \"By number\" compares components of the same number, as the paper does, so that swapped components \
         appear far apart. \"Matched\" compares each component with its match in the assignment of smallest total distance."
    );
    let mut table = Table {
        caption: "Largest difference of any component over all starts and runs: in any round, and in the last".into(),
        heading: ["", "weight", "mean", "of Γ_μ", "covariance", "of Γ_Σ"].map(Into::into).into(),
        rows: Vec::new(),
        ..Table::default()
    };
    for (name, largest) in [("any round", &summary.largest_difference), ("last round", &summary.last_difference)] {
        for (how, parts) in [("by number", &largest.unmatched), ("matched", &largest.matched)] {
            table.rows.push(vec![
                format!("{name}, {how}"),
                digits(parts.weight),
                digits(parts.mean),
                percent(parts.mean / summary.gamma_mean),
                digits(parts.covariance),
                percent(parts.covariance / summary.gamma_covariance),
            ]);
        }
    }
    let choice = by_start(comparison, |number, start| {
        let option = |name: &str, short: &str, differences: &Differences| {
            let figures = difference_figures(&format!("{short}-start-{}", number + 1), differences, units);
            (name.to_string(), figures.into_iter().map(Block::Figure).collect())
        };
        let options =
            vec![option("matched", "matched", &start.matched), option("by number", "unmatched", &start.unmatched)];
        vec![Block::Choice(Choice { label: "components".into(), group: None, options })]
    });
    Section {
        heading: "Differences between the models".into(),
        blocks: vec![Block::Text(text), Block::Table(table), choice],
    }
}

/// A share as a percentage, as in the terminal.
fn percent(share: f64) -> String {
    format!("{:.4} %", 100.0 * share)
}

/// A number with three digits, in scientific notation if it is very large or small.
fn digits(x: f64) -> String {
    match x.abs() {
        0.0 => "0".into(),
        size if (1e-4..1e4).contains(&size) => {
            let decimals = (2.0 - size.log10().floor()).max(0.0) as usize;
            format!("{x:.decimals$}")
        }
        _ => format!("{x:.2e}"),
    }
}

fn difference_figures(suffix: &str, differences: &Differences, units: &str) -> Vec<Figure> {
    let figure = |name: &str, title: &str, label: String, part: &[Vec<Quantiles>]| {
        let series = |k: usize| {
            // There is no difference before the first round.
            let medians = part[1..].iter().map(|round| round[k].median).collect();
            Series::new(&k.to_string(), k, vec![Mark::line("median", numbers(1, part.len() - 1), medians)])
        };
        Figure::new(
            format!("{name}-{suffix}"),
            title,
            Axis::linear("round"),
            Axis::linear(&label),
            (0..part[0].len()).map(series).collect(),
        )
    };
    vec![
        figure("weights", "Weights, by component", "difference".into(), &differences.weight),
        figure("means", "Means, by component", format!("Euclidean distance, {units}"), &differences.mean),
        figure(
            "covariances",
            "Covariances, by component",
            format!("Frobenius norm, squared {units}"),
            &differences.covariance,
        ),
    ]
}

pub(crate) fn bounds(comparison: &Comparison, summary: &Summary, units: &str) -> Option<Section> {
    let found = summary.bounds.as_ref()?;
    // Avoid dividing by zero if there are no statements.
    let share = |n: u64| format!("{:.2} %", 100.0 * n as f64 / found.statements.max(1) as f64);
    let table = Table {
        caption: format!(
            "{} bounds on weights, coordinates of means and entries of covariances in {} rounds of SEM",
            found.statements, found.rounds
        ),
        heading: ["", "share", "expected"].map(Into::into).into(),
        rows: vec![
            vec![
                "within the theoretical bounds".into(),
                share(found.held),
                format!("all, in {} % of rounds", 100.0 * found.confidence),
            ],
            vec!["within one typical deviation".into(), share(found.within_one), "about 68 %".into()],
            vec!["within two".into(), share(found.within_two), "about 95 %".into()],
        ],
        ..Table::default()
    };
    let text = format!(
        "In each round of the first run of SEM, EM's update from the same model is computed as well. The figures show the \
         distance between the two means of a component, the paper's bound (Theorems 1 and 2; it holds for all components \
         simultaneously with probability {}) and the typical distance. Differences are nearly normal if the assignments \
         of many rows are uncertain. If those of few rows are, most differences are close to 0, and more of them are \
         within one typical deviation.",
        found.confidence
    );
    let choice = by_start(comparison, |number, start| {
        let Some(rounds) = start.bounds.first() else {
            return vec![Block::Text("No run of this start was compared with the bounds.".into())];
        };
        let n_components = rounds.first().map_or(0, |round| round.difference.len());
        let mut options = vec![(
            "largest over all components".to_string(),
            vec![Block::Figure(bound_figure(number, rounds, None, units))],
        )];
        for k in 0..n_components.min(MOST_COMPONENTS) {
            options.push((k.to_string(), vec![Block::Figure(bound_figure(number, rounds, Some(k), units))]));
        }
        vec![Block::Choice(Choice { label: "component".into(), group: None, options })]
    });
    Some(Section {
        heading: "Single updates and theoretical bounds".into(),
        blocks: vec![Block::Text(text), choice, Block::Table(table)],
    })
}

fn bound_figure(start: usize, rounds: &[BoundRound], component: Option<usize>, units: &str) -> Figure {
    let x: Vec<f64> = rounds.iter().map(|round| round.round as f64).collect();
    let values = |of: &dyn Fn(&BoundRound, usize) -> f64| -> Vec<f64> {
        let at = |round: &BoundRound| match component {
            Some(k) => of(round, k),
            None => (0..round.difference.len()).map(|k| of(round, k)).fold(f64::NAN, f64::max),
        };
        rounds.iter().map(at).collect()
    };
    let line = |name: &str, colour: usize, label: &str, of: &dyn Fn(&BoundRound, usize) -> f64| {
        Series::new(name, colour, vec![Mark::line(label, x.clone(), values(of))])
    };
    let which = component.map_or("largest".into(), |k| format!("component-{k}"));
    Figure::new(
        format!("bounds-start-{}-{which}", start + 1),
        "Distance between the means after one update of EM and of SEM",
        Axis::linear("round"),
        Axis::log(&format!("Euclidean distance, {units}")),
        vec![
            line("bound", BOUND, "at most", &|round, k| round.mean_bound[k].unwrap_or(f64::NAN)).dashed(),
            line("typical", TYPICAL, "about", &|round, k| round.mean_typical[k]).dashed(),
            line("actual", SEM, "is", &|round, k| round.difference[k].mean),
        ],
    )
}

pub(crate) fn speed(comparison: &Comparison, summary: &Summary) -> Section {
    let time = &summary.time;
    let row = |name: &str, seconds: f64, multiplications: f64| {
        vec![name.to_string(), format!("{:.3}", 1e3 * seconds), format!("{multiplications:.2e}")]
    };
    let table = Table {
        caption: format!(
            "Median wall time of a round on {} threads, and number of multiplications as counted in the paper",
            comparison.n_threads
        ),
        heading: ["", "ms", "multiplications"].map(Into::into).into(),
        rows: vec![
            row("EM (2KND²)", time.em_seconds, time.em_multiplications),
            row("SEM (KND²)", time.sem_seconds, time.sem_multiplications),
            vec!["EM ÷ SEM".into(), format!("{:.2}", time.speedup), "2".into()],
        ],
        ..Table::default()
    };
    let text = summary.repairs.sentence();
    Section { heading: "Speed and repairs".into(), blocks: vec![Block::Table(table), Block::Text(text)] }
}

fn how(comparison: &Comparison) -> Section {
    let plan = &comparison.plan;
    let row = |name: &str, value: String| vec![name.to_string(), value];
    let table = Table {
        caption: String::new(),
        heading: vec!["setting".into(), "value".into()],
        rows: vec![
            row("rows × columns", format!("{} × {}", comparison.n_rows, comparison.n_columns)),
            row("components", plan.n_components.to_string()),
            row("starts", comparison.starts.len().to_string()),
            row("SEM runs per start", plan.runs.to_string()),
            row("runs compared with the bounds", plan.bound_runs.to_string()),
            row("rounds per run", plan.rounds.to_string()),
            row("variance floor (relative to the squared column scale)", format!("{:e}", plan.regularization)),
            row("seed", plan.seed.to_string()),
        ],
        ..Table::default()
    };
    Section { heading: "Settings".into(), blocks: vec![Block::Table(table)] }
}
