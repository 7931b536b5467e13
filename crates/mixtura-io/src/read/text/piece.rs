//! Parses a piece of text that consists of complete records, independent of its position in the file.

use std::borrow::Cow;

use fast_float2::parse_partial;
use memchr::memchr2;

use super::super::cell::is_inexact_integer;
use super::super::labels::LabelBuilder;
use super::super::missing::is_missing;
use super::encoding;
use super::layout::Watched;
use super::number::{self, Decimal, Refusal};
use super::record::{COMMENT, Delimiter, Dialect, without_line_end};
use super::{Header, Selection};
use crate::Missing;

/// Maximum number of characters of a cell shown in a message.
const SHOWN_CHARACTERS: usize = 60;

/// Number of digits up to which every integer is a double.
const EXACT_DIGITS: usize = 15;

/// Size of a short number and its delimiter in bytes, for the initial allocation.
const LIKELY_CELL_BYTES: usize = 12;

/// How to handle the columns of every record.
#[derive(Clone)]
pub(super) struct Plan {
    pub(super) dialect: Dialect,
    decimal: Decimal,
    missing: Missing,
    data: Vec<usize>,
    weights: Option<usize>,
    labels: Option<usize>,
    roles: Vec<Role>,
}

/// How the cells of a column are handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// Parsed as a number.
    Number,
    /// Left out unless it contains a number.
    Watched,
    /// Ignored, or used as a label.
    Other,
}

/// The rows of a piece of text.
#[derive(Default)]
pub(super) struct Piece {
    pub(super) values: Vec<f64>,
    pub(super) weights: Vec<f64>,
    pub(super) labels: LabelBuilder,
    pub(super) n_rows: usize,
    pub(super) n_lines: u64,
    pub(super) n_comments: u64,
    /// In a table of one column, the first blank line after the last row, from 0.
    pub(super) blank: Option<u64>,
}

/// Why a piece was rejected, and where.
#[derive(Debug, PartialEq)]
pub(super) struct Refused {
    /// Row within the piece, from 0.
    pub(super) row: usize,
    /// Line within the piece, from 0.
    pub(super) line: u64,
    pub(super) reason: Reason,
}

#[derive(Debug, PartialEq)]
pub(super) enum Reason {
    Ragged {
        n_found: usize,
    },
    Blank,
    Cell {
        column: usize,
        refusal: Refusal,
        value: String,
    },
    /// A number in a column that was left out because it had none.
    LateNumber {
        column: usize,
        value: String,
    },
    NegativeWeight {
        column: usize,
        value: f64,
    },
}

impl Plan {
    pub(super) fn new(header: &Header, selection: &Selection, dialect: Dialect, decimal: Decimal) -> Self {
        let Selection { data, weights, labels, .. } = selection;
        let mut roles = vec![Role::Other; header.n_columns];
        for &column in data.iter().chain(weights) {
            roles[column] = Role::Number;
        }
        let (data, weights, labels) = (data.clone(), *weights, *labels);
        Self { dialect, decimal, missing: Missing::Refuse, data, weights, labels, roles }
    }

    /// The same plan, with columns to watch and a different handling of missing values.
    pub(super) fn watching(mut self, watched: &[Watched], missing: Missing) -> Self {
        for watched in watched {
            let role = &mut self.roles[watched.column];
            // The weight column is required, whatever it contains.
            *role = if *role == Role::Number { Role::Number } else { Role::Watched };
        }
        Self { missing, ..self }
    }

    pub(super) fn n_columns(&self) -> usize {
        self.roles.len()
    }

    /// Parses complete records.
    pub(super) fn parse(&self, text: &[u8]) -> Result<Piece, Refused> {
        let mut piece = Piece { values: Vec::with_capacity(text.len() / LIKELY_CELL_BYTES), ..Piece::default() };
        let mut numbers = vec![0.0; self.n_columns()];
        let mut cells = Vec::new();
        let plain_delimiter = match self.dialect.delimiter {
            Delimiter::Byte(byte) if !self.dialect.has_lone_carriage_returns && self.decimal == Decimal::Point => {
                Some(byte)
            }
            _ => None,
        };
        let mut rest = text;
        while !rest.is_empty() {
            let line = piece.n_lines;
            let plain = plain_delimiter.and_then(|byte| self.parse_plain_line(rest, byte, &mut numbers, &mut piece));
            if let Some(n_bytes) = plain {
                piece.n_lines += 1;
                rest = &rest[n_bytes..];
                continue;
            }
            let (record, after) = rest.split_at(self.dialect.record_length(rest).unwrap_or(rest.len()));
            piece.n_lines += self.dialect.count_lines(record).max(1);
            rest = after;
            let record = without_line_end(record);
            if self.dialect.is_blank(record) {
                self.pass_blank(line, &mut piece);
            } else if record[0] == COMMENT {
                piece.n_comments += 1;
            } else {
                let n_found = self.dialect.split(record, self.n_columns(), &mut cells);
                self.push_cells(&cells, n_found, line, &mut piece)?;
            }
        }
        Ok(piece)
    }

