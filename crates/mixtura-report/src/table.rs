//! Tables of a page; on phones, each row becomes a card.

use crate::page::Tone;
use crate::typeset;

/// Cells longer than this are prose, aligned to the left.
const PROSE: usize = 32;
/// Cells up to this length are not wrapped.
const WHOLE: usize = 12;

/// A table with a header; the first column contains the row names.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Table {
    /// Caption.
    pub caption: String,
    /// Names of the columns.
    pub heading: Vec<String>,
    /// The rows.
    pub rows: Vec<Vec<String>>,
    /// A column whose cells say whether something is good.
    pub verdicts: Option<Verdicts>,
}

/// A column of a table whose cells say whether something is good; they are coloured and keep their words.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verdicts {
    /// Number of the column, from 0.
    pub column: usize,
    /// The tone of the cell in each row; further rows are not coloured.
    pub tones: Vec<Tone>,
}

impl Table {
    pub(crate) fn to_html(&self) -> String {
        let heading = |(column, cell): (usize, &String)| {
            let class = if self.is_words(column) { " class=\"words\"" } else { "" };
            format!("<th{class}>{}</th>", typeset::html(&with_minus(cell)))
        };
        let heading: String = self.heading.iter().enumerate().map(heading).collect();
        let row = |(number, row): (usize, &Vec<String>)| {
            let cells = row.iter().enumerate().map(|(column, cell)| self.cell(number, column, cell));
            format!("<tr>{}</tr>", cells.collect::<String>())
        };
        let rows: String = self.rows.iter().enumerate().map(row).collect();
        let (caption, label) = (typeset::html(&self.caption), typeset::plain(&self.caption));
        format!(
            "<p class=\"caption\">{caption}</p><div class=\"table\"><table aria-label=\"{label}\"><thead><tr>{heading}</tr></thead>\
             <tbody>{rows}</tbody></table></div>"
        )
    }

    /// Whether a column contains verdicts or prose, and is aligned to the left.
    fn is_words(&self, column: usize) -> bool {
        let mut cells = self.rows.iter().filter_map(|row| row.get(column));
        self.verdicts.as_ref().is_some_and(|verdicts| verdicts.column == column)
            || cells.any(|cell| cell.chars().count() > PROSE)
    }

    fn cell(&self, row: usize, column: usize, cell: &str) -> String {
        let label = self.heading.get(column).map_or_else(String::new, |label| typeset::plain(label));
        let text = typeset::html(&with_minus(cell));
        let verdicts = self.verdicts.as_ref().filter(|verdicts| verdicts.column == column);
        let tone = verdicts.and_then(|verdicts| verdicts.tones.get(row));
        let mut classes = Vec::new();
        if self.is_words(column) {
            classes.push("words");
        }
        if cell.chars().count() > PROSE {
            classes.push("prose");
        } else if cell.chars().count() <= WHOLE {
            classes.push("whole");
        }
        let content = match tone {
            Some(tone) => format!("<span class=\"tone {}\">{text}</span>", tone.class()),
            None => text,
        };
        format!("<td class=\"{}\" data-label=\"{label}\"><span>{content}</span></td>", classes.join(" "))
    }
}

/// A negative number with a minus sign in place of a hyphen.
fn with_minus(cell: &str) -> String {
    if cell.parse::<f64>().is_ok() { cell.replace('-', "−") } else { cell.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let row = |name: &str, agrees: &str| vec![name.into(), agrees.into()];
        Table {
            heading: vec!["claim".into(), "holds < here".into()],
            rows: vec![row("a", "yes"), row("b", "in part"), row("c", "no"), row("d", "-1.5")],
            verdicts: Some(Verdicts { column: 1, tones: vec![Tone::Good, Tone::Neutral, Tone::Caution] }),
            ..Table::default()
        }
    }

    #[test]
    fn verdicts_have_a_colour_and_keep_their_words() {
        let html = table().to_html();
        for (class, word) in [("good", "yes"), ("neutral", "in part"), ("caution", "no")] {
            assert!(html.contains(&format!("<span class=\"tone {class}\">{word}</span>")), "{html}");
        }
        assert_eq!(html.matches("class=\"tone").count(), 3);
    }

    #[test]
    fn every_cell_knows_its_heading() {
        let html = table().to_html();
        assert_eq!(html.matches("data-label=\"claim\"").count(), 4);
        assert_eq!(html.matches("data-label=\"holds &lt; here\"").count(), 4);
        assert!(html.contains("−1.5"));
    }

    #[test]
    fn labels_on_phones_had_an_underscore() {
        let heading = vec!["start".into(), "largest bound, of Γ_μ".into()];
        let html = Table { heading, rows: vec![vec!["1".into(), "2 %".into()]], ..Table::default() }.to_html();
        assert!(html.contains("data-label=\"largest bound, of Γμ\"") && html.contains("Γ<sub>μ</sub>"), "{html}");
    }
}
