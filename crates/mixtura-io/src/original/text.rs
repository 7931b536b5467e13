//! Holds the unchanged cells of a text file.

use crate::Error;
use crate::read::text::Records;

/// Cells of text, row by row.
#[derive(Debug, Default)]
pub(crate) struct TextRows {
    bytes: Vec<u8>,
    /// The end of each cell in the bytes.
    ends: Vec<usize>,
    n_columns: usize,
    n_rows: usize,
}

impl TextRows {
    pub(crate) fn n_rows(&self) -> usize {
        self.n_rows
    }

    pub(crate) fn n_columns(&self) -> usize {
        self.n_columns
    }

    /// The cells of a row.
    pub(crate) fn record(&self, row: usize) -> impl Iterator<Item = &[u8]> {
        (0..self.n_columns).map(move |column| self.cell(row, column))
    }

    pub(crate) fn cell(&self, row: usize, column: usize) -> &[u8] {
        let index = row * self.n_columns + column;
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.bytes[start..self.ends[index]]
    }
}

/// The next rows of a text; fewer at the end.
pub(super) fn rows(records: &mut Records, n_rows: usize) -> Result<TextRows, Error> {
    let mut rows = TextRows { n_columns: records.names().len(), ..TextRows::default() };
    while rows.n_rows < n_rows {
        let keep = |cell: &[u8]| {
            rows.bytes.extend_from_slice(cell);
            rows.ends.push(rows.bytes.len());
        };
        if !records.next(keep)? {
            break;
        }
        rows.n_rows += 1;
    }
    Ok(rows)
}
