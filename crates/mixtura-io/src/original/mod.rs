//! Reads the columns of a table again, batch by batch and unchanged, to be written next to the results.

mod arrays;
mod infer;
mod npy;
mod spool;
mod text;

pub use self::spool::Spooled;

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field};

use self::arrays::ArraySource;
use self::infer::Kind;
use self::npy::NpySource;
pub(crate) use self::text::TextRows;
use crate::input::Format;
use crate::opened::Opened;
use crate::read::text::Records;
use crate::{Error, Input, ReadOptions};

/// The form in which cells of a text file are returned; other formats have their own types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CellForm {
    /// Unchanged text, for CSV; only a decimal comma becomes a point, because the comma is the delimiter there.
    Text,
    /// Integers, floating-point numbers and text, for Parquet and Arrow. The type of a column is inferred in a first
    /// pass over all its cells. Integers with leading zeros or beyond 64 bits stay text, and empty cells are missing.
    Typed,
}

/// All columns of a table, unchanged and in the order of its rows. Memory is needed only for the requested rows and,
/// for Parquet and Arrow, for the batch that contains them.
///
/// Columns without a name are called `column 1` and so on. Columns of an NPY array become double-precision numbers.
///
/// ```
/// use mixtura_io::{CellForm, Cells, Input, Originals, ReadOptions, TableColumn, TableLayout, TableWriter};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("towns.csv");
/// std::fs::write(&path, "town;height\nOslo;1,50\nRome;2,00\n")?;
/// let mut data = Originals::open(&Input::from(path), &ReadOptions::default(), CellForm::Text)?;
///
/// let layout = TableLayout::new(vec![TableColumn::label("label")]).keep(&data);
/// let mut out = Vec::new();
/// let mut writer = TableWriter::csv(&mut out, "standard output", layout)?;
/// writer.write_columns(Some(&data.next(2)?), &[Cells::Labels(&[0, 1])])?;
/// writer.finish()?;
/// assert_eq!(String::from_utf8(out)?, "town,height,label\nOslo,1.50,0\nRome,2.00,1\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Originals {
    file: String,
    schema: OriginalSchema,
    source: Source,
    n_read: usize,
}

enum Source {
    Text(Box<Records>, Option<Vec<Kind>>),
    Arrays(Box<ArraySource>),
    Npy(NpySource),
}

/// The columns of a table.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct OriginalSchema {
    /// The types; all text if cells are returned unchanged.
    pub(crate) fields: Vec<Arc<Field>>,
    /// Whether a column has the same dictionary in all batches.
    pub(crate) has_constant_dictionaries: bool,
}

/// Unchanged rows of a table.
#[derive(Debug)]
pub struct OriginalRows {
    pub(crate) pieces: Pieces,
}

/// Rows in the requested form.
#[derive(Debug)]
pub(crate) enum Pieces {
    Text(TextRows),
    /// In the batches of the file.
    Arrays(Vec<RecordBatch>),
}

impl OriginalSchema {
    pub(crate) fn names(&self) -> Vec<String> {
        self.fields.iter().map(|field| field.name().clone()).collect()
    }

    fn new(names: &[String], kind: impl Fn(usize) -> DataType) -> Self {
        let field = |(column, name): (usize, &String)| Arc::new(Field::new(name, kind(column), true));
        Self { fields: names.iter().enumerate().map(field).collect(), has_constant_dictionaries: true }
    }
}

impl OriginalRows {
    /// The number of rows.
    pub fn n_rows(&self) -> usize {
        match &self.pieces {
            Pieces::Text(text) => text.n_rows(),
            Pieces::Arrays(batches) => batches.iter().map(RecordBatch::num_rows).sum(),
        }
    }
}

impl Originals {
    /// Opens a table that was read with these options; it must be readable twice, see [`Spooled`].
    pub fn open(input: &Input, options: &ReadOptions, form: CellForm) -> Result<Self, Error> {
        let file = input.to_string();
        let (schema, source) = match (Opened::open(input)?.format(input)?, input) {
            (Format::Text { delimiter }, _) => {
                let kinds = match form {
                    CellForm::Text => None,
                    CellForm::Typed => Some(infer::kinds(Records::open(input, options, delimiter)?)?),
                };
                let text = Records::open(input, options, delimiter)?;
                let kind = |column: usize| kinds.as_ref().map_or(DataType::Utf8, |kinds| kinds[column].data_type());
                let schema = OriginalSchema::new(text.names(), kind);
                (schema, Source::Text(Box::new(text), kinds))
            }
            (Format::Parquet, Input::Path(path)) => {
                let (schema, source) = ArraySource::parquet(path)?;
                (schema, Source::Arrays(Box::new(source)))
            }
            (Format::Arrow, Input::Path(path)) => {
                let (schema, source) = ArraySource::arrow(path)?;
                (schema, Source::Arrays(Box::new(source)))
            }
            (Format::Npy, Input::Path(path)) => {
                let source = NpySource::open(path)?;
                let names: Vec<String> = (1..=source.n_columns()).map(|number| format!("column {number}")).collect();
                (OriginalSchema::new(&names, |_| DataType::Float64), Source::Npy(source))
            }
            (_, Input::Stdin) => {
                let reason = "standard input can be read only once".to_owned();
                return Err(Error::Unsupported { file, reason });
            }
        };
        Ok(Self { file, schema, source, n_read: 0 })
    }

    /// The names of the columns.
    pub fn names(&self) -> Vec<String> {
        self.schema.names()
    }

    pub(crate) fn schema(&self) -> &OriginalSchema {
        &self.schema
    }

    /// The requested number of next rows; fails if there are fewer.
    pub fn next(&mut self, n_rows: usize) -> Result<OriginalRows, Error> {
        let pieces = match &mut self.source {
            Source::Text(records, None) => Pieces::Text(text::rows(records, n_rows)?),
            Source::Text(records, Some(kinds)) => {
                let rows = text::rows(records, n_rows)?;
                Pieces::Arrays(vec![infer::batch(&rows, kinds, &self.schema).map_err(|reason| self.corrupt(reason))?])
            }
            Source::Arrays(source) => Pieces::Arrays(source.rows(n_rows)?),
            Source::Npy(source) => Pieces::Arrays(vec![source.rows(n_rows, &self.schema)?]),
        };
        let rows = OriginalRows { pieces };
        if rows.n_rows() < n_rows {
            let (n_found, n_expected) = (self.n_read + rows.n_rows(), self.n_read + n_rows);
            return Err(Error::FewerRows { file: self.file.clone(), n_found, n_expected });
        }
        self.n_read += n_rows;
        Ok(rows)
    }

    fn corrupt(&self, reason: String) -> Error {
        Error::Corrupt { file: self.file.clone(), format: "text", reason }
    }
}
