//! `mixtura score`: evaluates how well a model fits data.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use mixtura::{Score, Tail, with_mixture};
use mixtura_io::{Input, ModelFile, Table, TableColumn};

use super::per_row::{Kept, Values};
use crate::arguments::Format;
use crate::data::DataArguments;
use crate::output;
use crate::table::Aligned;

/// Number of rows evaluated before they are written.
const BATCH: usize = 1 << 16;
/// Number of draws from the model for tail probabilities; their seed is fixed.
const N_DRAWS: usize = 100_000;

/// Compute the log-likelihood, AIC, BIC and ICL of data under a model, or score each row
///
/// With --per-row, writes the log-density and the tail probability of each row. The tail probability is the share of
/// 100,000 draws from the model that have a lower density; a small value marks an unusual row.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  mixtura score model.json data.csv --format table\n  \
    mixtura score model.json data.csv --per-row -o densities.parquet\n  \
    mixtura score model.json data.csv --per-row --keep > scored.csv")]
pub(crate) struct ScoreArguments {
    /// Model file
    model: PathBuf,

    #[command(flatten)]
    data: DataArguments,

    /// Write log_density and tail_probability for each row instead of the totals
    #[arg(long, conflicts_with_all = ["format", "weights"])]
    per_row: bool,

    /// With --per-row: also write all columns of the data, before the results
    #[arg(long, requires = "per_row")]
    keep: bool,

    /// Column of row weights
    #[arg(long, value_name = "COLUMN", help_heading = "Data")]
    weights: Option<String>,

    /// Print as JSON or as a table [default: a table on a terminal, else JSON]
    #[arg(long, value_enum)]
    format: Option<Format>,

    /// Write to this file instead of standard output; with --per-row .csv, .csv.gz, .csv.zst, .parquet, .arrow,
    /// .feather or .npy
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Runs the subcommand.
pub(crate) fn run(arguments: &ScoreArguments) -> anyhow::Result<ExitCode> {
    let model_input = Input::Path(arguments.model.clone());
    output::check(&[arguments.output.as_deref()], &[&arguments.data.data, &model_input])?;
    let file = arguments.data.read_model(&arguments.model)?;
    let kept = Kept::new(&arguments.data, arguments.keep)?;
    let table = kept.data.read_for(&file, arguments.weights.as_ref())?;
    if arguments.per_row {
        per_row(arguments, &file, &kept, &table)?;
        return Ok(ExitCode::SUCCESS);
    }
    let score = file.model.score(&table.rows)?;
    let to_file = arguments.output.is_some() && arguments.format.is_none();
    let text = match output::format(arguments.format) {
        Format::Table if !to_file => to_table(&score),
        _ => format!("{}\n", serde_json::to_string_pretty(&score)?),
    };
    output::text(arguments.output.as_deref(), &text)?;
    Ok(ExitCode::SUCCESS)
}

fn per_row(arguments: &ScoreArguments, file: &ModelFile, kept: &Kept, table: &Table) -> anyhow::Result<()> {
    let tail = with_mixture!(&file.model, model => Tail::of(model, N_DRAWS, 0)?);
    let columns = vec![TableColumn::number("log_density"), TableColumn::number("tail_probability")];
    let evaluator = file.model.evaluator()?;
    kept.write(table, arguments.output.as_deref(), BATCH, columns, |range| {
        let densities = evaluator.ln_densities_in(&table.rows, range)?;
        let tails = densities.iter().map(|&density| tail.probability(density)).collect();
        Ok(vec![Values::Numbers(densities), Values::Numbers(tails)])
    })
}

fn to_table(score: &Score) -> String {
    let mut aligned = Aligned::new(["measure", "value", "unit"]);
    aligned.row(["rows".into(), score.rows.to_string(), String::new()]);
    aligned.row(["mean log-likelihood", &format!("{:.6}", score.mean_ln_likelihood), "nats per row"]);
    aligned.row(["log-likelihood", &format!("{:.3}", score.ln_likelihood), "nats"]);
    aligned.row(["AIC", &format!("{:.3}", score.aic), "lower is better"]);
    aligned.row(["BIC", &format!("{:.3}", score.bic), "lower is better"]);
    aligned.row(["ICL", &format!("{:.3}", score.icl), "lower is better"]);
    aligned.to_text()
}
