//! Finds the ends of records and splits them into cells, with quotes, comments and any delimiter.
//!
//! The length of a record is limited before memory is allocated for its cells. Lines are counted as in
//! editors, and cells are split as by the `csv` crate.

use std::borrow::Cow;

use memchr::{memchr, memchr_iter, memchr2, memchr3};

/// First character of a comment.
pub(super) const COMMENT: u8 = b'#';

/// The delimiter between the cells of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Delimiter {
    /// One byte; two of them have an empty cell between them.
    Byte(u8),
    /// Any number of spaces and tabs, also before the first cell and after the last.
    Whitespace,
}

/// How a text is split into records and cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Dialect {
    pub(super) delimiter: Delimiter,
    /// Whether quotes are handled at all.
    pub(super) has_quotes: bool,
    /// Whether a carriage return alone ends a line.
    pub(super) has_lone_carriage_returns: bool,
}

impl Dialect {
    /// The length of the first record including its line end, if the text contains it.
    pub(super) fn record_length(self, text: &[u8]) -> Option<usize> {
        match self.delimiter {
            Delimiter::Byte(delimiter) if self.has_quotes && text.first() != Some(&COMMENT) => {
                self.quoted_length(text, delimiter)
            }
            _ => self.line_length(text),
        }
    }

    fn line_length(self, text: &[u8]) -> Option<usize> {
        if !self.has_lone_carriage_returns {
            return memchr(b'\n', text).map(|end| end + 1);
        }
        let end = memchr2(b'\n', b'\r', text)?;
        self.after_line_end(text, end)
    }

    fn quoted_length(self, text: &[u8], delimiter: u8) -> Option<usize> {
        let mut at = 0;
        loop {
            // A quote is special only at the start of a cell.
            if text.get(at) == Some(&b'"') {
                at = closing_quote(text, at)? + 1;
            }
            loop {
                at += memchr3(delimiter, b'\n', b'\r', &text[at..])?;
                if text[at] == delimiter {
                    at += 1;
                    break;
                }
                if let Some(end) = self.after_line_end(text, at) {
                    return Some(end);
                }
                at += 1;
            }
        }
    }

    /// The position after the line end at `at`, if there is a complete one.
    fn after_line_end(self, text: &[u8], at: usize) -> Option<usize> {
        match &text[at..] {
            [b'\n', ..] => Some(at + 1),
            [b'\r', b'\n', ..] => Some(at + 2),
            // It is unknown whether a line feed follows the last byte.
            [b'\r', _, ..] if self.has_lone_carriage_returns => Some(at + 1),
            _ => None,
        }
    }

    /// Whether a record, without its line end, is a row: neither blank nor a comment.
    pub(super) fn is_row(self, record: &[u8]) -> bool {
        !self.is_blank(record) && record[0] != COMMENT
    }

    /// Whether a record, without its line end, is blank.
    pub(super) fn is_blank(self, record: &[u8]) -> bool {
        match self.delimiter {
            Delimiter::Whitespace => record.trim_ascii().is_empty(),
            Delimiter::Byte(_) => record.is_empty(),
        }
    }

    /// Number of line ends in a text.
    pub(super) fn count_lines(self, text: &[u8]) -> u64 {
        let n_feeds = memchr_iter(b'\n', text).count();
        if !self.has_lone_carriage_returns {
            return n_feeds as u64;
        }
        let is_lone = |&at: &usize| text.get(at + 1) != Some(&b'\n');
        (n_feeds + memchr_iter(b'\r', text).filter(is_lone).count()) as u64
    }

    /// Splits a record without its line end; at most `most` cells are kept, but all are counted.
    pub(super) fn split<'a>(self, record: &'a [u8], most: usize, cells: &mut Vec<Cow<'a, [u8]>>) -> usize {
        cells.clear();
        let mut n_cells = 0;
        let mut keep = |cell: Cow<'a, [u8]>| {
            n_cells += 1;
            if n_cells <= most {
                cells.push(cell);
            }
        };
        match self.delimiter {
            Delimiter::Whitespace => split_at_whitespace(record, self.has_quotes, keep),
            Delimiter::Byte(delimiter) if !self.has_quotes => {
                record.split(|&byte| byte == delimiter).for_each(|cell| keep(Cow::Borrowed(cell)));
            }
            Delimiter::Byte(delimiter) => split_quoted(record, delimiter, keep),
        }
        n_cells
    }
}

/// A record without its line end.
pub(super) fn without_line_end(record: &[u8]) -> &[u8] {
    let record = record.strip_suffix(b"\n").unwrap_or(record);
    record.strip_suffix(b"\r").unwrap_or(record)
}

/// The position of the quote that closes the one at `open`, if it and the following byte are in the text.
fn closing_quote(text: &[u8], open: usize) -> Option<usize> {
    let mut at = open + 1;
    loop {
        at += memchr(b'"', text.get(at..)?)?;
        match text.get(at + 1)? {
            b'"' => at += 2,
            _ => return Some(at),
        }
    }
}

fn split_quoted<'a>(record: &'a [u8], delimiter: u8, mut keep: impl FnMut(Cow<'a, [u8]>)) {
    let mut rest = record;
    loop {
        let (cell, n_bytes) = if rest.first() == Some(&b'"') {
            quoted_cell(rest, |byte| byte == delimiter)
        } else {
            let end = memchr(delimiter, rest).unwrap_or(rest.len());
            (Cow::Borrowed(&rest[..end]), end)
        };
        keep(cell);
        match rest.get(n_bytes..) {
            Some([_, after @ ..]) => rest = after,
            _ => return,
        }
    }
}

