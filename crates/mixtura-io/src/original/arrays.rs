//! Reads Parquet and Arrow tables with their own types.

use std::fs::File;
use std::io::{BufReader, Read, Seek};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use arrow_array::RecordBatch;
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_schema::{ArrowError, SchemaRef};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use super::OriginalSchema;
use crate::{Error, input};

/// Number of Parquet rows decoded at a time.
const BATCH_ROWS: usize = 1 << 14;
/// First bytes of an Arrow file with a footer; streams have no such mark.
const FILE_MARK: &[u8] = b"ARROW1";

type Batches = Box<dyn Iterator<Item = Result<RecordBatch, ArrowError>> + Send>;

/// A table, read batch by batch.
pub(super) struct ArraySource {
    file: String,
    format: &'static str,
    batches: Batches,
    /// Rows read but not yet requested.
    rest: Option<RecordBatch>,
}

impl ArraySource {
    pub(super) fn parquet(path: &Path) -> Result<(OriginalSchema, Self), Error> {
        let file = input::open(path)?;
        Self::open(path, "Parquet", false, || {
            let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(|error| error.to_string())?;
            let schema = builder.schema().clone();
            let reader = builder.with_batch_size(BATCH_ROWS).build().map_err(|error| error.to_string())?;
            Ok((schema, Box::new(reader)))
        })
    }

    pub(super) fn arrow(path: &Path) -> Result<(OriginalSchema, Self), Error> {
        let failed = |source| Error::Read { file: path.display().to_string(), source };
        let mut file = input::open(path)?;
        let mut mark = Vec::new();
        (&mut file).take(FILE_MARK.len() as u64).read_to_end(&mut mark).map_err(failed)?;
        file.rewind().map_err(failed)?;
        let is_file = mark == FILE_MARK;
        // A file has one dictionary per column; a stream may have a different one in every batch.
        Self::open(path, "Arrow", is_file, || arrow_batches(file, is_file).map_err(|error| error.to_string()))
    }

    fn open(
        path: &Path,
        format: &'static str,
        has_constant_dictionaries: bool,
        open: impl FnOnce() -> Result<(SchemaRef, Batches), String>,
    ) -> Result<(OriginalSchema, Self), Error> {
        let file = path.display().to_string();
        let (schema, batches) = guarded(&file, format, open)?;
        let fields = schema.fields().iter().cloned().collect();
        Ok((OriginalSchema { fields, has_constant_dictionaries }, Self { file, format, batches, rest: None }))
    }

    /// The next rows; fewer at the end.
    pub(super) fn rows(&mut self, n_rows: usize) -> Result<Vec<RecordBatch>, Error> {
        let mut pieces = Vec::new();
        let mut n_missing = n_rows;
        while n_missing > 0 {
            let batches = &mut self.batches;
            let next = || batches.next().transpose().map_err(|error| error.to_string());
            let Some(batch) =
                self.rest.take().map_or_else(|| guarded(&self.file, self.format, next), |rest| Ok(Some(rest)))?
            else {
                break;
            };
            let n_taken = batch.num_rows().min(n_missing);
            if n_taken < batch.num_rows() {
                self.rest = Some(batch.slice(n_taken, batch.num_rows() - n_taken));
            }
            if n_taken > 0 {
                pieces.push(batch.slice(0, n_taken));
            }
            n_missing -= n_taken;
        }
        Ok(pieces)
    }
}

fn arrow_batches(file: File, is_file: bool) -> Result<(SchemaRef, Batches), ArrowError> {
    if is_file {
        let reader = FileReader::try_new_buffered(file, None)?;
        Ok((reader.schema(), Box::new(reader)))
    } else {
        let reader = StreamReader::try_new(BufReader::new(file), None)?;
        Ok((reader.schema(), Box::new(reader)))
    }
}

/// Runs the decoder, catching panics caused by corrupt files.
fn guarded<T>(file: &str, format: &'static str, decode: impl FnOnce() -> Result<T, String>) -> Result<T, Error> {
    let decoded = catch_unwind(AssertUnwindSafe(decode));
    let reason = match decoded {
        Ok(Ok(decoded)) => return Ok(decoded),
        Ok(Err(reason)) => reason,
        Err(_) => "the decoder found an impossible value".to_owned(),
    };
    Err(Error::Corrupt { file: file.to_owned(), format, reason })
}
