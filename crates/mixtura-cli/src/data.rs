//! Reads the data that a subcommand works on, as its options say.

use clap::{Args, ValueEnum};
use mixtura_io::{Input, Missing, ModelFile, ReadOptions, Table};

use crate::progress::spinner;
use crate::talk;

/// How to read a table.
#[derive(Debug, Clone, Args)]
pub(crate) struct DataArguments {
    /// The data: .csv, .tsv, .txt (also .gz, .zst), .parquet, .arrow, .feather, .npy, or - for standard input
    pub data: Input,

    /// Columns to use, separated by commas: names, numbers from 1, ranges such as a..d or 2-5, patterns such as x*
    /// [default: all that hold numbers]
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',', help_heading = "Data")]
    pub columns: Option<Vec<String>>,

    /// Columns to leave out, given as for --columns
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',', help_heading = "Data")]
    pub exclude: Vec<String>,

    /// Refuse columns without numbers instead of leaving them out
    #[arg(long, help_heading = "Data")]
    pub strict: bool,

    /// Rows in which a cell is empty, NA or NaN: refuse them, or skip them
    #[arg(long, value_enum, value_name = "HOW", default_value_t = MissingArgument::Refuse, help_heading = "Data")]
    pub missing: MissingArgument,

    /// The decimal mark of a text file, . or , [default: guessed]
    #[arg(long, value_name = "MARK", value_parser = decimal, help_heading = "Data")]
    pub decimal: Option<u8>,

    /// The first line of a text file is data, not names
    #[arg(long, help_heading = "Data")]
    pub no_header: bool,

    /// What separates the values of a text file [default: guessed]
    #[arg(long, value_name = "CHARACTER", value_parser = delimiter, help_heading = "Data")]
    pub delimiter: Option<u8>,
}

/// What to do with missing cells, as typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum MissingArgument {
    /// Refuse the data, with the place of the first such cell
    Refuse,
    /// Leave such rows out and say how many
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

/// Selectors without the spaces that people put after commas.
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

impl DataArguments {
    /// Reads the table, with a column of weights and one of labels if they are asked for.
    pub(crate) fn read(&self, weights: Option<&String>, labels: Option<&String>) -> anyhow::Result<Table> {
        self.read_with(&ReadOptions { weights: weights.cloned(), labels: labels.cloned(), ..self.options() })
    }

    /// Reads the columns that a model has, in the model's order.
    ///
    /// Where both model and data have names, columns are matched by name; what `--columns` and
    /// `--exclude` leave must then be the model's columns, in any order. Where one of them has no
    /// names, columns are taken by position, and there must be as many.
    pub(crate) fn read_for(&self, model: &ModelFile, weights: Option<&String>) -> anyhow::Result<Table> {
        let expected = Some(model.columns.clone()).filter(|columns| !columns.is_empty());
        let table = self.read_with(&ReadOptions { expected, weights: weights.cloned(), ..self.options() })?;
        let (n_model, n_data) = (model.model.n_columns(), table.rows.n_columns());
        if n_model != n_data {
            return Err(mixtura::Error::Width { n_model, n_data }.into());
        }
        Ok(table)
    }

    /// What to ask of a table, but for weights, labels and expected names.
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

    fn read_with(&self, options: &ReadOptions) -> anyhow::Result<Table> {
        let reading = spinner(&format!("reading {}", self.data));
        let table = mixtura_io::read(&self.data, options);
        reading.finish_and_clear();
        let table = table?;
        for text in &table.notices {
            talk::warning(text);
        }
        Ok(table)
    }
}
