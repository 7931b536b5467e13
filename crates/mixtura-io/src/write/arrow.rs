//! Writes Arrow files and streams, uncompressed, so that other programs can memory-map them.

use std::io;

use arrow_array::RecordBatch;
use arrow_ipc::writer::{FileWriter, StreamWriter};
use arrow_schema::ArrowError;

use super::AtomicFile;
use super::batch::Batch;
use super::gather::Gather;
use super::layout::TableLayout;

/// Number of rows per batch.
const BATCH_ROWS: usize = 1 << 14;

pub(super) struct ArrowSink {
    writer: Writer,
    gather: Gather,
}

enum Writer {
    /// With a footer that lists the positions of the batches.
    File(FileWriter<AtomicFile>),
    Stream(StreamWriter<AtomicFile>),
}

impl ArrowSink {
    pub(super) fn file(file: AtomicFile, layout: &TableLayout) -> io::Result<Self> {
        // The footer of a file lists dictionaries before batches: each column has one dictionary for all batches.
        let gather = Gather::new(layout, BATCH_ROWS, false);
        let writer = FileWriter::try_new(file, gather.schema()).map(Writer::File).map_err(into_io)?;
        Ok(Self { writer, gather })
    }

    pub(super) fn stream(file: AtomicFile, layout: &TableLayout) -> io::Result<Self> {
        let gather = Gather::new(layout, BATCH_ROWS, true);
        let writer = StreamWriter::try_new(file, gather.schema()).map(Writer::Stream).map_err(into_io)?;
        Ok(Self { writer, gather })
    }

    pub(super) fn write(&mut self, batch: &Batch) -> io::Result<()> {
        self.gather.add(batch, |batch| self.writer.write(batch))
    }

    pub(super) fn finish(mut self) -> io::Result<AtomicFile> {
        if let Some(batch) = self.gather.rest()? {
            self.writer.write(&batch)?;
        }
        match self.writer {
            Writer::File(writer) => writer.into_inner().map_err(into_io),
            Writer::Stream(writer) => writer.into_inner().map_err(into_io),
        }
    }
}

impl Writer {
    fn write(&mut self, batch: &RecordBatch) -> io::Result<()> {
        match self {
            Self::File(writer) => writer.write(batch).map_err(into_io),
            Self::Stream(writer) => writer.write(batch).map_err(into_io),
        }
    }
}

/// The underlying system error, if there is one, so that a full disk is reported as such.
fn into_io(error: ArrowError) -> io::Error {
    match error {
        ArrowError::IoError(_, error) => error,
        error => io::Error::other(error),
    }
}
