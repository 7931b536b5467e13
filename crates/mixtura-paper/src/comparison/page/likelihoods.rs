//! Test type 1 of the paper: the likelihoods of the models after each round, and of the last ones.

use mixtura_report::{Axis, Block, Figure, Mark, Section, Series, Table};

use super::{EM, SEM, Scene, by_start, numbers, ribbon, two_digits};
use crate::Quantiles;
use crate::comparison::{StartDigest, StartSummary};

/// The sign of the likelihoods in figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sign {
    /// Log-likelihoods: higher is better.
    Plain,
    /// Negative log-likelihoods, as in the paper: lower is better.
    Negative,
}

/// What the figures of scaled data would leave open.
const UNITS: &str = "Log-likelihoods are in the units of the data; differences of parameters are in those of the \
                     comparison, whose columns are scaled to [0, 1].";

pub(crate) fn likelihoods(scene: &Scene<'_>, sign: Sign) -> Section {
    let text = "Both algorithms start from the same model. The dark line is the median over SEM's runs; the bands show \
                the quartiles and the minimum and maximum. Drag over a figure to zoom in; double-click to reset the \
                zoom.";
    let choice = by_start(scene.comparison, |number, start| {
        let mut blocks = vec![Block::Figure(likelihood_figure(scene, number, start, sign))];
        if scene.is_scaled() {
            blocks.push(Block::Text(UNITS.into()));
        }
        blocks.push(Block::Figure(gap_figure(scene, number, start)));
        blocks.extend(lag_figure(scene, number, start).map(Block::Figure));
        blocks
    });
    let blocks = vec![Block::Text(text.into()), Block::Table(last_models(scene)), choice, Block::Table(answers(scene))];
    Section { heading: "Likelihood".into(), blocks }
}

fn signed(x: f64) -> String {
    format!("{x:+.6}").replace('-', "−")
}

/// What the paper compares: the last models.
fn last_models(scene: &Scene<'_>) -> Table {
    let row = |(number, start): (usize, &StartSummary)| {
        vec![
            (number + 1).to_string(),
            format!("{:.6}", start.em),
            format!("{:.6}", start.sem.median),
            format!("{:.6}", start.sem.minimum),
            format!("{:.6}", start.sem.maximum),
            signed(start.sem.median - start.em),
            start.outcome.word().into(),
            format!("{} / {} / {}", start.runs.better, start.runs.equal, start.runs.worse),
        ]
    };
    let outcomes = &scene.summary.outcomes;
    let runs = outcomes.runs;
    Table {
        caption: format!(
            "Log-likelihood of the last models of EM and SEM, nats per row, as the paper compares them. Equal means within \
             {} nats per row. Of all {} runs of SEM, {} ended better, {} equal, {} worse.",
            two_digits(outcomes.equal_within),
            runs.total(),
            runs.better,
            runs.equal,
            runs.worse
        ),
        heading: [
            "start",
            "EM",
            "SEM median",
            "SEM min",
            "SEM max",
            "median − EM",
            "SEM's median is",
            "runs better / equal / worse",
        ]
        .map(Into::into)
        .into(),
        rows: scene.summary.starts.iter().enumerate().map(row).collect(),
        ..Table::default()
    }
}

/// What mixtura returns, which the paper does not consider.
fn answers(scene: &Scene<'_>) -> Table {
    let has_auto = scene.summary.starts.iter().any(|start| start.auto.is_some());
    let runs = scene.comparison.plan.runs;
    let row = |(number, start): (usize, &StartSummary)| {
        let mut cells = vec![
            (number + 1).to_string(),
            signed(start.sem.median - start.em),
            signed(start.sem_best.median - start.em),
            signed(start.sem_answer.median - start.em),
            format!("{} of {runs}", start.averages),
        ];
        if has_auto {
            cells.push(start.auto.map_or(String::new(), |auto| signed(auto - start.em)));
        }
        cells
    };
    let mut heading: Vec<String> =
        ["start", "last", "best visited", "result of fit", "runs with an average"].map(Into::into).into();
    if has_auto {
        heading.push("auto".into());
    }
    Table {
        caption: "What mixtura returns, minus EM's last model, nats per row, medians over runs. This is not part of the \
                  paper: fit --algorithm sem returns the average over the last flat rounds, or the best model visited if \
                  there is no flat phase or the average is worse."
            .into(),
        heading,
        rows: scene.summary.starts.iter().enumerate().map(row).collect(),
        ..Table::default()
    }
}

pub(crate) fn likelihood_figure(scene: &Scene<'_>, number: usize, start: &StartDigest, sign: Sign) -> Figure {
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
    let title = format!("{}{} after each round: {}", what[..1].to_uppercase(), &what[1..], scene.place(number));
    let series =
        vec![Series::new("SEM", SEM, ribbon(&x, &sem)), Series::new("EM", EM, vec![Mark::line("value", x, em)])];
    Figure::new(
        format!("likelihood-start-{}", number + 1),
        title,
        Axis::linear("round").rounds(),
        Axis::linear(&format!("{what}, nats per row")),
        series,
    )
}

fn gap_figure(scene: &Scene<'_>, number: usize, start: &StartDigest) -> Figure {
    let x = numbers(1, start.em.len() - 1);
    let zero = vec![0.0; x.len()];
    Figure::new(
        format!("gap-start-{}", number + 1),
        format!("SEM's log-likelihood minus EM's after the same round: {}", scene.place(number)),
        Axis::linear("round").rounds(),
        Axis::linear("difference, nats per row"),
        vec![
            Series::new("SEM − EM", SEM, ribbon(&x, &start.gap[1..])),
            Series::new("EM", EM, vec![Mark::line("", x, zero)]),
        ],
    )
}

/// How many rounds SEM is behind EM while EM climbs; `None` if it never does.
fn lag_figure(scene: &Scene<'_>, number: usize, start: &StartDigest) -> Option<Figure> {
    let (x, five): (Vec<f64>, Vec<Quantiles>) =
        start.lag.iter().enumerate().filter_map(|(round, lag)| Some((round as f64, (*lag)?))).unzip();
    if x.len() < 2 {
        return None;
    }
    let zero = vec![0.0; x.len()];
    Some(Figure::new(
        format!("lag-start-{}", number + 1),
        format!("How many rounds SEM is behind EM, while EM climbs: {}", scene.place(number)),
        Axis::linear("round").rounds(),
        Axis::linear("lag, rounds (below 0: SEM leads)"),
        vec![Series::new("SEM", SEM, ribbon(&x, &five)), Series::new("EM", EM, vec![Mark::line("", x, zero)])],
    ))
}
