//! Assembles a table of any format as it is read, and handles missing values at the end.

use mixtura::rows::RowsBuilder;

use super::cell::Cell;
use super::columns::{Header, Selection, refuse_too_many};
use super::labels::LabelBuilder;
use super::missing;
use crate::memory::Budget;
use crate::{Column, Error, LabelColumn, Missing, ReadOptions, Table};

/// Columns with fewer rows than this may look like a row index by chance.
const FEWEST_INDEX_ROWS: usize = 10;

/// A table while it is being read.
///
/// Missing values are stored as NaN. Formats that reject them while parsing never write any, unless rows
/// with missing values are to be skipped.
pub(super) struct Assembly<T: Cell> {
    pub(super) header: Header,
    pub(super) selection: Selection,
    pub(super) growing: Growing<T>,
    pub(super) weights: Vec<f64>,
    pub(super) labels: LabelBuilder,
    pub(super) notices: Vec<String>,
    /// Columns without a name in a file that names others, in ascending order.
    pub(super) unnamed: Vec<usize>,
    /// What the first omitted column contains, for the error if no columns remain.
    pub(super) example: Option<String>,
    pub(super) missing: Missing,
    is_strict: bool,
}

/// The rows while they grow, within the available memory.
pub(super) struct Growing<T: Cell> {
    file: String,
    pub(super) builder: RowsBuilder<T>,
    budget: Budget,
    /// For each data column, the first row whose cell is null rather than NaN.
    pub(super) first_null: Vec<Option<usize>>,
}

impl<T: Cell> Growing<T> {
    /// Grows to a number of rows, if there is enough memory.
    pub(super) fn resize(&mut self, n_rows: usize) -> Result<(), Error> {
        self.check(n_rows)?;
        self.builder.resize(n_rows).map_err(|source| Error::Rows { file: self.file.clone(), source })
    }

    /// Reserves memory for a number of rows, if there is enough.
    pub(super) fn reserve(&mut self, n_rows: usize) -> Result<(), Error> {
        self.check(n_rows)?;
        self.builder.reserve(n_rows).map_err(|source| Error::Rows { file: self.file.clone(), source })
    }

    /// Appends rows in row-major order.
    pub(super) fn push_rows(&mut self, values: &[T], n_columns: usize) -> Result<(), Error> {
        self.check(self.builder.n_rows() + values.len() / n_columns)?;
        let mut rows = values.chunks_exact(n_columns);
        rows.try_for_each(|row| self.builder.push_row(row))
            .map_err(|source| Error::Rows { file: self.file.clone(), source })
    }

    /// Writes values of one data column, growing if necessary.
    pub(super) fn write_column(&mut self, first_row: usize, position: usize, values: &[T]) -> Result<(), Error> {
        let n_rows = first_row + values.len();
        if self.builder.n_rows() < n_rows {
            self.resize(n_rows)?;
        }
        self.builder.write_column(first_row, position, values.iter().copied());
        Ok(())
    }

    /// Records the position of a null in a column.
    pub(super) fn note_null(&mut self, row: usize, position: usize) {
        let first = &mut self.first_null[position];
        *first = Some(first.map_or(row, |first| first.min(row)));
    }

    fn check(&mut self, n_rows: usize) -> Result<(), Error> {
        match self.budget.exceeded_by(self.builder.n_bytes(n_rows)) {
            Some(limit) => Err(Error::Memory { file: self.file.clone(), limit }),
            None => Ok(()),
        }
    }
}

impl<T: Cell> Assembly<T> {
    pub(super) fn new(header: Header, selection: Selection, options: &ReadOptions) -> Result<Self, Error> {
        refuse_too_many(&header.file, header.n_columns)?;
        selection.refuse_repeated_names(&header)?;
        let n_columns = selection.data.len();
        let builder =
            RowsBuilder::new(n_columns).map_err(|source| Error::Rows { file: header.file.clone(), source })?;
        let growing = Growing {
            file: header.file.clone(),
            builder,
            budget: Budget::new(options.memory),
            first_null: vec![None; n_columns],
        };
        Ok(Self {
            header,
            selection,
            growing,
            weights: Vec::new(),
            labels: LabelBuilder::default(),
            notices: Vec::new(),
            unnamed: Vec::new(),
            example: None,
            missing: options.missing,
            is_strict: options.strict,
        })
    }

