//! The location of a cell: file, row, line and column.

use std::fmt;

/// A column, identified by its name or by its number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Column {
    /// The name in the file.
    Name(String),
    /// The number, from 0, of a column without a name.
    Number(usize),
}

impl fmt::Display for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => write!(f, "column {name:?}"),
            Self::Number(number) => write!(f, "column {}", number + 1),
        }
    }
}

/// The location of a cell.
///
/// ```
/// use mixtura_io::{Column, Place};
///
/// let place = Place { file: "a.csv".into(), row: 2, line: Some(4), column: Column::Name("x".into()) };
/// assert_eq!(place.to_string(), r#"a.csv: row 3, line 4, column "x""#);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file, as given by the user.
    pub file: String,
    /// Row of data, from 0.
    pub row: usize,
    /// Line of a text file, from 1, as counted by editors.
    pub line: Option<u64>,
    /// The column.
    pub column: Column,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: row {}", self.file, self.row + 1)?;
        if let Some(line) = self.line {
            write!(f, ", line {line}")?;
        }
        write!(f, ", {}", self.column)
    }
}
