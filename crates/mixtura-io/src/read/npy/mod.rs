//! Reads NumPy arrays: the header is checked against the file's length before memory is taken.

pub(crate) mod element;
pub(crate) mod header;

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use self::element::Element;
use self::header::NpyHeader;
use super::{Assembly, Cell, Header, Selection};
use crate::{Error, ReadOptions, Table, input};

/// Bytes read at a time.
const CHUNK_BYTES: usize = 1 << 18;

pub(super) fn read(path: &Path, options: &ReadOptions) -> Result<Table, Error> {
    let mut array = NpyFile::open(path)?;
    let header = Header { file: path.display().to_string(), names: Vec::new(), n_columns: array.n_columns };
    let selection = Selection::new(&header, options)?;
    if array.element.is_single() {
        array.read_into(Assembly::<f32>::new(header, selection)?, options)
    } else {
        array.read_into(Assembly::<f64>::new(header, selection)?, options)
    }
}

/// An open array, its shape found to fit the file.
struct NpyFile<'a> {
    path: &'a Path,
    file: File,
    element: Element,
    is_fortran: bool,
    n_rows: usize,
    n_columns: usize,
    data_start: u64,
    n_bytes_after: u64,
}

impl<'a> NpyFile<'a> {
    fn open(path: &'a Path) -> Result<Self, Error> {
        let mut file = input::open(path)?;
        let failed = |source| Error::Read { file: path.display().to_string(), source };
        let n_bytes = file.metadata().map_err(failed)?.len();
        if n_bytes == 0 {
            return Err(Error::Empty { file: path.display().to_string() });
        }
        let (text, data_start) = header_text(path, &mut file, n_bytes)?;
        let NpyHeader { descr, is_fortran, shape } =
            header::parse(&text).map_err(|reason| corrupt(path, format!("header: {reason}")))?;
        let element = Element::parse(&descr).ok_or_else(|| unsupported(path, &format!("elements of type {descr}")))?;
        let (n_rows, n_columns) = match shape[..] {
            [n_rows] => (n_rows, 1),
            [n_rows, n_columns] => (n_rows, n_columns),
            _ => return Err(unsupported(path, &format!("{} dimensions", shape.len()))),
        };
        let n_found = n_bytes - data_start;
        let n_promised = n_rows.checked_mul(n_columns).and_then(|n| n.checked_mul(element.n_bytes() as u64));
        let n_bytes_after = n_promised.and_then(|n_promised| n_found.checked_sub(n_promised)).ok_or_else(|| {
            let reason = format!("the header promises {n_rows} × {n_columns} values, the file holds {n_found} bytes");
            corrupt(path, reason)
        })?;
        if n_columns == 0 {
            return Err(Error::NoColumns { file: path.display().to_string() });
        }
        if n_rows == 0 {
            return Err(Error::NoRows { file: path.display().to_string() });
        }
        // Both are at most the file's length now.
        let (n_rows, n_columns) = (n_rows as usize, n_columns as usize);
        Ok(Self { path, file, element, is_fortran, n_rows, n_columns, data_start, n_bytes_after })
    }

