//! Writes tables batch by batch, in the format that the output file's extension names.

mod arrow;
mod csv;
mod gather;
mod npy;
mod parquet;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;

use self::arrow::ArrowSink;
use self::csv::CsvSink;
use self::npy::NpySink;
use self::parquet::ParquetSink;
use crate::{AtomicFile, Error, input};

/// The extensions of tables that can be written, for messages.
const KNOWN: &str = ".csv, .csv.gz, .parquet, .arrow, .feather, .arrows and .npy";

/// The columns of a table to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableColumns {
    /// Names of the columns of numbers; may be empty if there are labels.
    pub names: Vec<String>,
    /// Name of a last column of labels, if there is one.
    pub label: Option<String>,
}

/// Writes a table; a file appears, whole, when [`finish`](Self::finish) returns, and not before.
///
/// An NPY file has no names; its labels become a last column of numbers or, if there is nothing
/// else, a one-dimensional array of integers.
pub struct TableWriter<'a> {
    sink: Sink<'a>,
    file: PathBuf,
    n_columns: usize,
    has_labels: bool,
}

enum Sink<'a> {
    Csv(Box<CsvSink<Output<'a>>>),
    Parquet(Box<ParquetSink>),
    Arrow(Box<ArrowSink>),
    Npy(NpySink),
}

/// Where text goes.
enum Output<'a> {
    File(AtomicFile),
    Gzip(Box<GzEncoder<AtomicFile>>),
    Other(Box<dyn Write + 'a>),
}

impl TableWriter<'static> {
    /// Starts a file; its folder must exist.
    pub fn create(path: &Path, columns: &TableColumns) -> Result<Self, Error> {
        let extension = input::extension(path);
        if ![".csv", ".csv.gz", ".parquet", ".arrow", ".feather", ".arrows", ".npy"].contains(&extension.as_str()) {
            return Err(Error::Extension { file: path.display().to_string(), extension, known: KNOWN });
        }
        let file = AtomicFile::create(path)?;
        let sink = match extension.as_str() {
            ".parquet" => ParquetSink::new(file, columns).map(|sink| Sink::Parquet(Box::new(sink))),
            ".arrow" | ".feather" => ArrowSink::file(file, columns).map(|sink| Sink::Arrow(Box::new(sink))),
            ".arrows" => ArrowSink::stream(file, columns).map(|sink| Sink::Arrow(Box::new(sink))),
            ".npy" => NpySink::new(file, columns).map(Sink::Npy),
            ".csv.gz" => CsvSink::new(Output::Gzip(Box::new(GzEncoder::new(file, Compression::default()))), columns)
                .map(|sink| Sink::Csv(Box::new(sink))),
            _ => CsvSink::new(Output::File(file), columns).map(|sink| Sink::Csv(Box::new(sink))),
        };
        TableWriter::new(sink, path.to_owned(), columns)
    }
}

impl<'a> TableWriter<'a> {
    /// Starts CSV on any writer; `name` is what messages call it, such as `standard output`.
    pub fn csv(writer: impl Write + 'a, name: &str, columns: &TableColumns) -> Result<Self, Error> {
        let sink = CsvSink::new(Output::Other(Box::new(writer)), columns).map(|sink| Sink::Csv(Box::new(sink)));
        Self::new(sink, name.into(), columns)
    }

    fn new(sink: io::Result<Sink<'a>>, file: PathBuf, columns: &TableColumns) -> Result<Self, Error> {
        match sink {
            Ok(sink) => Ok(Self { sink, file, n_columns: columns.names.len(), has_labels: columns.label.is_some() }),
            Err(source) => Err(Error::Write { file, source }),
        }
    }

    /// Appends rows, given one after another; for tables without labels.
    pub fn write_rows(&mut self, values: &[f64]) -> Result<(), Error> {
        assert!(!self.has_labels, "invariant: rows come with their labels");
        assert!(values.len().is_multiple_of(self.n_columns), "invariant: whole rows");
        self.write(values, &[], values.len() / self.n_columns)
    }

    /// Appends rows, given one after another, with a label each; for tables with labels.
    pub fn write_labelled_rows(&mut self, values: &[f64], labels: &[u32]) -> Result<(), Error> {
        assert!(self.has_labels, "invariant: the table has a column of labels");
        assert_eq!(values.len(), labels.len() * self.n_columns, "invariant: a label per row");
        self.write(values, labels, labels.len())
    }

    fn write(&mut self, values: &[f64], labels: &[u32], n_rows: usize) -> Result<(), Error> {
        let rows = Batch { values, labels, n_rows, n_columns: self.n_columns };
        let written = match &mut self.sink {
            Sink::Csv(sink) => sink.write(rows),
            Sink::Parquet(sink) => sink.write(rows),
            Sink::Arrow(sink) => sink.write(rows),
            Sink::Npy(sink) => sink.write(rows),
        };
        written.map_err(|source| Error::Write { file: self.file.clone(), source })
    }

    /// Writes what is still held back and puts the file in its place.
    pub fn finish(self) -> Result<(), Error> {
        let finished = match self.sink {
            Sink::Csv(sink) => sink.finish().and_then(Output::finish),
            Sink::Parquet(sink) => sink.finish().map(Some),
            Sink::Arrow(sink) => sink.finish().map(Some),
            Sink::Npy(sink) => sink.finish().map(Some),
        };
        match finished.map_err(|source| Error::Write { file: self.file, source })? {
            Some(file) => file.commit(),
            None => Ok(()),
        }
    }
}

/// Rows on their way to a sink.
#[derive(Clone, Copy)]
struct Batch<'a> {
    values: &'a [f64],
    /// A label per row, or none.
    labels: &'a [u32],
    n_rows: usize,
    n_columns: usize,
}

impl<'a> Batch<'a> {
    fn row(&self, row: usize) -> (&'a [f64], Option<u32>) {
        (&self.values[row * self.n_columns..][..self.n_columns], self.labels.get(row).copied())
    }
}

impl Output<'_> {
    /// The file to be put in its place, if there is one.
    fn finish(self) -> io::Result<Option<AtomicFile>> {
        match self {
            Self::File(file) => Ok(Some(file)),
            Self::Gzip(encoder) => encoder.finish().map(Some),
            Self::Other(mut writer) => writer.flush().map(|()| None),
        }
    }
}

impl Write for Output<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.write(bytes),
            Self::Gzip(encoder) => encoder.write(bytes),
            Self::Other(writer) => writer.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::File(file) => file.flush(),
            Self::Gzip(encoder) => encoder.flush(),
            Self::Other(writer) => writer.flush(),
        }
    }
}
