//! `mixtura bounds`: bounds how far one update of SEM can be from EM's on the given data.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use mixtura::family::Family;
use mixtura::theory::{Bounds, Proximity, least_weight};
use mixtura::with_mixture;
use mixtura_io::{BoundsReport, Certainty, Input, ModelFile};

use crate::arguments::{Format, positive, probability};
use crate::data::DataArguments;
use crate::failure::Usage;
use crate::progress::spinner;
use crate::table::{Aligned, number};
use crate::{output, talk};

/// Bound how far one update of stochastic EM can be from EM's (Theorems 1–3 of the paper)
///
/// Starting from the given model, EM's next model is deterministic and SEM's is random. For each weight, coordinate
/// of a mean and entry of a covariance, prints a bound on the difference that holds with the stated probability,
/// and the typical deviation.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  mixtura bounds data.csv --model model.json\n  \
    mixtura bounds data.csv --model model.json --within 5 --format table")]
pub(crate) struct BoundsArguments {
    #[command(flatten)]
    data: DataArguments,

    /// Model file that both updates start from
    #[arg(short, long, value_name = "MODEL")]
    model: PathBuf,

    /// Probability with which each individual bound may fail
    #[arg(long, value_name = "D", value_parser = probability, conflicts_with = "confidence")]
    delta: Option<f64>,

    /// Confidence that all bounds hold simultaneously [default: 0.99]
    #[arg(long, value_name = "C", value_parser = probability)]
    confidence: Option<f64>,

    /// Report the number of rows needed to bring weights within this percentage, and means within this percentage of
    /// their component's standard deviation
    #[arg(long, value_name = "PERCENT", default_value = "10", value_parser = positive)]
    within: f64,

    /// Not supported: the theorems apply to unweighted rows
    #[arg(long, value_name = "COLUMN", hide = true)]
    weights: Option<String>,