fn split_at_whitespace<'a>(record: &'a [u8], has_quotes: bool, mut keep: impl FnMut(Cow<'a, [u8]>)) {
    let mut rest = record.trim_ascii();
    while !rest.is_empty() {
        let (cell, n_bytes) = match rest[0] {
            b'"' if has_quotes => quoted_cell(rest, |byte| byte.is_ascii_whitespace()),
            _ => {
                let end = rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len());
                (Cow::Borrowed(&rest[..end]), end)
            }
        };
        keep(cell);
        rest = rest[n_bytes..].trim_ascii_start();
    }
}

/// The cell that starts with a quote, and the number of bytes up to its delimiter.
///
/// A doubled quote means one quote; text after the closing quote belongs to the cell unchanged.
fn quoted_cell(text: &[u8], is_delimiter: impl Fn(u8) -> bool) -> (Cow<'_, [u8]>, usize) {
    let mut at = 1;
    let mut unescaped: Option<Vec<u8>> = None;
    let mut begun = 1;
    loop {
        let Some(quote) = memchr(b'"', &text[at..]).map(|place| at + place) else {
            // Never closed: the rest is the cell.
            let tail = &text[begun..];
            let cell = unescaped.map_or(Cow::Borrowed(tail), |head| Cow::Owned([&head, tail].concat()));
            return (cell, text.len());
        };
        if text.get(quote + 1) == Some(&b'"') {
            unescaped.get_or_insert_default().extend_from_slice(&text[begun..=quote]);
            at = quote + 2;
            begun = at;
            continue;
        }
        let end = text[quote + 1..].iter().position(|&byte| is_delimiter(byte));
        let end = end.map_or(text.len(), |place| quote + 1 + place);
        let (inside, after) = (&text[begun..quote], &text[quote + 1..end]);
        let cell = match unescaped {
            None if after.is_empty() => Cow::Borrowed(inside),
            head => Cow::Owned([&head.unwrap_or_default(), inside, after].concat()),
        };
        return (cell, end);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn dialect(delimiter: Delimiter) -> Dialect {
        Dialect { delimiter, has_quotes: true, has_lone_carriage_returns: false }
    }

    fn cells(dialect: Dialect, record: &str) -> Vec<String> {
        let mut cells = Vec::new();
        dialect.split(record.as_bytes(), usize::MAX, &mut cells);
        cells.iter().map(|cell| String::from_utf8_lossy(cell).into_owned()).collect()
    }

    #[test]
    fn whitespace_of_any_length_is_one_delimiter() {
        let dialect = dialect(Delimiter::Whitespace);
        assert_eq!(cells(dialect, "  1.5 \t 2   x "), ["1.5", "2", "x"]);
        assert_eq!(cells(dialect, "\"a b\" c"), ["a b", "c"]);
    }

    #[test]
    fn cells_beyond_the_last_are_counted_but_not_kept() {
        let mut cells = Vec::new();
        let n_cells = dialect(Delimiter::Byte(b',')).split(&[b','; 1000], 3, &mut cells);
        assert_eq!((n_cells, cells.len()), (1001, 3));
        assert!(cells.capacity() < 100);
    }

    #[test]
    fn a_record_ends_where_its_quotes_are_closed() {
        let dialect = dialect(Delimiter::Byte(b','));
        assert_eq!(dialect.record_length(b"1,\"a\nb\",2\n3"), Some(10));
        assert_eq!(dialect.record_length(b"5\" pipe,1\n"), Some(10));
        assert_eq!(dialect.record_length(b"1,\"a\n"), None);
        assert_eq!(dialect.record_length(b"# it's a \"quote\n1\n"), Some(16));
    }

    #[test]
    fn every_kind_of_line_end_counts_once() {
        let lone = Dialect { has_lone_carriage_returns: true, ..dialect(Delimiter::Byte(b',')) };
        assert_eq!(lone.count_lines(b"a\rb\r\nc\nd"), 3);
        assert_eq!(lone.record_length(b"a\rb"), Some(2));
        assert_eq!(lone.record_length(b"a\r\nb"), Some(3));
        assert_eq!(lone.record_length(b"a\r"), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]

        #[test]
        fn text_is_split_as_the_csv_crate_splits_it(text in "[a,\"\\n ]{0,40}") {
            let dialect = dialect(Delimiter::Byte(b','));
            let mut ours = Vec::new();
            let mut rest = text.as_str();
            while !rest.is_empty() {
                let length = dialect.record_length(rest.as_bytes());
                // They differ in how an unclosed quote at the end of a text treats the line end.
                prop_assume!(length.is_some() || !rest.contains('"'));
                let length = length.unwrap_or(rest.len());
                let record = without_line_end(&rest.as_bytes()[..length]);
                if !record.is_empty() {
                    ours.push(cells(dialect, std::str::from_utf8(record).unwrap()));
                }
                rest = &rest[length..];
            }
            let mut reader =
                csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text.as_bytes());
            let theirs: Vec<Vec<String>> =
                reader.records().map(|record| record.unwrap().iter().map(str::to_owned).collect()).collect();
            prop_assert_eq!(ours, theirs);
        }
    }
}
