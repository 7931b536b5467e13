//! Formats tables with aligned columns for the terminal.

use crate::talk::printable;

/// A table with aligned columns: text to the left, numbers to the right.
#[derive(Debug, Default)]
pub(crate) struct Aligned {
    rows: Vec<Vec<String>>,
}

impl Aligned {
    /// Creates a table with a header.
    pub(crate) fn new<S: Into<String>>(heading: impl IntoIterator<Item = S>) -> Self {
        let mut table = Self::default();
        table.row(heading);
        table
    }

    /// Adds a row, escaping control characters.
    pub(crate) fn row<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) {
        let cell = |cell: S| printable(&cell.into()).replace(['\n', '\t'], " ");
        self.rows.push(cells.into_iter().map(cell).collect());
    }

    /// The table as text, each line indented by two spaces.
    pub(crate) fn to_text(&self) -> String {
        let n_columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let cell = |row: &Vec<String>, column: usize| row.get(column).map_or(0, |cell| cell.chars().count());
        let widths: Vec<usize> =
            (0..n_columns).map(|column| self.rows.iter().map(|row| cell(row, column)).max().unwrap_or(0)).collect();
        let is_text: Vec<bool> = (0..n_columns).map(|column| self.is_text(column)).collect();
        let mut text = String::new();
        for row in &self.rows {
            let mut line = String::new();
            for (column, cell) in row.iter().enumerate() {
                let space = " ".repeat(widths[column] - cell.chars().count());
                let (before, after) = if is_text[column] { ("", space.as_str()) } else { (space.as_str(), "") };
                line.push_str("  ");
                line.push_str(before);
                line.push_str(cell);
                line.push_str(after);
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }

    /// Whether a column contains text and is therefore left-aligned.
    fn is_text(&self, column: usize) -> bool {
        let cells = self.rows.iter().skip(1).filter_map(|row| row.get(column));
        let mut cells = cells.filter(|cell| !cell.is_empty()).peekable();
        cells.peek().is_some() && cells.any(|cell| cell.starts_with(|c: char| c.is_alphabetic()))
    }
}

/// A count with its noun, in the plural unless the count is 1.
pub(crate) fn counted(n: usize, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{n} {noun}s") }
}

/// A number with six significant digits, in scientific notation if it is very large or small.
pub(crate) fn number(x: f64) -> String {
    if x == 0.0 {
        return "0".into();
    }
    let size = x.abs().log10().floor() as i32;
    if !(-4..9).contains(&size) {
        return format!("{x:.3e}");
    }
    let decimals = usize::try_from(5 - size).unwrap_or(0);
    format!("{x:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let mut table = Aligned::new(["name", "value"]);
        table.row(["a", "1.5"]);
        table.row(["μκ", "-10"]);
        assert_eq!(table.to_text(), "  name  value\n  a       1.5\n  μκ      -10\n");
    }

    #[test]
    fn numbers_have_six_digits() {
        for (x, text) in [
            (0.0, "0"),
            (1.0, "1.00000"),
            (-28.191_59, "-28.1916"),
            (1e-7, "1.000e-7"),
            (123_456_789.0, "123456789"),
            (2e12, "2.000e12"),
        ] {
            assert_eq!(number(x), text);
        }
    }
}
