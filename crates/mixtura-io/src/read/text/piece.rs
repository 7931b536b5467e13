//! Parses a piece of text that holds whole records, without knowing where in the file it stands.

use fast_float2::parse_partial;
use memchr::{memchr, memchr2};

use super::super::labels::LabelBuilder;
use super::number::{self, Refusal};
use super::{Header, Selection};

/// Longest piece of a cell that a message repeats.
const SHOWN_CHARACTERS: usize = 60;

/// Bytes of a short number and its delimiter: how much memory to take at first.
const LIKELY_CELL_BYTES: usize = 12;

/// What to do with the columns of every record.
#[derive(Clone)]
pub(super) struct Plan {
    pub(super) delimiter: u8,
    data: Vec<usize>,
    weights: Option<usize>,
    labels: Option<usize>,
    /// Whether each column is parsed as a number.
    is_number: Vec<bool>,
}

/// The rows of a piece of text.
#[derive(Default)]
pub(super) struct Piece {
    pub(super) values: Vec<f64>,
    pub(super) weights: Vec<f64>,
    pub(super) labels: LabelBuilder,
    pub(super) n_rows: usize,
    pub(super) n_lines: u64,
    /// In a table of one column, the first blank line after the last row, from 0.
    pub(super) blank: Option<u64>,
}

/// Why a piece was refused, and where in it.
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
    Ragged { n_found: usize },
    Blank,
    Cell { column: usize, refusal: Refusal, value: String },
    NegativeWeight { column: usize, value: f64 },
}

impl Plan {
    pub(super) fn new(header: &Header, selection: &Selection, delimiter: u8) -> Self {
        let Selection { data, weights, labels } = selection;
        let mut is_number = vec![false; header.n_columns];
        for &column in data.iter().chain(weights) {
            is_number[column] = true;
        }
        Self { delimiter, data: data.clone(), weights: *weights, labels: *labels, is_number }
    }

    pub(super) fn n_columns(&self) -> usize {
        self.is_number.len()
    }

    /// Parses lines without quotes.
    pub(super) fn parse_lines(&self, text: &[u8]) -> Result<Piece, Refused> {
        let mut piece = Piece { values: Vec::with_capacity(text.len() / LIKELY_CELL_BYTES), ..Piece::default() };
        let mut numbers = vec![0.0; self.n_columns()];
        let mut cells = Vec::with_capacity(self.n_columns());
        let mut rest = text;
        while !rest.is_empty() {
            let line_number = piece.n_lines;
            piece.n_lines += 1;
            if let Some(n_bytes) = self.parse_plain_line(rest, &mut numbers, &mut piece) {
                rest = &rest[n_bytes..];
                continue;
            }
            let end = memchr(b'\n', rest).unwrap_or(rest.len());
            let line = rest[..end].strip_suffix(b"\r").unwrap_or(&rest[..end]);
            if line.is_empty() {
                self.pass_blank(line_number, &mut piece);
            } else {
                cells.clear();
                cells.extend(line.split(|&byte| byte == self.delimiter));
                self.push_cells(&cells, line_number, &mut piece)?;
            }
            rest = rest.get(end + 1..).unwrap_or_default();
        }
        Ok(piece)
    }

