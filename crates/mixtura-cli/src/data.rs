//! Defines the options for reading data, and reads the data accordingly.

use std::path::Path;

use clap::{Args, ValueEnum};
use mixtura_io::{Input, Missing, ModelFile, ReadOptions, Table};

use crate::failure::{Hinted, Usage};
use crate::progress::spinner;
use crate::talk;

/// Fewer distinct labels are never taken for measurements.
const FEWEST_MEASUREMENTS: usize = 100;

/// Options for reading a table.
#[derive(Debug, Clone, Args)]
pub(crate) struct DataArguments {
    /// Data file: .csv, .tsv, .txt (also .gz, .zst), .parquet, .arrow, .feather, .npy, or - for standard input
    pub data: Input,

    /// Columns to use, separated by commas: names, positions from 1, ranges such as a..d or 2-5, patterns such as x*
    /// [default: the columns of the model if there is one, else all numeric columns]
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',', help_heading = "Data")]
    pub columns: Option<Vec<String>>,

    /// Columns to leave out; same syntax as --columns
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',', help_heading = "Data")]
    pub exclude: Vec<String>,

    /// Fail on non-numeric columns instead of leaving them out
    #[arg(long, help_heading = "Data")]
    pub strict: bool,

    /// How to handle rows with missing values (empty, NA or NaN)
    #[arg(long, value_enum, value_name = "HOW", default_value_t = MissingArgument::Refuse, help_heading = "Data")]
    pub missing: MissingArgument,

    /// Decimal separator of a text file, . or , [default: detected]
    #[arg(long, value_name = "MARK", value_parser = decimal, help_heading = "Data")]
    pub decimal: Option<u8>,

    /// Treat the first line of a text file as data, not as column names
    #[arg(long, help_heading = "Data")]
    pub no_header: bool,

    /// Delimiter of a text file [default: detected]
    #[arg(long, value_name = "CHARACTER", value_parser = delimiter, help_heading = "Data")]
    pub delimiter: Option<u8>,
}

/// How to handle missing values, as given on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum MissingArgument {
    /// Fail, and report the first missing value
    Refuse,
    /// Skip these rows and report how many there are
    Skip,
}

impl From<MissingArgument> for Missing {
    fn from(argument: MissingArgument) -> Self {
        match argument {
            MissingArgument::Refuse => Self::Refuse,
            MissingArgument::Skip => Self::Skip,
        }
    }
}

/// Selectors, trimmed of the spaces that people put after commas.
fn trimmed(selectors: &[String]) -> Vec<String> {
    selectors.iter().map(|selector| selector.trim().to_owned()).collect()
}

fn delimiter(text: &str) -> Result<u8, String> {
    match text {
        "tab" | "\\t" => Ok(b'\t'),
        _ if text.len() == 1 => Ok(text.as_bytes()[0]),
        _ => Err("must be a single character, or tab".into()),
    }
}

fn decimal(text: &str) -> Result<u8, String> {
    match text {
        "." | "point" => Ok(b'.'),
        "," | "comma" => Ok(b','),
        _ => Err("must be . or ,".into()),
    }
}

/// Rejects labels that are nearly all different, as measurements are.
fn refuse_measurements(table: &Table) -> anyhow::Result<()> {
    let Some(labels) = &table.labels else { return Ok(()) };
    let (n_labels, n_rows) = (labels.values.len(), table.rows.n_rows());
    if n_labels < FEWEST_MEASUREMENTS || 2 * n_labels < n_rows {
        return Ok(());
    }
    let message =
        format!("column {} has {n_labels} distinct values in {n_rows} rows: it looks like measurements", labels.name);
    Err(Usage::hinted(message, "choose a column that names the group of each row with --labels").into())
}

impl DataArguments {
    /// Reads the table, with a column of weights and one of labels if requested.
    pub(crate) fn read(&self, weights: Option<&String>, labels: Option<&String>) -> anyhow::Result<Table> {
        let options = ReadOptions { weights: weights.cloned(), labels: labels.cloned(), ..self.options() };
        let table = self.read_with(&options)?;
        refuse_measurements(&table)?;
        Ok(table)
    }

    /// Reads a model to be used with this data. If the two were given in the wrong order, says so.
    pub(crate) fn read_model(&self, model: &Path) -> anyhow::Result<ModelFile> {
        let error = match ModelFile::read(model) {
            Err(error @ mixtura_io::Error::Corrupt { .. }) => error,
            other => return Ok(other?),
        };
        match &self.data {
            Input::Path(data) if ModelFile::read(data).is_ok() => {
                let hint = format!("the model comes first: {} {}", data.display(), model.display());
                Err(Hinted { message: error.to_string(), hint }.into())
            }
            _ => Err(error.into()),
        }
    }

    /// Reads the model's columns, in the model's order.
    ///
    /// If both model and data have names, columns are matched by name, and the columns left by
    /// `--columns` and `--exclude` must be the model's, in any order. Otherwise columns are matched
    /// by position, and their number must agree.
    pub(crate) fn read_for(&self, model: &ModelFile, weights: Option<&String>) -> anyhow::Result<Table> {
        let expected = Some(model.columns.clone()).filter(|columns| !columns.is_empty());
        let table = self.read_with(&ReadOptions { expected, weights: weights.cloned(), ..self.options() })?;
        let (n_model, n_data) = (model.model.n_columns(), table.rows.n_columns());
        if n_model != n_data {
            return Err(mixtura::Error::Width { n_model, n_data }.into());
        }
        Ok(table)
    }

    /// The read request, without weights, labels and expected names.
    pub(crate) fn options(&self) -> ReadOptions {
        ReadOptions {
            columns: self.columns.as_deref().map(trimmed),
            exclude: trimmed(&self.exclude),
            strict: self.strict,
            missing: self.missing.into(),
            has_header: !self.no_header,
            delimiter: self.delimiter,
            decimal: self.decimal,
            ..ReadOptions::default()
        }
    }

    /// The error, or that the data are a model if that is why they cannot be read.
    fn explained(&self, error: mixtura_io::Error) -> anyhow::Error {
        match &self.data {
            Input::Path(path) if path.is_file() && ModelFile::read(path).is_ok() => {
                let message = format!("{}: this is a model file, not a table of data", path.display());
                let hint = format!("give the file with the data; mixtura show {} prints the model", path.display());
                Hinted { message, hint }.into()
            }
            _ => error.into(),
        }
    }

    fn read_with(&self, options: &ReadOptions) -> anyhow::Result<Table> {
        let reading = spinner(&format!("reading {}", self.data));
        let table = mixtura_io::read(&self.data, options);
        reading.finish_and_clear();
        let table = table.map_err(|error| self.explained(error))?;
        for text in &table.notices {
            talk::warning(text);
        }
        Ok(table)
    }
}
