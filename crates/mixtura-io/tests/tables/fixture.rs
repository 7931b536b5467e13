//! Makes files in a folder of their own and reads them, for the other tests.

use std::fs;
use std::path::{Path, PathBuf};

use mixtura_io::{Error, Input, ReadOptions, Table, read};
use tempfile::TempDir;

/// A folder that goes away with its files.
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

/// Writes a file, reads it and gives its rows.
pub(crate) fn rows(name: &str, bytes: impl AsRef<[u8]>, options: &ReadOptions) -> Vec<Vec<f64>> {
    let folder = Folder::new();
    all_rows(&read_path(&folder.write(name, bytes), options).unwrap())
}

pub(crate) fn all_rows(table: &Table) -> Vec<Vec<f64>> {
    (0..table.rows.n_rows()).map(|row| table.rows.row(row)).collect()
}

/// Writes a file, expects it to be refused and gives the message, without the folder.
pub(crate) fn refusal(name: &str, bytes: impl AsRef<[u8]>, options: &ReadOptions) -> String {
    let folder = Folder::new();
    let error = read_path(&folder.write(name, bytes), options).unwrap_err();
    folder.message(&error)
}

/// A file that comes with the tests.
pub(crate) fn shipped(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tables/data").join(name)
}
