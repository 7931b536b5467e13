//! Locates the messages of an Arrow file from its footer, and those of a stream by reading through it.

use std::sync::Arc;

use arrow_ipc::convert::fb_to_schema;
use arrow_ipc::{Block, MessageHeader};
use arrow_schema::{Schema, SchemaRef};

use super::source::{Message, Next, Source, first_line};
use crate::Error;

/// First and last bytes of files with a footer; streams have no such mark.
const MARK: &[u8] = b"ARROW1";
/// Bytes before the first message: the mark and padding.
const HEAD_BYTES: u64 = 8;
/// Bytes after the footer: its length and the mark.
const TAIL_BYTES: u64 = 4 + MARK.len() as u64;
/// First bytes of Feather version 1, an entirely different format.
const OLD_FEATHER_MARK: &[u8] = b"FEA1";

/// The layout of a file.
pub(super) struct Layout {
    pub(super) schema: SchemaRef,
    /// Dictionaries and batches, in reading order.
    pub(super) parts: Vec<Part>,
    /// Notes for the user.
    pub(super) notices: Vec<String>,
}

/// A message with data, with its position in the file.
#[derive(Clone, Copy)]
pub(super) enum Part {
    Dictionary { position: u64 },
    Batch { position: u64, n_rows: usize },
}

impl Layout {
    pub(super) fn find(source: &Source) -> Result<Self, Error> {
        let beginning = source.bytes(0, source.n_bytes.min(HEAD_BYTES))?;
        if beginning.starts_with(MARK) {
            from_footer(source)
        } else if beginning.starts_with(OLD_FEATHER_MARK) {
            Err(source.unsupported("Feather version 1 is not supported; save the table as version 2"))
        } else {
            from_stream(source)
        }
    }
}

fn from_footer(source: &Source) -> Result<Layout, Error> {
    let tail_start = source.n_bytes.saturating_sub(TAIL_BYTES);
    let tail = source.bytes(tail_start, TAIL_BYTES)?;
    let (length, mark) = tail.split_at(4);
    if mark != MARK {
        return Err(source.corrupt(&"it does not end like an Arrow file"));
    }
    let length = length.iter().rev().fold(0u64, |length, &byte| length << 8 | u64::from(byte));
    let footer_start = tail_start.checked_sub(length).filter(|&start| start >= HEAD_BYTES);
    let footer_start =
        footer_start.ok_or_else(|| source.corrupt(&format!("its footer claims to be {length} bytes long")))?;
    let bytes = source.bytes(footer_start, length)?;
    let footer = arrow_ipc::root_as_footer(&bytes)
        .map_err(|error| source.corrupt(&format!("its footer is corrupt: {}", first_line(&error))))?;
    let schema = schema(source, footer.schema())?;
    let mut n_bytes_left = footer_start;
    let mut find = |block: &Block| {
        let position = u64::try_from(block.offset()).unwrap_or(u64::MAX);
        let message = source.message(position)?;
        // Messages do not overlap, or a small file could hold any number of rows.
        n_bytes_left = (n_bytes_left.checked_sub(message.end() - position))
            .ok_or_else(|| source.corrupt(&"its footer lists more messages than fit into the file"))?;
        part(source, position, &message)
    };
    let dictionaries = footer.dictionaries().into_iter().flatten();
    let batches = footer.recordBatches().into_iter().flatten();
    let parts = dictionaries.chain(batches).map(&mut find).collect::<Result<_, _>>()?;
    Ok(Layout { schema, parts, notices: Vec::new() })
}

fn from_stream(source: &Source) -> Result<Layout, Error> {
    let first = match source.next(0) {
        Ok(Next::Message(message)) => message,
        Err(error @ Error::Read { .. }) => return Err(error),
        _ => return Err(source.corrupt(&"it does not start like an Arrow file")),
    };
    let message = first.parse().map_err(|reason| source.corrupt(&reason))?;
    let schema = schema(source, message.header_as_schema())?;
    let (mut parts, mut notices) = (Vec::new(), Vec::new());
    let mut position = first.end();
    while position < source.n_bytes {
        match source.next(position)? {
            Next::Message(message) => {
                parts.push(part(source, position, &message)?);
                position = message.end();
            }
            Next::End(end) if end < source.n_bytes => {
                notices.push(source.notice(&format!("ignored {} bytes after the table", source.n_bytes - end)));
                return Ok(Layout { schema, parts, notices });
            }
            Next::End(_) => return Ok(Layout { schema, parts, notices }),
        }
    }
    notices.push(source.notice("the stream has no end marker; rows may be missing"));
    Ok(Layout { schema, parts, notices })
}

fn part(source: &Source, position: u64, message: &Message) -> Result<Part, Error> {
    let message = message.parse().map_err(|reason| source.corrupt(&reason))?;
    match (message.header_type(), message.header_as_record_batch()) {
        (MessageHeader::DictionaryBatch, _) => Ok(Part::Dictionary { position }),
        (_, Some(batch)) => match usize::try_from(batch.length()) {
            Ok(n_rows) => Ok(Part::Batch { position, n_rows }),
            Err(_) => Err(source.corrupt(&format!("a batch claims to have {} rows", batch.length()))),
        },
        (kind, None) => Err(source.corrupt(&format!("found a message of type {kind:?} instead of rows"))),
    }
}

fn schema(source: &Source, schema: Option<arrow_ipc::Schema>) -> Result<SchemaRef, Error> {
    let schema = schema.ok_or_else(|| source.corrupt(&"it has no schema"))?;
    if !schema.endianness().equals_to_target_endianness() {
        return Err(source.unsupported("the numbers have a different byte order than this machine"));
    }
    let schema: Schema = fb_to_schema(schema);
    Ok(Arc::new(schema))
}
