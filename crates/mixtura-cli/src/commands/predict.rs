//! `mixtura predict`: assigns rows to components or computes their posteriors.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use mixtura_io::{Input, TableColumn};

use super::per_row::{Kept, Values};
use crate::data::DataArguments;
use crate::output;

/// Maximum number of rows evaluated before they are written.
const BATCH: usize = 1 << 16;
/// Maximum number of posteriors held at a time.
const MOST_POSTERIORS: usize = 1 << 22;

/// Assign rows to components, or compute posterior probabilities
///
/// With `--missing skip`, skipped rows get empty cells, so that the output has one line per row of the data.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  mixtura predict model.json data.csv > labels.csv\n  \
    mixtura predict model.json data.parquet --keep -o labelled.parquet\n  \
    mixtura predict model.json data.csv --proba --missing skip -o posteriors.csv")]
pub(crate) struct PredictArguments {
    /// Model file
    model: PathBuf,

    #[command(flatten)]
    data: DataArguments,

    /// Write the posterior of every component instead of labels
    #[arg(long)]
    proba: bool,

    /// Write all columns of the data, then label, probability and log_density (or, with --proba, the posteriors)
    #[arg(long)]
    keep: bool,

    /// Write to this file (.csv, .csv.gz, .csv.zst, .parquet, .arrow, .feather, .npy) instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Runs the subcommand.
pub(crate) fn run(arguments: &PredictArguments) -> anyhow::Result<ExitCode> {
    let model_input = Input::Path(arguments.model.clone());
    output::check(&[arguments.output.as_deref()], &[&arguments.data.data, &model_input])?;
    let file = arguments.data.read_model(&arguments.model)?;
    let kept = Kept::new(&arguments.data, arguments.keep)?;
    let table = kept.data.read_for(&file, None)?;
    let (evaluator, rows) = (file.model.evaluator()?, &table.rows);
    let n_components = file.model.n_components();
    let path = arguments.output.as_deref();
    if arguments.proba {
        let columns = (0..n_components).map(|k| TableColumn::number(format!("p{k}"))).collect();
        let n_at_once = (MOST_POSTERIORS / n_components).clamp(1, BATCH);
        kept.write(&table, path, n_at_once, columns, |range| {
            let posteriors = evaluator.posteriors_in(rows, range)?;
            let of = |k: usize| posteriors.iter().skip(k).step_by(n_components).copied().collect();
            Ok((0..n_components).map(|k| Values::Numbers(of(k))).collect())
        })?;
    } else if arguments.keep {
        let columns =
            vec![TableColumn::label("label"), TableColumn::number("probability"), TableColumn::number("log_density")];
        kept.write(&table, path, BATCH, columns, |range| {
            let classified = evaluator.classify_in(rows, range)?;
            Ok(vec![
                Values::Labels(classified.iter().map(|row| row.label).collect()),
                Values::Numbers(classified.iter().map(|row| row.probability).collect()),
                Values::Numbers(classified.iter().map(|row| row.ln_density).collect()),
            ])
        })?;
    } else {
        kept.write(&table, path, BATCH, vec![TableColumn::label("label")], |range| {
            Ok(vec![Values::Labels(evaluator.labels_in(rows, range)?)])
        })?;
    }
    Ok(ExitCode::SUCCESS)
}
