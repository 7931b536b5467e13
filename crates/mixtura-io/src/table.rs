//! Holds what a file gave (rows, labels, notices) and what to ask of it.

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
    /// Rows of the file that were left out because a cell is missing, from 0, ascending.
    pub skipped: Vec<usize>,
    /// Rows in the file, with those that were left out.
    pub n_rows_read: usize,
    /// For each column of `rows` its index among the columns of the file.
    pub used: Vec<usize>,
    /// The names of all columns of the file, in order; empty if they have none. A column whose own
    /// name is empty is called `column` and its number.
    pub file_columns: Vec<String>,
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

/// What to do with rows in which a used cell (data, weight or label) is missing: empty, null, NaN,
/// or one of the words NA, N/A, NaN and null in any case. Infinities are refused either way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Missing {
    /// Refuse the table, with the place of the first such cell.
    #[default]
    Refuse,
    /// Leave such rows out and say how many.
    Skip,
}

/// Which columns of a table to read, and how.
///
/// A selector of columns is an exact name, which always wins; a number from 1, unless names are
/// numbers themselves; a range of either with both ends, `a..d`, `2..5` or `2-5`; or a pattern with
/// `*`, `?`, `[abc]`, `[a-z]` or `[!abc]`, which tells upper case from lower.
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
    /// Selectors of the columns of data; default: all but weights and labels. A column that several
    /// patterns or ranges pick counts once, where it is first picked; named twice, it is refused.
    pub columns: Option<Vec<String>>,
    /// Selectors of columns that are not data, whatever `columns` picks; default: none.
    pub exclude: Vec<String>,
    /// The names that the columns of data must have, exactly, and the order they are given in; ignored
    /// if the table has no names. Together with `columns`, those must be the same names. Default: none.
    pub expected: Option<Vec<String>>,
    /// Whether to refuse a column without any number (text, dates, only missing cells) that was not
    /// asked for by name or number, instead of leaving it out with a notice; default: false.
    pub strict: bool,
    /// What to do with rows in which a cell is missing; default: refuse them.
    pub missing: Missing,
    /// Whether the first line of a text file holds names; default: true.
    pub has_header: bool,
    /// What stands between the values of a text file; default: guessed from its extension and beginning.
    pub delimiter: Option<u8>,
    /// The decimal mark of a text file, `b'.'` or `b','`; default: a point, or a comma where values are
    /// separated by semicolons and the beginning of the file has numbers such as `1,5` and none such as `1.5`.
    pub decimal: Option<u8>,
    /// The column of row weights, by name or number; default: none.
    pub weights: Option<String>,
    /// The column of labels, text or numbers, by name or number; default: none.
    pub labels: Option<String>,
    /// Most bytes of memory that the rows may take; default: most of what is free.
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
