//! `mixtura sample`: draws rows from a model.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use mixtura::AnyMixture;
use mixtura_io::{Input, ModelFile, TableColumns};

use crate::arguments::{at_least_one, whole};
use crate::output;

/// Number of rows drawn before they are written.
const BATCH: usize = 1 << 16;

/// Draw rows from a model
#[derive(Debug, Args)]
#[command(allow_negative_numbers = true)]
#[command(after_help = "Examples:\n  mixtura sample model.json -n 1000 > rows.csv\n  \
    mixtura sample model.json -n 1000000 --labels --seed 7 -o rows.parquet")]
pub(crate) struct SampleArguments {
    /// Model file
    model: PathBuf,

    /// Number of rows
    #[arg(short = 'n', value_name = "N", value_parser = at_least_one)]
    n_rows: usize,

    /// Random seed
    #[arg(long, value_name = "S", default_value = "0", value_parser = whole)]
    seed: u64,

    /// Add a column with the component of each row
    #[arg(long)]
    labels: bool,

    /// Write to this file (.csv, .csv.gz, .csv.zst, .parquet, .arrow, .feather, .npy) instead of CSV to standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// What to draw, and where to write it.
pub(crate) struct Drawing<'a> {
    pub model: &'a AnyMixture,
    pub columns: &'a [String],
    pub n_rows: usize,
    pub seed: u64,
    pub labels: bool,
    pub output: Option<&'a Path>,
}

/// Runs the subcommand.
pub(crate) fn run(arguments: &SampleArguments) -> anyhow::Result<ExitCode> {
    output::check(&[arguments.output.as_deref()], &[&Input::Path(arguments.model.clone())])?;
    let file = ModelFile::read(&arguments.model)?;
    let drawing = Drawing {
        model: &file.model,
        columns: &file.columns,
        n_rows: arguments.n_rows,
        seed: arguments.seed,
        labels: arguments.labels,
        output: arguments.output.as_deref(),
    };
    drawing.write()?;
    Ok(ExitCode::SUCCESS)
}

impl Drawing<'_> {
    /// Draws and writes the rows, batch by batch.
    pub(crate) fn write(&self) -> anyhow::Result<()> {
        let n_columns = self.model.n_columns();
        let name = |d: usize| self.columns.get(d).cloned().unwrap_or_else(|| format!("x{}", d + 1));
        let columns =
            TableColumns { names: (0..n_columns).map(name).collect(), label: self.labels.then(|| "label".into()) };
        let mut writer = output::table(self.output, &columns)?;
        for first in (0..self.n_rows).step_by(BATCH) {
            let (values, labels) = self.model.sample(first..(first + BATCH).min(self.n_rows), self.seed)?;
            if self.labels {
                writer.write_labelled_rows(&values, &labels)?;
            } else {
                writer.write_rows(&values)?;
            }
        }
        Ok(writer.finish()?)
    }
}
