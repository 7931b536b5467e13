//! Determines which nodes and buffers of a batch belong to which column.

use std::ops::Range;

use arrow_ipc::{MetadataVersion, RecordBatch};
use arrow_schema::{DataType, Field, Schema, UnionMode};

/// The nodes and buffers of a column in a batch.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Extent {
    /// Its first node; the others belong to nested columns.
    pub(super) node: usize,
    pub(super) buffers: Range<usize>,
    /// Number of text buffers, if that varies between batches.
    pub(super) n_texts: Option<i64>,
}

/// The extents of all columns, if the batch matches the schema.
pub(super) fn extents(schema: &Schema, batch: &RecordBatch, version: MetadataVersion) -> Option<Vec<Extent>> {
    let n_texts: Vec<i64> = batch.variadicBufferCounts().into_iter().flatten().collect();
    let mut walk = Walk { n_nodes: 0, n_buffers: 0, n_texts: n_texts.into_iter(), version };
    let mut extents = Vec::with_capacity(schema.fields().len());
    for field in schema.fields() {
        let (node, first_buffer) = (walk.n_nodes, walk.n_buffers);
        let n_texts = walk.n_texts.as_slice().first().copied();
        walk.pass(field)?;
        let has_texts = matches!(field.data_type(), DataType::Utf8View | DataType::BinaryView);
        extents.push(Extent { node, buffers: first_buffer..walk.n_buffers, n_texts: n_texts.filter(|_| has_texts) });
    }
    let (n_nodes, n_buffers) = (batch.nodes()?.len(), batch.buffers()?.len());
    (walk.n_nodes <= n_nodes && walk.n_buffers <= n_buffers).then_some(extents)
}

/// A walk over the columns that counts nodes and buffers.
struct Walk {
    n_nodes: usize,
    n_buffers: usize,
    n_texts: std::vec::IntoIter<i64>,
    version: MetadataVersion,
}

impl Walk {
    fn pass(&mut self, field: &Field) -> Option<()> {
        self.n_nodes += 1;
        let n_buffers = match field.data_type() {
            DataType::Null | DataType::RunEndEncoded(..) => 0,
            DataType::Struct(_) | DataType::FixedSizeList(..) => 1,
            DataType::Utf8
            | DataType::LargeUtf8
            | DataType::Binary
            | DataType::LargeBinary
            | DataType::ListView(_)
            | DataType::LargeListView(_) => 3,
            DataType::Utf8View | DataType::BinaryView => usize::try_from(self.n_texts.next()?).ok()?.checked_add(2)?,
            // Types, offsets if needed and, up to version 4, the validity bitmap.
            DataType::Union(_, mode) => {
                1 + usize::from(*mode == UnionMode::Dense) + usize::from(self.version < MetadataVersion::V5)
            }
            // The validity bitmap, and values, keys or offsets.
            _ => 2,
        };
        self.n_buffers = self.n_buffers.checked_add(n_buffers)?;
        match field.data_type() {
            DataType::List(inner)
            | DataType::LargeList(inner)
            | DataType::ListView(inner)
            | DataType::LargeListView(inner)
            | DataType::FixedSizeList(inner, _)
            | DataType::Map(inner, _) => self.pass(inner),
            DataType::Struct(fields) => fields.iter().try_for_each(|inner| self.pass(inner)),
            DataType::Union(fields, _) => fields.iter().try_for_each(|(_, inner)| self.pass(inner)),
            DataType::RunEndEncoded(ends, values) => self.pass(ends).and_then(|()| self.pass(values)),
            _ => Some(()),
        }
    }
}
