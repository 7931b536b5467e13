//! Names everything that can go wrong while tables are read and written, with the place and the value.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::words::{MISSING_HINT, available_columns, listed, number_hint, size};
use crate::{Column, Place};

/// Why a table could not be read or written.
///
/// Rows and columns are counted from 1 in messages and from 0 in fields; lines always from 1.
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
        /// What the system said.
        source: io::Error,
    },
    /// A file could not be written.
    #[error("{}: cannot write: {source}", file.display())]
    Write {
        /// The file.
        file: PathBuf,
        /// What the system said.
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
    /// A folder stands where a file is needed.
    #[error("{file}: is a folder, not a file")]
    Folder {
        /// The path.
        file: String,
    },
    /// Neither the name of a file nor its beginning tells its format.
    #[error("{file}: unknown extension {extension:?}")]
    Extension {
        /// The file.
        file: String,
        /// Its extension, with the dot; empty if it has none.
        extension: String,
        /// The extensions that are known.
        known: &'static str,
    },
    /// A file is of another format than its name promises, or of one that is not read.
    #[error("{file}: the file is {found}{}", promised.map(|promised| format!(", not {promised} as its name says")).unwrap_or_default())]
    OtherFormat {
        /// The file.
        file: String,
        /// What it is.
        found: String,
        /// The format its name promises, if it promises one.
        promised: Option<&'static str>,
    },
    /// A file that should be text holds bytes that no text has.
    #[error("{file}: line {line}: a NUL byte; the file is not text")]
    NotText {
        /// The file.
        file: String,
        /// Line, from 1.
        line: u64,
    },
    /// A line of text, or a quoted cell that goes on over lines, is too long to be part of a table.
    #[error("{file}: line {line}: longer than {} MiB", limit >> 20)]
    LongLine {
        /// The file.
        file: String,
        /// Line, from 1.
        line: u64,
        /// Most bytes of a line.
        limit: usize,
    },
    /// A table has too many columns.
    #[error("{file}: {n_columns} columns, at most {limit} can be read")]
    TooManyColumns {
        /// The file.
        file: String,
        /// Columns found.
        n_columns: usize,
        /// Most columns of a table.
        limit: usize,
    },
    /// The rows do not fit into memory.
    #[error("{file}: the rows need more than the {} of memory that are free", size(*limit))]
    Memory {
        /// The file.
        file: String,
        /// Bytes that the rows may take.
        limit: u64,
    },
    /// A file is of the right format but holds something that is not a table of numbers.
    #[error("{file}: {reason}")]
    Unsupported {
        /// The file.
        file: String,
        /// What it holds.
        reason: String,
    },
    /// An output would take the place of a file that no earlier run wrote.
    #[error("{}: is there already, and no earlier run wrote it", file.display())]
    ForeignFile {
        /// The file.
        file: PathBuf,
    },
    /// A file is damaged, cut off, or not of the format its name promises.
    #[error("{file}: not a sound {format} file: {reason}")]
    Corrupt {
        /// The file.
        file: String,
        /// The format its name promises.
        format: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// A model file holds something that is no mixture.
    #[error("{file}: {source}")]
    InvalidModel {
        /// The file.
        file: String,
        /// What is wrong.
        source: mixtura::Error,
    },
    /// A file holds nothing at all.
    #[error("{file}: the file is empty")]
    Empty {
        /// The file.
        file: String,
    },
    /// A table has no rows.
    #[error("{file}: no rows of data")]
    NoRows {
        /// The file.
        file: String,
    },
    /// A table has no columns, or none are left for the data.
    #[error("{file}: no columns of data")]
    NoColumns {
        /// The file.
        file: String,
    },
    /// No column holds numbers.
    #[error("{file}: no column holds numbers: {example}")]
    NoNumbers {
        /// The file.
        file: String,
        /// What the first of them holds instead.
        example: String,
    },
    /// Every row was left out because a cell is missing.
    #[error("{file}: all {n_rows} rows have missing cells")]
    AllSkipped {
        /// The file.
        file: String,
        /// Rows in the file.
        n_rows: usize,
    },
    /// The columns picked are not those that are expected, as a rule by a model.
    #[error("{file}: the columns picked are {}, but {} are expected", listed(picked), listed(expected))]
    OtherColumns {
        /// The file.
        file: String,
        /// The names that were picked.
        picked: Vec<String>,
        /// The names that are expected.
        expected: Vec<String>,
    },
    /// A pattern or range of columns matches none.
    #[error("{file}: no column matches {selector:?}")]
    NoMatch {
        /// The file.
        file: String,
        /// The pattern or range.
        selector: String,
        /// The names the file has; empty if its columns have none.
        available: Vec<String>,
        /// How many columns the file has.
        n_columns: usize,
    },
    /// A column was asked for that the file does not have.
    #[error("{file}: no column {column:?}")]
    UnknownColumn {
        /// The file.
        file: String,
        /// What was asked for.
        column: String,
        /// The names most like it.
        near: Vec<String>,
        /// The names the file has; empty if its columns have none.
        available: Vec<String>,
        /// How many columns the file has.
        n_columns: usize,
    },
    /// A column was asked for twice.
    #[error("{file}: {column} is asked for twice")]
    RepeatedColumn {
        /// The file.
        file: String,
        /// The column.
        column: Column,
    },
    /// Two columns of the file have the name that was asked for.
    #[error("{file}: the name {name:?} stands for columns {} and {}", first + 1, second + 1)]
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
    /// A column does not hold numbers.
    #[error("{file}: {column} has type {kind}, not a type of numbers")]
    ColumnType {
        /// The file.
        file: String,
        /// The column.
        column: Column,
        /// Its type, as the format calls it.
        kind: String,
        /// The columns that do hold numbers.
        numeric: Vec<String>,
    },
    /// A delimiter that could be part of a number.
    #[error("delimiter {delimiter:?} could be part of a number")]
    Delimiter {
        /// The delimiter.
        delimiter: char,
    },
    /// A decimal mark that is neither a point nor a comma.
    #[error("decimal mark {decimal:?} is neither a point nor a comma")]
    Decimal {
        /// The decimal mark.
        decimal: char,
    },
    /// A column of a stream had only missing cells for so long that it was left out, and then a number.
    #[error("{place}: value {value} is the first number of the column, after missing cells only")]
    LateNumber {
        /// Where.
        place: Place,
        /// The value as it stands in the file.
        value: String,
    },
    /// A row has more or fewer values than the table has columns.
    #[error("{file}: row {}, line {line}: {n_found} values, expected {n_expected}", row + 1)]
    Ragged {
        /// The file.
        file: String,
        /// Row of data, from 0.
        row: usize,
        /// Line, from 1.
        line: u64,
        /// Values found.
        n_found: usize,
        /// Columns of the table.
        n_expected: usize,
    },
    /// A cell holds nothing.
    #[error("{place}: empty cell")]
    EmptyCell {
        /// Where.
        place: Place,
    },
    /// A cell holds NaN or an infinity.
    #[error("{place}: value {value} is not finite")]
    NotFinite {
        /// Where.
        place: Place,
        /// The value as it stands in the file.
        value: String,
    },
    /// A cell holds a number beyond the range of double precision.
    #[error("{place}: value {value} is too large for double precision")]
    TooLarge {
        /// Where.
        place: Place,
        /// The value as it stands in the file.
        value: String,
    },
    /// A cell holds something else than a number.
    #[error("{place}: value {value:?} is not a number")]
    NotNumber {
        /// Where.
        place: Place,
        /// The value as it stands in the file.
        value: String,
    },
    /// A cell holds a whole number that double precision would change.
    #[error("{place}: value {value} has no exact double-precision form")]
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
    /// Something else stands where a folder is needed.
    #[error("{}: is not a folder", file.display())]
    NotFolder {
        /// The path.
        file: PathBuf,
    },
    /// Columns of the data were to be kept in an array of numbers.
    #[error("{}: an NPY array cannot hold the columns of the data", file.display())]
    OriginalsInNpy {
        /// The output file.
        file: PathBuf,
    },
    /// A table has fewer rows than when it was read first.
    #[error("{file}: {n_found} rows, but {n_expected} when it was read first")]
    FewerRows {
        /// The file.
        file: String,
        /// Rows there are now.
        n_found: usize,
        /// Rows asked for by then.
        n_expected: usize,
    },
    /// The library refused the rows as a whole.
    #[error("{file}: {source}")]
    Rows {
        /// The file.
        file: String,
        /// Why.
        source: mixtura::Error,
    },
}

impl Error {
    /// What the user may do about it.
    pub fn hint(&self) -> Option<String> {
        let text = match self {
            Self::Extension { known, .. } => return Some(format!("known extensions are {known}")),
            Self::UnknownColumn { available, n_columns, near, .. } => {
                let columns = available_columns(available, *n_columns);
                let near: Vec<String> = near.iter().map(|name| format!("{name:?}")).collect();
                let near =
                    if near.is_empty() { near.concat() } else { format!("did you mean {}? ", near.join(" or ")) };
                return Some(near + &columns);
            }
            Self::NoMatch { available, n_columns, .. } => return Some(available_columns(available, *n_columns)),
            Self::ColumnType { numeric, .. } if numeric.is_empty() => return None,
            Self::ColumnType { numeric, .. } => {
                return Some(format!("pick columns of numbers with --columns: {}", listed(numeric)));
            }
            Self::ForeignFile { .. } => "choose another folder, or move the file away",
            Self::NoFolder { .. } => "make the folder first",
            Self::OriginalsInNpy { .. } => "write .csv, .parquet or .arrow",
            Self::FewerRows { .. } => "the file must not change while it is read",
            Self::NotFolder { .. } => "name a folder, or a place where one can be made",
            Self::Empty { .. } | Self::NoRows { .. } => "a table needs at least one row of numbers",
            Self::NoColumns { .. } => "name the columns of data with --columns",
            Self::NoNumbers { .. } => "another separator needs --delimiter; a decimal comma needs --decimal ,",
            Self::AllSkipped { .. } => "leave out the columns with missing cells with --exclude",
            Self::OtherColumns { .. } => "without --columns, the expected columns are found by their names",
            Self::AmbiguousColumn { .. } => {
                "give each column its own name, leave one out by its number with --exclude, or use --no-header if the file has no header"
            }
            Self::Delimiter { .. } => "use a comma, semicolon, tab, pipe or space",
            Self::Decimal { .. } => "use . or ,",
            Self::Ragged { n_expected, .. } if *n_expected > 1 => "check that line for a missing or extra delimiter",
            Self::EmptyCell { .. } => MISSING_HINT,
            Self::NotFinite { value, .. } if value.to_ascii_lowercase().contains("nan") => MISSING_HINT,
            Self::NotFinite { .. } => "remove such rows first",
            Self::LateNumber { .. } => "name the columns with --columns, or read from a file",
            Self::TooLarge { .. } => "bring the column to other units",
            Self::NotNumber { value, .. } => number_hint(value),
            Self::Inexact { .. } => "identifiers are not data: leave the column out with --exclude",
            Self::NegativeWeight { .. } => "weights are at least 0",
            Self::InvalidModel { .. } => "was the model file edited by hand?",
            Self::Ragged { n_expected: 1, .. } => "the values may be separated by something else: use --delimiter",
            Self::Corrupt { format: "model", .. } => "a model file is the JSON that `mixtura fit --output` writes",
            Self::Corrupt { .. } => "the file may be cut off, or have another format than its name says",
            Self::OtherFormat { promised: Some(_), .. } => "give the file the extension of its format",
            Self::OtherFormat { promised: None, .. } => "unpack or convert it first",
            Self::NotText { .. } => "UTF-16 text must be saved as UTF-8",
            Self::LongLine { .. } => "is there a quote that is never closed, or is the file not a table?",
            Self::Memory { .. } => "use fewer columns (--columns) or a sample of the rows",
            _ => return None,
        };
        Some(text.to_owned())
    }

    /// Whether the reader of our output went away, which is no failure of ours.
    pub fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Write { source, .. } if source.kind() == io::ErrorKind::BrokenPipe)
    }
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
