//! Reads delimited text: large chunks of whole lines, cut into pieces that are parsed side by side.

mod number;
mod piece;
mod quoted;
mod source;

use std::io::{self, Read};

use memchr::{memchr, memchr_iter, memrchr};
use rayon::prelude::*;

use self::piece::{Piece, Plan, Reason, Refused};
use self::source::{Source, Stream};
use super::{Assembly, Header, Selection};
use crate::{Error, Input, Place, ReadOptions, Table};

/// Bytes of a piece of text: text and numbers stay in the cache while it is parsed.
const PIECE_BYTES: usize = 1 << 17;
/// Pieces that a chunk holds for each thread, so that none waits long for the last.
const PIECES_PER_THREAD: usize = 4;

pub(super) fn read(input: &Input, options: &ReadOptions, delimiter: Option<u8>) -> Result<Table, Error> {
    let file = input.to_string();
    let source = Source::open(input, options.delimiter.or(delimiter))?;
    let first = source.first_record(options.has_header).map_err(|source| Error::Read { file: file.clone(), source })?;
    if first.cells.is_empty() {
        return Err(Error::Empty { file });
    }
    let names = if options.has_header {
        {
            let named = |(column, cell): (usize, &Vec<u8>)| match name(cell) {
                unnamed if unnamed.is_empty() => format!("column {}", column + 1),
                name => name,
            };
            first.cells.iter().enumerate().map(named).collect()
        }
    } else {
        Vec::new()
    };
    let header = Header { file, names, n_columns: first.cells.len() };
    let selection = Selection::new(&header, options)?;
    let plan = Plan::new(&header, &selection, source.delimiter);
    let (assembly, has_crlf) = (Assembly::new(header, selection)?, source.has_crlf());
    let mut text = TextReader { assembly, plan, has_crlf, n_lines: first.n_lines, blank: None };
    if options.has_header && first.cells.iter().all(|cell| number::parse(cell).is_ok()) {
        text.assembly.notices.push(format!("{input}: first line looks like data; use --no-header"));
    }
    let needs_splitter = source.has_lone_carriage_returns;
    let body = source.into_body(first.n_bytes);
    if needs_splitter {
        quoted::read(&mut text, body)?;
    } else {
        text.read_lines(body)?;
    }
    text.assembly.finish(options)
}

/// A text whose cells are wanted as they stand.
pub(crate) struct TextCells {
    /// Names of the columns; made up for a text without a header.
    pub(crate) names: Vec<String>,
    pub(crate) delimiter: u8,
    /// The text after the header.
    pub(crate) body: Box<dyn Read + Send>,
}

/// Opens a text as [`read`] does, for someone who splits it into cells.
pub(crate) fn open_cells(input: &Input, options: &ReadOptions, delimiter: Option<u8>) -> Result<TextCells, Error> {
    let source = Source::open(input, options.delimiter.or(delimiter))?;
    let first = source.first_record(options.has_header);
    let first = first.map_err(|source| Error::Read { file: input.to_string(), source })?;
    if first.cells.is_empty() {
        return Err(Error::Empty { file: input.to_string() });
    }
    let named = |(column, cell): (usize, &Vec<u8>)| match name(cell) {
        name if options.has_header && !name.is_empty() => name,
        _ => format!("column {}", column + 1),
    };
    let names = first.cells.iter().enumerate().map(named).collect();
    Ok(TextCells { names, delimiter: source.delimiter, body: Box::new(source.into_body(first.n_bytes)) })
}

fn name(cell: &[u8]) -> String {
    String::from_utf8_lossy(cell.trim_ascii()).into_owned()
}

/// A text while it is being read.
struct TextReader {
    assembly: Assembly<f64>,
    plan: Plan,
    /// Whether lines end with a carriage return and a line feed.
    has_crlf: bool,
    /// Lines before the next piece.
    n_lines: u64,
    /// A blank line after the last row, as long as no further row makes it an empty cell.
    blank: Option<u64>,
}

impl TextReader {
    /// Reads text without quotes; at the first quote the rest goes to the splitter that knows them.
    ///
    /// While a chunk is parsed, the rows of the one before are put in their place and the one after is read.
    fn read_lines(&mut self, mut body: Stream) -> Result<(), Error> {
        let plan = self.plan.clone();
        let n_pieces = PIECES_PER_THREAD * rayon::current_num_threads();
        let mut parsed: Vec<Result<Piece, Refused>> = Vec::new();
        let (mut chunk, mut next) = (Chunk::default(), Chunk::default());
        chunk.fill(&[], &mut body, n_pieces * PIECE_BYTES).map_err(|source| self.failed(source))?;
        while !chunk.bytes.is_empty() {
            if memchr(b'"', &chunk.bytes).is_some() {
                self.take_all(parsed)?;
                return quoted::read(self, io::Cursor::new(chunk.bytes).chain(body));
            }
            let (whole, begun) = chunk.bytes.split_at(chunk.n_whole);
            let (pieces, prepared) = rayon::join(
                || pieces(whole, n_pieces).into_par_iter().map(|text| plan.parse_lines(text)).collect(),
                || {
                    self.take_all(std::mem::take(&mut parsed))?;
                    next.fill(begun, &mut body, n_pieces * PIECE_BYTES).map_err(|source| self.failed(source))
                },
            );
            parsed = pieces;
            // A refused cell comes before a failure to read what follows it.
            if let Err(error) = prepared {
                self.take_all(parsed)?;
                return Err(error);
            }
            std::mem::swap(&mut chunk, &mut next);
        }
        self.take_all(parsed)
    }

