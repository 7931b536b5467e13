//! Reads Parquet files: row groups and columns are decoded side by side, straight into the rows.

mod decode;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use mixtura::rows::{RowsBuilder, Scalar};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use rayon::prelude::*;

use self::decode::{Numbers, is_number};
use super::{Assembly, Cell, Header, Selection};
use crate::{Error, ReadOptions, Table, input};

/// Rows decoded at a time: a column's piece stays in the cache until it is in the rows.
const BATCH_ROWS: usize = 1 << 14;

/// Rows per byte of file up to which the row counts in the footer are believed before a value is seen.
/// One bit a value gives 8; only long runs of equal values give more, and are then read group by group.
const PLAUSIBLE_ROWS_PER_BYTE: u64 = 64;

pub(super) fn read(path: &Path, options: &ReadOptions) -> Result<Table, Error> {
    // The decoder checks what it reads, but a damaged file may still reach an assertion in it.
    catch_unwind(AssertUnwindSafe(|| read_unguarded(path, options))).unwrap_or_else(|_| {
        let reason = "the decoder met a value that cannot be".to_owned();
        Err(Error::Corrupt { file: path.display().to_string(), format: "Parquet", reason })
    })
}

fn read_unguarded(path: &Path, options: &ReadOptions) -> Result<Table, Error> {
    let file = ParquetFile::open(path)?;
    let header = file.header();
    let selection = Selection::new(&header, options)?;
    let types = file.refuse_other_than_numbers(&header, &selection)?;
    if types.iter().all(|kind| matches!(kind, DataType::Float16 | DataType::Float32)) {
        file.read_into(Assembly::<f32>::new(header, selection)?, options)
    } else {
        file.read_into(Assembly::<f64>::new(header, selection)?, options)
    }
}

