//! Infers the types of text columns in one pass, and converts cells to arrays of these types.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Schema};

use super::OriginalSchema;
use super::text::{TextRows, rows};
use crate::Error;
use crate::read::missing::is_missing;
use crate::read::text::Records;

/// Number of rows examined at a time.
const BATCH_ROWS: usize = 1 << 12;

/// The type of a column, from the narrowest to the widest; missing cells fit any type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Empty,
    Whole,
    Number,
    Text,
}

impl Kind {
    pub(super) fn data_type(self) -> DataType {
        match self {
            Self::Whole => DataType::Int64,
            Self::Number => DataType::Float64,
            Self::Empty | Self::Text => DataType::Utf8,
        }
    }

    fn of(cell: &[u8]) -> Self {
        let Some(text) = trimmed(cell) else {
            return Self::Text;
        };
        let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
        let is_whole = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        match text {
            _ if is_missing(cell) => Self::Empty,
            // A number such as 007, or one that does not fit, is treated as text.
            _ if is_whole && digits.len() > 1 && digits.starts_with('0') => Self::Text,
            _ if is_whole => text.parse::<i64>().map_or(Self::Text, |_| Self::Whole),
            _ => text.parse::<f64>().map_or(Self::Text, |_| Self::Number),
        }
    }
}

/// The type of every column.
pub(super) fn kinds(mut records: Records) -> Result<Vec<Kind>, Error> {
    let mut kinds = vec![Kind::Empty; records.names().len()];
    loop {
        let rows = rows(&mut records, BATCH_ROWS)?;
        for row in 0..rows.n_rows() {
            for (kind, cell) in kinds.iter_mut().zip(rows.record(row)).filter(|(kind, _)| **kind < Kind::Text) {
                *kind = Kind::of(cell).max(*kind);
            }
        }
        if rows.n_rows() < BATCH_ROWS {
            return Ok(kinds);
        }
    }
}

/// Converts cells to arrays of the inferred types; fails if the text has changed since.
pub(super) fn batch(rows: &TextRows, kinds: &[Kind], schema: &OriginalSchema) -> Result<RecordBatch, String> {
    let arrays = kinds.iter().enumerate().map(|(column, &kind)| array(rows, column, kind)).collect::<Result<_, _>>()?;
    let schema = Arc::new(Schema::new(schema.fields.clone()));
    RecordBatch::try_new(schema, arrays).map_err(|error| error.to_string())
}

fn array(rows: &TextRows, column: usize, kind: Kind) -> Result<ArrayRef, String> {
    let cells = (0..rows.n_rows()).map(|row| rows.cell(row, column));
    let changed = || format!("column {} changed after its type was inferred", column + 1);
    let parse_all = |cell| match trimmed(cell) {
        Some(_) if is_missing(cell) => Ok(None),
        Some(text) => Ok(Some(text)),
        None => Err(changed()),
    };
    Ok(match kind {
        Kind::Whole => {
            let parse = |cell| parse_all(cell)?.map(|text| text.parse().map_err(|_| changed())).transpose();
            Arc::new(cells.map(parse).collect::<Result<Int64Array, String>>()?)
        }
        Kind::Number => {
            let parse = |cell| parse_all(cell)?.map(|text| text.parse().map_err(|_| changed())).transpose();
            Arc::new(cells.map(parse).collect::<Result<Float64Array, String>>()?)
        }
        Kind::Empty | Kind::Text => {
            let text = cells.map(|cell| (!cell.is_empty()).then(|| String::from_utf8_lossy(cell)));
            Arc::new(text.collect::<StringArray>())
        }
    })
}

/// The cell without surrounding white space, if it is valid UTF-8.
fn trimmed(cell: &[u8]) -> Option<&str> {
    std::str::from_utf8(cell.trim_ascii()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_have_the_narrowest_type_that_keeps_them() {
        for (cell, kind) in [
            ("", Kind::Empty),
            (" ", Kind::Empty),
            ("0", Kind::Whole),
            (" -12 ", Kind::Whole),
            ("9223372036854775807", Kind::Whole),
            ("9223372036854775808", Kind::Text),
            ("007", Kind::Text),
            ("0.50", Kind::Number),
            ("1e3", Kind::Number),
            ("NaN", Kind::Empty),
            ("NA", Kind::Empty),
            ("1,5", Kind::Text),
            ("-", Kind::Empty),
            ("--", Kind::Text),
            ("2026-11-17", Kind::Text),
        ] {
            assert_eq!(Kind::of(cell.as_bytes()), kind, "{cell:?}");
        }
        assert_eq!(Kind::of(b"\xff"), Kind::Text);
    }
}
