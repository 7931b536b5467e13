//! Writes tables batch by batch, in the format given by the file extension.

mod arrow;
mod batch;
mod csv;
mod gather;
mod layout;
mod npy;
mod parquet;
mod text;

pub use self::batch::Cells;
pub use self::layout::{ColumnKind, TableColumn, TableColumns, TableLayout};

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use zstd::stream::write::Encoder as ZstdEncoder;

use self::arrow::ArrowSink;
use self::batch::{Batch, Column};
use self::csv::CsvSink;
use self::npy::NpySink;
use self::parquet::ParquetSink;
use crate::original::{CellForm, OriginalRows};
use crate::{AtomicFile, Error, input};

/// The supported extensions, for messages.
const KNOWN: &str = ".csv, .csv.gz, .csv.zst, .parquet, .arrow, .feather, .arrows and .npy";

/// Writes a table. The file appears, complete, when [`finish`](Self::finish) returns.
///
/// A missing value is empty in CSV and null in Parquet and Arrow. An NPY file has no names and cannot store columns of
/// the data. Its labels are converted to floating-point numbers, with NaN for missing values; if labels are the only
/// column, the file is a one-dimensional array of integers, with -1 for missing values.
///
/// ```
/// use mixtura_io::{Cells, TableColumn, TableLayout, TableWriter};
///
/// let columns = vec![TableColumn::label("label").optional(), TableColumn::number("probability").optional()];
/// let mut out = Vec::new();
/// let mut writer = TableWriter::csv(&mut out, "standard output", TableLayout::new(columns))?;
/// let labels = [Some(1), None];
/// writer.write_columns(None, &[Cells::OptionalLabels(&labels), Cells::OptionalNumbers(&[Some(0.75), None])])?;
/// writer.finish()?;
/// assert_eq!(out, b"label,probability\n1,0.75\n,\n");
/// # Ok::<(), mixtura_io::Error>(())
/// ```
pub struct TableWriter<'a> {
    sink: Sink<'a>,
    file: PathBuf,
    layout: TableLayout,
}

enum Sink<'a> {
    Csv(Box<CsvSink<Output<'a>>>),
    Parquet(Box<ParquetSink>),
    Arrow(Box<ArrowSink>),
    Npy(NpySink),
}

/// The destination of text.
enum Output<'a> {
    File(AtomicFile),
    Gzip(Box<GzEncoder<AtomicFile>>),
    Zstd(Box<ZstdEncoder<'static, AtomicFile>>),
    Other(Box<dyn Write + 'a>),
}

impl TableWriter<'static> {
    /// Creates a file; its folder must exist.
    pub fn create(path: &Path, layout: impl Into<TableLayout>) -> Result<Self, Error> {
        let layout = layout.into();
        let extension = input::extension(path);
        let known = [".csv", ".csv.gz", ".csv.zst", ".parquet", ".arrow", ".feather", ".arrows", ".npy"];
        // A pipe or device does not need a known extension.
        let is_special = path.metadata().is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir());
        if !known.contains(&extension.as_str()) && !is_special {
            return Err(Error::Extension { file: path.display().to_string(), extension, known: KNOWN });
        }
        if extension == ".npy" && layout.originals.is_some() {
            return Err(Error::OriginalsInNpy { file: path.to_owned() });
        }
        let file = AtomicFile::create(path)?;
        let csv = |output| Ok(Sink::Csv(Box::new(CsvSink::new(output, &layout))));
        let sink = match extension.as_str() {
            ".parquet" => ParquetSink::new(file, &layout).map(|sink| Sink::Parquet(Box::new(sink))),
            ".arrow" | ".feather" => ArrowSink::file(file, &layout).map(|sink| Sink::Arrow(Box::new(sink))),
            ".arrows" => ArrowSink::stream(file, &layout).map(|sink| Sink::Arrow(Box::new(sink))),
            ".npy" => NpySink::new(file, &layout).map(Sink::Npy),
            ".csv.gz" => csv(Output::Gzip(Box::new(GzEncoder::new(file, Compression::default())))),
            ".csv.zst" => Output::zstd(file).and_then(csv),
            _ => csv(Output::File(file)),
        };
        let sink = sink.map_err(|source| Error::Write { file: path.to_owned(), source })?;
        Ok(Self { sink, file: path.to_owned(), layout })
    }
}

impl<'a> TableWriter<'a> {
    /// Writes CSV to any writer; `name` is its name in messages, such as `standard output`.
    pub fn csv(writer: impl Write + 'a, name: &str, layout: impl Into<TableLayout>) -> Result<Self, Error> {
        let layout = layout.into();
        let sink = Sink::Csv(Box::new(CsvSink::new(Output::Other(Box::new(writer)), &layout)));
        Ok(Self { sink, file: name.into(), layout })
    }