/// An open file and its footer.
struct ParquetFile<'a> {
    path: &'a Path,
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
    fn open(path: &'a Path) -> Result<Self, Error> {
        let file = input::open(path)?;
        let name = || path.display().to_string();
        let n_bytes = file.metadata().map_err(|source| Error::Read { file: name(), source })?.len();
        if n_bytes == 0 {
            return Err(Error::Empty { file: name() });
        }
        // The types of the file itself are enough, and fewer than those of the schema Arrow adds.
        let metadata = ArrowReaderMetadata::load(&file, ArrowReaderOptions::new().with_skip_arrow_metadata(true))
            .map_err(|error| corrupt(path, &error))?;
        let mut groups = Vec::new();
        let mut first_row = 0usize;
        for (index, group) in metadata.metadata().row_groups().iter().enumerate() {
            let count = usize::try_from(group.num_rows()).ok();
            let ends = count.and_then(|n_rows| Some((n_rows, first_row.checked_add(n_rows)?)));
            let (n_rows, end) = ends.ok_or_else(|| {
                corrupt(path, &format!("row group {} is said to have {} rows", index + 1, group.num_rows()))
            })?;
            groups.push(Group { index, first_row, n_rows });
            first_row = end;
        }
        let is_plausible = (first_row as u64) <= n_bytes.saturating_mul(PLAUSIBLE_ROWS_PER_BYTE);
        Ok(Self { path, metadata, groups, is_plausible })
    }

    fn header(&self) -> Header {
        let names: Vec<String> = self.metadata.schema().fields().iter().map(|field| field.name().clone()).collect();
        Header { file: self.path.display().to_string(), n_columns: names.len(), names }
    }

    /// The types of the columns of data, which all hold numbers; a column of weights must as well.
    fn refuse_other_than_numbers(&self, header: &Header, selection: &Selection) -> Result<Vec<DataType>, Error> {
        let fields = self.metadata.schema().fields();
        for &column in selection.data.iter().chain(&selection.weights) {
            if !is_number(fields[column].data_type()) {
                let numeric = fields.iter().filter(|field| is_number(field.data_type()));
                return Err(Error::ColumnType {
                    file: header.file.clone(),
                    column: header.column(column),
                    kind: fields[column].data_type().to_string(),
                    numeric: numeric.map(|field| field.name().clone()).collect(),
                });
            }
        }
        Ok(selection.data.iter().map(|&column| fields[column].data_type().clone()).collect())
    }

    fn read_into<T: Numbers>(&self, mut assembly: Assembly<T>, options: &ReadOptions) -> Result<Table, Error> {
        self.read_data(&mut assembly)?;
        if let Some(column) = assembly.selection.weights {
            for group in &self.groups {
                self.decode(*group, column, |first_row, array| {
                    let weights = self.numbers::<f64>(&assembly.header, first_row, column, array)?;
                    assembly.push_weights(first_row, column, weights.into_iter())
                })?;
            }
        }
        if let Some(column) = assembly.selection.labels {
            for group in &self.groups {
                self.decode(*group, column, |first_row, array| {
                    self.push_labels(&mut assembly, first_row, column, array)
                })?;
            }
        }
        assembly.finish(options)
    }

    fn read_data<T: Numbers>(&self, assembly: &mut Assembly<T>) -> Result<(), Error> {
        let Assembly { header, selection, builder, .. } = assembly;
        // Where the footer promises more than such a file can hold, a group must deliver its rows
        // before the next one, further on, may take memory.
        let n_at_once = if self.is_plausible { self.groups.len().max(1) } else { 1 };
        if self.is_plausible {
            builder.resize(self.groups.iter().map(|group| group.n_rows).sum());
        }
        for groups in self.groups.chunks(n_at_once) {
            let tasks: Vec<(Group, usize)> = groups
                .iter()
                .flat_map(|&group| (0..selection.data.len()).map(move |position| (group, position)))
                .collect();
            let shared = Mutex::new(&mut *builder);
            let outcomes: Vec<Result<(), Error>> = tasks
                .par_iter()
                .map(|&(group, position)| {
                    self.decode_into(header, group, (position, selection.data[position]), &shared)
                })
                .collect();
            outcomes.into_iter().collect::<Result<(), Error>>()?;
        }
        Ok(())
    }

    /// Decodes a column of a group into its place in the rows.
    fn decode_into<T: Numbers>(
        &self,
        header: &Header,
        group: Group,
        (position, column): (usize, usize),
        builder: &Mutex<&mut RowsBuilder<T>>,
    ) -> Result<(), Error> {
        self.decode(group, column, |first_row, array| {
            let write = |values: &[T]| {
                // A panic elsewhere fails the whole file, so a half-written column is never seen.
                let mut builder = builder.lock().unwrap_or_else(PoisonError::into_inner);
                if builder.n_rows() < first_row + array.len() {
                    builder.resize(first_row + array.len());
                }
                builder.write_column(first_row, position, values.iter().copied());
            };
            refuse_empty(header, first_row, column, array)?;
            match T::slice(array) {
                Some(values) => write(values),
                None => write(&self.numbers::<T>(header, first_row, column, array)?),
            }
            Ok(())
        })
    }

    /// Hands every piece of a column of a group to `take`, with the row it starts at.
    fn decode(
        &self,
        group: Group,
        column: usize,
        mut take: impl FnMut(usize, &ArrayRef) -> Result<(), Error>,
    ) -> Result<(), Error> {
        // Handles made from one another share a position, so every task opens the file for itself.
        let file = input::open(self.path)?;
        let mask = ProjectionMask::roots(self.metadata.metadata().file_metadata().schema_descr(), [column]);
        let batches = ParquetRecordBatchReaderBuilder::new_with_metadata(file, self.metadata.clone())
            .with_projection(mask)
            .with_row_groups(vec![group.index])
            .with_batch_size(BATCH_ROWS)
            .build()
            .map_err(|error| corrupt(self.path, &error))?;
        let mut n_rows = 0;
        for batch in batches {
            let batch = batch.map_err(|error| corrupt(self.path, &error))?;
            if batch.num_rows() > group.n_rows - n_rows {
                return Err(self.wrong_count(group, n_rows + batch.num_rows()));
            }
            take(group.first_row + n_rows, batch.column(0))?;
            n_rows += batch.num_rows();
        }
        if n_rows == group.n_rows { Ok(()) } else { Err(self.wrong_count(group, n_rows)) }
    }

    fn wrong_count(&self, group: Group, n_found: usize) -> Error {
        let reason = format!("row group {} promises {} rows but holds {n_found}", group.index + 1, group.n_rows);
        corrupt(self.path, &reason)
    }

    fn numbers<T: Cell>(
        &self,
        header: &Header,
        first_row: usize,
        column: usize,
        array: &ArrayRef,
    ) -> Result<Vec<T>, Error> {
        refuse_empty(header, first_row, column, array)?;
        decode::numbers(array).map_err(|inexact| match inexact.value {
            Some(value) => Error::Inexact { place: header.place(first_row + inexact.index, column), value },
            None => corrupt(self.path, &format!("a column of type {} holds no numbers", array.data_type())),
        })
    }

    fn push_labels<T: Cell>(
        &self,
        assembly: &mut Assembly<T>,
        first_row: usize,
        column: usize,
        array: &ArrayRef,
    ) -> Result<(), Error> {
        refuse_empty(&assembly.header, first_row, column, array)?;
        if let Some(texts) = decode::texts(array) {
            for (row, text) in (first_row..).zip(texts) {
                if text.trim().is_empty() {
                    return Err(Error::EmptyCell { place: assembly.header.place(row, column) });
                }
                assembly.labels.push(text.trim());
            }
            return Ok(());
        }
        if !is_number(array.data_type()) {
            return Err(Error::ColumnType {
                file: assembly.header.file.clone(),
                column: assembly.header.column(column),
                kind: array.data_type().to_string(),
                numeric: Vec::new(),
            });
        }
        let labels = self.numbers::<f64>(&assembly.header, first_row, column, array)?;
        assembly.push_labels(first_row, column, labels.into_iter().map(Scalar::to_f64))
    }
}

fn refuse_empty(header: &Header, first_row: usize, column: usize, array: &ArrayRef) -> Result<(), Error> {
    if array.null_count() == 0 {
        return Ok(());
    }
    match (0..array.len()).find(|&index| array.is_null(index)) {
        Some(index) => Err(Error::EmptyCell { place: header.place(first_row + index, column) }),
        None => Ok(()),
    }
}

fn corrupt(path: &Path, reason: &dyn ToString) -> Error {
    Error::Corrupt { file: path.display().to_string(), format: "Parquet", reason: reason.to_string() }
}
