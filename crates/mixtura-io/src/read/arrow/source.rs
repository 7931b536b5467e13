//! Reads messages and parts of their bodies from an open file, with bounds checks.

use crate::Error;
use crate::opened::SharedFile;

/// Marker before the length of a message, omitted by the oldest writers.
const CONTINUATION: [u8; 4] = [0xff; 4];

/// An open file of known length.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    file: &'a SharedFile,
    pub(super) n_bytes: u64,
}

/// A message: its metadata, and the position of its body.
pub(super) struct Message {
    metadata: Vec<u8>,
    body_start: u64,
    n_body: u64,
}

/// The next item of a stream.
pub(super) enum Next {
    Message(Message),
    /// The end marker, with the position after it.
    End(u64),
}

impl<'a> Source<'a> {
    pub(super) fn new(file: &'a SharedFile) -> Self {
        Self { file, n_bytes: file.n_bytes }
    }

    /// Fills `bytes` from a position.
    pub(super) fn read(&self, position: u64, bytes: &mut [u8]) -> Result<(), Error> {
        self.file.read_exact_at(position, bytes).map_err(|source| Error::Read { file: self.file.name(), source })
    }

    /// The requested number of bytes, if the file has them.
    pub(super) fn bytes(&self, position: u64, n_bytes: u64) -> Result<Vec<u8>, Error> {
        self.refuse_beyond(position, n_bytes)?;
        let mut bytes = vec![0; n_bytes as usize];
        self.read(position, &mut bytes)?;
        Ok(bytes)
    }

    /// The message or the end marker at a position.
    pub(super) fn next(&self, position: u64) -> Result<Next, Error> {
        let mut prefix = self.word(position)?;
        let mut metadata_start = position + 4;
        if prefix == CONTINUATION {
            prefix = self.word(position + 4)?;
            metadata_start += 4;
        }
        let n_metadata = i32::from_le_bytes(prefix);
        if n_metadata == 0 {
            return Ok(Next::End(metadata_start));
        }
        let n_metadata = u64::try_from(n_metadata)
            .map_err(|_| self.corrupt(&format!("a message claims to have {n_metadata} bytes")))?;
        let metadata = self.bytes(metadata_start, n_metadata)?;
        let n_body = parse(&metadata).map_err(|reason| self.corrupt(&reason))?.bodyLength();
        let n_body = u64::try_from(n_body)
            .map_err(|_| self.corrupt(&format!("the body of a message claims to have {n_body} bytes")))?;
        let body_start = metadata_start + n_metadata;
        self.refuse_beyond(body_start, n_body)?;
        Ok(Next::Message(Message { metadata, body_start, n_body }))
    }

    /// The message at a position.
    pub(super) fn message(&self, position: u64) -> Result<Message, Error> {
        match self.next(position)? {
            Next::Message(message) => Ok(message),
            Next::End(_) => Err(self.corrupt(&"a message is missing")),
        }
    }

    pub(super) fn notice(&self, text: &str) -> String {
        format!("{}: {text}", self.file.name())
    }

    pub(super) fn corrupt(&self, reason: &dyn ToString) -> Error {
        Error::Corrupt { file: self.file.name(), format: "Arrow", reason: reason.to_string() }
    }

    pub(super) fn unsupported(&self, reason: &str) -> Error {
        Error::Unsupported { file: self.file.name(), reason: reason.to_owned() }
    }

    fn word(&self, position: u64) -> Result<[u8; 4], Error> {
        self.refuse_beyond(position, 4)?;
        let mut word = [0; 4];
        self.read(position, &mut word)?;
        Ok(word)
    }

    fn refuse_beyond(&self, position: u64, n_bytes: u64) -> Result<(), Error> {
        match position.checked_add(n_bytes) {
            Some(end) if end <= self.n_bytes => Ok(()),
            _ => {
                let reason =
                    format!("expected {n_bytes} bytes at byte {position}, but the file has only {}", self.n_bytes);
                Err(self.corrupt(&reason))
            }
        }
    }
}

impl Message {
    pub(super) fn parse(&self) -> Result<arrow_ipc::Message<'_>, String> {
        parse(&self.metadata)
    }

    /// The first byte after the message.
    pub(super) fn end(&self) -> u64 {
        self.body_start + self.n_body
    }

    /// The position of a part of the body in the file, if it is within the body.
    pub(super) fn place(&self, part: arrow_ipc::Buffer) -> Option<(u64, u64)> {
        let (offset, n_bytes) = (u64::try_from(part.offset()).ok()?, u64::try_from(part.length()).ok()?);
        let end = offset.checked_add(n_bytes)?;
        (end <= self.n_body).then_some((self.body_start + offset, n_bytes))
    }

    /// The whole body.
    pub(super) fn body(&self) -> (u64, u64) {
        (self.body_start, self.n_body)
    }
}

fn parse(metadata: &[u8]) -> Result<arrow_ipc::Message<'_>, String> {
    arrow_ipc::root_as_message(metadata)
        .map_err(|error| format!("the metadata of a message is corrupt: {}", first_line(&error)))
}

/// The first line of an error about metadata, without the trace.
pub(super) fn first_line(error: &dyn ToString) -> String {
    error.to_string().lines().next().unwrap_or_default().trim_end_matches('.').to_owned()
}
