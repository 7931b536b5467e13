//! Holds what a file gave: the rows, the original values of the labels, and notices for the user.

use mixtura::Rows;

/// A table in memory.
#[derive(Debug, Clone)]
pub struct Table {
    /// The rows, with names, weights and labels as far as the file and the options give them.
    pub rows: Rows<'static>,
    /// What the labels of the rows stand for, if a column of labels was asked for.
    pub labels: Option<LabelColumn>,
    /// What the user should know although nothing is wrong.
    pub notices: Vec<String>,
}

/// The column that the labels came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelColumn {
    /// The column, as it was asked for.
    pub name: String,
    /// The values in the file; label `i` stands for `values[i]`. In order of number if all are
    /// numbers, else of text.
    pub values: Vec<String>,
}

/// Which columns of a table to read, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadOptions {
    /// The columns of data, by name, or by number from 1; default: all but weights and labels.
    pub columns: Option<Vec<String>>,
    /// If the table has no names of its own, take its columns by position, whatever `columns` says;
    /// default: false.
    pub by_position_without_names: bool,
    /// Whether the first line of a text file holds names; default: true.
    pub has_header: bool,
    /// What stands between the values of a text file; default: guessed from extension and first line.
    pub delimiter: Option<u8>,
    /// The column of row weights; default: none.
    pub weights: Option<String>,
    /// The column of labels, text or numbers; default: none.
    pub labels: Option<String>,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            columns: None,
            by_position_without_names: false,
            has_header: true,
            delimiter: None,
            weights: None,
            labels: None,
        }
    }
}