    fn take_all(&mut self, pieces: Vec<Result<Piece, Refused>>) -> Result<(), Error> {
        pieces.into_iter().try_for_each(|piece| self.take(piece))
    }

    /// Appends the rows of a piece, or says where in the file it was refused.
    fn take(&mut self, piece: Result<Piece, Refused>) -> Result<(), Error> {
        let piece = piece.map_err(|refused| self.refusal(refused))?;
        if let Some(line) = self.blank.filter(|_| piece.n_rows > 0) {
            return Err(self.refusal_at(line, Refused { row: 0, line: 0, reason: Reason::Blank }));
        }
        for row in piece.values.chunks_exact(self.assembly.selection.data.len()) {
            self.assembly.builder.push_row(row);
        }
        self.assembly.weights.extend(piece.weights);
        self.assembly.labels.append(piece.labels);
        self.blank = self.blank.or(piece.blank.map(|line| self.n_lines + line + 1));
        self.n_lines += piece.n_lines;
        Ok(())
    }

    fn refusal(&self, refused: Refused) -> Error {
        // A blank line that a piece before ended with comes first.
        match self.blank {
            Some(line) => self.refusal_at(line, Refused { row: 0, line: 0, reason: Reason::Blank }),
            None => self.refusal_at(self.n_lines + refused.line + 1, refused),
        }
    }

    fn refusal_at(&self, line: u64, refused: Refused) -> Error {
        let header = &self.assembly.header;
        let row = self.assembly.builder.n_rows() + refused.row;
        let place = |column| Place { line: Some(line), ..header.place(row, column) };
        match refused.reason {
            Reason::Ragged { n_found } => {
                Error::Ragged { file: header.file.clone(), row, line, n_found, n_expected: header.n_columns }
            }
            Reason::Blank => Error::EmptyCell { place: place(0) },
            Reason::Cell { column, refusal, value } => match refusal {
                number::Refusal::Empty => Error::EmptyCell { place: place(column) },
                number::Refusal::NotFinite => Error::NotFinite { place: place(column), value },
                number::Refusal::TooLarge => Error::TooLarge { place: place(column), value },
                number::Refusal::Text => Error::NotNumber { place: place(column), value },
            },
            Reason::NegativeWeight { column, value } => Error::NegativeWeight { place: place(column), value },
        }
    }

    fn failed(&self, source: io::Error) -> Error {
        Error::Read { file: self.assembly.header.file.clone(), source }
    }
}

/// Bytes of text, of which the first `n_whole` are whole lines.
#[derive(Default)]
struct Chunk {
    bytes: Vec<u8>,
    n_whole: usize,
}

impl Chunk {
    /// Takes what was begun and reads on: about `n_bytes` and at least one whole line, or to the end.
    fn fill(&mut self, begun: &[u8], body: &mut Stream, n_bytes: usize) -> io::Result<()> {
        self.bytes.clear();
        self.bytes.extend_from_slice(begun);
        loop {
            self.bytes.reserve(n_bytes + 1);
            let n_before = self.bytes.len();
            body.take(n_bytes as u64).read_to_end(&mut self.bytes)?;
            let has_ended = self.bytes.len() - n_before < n_bytes;
            if has_ended {
                self.n_whole = self.bytes.len();
                return Ok(());
            }
            if let Some(end) = memrchr(b'\n', &self.bytes[n_before..]) {
                self.n_whole = n_before + end + 1;
                return Ok(());
            }
        }
    }
}

/// Cuts whole lines into about `n_pieces` pieces of whole lines.
fn pieces(text: &[u8], n_pieces: usize) -> Vec<&[u8]> {
    let length = text.len().div_ceil(n_pieces);
    let mut pieces = Vec::with_capacity(n_pieces);
    let mut rest = text;
    while rest.len() > length {
        let end = memchr(b'\n', &rest[length..]).map_or(rest.len(), |end| length + end + 1);
        let (piece, after) = rest.split_at(end);
        pieces.push(piece);
        rest = after;
    }
    if !rest.is_empty() {
        pieces.push(rest);
    }
    pieces
}

/// Lines that end within the text.
fn count_lines(text: &[u8]) -> u64 {
    memchr_iter(b'\n', text).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_whole_lines_and_lose_nothing() {
        let text = (0..100).map(|i| "x".repeat(i % 7) + "\n").collect::<String>();
        for n_pieces in 1..20 {
            let pieces = pieces(text.as_bytes(), n_pieces);
            assert!(pieces.len() <= n_pieces);
            assert!(pieces.iter().all(|piece| piece.ends_with(b"\n")));
            assert_eq!(pieces.concat(), text.as_bytes());
        }
        assert!(pieces(b"", 3).is_empty());
        assert_eq!(pieces(b"1\n2", 2).concat(), b"1\n2");
    }

    #[test]
    fn a_chunk_grows_until_it_holds_a_line() {
        let long = format!("{}\nrest", "1".repeat(100));
        let mut body = io::Cursor::new(Vec::new()).chain(Box::new(io::Cursor::new(long)) as Box<dyn Read + Send>);
        let mut chunk = Chunk::default();
        chunk.fill(b"0", &mut body, 8).unwrap();
        assert_eq!((chunk.bytes.len(), chunk.n_whole), (105, 102));
    }
}
