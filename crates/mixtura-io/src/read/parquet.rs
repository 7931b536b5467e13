//! Reads Parquet files: row groups and columns are decoded side by side, straight into the rows.

use std::path::Path;
use std::sync::Mutex;

use arrow_array::ArrayRef;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use rayon::prelude::*;

use super::arrays::{self, Numbers, PIECE_ROWS, Piece};
use super::{Assembly, Header, Selection};
use crate::{Error, ReadOptions, Table, input};

pub(super) fn read(path: &Path, options: &ReadOptions) -> Result<Table, Error> {
    let file = ParquetFile::open(path)?;
    let header = file.header();
    let selection = Selection::new(&header, options)?;
    let fields = file.metadata.schema().fields();
    header.refuse_other_types(fields, &selection)?;
    if arrays::are_single(fields, &selection) {
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
        let is_plausible = arrays::is_plausible(first_row, n_bytes);
        Ok(Self { path, metadata, groups, is_plausible })
    }

    fn header(&self) -> Header {
        let names: Vec<String> = self.metadata.schema().fields().iter().map(|field| field.name().clone()).collect();
        Header { file: self.path.display().to_string(), n_columns: names.len(), names }
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
            .with_batch_size(PIECE_ROWS)
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
}

fn corrupt(path: &Path, reason: &dyn ToString) -> Error {
    Error::Corrupt { file: path.display().to_string(), format: "Parquet", reason: reason.to_string() }
}
