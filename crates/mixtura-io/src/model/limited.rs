//! Reads the text of a model file, and stops as soon as it does not look like one.

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};
use std::path::Path;

use serde::Deserialize;

use super::Preamble;
use crate::Error;

/// Maximum size of a model file in bytes.
const MOST_BYTES: u64 = 1 << 32;
/// Maximum white space before a model.
const MOST_SPACE: usize = 1 << 16;

/// The fields that determine whether the rest can be read, and the whole text.
///
/// The first of two passes over the text runs while reading it, and ends at the first thing that is not JSON.
pub(super) fn read(path: &Path, file: &str) -> Result<(Preamble, String), Error> {
    let corrupt = |reason: String| Error::Corrupt { file: file.to_owned(), format: "model", reason };
    let failed = |source| Error::Read { file: file.to_owned(), source };
    let source: Box<dyn Read> = match path.to_str() {
        Some("-") => Box::new(io::stdin()),
        _ => Box::new(File::open(path).map_err(failed)?),
    };
    let mut opened = source.take(MOST_BYTES);
    let beginning = beginning(&mut opened).map_err(failed)?;
    match beginning.trim_ascii_start().first() {
        Some(b'{') => {}
        Some(&byte) => return Err(corrupt(format!("it starts with {:?} instead of '{{'", char::from(byte)))),
        None if beginning.is_empty() => return Err(corrupt("it is empty".to_owned())),
        None => return Err(corrupt("it starts with too much white space".to_owned())),
    }
    let mut text = Kept { reader: Cursor::new(beginning).chain(opened), bytes: Vec::new() };
    let preamble = {
        let mut json = serde_json::Deserializer::from_reader(BufReader::with_capacity(MOST_SPACE, &mut text));
        Preamble::deserialize(&mut json).and_then(|preamble| json.end().map(|()| preamble))
    };
    let preamble = preamble.map_err(|error| match error.io_error_kind() {
        Some(kind) => failed(io::Error::from(kind)),
        None if text.bytes.len() as u64 >= MOST_BYTES => corrupt(format!("it is larger than {MOST_BYTES} bytes")),
        None => corrupt(error.to_string()),
    })?;
    let text = String::from_utf8(text.bytes).map_err(|_| corrupt("it is not text".to_owned()))?;
    Ok((preamble, text))
}

/// The beginning of a file, up to the first byte that is not white space.
fn beginning(file: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 1 << 10];
    loop {
        let n_read = match file.read(&mut buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            n_read => n_read?,
        };
        bytes.extend_from_slice(&buffer[..n_read]);
        if n_read == 0 || bytes.len() >= MOST_SPACE || !bytes.trim_ascii_start().is_empty() {
            return Ok(bytes);
        }
    }
}

/// A reader that keeps the bytes it has read.
struct Kept<R> {
    reader: R,
    bytes: Vec<u8>,
}

impl<R: Read> Read for Kept<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n_read = self.reader.read(buffer)?;
        self.bytes.extend_from_slice(&buffer[..n_read]);
        Ok(n_read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ModelFile;

    fn refusal(bytes: &[u8]) -> String {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        let message = ModelFile::read(file.path()).unwrap_err().to_string();
        message.split_once(": ").unwrap().1.to_owned()
    }

    #[test]
    fn something_else_is_refused_by_its_first_byte() {
        assert_eq!(refusal(b"PAR1"), "not a valid model file: it starts with 'P' instead of '{'");
        assert_eq!(refusal(b"\n [1]"), "not a valid model file: it starts with '[' instead of '{'");
        assert_eq!(refusal(b""), "not a valid model file: it is empty");
        assert_eq!(refusal(&vec![b' '; 1 << 17]), "not a valid model file: it starts with too much white space");
        assert_eq!(refusal(b"{\"weights\":[\"\xff\"]}"), "not a valid model file: it is not text");
    }

    /// Reading it to its end would exhaust the memory.
    #[cfg(target_os = "linux")]
    #[test]
    fn an_endless_device_is_refused_at_once() {
        let error = ModelFile::read(Path::new("/dev/zero")).unwrap_err();
        assert_eq!(error.to_string(), "/dev/zero: not a valid model file: it starts with '\\0' instead of '{'");
    }

    #[test]
    fn garbage_is_not_read_to_its_end() {
        struct Garbage(usize);
        impl Read for Garbage {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                self.0 += buffer.len();
                buffer.fill(b'{');
                Ok(buffer.len())
            }
        }
        let mut text = Kept { reader: Garbage(0), bytes: Vec::new() };
        let mut json = serde_json::Deserializer::from_reader(BufReader::new(&mut text));
        assert!(Preamble::deserialize(&mut json).is_err());
        drop(json);
        assert!(text.reader.0 <= 1 << 16, "{} bytes read", text.reader.0);
    }
}
