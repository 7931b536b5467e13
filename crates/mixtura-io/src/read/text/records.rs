//! Splits a text into its rows again, with unchanged cells, to copy them to the output.

use super::chunk::Chunk;
use super::encoding;
use super::layout::Layout;
use super::number::{self, Decimal};
use super::record::{Dialect, without_line_end};
use super::source::{Source, Stream};
use super::{PIECE_BYTES, fault};
use crate::opened::Opened;
use crate::{Error, Input, ReadOptions};

/// Iterates over the rows of a text, the same ones that [`read`](super::read) finds.
pub(crate) struct Records {
    file: String,
    names: Vec<String>,
    dialect: Dialect,
    decimal: Decimal,
    body: Stream,
    chunk: Chunk,
    /// Bytes of the chunk that have been split.
    at: usize,
    n_rows: usize,
    /// Number of lines before that position.
    n_lines: u64,
}

impl Records {
    pub(crate) fn open(input: &Input, options: &ReadOptions, delimiter: Option<u8>) -> Result<Self, Error> {
        let file = input.to_string();
        let source = Source::open(input, Opened::open(input)?)?;
        let layout = Layout::find(&file, &source, options, delimiter)?;
        let made_up = || (1..=layout.n_columns).map(|number| format!("column {number}")).collect();
        Ok(Self {
            file,
            names: if layout.names.is_empty() { made_up() } else { layout.names },
            dialect: Dialect { has_quotes: true, ..layout.dialect },
            decimal: layout.decimal,
            body: source.into_body(layout.body_start),
            chunk: Chunk::default(),
            at: 0,
            n_rows: 0,
            n_lines: layout.n_lines_before,
        })
    }

    /// The names of the columns; generated if the text has no header.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// Passes each cell of the next row to `take`, as UTF-8 and with decimal points; `false` if there are no more rows.
    pub(crate) fn next(&mut self, mut take: impl FnMut(&[u8])) -> Result<bool, Error> {
        loop {
            if self.at == self.chunk.n_whole {
                let begun = self.chunk.bytes.split_off(self.chunk.n_whole);
                let filled = self.chunk.fill(&begun, &mut self.body, PIECE_BYTES, self.dialect);
                filled.map_err(|found| fault(self.file.clone(), found, self.n_lines))?;
                self.at = 0;
                if self.chunk.bytes.is_empty() {
                    return Ok(false);
                }
            }
            let rest = &self.chunk.bytes[self.at..self.chunk.n_whole];
            let whole = &rest[..self.dialect.record_length(rest).unwrap_or(rest.len())];
            let (line, record) = (self.n_lines + 1, without_line_end(whole));
            self.at += whole.len();
            self.n_lines += self.dialect.count_lines(whole).max(1);
            if !self.dialect.is_row(record) {
                continue;
            }
            let (mut cells, n_expected) = (Vec::new(), self.names.len());
            let n_found = self.dialect.split(record, n_expected, &mut cells);
            if n_found != n_expected {
                return Err(Error::Ragged { file: self.file.clone(), row: self.n_rows, line, n_found, n_expected });
            }
            for cell in &cells {
                // In comma-separated output, a decimal comma would need quotes and confuse other readers.
                if self.decimal == Decimal::Comma && number::is_number(cell, self.decimal) {
                    take(
                        cell.iter().map(|&byte| if byte == b',' { b'.' } else { byte }).collect::<Vec<_>>().as_slice(),
                    );
                } else {
                    take(encoding::decode(cell).as_bytes());
                }
            }
            self.n_rows += 1;
            return Ok(true);
        }
    }
}
