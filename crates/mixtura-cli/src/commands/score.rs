//! Says how well a model explains data: `mixtura score`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use mixtura::{AnyMixture, Rows, Score};
use mixtura_io::{Input, ModelFile, TableColumns};

use crate::arguments::Format;
use crate::data::DataArguments;
use crate::table::Aligned;
use crate::{interrupt, output};

/// Rows evaluated before they are written.
const BATCH: usize = 1 << 18;

/// Likelihood, AIC, BIC and ICL of data under a model
#[derive(Debug, Args)]
pub(crate) struct ScoreArguments {
    /// The model file
    model: PathBuf,

    #[command(flatten)]
    data: DataArguments,

    /// A log-density for each row instead, as CSV
    #[arg(long, conflicts_with_all = ["format", "weights"])]
    per_row: bool,

    /// Column of row weights
    #[arg(long, value_name = "COLUMN", help_heading = "Data")]
    weights: Option<String>,

    /// Print as JSON or as a table [default: a table on a terminal, else JSON]
    #[arg(long, value_enum)]
    format: Option<Format>,

    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Runs the subcommand.
pub(crate) fn run(arguments: &ScoreArguments) -> anyhow::Result<ExitCode> {
    let model_input = Input::Path(arguments.model.clone());
    output::check(&[arguments.output.as_ref()], &[&arguments.data.data, &model_input])?;
    let file = ModelFile::read(&arguments.model)?;
    let rows = arguments.data.read_for(&file, arguments.weights.as_ref())?.rows;
    if arguments.per_row {
        per_row(arguments, &file.model, &rows)?;
        return Ok(ExitCode::SUCCESS);
    }
    let score = file.model.score(&rows)?;
    let to_file = arguments.output.is_some() && arguments.format.is_none();
    let text = match output::format(arguments.format) {
        Format::Table if !to_file => table(&score),
        _ => format!("{}\n", serde_json::to_string_pretty(&score)?),
    };
    output::text(arguments.output.as_deref(), &text)?;
    Ok(ExitCode::SUCCESS)
}

fn per_row(arguments: &ScoreArguments, model: &AnyMixture, rows: &Rows<'_>) -> anyhow::Result<()> {
    let columns = TableColumns { names: vec!["log_density".into()], label: None };
    let mut writer = output::table(arguments.output.as_deref(), &columns)?;
    for first in (0..rows.n_rows()).step_by(BATCH) {
        interrupt::check()?;
        writer.write_rows(&model.ln_densities(rows, first..(first + BATCH).min(rows.n_rows()))?)?;
    }
    Ok(writer.finish()?)
}

fn table(score: &Score) -> String {
    let mut aligned = Aligned::new(["measure", "value", "unit"]);
    aligned.row(["rows".into(), score.rows.to_string(), String::new()]);
    aligned.row(["mean log-likelihood", &format!("{:.6}", score.mean_log_likelihood), "nats a row"]);
    aligned.row(["log-likelihood", &format!("{:.3}", score.log_likelihood), "nats"]);
    aligned.row(["AIC", &format!("{:.3}", score.aic), "less is better"]);
    aligned.row(["BIC", &format!("{:.3}", score.bic), "less is better"]);
    aligned.row(["ICL", &format!("{:.3}", score.icl), "less is better"]);
    aligned.to_text()
}
