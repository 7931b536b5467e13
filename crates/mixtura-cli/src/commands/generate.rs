//! `mixtura generate`: generates a random Gaussian mixture and draws rows from it, as in the paper.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::{Args, ValueEnum};
use mixtura::AnyMixture;
use mixtura::generate::{Artificial, Balance};
use mixtura_io::{AtomicFile, ModelFile};

use super::sample::Drawing;
use crate::arguments::{at_least_one, not_negative, whole};
use crate::output;

/// Generate rows from a random Gaussian mixture, as in the paper
///
/// The seed determines both the mixture and the sequence of rows: with the same seed, a smaller N
/// gives the first rows of a larger N.
#[derive(Debug, Args)]
#[command(allow_negative_numbers = true)]
#[command(after_help = "Examples:\n  mixtura generate --dimension 2 -k 3 -n 1000 > points.csv\n  \
    mixtura generate -d 10 -k 10 -n 1000000 -o points.parquet --model truth.json")]
pub(crate) struct GenerateArguments {
    /// Number of columns
    #[arg(short, long, value_name = "D", value_parser = at_least_one)]
    dimension: usize,

    /// Number of components
    #[arg(short = 'k', value_name = "K", value_parser = at_least_one)]
    n_components: usize,

    /// Number of rows
    #[arg(short = 'n', value_name = "N", value_parser = at_least_one)]
    n_rows: usize,

    /// Distance between neighbouring means, in units of the larger component's extent; about 2 is
    /// well separated
    #[arg(long, value_name = "C", default_value = "0.6", value_parser = not_negative)]
    separation: f64,

    /// Whether all components have the same weight
    #[arg(long, value_enum, default_value_t = BalanceName::Balanced)]
    balance: BalanceName,

    /// Random seed
    #[arg(long, value_name = "S", default_value = "0", value_parser = whole)]
    seed: u64,

    /// Add a column with the component of each row
    #[arg(long)]
    labels: bool,

    /// Write the rows to this file (.csv, .csv.gz, .csv.zst, .parquet, .arrow, .feather, .npy) instead of CSV to standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Write the true model to this file
    #[arg(long, value_name = "FILE")]
    model: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum BalanceName {
    /// Equal weights
    Balanced,
    /// Weights that differ by up to a factor of ten
    Unbalanced,
}

/// Runs the subcommand.
pub(crate) fn run(arguments: &GenerateArguments) -> anyhow::Result<ExitCode> {
    output::check(&[arguments.output.as_deref(), arguments.model.as_deref()], &[])?;
    let artificial = Artificial {
        n_columns: arguments.dimension,
        n_components: arguments.n_components,
        separation: arguments.separation,
        balance: match arguments.balance {
            BalanceName::Balanced => Balance::Balanced,
            BalanceName::Unbalanced => Balance::Unbalanced,
        },
    };
    let model = AnyMixture::from(artificial.mixture(arguments.seed)?);
    let columns: Vec<String> = (1..=arguments.dimension).map(|d| format!("x{d}")).collect();
    let file = ModelFile { model, columns, fit: None };
    // Written first and renamed last, so that rows and model are replaced together or not at all.
    let mut truth =
        arguments.model.as_deref().filter(|path| output::is_regular(path)).map(AtomicFile::create).transpose()?;
    if let Some(truth) = &mut truth {
        truth.write_all(file.to_json().as_bytes()).context("cannot write the true model")?;
    }
    let drawing = Drawing {
        model: &file.model,
        columns: &file.columns,
        n_rows: arguments.n_rows,
        seed: arguments.seed,
        labels: arguments.labels,
        output: arguments.output.as_deref(),
    };
    drawing.write()?;
    match (truth, arguments.model.as_deref()) {
        (Some(truth), _) => truth.commit()?,
        (None, Some(path)) => output::text(Some(path), &file.to_json())?,
        (None, None) => {}
    }
    Ok(ExitCode::SUCCESS)
}
