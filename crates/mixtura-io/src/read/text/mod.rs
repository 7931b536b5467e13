//! Reads delimited text in large chunks of complete lines, split into pieces that are parsed in parallel.

mod chunk;
mod encoding;
mod guess;
mod layout;
mod number;
mod piece;
mod record;
mod records;
mod source;

pub(crate) use self::records::Records;

use memchr::{memchr, memchr_iter};
use rayon::prelude::*;

use self::chunk::{Chunk, Fault, pieces};
use self::layout::{Layout, Watched};
use self::number::Refusal;
use self::piece::{Piece, Plan, Reason, Refused};
use self::record::Dialect;
use self::source::{Source, Stream};
use super::{Assembly, Header, Selection};
use crate::opened::Opened;
use crate::{Error, Input, Missing, Place, ReadOptions, Table};

/// Maximum size of a record in bytes: more than any sensible table needs, and small enough for memory.
const LINE_LIMIT: usize = 64 << 20;
/// Size of a piece in bytes: its text and numbers stay in the cache while it is parsed.
const PIECE_BYTES: usize = 1 << 17;
/// Number of pieces per thread and chunk, so that no thread waits long for the last one.
const PIECES_PER_THREAD: usize = 4;

/// Reads a text.
///
/// Non-numeric columns are detected at the beginning of the text, so that one pass is enough. If such a
/// column turns out to contain a number, its first bad cell is an error. If all its values so far are
/// missing and missing values are allowed, the text is read again with the column; for a stream, which
/// cannot be read again, this is an error.
pub(super) fn read(
    input: &Input,
    opened: Opened,
    options: &ReadOptions,
    delimiter: Option<u8>,
) -> Result<Table, Error> {
    let is_repeatable = opened.is_repeatable();
    let mut opened = Some(opened);
    let mut forced = Vec::new();
    loop {
        let source = match opened.take() {
            Some(opened) => opened,
            None => Opened::open(input)?,
        };
        let source = Source::open(input, source)?;
        let (mut text, body) = TextReader::open(source, &input.to_string(), options, delimiter, &forced)?;
        match (text.read(body), text.late) {
            (Ok(()), _) => return text.finish(options),
            (Err(Error::LateNumber { .. }), Some(column)) if is_repeatable => forced.push(column),
            (Err(error), _) => return Err(error),
        }
    }
}

/// The error for a NUL byte, after `before` and some lines.
fn not_text(file: String, before: &[u8], n_lines: u64) -> Error {
    Error::NotText { file, line: n_lines + memchr_iter(b'\n', before).count() as u64 + 1 }
}

/// A text while it is being read.
struct TextReader {
    assembly: Assembly<f64>,
    plan: Plan,
    /// Columns that are left out unless a number follows, in ascending order.
    watched: Vec<Watched>,
    /// The column whose first number came after missing values only.
    late: Option<usize>,
    /// Lines before the next piece.
    n_lines: u64,
    /// Number of comments between the rows.
    n_comments: u64,
    /// A blank line after the last row; it becomes an empty cell if another row follows.
    blank: Option<u64>,
}

impl TextReader {
    /// Prepares for reading the rows; columns in `forced` are not left out.
    fn open(
        source: Source,
        file: &str,
        options: &ReadOptions,
        delimiter: Option<u8>,
        forced: &[usize],
    ) -> Result<(Self, Stream), Error> {
        let layout = Layout::find(file, &source, options, delimiter)?;
        let header = Header::new(file.to_owned(), layout.names.clone(), layout.n_columns);
        let mut selection = Selection::new(&header, options)?;
        let mut watched = Vec::new();
        if !options.strict {
            watched = layout.without_numbers(&source, &selection, options, forced);
            if watched.len() == selection.data.len() && options.missing == Missing::Skip {
                // Columns that have been empty so far may still contain numbers.
                watched.retain(|watched| watched.bad.is_some());
            }
            watched.sort_unstable_by_key(|watched| watched.column);
        }
        if watched.len() == selection.data.len()
            && let Some(example) = Layout::example(&header, &watched)
        {
            return Err(Error::NoNumbers { file: file.to_owned(), example });
        }
        selection.leave_out(|column| watched.binary_search_by_key(&column, |watched| watched.column).is_ok());
        let dialect = Dialect { has_quotes: false, ..layout.dialect };
        let plan = Plan::new(&header, &selection, dialect, layout.decimal).watching(&watched, options.missing);
        let mut assembly = Assembly::new(header, selection, options)?;
        (assembly.notices, assembly.unnamed) = (layout.notices, layout.unnamed);
        let body = source.into_body(layout.body_start);
        let n_lines = layout.n_lines_before;
        Ok((Self { assembly, plan, watched, late: None, n_lines, n_comments: 0, blank: None }, body))
    }

