//! A batch of rows to be written, accessed column by column.

use super::layout::{ColumnKind, TableColumn};
use crate::original::OriginalRows;

/// The cells of a column, one for each row of a batch.
#[derive(Debug, Clone, Copy)]
pub enum Cells<'a> {
    /// Numbers.
    Numbers(&'a [f64]),
    /// Numbers, with missing values.
    OptionalNumbers(&'a [Option<f64>]),
    /// Labels.
    Labels(&'a [u32]),
    /// Labels, with missing values.
    OptionalLabels(&'a [Option<u32>]),
}

impl Cells<'_> {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Numbers(cells) => cells.len(),
            Self::OptionalNumbers(cells) => cells.len(),
            Self::Labels(cells) => cells.len(),
            Self::OptionalLabels(cells) => cells.len(),
        }
    }
}

/// Rows to be written.
pub(super) struct Batch<'a> {
    pub(super) originals: Option<&'a OriginalRows>,
    pub(super) columns: Vec<Column<'a>>,
    pub(super) n_rows: usize,
}

/// A column of a batch: separate cells, or a strided view of row-major values.
#[derive(Clone, Copy)]
pub(super) enum Column<'a> {
    Cells(Cells<'a>),
    Strided { values: &'a [f64], first: usize, step: usize },
}

/// A cell; `None` if it is missing.
#[derive(Clone, Copy)]
pub(super) enum Cell {
    Number(f64),
    Label(u32),
    Missing,
}

impl Column<'_> {
    /// Whether the cells match the declared kind of a column.
    pub(super) fn fits(&self, column: &TableColumn) -> bool {
        let (kind, has_gaps) = match self {
            Self::Strided { .. } | Self::Cells(Cells::Numbers(_)) => (ColumnKind::Number, false),
            Self::Cells(Cells::OptionalNumbers(_)) => (ColumnKind::Number, true),
            Self::Cells(Cells::Labels(_)) => (ColumnKind::Label, false),
            Self::Cells(Cells::OptionalLabels(_)) => (ColumnKind::Label, true),
        };
        kind == column.kind && (column.is_optional || !has_gaps)
    }

    pub(super) fn cell(&self, row: usize) -> Cell {
        match *self {
            Self::Strided { values, first, step } => Cell::Number(values[first + row * step]),
            Self::Cells(Cells::Numbers(cells)) => Cell::Number(cells[row]),
            Self::Cells(Cells::OptionalNumbers(cells)) => cells[row].map_or(Cell::Missing, Cell::Number),
            Self::Cells(Cells::Labels(cells)) => Cell::Label(cells[row]),
            Self::Cells(Cells::OptionalLabels(cells)) => cells[row].map_or(Cell::Missing, Cell::Label),
        }
    }

    pub(super) fn number(&self, row: usize) -> Option<f64> {
        match self.cell(row) {
            Cell::Number(value) => Some(value),
            Cell::Label(label) => Some(f64::from(label)),
            Cell::Missing => None,
        }
    }

    pub(super) fn label(&self, row: usize) -> Option<u32> {
        match self.cell(row) {
            Cell::Label(label) => Some(label),
            Cell::Number(_) | Cell::Missing => None,
        }
    }
}
