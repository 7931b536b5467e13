//! Writes Parquet: a column of doubles per name and a column of integers for labels, with zstd.

use std::io;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, RecordBatch, UInt32Array};
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::schema::types::ColumnPath;

use super::{AtomicFile, Batch, TableColumns};

/// Rows of a row group: enough for readers to work side by side, few enough to hold in memory.
const GROUP_ROWS: usize = 1 << 17;
/// Rows gathered as columns before they are handed over.
const BATCH_ROWS: usize = 1 << 13;

pub(super) struct ParquetSink {
    writer: ArrowWriter<AtomicFile>,
    schema: Arc<Schema>,
    columns: Vec<Vec<f64>>,
    labels: Option<Vec<u32>>,
    n_held: usize,
}

impl ParquetSink {
    pub(super) fn new(file: AtomicFile, columns: &TableColumns) -> io::Result<Self> {
        let numbers = columns.names.iter().map(|name| Field::new(name, DataType::Float64, false));
        let labels = columns.label.iter().map(|name| Field::new(name, DataType::UInt32, false));
        let schema = Arc::new(Schema::new(numbers.chain(labels).collect::<Vec<_>>()));
        let mut properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_max_row_group_row_count(Some(GROUP_ROWS))
            // Doubles hardly ever repeat, labels always do.
            .set_dictionary_enabled(false);
        if let Some(label) = &columns.label {
            properties = properties.set_column_dictionary_enabled(ColumnPath::new(vec![label.clone()]), true);
        }
        let writer = ArrowWriter::try_new(file, schema.clone(), Some(properties.build())).map_err(into_io)?;
        let labels = columns.label.is_some().then(Vec::new);
        Ok(Self { writer, schema, columns: vec![Vec::new(); columns.names.len()], labels, n_held: 0 })
    }

    pub(super) fn write(&mut self, batch: Batch) -> io::Result<()> {
        for row in 0..batch.n_rows {
            let (values, label) = batch.row(row);
            for (column, &value) in self.columns.iter_mut().zip(values) {
                column.push(value);
            }
            if let Some(labels) = &mut self.labels {
                labels.extend(label);
            }
            self.n_held += 1;
            if self.n_held == BATCH_ROWS {
                self.hand_over()?;
            }
        }
        Ok(())
    }

    pub(super) fn finish(mut self) -> io::Result<AtomicFile> {
        if self.n_held > 0 {
            self.hand_over()?;
        }
        self.writer.into_inner().map_err(into_io)
    }

    fn hand_over(&mut self) -> io::Result<()> {
        self.n_held = 0;
        let numbers = self.columns.iter_mut().map(|column| {
            let full = std::mem::replace(column, Vec::with_capacity(BATCH_ROWS));
            Arc::new(Float64Array::from(full)) as ArrayRef
        });
        let labels = self.labels.iter_mut().map(|labels| {
            let full = std::mem::replace(labels, Vec::with_capacity(BATCH_ROWS));
            Arc::new(UInt32Array::from(full)) as ArrayRef
        });
        let batch =
            RecordBatch::try_new(self.schema.clone(), numbers.chain(labels).collect()).map_err(io::Error::other)?;
        self.writer.write(&batch).map_err(into_io)
    }
}

/// The system's own error, if there is one inside, so that a full disk is called a full disk.
fn into_io(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(inner) => io::Error::other(inner),
        },
        error => io::Error::other(error),
    }
}
