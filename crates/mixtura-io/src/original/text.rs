//! Splits text into cells and keeps them to the letter.

use std::io::Read;

use csv::{ByteRecord, Reader, ReaderBuilder};

use crate::read::text::open_cells;
use crate::{Error, Input, ReadOptions};

/// A text, being split into cells.
pub(super) struct TextSource {
    file: String,
    names: Vec<String>,
    reader: Reader<Box<dyn Read + Send>>,
    record: ByteRecord,
    n_read: usize,
}

/// Cells of text, row by row.
#[derive(Debug, Default)]
pub(crate) struct TextRows {
    bytes: Vec<u8>,
    /// Where in the bytes each cell ends.
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

impl TextSource {
    pub(super) fn open(input: &Input, options: &ReadOptions, delimiter: Option<u8>) -> Result<Self, Error> {
        let text = open_cells(input, options, delimiter)?;
        let mut builder = ReaderBuilder::new();
        // Rows of another length are refused here, with the words that the first reading has for them.
        let builder = builder.delimiter(text.delimiter).has_headers(false).flexible(true).buffer_capacity(1 << 17);
        let reader = builder.from_reader(text.body);
        Ok(Self { file: input.to_string(), names: text.names, reader, record: ByteRecord::new(), n_read: 0 })
    }

    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// The next rows, fewer at the end.
    pub(super) fn rows(&mut self, n_rows: usize) -> Result<TextRows, Error> {
        let mut rows = TextRows { n_columns: self.names.len(), ..TextRows::default() };
        while rows.n_rows < n_rows {
            let found = self.reader.read_byte_record(&mut self.record);
            if !found.map_err(|error| Error::Read { file: self.file.clone(), source: error.into() })? {
                break;
            }
            if self.record.len() != self.names.len() {
                return Err(Error::Ragged {
                    file: self.file.clone(),
                    row: self.n_read,
                    line: self.reader.position().line(),
                    n_found: self.record.len(),
                    n_expected: self.names.len(),
                });
            }
            for cell in &self.record {
                rows.bytes.extend_from_slice(cell);
                rows.ends.push(rows.bytes.len());
            }
            rows.n_rows += 1;
            self.n_read += 1;
        }
        Ok(rows)
    }
}
