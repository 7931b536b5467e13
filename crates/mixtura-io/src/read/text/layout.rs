//! Finds out from the beginning of a text how it is written: delimiter, decimal mark, header and which
//! columns have numbers.

use std::borrow::Cow;

use super::super::columns::{Header, Selection, refuse_too_many};
use super::super::missing::is_missing;
use super::encoding;
use super::number::{self, Decimal, Refusal};
use super::piece::shown;
use super::record::{COMMENT, Delimiter, Dialect, without_line_end};
use super::source::Source;
use crate::error::looks_like_other_number;
use crate::{Error, Missing, ReadOptions};

/// Delimiters that are guessed, the likelier first.
const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];
/// Lines that a guess is based on.
const GUESS_LINES: usize = 64;

/// How a text is written.
pub(super) struct Layout {
    pub(super) dialect: Dialect,
    pub(super) decimal: Decimal,
    /// A name per column, or none at all.
    pub(super) names: Vec<String>,
    /// Columns whose name in the file is empty, in ascending order.
    pub(super) unnamed: Vec<usize>,
    pub(super) n_columns: usize,
    /// Where the rows begin, in bytes and in lines.
    pub(super) body_start: usize,
    pub(super) n_lines_before: u64,
    pub(super) notices: Vec<String>,
}

/// A column that has no number in the beginning of the text and is left out as long as that stays so.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Watched {
    pub(super) column: usize,
    /// Its first cell that is to be refused if a number follows after all; none if all are missing
    /// and missing cells are not refused.
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