    /// Parses a line in one sweep if every number stands flush between its delimiters, as nearly all
    /// do; its length with its end. Anything else is left to [`push_cells`](Self::push_cells).
    fn parse_plain_line(&self, text: &[u8], numbers: &mut [f64], piece: &mut Piece) -> Option<usize> {
        let mut at = 0;
        let mut label: &[u8] = b"";
        let n_columns = self.n_columns();
        for (column, (number, &is_number)) in numbers.iter_mut().zip(&self.is_number).enumerate() {
            let start = at;
            at += if is_number {
                let (value, n_bytes): (f64, usize) = parse_partial(&text[at..]).ok()?;
                *number = value;
                n_bytes
            } else {
                memchr2(self.delimiter, b'\n', &text[at..]).unwrap_or(text.len() - at)
            };
            if self.labels == Some(column) {
                label = &text[start..at];
            }
            if column + 1 < n_columns {
                (text.get(at) == Some(&self.delimiter)).then_some(())?;
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
        if !is_sound || (self.labels.is_some() && check_label(label).is_err()) {
            return None;
        }
        piece.values.extend(self.data.iter().map(|&column| numbers[column]));
        piece.weights.extend(self.weights.map(|column| numbers[column]));
        if self.labels.is_some() {
            piece.labels.push(&String::from_utf8_lossy(label.trim_ascii()));
        }
        piece.n_rows += 1;
        Some(at)
    }

    /// Passes over a blank line; in a table of one column it is an empty cell if a row follows.
    pub(super) fn pass_blank(&self, line: u64, piece: &mut Piece) {
        if self.n_columns() == 1 {
            piece.blank = piece.blank.or(Some(line));
        }
    }

    /// Appends a record of any shape, or says why not.
    pub(super) fn push_cells(&self, cells: &[&[u8]], line: u64, piece: &mut Piece) -> Result<(), Refused> {
        let row = piece.n_rows;
        if let Some(line) = piece.blank {
            return Err(Refused { row, line, reason: Reason::Blank });
        }
        if cells.len() != self.n_columns() {
            return Err(Refused { row, line, reason: Reason::Ragged { n_found: cells.len() } });
        }
        let refuse = |column: usize, refusal: Refusal| {
            let reason = Reason::Cell { column, refusal, value: shown(cells[column]) };
            Refused { row, line, reason }
        };
        for &column in &self.data {
            piece.values.push(number::parse(cells[column]).map_err(|refusal| refuse(column, refusal))?);
        }
        if let Some(column) = self.weights {
            let value = number::parse(cells[column]).map_err(|refusal| refuse(column, refusal))?;
            if value < 0.0 {
                return Err(Refused { row, line, reason: Reason::NegativeWeight { column, value } });
            }
            piece.weights.push(value);
        }
        if let Some(column) = self.labels {
            check_label(cells[column]).map_err(|refusal| refuse(column, refusal))?;
            piece.labels.push(&String::from_utf8_lossy(cells[column].trim_ascii()));
        }
        piece.n_rows += 1;
        Ok(())
    }
}

/// A label may be any text but none at all, or the word with which tables say there is none.
fn check_label(cell: &[u8]) -> Result<(), Refusal> {
    let cell = cell.trim_ascii();
    if cell.is_empty() {
        Err(Refusal::Empty)
    } else if cell.eq_ignore_ascii_case(b"nan") {
        Err(Refusal::NotFinite)
    } else {
        Ok(())
    }
}

fn shown(cell: &[u8]) -> String {
    let text = String::from_utf8_lossy(cell.trim_ascii());
    match text.char_indices().nth(SHOWN_CHARACTERS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(n_columns: usize) -> Plan {
        let header = Header { file: String::new(), names: Vec::new(), n_columns };
        let selection = Selection { data: (0..n_columns).collect(), weights: None, labels: None };
        Plan::new(&header, &selection, b',')
    }

    #[test]
    fn plain_and_spaced_lines_give_the_same_numbers() {
        let plain = plan(2).parse_lines(b"1.5,-2e3\r\n0.1,7\n").unwrap();
        let spaced = plan(2).parse_lines(b" 1.5 ,\t-2e3\n\n0.1, 7 ").unwrap();
        assert_eq!(plain.values, [1.5, -2000.0, 0.1, 7.0]);
        assert_eq!(spaced.values, plain.values);
        assert_eq!((plain.n_rows, plain.n_lines, spaced.n_rows, spaced.n_lines), (2, 2, 2, 3));
    }

    #[test]
    fn a_refusal_says_where_in_the_piece() {
        let refused = plan(2).parse_lines(b"1,2\n\n3,4\n5,x\n").err().unwrap();
        let reason = Reason::Cell { column: 1, refusal: Refusal::Text, value: "x".into() };
        assert_eq!(refused, Refused { row: 2, line: 3, reason });
        let refused = plan(2).parse_lines(b"1,2\n1,2,3\n").err().unwrap();
        assert_eq!(refused, Refused { row: 1, line: 1, reason: Reason::Ragged { n_found: 3 } });
    }

    #[test]
    fn a_blank_line_in_one_column_is_an_empty_cell_unless_nothing_follows() {
        assert_eq!(plan(1).parse_lines(b"1\n2\n\n\n").unwrap().blank, Some(2));
        let refused = plan(1).parse_lines(b"1\n\n2\n").err().unwrap();
        assert_eq!(refused, Refused { row: 1, line: 1, reason: Reason::Blank });
    }

    #[test]
    fn long_cells_are_cut_in_messages() {
        assert_eq!(shown(&[b'a'; 1000]).chars().count(), SHOWN_CHARACTERS + 1);
        assert_eq!(shown("ü".repeat(100).as_bytes()).chars().count(), SHOWN_CHARACTERS + 1);
    }
}