    fn read_into<T: Cell>(&mut self, mut assembly: Assembly<T>, options: &ReadOptions) -> Result<Table, Error> {
        if self.n_bytes_after > 0 {
            let notice = format!("{}: {} bytes after the array are not read", self.path.display(), self.n_bytes_after);
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
        let mut picked = Vec::with_capacity(assembly.selection.data.len());
        assembly.builder.reserve(self.n_rows);
        self.seek(self.data_start)?;
        for first_row in (0..self.n_rows).step_by(chunk_rows) {
            let n_rows = chunk_rows.min(self.n_rows - first_row);
            self.read_chunk(&mut chunk, n_rows * n_columns, |index| {
                let (row, column) = (first_row + index / n_columns, index % n_columns);
                let Selection { data, weights, labels } = &assembly.selection;
                let is_used = data.contains(&column) || [*weights, *labels].contains(&Some(column));
                is_used.then(|| assembly.header.place(row, column))
            })?;
            for row in chunk.values.chunks_exact(n_columns) {
                if is_all {
                    assembly.builder.push_row(row);
                } else {
                    picked.clear();
                    picked.extend(assembly.selection.data.iter().map(|&column| row[column]));
                    assembly.builder.push_row(&picked);
                }
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
        assembly.builder.resize(self.n_rows);
        for position in 0..assembly.selection.data.len() {
            let column = assembly.selection.data[position];
            self.read_column(assembly, column, |assembly, first_row, values| {
                assembly.builder.write_column(first_row, position, values.iter().copied());
                Ok(())
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
        self.seek(self.data_start + (column * self.n_rows * self.element.n_bytes()) as u64)?;
        for first_row in (0..self.n_rows).step_by(chunk_rows) {
            let n_rows = chunk_rows.min(self.n_rows - first_row);
            self.read_chunk(&mut chunk, n_rows, |index| Some(assembly.header.place(first_row + index, column)))?;
            take(assembly, first_row, &chunk.values)?;
        }
        Ok(())
    }

    /// Reads the next values; `place` tells where a value stands, if it is used at all.
    fn read_chunk<T: Cell>(
        &mut self,
        chunk: &mut Chunk<T>,
        n_values: usize,
        place: impl Fn(usize) -> Option<crate::Place>,
    ) -> Result<(), Error> {
        chunk.bytes.resize(n_values * self.element.n_bytes(), 0);
        self.file.read_exact(&mut chunk.bytes).map_err(|source| self.failed(source))?;
        chunk.values.clear();
        self.element.decode(&chunk.bytes, &mut chunk.values, |index, value| match place(index) {
            Some(place) => Err(Error::Inexact { place, value: value.to_string() }),
            None => Ok(()),
        })
    }

    fn seek(&mut self, position: u64) -> Result<(), Error> {
        self.file.seek(SeekFrom::Start(position)).map(|_| ()).map_err(|source| self.failed(source))
    }

    fn failed(&self, source: std::io::Error) -> Error {
        Error::Read { file: self.path.display().to_string(), source }
    }
}

/// A piece of the array, as bytes and as values.
#[derive(Default)]
struct Chunk<T> {
    bytes: Vec<u8>,
    values: Vec<T>,
}

/// The text of the header and where the values start.
fn header_text(path: &Path, file: &mut File, n_bytes: u64) -> Result<(Vec<u8>, u64), Error> {
    let mut read = |length: u64| -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::new();
        (&mut *file)
            .take(length)
            .read_to_end(&mut bytes)
            .map_err(|source| Error::Read { file: path.display().to_string(), source })?;
        Ok(bytes)
    };
    let start = read(8)?;
    if start.len() < 8 || !start.starts_with(b"\x93NUMPY") {
        return Err(corrupt(path, "it does not begin as NumPy arrays do".to_owned()));
    }
    let length_bytes: u64 = match start[6] {
        1 => 2,
        2 | 3 => 4,
        version => return Err(corrupt(path, format!("unknown version {version}"))),
    };
    let length = read(length_bytes)?.iter().rev().fold(0u64, |length, &byte| length << 8 | u64::from(byte));
    let data_start = 8 + length_bytes + length;
    if data_start > n_bytes || length > header::MOST_BYTES {
        return Err(corrupt(path, format!("its header is said to be {length} bytes long")));
    }
    Ok((read(length)?, data_start))
}

fn corrupt(path: &Path, reason: String) -> Error {
    Error::Corrupt { file: path.display().to_string(), format: "NPY", reason }
}

fn unsupported(path: &Path, what: &str) -> Error {
    let reason = format!("an array of numbers with one or two dimensions is needed, this one has {what}");
    Error::Unsupported { file: path.display().to_string(), reason }
}
