//! Reads single columns of a batch, in pieces if the values are stored uncompressed.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_buffer::{Buffer, MutableBuffer};
use arrow_ipc::reader::{RecordBatchDecoder, read_dictionary};
use arrow_ipc::{
    BodyCompression, BodyCompressionArgs, BodyCompressionMethod, CompressionType, FieldNode, MetadataVersion,
    RecordBatch, RecordBatchArgs,
};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use arrow_select::take::take;
use flatbuffers::FlatBufferBuilder;

use super::super::arrays::{PIECE_ROWS, Piece};
use super::extent::{Extent, extents};
use super::source::{Message, Source, first_line};
use crate::{Error, memory};

/// Buffers larger than this are checked against the available memory; checking every buffer would be slow.
const LARGE_BYTES: usize = 64 << 20;

/// Alignment of buffers in memory.
const ALIGNMENT: u64 = 64;

/// Values of dictionary-encoded columns, by dictionary number.
pub(super) type Dictionaries = HashMap<i64, ArrayRef>;

/// A batch, as its metadata describes it.
pub(super) struct Batch {
    /// Position of its message in the file.
    pub(super) position: u64,
    pub(super) first_row: usize,
    pub(super) n_rows: usize,
    /// The dictionaries in effect at this batch.
    pub(super) dictionaries: Arc<Dictionaries>,
}

/// A batch whose columns are read one by one, so that only one needs to be in memory.
pub(super) struct BatchReader<'s, 'a> {
    source: &'s Source<'a>,
    schema: &'s Schema,
    batch: &'s Batch,
    message: Message,
    extents: Vec<Extent>,
}

/// A column of a batch, or some of its rows, as passed to the decoder.
struct Narrow<'a> {
    field: &'a Field,
    n_rows: usize,
    n_empty: i64,
    /// Positions and lengths of its buffers in the file.
    places: Vec<(u64, u64)>,
    n_texts: Option<i64>,
    compression: Option<CompressionType>,
    version: MetadataVersion,
}

impl<'s, 'a> BatchReader<'s, 'a> {
    pub(super) fn open(source: &'s Source<'a>, schema: &'s Schema, batch: &'s Batch) -> Result<Self, Error> {
        let message = source.message(batch.position)?;
        let extents = message
            .parse()
            .map(|parsed| parsed.header_as_record_batch().and_then(|batch| extents(schema, &batch, parsed.version())));
        match extents {
            Ok(Some(extents)) => Ok(Self { source, schema, batch, message, extents }),
            Ok(None) => Err(source.corrupt(&"a batch does not have the columns of the schema")),
            Err(reason) => Err(source.corrupt(&reason)),
        }
    }

    /// Passes every piece of a column to `take`.
    pub(super) fn column(&self, column: usize, mut take: impl FnMut(Piece) -> Result<(), Error>) -> Result<(), Error> {
        let whole = self.narrow(column)?;
        let n_rows = whole.n_rows;
        let value_bits = whole.value_bits().filter(|_| whole.compression.is_none() && whole.n_empty == 0);
        let n_at_once = if value_bits.is_some() { PIECE_ROWS } else { n_rows.max(1) };
        for first in (0..n_rows).step_by(n_at_once) {
            let part = value_bits.map(|n_bits| whole.rows(first, n_at_once.min(n_rows - first), n_bits));
            let array = self.decode(part.as_ref().unwrap_or(&whole))?;
            for offset in (0..array.len()).step_by(PIECE_ROWS) {
                let array = array.slice(offset, PIECE_ROWS.min(array.len() - offset));
                let array = &plain(array).map_err(|error| self.source.corrupt(&error))?;
                take(Piece { first_row: self.batch.first_row + first + offset, column, array })?;
            }
        }
        Ok(())
    }

