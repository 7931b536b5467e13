//! Reads text with quotes: records are split on one thread while the batch before is parsed on another.

use std::io::Read;

use csv::{ByteRecord, Reader, ReaderBuilder};

use super::piece::{Piece, Plan, Refused};
use super::{TextReader, count_lines};
use crate::Error;

/// Bytes of a batch: small enough to stay in the cache, large enough that handing it over costs nothing.
const BATCH_BYTES: usize = 1 << 18;

/// Reads the rest of a text, from a line's beginning on.
pub(super) fn read(text: &mut TextReader, body: impl Read + Send) -> Result<(), Error> {
    // Lines are counted by their ends, so the last one needs an end as well.
    let has_crlf = text.has_crlf;
    let body = body.chain(if has_crlf { &b"\r\n"[..] } else { &b"\n"[..] });
    let mut reader = ReaderBuilder::new()
        .delimiter(text.plan.delimiter)
        .has_headers(false)
        .flexible(true)
        .buffer_capacity(1 << 17)
        .from_reader(body);
    let (mut current, mut next) = (Batch::default(), Batch::default());
    current.fill(&mut reader).map_err(|error| failed(text, error))?;
    while !current.end_lines.is_empty() {
        let plan = &text.plan;
        let (piece, filled) = rayon::join(|| current.parse(plan, has_crlf), || next.fill(&mut reader));
        // The earlier place in the file is reported.
        text.take(piece)?;
        filled.map_err(|error| failed(text, error))?;
        std::mem::swap(&mut current, &mut next);
    }
    Ok(())
}

fn failed(text: &TextReader, error: csv::Error) -> Error {
    text.failed(error.into())
}

/// Records on their way from the splitter to the parser; the memory is used again and again.
#[derive(Default)]
struct Batch {
    records: Vec<ByteRecord>,
    /// The splitter's line after each record.
    end_lines: Vec<u64>,
}

impl Batch {
    fn fill(&mut self, reader: &mut Reader<impl Read>) -> Result<(), csv::Error> {
        self.end_lines.clear();
        let mut n_bytes = 0;
        while n_bytes < BATCH_BYTES {
            let n_read = self.end_lines.len();
            if n_read == self.records.len() {
                self.records.push(ByteRecord::new());
            }
            let record = &mut self.records[n_read];
            if !reader.read_byte_record(record)? {
                break;
            }
            // Even an empty record takes memory.
            n_bytes += record.as_slice().len() + 8 * record.len() + 64;
            self.end_lines.push(reader.position().line());
        }
        Ok(())
    }

    fn parse(&self, plan: &Plan, has_crlf: bool) -> Result<Piece, Refused> {
        let mut piece = Piece::default();
        let mut cells = Vec::with_capacity(plan.n_columns());
        for (record, &end_line) in self.records.iter().zip(&self.end_lines) {
            cells.clear();
            cells.extend(record);
            let (line, expected) = lines(record, end_line, has_crlf);
            if line > expected {
                plan.pass_blank(expected, &mut piece);
            }
            plan.push_cells(&cells, line, &mut piece)?;
        }
        Ok(piece)
    }
}

/// The line on which a record starts, and on which it would have started without blank lines before
/// it, from 0.
///
/// The splitter counts line feeds from 1 and ends a record at the first byte of its line's end, so a
/// carriage return leaves the line feed to the next record, as the blank lines before that are.
fn lines(record: &ByteRecord, end_line: u64, has_crlf: bool) -> (u64, u64) {
    let (start, is_first) = record.position().map_or((1, true), |start| (start.line(), start.byte() == 0));
    let expected = if has_crlf && !is_first { start } else { start - 1 };
    let last = if has_crlf { end_line - 1 } else { end_line.saturating_sub(2) };
    (last.saturating_sub(count_lines(record.as_slice())).max(expected), expected)
}
