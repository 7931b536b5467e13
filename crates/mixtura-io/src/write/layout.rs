//! The columns of an output table: numbers, labels, and the columns of the data before them.

use crate::original::{OriginalSchema, Originals};

/// A table of numbers, optionally with a last column of labels: the simple kind of [`TableLayout`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableColumns {
    /// Names of the columns of numbers; may be empty if there are labels.
    pub names: Vec<String>,
    /// Name of the last column, if it contains labels.
    pub label: Option<String>,
}

/// An output column.
///
/// ```
/// use mixtura_io::{ColumnKind, TableColumn};
///
/// let label = TableColumn::label("label").optional();
/// assert_eq!((label.kind, label.is_optional), (ColumnKind::Label, true));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableColumn {
    /// Its name.
    pub name: String,
    /// The kind of values.
    pub kind: ColumnKind,
    /// Whether values may be missing: empty in CSV, null in Parquet and Arrow.
    pub is_optional: bool,
}

/// The kind of values in an output column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnKind {
    /// Numbers in double precision.
    Number,
    /// Labels, integers from 0.
    Label,
}

/// The columns of an output table.
///
/// Columns of the data come first, unchanged. If the name of a new column is already taken, a number is appended, so
/// that for data with a column `label` the new labels are in `label_1`.
///
/// ```
/// use mixtura_io::{CellForm, Input, Originals, ReadOptions, TableColumn, TableLayout};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("points.csv");
/// std::fs::write(&path, "x,label\n1,a\n")?;
/// let data = Originals::open(&Input::from(path), &ReadOptions::default(), CellForm::Text)?;
/// let layout = TableLayout::new(vec![TableColumn::label("label"), TableColumn::number("probability")]).keep(&data);
/// assert_eq!(layout.names(), ["x", "label", "label_1", "probability"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct TableLayout {
    pub(crate) originals: Option<OriginalSchema>,
    pub(crate) columns: Vec<TableColumn>,
}

impl TableColumn {
    /// A column of numbers.
    pub fn number(name: impl Into<String>) -> Self {
        Self { name: name.into(), kind: ColumnKind::Number, is_optional: false }
    }

    /// A column of labels.
    pub fn label(name: impl Into<String>) -> Self {
        Self { name: name.into(), kind: ColumnKind::Label, is_optional: false }
    }

    /// The same column, with missing values allowed.
    #[must_use]
    pub fn optional(self) -> Self {
        Self { is_optional: true, ..self }
    }
}

impl TableLayout {
    /// A table with new columns only.
    pub fn new(columns: Vec<TableColumn>) -> Self {
        Self { originals: None, columns }
    }

    /// The same table, with all columns of the data before the new ones.
    #[must_use]
    pub fn keep(mut self, originals: &Originals) -> Self {
        let mut taken = originals.names();
        for column in &mut self.columns {
            let numbered = (1..).map(|number| format!("{}_{number}", column.name));
            let mut candidates = std::iter::once(column.name.clone()).chain(numbered);
            column.name = candidates.find(|name| !taken.contains(name)).expect("invariant: numbers do not end");
            taken.push(column.name.clone());
        }
        self.originals = Some(originals.schema().clone());
        self
    }

    /// The names of all columns, in order.
    pub fn names(&self) -> Vec<String> {
        let originals = self.originals.iter().flat_map(OriginalSchema::names);
        originals.chain(self.columns.iter().map(|column| column.name.clone())).collect()
    }

    /// Whether the table consists of a single column of labels.
    pub(super) fn is_labels_alone(&self) -> bool {
        self.originals.is_none() && matches!(&self.columns[..], [column] if column.kind == ColumnKind::Label)
    }
}

impl From<&TableColumns> for TableLayout {
    fn from(columns: &TableColumns) -> Self {
        let numbers = columns.names.iter().map(TableColumn::number);
        Self::new(numbers.chain(columns.label.iter().map(TableColumn::label)).collect())
    }
}
