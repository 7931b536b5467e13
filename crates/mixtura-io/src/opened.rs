//! Opens a table, detects its format from the first bytes, and copies streams to a temporary file where
//! random access is needed.

use std::fs::File;
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::sync::Arc;

use crate::input::{self, Format, KNOWN};
use crate::{Error, Input};

/// Number of bytes needed to detect any format.
const MAGIC_BYTES: u64 = 16;
/// Maximum length of the metadata of the first message of an Arrow stream.
const MOST_SCHEMA_BYTES: i32 = 1 << 28;

/// The kind of file according to its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Content {
    Table(Format),
    Gzip,
    Zstd,
    /// A known but unsupported format, with its name.
    Other(&'static str),
    /// Probably text, or anything else.
    Unknown,
}

/// Detects the kind of file from its first bytes.
pub(crate) fn content(beginning: &[u8]) -> Content {
    let arrow_stream = |rest: &[u8]| {
        let length = rest.first_chunk().map(|&bytes| i32::from_le_bytes(bytes));
        length.is_some_and(|length| (1..MOST_SCHEMA_BYTES).contains(&length))
    };
    match beginning {
        // The header of a text file may begin with the same letters.
        [b'P', b'A', b'R', b'1', after, ..] if !matches!(after, b'\t' | b'\n' | b'\r' | b' '..) => {
            Content::Table(Format::Parquet)
        }
        [b'A', b'R', b'R', b'O', b'W', b'1', 0, ..] => Content::Table(Format::Arrow),
        [0xff, 0xff, 0xff, 0xff, rest @ ..] if arrow_stream(rest) => Content::Table(Format::Arrow),
        [0x93, b'N', b'U', b'M', b'P', b'Y', ..] => Content::Table(Format::Npy),
        [0x1f, 0x8b, ..] => Content::Gzip,
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Content::Zstd,
        [b'P', b'K', 3, 4, ..] => Content::Other("a zip archive, such as .xlsx or .npz"),
        [0x89, b'H', b'D', b'F', ..] => Content::Other("an HDF5 file"),
        [b'S', b'Q', b'L', b'i', b't', b'e', b' ', b'f', ..] => Content::Other("an SQLite database"),
        [b'B', b'Z', b'h', b'1'..=b'9', b'1', b'A', b'Y', ..] => Content::Other("compressed with bzip2"),
        [0xfd, b'7', b'z', b'X', b'Z', ..] => Content::Other("compressed with xz"),
        _ => Content::Unknown,
    }
}

/// An open file, standard input or pipe whose first bytes have been read.
pub(crate) struct Opened {
    /// Its name in messages.
    pub(crate) name: String,
    pub(crate) beginning: Vec<u8>,
    source: Source,
}

enum Source {
    /// A file on disk, at its start.
    Regular(File),
    /// A source that can be read only once, positioned after its first bytes.
    Stream(Box<dyn Read + Send>),
}

impl Opened {
    pub(crate) fn open(input: &Input) -> Result<Self, Error> {
        let name = input.to_string();
        let failed = |source| Error::Read { file: name.clone(), source };
        let mut beginning = Vec::new();
        let source = match input {
            Input::Stdin => {
                io::stdin().take(MAGIC_BYTES).read_to_end(&mut beginning).map_err(failed)?;
                Source::Stream(Box::new(io::stdin()))
            }
            Input::Path(path) => {
                let mut file = input::open(path)?;
                let is_regular = file.metadata().map_err(failed)?.is_file();
                (&mut file).take(MAGIC_BYTES).read_to_end(&mut beginning).map_err(failed)?;
                if is_regular {
                    file.rewind().map_err(failed)?;
                    Source::Regular(file)
                } else {
                    Source::Stream(Box::new(file))
                }
            }
        };
        Ok(Self { name, beginning, source })
    }

    /// The format by content and extension, which must not contradict each other.
    pub(crate) fn format(&self, input: &Input) -> Result<Format, Error> {
        let found = content(&self.beginning);
        let mismatch =
            |found: &str, promised| Error::OtherFormat { file: self.name.clone(), found: found.to_owned(), promised };
        match (input.format(), found) {
            (Some(promised), Content::Table(found)) if promised != found => {
                Err(mismatch(&format!("in {} format", found.name()), Some(promised.name())))
            }
            (promised, Content::Other(found)) => Err(mismatch(found, promised.map(Format::name))),
            (Some(promised), Content::Unknown) if self.is_only_text(input, promised) => {
                let packing = if matches!(promised, Format::Text { .. }) { "compressed" } else { promised.name() };
                Err(Error::Text { file: self.name.clone(), promised: packing })
            }
            (Some(promised), _) => Ok(promised),
            (None, Content::Table(found)) => Ok(found),
            (None, Content::Gzip | Content::Zstd) => Ok(Format::Text { delimiter: None }),
            (None, Content::Unknown) if is_like_text(&self.beginning) => Ok(Format::Text { delimiter: None }),
            (None, Content::Unknown) => Err(match input {
                Input::Path(path) if self.is_repeatable() => {
                    let extension = input::extension(path);
                    Error::Extension { file: self.name.clone(), extension, known: KNOWN }
                }
                _ => {
                    let reason = "neither text nor a known format".to_owned();
                    Error::Unsupported { file: self.name.clone(), reason }
                }
            }),
        }
    }

