//! Finds missing values in the rows, and the rows and columns to remove because of them.

use mixtura::rows::RowsBuilder;

use super::cell::Cell;

/// Words for missing values, in any case, as used by R, pandas, databases, Excel, UCI and SAS.
const WORDS: [&str; 12] = ["na", "n/a", "nan", "-nan", "+nan", "null", "none", "<na>", "#n/a", "?", "-", "."];

/// Whether a text cell denotes a missing value.
pub(crate) fn is_missing(cell: &[u8]) -> bool {
    let cell = cell.trim_ascii();
    // Fast path: nearly every cell is a number, and no word is longer than this.
    cell.is_empty() || (cell.len() <= 4 && WORDS.iter().any(|word| cell.eq_ignore_ascii_case(word.as_bytes())))
}

/// Columns that contain only NaN.
pub(super) fn columns_without_numbers<T: Cell>(builder: &RowsBuilder<T>, n_columns: usize) -> Vec<usize> {
    let is_empty = |&column: &usize| (0..builder.n_rows()).all(|row| is_nan(builder.value(row, column)));
    (0..n_columns).filter(is_empty).collect()
}

/// Rows with a NaN, in ascending order; or the first infinity, as row, column and value.
pub(super) fn rows_with_missing<T: Cell>(
    builder: &RowsBuilder<T>,
    n_columns: usize,
) -> Result<Vec<usize>, (usize, usize, f64)> {
    let mut rows = Vec::new();
    for row in 0..builder.n_rows() {
        let mut has_missing = false;
        for column in 0..n_columns {
            let value = builder.value(row, column).to_f64();
            if value.is_infinite() {
                return Err((row, column, value));
            }
            has_missing |= value.is_nan();
        }
        if has_missing {
            rows.push(row);
        }
    }
    Ok(rows)
}

/// Whether a column counts the rows: consecutive integers from any start.
pub(super) fn counts_rows<T: Cell>(builder: &RowsBuilder<T>, column: usize) -> bool {
    let value = |row| builder.value(row, column).to_f64();
    let first: f64 = value(0);
    // Nearly every data column breaks the pattern in its second row.
    first.fract() == 0.0 && (1..builder.n_rows()).all(|row| value(row) == first + row as f64)
}

fn is_nan<T: Cell>(value: T) -> bool {
    value.to_f64().is_nan()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_for_a_missing_cell_are_known() {
        for cell in [
            "", "  ", "NA", "na", "N/A", "nan", "NaN", "-nan", "null", "NULL", " null\t", "None", "<NA>", "#N/A", "?",
            "-", ".",
        ] {
            assert!(is_missing(cell.as_bytes()), "{cell:?}");
        }
        for cell in ["0", "n", "nana", "inf", "--", "nope"] {
            assert!(!is_missing(cell.as_bytes()), "{cell:?}");
        }
    }

    #[test]
    fn only_steps_of_one_count_the_rows() {
        let counts = |values: &[f64]| {
            let mut builder = RowsBuilder::<f64>::new(1).unwrap();
            values.iter().for_each(|&value| builder.push_row(&[value]).unwrap());
            counts_rows(&builder, 0)
        };
        assert!(counts(&[0.0, 1.0, 2.0]));
        assert!(counts(&[-7.0, -6.0, -5.0]));
        assert!(!counts(&[0.5, 1.5, 2.5]));
        assert!(!counts(&[0.0, 2.0, 4.0]));
        assert!(!counts(&[0.0, 1.0, 1.0]));
        assert!(!counts(&[f64::NAN, 1.0, 2.0]));
    }
}