    /// Appends rows in row-major order, for tables of numbers without missing values.
    pub fn write_rows(&mut self, values: &[f64]) -> Result<(), Error> {
        let n_columns = self.layout.columns.len();
        assert!(values.len().is_multiple_of(n_columns), "invariant: whole rows");
        let columns = (0..n_columns).map(|first| Column::Strided { values, first, step: n_columns }).collect();
        self.write(&Batch { originals: None, columns, n_rows: values.len() / n_columns })
    }

    /// Appends rows of numbers in row-major order, each with a label, for tables with a last column of labels.
    pub fn write_labelled_rows(&mut self, values: &[f64], labels: &[u32]) -> Result<(), Error> {
        let step = self.layout.columns.len() - 1;
        assert_eq!(values.len(), labels.len() * step, "invariant: a label per row");
        let mut columns: Vec<_> = (0..step).map(|first| Column::Strided { values, first, step }).collect();
        columns.push(Column::Cells(Cells::Labels(labels)));
        self.write(&Batch { originals: None, columns, n_rows: labels.len() })
    }

    /// Appends rows given column by column, after the cells of the data if the layout keeps them.
    pub fn write_columns(&mut self, originals: Option<&OriginalRows>, columns: &[Cells<'_>]) -> Result<(), Error> {
        let n_rows = columns.first().map(Cells::len).or(originals.map(OriginalRows::n_rows)).unwrap_or(0);
        assert!(columns.iter().all(|cells| cells.len() == n_rows), "invariant: columns of one length");
        assert!(originals.is_none_or(|originals| originals.n_rows() == n_rows), "invariant: cells for every row");
        let columns = columns.iter().map(|&cells| Column::Cells(cells)).collect();
        self.write(&Batch { originals, columns, n_rows })
    }

    fn write(&mut self, batch: &Batch) -> Result<(), Error> {
        assert_eq!(batch.columns.len(), self.layout.columns.len(), "invariant: every column has cells");
        assert_eq!(
            batch.originals.is_some(),
            self.layout.originals.is_some(),
            "invariant: all columns, or no column, of the data"
        );
        for (cells, column) in batch.columns.iter().zip(&self.layout.columns) {
            assert!(cells.fits(column), "invariant: cells of the kind of {column:?}");
        }
        let written = match &mut self.sink {
            Sink::Csv(sink) => sink.write(batch),
            Sink::Parquet(sink) => sink.write(batch),
            Sink::Arrow(sink) => sink.write(batch),
            Sink::Npy(sink) => sink.write(batch),
        };
        written.map_err(|source| Error::Write { file: self.file.clone(), source })
    }

    /// Writes the remaining rows and moves the file to its target.
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

/// The form of the data's cells that the format of a path requires; `None`, for standard output, means CSV.
///
/// ```
/// use mixtura_io::{CellForm, cell_form};
///
/// assert_eq!(cell_form(Some("labels.csv.gz".as_ref())), CellForm::Text);
/// assert_eq!(cell_form(Some("labels.parquet".as_ref())), CellForm::Typed);
/// assert_eq!(cell_form(None), CellForm::Text);
/// ```
pub fn cell_form(output: Option<&Path>) -> CellForm {
    match output.map(input::extension).as_deref() {
        Some(".parquet" | ".arrow" | ".feather" | ".arrows" | ".npy") => CellForm::Typed,
        _ => CellForm::Text,
    }
}

impl Output<'_> {
    fn zstd(file: AtomicFile) -> io::Result<Self> {
        let mut encoder = ZstdEncoder::new(file, zstd::DEFAULT_COMPRESSION_LEVEL)?;
        encoder.include_checksum(true)?;
        Ok(Self::Zstd(Box::new(encoder)))
    }

    /// The file to be committed, if there is one.
    fn finish(self) -> io::Result<Option<AtomicFile>> {
        match self {
            Self::File(file) => Ok(Some(file)),
            Self::Gzip(encoder) => encoder.finish().map(Some),
            Self::Zstd(encoder) => encoder.finish().map(Some),
            Self::Other(mut writer) => writer.flush().map(|()| None),
        }
    }
}

impl Write for Output<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.write(bytes),
            Self::Gzip(encoder) => encoder.write(bytes),
            Self::Zstd(encoder) => encoder.write(bytes),
            Self::Other(writer) => writer.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::File(file) => file.flush(),
            Self::Gzip(encoder) => encoder.flush(),
            Self::Zstd(encoder) => encoder.flush(),
            Self::Other(writer) => writer.flush(),
        }
    }
}
