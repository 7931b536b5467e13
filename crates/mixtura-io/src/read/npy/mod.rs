//! Reads NumPy arrays; the header is checked against the file size before memory is allocated.

pub(crate) mod element;
pub(crate) mod header;

use std::io::Read;

use self::element::Element;
use self::header::NpyHeader;
use super::columns::refuse_too_many;
use super::{Assembly, Cell, Header, Selection};
use crate::opened::{SharedFile, SharedReader};
use crate::{Error, ReadOptions, Table};

/// Number of bytes read at a time.
const CHUNK_BYTES: usize = 1 << 18;

pub(super) fn read(file: &SharedFile, options: &ReadOptions) -> Result<Table, Error> {
    let mut array = NpyFile::open(file)?;
    refuse_too_many(&file.name(), array.n_columns)?;
    let header = Header::new(file.name(), Vec::new(), array.n_columns);
    let selection = Selection::new(&header, options)?;
    if array.element.is_single() {
        array.read_into(Assembly::<f32>::new(header, selection, options)?, options)
    } else {
        array.read_into(Assembly::<f64>::new(header, selection, options)?, options)
    }
}

/// An open array whose shape matches the file size.
struct NpyFile<'a> {
    file: &'a SharedFile,
    /// Position of the next values.
    reader: SharedReader,
    element: Element,
    is_fortran: bool,
    n_rows: usize,
    n_columns: usize,
    data_start: u64,
    n_bytes_after: u64,
}

impl<'a> NpyFile<'a> {
    fn open(file: &'a SharedFile) -> Result<Self, Error> {
        let (text, data_start) = header_text(file)?;
        let NpyHeader { descr, is_fortran, shape } =
            header::parse(&text).map_err(|reason| corrupt(file, format!("header: {reason}")))?;
        let element = Element::parse(&descr).ok_or_else(|| unsupported(file, &format!("elements of type {descr}")))?;
        let (n_rows, n_columns) = match shape[..] {
            [n_rows] => (n_rows, 1),
            [n_rows, n_columns] => (n_rows, n_columns),
            _ => return Err(unsupported(file, &format!("{} dimensions", shape.len()))),
        };
        let n_found = file.n_bytes - data_start;
        let n_promised = n_rows.checked_mul(n_columns).and_then(|n| n.checked_mul(element.n_bytes() as u64));
        let n_bytes_after = n_promised.and_then(|n_promised| n_found.checked_sub(n_promised)).ok_or_else(|| {
            let reason =
                format!("the header says {n_rows} × {n_columns} values, but the file has only {n_found} bytes");
            corrupt(file, reason)
        })?;
        if n_columns == 0 {
            return Err(Error::NoColumns { file: file.name() });
        }
        if n_rows == 0 {
            return Err(Error::NoRows { file: file.name() });
        }
        // Both are at most the file size now.
        let (n_rows, n_columns) = (n_rows as usize, n_columns as usize);
        Ok(Self {
            file,
            reader: file.reader(data_start),
            element,
            is_fortran,
            n_rows,
            n_columns,
            data_start,
            n_bytes_after,
        })
    }

    fn read_into<T: Cell>(&mut self, mut assembly: Assembly<T>, options: &ReadOptions) -> Result<Table, Error> {
        if self.n_bytes_after > 0 {
            let notice = format!("{}: ignored {} bytes after the array", self.file.name(), self.n_bytes_after);
            assembly.notices.push(notice);
        }
        if self.is_fortran && self.n_columns > 1 {
            self.read_columns(&mut assembly)?;
        } else {
            self.read_rows(&mut assembly)?;
        }
        assembly.finish(options)
    }

    fn read_rows<T: Cell>(&mut self, assembly: &mut Assembly<T>) -> Result<(), Error> {
        let n_columns = self.n_columns;
        let is_all = assembly.selection.data.iter().copied().eq(0..n_columns);
        let chunk_rows = (CHUNK_BYTES / (n_columns * self.element.n_bytes())).max(1);
        let mut chunk = Chunk::default();
        let mut picked = Vec::new();
        assembly.growing.reserve(self.n_rows)?;
        let is_used = assembly.selection.is_used(n_columns);
        self.reader = self.file.reader(self.data_start);
        for first_row in (0..self.n_rows).step_by(chunk_rows) {
            let n_rows = chunk_rows.min(self.n_rows - first_row);
            self.read_chunk(&mut chunk, n_rows * n_columns, |index| {
                let (row, column) = (first_row + index / n_columns, index % n_columns);
                is_used[column].then(|| assembly.header.place(row, column))
            })?;
            if is_all {
                assembly.growing.push_rows(&chunk.values, n_columns)?;
            } else {
                let data = &assembly.selection.data;
                picked.clear();
                let rows = chunk.values.chunks_exact(n_columns);
                picked.extend(rows.flat_map(|row| data.iter().map(|&column| row[column])));
                assembly.growing.push_rows(&picked, data.len())?;
            }
            let column_values =
                |column| chunk.values.iter().skip(column).step_by(n_columns).map(|value| value.to_f64());
            if let Some(column) = assembly.selection.weights {
                assembly.push_weights(first_row, column, column_values(column))?;
            }
            if let Some(column) = assembly.selection.labels {
                assembly.push_labels(first_row, column, column_values(column))?;
            }
        }
        Ok(())
    }

