//! Creates files in a separate folder and reads them, for the other tests.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, RecordBatch};
use arrow_ipc::writer::{FileWriter, StreamWriter};
use flate2::Compression;
use flate2::write::GzEncoder;

use mixtura_io::{Error, Input, ReadOptions, Table, read};
use tempfile::TempDir;

/// A temporary folder, deleted with its files.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    /// A message without the folder in it.
    pub(crate) fn message(&self, error: &Error) -> String {
        error.to_string().replace(&format!("{}/", self.0.path().display()), "")
    }

    pub(crate) fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.0.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

pub(crate) fn columns(names: &[&str]) -> ReadOptions {
    ReadOptions { columns: Some(strings(names)), ..ReadOptions::default() }
}

pub(crate) fn strings(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

pub(crate) fn read_path(path: &Path, options: &ReadOptions) -> Result<Table, Error> {
    read(&Input::from(path), options)
}

/// Writes a file, reads it and returns its rows.
pub(crate) fn rows(name: &str, bytes: impl AsRef<[u8]>, options: &ReadOptions) -> Vec<Vec<f64>> {
    let folder = Folder::new();
    all_rows(&read_path(&folder.write(name, bytes), options).unwrap())
}

pub(crate) fn all_rows(table: &Table) -> Vec<Vec<f64>> {
    (0..table.rows.n_rows()).map(|row| table.rows.row(row)).collect()
}

/// Writes a file, expects it to be rejected and returns the message, without the folder.
pub(crate) fn refusal(name: &str, bytes: impl AsRef<[u8]>, options: &ReadOptions) -> String {
    let folder = Folder::new();
    let error = read_path(&folder.write(name, bytes), options).unwrap_err();
    folder.message(&error)
}

/// The first notice of a file, without the folder, and its rows.
pub(crate) fn noticed(name: &str, bytes: impl AsRef<[u8]>, options: &ReadOptions) -> (Vec<String>, Vec<Vec<f64>>) {
    let folder = Folder::new();
    let table = read_path(&folder.write(name, bytes), options).unwrap();
    let prefix = format!("{}/", folder.0.path().display());
    (table.notices.iter().map(|notice| notice.replace(&prefix, "")).collect(), all_rows(&table))
}

pub(crate) fn gzip(text: impl AsRef<[u8]>) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text.as_ref()).unwrap();
    encoder.finish().unwrap()
}

/// The bytes of a NumPy array of doubles, given by rows, in C order and in Fortran order.
pub(crate) fn numpy(rows: &[Vec<f64>]) -> [Vec<u8>; 2] {
    let n_columns = rows[0].len();
    let array = |order: &str, values: Vec<f64>| {
        let shape = format!("({}, {n_columns})", rows.len());
        let text = format!("{{'descr': '<f8', 'fortran_order': {order}, 'shape': {shape}, }}\n");
        let mut bytes = b"\x93NUMPY\x02\x00".to_vec();
        bytes.extend((text.len() as u32).to_le_bytes());
        bytes.extend(text.as_bytes());
        bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
        bytes
    };
    let by_columns = (0..n_columns).flat_map(|column| rows.iter().map(move |row| row[column])).collect();
    [array("False", rows.concat()), array("True", by_columns)]
}

/// A column of doubles, some of them null.
pub(crate) fn column(values: &[Option<f64>]) -> ArrayRef {
    Arc::new(Float64Array::from(values.to_vec()))
}

/// One table as Parquet, as an Arrow file and as an Arrow stream.
pub(crate) fn columnar(columns: &[(&str, ArrayRef)]) -> [(&'static str, Vec<u8>); 3] {
    let columns = columns.iter().map(|(name, array)| (*name, array.clone(), true));
    let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    let mut parquet = parquet::arrow::ArrowWriter::try_new(Vec::new(), batch.schema(), None).unwrap();
    parquet.write(&batch).unwrap();
    let mut file = FileWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    file.write(&batch).unwrap();
    let mut stream = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    stream.write(&batch).unwrap();
    [
        ("a.parquet", parquet.into_inner().unwrap()),
        ("a.arrow", file.into_inner().unwrap()),
        ("a.arrows", stream.into_inner().unwrap()),
    ]
}

/// A file that comes with the tests.
pub(crate) fn shipped(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tables/data").join(name)
}