    /// Print as JSON or as a table [default: a table on a terminal, else JSON]
    #[arg(long, value_enum)]
    format: Option<Format>,

    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Runs the subcommand.
pub(crate) fn run(arguments: &BoundsArguments) -> anyhow::Result<ExitCode> {
    if arguments.weights.is_some() {
        return Err(Usage::hinted(
            "--weights is not supported here: the theorems apply to unweighted rows",
            "leave out --weights",
        )
        .into());
    }
    let model_input = Input::Path(arguments.model.clone());
    output::check(&[arguments.output.as_deref()], &[&arguments.data.data, &model_input])?;
    let file = ModelFile::read(&arguments.model)?;
    let rows = arguments.data.read_for(&file, None)?.rows;
    let sweeping = spinner("two passes over the rows");
    let (json, table) = with_mixture!(&file.model, model => {
        let report = BoundsReport::measure(model, &rows, arguments.certainty(), arguments.within)?;
        sweeping.finish_and_clear();
        warn(&report);
        (report.to_json(), to_table(&report))
    });
    let to_file = arguments.output.is_some() && arguments.format.is_none();
    let text = match output::format(arguments.format) {
        Format::Table if !to_file => table,
        _ => format!("{}\n", serde_json::to_string_pretty(&json)?),
    };
    output::text(arguments.output.as_deref(), &text)?;
    Ok(ExitCode::SUCCESS)
}

impl BoundsArguments {
    fn certainty(&self) -> Certainty {
        let each = self.delta.map(Certainty::Each);
        each.or(self.confidence.map(Certainty::All)).unwrap_or_default()
    }
}

/// Warns about components without a bound.
fn warn<F: Family>(report: &BoundsReport<F>) {
    let without: Vec<String> =
        (0..report.bounds.valid.len()).filter(|&k| !report.bounds.valid[k]).map(|k| k.to_string()).collect();
    if !without.is_empty() {
        let least = least_weight(report.proximity.n_rows, report.bounds.delta, 1.0);
        talk::warning(&format!(
            "no bound for component {}: with {} rows, the theorems require a weight above {} at this probability",
            without.join(", "),
            report.proximity.n_rows,
            number(least)
        ));
    }
}

/// The bounds as tables with one line per component.
fn to_table<F: Family>(report: &BoundsReport<F>) -> String {
    let BoundsReport { proximity, bounds, .. } = report;
    let (n, typical) = (proximity.n_columns(), proximity.typical());
    let within = format!("{} %", report.within);
    let mut weights = Aligned::new(["component", "weight", "bound", "typical", "λ_w", &format!("rows for {within}")]);
    let mut means = Aligned::new(["component", "mean bound", "of Γ", "typical", &format!("rows for {within} of σ")]);
    let length = |values: &[f64]| values.iter().map(|x| x * x).sum::<f64>().sqrt();
    for k in 0..proximity.n_components() {
        let or_none = |text: String| if bounds.valid[k] { text } else { "none".into() };
        weights.row([
            k.to_string(),
            number(proximity.update.weights[k]),
            or_none(format!("±{}", number(bounds.weight[k]))),
            format!("±{}", number(typical.weight[k])),
            number(bounds.lambda_weight[k]),
            rows(report.demand.weight[k]),
        ]);
        let [own, mapped] = [0, 1].map(|unit: usize| report.distance[unit][k]);
        let has_distance = own.is_finite();
        means.row([
            k.to_string(),
            if has_distance { number(own) } else { "none".into() },
            if has_distance { format!("{:.3} %", 100.0 * mapped / (n as f64).sqrt()) } else { String::new() },
            number(length(&typical.mean[k * n..][..n])),
            rows(report.demand.mean[k]),
        ]);
    }
    let mut text = format!(
        "One update of stochastic EM compared with EM's, from the same model: {} rows × {n} columns, {} components\n\n",
        proximity.n_rows,
        proximity.n_components()
    );
    let how_sure = match report.confidence() {
        Some(confidence) => format!(
            "all {} bounds hold with probability {confidence}, each fails with probability at most {}",
            proximity.n_statements(),
            number(bounds.delta)
        ),
        None => format!("each bound fails with probability at most {}", number(bounds.delta)),
    };
    let as_in_paper = if report.confidence().is_none() { " as in the paper, whatever --delta" } else { "" };
    let least = least_weight(proximity.n_rows, bounds.delta, 0.5);
    write!(
        text,
        "Weights (Theorem 1; {how_sure})\n\n{}\n\
         Means, Euclidean distance (Theorem 2; all {} hold with probability {}{as_in_paper};\n\
         Γ is the largest possible distance with columns scaled to [0, 1])\n\n{}\n\
         With this number of rows, components of weight {} or more have λ_w ≤ 1/2 (λ_w is the bound divided by the weight).\n",
        weights.to_text(),
        proximity.n_components(),
        report.certainty.of_distances(),
        means.to_text(),
        number(least)
    )
    .expect("invariant: writing to a string cannot fail");
    if let (Some(covariance), Some(typical)) = (&bounds.covariance, &typical.covariance) {
        text.push_str(&covariances(bounds, covariance, typical, proximity));
    }
    text
}

/// Theorem 3, one line per component: the largest bound in units of the column ranges.
fn covariances<F: Family>(bounds: &Bounds, bound: &[f64], typical: &[f64], proximity: &Proximity<F>) -> String {
    let n = proximity.n_columns();
    let mut table = Aligned::new(["component", "largest bound", "largest typical"]);
    for k in (0..proximity.n_components()).filter(|&k| bounds.valid[k]) {
        let largest = |values: &[f64]| {
            let in_spreads = |at: usize| {
                let product = proximity.spread[at / n] * proximity.spread[at % n];
                if product > 0.0 { values[k * n * n + at] / product } else { 0.0 }
            };
            (0..n * n).map(in_spreads).fold(0.0, f64::max)
        };
        table.row([k.to_string(), format!("±{}", number(largest(bound))), format!("±{}", number(largest(typical)))]);
    }
    format!("\nEntries of covariances (Theorem 3), in units of the column ranges\n\n{}", table.to_text())
}

/// A number of rows in short form.
fn rows(n: f64) -> String {
    if n.is_finite() { format!("{:.2e}", n.ceil()) } else { "–".into() }
}
