//! Defines the command line: the subcommands, the global options, and the parsers for numbers.

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};
use mixtura::Start;
use mixtura::family::Family;

use crate::commands::{bounds, compare, completions, fit, generate, man, paper, predict, sample, score, show};

/// Fit mixture models to data.
///
/// Without a subcommand, runs a demo that compares EM with stochastic EM on generated data.
#[derive(Debug, Parser)]
#[command(name = "mixtura", version, max_term_width = 100)]
#[command(after_help = "Examples:\n  mixtura                                  run a demo\n  \
    mixtura fit data.csv -k 5 -o model.json  fit five components\n  \
    mixtura show model.json                  print the model\n  \
    mixtura predict model.json data.csv      label the rows")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub command: Option<Command>,

    /// Write the demo's HTML report to this file [default: a file in the temporary folder]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Number of threads [default: all]; does not affect results
    #[arg(long, value_name = "T", value_parser = threads, global = true, help_heading = "Global options")]
    pub threads: Option<usize>,

    /// Print errors only: no progress, notes or warnings
    #[arg(short, long, global = true, help_heading = "Global options")]
    pub quiet: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Fit(fit::FitArguments),
    Predict(predict::PredictArguments),
    Score(score::ScoreArguments),
    Sample(sample::SampleArguments),
    Show(show::ShowArguments),
    Generate(generate::GenerateArguments),
    Compare(compare::CompareArguments),
    Bounds(bounds::BoundsArguments),
    Paper(paper::PaperArguments),
    Completions(completions::CompletionsArguments),
    Man(man::ManArguments),
}

/// Output format of printed results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// JSON, for programs
    Json,
    /// A table, for people
    Table,
}

/// Where a fit starts.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Init {
    /// k-means++ on a sample, with scaled columns
    #[value(name = "kmeans++")]
    KmeansPlusPlus,
    /// Rows drawn at random, as in the paper
    Random,
    /// The best of several short runs of EM, on a sample
    #[value(name = "short-em")]
    ShortEm,
}

impl Init {
    /// The corresponding start.
    pub(crate) fn start<F: Family>(self) -> Start<F> {
        match self {
            Self::KmeansPlusPlus => Start::KmeansPlusPlus,
            Self::Random => Start::Random,
            Self::ShortEm => Start::ShortEm,
        }
    }
}

/// Parses a finite number of at least 0.
pub(crate) fn not_negative(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() && value >= 0.0 => Ok(value),
        Ok(value) => Err(format!("must be finite and at least 0, not {value}")),
        Err(_) => Err("is not a number".into()),
    }
}

/// Parses a finite number above 0.
pub(crate) fn positive(text: &str) -> Result<f64, String> {
    match not_negative(text)? {
        value if value > 0.0 => Ok(value),
        _ => Err("must be above 0".into()),
    }
}

/// Parses a number between 0 and 1.
pub(crate) fn probability(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value > 0.0 && value < 1.0 => Ok(value),
        Ok(value) => Err(format!("must be between 0 and 1, not {value}")),
        Err(_) => Err("is not a number".into()),
    }
}

/// Parses a number of threads, at most 1024.
fn threads(text: &str) -> Result<usize, String> {
    match at_least_one(text)? {
        n if n > 1024 => Err("must be at most 1024".into()),
        n => Ok(n),
    }
}

/// Parses an integer of at least 0.
pub(crate) fn whole(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| "is not an integer of at least 0".into())
}

/// Parses an integer of at least 1.
pub(crate) fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse::<usize>() {
        Ok(0) => Err("must be at least 1".into()),
        Ok(value) => Ok(value),
        Err(_) => Err("is not an integer of at least 1".into()),
    }
}
