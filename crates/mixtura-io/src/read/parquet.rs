//! Reads Parquet files: row groups and columns are decoded in parallel, directly into the rows.

use std::sync::Mutex;

use arrow_array::ArrayRef;
use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, Length};
use rayon::prelude::*;

use super::arrays::{self, Numbers, PIECE_ROWS, Piece};
use super::columns::refuse_too_many;
use super::{Assembly, Header, Selection};
use crate::opened::{SharedFile, SharedReader};
use crate::{Error, ReadOptions, Table};

pub(super) fn read(file: &SharedFile, options: &ReadOptions) -> Result<Table, Error> {
    let file = ParquetFile::open(file)?;
    let header = file.header()?;
    let fields = file.metadata.schema().fields();
    let selection = Selection::of_numbers(&header, options, fields)?;
    if arrays::are_single(fields, &selection) {
        file.read_into(Assembly::<f32>::new(header, selection, options)?, options)
    } else {
        file.read_into(Assembly::<f64>::new(header, selection, options)?, options)
    }
}

impl Length for SharedFile {
    fn len(&self) -> u64 {
        self.n_bytes
    }
}

impl ChunkReader for SharedFile {
    type T = SharedReader;

    fn get_read(&self, start: u64) -> parquet::errors::Result<SharedReader> {
        Ok(self.reader(start))
    }

    fn get_bytes(&self, start: u64, length: usize) -> parquet::errors::Result<Bytes> {
        // Do not allocate memory for bytes that the file does not have.
        if start.checked_add(length as u64).is_none_or(|end| end > self.n_bytes) {
            let reason = format!("expected {length} bytes at byte {start}, but the file has only {}", self.n_bytes);
            return Err(ParquetError::EOF(reason));
        }
        let mut bytes = vec![0; length];
        self.read_exact_at(start, &mut bytes)?;
        Ok(bytes.into())
    }
}

/// An open file and its footer.
struct ParquetFile<'a> {
    file: &'a SharedFile,
    metadata: ArrowReaderMetadata,
    groups: Vec<Group>,
    is_plausible: bool,
}

/// A row group, as the footer describes it.
#[derive(Clone, Copy)]
struct Group {
    index: usize,
    first_row: usize,
    n_rows: usize,
}

impl<'a> ParquetFile<'a> {
    fn open(file: &'a SharedFile) -> Result<Self, Error> {
        // The file's own types suffice, and are fewer than those of the embedded Arrow schema.
        let metadata = ArrowReaderMetadata::load(file, ArrowReaderOptions::new().with_skip_arrow_metadata(true))
            .map_err(|error| corrupt(file, &error))?;
        let mut groups = Vec::new();
        let mut first_row = 0usize;
        for (index, group) in metadata.metadata().row_groups().iter().enumerate() {
            let count = usize::try_from(group.num_rows()).ok();
            let ends = count.and_then(|n_rows| Some((n_rows, first_row.checked_add(n_rows)?)));
            let (n_rows, end) = ends.ok_or_else(|| {
                corrupt(file, &format!("row group {} claims to have {} rows", index + 1, group.num_rows()))
            })?;
            groups.push(Group { index, first_row, n_rows });
            first_row = end;
        }
        let is_plausible = arrays::is_plausible(first_row, file.n_bytes);
        Ok(Self { file, metadata, groups, is_plausible })
    }

    fn header(&self) -> Result<Header, Error> {
        let fields = self.metadata.schema().fields();
        refuse_too_many(&self.file.name(), fields.len())?;
        let names = fields.iter().map(|field| field.name().clone()).collect();
        Ok(Header::new(self.file.name(), names, fields.len()))
    }

    fn read_into<T: Numbers>(&self, mut assembly: Assembly<T>, options: &ReadOptions) -> Result<Table, Error> {
        self.read_data(&mut assembly)?;
        if let Some(column) = assembly.selection.weights {
            for group in &self.groups {
                self.decode(*group, column, |first_row, array| {
                    assembly.push_weight_piece(Piece { first_row, column, array })
                })?;
            }
        }
        if let Some(column) = assembly.selection.labels {
            for group in &self.groups {
                self.decode(*group, column, |first_row, array| {
                    assembly.push_label_piece(Piece { first_row, column, array })
                })?;
            }
        }
        assembly.finish(options)
    }

    fn read_data<T: Numbers>(&self, assembly: &mut Assembly<T>) -> Result<(), Error> {
        let Assembly { header, selection, growing, .. } = assembly;
        // If the footer claims more rows than such a file can contain, each group must deliver its rows
        // before memory is allocated for the next one.
        let n_at_once = if self.is_plausible { self.groups.len().max(1) } else { 1 };
        if self.is_plausible {
            growing.resize(self.groups.iter().map(|group| group.n_rows).sum())?;
        }
        for groups in self.groups.chunks(n_at_once) {
            let tasks: Vec<(Group, usize)> = groups
                .iter()
                .flat_map(|&group| (0..selection.data.len()).map(move |position| (group, position)))
                .collect();
            let shared = Mutex::new(&mut *growing);
            let outcomes: Vec<Result<(), Error>> = tasks
                .par_iter()
                .map(|&(group, position)| {
                    let column = selection.data[position];
                    self.decode(group, column, |first_row, array| {
                        header.write_piece(Piece { first_row, column, array }, position, &shared)
                    })
                })
                .collect();
            outcomes.into_iter().collect::<Result<(), Error>>()?;
        }
        Ok(())
    }

    /// Passes every piece of a column of a group to `take`, with its first row.
    fn decode(
        &self,
        group: Group,
        column: usize,
        mut take: impl FnMut(usize, &ArrayRef) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mask = ProjectionMask::roots(self.metadata.metadata().file_metadata().schema_descr(), [column]);
        let batches = ParquetRecordBatchReaderBuilder::new_with_metadata(self.file.clone(), self.metadata.clone())
            .with_projection(mask)
            .with_row_groups(vec![group.index])
            .with_batch_size(PIECE_ROWS)
            .build()
            .map_err(|error| corrupt(self.file, &error))?;
        let mut n_rows = 0;
        for batch in batches {
            let batch = batch.map_err(|error| corrupt(self.file, &error))?;
            if batch.num_rows() > group.n_rows - n_rows {
                return Err(self.wrong_count(group, n_rows + batch.num_rows()));
            }
            take(group.first_row + n_rows, batch.column(0))?;
            n_rows += batch.num_rows();
        }
        if n_rows == group.n_rows { Ok(()) } else { Err(self.wrong_count(group, n_rows)) }
    }

    fn wrong_count(&self, group: Group, n_found: usize) -> Error {
        let reason = format!("row group {} should have {} rows but has {n_found}", group.index + 1, group.n_rows);
        corrupt(self.file, &reason)
    }
}

fn corrupt(file: &SharedFile, reason: &dyn ToString) -> Error {
    Error::Corrupt { file: file.name(), format: "Parquet", reason: reason.to_string() }
}