    /// Parses a line in one pass if there is no white space around its numbers, which is nearly always the
    /// case, and returns its length including the line end. Other lines are left to
    /// [`push_cells`](Self::push_cells).
    fn parse_plain_line(&self, text: &[u8], delimiter: u8, numbers: &mut [f64], piece: &mut Piece) -> Option<usize> {
        if text.first() == Some(&COMMENT) {
            return None;
        }
        let mut at = 0;
        let mut label: &[u8] = b"";
        let n_columns = self.n_columns();
        for (column, (number, &role)) in numbers.iter_mut().zip(&self.roles).enumerate() {
            let start = at;
            at += if role == Role::Number {
                let (value, n_bytes): (f64, usize) = parse_partial(&text[at..]).ok()?;
                if n_bytes > EXACT_DIGITS && is_inexact_integer(&text[at..at + n_bytes], value) {
                    return None;
                }
                *number = value;
                n_bytes
            } else {
                let n_bytes = memchr2(delimiter, b'\n', &text[at..]).unwrap_or(text.len() - at);
                let cell = &text[at..at + n_bytes];
                if cell.first() == Some(&b'"') || (role == Role::Watched && number::is_number(cell, self.decimal)) {
                    return None;
                }
                n_bytes
            };
            if self.labels == Some(column) {
                label = &text[start..at];
            }
            if column + 1 < n_columns {
                (text.get(at) == Some(&delimiter)).then_some(())?;
                at += 1;
            }
        }
        at += match text[at..] {
            [] => 0,
            [b'\n', ..] => 1,
            [b'\r', b'\n', ..] => 2,
            _ => return None,
        };
        let is_sound = self.data.iter().chain(&self.weights).all(|&column| numbers[column].is_finite())
            && self.weights.is_none_or(|column| numbers[column] >= 0.0)
            && piece.blank.is_none();
        if !is_sound || (self.labels.is_some() && self.label(label).ok()?.is_none()) {
            return None;
        }
        piece.values.extend(self.data.iter().map(|&column| numbers[column]));
        piece.weights.extend(self.weights.map(|column| numbers[column]));
        if self.labels.is_some() {
            piece.labels.push(&encoding::decode(label.trim_ascii()));
        }
        piece.n_rows += 1;
        Some(at)
    }

    /// Skips a blank line. In a table with one column it is an empty cell if a row follows, unless rows with
    /// empty cells are to be skipped, in which case it does not count as a row.
    pub(super) fn pass_blank(&self, line: u64, piece: &mut Piece) {
        if self.n_columns() == 1 && self.missing == Missing::Refuse {
            piece.blank = piece.blank.or(Some(line));
        }
    }

    /// Appends a record of any shape, or returns why it cannot be used.
    fn push_cells(&self, cells: &[Cow<[u8]>], n_found: usize, line: u64, piece: &mut Piece) -> Result<(), Refused> {
        let row = piece.n_rows;
        if let Some(line) = piece.blank {
            return Err(Refused { row, line, reason: Reason::Blank });
        }
        if n_found != self.n_columns() {
            return Err(Refused { row, line, reason: Reason::Ragged { n_found } });
        }
        let refuse = |reason| Refused { row, line, reason };
        let cell = |column: usize| -> &[u8] { &cells[column] };
        let bad = |column: usize, refusal| refuse(Reason::Cell { column, refusal, value: shown(cell(column)) });
        for &column in &self.data {
            piece.values.push(self.number(cell(column)).map_err(|refusal| bad(column, refusal))?);
        }
        if let Some(column) = self.weights {
            let value = self.number(cell(column)).map_err(|refusal| bad(column, refusal))?;
            if value < 0.0 {
                return Err(refuse(Reason::NegativeWeight { column, value }));
            }
            piece.weights.push(value);
        }
        if let Some(column) = self.labels {
            match self.label(cell(column)).map_err(|refusal| bad(column, refusal))? {
                Some(label) => piece.labels.push(&encoding::decode(label)),
                None => piece.labels.push_missing(),
            }
        }
        let is_late =
            |&column: &usize| self.roles[column] == Role::Watched && number::is_number(cell(column), self.decimal);
        if let Some(column) = (0..self.n_columns()).find(is_late) {
            return Err(refuse(Reason::LateNumber { column, value: shown(cell(column)) }));
        }
        piece.n_rows += 1;
        Ok(())
    }