    fn read_columns<T: Cell>(&mut self, assembly: &mut Assembly<T>) -> Result<(), Error> {
        assembly.growing.resize(self.n_rows)?;
        for position in 0..assembly.selection.data.len() {
            let column = assembly.selection.data[position];
            self.read_column(assembly, column, |assembly, first_row, values| {
                assembly.growing.write_column(first_row, position, values)
            })?;
        }
        if let Some(column) = assembly.selection.weights {
            self.read_column(assembly, column, |assembly, first_row, values| {
                assembly.push_weights(first_row, column, values.iter().map(|value| value.to_f64()))
            })?;
        }
        if let Some(column) = assembly.selection.labels {
            self.read_column(assembly, column, |assembly, first_row, values| {
                assembly.push_labels(first_row, column, values.iter().map(|value| value.to_f64()))
            })?;
        }
        Ok(())
    }

    fn read_column<T: Cell>(
        &mut self,
        assembly: &mut Assembly<T>,
        column: usize,
        mut take: impl FnMut(&mut Assembly<T>, usize, &[T]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let chunk_rows = CHUNK_BYTES / self.element.n_bytes();
        let mut chunk = Chunk::default();
        self.reader = self.file.reader(self.data_start + (column * self.n_rows * self.element.n_bytes()) as u64);
        for first_row in (0..self.n_rows).step_by(chunk_rows) {
            let n_rows = chunk_rows.min(self.n_rows - first_row);
            self.read_chunk(&mut chunk, n_rows, |index| Some(assembly.header.place(first_row + index, column)))?;
            take(assembly, first_row, &chunk.values)?;
        }
        Ok(())
    }

    /// Reads the next values; `place` gives the location of a value, if it is used at all.
    fn read_chunk<T: Cell>(
        &mut self,
        chunk: &mut Chunk<T>,
        n_values: usize,
        place: impl Fn(usize) -> Option<crate::Place>,
    ) -> Result<(), Error> {
        chunk.bytes.resize(n_values * self.element.n_bytes(), 0);
        self.reader.read_exact(&mut chunk.bytes).map_err(|source| Error::Read { file: self.file.name(), source })?;
        chunk.values.clear();
        self.element.decode(&chunk.bytes, &mut chunk.values, |index, value| match place(index) {
            Some(place) => Err(Error::Inexact { place, value: value.to_string() }),
            None => Ok(()),
        })
    }
}

/// A piece of the array, as bytes and as values.
#[derive(Default)]
struct Chunk<T> {
    bytes: Vec<u8>,
    values: Vec<T>,
}

/// The text of the header and where the values start.
fn header_text(file: &SharedFile) -> Result<(Vec<u8>, u64), Error> {
    let mut reader = file.reader(0);
    let mut read = |length: u64| -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::new();
        (&mut reader)
            .take(length)
            .read_to_end(&mut bytes)
            .map_err(|source| Error::Read { file: file.name(), source })?;
        Ok(bytes)
    };
    let start = read(8)?;
    if start.len() < 8 || !start.starts_with(b"\x93NUMPY") {
        return Err(corrupt(file, "it does not start like a NumPy array".to_owned()));
    }
    let length_bytes: u64 = match start[6] {
        1 => 2,
        2 | 3 => 4,
        version => return Err(corrupt(file, format!("unknown version {version}"))),
    };
    let length = read(length_bytes)?.iter().rev().fold(0u64, |length, &byte| length << 8 | u64::from(byte));
    let data_start = 8 + length_bytes + length;
    if data_start > file.n_bytes || length > header::MOST_BYTES {
        return Err(corrupt(file, format!("its header claims to be {length} bytes long")));
    }
    Ok((read(length)?, data_start))
}

fn corrupt(file: &SharedFile, reason: String) -> Error {
    Error::Corrupt { file: file.name(), format: "NPY", reason }
}

fn unsupported(file: &SharedFile, what: &str) -> Error {
    let reason = format!("expected a numeric array with one or two dimensions, but this one has {what}");
    Error::Unsupported { file: file.name(), reason }
}