    /// Whether the file begins like text, but its extension says that it is compressed or in a binary format.
    fn is_only_text(&self, input: &Input, promised: Format) -> bool {
        let is_packed = matches!(input, Input::Path(path) if input::is_packed(path));
        let is_promised = matches!(promised, Format::Text { .. }) && !is_packed;
        !is_promised && !self.beginning.is_empty() && is_like_text(&self.beginning)
    }

    /// Whether the table can be opened and read a second time.
    pub(crate) fn is_repeatable(&self) -> bool {
        matches!(self.source, Source::Regular(_))
    }

    /// A reader of everything from the start; can be used once.
    pub(crate) fn into_stream(self) -> Box<dyn Read + Send> {
        match self.source {
            Source::Regular(file) => Box::new(file),
            Source::Stream(rest) => Box::new(Cursor::new(self.beginning).chain(rest)),
        }
    }

    /// A file with random access; a stream is first copied to an unnamed temporary file, which is deleted
    /// with its last handle.
    pub(crate) fn into_file(self) -> Result<SharedFile, Error> {
        let failed = |source| Error::Read { file: self.name.clone(), source };
        let file = match self.source {
            Source::Regular(file) => file,
            Source::Stream(rest) => {
                let mut file = tempfile::tempfile().map_err(failed)?;
                io::copy(&mut Cursor::new(self.beginning).chain(rest), &mut file).map_err(failed)?;
                file.seek(SeekFrom::Start(0)).map_err(failed)?;
                file
            }
        };
        let n_bytes = file.metadata().map_err(failed)?.len();
        Ok(SharedFile { name: self.name.into(), file: Arc::new(file), n_bytes })
    }
}

/// Whether the bytes can be text: UTF-16, or free of control characters other than white space.
fn is_like_text(beginning: &[u8]) -> bool {
    let is_utf16 = beginning.starts_with(b"\xff\xfe") || beginning.starts_with(b"\xfe\xff");
    is_utf16 || !beginning.iter().any(|&byte| byte < b' ' && !b"\t\n\r\x0c".contains(&byte))
}

/// A file that several tasks read at independent positions.
#[derive(Debug, Clone)]
pub(crate) struct SharedFile {
    name: Arc<str>,
    file: Arc<File>,
    pub(crate) n_bytes: u64,
}

impl SharedFile {
    /// What it is called in messages.
    pub(crate) fn name(&self) -> String {
        self.name.to_string()
    }

    /// Reads up to `bytes.len()` bytes at a position, without moving any other reader.
    pub(crate) fn read_at(&self, position: u64, bytes: &mut [u8]) -> io::Result<usize> {
        #[cfg(unix)]
        return std::os::unix::fs::FileExt::read_at(&*self.file, bytes, position);
        #[cfg(windows)]
        return std::os::windows::fs::FileExt::seek_read(&*self.file, bytes, position);
    }

    /// Fills `bytes` from a position.
    pub(crate) fn read_exact_at(&self, position: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.reader(position).read_exact(bytes)
    }

    /// A reader that starts at a position.
    pub(crate) fn reader(&self, position: u64) -> SharedReader {
        SharedReader { file: self.clone(), position }
    }
}

/// A task's position in a shared file.
pub(crate) struct SharedReader {
    file: SharedFile,
    position: u64,
}

impl Read for SharedReader {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let n_read = self.file.read_at(self.position, bytes)?;
        self.position += n_read as u64;
        Ok(n_read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_bytes_tell_the_format() {
        for (beginning, expected) in [
            (&b"PAR1\x15\x04"[..], Content::Table(Format::Parquet)),
            (b"ARROW1\0\0", Content::Table(Format::Arrow)),
            (b"\xff\xff\xff\xff\x10\x01\0\0", Content::Table(Format::Arrow)),
            (b"\x93NUMPY\x01\0", Content::Table(Format::Npy)),
            (b"\x1f\x8b\x08", Content::Gzip),
            (b"\x28\xb5\x2f\xfd\x04", Content::Zstd),
            (b"PK\x03\x04", Content::Other("a zip archive, such as .xlsx or .npz")),
            (b"x,y\n1,2\n", Content::Unknown),
            (b"PAR1,PAR2\n", Content::Unknown),
            (b"ARROW1,x\n", Content::Unknown),
            (b"\xff\xff\xff\xff\0\0\0\0", Content::Unknown),
            (b"", Content::Unknown),
        ] {
            assert_eq!(content(beginning), expected, "{beginning:?}");
        }
    }
}
