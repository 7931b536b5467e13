//! Detects the layout of a text file from its beginning: delimiter, decimal separator, header and numeric
//! columns.

use std::borrow::Cow;

use super::super::columns::{Header, Selection, refuse_too_many};
use super::super::missing::is_missing;
use super::LINE_LIMIT;
use super::encoding;
use super::guess::{guess_delimiter, is_part_of_numbers, marked};
use super::number::{self, Decimal, Refusal};
use super::piece::shown;
use super::record::{COMMENT, Delimiter, Dialect, without_line_end};
use super::source::Source;
use crate::words::looks_like_other_number;
use crate::{Error, Missing, ReadOptions};

/// The layout of a text file.
pub(super) struct Layout {
    pub(super) dialect: Dialect,
    pub(super) decimal: Decimal,
    /// One name per column, or empty.
    pub(super) names: Vec<String>,
    /// Columns with an empty name, in ascending order.
    pub(super) unnamed: Vec<usize>,
    pub(super) n_columns: usize,
    /// Start of the rows, in bytes and in lines.
    pub(super) body_start: usize,
    pub(super) n_lines_before: u64,
    pub(super) notices: Vec<String>,
}

/// A column without a number at the beginning of the text, left out unless a number follows.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Watched {
    pub(super) column: usize,
    /// The first cell to be rejected if a number follows; `None` if all values are missing and missing
    /// values are not rejected.
    pub(super) bad: Option<BadCell>,
}

/// A cell that is not a number.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct BadCell {
    pub(super) row: usize,
    /// Line, from 1.
    pub(super) line: u64,
    pub(super) refusal: Refusal,
    pub(super) value: String,
}

/// A record at the beginning of a text: its start, in bytes and lines, and its bytes.
struct Record<'a> {
    start: usize,
    line: u64,
    bytes: &'a [u8],
}

impl Layout {
    pub(super) fn find(
        file: &str,
        source: &Source,
        options: &ReadOptions,
        delimiter: Option<u8>,
    ) -> Result<Self, Error> {
        let text = &source.prefix[..source.n_whole];
        let has_lone_carriage_returns = text.windows(2).any(|pair| pair[0] == b'\r' && pair[1] != b'\n');
        let is_decimal_comma = is_decimal_comma(options)?;
        let delimiter = match options.delimiter.or(delimiter) {
            Some(byte) if is_part_of_numbers(byte) || (byte == b',' && is_decimal_comma == Some(true)) => {
                return Err(Error::Delimiter { delimiter: char::from(byte) });
            }
            Some(byte) => Delimiter::Byte(byte),
            None => guess_delimiter(text, is_decimal_comma == Some(true), has_lone_carriage_returns),
        };
        let has_quotes = text.contains(&b'"');
        let dialect = Dialect { delimiter, has_quotes, has_lone_carriage_returns };
        let mut records = Records { dialect, text, at: 0, line: 1, comment: None };
        let first = records.next().ok_or_else(|| Error::Empty { file: file.to_owned() })?;
        if !source.is_whole && dialect.record_length(&text[first.start..]).is_none() {
            return Err(Error::LongLine { file: file.to_owned(), line: first.line, limit: LINE_LIMIT });
        }
        let mut cells = Vec::new();
        let n_columns = dialect.split(first.bytes, 0, &mut cells);
        refuse_too_many(file, n_columns)?;
        dialect.split(first.bytes, n_columns, &mut cells);
        let mut layout = Self {
            dialect,
            decimal: if is_decimal_comma == Some(true) { Decimal::Comma } else { Decimal::Point },
            names: Vec::new(),
            unnamed: Vec::new(),
            n_columns,
            body_start: first.start,
            n_lines_before: first.line - 1,
            notices: Vec::new(),
        };
        if options.has_header {
            layout.read_header(file, &cells, &records);
        }
        if is_decimal_comma.is_none() && delimiter == Delimiter::Byte(b';') && layout.has_decimal_commas(text) {
            layout.decimal = Decimal::Comma;
        }
        Ok(layout)
    }

    /// Takes the names from the first record or, if that is data, from the comment before it.
    ///
    /// Some programs write the names as a comment, `# x y z`. A comment is used if it is the last one
    /// before the first record and has the same number of cells, none of which is a number, while the
    /// record has a number. Otherwise the record contains the names.
    fn read_header(&mut self, file: &str, cells: &[Cow<[u8]>], records: &Records) {
        let has_number = |cells: &[Cow<[u8]>]| cells.iter().any(|cell| number::is_number(cell, Decimal::Point));
        let mut commented = Vec::new();
        if let Some(comment) = records.comment.filter(|_| has_number(cells)) {
            let n_cells = self.dialect.split(comment.trim_ascii(), self.n_columns, &mut commented);
            if n_cells == self.n_columns && !has_number(&commented) {
                self.name_columns(file, &commented);
                return;
            }
        }
        let numbers: Result<Vec<f64>, _> = cells.iter().map(|cell| number::parse(cell, Decimal::Point)).collect();
        // Names that count the columns from 0, as generated by pandas, are still names.
        let counts = |numbers: &[f64]| numbers.len() > 1 && numbers.iter().enumerate().all(|(i, &x)| x == i as f64);
        if numbers.is_ok_and(|numbers| !counts(&numbers)) {
            self.notices.push(format!("{file}: the first line looks like data; use --no-header"));
        }
        self.name_columns(file, cells);
        self.body_start = records.at;
        self.n_lines_before = records.line - 1;
    }

