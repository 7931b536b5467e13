//! Builds owned rows in the blocked layout, from rows or from pieces of columns.

use super::{Rows, Scalar, private::Storage};
use crate::Error;
use crate::kernels::LANES;

/// Collects values into blocks of 16 rows, so that a reader does not need a second copy.
///
/// ```
/// use mixtura::rows::RowsBuilder;
///
/// // Row by row…
/// let mut builder = RowsBuilder::<f64>::new(2)?;
/// builder.push_row(&[1.0, 2.0])?;
/// builder.push_row(&[3.0, 4.0])?;
/// let by_rows = builder.finish()?;
///
/// // …or columns, in any order and any pieces.
/// let mut builder = RowsBuilder::<f64>::new(2)?;
/// builder.resize(2)?;
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
    /// An empty builder for `n_columns` columns.
    pub fn new(n_columns: usize) -> Result<Self, Error> {
        if n_columns == 0 {
            return Err(Error::NoColumns);
        }
        Ok(Self { values: Vec::new(), n_rows: 0, n_columns })
    }

    /// Number of rows so far.
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// The memory required for `n_rows` rows, in bytes.
    pub fn n_bytes(&self, n_rows: usize) -> u64 {
        (n_rows.div_ceil(LANES) as u64).saturating_mul((LANES * self.n_columns * size_of::<T>()) as u64)
    }

    /// Allocates memory for exactly `n_rows` rows in total.
    pub fn reserve(&mut self, n_rows: usize) -> Result<(), Error> {
        let n_values = self.n_values(n_rows)?;
        let n_more = n_values.saturating_sub(self.values.len());
        self.values.try_reserve_exact(n_more).map_err(|_| self.refused(n_rows))
    }

    /// Grows to `n_rows` rows; new values are zero until written.
    pub fn resize(&mut self, n_rows: usize) -> Result<(), Error> {
        if self.values.is_empty() {
            let n_values = self.n_values(n_rows)?;
            Vec::<T>::new().try_reserve_exact(n_values).map_err(|_| self.refused(n_rows))?;
            // Zeroed by the system when pages are first touched, not by us in advance.
            self.values = vec![T::default(); n_values];
        }
        self.reserve(n_rows)?;
        self.grow(n_rows)
    }

    /// Appends a row with exactly one value per column.
    pub fn push_row(&mut self, row: &[T]) -> Result<(), Error> {
        assert_eq!(row.len(), self.n_columns, "invariant: a row has all columns");
        let n = self.n_rows;
        self.grow(n + 1)?;
        let block = &mut self.values[n / LANES * LANES * self.n_columns..];
        for (lanes, &value) in block.chunks_exact_mut(LANES).zip(row) {
            lanes[n % LANES] = value;
        }
        Ok(())
    }

    /// A value.
    pub fn value(&self, row: usize, column: usize) -> T {
        assert!(row < self.n_rows && column < self.n_columns, "invariant: row {row}, column {column} is there");
        self.values[self.at(row, column)]
    }

    /// Writes values of one column, from row `first_row` on.
    pub fn write_column(&mut self, first_row: usize, column: usize, values: impl IntoIterator<Item = T>) {
        assert!(column < self.n_columns, "invariant: column {column} of {}", self.n_columns);
        let (n_columns, n_rows) = (self.n_columns, self.n_rows);
        let mut values = values.into_iter();
        let mut row = first_row;
        // Lane by lane within a block, then the next block, which avoids index arithmetic for each value.
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

    /// Removes rows, given in ascending order; those after them move up.
    pub fn remove_rows(&mut self, rows: &[usize]) {
        let mut removed = rows.iter().copied().peekable();
        let mut n_kept = 0;
        for row in 0..self.n_rows {
            if removed.next_if_eq(&row).is_some() {
                continue;
            }
            if n_kept < row {
                for column in 0..self.n_columns {
                    let (from, to) = (self.at(row, column), self.at(n_kept, column));
                    self.values[to] = self.values[from];
                }
            }
            n_kept += 1;
        }
        assert!(removed.next().is_none(), "invariant: rows to remove are there, in ascending order");
        self.n_rows = n_kept;
        self.values.truncate(n_kept.div_ceil(LANES) * LANES * self.n_columns);
        // Padding of the last block is always zero, also where rows were removed.
        for row in n_kept..n_kept.next_multiple_of(LANES) {
            for column in 0..self.n_columns {
                let at = self.at(row, column);
                self.values[at] = T::default();
            }
        }
    }

    /// Removes columns, given in ascending order; at least one must remain.
    pub fn remove_columns(&mut self, columns: &[usize]) {
        let kept: Vec<usize> = (0..self.n_columns).filter(|column| columns.binary_search(column).is_err()).collect();
        assert!(!kept.is_empty(), "invariant: a column stays");
        let mut to = 0;
        // Columns only move forward, so nothing is overwritten before it has moved.
        for block in 0..self.n_rows.div_ceil(LANES) {
            for &column in &kept {
                let from = (block * self.n_columns + column) * LANES;
                self.values.copy_within(from..from + LANES, to);
                to += LANES;
            }
        }
        self.values.truncate(to);
        self.n_columns = kept.len();
    }

    /// The finished rows, if there are any and all values are finite.
    pub fn finish(mut self) -> Result<Rows<'static>, Error> {
        if self.n_rows == 0 {
            return Err(Error::NoRows);
        }
        self.values.shrink_to_fit();
        let rows = Rows::new(T::wrap(Storage::Blocked(self.values.into())), self.n_rows, self.n_columns);
        rows.check_finite()?;
        Ok(rows)
    }

    fn at(&self, row: usize, column: usize) -> usize {
        (row / LANES * self.n_columns + column) * LANES + row % LANES
    }

    fn n_values(&self, n_rows: usize) -> Result<usize, Error> {
        let n_values = n_rows.div_ceil(LANES).checked_mul(LANES * self.n_columns);
        n_values.ok_or_else(|| self.refused(n_rows))
    }

    fn refused(&self, n_rows: usize) -> Error {
        Error::Memory { n_bytes: self.n_bytes(n_rows) }
    }

    fn grow(&mut self, n_rows: usize) -> Result<(), Error> {
        let n_rows = n_rows.max(self.n_rows);
        let n_values = self.n_values(n_rows)?;
        if n_values > self.values.len() {
            if n_values > self.values.capacity() {
                // Grow by half, so that rows are rarely moved; if that fails, only by what is needed.
                let n_more = n_values - self.values.len();
                let n_ample = n_more.max(self.values.len() / 2);
                let taken = self.values.try_reserve_exact(n_ample).or_else(|_| self.values.try_reserve_exact(n_more));
                taken.map_err(|_| self.refused(n_rows))?;
            }
            self.values.resize(n_values, T::default());
        }
        self.n_rows = n_rows;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(n_rows: usize, n_columns: usize) -> RowsBuilder<f64> {
        let mut builder = RowsBuilder::new(n_columns).unwrap();
        for row in 0..n_rows {
            let values: Vec<f64> = (0..n_columns).map(|column| (100 * row + column) as f64).collect();
            builder.push_row(&values).unwrap();
        }
        builder
    }

    fn all(builder: RowsBuilder<f64>) -> Vec<Vec<f64>> {
        let rows = builder.finish().unwrap();
        (0..rows.n_rows()).map(|row| rows.row(row)).collect()
    }

    #[test]
    fn removed_rows_and_columns_leave_the_others_as_they_were() {
        for removed in [vec![], vec![0], vec![39], vec![0, 15, 16, 17, 38], (5..40).collect()] {
            let mut builder = counted(40, 3);
            builder.remove_rows(&removed);
            let kept: Vec<usize> = (0..40).filter(|row| !removed.contains(row)).collect();
            builder.push_row(&[1.0, 2.0, 3.0]).unwrap();
            builder.remove_columns(&[1]);
            let mut expected: Vec<Vec<f64>> =
                kept.iter().map(|&row| vec![(100 * row) as f64, (100 * row + 2) as f64]).collect();
            expected.push(vec![1.0, 3.0]);
            assert_eq!(all(builder), expected, "{removed:?}");
        }
    }

    #[test]
    fn a_removed_value_is_not_seen_as_padding() {
        let mut builder = counted(3, 1);
        builder.push_row(&[f64::NAN]).unwrap();
        builder.remove_rows(&[3]);
        assert_eq!(all(builder).len(), 3);
    }

    #[test]
    fn too_large_an_allocation_is_an_error_and_not_an_abort() {
        let mut builder = counted(3, 2);
        let n_rows = 1usize << 58;
        let error = Error::Memory { n_bytes: 1 << 62 };
        assert_eq!(builder.reserve(n_rows), Err(error.clone()));
        assert_eq!(builder.resize(n_rows), Err(error.clone()));
        assert_eq!(RowsBuilder::<f64>::new(2).unwrap().resize(n_rows), Err(error));
        assert!(matches!(builder.resize(usize::MAX), Err(Error::Memory { .. })));
        assert_eq!(all(builder).len(), 3);
    }
}
