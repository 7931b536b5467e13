//! Reads the data that a subcommand works on, as its options say.

use clap::Args;
use mixtura::Rows;
use mixtura_io::{Input, ModelFile, ReadOptions, Table};

use crate::talk;

/// How to read a table.
#[derive(Debug, Clone, Args)]
pub(crate) struct DataArguments {
    /// The data: .csv, .tsv (also .gz), .parquet, .arrow, .feather, .npy, or - for CSV on standard input
    pub data: Input,

    /// Columns to use, by name (or number from 1), separated by commas [default: all]
    #[arg(long, value_name = "A,B,C", value_delimiter = ',', help_heading = "Data")]
    pub columns: Option<Vec<String>>,

    /// The first line of a text file is data, not names
    #[arg(long, help_heading = "Data")]
    pub no_header: bool,

    /// What separates the values of a text file [default: guessed]
    #[arg(long, value_name = "CHARACTER", value_parser = delimiter, help_heading = "Data")]
    pub delimiter: Option<u8>,
}

fn delimiter(text: &str) -> Result<u8, String> {
    match text {
        "tab" | "\\t" => Ok(b'\t'),
        _ if text.len() == 1 => Ok(text.as_bytes()[0]),
        _ => Err("must be a single character, or tab".into()),
    }
}

impl DataArguments {
    /// Reads the table, with a column of weights and one of labels if they are asked for.
    pub(crate) fn read(&self, weights: Option<&String>, labels: Option<&String>) -> anyhow::Result<Table> {
        self.read_with(&ReadOptions {
            columns: self.columns.clone(),
            weights: weights.cloned(),
            labels: labels.cloned(),
            ..self.options()
        })
    }

    /// Reads the columns that a model has: by name where both have names, else by position.
    pub(crate) fn read_for(&self, model: &ModelFile, weights: Option<&String>) -> anyhow::Result<Rows<'static>> {
        let named = !model.columns.is_empty() && self.columns.is_none();
        let table = self.read_with(&ReadOptions {
            columns: if named { Some(model.columns.clone()) } else { self.columns.clone() },
            by_position_without_names: named,
            weights: weights.cloned(),
            ..self.options()
        })?;
        let (n_model, n_data) = (model.model.n_columns(), table.rows.n_columns());
        if n_model != n_data {
            return Err(mixtura::Error::Width { n_model, n_data }.into());
        }
        Ok(table.rows)
    }

    fn options(&self) -> ReadOptions {
        ReadOptions { has_header: !self.no_header, delimiter: self.delimiter, ..ReadOptions::default() }
    }

    fn read_with(&self, options: &ReadOptions) -> anyhow::Result<Table> {
        let table = mixtura_io::read(&self.data, options)?;
        for text in &table.notices {
            talk::warning(text);
        }
        Ok(table)
    }
}