    /// The number in a cell; NaN if it is missing and missing values are allowed.
    fn number(&self, cell: &[u8]) -> Result<f64, Refusal> {
        match number::parse(cell, self.decimal) {
            Err(_) if self.missing == Missing::Skip && is_missing(cell) => Ok(f64::NAN),
            parsed => parsed,
        }
    }

    /// The label in a cell: any text except an empty one or a word for a missing value.
    fn label<'a>(&self, cell: &'a [u8]) -> Result<Option<&'a [u8]>, Refusal> {
        let cell = cell.trim_ascii();
        if self.missing == Missing::Skip && is_missing(cell) {
            Ok(None)
        } else if cell.is_empty() {
            Err(Refusal::Empty)
        } else if cell.eq_ignore_ascii_case(b"nan") {
            Err(Refusal::NotFinite)
        } else {
            Ok(Some(cell))
        }
    }
}

/// A cell as shown in a message.
pub(super) fn shown(cell: &[u8]) -> String {
    // A character has at most four bytes.
    let text = encoding::decode(&cell.trim_ascii()[..cell.trim_ascii().len().min(4 * SHOWN_CHARACTERS + 4)]);
    match text.char_indices().nth(SHOWN_CHARACTERS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(n_columns: usize) -> Plan {
        let header = Header::new(String::new(), Vec::new(), n_columns);
        let selection = Selection::new(&header, &crate::ReadOptions::default()).unwrap();
        let dialect = Dialect { delimiter: Delimiter::Byte(b','), has_quotes: false, has_lone_carriage_returns: false };
        Plan::new(&header, &selection, dialect, Decimal::Point)
    }

    #[test]
    fn plain_and_spaced_lines_give_the_same_numbers() {
        let plain = plan(2).parse(b"1.5,-2e3\r\n0.1,7\n").unwrap();
        let spaced = plan(2).parse(b" 1.5 ,\t-2e3\n\n0.1, 7 ").unwrap();
        assert_eq!(plain.values, [1.5, -2000.0, 0.1, 7.0]);
        assert_eq!(spaced.values, plain.values);
        assert_eq!((plain.n_rows, plain.n_lines, spaced.n_rows, spaced.n_lines), (2, 2, 2, 3));
    }

    #[test]
    fn a_refusal_says_where_in_the_piece() {
        let refused = plan(2).parse(b"1,2\n\n3,4\n5,x\n").err().unwrap();
        let reason = Reason::Cell { column: 1, refusal: Refusal::Text, value: "x".into() };
        assert_eq!(refused, Refused { row: 2, line: 3, reason });
        let refused = plan(2).parse(b"1,2\n1,2,3\n").err().unwrap();
        assert_eq!(refused, Refused { row: 1, line: 1, reason: Reason::Ragged { n_found: 3 } });
    }

    #[test]
    fn a_blank_line_in_one_column_is_an_empty_cell_unless_nothing_follows() {
        assert_eq!(plan(1).parse(b"1\n2\n\n\n").unwrap().blank, Some(2));
        let refused = plan(1).parse(b"1\n\n2\n").err().unwrap();
        assert_eq!(refused, Refused { row: 1, line: 1, reason: Reason::Blank });
    }

    #[test]
    fn long_cells_are_cut_in_messages() {
        assert_eq!(shown(&[b'a'; 1000]).chars().count(), SHOWN_CHARACTERS + 1);
        assert_eq!(shown("ü".repeat(100).as_bytes()).chars().count(), SHOWN_CHARACTERS + 1);
    }
}
