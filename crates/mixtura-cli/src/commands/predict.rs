//! Labels rows or gives their posteriors: `mixtura predict`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use mixtura_io::{Input, ModelFile, TableColumns};

use crate::data::DataArguments;
use crate::{interrupt, output};

/// Rows evaluated before they are written.
const BATCH: usize = 1 << 16;

/// Label rows, or give the posterior of every component
#[derive(Debug, Args)]
pub(crate) struct PredictArguments {
    /// The model file
    model: PathBuf,

    #[command(flatten)]
    data: DataArguments,

    /// Posteriors of all components instead of labels
    #[arg(long)]
    proba: bool,

    /// Write to this file (.csv, .csv.gz, .parquet, .arrow, .feather, .npy) instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Runs the subcommand.
pub(crate) fn run(arguments: &PredictArguments) -> anyhow::Result<ExitCode> {
    let model_input = Input::Path(arguments.model.clone());
    output::check(&[arguments.output.as_ref()], &[&arguments.data.data, &model_input])?;
    let file = ModelFile::read(&arguments.model)?;
    let rows = arguments.data.read_for(&file, None)?.rows;
    let columns = if arguments.proba {
        TableColumns { names: (0..file.model.n_components()).map(|k| format!("p{k}")).collect(), label: None }
    } else {
        TableColumns { names: Vec::new(), label: Some("label".into()) }
    };
    let mut writer = output::table(arguments.output.as_deref(), &columns)?;
    for first in (0..rows.n_rows()).step_by(BATCH) {
        interrupt::check()?;
        let range = first..(first + BATCH).min(rows.n_rows());
        if arguments.proba {
            writer.write_rows(&file.model.posteriors(&rows, range)?)?;
        } else {
            writer.write_labelled_rows(&[], &file.model.labels(&rows, range)?)?;
        }
    }
    writer.finish()?;
    Ok(ExitCode::SUCCESS)
}
