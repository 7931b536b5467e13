//! Writes Parquet with zstd compression: columns of the data in their own types, doubles for numbers, integers for
//! labels.

use std::io;

use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::schema::types::ColumnPath;

use super::AtomicFile;
use super::batch::Batch;
use super::gather::Gather;
use super::layout::{ColumnKind, TableLayout};

/// Number of rows per row group: small enough for parallel readers and to hold in memory.
const GROUP_ROWS: usize = 1 << 17;
/// Number of rows collected before they are passed to the writer.
const BATCH_ROWS: usize = 1 << 13;

pub(super) struct ParquetSink {
    writer: ArrowWriter<AtomicFile>,
    gather: Gather,
}

impl ParquetSink {
    pub(super) fn new(file: AtomicFile, layout: &TableLayout) -> io::Result<Self> {
        let gather = Gather::new(layout, BATCH_ROWS, true);
        let mut properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_max_row_group_row_count(Some(GROUP_ROWS));
        // Doubles rarely repeat, so a dictionary would not help; labels and most columns of the data do.
        for column in layout.columns.iter().filter(|column| column.kind == ColumnKind::Number) {
            let path = ColumnPath::new(vec![column.name.clone()]);
            properties = properties.set_column_dictionary_enabled(path, false);
        }
        let schema = gather.schema().clone();
        let writer = ArrowWriter::try_new(file, schema, Some(properties.build())).map_err(into_io)?;
        Ok(Self { writer, gather })
    }

    pub(super) fn write(&mut self, batch: &Batch) -> io::Result<()> {
        self.gather.add(batch, |batch| self.writer.write(batch).map_err(into_io))
    }

    pub(super) fn finish(mut self) -> io::Result<AtomicFile> {
        if let Some(batch) = self.gather.rest()? {
            self.writer.write(&batch).map_err(into_io)?;
        }
        self.writer.into_inner().map_err(into_io)
    }
}

/// The underlying system error, if there is one, so that a full disk is reported as such.
fn into_io(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(inner) => io::Error::other(inner),
        },
        error => io::Error::other(error),
    }
}
