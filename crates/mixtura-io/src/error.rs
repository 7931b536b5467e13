//! The errors of reading and writing tables, with location and value.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::words::{MISSING_HINT, WEIGHT_HINT, available_columns, listed, number_hint, size};
use crate::{Column, Place};

/// Why a table could not be read or written.
///
/// Rows and columns are counted from 1 in messages and from 0 in fields; lines are always counted from 1.
///
/// ```
/// use mixtura_io::{Input, ReadOptions, read};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("points.csv");
/// std::fs::write(&path, "x,y\n1,2\n3,\n")?;
/// let error = read(&Input::from(path), &ReadOptions::default()).unwrap_err();
/// assert!(error.to_string().ends_with(r#"points.csv: row 2, line 3, column "y": empty cell"#));
/// assert!(error.hint().is_some());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// A file could not be opened or read.
    #[error("{file}: cannot read: {source}")]
    Read {
        /// The file.
        file: String,
        /// The system's error.
        source: io::Error,
    },
    /// A file could not be written.
    #[error("{}: cannot write: {source}", file.display())]
    Write {
        /// The file.
        file: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The folder of an output file does not exist.
    #[error("{}: folder {:?} does not exist", file.display(), folder)]
    NoFolder {
        /// The output file.
        file: PathBuf,
        /// Its folder.
        folder: PathBuf,
    },
    /// The path is a folder, but a file is required.
    #[error("{file}: is a folder, not a file")]
    Folder {
        /// The path.
        file: String,
    },
    /// The format can be determined neither from the extension nor from the contents.
    #[error("{file}: unknown extension {extension:?}")]
    Extension {
        /// The file.
        file: String,
        /// Its extension, with the dot; empty if it has none.
        extension: String,
        /// The known extensions.
        known: &'static str,
    },
    /// The format does not match the extension, or is not supported.
    #[error("{file}: the file is {found}{}", promised.map(|promised| format!(", not {promised} as its extension says")).unwrap_or_default())]
    OtherFormat {
        /// The file.
        file: String,
        /// The format found.
        found: String,
        /// The format according to the extension, if it is known.
        promised: Option<&'static str>,
    },
    /// The file is plain text, but its extension says otherwise.
    #[error("{file}: the file is text, not {promised} as its extension says")]
    Text {
        /// The file.
        file: String,
        /// What it is according to the extension.
        promised: &'static str,
    },
    /// A text file contains a NUL byte.
    #[error("{file}: line {line}: NUL byte found; the file is not text")]
    NotText {
        /// The file.
        file: String,
        /// Line, from 1.
        line: u64,
    },
    /// A line of text, or a quoted cell that spans lines, is too long.
    #[error("{file}: line {line}: longer than {} MiB", limit >> 20)]
    LongLine {
        /// The file.
        file: String,
        /// Line, from 1.
        line: u64,
        /// Maximum length of a line in bytes.
        limit: usize,
    },
    /// A table has too many columns.
    #[error("{file}: {n_columns} columns; the maximum is {limit}")]
    TooManyColumns {
        /// The file.
        file: String,
        /// Number of columns found.
        n_columns: usize,
        /// Maximum number of columns.
        limit: usize,
    },
    /// The rows do not fit into memory.
    #[error("{file}: the rows do not fit into the available memory ({})", size(*limit))]
    Memory {
        /// The file.
        file: String,
        /// Maximum size of the rows in bytes.
        limit: u64,
    },
    /// A file has the right format but does not contain a table of numbers.
    #[error("{file}: {reason}")]
    Unsupported {
        /// The file.
        file: String,
        /// What it contains instead.
        reason: String,
    },
    /// An output would overwrite a file that was not written by an earlier run.
    #[error("{}: already exists and was not written by an earlier run", file.display())]
    ForeignFile {
        /// The file.
        file: PathBuf,
    },
    /// A file is corrupt, truncated or not in the format that its extension says.
    #[error("{file}: not a valid {format} file: {reason}")]
    Corrupt {
        /// The file.
        file: String,
        /// The expected format.
        format: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// A model file does not contain a valid mixture.
    #[error("{file}: {source}")]
    InvalidModel {
        /// The file.
        file: String,
        /// What is wrong.
        source: mixtura::Error,
    },
    /// The file is empty.
    #[error("{file}: the file is empty")]
    Empty {
        /// The file.
        file: String,
    },
    /// A table has no rows.
    #[error("{file}: no data rows")]
    NoRows {
        /// The file.
        file: String,
    },
    /// A table has no columns, or none are left for the data.
    #[error("{file}: no data columns")]
    NoColumns {
        /// The file.
        file: String,
    },
    /// Columns were excluded until none were left.
    #[error("{file}: all columns were excluded")]
    AllExcluded {
        /// The file.
        file: String,
    },
    /// No column contains numbers.
    #[error("{file}: no numeric columns: {example}")]
    NoNumbers {
        /// The file.
        file: String,
        /// What the first column contains instead.
        example: String,
    },
    /// Every row was skipped because it has a missing value.
    #[error("{file}: all {n_rows} rows have missing values")]
    AllSkipped {
        /// The file.
        file: String,
        /// Number of rows in the file.
        n_rows: usize,
    },
    /// The selected columns are not the expected ones, usually those of a model.
    #[error("{file}: the selected columns are {}, but {} are expected", listed(picked), listed(expected))]
    OtherColumns {
        /// The file.
        file: String,
        /// The names of the selected columns.
        picked: Vec<String>,
        /// The expected names.
        expected: Vec<String>,
    },
    /// A pattern or range matches no columns.
    #[error("{file}: no column matches {selector:?}")]
    NoMatch {
        /// The file.
        file: String,
        /// The pattern or range.
        selector: String,
        /// The column names of the file; empty if there are none.
        available: Vec<String>,
        /// Number of columns in the file.
        n_columns: usize,
    },
    /// A range of columns ends before it begins.
    #[error("{file}: the range {selector:?} is backwards")]
    BackwardRange {
        /// The file.
        file: String,
        /// The range.
        selector: String,
        /// The same range in the order of the file.
        turned: String,
    },
    /// A requested column does not exist.
    #[error("{file}: no column {column:?}{}", if *is_expected { ", which the model needs" } else { "" })]
    UnknownColumn {
        /// The file.
        file: String,
        /// The requested column.
        column: String,
        /// Whether it was requested because a model has it.
        is_expected: bool,
        /// The most similar names.
        near: Vec<String>,
        /// The column names of the file; empty if there are none.
        available: Vec<String>,
        /// Number of columns in the file.
        n_columns: usize,
    },
    /// A column was requested twice.
    #[error("{file}: {column} is selected twice")]
    RepeatedColumn {
        /// The file.
        file: String,
        /// The column.
        column: Column,
    },
    /// Two columns of the file have the requested name.
    #[error("{file}: columns {} and {} are both named {name:?}", first + 1, second + 1)]
    AmbiguousColumn {
        /// The file.
        file: String,
        /// The name.
        name: String,
        /// First column of that name, from 0.
        first: usize,
        /// Second column of that name, from 0.
        second: usize,
    },
    /// A column does not contain numbers.
    #[error("{file}: {column} has type {kind}, which is not numeric")]
    ColumnType {
        /// The file.
        file: String,
        /// The column.
        column: Column,
        /// Its type in the terms of the format.
        kind: String,
        /// The numeric columns.
        numeric: Vec<String>,
    },
    /// A delimiter that could be part of a number.
    #[error("delimiter {delimiter:?} could be part of a number")]
    Delimiter {
        /// The delimiter.
        delimiter: char,
    },
    /// A decimal separator that is neither a point nor a comma.
    #[error("decimal separator {decimal:?} is neither a point nor a comma")]
    Decimal {
        /// The decimal separator.
        decimal: char,
    },
    /// A column of a stream was left out because it began with missing values only, and then contained a number.
    #[error("{place}: value {value} is the first number in a column of missing values")]
    LateNumber {
        /// Where.
        place: Place,
        /// The value as written in the file.
        value: String,
    },
    /// A row has more or fewer values than the table has columns.
    #[error("{file}: row {}, line {line}: {n_found} {}, expected {n_expected}", row + 1, if *n_found == 1 { "value" } else { "values" })]
    Ragged {
        /// The file.
        file: String,
        /// Row of data, from 0.
        row: usize,
        /// Line, from 1.
        line: u64,
        /// Number of values found.
        n_found: usize,
        /// Number of columns of the table.
        n_expected: usize,
    },
    /// A cell is empty.
    #[error("{place}: empty cell")]
    EmptyCell {
        /// Where.
        place: Place,
    },
    /// A cell contains NaN or infinity.
    #[error("{place}: value {value} is not finite")]
    NotFinite {
        /// Where.
        place: Place,
        /// The value as written in the file.
        value: String,
    },
    /// A cell contains a number beyond the range of double precision.
    #[error("{place}: value {value} is too large for double precision")]
    TooLarge {
        /// Where.
        place: Place,
        /// The value as written in the file.
        value: String,
    },
    /// A cell contains something other than a number.
    #[error("{place}: value {value:?} is not a number")]
    NotNumber {
        /// Where.
        place: Place,
        /// The value as written in the file.
        value: String,
    },
    /// A cell contains an integer that double precision cannot represent.
    #[error("{place}: integer {value} cannot be represented exactly in double precision")]
    Inexact {
        /// Where.
        place: Place,
        /// The value.
        value: String,
    },
    /// A row weight is negative.
    #[error("{place}: weight {value} is negative")]
    NegativeWeight {
        /// Where.
        place: Place,
        /// The weight.
        value: f64,
    },
    /// The path exists but is not a folder.
    #[error("{}: is not a folder", file.display())]
    NotFolder {
        /// The path.
        file: PathBuf,
    },
    /// Columns of the data were to be kept in a NumPy array.
    #[error("{}: an NPY file cannot store the columns of the data", file.display())]
    OriginalsInNpy {
        /// The output file.
        file: PathBuf,
    },
    /// A table has fewer rows than on the first read.
    #[error("{file}: found {n_found} rows, but {n_expected} on the first read")]
    FewerRows {
        /// The file.
        file: String,
        /// Number of rows found now.
        n_found: usize,
        /// Number of rows expected.
        n_expected: usize,
    },
    /// The library rejected the rows.
    #[error("{file}: {source}")]
    Rows {
        /// The file.
        file: String,
        /// Why.
        source: mixtura::Error,
    },
}

impl Error {
    /// What the user can do about it.
    pub fn hint(&self) -> Option<String> {
        let text = match self {
            Self::Extension { known, .. } => return Some(format!("supported extensions are {known}")),
            Self::UnknownColumn { column, available, n_columns, .. } if column.trim().parse::<u64>().is_ok() => {
                let columns = available_columns(available, *n_columns);
                return Some(format!("positions go from 1 to {n_columns}; {columns}"));
            }
            Self::UnknownColumn { available, n_columns, near, .. } => {
                let columns = available_columns(available, *n_columns);
                let near: Vec<String> = near.iter().map(|name| format!("{name:?}")).collect();
                let near =
                    if near.is_empty() { near.concat() } else { format!("did you mean {}? ", near.join(" or ")) };
                return Some(near + &columns);
            }
            Self::BackwardRange { turned, .. } => return Some(format!("use {turned}")),
            Self::NoMatch { available, n_columns, .. } => return Some(available_columns(available, *n_columns)),
            Self::ColumnType { numeric, .. } if numeric.is_empty() => return None,
            Self::ColumnType { numeric, .. } => {
                return Some(format!("select numeric columns with --columns: {}", listed(numeric)));
            }
            Self::Read { source, .. } if source.kind() == io::ErrorKind::NotFound => "check the path",
            Self::Write { source, .. } if is_forbidden(source) => "choose a folder you can write to",
            Self::Folder { .. } => "give the path of a file",
            Self::AllExcluded { .. } => "exclude fewer columns",
            Self::ForeignFile { .. } => "choose another folder, or move the file away",
            Self::NoFolder { .. } => "create the folder first",
            Self::OriginalsInNpy { .. } => "write a .csv, .parquet or .arrow file instead",
            Self::FewerRows { .. } => "do not modify the file while it is being read",
            Self::NotFolder { .. } => "give a folder, or a path where one can be created",
            Self::Empty { .. } | Self::NoRows { .. } => "a table needs at least one row of numbers",
            Self::NoColumns { .. } => "select the data columns with --columns",
            Self::NoNumbers { .. } => "set the delimiter with --delimiter, or use --decimal , for decimal commas",
            Self::AllSkipped { .. } => "use --exclude to leave out the columns with missing values",
            Self::OtherColumns { .. } => "omit --columns to select the expected columns by name",
            Self::AmbiguousColumn { .. } => {
                "give each column a unique name, leave one out by its number with --exclude, or use --no-header if the file has no header"
            }
            Self::Delimiter { .. } => "use a comma, semicolon, tab, pipe or space",
            Self::Decimal { .. } => "use . or ,",
            Self::Ragged { n_expected, .. } if *n_expected > 1 => "check that line for a missing or extra delimiter",
            Self::EmptyCell { .. } => MISSING_HINT,
            Self::NotFinite { value, .. } if value.to_ascii_lowercase().contains("nan") => MISSING_HINT,
            Self::NotFinite { .. } => "remove rows with infinite values first",
            Self::LateNumber { .. } => "select the columns with --columns, or read from a file",
            Self::TooLarge { .. } => "rescale the column to other units",
            Self::NotNumber { value, .. } => number_hint(value),
            Self::Inexact { .. } => "if the column holds identifiers, leave it out with --exclude",
            Self::NegativeWeight { .. } => WEIGHT_HINT,
            Self::InvalidModel { .. } => "check whether the model file was edited by hand",
            Self::Ragged { n_expected: 1, .. } => "the delimiter may be a different one: set it with --delimiter",
            Self::Corrupt { format: "model", .. } => "a model file is the JSON file written by `mixtura fit --output`",
            Self::Corrupt { .. } => "the file may be truncated, or its format may not match its extension",
            Self::Text { promised: "compressed", .. } => "rename it without .gz or .zst, or compress it",
            Self::Text { .. } => "rename it to .csv if it is a table",
            Self::OtherFormat { promised: Some(_), .. } => "rename the file to the extension of its format",
            Self::OtherFormat { promised: None, .. } => "decompress or convert it first",
            Self::NotText { .. } => "if it is UTF-16 text, save it as UTF-8",
            Self::LongLine { .. } => "check for an unclosed quote, or whether the file is a table at all",
            Self::Memory { .. } => "use fewer columns (--columns) or a sample of the rows",
            _ => return None,
        };
        Some(text.to_owned())
    }

    /// Whether the reader of our output closed the pipe, which is not a failure.
    pub fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Write { source, .. } if source.kind() == io::ErrorKind::BrokenPipe)
    }
}

/// Whether the system does not allow to write there.
fn is_forbidden(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_lists_some_of_the_columns() {
        let available: Vec<String> = (0..15).map(|i| format!("x{i}")).collect();
        let error = Error::UnknownColumn {
            file: "a.csv".into(),
            column: "y".into(),
            is_expected: false,
            near: vec!["x1".into()],
            available,
            n_columns: 15,
        };
        assert_eq!(error.to_string(), r#"a.csv: no column "y""#);
        assert_eq!(
            error.hint().as_deref(),
            Some("did you mean \"x1\"? the columns are x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11 and 3 more")
        );
    }

    #[test]
    fn a_broken_pipe_is_told_from_other_failures() {
        let write = |kind| Error::Write { file: "x".into(), source: io::Error::from(kind) };
        assert!(write(io::ErrorKind::BrokenPipe).is_broken_pipe());
        assert!(!write(io::ErrorKind::StorageFull).is_broken_pipe());
    }
}
