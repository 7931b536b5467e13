//! A table in memory, and the options for reading it.

use mixtura::Rows;

/// A table in memory.
#[derive(Debug, Clone)]
pub struct Table {
    /// The rows, with names, weights and labels if the file and the options provide them.
    pub rows: Rows<'static>,
    /// The meaning of the row labels, if a label column was requested.
    pub labels: Option<LabelColumn>,
    /// Notes for the user.
    pub notices: Vec<String>,
    /// Rows of the file that were skipped because of missing values, from 0, in ascending order.
    pub skipped: Vec<usize>,
    /// Number of rows in the file, including skipped rows.
    pub n_rows_read: usize,
    /// For each column of `rows`, its index in the file.
    pub used: Vec<usize>,
    /// The names of all columns of the file, in order; empty if they have none. A column whose own
    /// name is empty is called `column` and its number.
    pub file_columns: Vec<String>,
}

/// The column that the labels came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelColumn {
    /// The column as requested.
    pub name: String,
    /// The values in the file; label `i` means `values[i]`. Sorted numerically if all are numbers,
    /// else as text.
    pub values: Vec<String>,
}

/// How to handle rows in which a data, weight or label cell is missing: empty, null, NaN, or one of the
/// words NA, N/A, NaN and null in any case. Infinities are always rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Missing {
    /// Fail, and report the first such cell.
    #[default]
    Refuse,
    /// Skip these rows and report how many there are.
    Skip,
}

/// Which columns of a table to read, and how.
///
/// A column selector is an exact name, which takes precedence; a position from 1, unless names are
/// numbers themselves; an inclusive range of either, `a..d`, `2..5` or `2-5`; or a case-sensitive
/// pattern with `*`, `?`, `[abc]`, `[a-z]` or `[!abc]`.
///
/// ```
/// use mixtura_io::{Input, Missing, ReadOptions, read};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("points.csv");
/// std::fs::write(&path, "id,x1,x2,city\n7,1,2,Oslo\n8,,4,Rome\n")?;
/// let options = ReadOptions {
///     columns: Some(vec!["x*".into()]),
///     missing: Missing::Skip,
///     ..ReadOptions::default()
/// };
/// let table = read(&Input::from(path), &options)?;
/// assert_eq!(table.rows.row(0), [1.0, 2.0]);
/// assert_eq!((table.used, table.skipped, table.n_rows_read), (vec![1, 2], vec![1], 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadOptions {
    /// Selectors of the data columns; default: all except weights and labels. A column matched by several
    /// patterns or ranges is used once, at its first match; naming a column twice is an error.
    pub columns: Option<Vec<String>>,
    /// Selectors of columns to leave out, even if `columns` selects them; default: none.
    pub exclude: Vec<String>,
    /// The exact names of the data columns, in the order in which they are returned; ignored if the table
    /// has no names. If `columns` is given too, it must select the same names. Default: none.
    pub expected: Option<Vec<String>>,
    /// Whether to fail on a column without any number (text, dates, only missing values) that was not
    /// selected by name or position, instead of leaving it out with a note; default: false.
    pub strict: bool,
    /// How to handle rows with missing values; default: fail.
    pub missing: Missing,
    /// Whether the first line of a text file contains column names; default: true.
    pub has_header: bool,
    /// The delimiter of a text file; default: detected from the extension and the beginning of the file.
    pub delimiter: Option<u8>,
    /// The decimal separator of a text file, `b'.'` or `b','`; default: a point, or a comma if the delimiter is a
    /// semicolon and the beginning of the file has numbers such as `1,5` and none such as `1.5`.
    pub decimal: Option<u8>,
    /// The column of row weights, by name or position; default: none.
    pub weights: Option<String>,
    /// The column of labels, text or numbers, by name or position; default: none.
    pub labels: Option<String>,
    /// Maximum memory of the rows in bytes; default: most of the available memory.
    pub memory: Option<u64>,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            columns: None,
            exclude: Vec::new(),
            expected: None,
            strict: false,
            missing: Missing::Refuse,
            has_header: true,
            delimiter: None,
            decimal: None,
            weights: None,
            labels: None,
            memory: None,
        }
    }
}
