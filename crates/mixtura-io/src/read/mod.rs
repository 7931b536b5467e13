//! Reads a table of any known format into rows.

mod arrays;
mod arrow;
mod cell;
mod columns;
mod labels;
pub(crate) mod npy;
mod parquet;
pub(crate) mod text;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use mixtura::rows::RowsBuilder;

use self::cell::Cell;
use self::columns::{Header, Selection};
use self::labels::LabelBuilder;
use crate::input::{Format, Input};
use crate::{Error, LabelColumn, ReadOptions, Table};

/// Reads a table into rows in memory, in one pass and without a second copy of the data.
///
/// Refuses, with the place, every cell that is not a finite number.
pub fn read(input: &Input, options: &ReadOptions) -> Result<Table, Error> {
    match (input.format()?, input) {
        (Format::Text { delimiter }, _) => text::read(input, options, delimiter),
        (Format::Parquet, Input::Path(path)) => guarded(path, "Parquet", || parquet::read(path, options)),
        (Format::Arrow, Input::Path(path)) => guarded(path, "Arrow", || arrow::read(path, options)),
        (Format::Npy, Input::Path(path)) => npy::read(path, options),
        (Format::Parquet | Format::Arrow | Format::Npy, Input::Stdin) => {
            unreachable!("invariant: standard input is text")
        }
    }
}

/// Reads with a decoder that checks what it reads, but may still meet an assertion in a damaged file.
fn guarded(path: &Path, format: &'static str, read: impl FnOnce() -> Result<Table, Error>) -> Result<Table, Error> {
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|_| {
        let reason = "the decoder met a value that cannot be".to_owned();
        Err(Error::Corrupt { file: path.display().to_string(), format, reason })
    })
}

/// A table while it is being read, whatever the format.
struct Assembly<T: Cell> {
    header: Header,
    selection: Selection,
    builder: RowsBuilder<T>,
    weights: Vec<f64>,
    labels: LabelBuilder,
    notices: Vec<String>,
}

impl<T: Cell> Assembly<T> {
    fn new(header: Header, selection: Selection) -> Result<Self, Error> {
        let builder = RowsBuilder::new(selection.data.len())
            .map_err(|source| Error::Rows { file: header.file.clone(), source })?;
        let (weights, labels, notices) = (Vec::new(), LabelBuilder::default(), Vec::new());
        Ok(Self { header, selection, builder, weights, labels, notices })
    }

    /// Appends weights of a column of numbers; `first_row` is the row of the first.
    fn push_weights(
        &mut self,
        first_row: usize,
        column: usize,
        weights: impl Iterator<Item = f64>,
    ) -> Result<(), Error> {
        for (row, weight) in (first_row..).zip(weights) {
            let place = || self.header.place(row, column);
            if !weight.is_finite() {
                return Err(Error::NotFinite { place: place(), value: weight.to_string() });
            }
            if weight < 0.0 {
                return Err(Error::NegativeWeight { place: place(), value: weight });
            }
            self.weights.push(weight);
        }
        Ok(())
    }

    /// Appends labels of a column of numbers; `first_row` is the row of the first.
    fn push_labels(&mut self, first_row: usize, column: usize, labels: impl Iterator<Item = f64>) -> Result<(), Error> {
        for (row, label) in (first_row..).zip(labels) {
            if !label.is_finite() {
                return Err(Error::NotFinite { place: self.header.place(row, column), value: label.to_string() });
            }
            self.labels.push(&label.to_string());
        }
        Ok(())
    }

    fn finish(self, options: &ReadOptions) -> Result<Table, Error> {
        let Self { header, selection, builder, weights, labels, notices } = self;
        let refuse = |source| match source {
            mixtura::Error::NoRows => Error::NoRows { file: header.file.clone() },
            mixtura::Error::NotFinite { row, column, value } => {
                Error::NotFinite { place: header.place(row, selection.data[column]), value: value.to_string() }
            }
            source => Error::Rows { file: header.file.clone(), source },
        };
        let mut rows = builder.finish().map_err(&refuse)?;
        if !header.names.is_empty() {
            let names = selection.data.iter().map(|&column| header.names[column].clone()).collect();
            rows = rows.with_names(names).map_err(&refuse)?;
        }
        if selection.weights.is_some() {
            rows = rows.with_weights(weights).map_err(&refuse)?;
        }
        let mut label_column = None;
        if let Some(name) = options.labels.as_ref().filter(|_| selection.labels.is_some()) {
            let (numbers, values) = labels.finish();
            rows = rows.with_labels(numbers).map_err(&refuse)?;
            label_column = Some(LabelColumn { name: name.clone(), values });
        }
        Ok(Table { rows, labels: label_column, notices })
    }
}
