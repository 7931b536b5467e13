//! Reads rows of a NumPy array as columns of numbers.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, RecordBatch};
use arrow_schema::Schema;

use super::OriginalSchema;
use crate::read::npy::element::Element;
use crate::read::npy::header::{self, NpyHeader};
use crate::{Error, input};

/// An open array of one or two dimensions.
pub(super) struct NpySource {
    name: String,
    file: File,
    element: Element,
    is_fortran: bool,
    n_rows: u64,
    n_columns: u64,
    data_start: u64,
    n_read: u64,
}

impl NpySource {
    pub(super) fn open(path: &Path) -> Result<Self, Error> {
        let name = path.display().to_string();
        let corrupt = |reason: String| Error::Corrupt { file: name.clone(), format: "NPY", reason };
        let mut file = input::open(path)?;
        let (text, data_start) = header_text(&mut file).map_err(|source| Error::Read { file: name.clone(), source })?;
        let NpyHeader { descr, is_fortran, shape } = header::parse(&text).map_err(corrupt)?;
        let element = Element::parse(&descr).ok_or_else(|| corrupt(format!("elements of type {descr}")))?;
        let (n_rows, n_columns) = match shape[..] {
            [n_rows] => (n_rows, 1),
            [n_rows, n_columns] => (n_rows, n_columns),
            _ => return Err(corrupt(format!("{} dimensions", shape.len()))),
        };
        Ok(Self { name, file, element, is_fortran, n_rows, n_columns, data_start, n_read: 0 })
    }

    pub(super) fn n_columns(&self) -> usize {
        self.n_columns as usize
    }

    /// The next rows; fewer at the end.
    pub(super) fn rows(&mut self, n_rows: usize, schema: &OriginalSchema) -> Result<RecordBatch, Error> {
        let n_rows = (n_rows as u64).min(self.n_rows - self.n_read);
        let columns = if self.is_fortran {
            let start = |column: u64| column * self.n_rows + self.n_read;
            let starts: Vec<u64> = (0..self.n_columns).map(start).collect();
            starts.into_iter().map(|start| self.values(start, n_rows)).collect::<Result<Vec<_>, Error>>()?
        } else {
            let values = self.values(self.n_read * self.n_columns, n_rows * self.n_columns)?;
            let column = |first| values.iter().skip(first).step_by(self.n_columns()).copied().collect();
            (0..self.n_columns()).map(column).collect()
        };
        self.n_read += n_rows;
        let arrays = columns.into_iter().map(|column| Arc::new(Float64Array::from(column)) as ArrayRef).collect();
        let batch = RecordBatch::try_new(Arc::new(Schema::new(schema.fields.clone())), arrays);
        batch.map_err(|error| Error::Corrupt { file: self.name.clone(), format: "NPY", reason: error.to_string() })
    }

    /// Values from a position, each converted to the nearest double.
    fn values(&mut self, first: u64, n_values: u64) -> Result<Vec<f64>, Error> {
        let n_bytes = self.element.n_bytes() as u64;
        let mut bytes = vec![0; (n_values * n_bytes) as usize];
        let read = self.file.seek(SeekFrom::Start(self.data_start + first * n_bytes));
        let read = read.and_then(|_| self.file.read_exact(&mut bytes));
        read.map_err(|source| Error::Read { file: self.name.clone(), source })?;
        let mut values = Vec::with_capacity(n_values as usize);
        self.element.decode(&bytes, &mut values, |_, _| Ok(()))?;
        Ok(values)
    }
}

/// The text of the header, and where the values start.
fn header_text(file: &mut File) -> io::Result<(Vec<u8>, u64)> {
    let mut start = [0; 8];
    file.read_exact(&mut start)?;
    let mut length = vec![0; if start[6] == 1 { 2 } else { 4 }];
    file.read_exact(&mut length)?;
    let n_text = length.iter().rev().fold(0, |n, &byte| n << 8 | u64::from(byte));
    let mut text = Vec::new();
    file.take(n_text.min(header::MOST_BYTES)).read_to_end(&mut text)?;
    Ok((text, 8 + length.len() as u64 + n_text))
}
