//! Collects rows into record batches: columns of the data unchanged, doubles for numbers, integers for labels.

use std::io;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, RecordBatch, UInt32Array};
use arrow_cast::cast;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use arrow_select::coalesce::BatchCoalescer;

use super::batch::{Batch, Column};
use super::layout::{ColumnKind, TableColumn, TableLayout};
use crate::original::Pieces;

/// Collects rows into columns.
pub(super) struct Gather {
    schema: SchemaRef,
    columns: Vec<TableColumn>,
    /// Builds batches of a fixed size. Columns of the data are written in their original batches, because their
    /// dictionaries would change otherwise.
    coalescer: Option<BatchCoalescer>,
}

impl Gather {
    /// Collects `n_at_once` rows into each record batch except the last; `keeps_dictionaries` says whether the format
    /// allows a different dictionary in each batch.
    pub(super) fn new(layout: &TableLayout, n_at_once: usize, keeps_dictionaries: bool) -> Self {
        let mut fields: Vec<Arc<Field>> = Vec::new();
        if let Some(originals) = &layout.originals {
            let keeps_dictionaries = keeps_dictionaries || originals.has_constant_dictionaries;
            let plain = |field: &Arc<Field>| match field.data_type() {
                DataType::Dictionary(_, values) if !keeps_dictionaries => {
                    Arc::new(Field::clone(field).with_data_type((**values).clone()))
                }
                _ => field.clone(),
            };
            fields.extend(originals.fields.iter().map(plain));
        }
        fields.extend(layout.columns.iter().map(|column| {
            let kind = match column.kind {
                ColumnKind::Number => DataType::Float64,
                ColumnKind::Label => DataType::UInt32,
            };
            Arc::new(Field::new(&column.name, kind, column.is_optional))
        }));
        let schema = Arc::new(Schema::new(fields));
        let coalescer = layout.originals.is_none().then(|| BatchCoalescer::new(schema.clone(), n_at_once));
        Self { schema, columns: layout.columns.clone(), coalescer }
    }

    pub(super) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Adds rows, and passes every full record batch to `write`.
    pub(super) fn add(
        &mut self,
        batch: &Batch,
        mut write: impl FnMut(&RecordBatch) -> io::Result<()>,
    ) -> io::Result<()> {
        let whole = [RecordBatch::new_empty(Arc::new(Schema::empty()))];
        let pieces = match batch.originals.map(|originals| &originals.pieces) {
            Some(Pieces::Arrays(pieces)) => &pieces[..],
            Some(Pieces::Text(_)) => return Err(io::Error::other("text was requested, not typed columns")),
            None => &whole[..],
        };
        let mut first = 0;
        for piece in pieces {
            let n_rows = if batch.originals.is_some() { piece.num_rows() } else { batch.n_rows };
            let batch = self.batch(piece, batch, first, n_rows)?;
            first += n_rows;
            let Some(coalescer) = &mut self.coalescer else {
                write(&batch)?;
                continue;
            };
            coalescer.push_batch(batch).map_err(io::Error::other)?;
            while let Some(batch) = coalescer.next_completed_batch() {
                write(&batch)?;
            }
        }
        Ok(())
    }

    /// Rows starting at `first`: the cells of the data in `piece`, then the new ones.
    fn batch(&self, piece: &RecordBatch, batch: &Batch, first: usize, n_rows: usize) -> io::Result<RecordBatch> {
        let mut arrays: Vec<ArrayRef> = Vec::with_capacity(self.schema.fields().len());
        for (array, field) in piece.columns().iter().zip(self.schema.fields()) {
            let is_same = array.data_type() == field.data_type();
            let array =
                if is_same { array.clone() } else { cast(array, field.data_type()).map_err(io::Error::other)? };
            arrays.push(array);
        }
        for (cells, column) in batch.columns.iter().zip(&self.columns) {
            arrays.push(array(cells, column, first..first + n_rows));
        }
        RecordBatch::try_new(self.schema.clone(), arrays).map_err(io::Error::other)
    }

    /// The remaining rows, if any.
    pub(super) fn rest(&mut self) -> io::Result<Option<RecordBatch>> {
        let Some(coalescer) = &mut self.coalescer else {
            return Ok(None);
        };
        coalescer.finish_buffered_batch().map_err(io::Error::other)?;
        Ok(coalescer.next_completed_batch())
    }
}

fn array(cells: &Column, column: &TableColumn, mut rows: std::ops::Range<usize>) -> ArrayRef {
    match (column.kind, column.is_optional) {
        (ColumnKind::Number, false) => {
            Arc::new(Float64Array::from_iter_values(rows.by_ref().filter_map(|row| cells.number(row))))
        }
        (ColumnKind::Number, true) => Arc::new(rows.map(|row| cells.number(row)).collect::<Float64Array>()),
        (ColumnKind::Label, false) => {
            Arc::new(UInt32Array::from_iter_values(rows.by_ref().filter_map(|row| cells.label(row))))
        }
        (ColumnKind::Label, true) => Arc::new(rows.map(|row| cells.label(row)).collect::<UInt32Array>()),
    }
}