    fn name_columns(&mut self, file: &str, cells: &[Cow<[u8]>]) {
        let is_utf8 = cells.iter().all(|cell| std::str::from_utf8(cell).is_ok());
        if !is_utf8 {
            self.notices.push(format!("{file}: the column names are not valid UTF-8 and were read as Windows-1252"));
        }
        for (column, cell) in cells.iter().enumerate() {
            let cell = cell.trim_ascii();
            self.names.push(if cell.is_empty() {
                self.unnamed.push(column);
                format!("column {}", column + 1)
            } else if is_utf8 {
                String::from_utf8_lossy(cell).into_owned()
            } else {
                encoding::windows_1252(cell)
            });
        }
    }

    /// Whether the beginning of the text has numbers such as `1,5` and none such as `1.5`.
    ///
    /// `1,234` is ambiguous, so at least one number must clearly have a decimal comma.
    fn has_decimal_commas(&self, text: &[u8]) -> bool {
        let mut cells = Vec::new();
        let mut is_certain = false;
        for record in self.body(text) {
            self.dialect.split(record.bytes, self.n_columns, &mut cells);
            for cell in &cells {
                match marked(cell) {
                    Some((b'.', _)) => return false,
                    Some((_, could_be_thousands)) => is_certain |= !could_be_thousands,
                    None => {}
                }
            }
        }
        is_certain
    }

    /// The data columns that have no number at the beginning of the text.
    ///
    /// Columns that were selected exactly, and those in `forced`, are not considered. The decision is based
    /// on the first rows. If a number follows later, it is found while reading the rest, and the column's
    /// first bad cell is reported as it would have been without looking ahead.
    pub(super) fn without_numbers(
        &self,
        source: &Source,
        selection: &Selection,
        options: &ReadOptions,
        forced: &[usize],
    ) -> Vec<Watched> {
        let candidates = selection.data.iter().zip(&selection.is_exact).filter(|&(_, &is_exact)| !is_exact);
        let mut candidates: Vec<Watched> = candidates
            .map(|(&column, _)| Watched { column, bad: None })
            .filter(|w| !forced.contains(&w.column))
            .collect();
        let mut cells = Vec::new();
        let mut n_rows = 0;
        for (row, record) in self.body(&source.prefix[..source.n_whole]).enumerate() {
            let n_cells = self.dialect.split(record.bytes, self.n_columns, &mut cells);
            if n_cells != self.n_columns || candidates.is_empty() {
                break;
            }
            n_rows = row + 1;
            candidates.retain_mut(|watched| {
                let cell = &cells[watched.column];
                let is_refused = options.missing == Missing::Refuse || !is_missing(cell);
                match number::parse(cell, self.decimal) {
                    Err(refusal @ (Refusal::Text | Refusal::Empty | Refusal::NotFinite))
                        if !looks_like_other_number(&shown(cell)) =>
                    {
                        if watched.bad.is_none() && is_refused {
                            watched.bad = Some(BadCell { row, line: record.line, refusal, value: shown(cell) });
                        }
                        true
                    }
                    _ => false,
                }
            });
        }
        if n_rows == 0 { Vec::new() } else { candidates }
    }

    /// What the first column contains, for the error if no column is numeric.
    pub(super) fn example(header: &Header, watched: &[Watched]) -> Option<String> {
        let first = watched.first()?;
        let column = header.column(first.column);
        Some(match &first.bad {
            Some(bad) if bad.refusal == Refusal::Text => format!("{column} starts with {:?}", bad.value),
            _ => format!("{column} has only missing values"),
        })
    }

    fn body<'a>(&self, text: &'a [u8]) -> Records<'a> {
        let line = self.n_lines_before + 1;
        Records { dialect: self.dialect, text, at: self.body_start, line, comment: None }
    }
}

/// The records of a text, without blank lines and comments.
struct Records<'a> {
    dialect: Dialect,
    text: &'a [u8],
    at: usize,
    /// The line at `at`, from 1.
    line: u64,
    /// The last comment, without its `#`.
    comment: Option<&'a [u8]>,
}

impl<'a> Iterator for Records<'a> {
    type Item = Record<'a>;

    fn next(&mut self) -> Option<Record<'a>> {
        loop {
            let rest = self.text.get(self.at..).filter(|rest| !rest.is_empty())?;
            let length = self.dialect.record_length(rest).unwrap_or(rest.len());
            let record = Record { start: self.at, line: self.line, bytes: without_line_end(&rest[..length]) };
            self.at += length;
            self.line += self.dialect.count_lines(&rest[..length]);
            match record.bytes {
                [] => {}
                [COMMENT, comment @ ..] => self.comment = Some(comment),
                bytes if bytes.trim_ascii().is_empty() && self.dialect.delimiter == Delimiter::Whitespace => {}
                _ => return Some(record),
            }
        }
    }
}

fn is_decimal_comma(options: &ReadOptions) -> Result<Option<bool>, Error> {
    match options.decimal {
        None => Ok(None),
        Some(b',') => Ok(Some(true)),
        Some(b'.') => Ok(Some(false)),
        Some(other) => Err(Error::Decimal { decimal: char::from(other) }),
    }
}
