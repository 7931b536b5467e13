//! Gathers rows into record batches: a column of doubles per name and a column of integers for labels.

use std::io;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, RecordBatch, UInt32Array};
use arrow_schema::{DataType, Field, Schema};

use super::{Batch, TableColumns};

/// Rows on their way into columns.
pub(super) struct Gather {
    schema: Arc<Schema>,
    columns: Vec<Vec<f64>>,
    labels: Option<Vec<u32>>,
    n_held: usize,
    n_at_once: usize,
}

impl Gather {
    /// Gathers `n_at_once` rows into each record batch but the last.
    pub(super) fn new(columns: &TableColumns, n_at_once: usize) -> Self {
        let numbers = columns.names.iter().map(|name| Field::new(name, DataType::Float64, false));
        let labels = columns.label.iter().map(|name| Field::new(name, DataType::UInt32, false));
        let schema = Arc::new(Schema::new(numbers.chain(labels).collect::<Vec<_>>()));
        let labels = columns.label.is_some().then(Vec::new);
        Self { schema, columns: vec![Vec::new(); columns.names.len()], labels, n_held: 0, n_at_once }
    }

    pub(super) fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    /// Takes rows in, and hands every record batch that is full to `write`.
    pub(super) fn add(
        &mut self,
        batch: Batch,
        mut write: impl FnMut(&RecordBatch) -> io::Result<()>,
    ) -> io::Result<()> {
        for row in 0..batch.n_rows {
            let (values, label) = batch.row(row);
            for (column, &value) in self.columns.iter_mut().zip(values) {
                column.push(value);
            }
            if let Some(labels) = &mut self.labels {
                labels.extend(label);
            }
            self.n_held += 1;
            if self.n_held == self.n_at_once {
                write(&self.hand_over()?)?;
            }
        }
        Ok(())
    }

    /// The rows that are still held, if there are any.
    pub(super) fn rest(&mut self) -> io::Result<Option<RecordBatch>> {
        if self.n_held == 0 { Ok(None) } else { self.hand_over().map(Some) }
    }

    fn hand_over(&mut self) -> io::Result<RecordBatch> {
        self.n_held = 0;
        let numbers = self.columns.iter_mut().map(|column| {
            let full = std::mem::replace(column, Vec::with_capacity(self.n_at_once));
            Arc::new(Float64Array::from(full)) as ArrayRef
        });
        let labels = self.labels.iter_mut().map(|labels| {
            let full = std::mem::replace(labels, Vec::with_capacity(self.n_at_once));
            Arc::new(UInt32Array::from(full)) as ArrayRef
        });
        RecordBatch::try_new(self.schema.clone(), numbers.chain(labels).collect()).map_err(io::Error::other)
    }
}