    fn narrow(&self, column: usize) -> Result<Narrow<'s>, Error> {
        let n_rows = self.batch.n_rows;
        let extent = &self.extents[column];
        let field = self.schema.field(column);
        let corrupt = |reason: &str| self.source.corrupt(&format!("column {:?} of a batch {reason}", field.name()));
        let message = self.message.parse().map_err(|reason| self.source.corrupt(&reason))?;
        let batch = message.header_as_record_batch();
        let (compression, nodes, buffers) = batch
            .and_then(|batch| Some((batch.compression(), batch.nodes()?, batch.buffers()?)))
            .ok_or_else(|| corrupt("is missing"))?;
        let node = nodes.get(extent.node);
        if usize::try_from(node.length()) != Ok(n_rows) {
            return Err(corrupt(&format!("has {} rows, but the batch has {n_rows}", node.length())));
        }
        let places = extent.buffers.clone().map(|index| self.message.place(*buffers.get(index)));
        let places: Option<Vec<_>> = places.collect();
        let places = places.ok_or_else(|| corrupt("lies outside the batch"))?;
        let n_bytes = places.iter().fold(0u64, |sum, &(_, n_bytes)| sum.saturating_add(n_bytes));
        if n_bytes > self.message.body().1 {
            return Err(corrupt("is larger than the batch"));
        }
        let narrow = Narrow {
            field,
            n_rows,
            n_empty: node.null_count(),
            places,
            n_texts: extent.n_texts,
            compression: compression.map(|compression| compression.codec()),
            version: message.version(),
        };
        if narrow.compression.is_none() && !narrow.has_all_values() {
            return Err(corrupt(&format!("is too short for {n_rows} rows")));
        }
        Ok(narrow)
    }

    fn decode(&self, narrow: &Narrow) -> Result<ArrayRef, Error> {
        let mut parts = Vec::with_capacity(narrow.places.len());
        let mut n_body = 0u64;
        for &(_, n_bytes) in &narrow.places {
            parts.push(arrow_ipc::Buffer::new(n_body.cast_signed(), n_bytes.cast_signed()));
            n_body += n_bytes.next_multiple_of(ALIGNMENT);
        }
        let mut body = MutableBuffer::from_len_zeroed(n_body as usize);
        for (&(position, n_bytes), part) in narrow.places.iter().zip(&parts) {
            self.source.read(position, &mut body[part.offset() as usize..][..n_bytes as usize])?;
        }
        let header = narrow.header(&parts);
        decode_one(narrow, &header, &body.into(), &self.batch.dictionaries).map_err(|error| self.source.corrupt(&error))
    }
}

impl Narrow<'_> {
    /// Bits per value or key, if the size is fixed.
    fn value_bits(&self) -> Option<usize> {
        match self.field.data_type() {
            DataType::Boolean => Some(1),
            DataType::Dictionary(keys, _) => keys.primitive_width().map(|n_bytes| 8 * n_bytes),
            kind => kind.primitive_width().map(|n_bytes| 8 * n_bytes),
        }
    }

    fn has_all_values(&self) -> bool {
        let (Some(n_bits), Some(&(_, n_bytes))) = (self.value_bits(), self.places.get(1)) else {
            return true;
        };
        self.n_rows.checked_mul(n_bits).is_some_and(|n_bits| n_bits.div_ceil(8) as u64 <= n_bytes)
    }

    /// Some rows of a column without nulls; the first row is a multiple of 8.
    fn rows(&self, first_row: usize, n_rows: usize, n_bits: usize) -> Self {
        let start = self.places[1].0 + (first_row * n_bits / 8) as u64;
        let places = vec![(start, 0), (start, (n_rows * n_bits).div_ceil(8) as u64)];
        Self { n_rows, places, ..*self }
    }

    /// The metadata of a batch that has only this column.
    fn header(&self, parts: &[arrow_ipc::Buffer]) -> Vec<u8> {
        let n_rows = (self.n_rows as u64).cast_signed();
        let mut builder = FlatBufferBuilder::new();
        let nodes = builder.create_vector(&[FieldNode::new(n_rows, self.n_empty)]);
        let buffers = builder.create_vector(parts);
        let texts = self.n_texts.map(|n_texts| builder.create_vector(&[n_texts]));
        let compression = self.compression.map(|codec| {
            BodyCompression::create(&mut builder, &BodyCompressionArgs { codec, method: BodyCompressionMethod::BUFFER })
        });
        let arguments = RecordBatchArgs {
            length: n_rows,
            nodes: Some(nodes),
            buffers: Some(buffers),
            compression,
            variadicBufferCounts: texts,
        };
        let batch = RecordBatch::create(&mut builder, &arguments);
        builder.finish(batch, None);
        builder.finished_data().to_vec()
    }
}

