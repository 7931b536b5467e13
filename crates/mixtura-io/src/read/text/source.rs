//! Opens text: decompresses gzip and zstd, removes a byte order mark and reads the beginning.

use std::io::{self, BufReader, Chain, Cursor, Read};

use flate2::read::MultiGzDecoder;
use memchr::{memchr, memchr_iter, memchr2};

use super::record::COMMENT;
use super::{LINE_LIMIT, not_text};
use crate::opened::{self, Content, Opened};
use crate::{Error, Input};

/// Number of bytes examined to detect the layout.
const PREFIX_BYTES: usize = 1 << 16;
/// Minimum number of lines examined, unless they exceed the maximum length.
const PREFIX_LINES: usize = 8;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A reader of text.
pub(super) type Stream = Chain<Cursor<Vec<u8>>, Box<dyn Read + Send>>;

/// A text whose beginning is in memory.
pub(super) struct Source {
    /// Complete lines, or the whole text.
    pub(super) prefix: Vec<u8>,
    /// Number of bytes of the prefix that are complete lines.
    pub(super) n_whole: usize,
    /// Whether the prefix is the whole text.
    pub(super) is_whole: bool,
    rest: Box<dyn Read + Send>,
}

impl Source {
    pub(super) fn open(input: &Input, opened: Opened) -> Result<Self, Error> {
        let file = opened.name.clone();
        let failed = |source| Error::Read { file: file.clone(), source };
        let packing = Packing::of(input, &opened.beginning);
        let mut rest = packing.unpack(opened.into_stream()).map_err(failed)?;
        let (mut prefix, has_ended) = beginning(&mut rest).map_err(failed)?;
        if packing != Packing::None {
            let inside = match opened::content(&prefix) {
                Content::Table(format) => Some(format!("a compressed {} file", format.name())),
                Content::Other(what) => Some(format!("{what}, compressed again")),
                Content::Gzip | Content::Zstd => Some("compressed twice".to_owned()),
                Content::Unknown => None,
            };
            if let Some(found) = inside {
                return Err(Error::OtherFormat { file, found, promised: None });
            }
        }
        if prefix.starts_with(BYTE_ORDER_MARK) {
            prefix.drain(..BYTE_ORDER_MARK.len());
        }
        if prefix.starts_with(b"\xff\xfe") || prefix.starts_with(b"\xfe\xff") {
            let reason = "the text is UTF-16; save it as UTF-8".to_owned();
            return Err(Error::Unsupported { file, reason });
        }
        if let Some(place) = memchr(0, &prefix) {
            return Err(not_text(file, &prefix[..place], 0));
        }
        if memchr2(b'\n', b'\r', &prefix).is_none() && prefix.len() >= LINE_LIMIT {
            return Err(Error::LongLine { file, line: 1, limit: LINE_LIMIT });
        }
        let last_end = prefix.iter().rposition(|&byte| byte == b'\n' || byte == b'\r').map_or(0, |end| end + 1);
        let n_whole = if has_ended { prefix.len() } else { last_end };
        Ok(Self { prefix, n_whole, is_whole: has_ended, rest })
    }

    /// The text from a position in its beginning.
    pub(super) fn into_body(self, n_skipped: usize) -> Stream {
        let mut prefix = Cursor::new(self.prefix);
        prefix.set_position(n_skipped as u64);
        prefix.chain(self.rest)
    }
}

/// How a text is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Packing {
    None,
    Gzip,
    Zstd,
}

impl Packing {
    /// Detected from the first bytes. The extension counts too, so that a corrupt file is reported as such.
    fn of(input: &Input, beginning: &[u8]) -> Self {
        let is_named = |wanted: &str| match input {
            Input::Path(path) => path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case(wanted)),
            Input::Stdin => false,
        };
        match opened::content(beginning) {
            Content::Gzip => Self::Gzip,
            Content::Zstd => Self::Zstd,
            _ if beginning.is_empty() => Self::None,
            _ if is_named("gz") => Self::Gzip,
            _ if is_named("zst") => Self::Zstd,
            _ => Self::None,
        }
    }

    fn unpack(self, raw: Box<dyn Read + Send>) -> io::Result<Box<dyn Read + Send>> {
        Ok(match self {
            Self::None => raw,
            Self::Gzip => Box::new(MultiGzDecoder::new(BufReader::with_capacity(1 << 16, raw))),
            Self::Zstd => Box::new(zstd::Decoder::new(raw)?),
        })
    }
}

/// Number of lines that are neither blank nor comments, for any kind of line end.
fn n_records(text: &[u8]) -> usize {
    let is_record = |line: &[u8]| line.trim_ascii().first().is_some_and(|&byte| byte != COMMENT);
    text.split(|&byte| byte == b'\n' || byte == b'\r').filter(|line| is_record(line)).count()
}

/// The beginning of a text, and whether that is all of it.
///
/// It is extended if lines are long, so that there are enough rows to judge the columns, or if it would
/// end within quotes. It ends early at a NUL byte.
fn beginning(text: &mut impl Read) -> io::Result<(Vec<u8>, bool)> {
    let mut prefix = Vec::new();
    loop {
        let n_before = prefix.len();
        let n_wanted = PREFIX_BYTES.max(n_before).min(LINE_LIMIT);
        text.take(n_wanted as u64).read_to_end(&mut prefix)?;
        let has_ended = prefix.len() < n_before + n_wanted;
        let added = &prefix[n_before..];
        let n_lines = n_records(&prefix);
        let is_enough = n_lines >= PREFIX_LINES && memchr_iter(b'"', &prefix).count().is_multiple_of(2);
        if has_ended || is_enough || prefix.len() >= LINE_LIMIT || memchr(0, added).is_some() {
            return Ok((prefix, has_ended));
        }
    }
}