    /// Reads all rows. Quotes are handled only from the first chunk that contains one.
    ///
    /// While a chunk is parsed, the rows of the previous chunk are stored and the next chunk is read.
    fn read(&mut self, mut body: Stream) -> Result<(), Error> {
        let n_pieces = PIECES_PER_THREAD * rayon::current_num_threads();
        let mut parsed: Vec<Result<Piece, Refused>> = Vec::new();
        let (mut chunk, mut next) = (Chunk::default(), Chunk::default());
        chunk
            .fill(&[], &mut body, n_pieces * PIECE_BYTES, self.plan.dialect)
            .map_err(|fault| self.failed(fault, self.n_lines))?;
        while !chunk.bytes.is_empty() {
            if !self.plan.dialect.has_quotes && memchr(b'"', &chunk.bytes).is_some() {
                self.plan.dialect.has_quotes = true;
                // Quotes change where records end.
                let begun = std::mem::take(&mut chunk.bytes);
                let n_lines = self.n_lines_after(&parsed);
                chunk.fill(&begun, &mut body, 0, self.plan.dialect).map_err(|fault| self.failed(fault, n_lines))?;
            }
            let plan = self.plan.clone();
            let (whole, begun) = chunk.bytes.split_at(chunk.n_whole);
            let n_lines = self.n_lines_after(&parsed);
            let (pieces, (taken, filled)) = rayon::join(
                || pieces(whole, n_pieces, plan.dialect).into_par_iter().map(|text| plan.parse(text)).collect(),
                || {
                    let taken = self.take_all(std::mem::take(&mut parsed));
                    (taken, next.fill(begun, &mut body, n_pieces * PIECE_BYTES, plan.dialect))
                },
            );
            // Report the earliest error in the file: previous chunk, this one, next one.
            taken?;
            parsed = pieces;
            if let Err(fault) = filled {
                self.take_all(parsed)?;
                return Err(self.failed(fault, n_lines + plan.dialect.count_lines(whole)));
            }
            std::mem::swap(&mut chunk, &mut next);
        }
        self.take_all(parsed)
    }

    fn finish(mut self, options: &ReadOptions) -> Result<Table, Error> {
        if self.n_comments > 0 {
            let (file, n) = (&self.assembly.header.file, self.n_comments);
            let lines = if n == 1 { "1 line".to_owned() } else { format!("{n} lines") };
            self.assembly.notices.push(format!("{file}: ignored {lines} between the rows that start with #"));
        }
        self.assembly.finish(options)
    }

    /// Number of lines up to the end of the pieces that are not yet stored.
    fn n_lines_after(&self, parsed: &[Result<Piece, Refused>]) -> u64 {
        self.n_lines + parsed.iter().flatten().map(|piece| piece.n_lines).sum::<u64>()
    }

    fn take_all(&mut self, pieces: Vec<Result<Piece, Refused>>) -> Result<(), Error> {
        pieces.into_iter().try_for_each(|piece| self.take(piece))
    }

    /// Appends the rows of a piece, or reports where in the file the error is.
    fn take(&mut self, piece: Result<Piece, Refused>) -> Result<(), Error> {
        let piece = piece.map_err(|refused| self.refusal(refused))?;
        if let Some(line) = self.blank.filter(|_| piece.n_rows > 0) {
            return Err(self.refusal_at(line, Refused { row: 0, line: 0, reason: Reason::Blank }));
        }
        self.assembly.growing.push_rows(&piece.values, self.assembly.selection.data.len())?;
        self.assembly.weights.extend(piece.weights);
        self.assembly.labels.append(piece.labels);
        self.blank = self.blank.or(piece.blank.map(|line| self.n_lines + line + 1));
        self.n_lines += piece.n_lines;
        self.n_comments += piece.n_comments;
        Ok(())
    }

    fn refusal(&mut self, refused: Refused) -> Error {
        // A blank line at the end of a previous piece comes first.
        match self.blank {
            Some(line) => self.refusal_at(line, Refused { row: 0, line: 0, reason: Reason::Blank }),
            None => self.refusal_at(self.n_lines + refused.line + 1, refused),
        }
    }

    fn refusal_at(&mut self, line: u64, refused: Refused) -> Error {
        let header = &self.assembly.header;
        let row = self.assembly.growing.builder.n_rows() + refused.row;
        let place = |column| Place { line: Some(line), ..header.place(row, column) };
        match refused.reason {
            Reason::Ragged { n_found } => {
                Error::Ragged { file: header.file.clone(), row, line, n_found, n_expected: header.n_columns }
            }
            Reason::Blank => Error::EmptyCell { place: place(0) },
            Reason::Cell { column, refusal, value } => refused_cell(place(column), refusal, value),
            Reason::LateNumber { column, value } => {
                let at = self.watched.binary_search_by_key(&column, |watched| watched.column);
                if let Some(bad) = at.ok().and_then(|at| self.watched[at].bad.clone()) {
                    let place = Place { line: Some(bad.line), ..header.place(bad.row, column) };
                    refused_cell(place, bad.refusal, bad.value)
                } else {
                    let place = place(column);
                    self.late = Some(column);
                    Error::LateNumber { place, value }
                }
            }
            Reason::NegativeWeight { column, value } => Error::NegativeWeight { place: place(column), value },
        }
    }

    fn failed(&self, found: Fault, n_lines: u64) -> Error {
        fault(self.assembly.header.file.clone(), found, n_lines)
    }
}

/// The error for a chunk that starts after `n_lines` lines.
fn fault(file: String, fault: Fault, n_lines: u64) -> Error {
    match fault {
        Fault::Read(source) => Error::Read { file, source },
        Fault::LongLine => Error::LongLine { file, line: n_lines + 1, limit: LINE_LIMIT },
        Fault::Nul { n_lines_before } => Error::NotText { file, line: n_lines + n_lines_before + 1 },
    }
}

fn refused_cell(place: Place, refusal: Refusal, value: String) -> Error {
    match refusal {
        Refusal::Empty => Error::EmptyCell { place },
        Refusal::NotFinite => Error::NotFinite { place, value },
        Refusal::TooLarge => Error::TooLarge { place, value },
        Refusal::Inexact => Error::Inexact { place, value },
        Refusal::Text => Error::NotNumber { place, value },
    }
}