fn decode_one(
    narrow: &Narrow,
    header: &[u8],
    body: &Buffer,
    dictionaries: &Dictionaries,
) -> Result<ArrayRef, ArrowError> {
    let batch = flatbuffers::root::<RecordBatch>(header).map_err(|error| ArrowError::IpcError(first_line(&error)))?;
    refuse_beyond_memory(&batch, body)?;
    // Nulls are reported with their location, whatever the schema says about nullability.
    let schema = Schema::new(vec![narrow.field.clone().with_nullable(true)]);
    let decoder = RecordBatchDecoder::try_new(body, batch, Arc::new(schema), dictionaries, &narrow.version)?;
    Ok(decoder.read_record_batch()?.column(0).clone())
}

/// Adds the dictionary at a position to the known ones, or replaces one of them.
pub(super) fn add_dictionary(
    source: &Source,
    position: u64,
    schema: &Schema,
    dictionaries: &mut Dictionaries,
) -> Result<(), Error> {
    let message = source.message(position)?;
    let (start, n_bytes) = message.body();
    let mut body = MutableBuffer::from_len_zeroed(n_bytes as usize);
    source.read(start, &mut body)?;
    let body: Buffer = body.into();
    let parsed = message.parse().map_err(|reason| source.corrupt(&reason))?;
    let dictionary = parsed.header_as_dictionary_batch().ok_or_else(|| source.corrupt(&"a dictionary is missing"))?;
    let data = dictionary.data().ok_or_else(|| source.corrupt(&"a dictionary has no values"))?;
    refuse_beyond_memory(&data, &body)
        .and_then(|()| read_dictionary(&body, dictionary, schema, dictionaries, &parsed.version()))
        .map_err(|error| source.corrupt(&error))
}

/// Rejects compressed buffers that claim more bytes than there is memory: the decoder allocates that
/// memory before it reads a value.
fn refuse_beyond_memory(batch: &RecordBatch, body: &[u8]) -> Result<(), ArrowError> {
    if batch.compression().is_none() {
        return Ok(());
    }
    for buffer in batch.buffers().into_iter().flatten() {
        let start = usize::try_from(buffer.offset()).ok().and_then(|offset| body.get(offset..));
        let Some(prefix) = start.and_then(<[u8]>::first_chunk).filter(|_| buffer.length() > 0) else {
            continue;
        };
        let n_bytes = usize::try_from(i64::from_le_bytes(*prefix)).unwrap_or(0);
        let is_beyond =
            n_bytes > LARGE_BYTES && memory::available().is_some_and(|n_available| n_bytes as u64 > n_available);
        if is_beyond || Vec::<u8>::new().try_reserve_exact(n_bytes).is_err() {
            let reason = format!("a compressed buffer claims to contain {n_bytes} bytes");
            return Err(ArrowError::MemoryError(reason));
        }
    }
    Ok(())
}

/// The values of an array, looked up in the dictionary if it is dictionary-encoded.
fn plain(array: ArrayRef) -> Result<ArrayRef, ArrowError> {
    match array.as_any_dictionary_opt() {
        Some(dictionary) => take(dictionary.values(), dictionary.keys(), None),
        None => Ok(array),
    }
}
