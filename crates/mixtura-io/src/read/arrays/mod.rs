//! Copies Arrow arrays, which are pieces of columns, into a table.

mod decode;

use std::sync::{Mutex, PoisonError};

use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Fields};

pub(super) use self::decode::Numbers;
use self::decode::{is_number, is_text};
use super::assembly::Growing;
use super::missing::is_missing;
use super::{Assembly, Cell, Header, Selection};
use crate::{Error, Missing, ReadOptions};

/// Number of rows copied at a time, small enough to stay in the cache.
pub(super) const PIECE_ROWS: usize = 1 << 14;

/// Rows per byte of file up to which the file's own row count is trusted before a value is seen.
/// One bit per value gives 8; only long runs of equal values give more, and those are read part by part.
const PLAUSIBLE_ROWS_PER_BYTE: u64 = 64;

pub(super) fn is_plausible(n_rows: usize, n_bytes: u64) -> bool {
    (n_rows as u64) <= n_bytes.saturating_mul(PLAUSIBLE_ROWS_PER_BYTE)
}

/// Whether single precision can represent every value of the data columns.
pub(super) fn are_single(fields: &Fields, selection: &Selection) -> bool {
    let mut kinds = selection.data.iter().map(|&column| value_type(fields[column].data_type()));
    kinds.all(|kind| matches!(kind, DataType::Float16 | DataType::Float32))
}

/// The type of the values, whether they are stored in the column or in a dictionary.
fn value_type(kind: &DataType) -> &DataType {
    match kind {
        DataType::Dictionary(_, values) => values,
        kind => kind,
    }
}

/// A part of a column, starting at a row.
#[derive(Clone, Copy)]
pub(super) struct Piece<'a> {
    pub(super) first_row: usize,
    pub(super) column: usize,
    pub(super) array: &'a ArrayRef,
}

impl Selection {
    /// The selected numeric columns. Other columns are left out, or rejected if they were named exactly or
    /// `strict` is set.
    pub(super) fn of_numbers(header: &Header, options: &ReadOptions, fields: &Fields) -> Result<Self, Error> {
        let mut selection = Self::new(header, options)?;
        let has_no_numbers = |column: usize| !is_number(value_type(fields[column].data_type()));
        if !options.strict {
            let first = selection.data[0];
            selection.leave_out(has_no_numbers);
            if selection.data.is_empty() {
                let example = format!("{} has type {}", header.column(first), fields[first].data_type());
                return Err(Error::NoNumbers { file: header.file.clone(), example });
            }
        }
        header.refuse_other_types(fields, &selection)?;
        Ok(selection)
    }
}

impl Header {
    /// Rejects data or weight columns that are not numeric, and label columns that are neither numeric nor text.
    fn refuse_other_types(&self, fields: &Fields, selection: &Selection) -> Result<(), Error> {
        let holds_numbers = |kind| is_number(value_type(kind));
        for &column in selection.data.iter().chain(&selection.weights) {
            let kind = fields[column].data_type();
            if !holds_numbers(kind) {
                let numeric = fields.iter().filter(|field| holds_numbers(field.data_type()));
                let numeric = numeric.map(|field| field.name().clone()).collect();
                return Err(self.column_type(column, kind, numeric));
            }
        }
        match selection.labels.map(|column| (column, fields[column].data_type())) {
            Some((column, kind)) if !holds_numbers(kind) && !is_text(value_type(kind)) => {
                Err(self.column_type(column, kind, Vec::new()))
            }
            _ => Ok(()),
        }
    }

    fn column_type(&self, column: usize, kind: &DataType, numeric: Vec<String>) -> Error {
        Error::ColumnType { file: self.file.clone(), column: self.column(column), kind: kind.to_string(), numeric }
    }

    fn numbers<T: Cell>(&self, piece: Piece) -> Result<Vec<T>, Error> {
        decode::numbers(piece.array).map_err(|inexact| match inexact.value {
            Some(value) => Error::Inexact { place: self.place(piece.first_row + inexact.index, piece.column), value },
            None => self.column_type(piece.column, piece.array.data_type(), Vec::new()),
        })
    }

    /// Writes a piece into the column `position` of the rows, which grow if necessary.
    pub(super) fn write_piece<T: Numbers>(
        &self,
        piece: Piece,
        position: usize,
        growing: &Mutex<&mut Growing<T>>,
    ) -> Result<(), Error> {
        let write = |values: &[T]| {
            // A panic elsewhere fails the whole file, so a partly written column is never visible.
            let mut growing = growing.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(index) = first_null(piece.array) {
                growing.note_null(piece.first_row + index, position);
            }
            growing.write_column(piece.first_row, position, values)
        };
        match T::slice(piece.array).filter(|_| piece.array.null_count() == 0) {
            Some(values) => write(values),
            None => write(&self.numbers::<T>(piece)?),
        }
    }
}

fn first_null(array: &ArrayRef) -> Option<usize> {
    if array.null_count() == 0 {
        return None;
    }
    (0..array.len()).find(|&index| array.is_null(index))
}

impl<T: Cell> Assembly<T> {
    pub(super) fn push_weight_piece(&mut self, piece: Piece) -> Result<(), Error> {
        self.refuse_empty(piece)?;
        let weights = self.header.numbers::<f64>(piece)?;
        self.push_weights(piece.first_row, piece.column, weights.into_iter())
    }

    pub(super) fn push_label_piece(&mut self, piece: Piece) -> Result<(), Error> {
        let Piece { first_row, column, array } = piece;
        self.refuse_empty(piece)?;
        let Some(texts) = decode::texts(array) else {
            let labels = self.header.numbers::<f64>(piece)?;
            return self.push_labels(first_row, column, labels.into_iter());
        };
        for (row, text) in (first_row..).zip(texts) {
            let text = text.unwrap_or_default().trim();
            if self.missing == Missing::Skip && is_missing(text.as_bytes()) {
                self.labels.push_missing();
            } else if text.is_empty() {
                return Err(Error::EmptyCell { place: self.header.place(row, column) });
            } else {
                self.labels.push(text);
            }
        }
        Ok(())
    }

    /// Rejects missing weights and labels, unless their rows are to be skipped.
    fn refuse_empty(&self, piece: Piece) -> Result<(), Error> {
        match first_null(piece.array) {
            Some(index) if self.missing == Missing::Refuse => {
                Err(Error::EmptyCell { place: self.header.place(piece.first_row + index, piece.column) })
            }
            _ => Ok(()),
        }
    }
}
