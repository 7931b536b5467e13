//! Reads text in large chunks of complete records and splits them into pieces.

use std::io::{self, Read};

use memchr::{memchr, memrchr};

use super::record::Dialect;
use super::source::Stream;
use super::{LINE_LIMIT, PIECE_BYTES};

/// Why a chunk could not be read.
#[derive(Debug)]
pub(super) enum Fault {
    Read(io::Error),
    /// An incomplete record is too long.
    LongLine,
    /// A NUL byte.
    Nul {
        n_lines_before: u64,
    },
}

/// Bytes of text, of which the first `n_whole` are complete records.
#[derive(Default)]
pub(super) struct Chunk {
    pub(super) bytes: Vec<u8>,
    pub(super) n_whole: usize,
}

impl Chunk {
    /// Starts with the bytes left over and reads on: about `n_bytes` and at least one complete record, or to the end.
    pub(super) fn fill(
        &mut self,
        begun: &[u8],
        body: &mut Stream,
        n_bytes: usize,
        dialect: Dialect,
    ) -> Result<(), Fault> {
        self.bytes.clear();
        self.bytes.extend_from_slice(begun);
        // No reading is needed if only the record boundaries change.
        let mut has_ended = false;
        let mut n_wanted = n_bytes;
        loop {
            let n_before = self.bytes.len();
            if n_wanted > 0 {
                self.bytes.reserve(n_wanted + 1);
                body.take(n_wanted as u64).read_to_end(&mut self.bytes).map_err(Fault::Read)?;
                has_ended = self.bytes.len() - n_before < n_wanted;
            }
            let n_checked = if n_wanted > 0 { n_before } else { 0 };
            if let Some(place) = memchr(0, &self.bytes[n_checked..]) {
                return Err(Fault::Nul { n_lines_before: dialect.count_lines(&self.bytes[..n_checked + place]) });
            }
            self.n_whole = if has_ended { self.bytes.len() } else { whole_records(&self.bytes, dialect) };
            if has_ended || self.n_whole > 0 {
                return Ok(());
            }
            if self.bytes.len() >= LINE_LIMIT {
                return Err(Fault::LongLine);
            }
            // Double the size each time, so that the search for the end restarts only a few times.
            n_wanted = self.bytes.len().max(n_bytes).max(PIECE_BYTES).min(LINE_LIMIT - self.bytes.len());
        }
    }
}

/// Number of bytes of a text that are complete records.
fn whole_records(text: &[u8], dialect: Dialect) -> usize {
    if !dialect.has_quotes && !dialect.has_lone_carriage_returns {
        return memrchr(b'\n', text).map_or(0, |end| end + 1);
    }
    let mut n_whole = 0;
    while let Some(length) = dialect.record_length(&text[n_whole..]) {
        n_whole += length;
    }
    n_whole
}

/// Splits complete records into about `n_pieces` pieces of complete records.
pub(super) fn pieces(text: &[u8], n_pieces: usize, dialect: Dialect) -> Vec<&[u8]> {
    let length = text.len().div_ceil(n_pieces);
    let mut pieces = Vec::with_capacity(n_pieces);
    let mut rest = text;
    while rest.len() > length {
        let (piece, after) = rest.split_at(piece_length(rest, length, dialect));
        pieces.push(piece);
        rest = after;
    }
    if !rest.is_empty() {
        pieces.push(rest);
    }
    pieces
}

/// The length of the first records that together exceed `least` bytes, or of all records.
fn piece_length(text: &[u8], least: usize, dialect: Dialect) -> usize {
    if !dialect.has_quotes && !dialect.has_lone_carriage_returns {
        return memchr(b'\n', &text[least..]).map_or(text.len(), |end| least + end + 1);
    }
    let mut n_bytes = 0;
    while n_bytes <= least {
        match dialect.record_length(&text[n_bytes..]) {
            Some(length) => n_bytes += length,
            None => return text.len(),
        }
    }
    n_bytes
}

#[cfg(test)]
mod tests {
    use super::super::record::Delimiter;
    use super::*;

    const PLAIN: Dialect =
        Dialect { delimiter: Delimiter::Byte(b','), has_quotes: false, has_lone_carriage_returns: false };

    #[test]
    fn pieces_are_whole_records_and_lose_nothing() {
        let text = (0..100).map(|i| "x".repeat(i % 7) + "\n").collect::<String>();
        for dialect in [PLAIN, Dialect { has_quotes: true, ..PLAIN }] {
            for n_pieces in 1..20 {
                let pieces = pieces(text.as_bytes(), n_pieces, dialect);
                assert!(pieces.len() <= n_pieces);
                assert!(pieces.iter().all(|piece| piece.ends_with(b"\n")));
                assert_eq!(pieces.concat(), text.as_bytes());
            }
        }
        assert!(pieces(b"", 3, PLAIN).is_empty());
        assert_eq!(pieces(b"1\n2", 2, PLAIN).concat(), b"1\n2");
        let quoted = Dialect { has_quotes: true, ..PLAIN };
        assert_eq!(pieces(b"\"a\nb\"\n1\n", 8, quoted), [&b"\"a\nb\"\n"[..], b"1\n"]);
    }

    fn stream(text: String) -> Stream {
        io::Cursor::new(Vec::new()).chain(Box::new(io::Cursor::new(text)) as Box<dyn Read + Send>)
    }

    #[test]
    fn a_chunk_grows_until_it_holds_a_record() {
        let mut body = stream(format!("{}\nrest", "1".repeat(100)));
        let mut chunk = Chunk::default();
        chunk.fill(b"0", &mut body, 8, PLAIN).unwrap();
        assert_eq!((chunk.bytes.len(), chunk.n_whole), (106, 106));
        let mut body = stream(format!("{}\n{}", "1".repeat(PIECE_BYTES), "2".repeat(PIECE_BYTES)));
        chunk.fill(b"0", &mut body, 8, PLAIN).unwrap();
        assert_eq!(chunk.n_whole, PIECE_BYTES + 2);
    }
}
