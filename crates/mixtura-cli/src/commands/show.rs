//! Shows a model to human eyes: `mixtura show`.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use mixtura::{AnyMixture, Kind};
use mixtura_io::ModelFile;

use super::fit::name;
use crate::arguments::Format;
use crate::output;
use crate::table::{Aligned, counted, number};

/// Columns that a table of means shows before it says how many more there are.
const MOST_COLUMNS: usize = 12;

/// Show a model for human eyes
#[derive(Debug, Args)]
pub(crate) struct ShowArguments {
    /// The model file
    model: PathBuf,

    /// Show the covariance matrices too
    #[arg(long)]
    covariances: bool,

    /// Print as a table or as JSON
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

/// Runs the subcommand.
pub(crate) fn run(arguments: &ShowArguments) -> anyhow::Result<ExitCode> {
    let file = ModelFile::read(&arguments.model)?;
    let text = match arguments.format {
        Format::Json => file.to_json(),
        Format::Table => table(&file, arguments.covariances),
    };
    output::text(None, &text)?;
    Ok(ExitCode::SUCCESS)
}

/// How the fit went, in one line.
pub(crate) fn outcome(file: &ModelFile) -> String {
    let components = counted(file.model.n_components(), "component");
    let Some(fit) = &file.fit else { return components };
    let ended = match fit.reason.as_str() {
        "converged" => "converged".into(),
        "flat" => "likelihood flat".into(),
        "round-limit" => "round limit".into(),
        other => other.to_owned(),
    };
    let likelihood = match (fit.mean_log_likelihood, fit.lower_bound) {
        (Some(likelihood), _) => format!(", log-likelihood {likelihood:.6} a row"),
        (None, Some(bound)) => format!(", log-likelihood {bound:.6} a row before the last update"),
        (None, None) => String::new(),
    };
    let rounds = counted(fit.rounds as usize, "round");
    format!("{components}, {} {ended} after {rounds}{likelihood}", name(fit.algorithm))
}

/// The model as a table: a line for each component with weight, mean and standard deviation.
pub(crate) fn table(file: &ModelFile, covariances: bool) -> String {
    let columns = counted(file.model.n_columns(), "column");
    let mut text = format!("{}, {columns}\n{}\n", title(file.model.kind()), outcome(file));
    if let Some(fit) = file.fit.as_ref().filter(|fit| fit.restarts.len() > 1) {
        let all: Vec<String> = fit.restarts.iter().map(|likelihood| format!("{likelihood:.6}")).collect();
        writeln!(text, "restarts ended at {}", all.join(", ")).expect("invariant: text can be written to");
    }
    text.push('\n');
    text.push_str(&component_lines(file));
    if covariances {
        text.push_str(&matrices(file));
    }
    text
}

/// What the model is, for human eyes.
fn title(kind: Kind) -> String {
    let family = kind.family();
    let family = family[..1].to_uppercase() + &family[1..];
    let structure = match kind.structure() {
        Some("tied") => ", one covariance for all".into(),
        Some(structure) => format!(", {structure} covariances"),
        None => String::new(),
    };
    format!("{family} mixture{structure}")
}

/// A line for each component: weight, then mean and deviation of as many columns as the terminal has room for.
fn component_lines(file: &ModelFile) -> String {
    let n_columns = file.model.n_columns();
    let (centres, spreads) = (file.model.centres(), file.model.spreads());
    let width = terminal_size::terminal_size_of(std::io::stdout()).map(|(width, _)| usize::from(width.0));
    for n_shown in (1..=n_columns.min(MOST_COLUMNS)).rev() {
        let names = (0..n_shown).map(|d| file.columns.get(d).cloned().unwrap_or_else(|| format!("column {}", d + 1)));
        let mut aligned = Aligned::new(["component".to_owned(), "weight".into()].into_iter().chain(names));
        for (k, weight) in file.model.weights().iter().enumerate() {
            let cell =
                |d: usize| format!("{} ±{}", number(centres[k * n_columns + d]), number(spreads[k * n_columns + d]));
            aligned.row([k.to_string(), format!("{weight:.6}")].into_iter().chain((0..n_shown).map(cell)));
        }
        let mut text = aligned.to_text();
        let fits = width.is_none_or(|width| text.lines().all(|line| line.chars().count() <= width));
        if fits || n_shown == 1 {
            if n_shown < n_columns {
                let more = counted(n_columns - n_shown, "more column");
                writeln!(text, "  and {more} (--format json shows all)").expect("invariant: text can be written to");
            }
            return text;
        }
    }
    String::new()
}

/// The covariance matrices that there are: one for each component, or one for all; none where the
/// deviations beside the means tell everything.
fn matrices(file: &ModelFile) -> String {
    let each: Vec<(String, &[f64])> = match &file.model {
        AnyMixture::Full(model) => {
            let of = |k: usize| (format!("covariance of component {k}"), model.components.covariance(k));
            (0..model.n_components()).map(of).collect()
        }
        AnyMixture::Tied(model) => vec![("covariance of all components".into(), model.components.covariance())],
        _ => Vec::new(),
    };
    let n = file.model.n_columns();
    let mut text = String::new();
    for (title, matrix) in each {
        write!(text, "\n{title}\n\n").expect("invariant: text can be written to");
        let name = |d: usize| file.columns.get(d).cloned().unwrap_or_else(|| (d + 1).to_string());
        let mut aligned = Aligned::new(std::iter::once(String::new()).chain((0..n).map(name)));
        for (d, row) in matrix.chunks_exact(n).enumerate() {
            aligned.row(std::iter::once(name(d)).chain(row.iter().map(|&entry| number(entry))));
        }
        text.push_str(&aligned.to_text());
    }
    text
}
