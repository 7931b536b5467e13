//! Writes CSV: a header, then numbers in the shortest form that preserves every bit.

use std::io::{self, Write};
use std::ops::Range;

use arrow_array::RecordBatch;

use super::batch::{Batch, Cell};
use super::layout::TableLayout;
use super::text::{TextColumn, write_number, write_text};
use crate::original::Pieces;

/// Size of the write buffer in bytes.
const BUFFER_BYTES: usize = 1 << 16;

pub(super) struct CsvSink<W: Write> {
    writer: W,
    buffer: Vec<u8>,
    /// Whether there is only one column. A record of one empty cell would be a blank line, which readers skip, so it
    /// is quoted instead.
    is_single: bool,
}

impl<W: Write> CsvSink<W> {
    pub(super) fn new(writer: W, layout: &TableLayout) -> Self {
        let names = layout.names();
        let mut sink = Self { writer, buffer: Vec::new(), is_single: names.len() == 1 };
        for (column, name) in names.iter().enumerate() {
            sink.separate(column);
            write_text(&mut sink.buffer, name.as_bytes());
        }
        sink.end_record(0);
        sink
    }

    pub(super) fn write(&mut self, batch: &Batch) -> io::Result<()> {
        match batch.originals.map(|originals| &originals.pieces) {
            None => self.write_range(0..batch.n_rows, batch, |_, _| Ok(0)),
            Some(Pieces::Text(text)) => self.write_range(0..batch.n_rows, batch, |sink, row| {
                for (column, cell) in text.record(row).enumerate() {
                    sink.separate(column);
                    write_text(&mut sink.buffer, cell);
                }
                Ok(text.n_columns())
            }),
            Some(Pieces::Arrays(pieces)) => {
                let mut first = 0;
                for piece in pieces {
                    self.write_piece(first..first + piece.num_rows(), piece, batch)?;
                    first += piece.num_rows();
                }
                Ok(())
            }
        }
    }

    /// Writes the rows whose original cells are in one record batch.
    fn write_piece(&mut self, rows: Range<usize>, piece: &RecordBatch, batch: &Batch) -> io::Result<()> {
        let columns: Vec<TextColumn> = piece.columns().iter().map(TextColumn::new).collect::<io::Result<_>>()?;
        let first = rows.start;
        self.write_range(rows, batch, |sink, row| {
            for (column, cells) in columns.iter().enumerate() {
                sink.separate(column);
                cells.write(row - first, &mut sink.buffer)?;
            }
            Ok(columns.len())
        })
    }

    /// Writes rows; `originals` writes the cells before the new ones and returns their number.
    fn write_range(
        &mut self,
        rows: Range<usize>,
        batch: &Batch,
        mut originals: impl FnMut(&mut Self, usize) -> io::Result<usize>,
    ) -> io::Result<()> {
        for row in rows {
            let start = self.buffer.len();
            let n_before = originals(self, row)?;
            for (column, cells) in batch.columns.iter().enumerate() {
                self.separate(n_before + column);
                match cells.cell(row) {
                    Cell::Number(value) => write_number(&mut self.buffer, value)?,
                    Cell::Label(label) => write!(self.buffer, "{label}")?,
                    Cell::Missing => {}
                }
            }
            self.end_record(start);
            if self.buffer.len() >= BUFFER_BYTES {
                self.writer.write_all(&self.buffer)?;
                self.buffer.clear();
            }
        }
        Ok(())
    }

    fn separate(&mut self, column: usize) {
        if column > 0 {
            self.buffer.push(b',');
        }
    }

    /// Ends the record that began at a position in the buffer.
    fn end_record(&mut self, start: usize) {
        if self.is_single && self.buffer.len() == start {
            self.buffer.extend_from_slice(b"\"\"");
        }
        self.buffer.push(b'\n');
    }

    pub(super) fn finish(mut self) -> io::Result<W> {
        self.writer.write_all(&self.buffer)?;
        Ok(self.writer)
    }
}