/// A record of the beginning of a text: where it starts, in bytes and lines, and its bytes.
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
            layout.read_header(file, &first, &cells, &records);
        }
        if is_decimal_comma.is_none() && delimiter == Delimiter::Byte(b';') && layout.has_decimal_commas(text) {
            layout.decimal = Decimal::Comma;
        }
        Ok(layout)
    }

    /// Takes the names from the first record or, where that is data, from the comment before it.
    ///
    /// Some programs write the names as a comment, `# x y z`. A comment is taken for them if it is the
    /// last one before the first record and has as many cells, none of which is a number, while the
    /// record has a number. Otherwise the record holds the names.
    fn read_header(&mut self, file: &str, first: &Record, cells: &[Cow<[u8]>], records: &Records) {
        let has_number = |cells: &[Cow<[u8]>]| cells.iter().any(|cell| number::is_number(cell, Decimal::Point));
        let mut commented = Vec::new();
        if let Some(comment) = records.comment.filter(|_| has_number(cells)) {
            let n_cells = self.dialect.split(comment.trim_ascii(), self.n_columns, &mut commented);
            if n_cells == self.n_columns && !has_number(&commented) {
                self.name_columns(file, &commented);
                return;
            }
        }
        if cells.iter().all(|cell| number::parse(cell, Decimal::Point).is_ok()) {
            self.notices.push(format!("{file}: first line looks like data; use --no-header"));
        }
        self.name_columns(file, cells);
        self.body_start = records.at;
        self.n_lines_before = records.line - 1;
        debug_assert!(first.start < self.body_start);
    }

    fn name_columns(&mut self, file: &str, cells: &[Cow<[u8]>]) {
        let is_utf8 = cells.iter().all(|cell| std::str::from_utf8(cell).is_ok());
        if !is_utf8 {
            self.notices
                .push(format!("{file}: the names of the columns are not UTF-8; they were read as Windows-1252"));
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

    /// Whether numbers such as `1,5` stand in the beginning of the text and none such as `1.5`.
    ///
    /// `1,234` may be a thousand or one and a bit, so at least one number must be of the second kind for
    /// certain.
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

    /// The columns of data that have no number in the beginning of the text.
    ///
    /// Columns that were asked for exactly, and those in `forced`, are not looked at. Everything is
    /// decided by the first rows; a number that follows after all is found while the rest is read, and
    /// the column's first bad cell is then refused, as it would have been without looking ahead.
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

    /// What the first column holds, for the error if none has numbers.
    pub(super) fn example(header: &Header, watched: &[Watched]) -> Option<String> {
        let first = watched.first()?;
        let column = header.column(first.column);
        Some(match &first.bad {
            Some(bad) if bad.refusal == Refusal::Text => format!("{column} begins with {:?}", bad.value),
            _ => format!("{column} has only missing cells"),
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
    /// The last comment that was passed, without its mark.
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

fn is_part_of_numbers(delimiter: u8) -> bool {
    delimiter.is_ascii_alphanumeric() || b".+-\"\r\n#".contains(&delimiter)
}

/// The decimal mark of a plain number, and whether it could as well separate thousands.
fn marked(cell: &[u8]) -> Option<(u8, bool)> {
    let cell = cell.trim_ascii();
    let cell = cell.strip_prefix(b"-").or(cell.strip_prefix(b"+")).unwrap_or(cell);
    let place = cell.iter().position(|byte| !byte.is_ascii_digit())?;
    let (mark, rest) = (cell[place], &cell[place + 1..]);
    let n_digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let is_end = matches!(rest[n_digits..], [] | [b'e' | b'E', ..]);
    if !matches!(mark, b',' | b'.') || place + n_digits == 0 || !is_end {
        return None;
    }
    let could_be_thousands = rest.len() == 3 && n_digits == 3 && (1..=3).contains(&place) && cell[0] != b'0';
    Some((mark, could_be_thousands))
}

/// The delimiter that stands most often in the first line outside quotes.
///
/// If none does, spaces and tabs, provided that they divide the first two lines into the same number of
/// cells; the same if tabs alone do not divide the lines evenly; else a comma.
fn guess_delimiter(text: &[u8], is_decimal_comma: bool, has_lone_carriage_returns: bool) -> Delimiter {
    let lines: Vec<&[u8]> = content_lines(text, GUESS_LINES);
    let counts = DELIMITERS.map(|delimiter| {
        if is_decimal_comma && delimiter == b',' {
            return 0;
        }
        lines.first().map_or(0, |line| count_outside_quotes(line, delimiter))
    });
    let most = counts.iter().max().copied().unwrap_or(0);
    let likeliest = counts.iter().position(|&count| count == most).map_or(b',', |which| DELIMITERS[which]);
    let is_even = |delimiter, most: usize| {
        let dialect = Dialect { delimiter, has_quotes: true, has_lone_carriage_returns: false };
        let mut numbers = lines.iter().take(most).map(|line| dialect.split(line, 0, &mut Vec::new()));
        let first = numbers.next().unwrap_or(0);
        first > 1 && numbers.all(|number| number == first)
    };
    let may_be_whitespace = !has_lone_carriage_returns
        && match likeliest {
            _ if most == 0 => {
                let others = DELIMITERS.iter().filter(|&&delimiter| !(is_decimal_comma && delimiter == b','));
                let occurs = |&delimiter: &u8| {
                    delimiter != b'\t' && lines.iter().any(|line| count_outside_quotes(line, delimiter) > 0)
                };
                !others.copied().any(|delimiter| occurs(&delimiter))
            }
            b'\t' => !is_even(Delimiter::Byte(b'\t'), GUESS_LINES),
            _ => false,
        };
    if may_be_whitespace && is_even(Delimiter::Whitespace, 2) {
        Delimiter::Whitespace
    } else if most == 0 && is_decimal_comma {
        Delimiter::Byte(b';')
    } else {
        Delimiter::Byte(likeliest)
    }
}

fn count_outside_quotes(line: &[u8], wanted: u8) -> usize {
    let mut is_quoted = false;
    let mut count = 0;
    for &byte in line {
        is_quoted ^= byte == b'"';
        count += usize::from(byte == wanted && !is_quoted);
    }
    count
}

/// Lines that are neither blank nor comments, before the delimiter is known: each up to its end outside quotes.
fn content_lines(text: &[u8], most: usize) -> Vec<&[u8]> {
    let mut lines = Vec::new();
    let (mut start, mut is_quoted) = (0, false);
    for (place, &byte) in text.iter().chain(b"\n").enumerate() {
        let is_comment = text.get(start) == Some(&COMMENT);
        if matches!(byte, b'\r' | b'\n') && (!is_quoted || is_comment || place == text.len()) {
            let line = &text[start..place];
            if !line.trim_ascii().is_empty() && !is_comment {
                lines.push(line);
                if lines.len() == most {
                    break;
                }
            }
            (start, is_quoted) = (place + 1, false);
        } else {
            is_quoted ^= byte == b'"';
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_tells_the_delimiter() {
        use Delimiter::{Byte, Whitespace};
        for (text, delimiter) in [
            ("a,b\n1;2;3;4", Byte(b',')),
            ("a;b\n", Byte(b';')),
            ("1\t2\t3", Byte(b'\t')),
            ("a|b|c\r\n", Byte(b'|')),
            ("\"a,b,c\";d\n", Byte(b';')),
            ("a\n1,2", Byte(b',')),
            ("\n\na;b", Byte(b';')),
            ("# a, b, c\nx;y\n", Byte(b';')),
            ("", Byte(b',')),
            ("a b\n1 2\n", Whitespace),
            ("  1.5   2\n 3     4\n", Whitespace),
            ("1\t\t2\n3\t4\n", Whitespace),
            ("first name\tage\nAnn Lee\t5\n", Byte(b'\t')),
            ("my column\n1\n2\n", Byte(b',')),
        ] {
            assert_eq!(guess_delimiter(text.as_bytes(), false, false), delimiter, "{text:?}");
        }
        assert_eq!(guess_delimiter(b"1,5 2,5\n", true, false), Whitespace);
        assert_eq!(guess_delimiter(b"1,5\n2,5\n", true, false), Byte(b';'));
    }

    #[test]
    fn a_group_of_three_digits_may_be_thousands() {
        assert_eq!(marked(b"1,5"), Some((b',', false)));
        assert_eq!(marked(b" -0,123e5"), Some((b',', false)));
        assert_eq!(marked(b"1,234"), Some((b',', true)));
        assert_eq!(marked(b"0,234"), Some((b',', false)));
        assert_eq!(marked(b"1.5"), Some((b'.', false)));
        for cell in ["15", "1,2,3", "1.234,5", "", ",", "a,5", "01.02.2020"] {
            assert_eq!(marked(cell.as_bytes()), None, "{cell}");
        }
    }
}
