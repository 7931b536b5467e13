//! Opens text: unpacks gzip, takes off a byte order mark and guesses the delimiter from the first line.

use std::io::{self, BufReader, Chain, Cursor, Read};

use flate2::read::MultiGzDecoder;

use super::count_lines;
use crate::{Error, Input, input};

/// How much of a file is looked at to guess its delimiter and line ends.
const PREFIX_BYTES: u64 = 1 << 16;

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Delimiters that are guessed, the likelier first.
const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// Text as it is read, its beginning already in memory.
pub(super) type Stream = Chain<Cursor<Vec<u8>>, Box<dyn Read + Send>>;

/// Text and what its beginning says about it.
pub(super) struct Source {
    prefix: Vec<u8>,
    rest: Box<dyn Read + Send>,
    pub(super) delimiter: u8,
    /// Line ends of a kind that only the general splitter knows.
    pub(super) has_lone_carriage_returns: bool,
}

/// The first record of a text.
pub(super) struct FirstRecord {
    pub(super) cells: Vec<Vec<u8>>,
    /// Bytes it takes up, and lines, if it is a header; 0 if it is data and to be read again.
    pub(super) n_bytes: usize,
    pub(super) n_lines: u64,
}

impl Source {
    pub(super) fn open(input: &Input, delimiter: Option<u8>) -> Result<Self, Error> {
        let (raw, is_named_gzip): (Box<dyn Read + Send>, bool) = match input {
            Input::Stdin => (Box::new(io::stdin()), false),
            Input::Path(path) => (
                Box::new(input::open(path)?),
                path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("gz")),
            ),
        };
        let failed = |source| Error::Read { file: input.to_string(), source };
        let mut rest = unpack(raw, is_named_gzip).map_err(failed)?;
        let mut prefix = whole_first_record(&mut rest).map_err(failed)?;
        if prefix.starts_with(BYTE_ORDER_MARK) {
            prefix.drain(..BYTE_ORDER_MARK.len());
        }
        if prefix.starts_with(b"\xff\xfe") || prefix.starts_with(b"\xfe\xff") {
            let reason = "the text is UTF-16; save it as UTF-8".to_owned();
            return Err(Error::Unsupported { file: input.to_string(), reason });
        }
        if let Some(delimiter) = delimiter.filter(|&delimiter| is_part_of_numbers(delimiter)) {
            return Err(Error::Delimiter { delimiter: char::from(delimiter) });
        }
        let delimiter = delimiter.unwrap_or_else(|| guess_delimiter(&prefix));
        let has_lone_carriage_returns = prefix.windows(2).any(|pair| pair[0] == b'\r' && pair[1] != b'\n');
        Ok(Self { prefix, rest, delimiter, has_lone_carriage_returns })
    }

    /// Whether lines end as the first one does: with a carriage return and a line feed.
    pub(super) fn has_crlf(&self) -> bool {
        self.prefix[first_line(&self.prefix).len()..].starts_with(b"\r\n")
    }

    pub(super) fn first_record(&self, is_header: bool) -> io::Result<FirstRecord> {
        let mut record = csv::ByteRecord::new();
        let mut builder = csv::ReaderBuilder::new();
        let mut reader = builder.delimiter(self.delimiter).has_headers(false).from_reader(&self.prefix[..]);
        reader.read_byte_record(&mut record)?;
        let cells = record.iter().map(<[u8]>::to_vec).collect();
        if !is_header {
            return Ok(FirstRecord { cells, n_bytes: 0, n_lines: 0 });
        }
        let mut n_bytes = reader.position().byte() as usize;
        // The splitter ends a record at the carriage return and leaves the line feed to the next.
        if self.prefix[..n_bytes].ends_with(b"\r") && self.prefix[n_bytes..].starts_with(b"\n") {
            n_bytes += 1;
        }
        Ok(FirstRecord { cells, n_bytes, n_lines: count_lines(&self.prefix[..n_bytes]) })
    }

    /// The text from a place in its beginning on.
    pub(super) fn into_body(self, n_skipped: usize) -> Stream {
        let mut prefix = Cursor::new(self.prefix);
        prefix.set_position(n_skipped as u64);
        prefix.chain(self.rest)
    }
}

/// The beginning of a text, longer than usual if the first record is.
fn whole_first_record(text: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut prefix = Vec::new();
    loop {
        let n_before = prefix.len() as u64;
        let n_wanted = PREFIX_BYTES.max(n_before);
        text.take(n_wanted).read_to_end(&mut prefix)?;
        let has_ended = (prefix.len() as u64) < n_before + n_wanted;
        if has_ended || first_line(&prefix).len() < prefix.len() {
            return Ok(prefix);
        }
    }
}

fn is_part_of_numbers(delimiter: u8) -> bool {
    delimiter.is_ascii_alphanumeric() || b".+-\"\r\n".contains(&delimiter)
}

fn unpack(mut raw: Box<dyn Read + Send>, is_named_gzip: bool) -> io::Result<Box<dyn Read + Send>> {
    let magic = take(&mut raw, GZIP_MAGIC.len() as u64)?;
    let is_gzip = magic == GZIP_MAGIC || (is_named_gzip && !magic.is_empty());
    let whole = Cursor::new(magic).chain(raw);
    Ok(if is_gzip { Box::new(MultiGzDecoder::new(BufReader::with_capacity(1 << 16, whole))) } else { Box::new(whole) })
}

fn take(reader: &mut impl Read, n_bytes: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.take(n_bytes).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The first line that is not blank, up to its end outside quotes.
fn first_line(text: &[u8]) -> &[u8] {
    let mut is_quoted = false;
    let mut has_begun = false;
    for (place, &byte) in text.iter().enumerate() {
        match byte {
            b'\r' | b'\n' if has_begun && !is_quoted => return &text[..place],
            b'\r' | b'\n' => {}
            _ => has_begun = true,
        }
        is_quoted ^= byte == b'"';
    }
    text
}

/// The delimiter that stands most often in the first line outside quotes; a comma if none does.
fn guess_delimiter(text: &[u8]) -> u8 {
    let mut counts = [0usize; DELIMITERS.len()];
    let mut is_quoted = false;
    for &byte in first_line(text) {
        is_quoted ^= byte == b'"';
        if let Some(which) = DELIMITERS.iter().position(|&delimiter| delimiter == byte && !is_quoted) {
            counts[which] += 1;
        }
    }
    let most = counts.iter().max().copied().unwrap_or(0);
    counts.iter().position(|&count| count == most).map_or(b',', |which| DELIMITERS[which])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_tells_the_delimiter() {
        for (text, delimiter) in [
            ("a,b\n1;2;3;4", b','),
            ("a;b\n", b';'),
            ("1\t2\t3", b'\t'),
            ("a|b|c\r\n", b'|'),
            ("\"a,b,c\";d\n", b';'),
            ("a\n1,2", b','),
            ("\n\na;b", b';'),
            ("", b','),
        ] {
            assert_eq!(guess_delimiter(text.as_bytes()), delimiter, "{text:?}");
        }
    }
}