    /// Appends weights of a column of numbers; `first_row` is the row of the first.
    pub(super) fn push_weights(
        &mut self,
        first_row: usize,
        column: usize,
        weights: impl Iterator<Item = f64>,
    ) -> Result<(), Error> {
        for (row, weight) in (first_row..).zip(weights) {
            let place = || self.header.place(row, column);
            if weight.is_infinite() || (weight.is_nan() && self.missing == Missing::Refuse) {
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
    pub(super) fn push_labels(
        &mut self,
        first_row: usize,
        column: usize,
        labels: impl Iterator<Item = f64>,
    ) -> Result<(), Error> {
        for (row, label) in (first_row..).zip(labels) {
            if label.is_nan() && self.missing == Missing::Skip {
                self.labels.push_missing();
            } else if label.is_finite() {
                self.labels.push(&label.to_string());
            } else {
                return Err(Error::NotFinite { place: self.header.place(row, column), value: label.to_string() });
            }
        }
        Ok(())
    }

    pub(super) fn finish(mut self, options: &ReadOptions) -> Result<Table, Error> {
        let n_rows_read = self.growing.builder.n_rows();
        if n_rows_read == 0 {
            return Err(Error::NoRows { file: self.header.file });
        }
        self.notice_indices(n_rows_read);
        self.leave_out_empty_columns()?;
        let skipped = self.skip_rows(n_rows_read)?;
        self.notices.extend(self.selection.notice(&self.header));
        self.notices.extend(self.selection.double_uses(&self.header));
        if !skipped.is_empty() {
            let (file, n_skipped) = (&self.header.file, skipped.len());
            self.notices.push(format!("{file}: skipped {n_skipped} of {n_rows_read} rows because of missing values"));
        }
        let Self { header, selection, growing, weights, labels, notices, .. } = self;
        let refuse = |source| match source {
            mixtura::Error::NotFinite { row, column, value } => {
                let place = header.place(row, selection.data[column]);
                if growing.first_null[column] == Some(row) {
                    Error::EmptyCell { place }
                } else {
                    Error::NotFinite { place, value: value.to_string() }
                }
            }
            mixtura::Error::Weight { row, weight } => {
                let source = mixtura::Error::Weight { row: row_in_file(row, &skipped), weight };
                Error::Rows { file: header.file.clone(), source }
            }
            source => Error::Rows { file: header.file.clone(), source },
        };
        let mut rows = growing.builder.finish().map_err(&refuse)?;
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
        Ok(Table {
            rows,
            labels: label_column,
            notices,
            skipped,
            n_rows_read,
            used: selection.data,
            file_columns: header.names,
        })
    }

    /// Warns about columns that are probably a row index rather than data.
    fn notice_indices(&mut self, n_rows: usize) {
        if n_rows < FEWEST_INDEX_ROWS {
            return;
        }
        let Self { header, selection, growing, .. } = &self;
        let mut notices = Vec::new();
        for (position, (&column, &is_exact)) in selection.data.iter().zip(&selection.is_exact).enumerate() {
            if is_exact {
                continue;
            }
            let is_unnamed = self.unnamed.binary_search(&column).is_ok();
            let counts = missing::counts_rows(&growing.builder, position);
            let what = match (is_unnamed, counts) {
                (true, true) => "has no name, counts the rows",
                (true, false) if column == 0 => "has no name",
                (false, true) => "counts the rows",
                // The name that pandas gives to an index stored as a column.
                _ if header.names.get(column).is_some_and(|name| name.starts_with("__index_level_")) => {
                    "has the name that pandas gives to an index"
                }
                _ => continue,
            };
            let (column, selector) = match header.column(column) {
                Column::Name(name) if !is_unnamed => (Column::Name(name.clone()), name),
                // Its generated name, because a number could be the name of another column.
                _ if is_unnamed => (Column::Number(column), format!("'column {}'", column + 1)),
                _ => (Column::Number(column), (column + 1).to_string()),
            };
            let file = &header.file;
            notices.push(format!(
                "{file}: {column} {what} and is probably an index; leave it out with --exclude {selector}"
            ));
        }
        self.notices.extend(notices);
    }

    /// Leaves out columns in which every value is missing, unless they were named explicitly.
    fn leave_out_empty_columns(&mut self) -> Result<(), Error> {
        if self.is_strict {
            return Ok(());
        }
        let Self { header, selection, growing, .. } = self;
        let mut empty = missing::columns_without_numbers(&growing.builder, selection.data.len());
        empty.retain(|&position| !selection.is_exact[position]);
        if empty.is_empty() {
            return Ok(());
        }
        if empty.len() == selection.data.len() {
            let example = self.example.take();
            let example =
                example.unwrap_or_else(|| format!("{} has only missing values", header.column(selection.data[0])));
            return Err(Error::NoNumbers { file: header.file.clone(), example });
        }
        growing.builder.remove_columns(&empty);
        let mut columns: Vec<usize> = empty.iter().map(|&position| selection.data[position]).collect();
        columns.sort_unstable();
        let mut position = 0..;
        growing.first_null.retain(|_| position.next().is_none_or(|position| empty.binary_search(&position).is_err()));
        selection.leave_out(|column| columns.binary_search(&column).is_ok());
        Ok(())
    }

    /// Removes rows with missing values, if requested, and returns which ones.
    fn skip_rows(&mut self, n_rows: usize) -> Result<Vec<usize>, Error> {
        if self.missing == Missing::Refuse {
            return Ok(Vec::new());
        }
        let Self { header, selection, growing, weights, labels, .. } = self;
        let with_missing = missing::rows_with_missing(&growing.builder, selection.data.len());
        let with_missing = with_missing.map_err(|(row, column, value)| Error::NotFinite {
            place: header.place(row, selection.data[column]),
            value: value.to_string(),
        })?;
        let mut is_skipped = vec![false; n_rows];
        with_missing.into_iter().for_each(|row| is_skipped[row] = true);
        for (row, weight) in weights.iter().enumerate() {
            is_skipped[row] |= weight.is_nan();
        }
        labels.missing_rows().for_each(|row| is_skipped[row] = true);
        let skipped: Vec<usize> = (0..n_rows).filter(|&row| is_skipped[row]).collect();
        if skipped.len() == n_rows {
            return Err(Error::AllSkipped { file: header.file.clone(), n_rows });
        }
        if !skipped.is_empty() {
            growing.builder.remove_rows(&skipped);
            let mut row = 0..;
            weights.retain(|_| row.next().is_some_and(|row| !is_skipped[row]));
            labels.retain(|row| !is_skipped[row]);
        }
        Ok(skipped)
    }
}

/// The row of the file that corresponds to a row of the table, given the skipped rows in order.
fn row_in_file(row: usize, skipped: &[usize]) -> usize {
    skipped.iter().fold(row, |row, &skipped| row + usize::from(skipped <= row))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_counted_as_in_the_file() {
        let rows: Vec<usize> = (0..4).map(|row| row_in_file(row, &[0, 2, 3])).collect();
        assert_eq!(rows, [1, 4, 5, 6]);
    }
}
