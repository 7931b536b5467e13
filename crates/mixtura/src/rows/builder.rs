//! Builds owned rows in the blocked layout, from rows or from pieces of columns.

use super::{Rows, Scalar, private::Storage};
use crate::Error;
use crate::kernels::LANES;

/// Collects values into blocks of 16 rows, so that a reader needs no second copy.
///
/// ```
/// use mixtura::rows::RowsBuilder;
///
/// // Row by row…
/// let mut builder = RowsBuilder::<f64>::new(2)?;
/// builder.push_row(&[1.0, 2.0]);
/// builder.push_row(&[3.0, 4.0]);
/// let by_rows = builder.finish()?;
///
/// // …or columns, in any order and any pieces.
/// let mut builder = RowsBuilder::<f64>::new(2)?;
/// builder.resize(2);
/// builder.write_column(0, 0, [1.0, 3.0]);
/// builder.write_column(0, 1, [2.0, 4.0]);
/// let by_columns = builder.finish()?;
///
/// assert_eq!(by_rows.row(1), by_columns.row(1));
/// # Ok::<(), mixtura::Error>(())
/// ```
#[derive(Debug)]
pub struct RowsBuilder<T: Scalar> {
    values: Vec<T>,
    n_rows: usize,
    n_columns: usize,
}

impl<T: Scalar> RowsBuilder<T> {
    /// No rows yet, of `n_columns` columns.
    pub fn new(n_columns: usize) -> Result<Self, Error> {
        if n_columns == 0 {
            return Err(Error::NoColumns);
        }
        Ok(Self { values: Vec::new(), n_rows: 0, n_columns })
    }

    /// Rows so far.
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// Takes memory for `n_rows` rows in all, exactly.
    pub fn reserve(&mut self, n_rows: usize) {
        let n_values = n_rows.div_ceil(LANES) * LANES * self.n_columns;
        self.values.reserve_exact(n_values.saturating_sub(self.values.len()));
    }

    /// Grows to `n_rows` rows; new values are zero until written.
    pub fn resize(&mut self, n_rows: usize) {
        if self.values.is_empty() {
            // Zeroed by the system as pages are touched, not by us beforehand.
            self.values = vec![T::default(); n_rows.div_ceil(LANES) * LANES * self.n_columns];
        }
        self.reserve(n_rows);
        self.grow(n_rows);
    }

    /// Appends a row of exactly as many values as there are columns.
    pub fn push_row(&mut self, row: &[T]) {
        assert_eq!(row.len(), self.n_columns, "invariant: a row has all columns");
        let n = self.n_rows;
        self.grow(n + 1);
        let block = &mut self.values[n / LANES * LANES * self.n_columns..];
        for (lanes, &value) in block.chunks_exact_mut(LANES).zip(row) {
            lanes[n % LANES] = value;
        }
    }

    /// Writes values of one column, from row `first_row` on.
    pub fn write_column(&mut self, first_row: usize, column: usize, values: impl IntoIterator<Item = T>) {
        assert!(column < self.n_columns, "invariant: column {column} of {}", self.n_columns);
        let (n_columns, n_rows) = (self.n_columns, self.n_rows);
        let mut values = values.into_iter();
        let mut row = first_row;
        // Lane after lane of one block, then the next block: no index arithmetic for each value.
        loop {
            let at = (row / LANES * n_columns + column) * LANES;
            let lanes = self.values.get_mut(at..at + LANES).unwrap_or_default();
            let mut n_written = 0;
            for (lane, value) in lanes.iter_mut().skip(row % LANES).zip(&mut values) {
                *lane = value;
                n_written += 1;
            }
            row += n_written;
            if !row.is_multiple_of(LANES) || n_written == 0 {
                break;
            }
        }
        assert!(row <= n_rows && values.next().is_none(), "invariant: rows up to {n_rows} are there to write");
    }

    /// The rows, if there are any and all are finite.
    pub fn finish(mut self) -> Result<Rows<'static>, Error> {
        if self.n_rows == 0 {
            return Err(Error::NoRows);
        }
        self.values.shrink_to_fit();
        let rows = Rows::new(T::wrap(Storage::Blocked(self.values.into())), self.n_rows, self.n_columns);
        rows.check_finite()?;
        Ok(rows)
    }

    fn grow(&mut self, n_rows: usize) {
        self.n_rows = n_rows.max(self.n_rows);
        let n_values = self.n_rows.div_ceil(LANES) * LANES * self.n_columns;
        if n_values > self.values.len() {
            self.values.resize(n_values, T::default());
        }
    }
}
