//! Builds a self-contained HTML page from findings, figures and tables.

use std::fmt::Write as _;

use crate::escaped;
use crate::figure::Figure;
use crate::svg::{STYLE, class_of, light_colours};

/// A page: findings first, then sections.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Page {
    /// Title.
    pub title: String,
    /// Subtitle.
    pub subtitle: String,
    /// The main finding in one sentence.
    pub verdict: String,
    /// Key figures.
    pub findings: Vec<Finding>,
    /// Sections.
    pub sections: Vec<Section>,
    /// Footer: version, seed, how to repeat it.
    pub footer: String,
}

/// A key figure and its meaning.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// The number, with its unit.
    pub value: String,
    /// Its meaning.
    pub label: String,
    /// Whether it is good.
    pub tone: Tone,
}

/// Whether a finding is good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// Good.
    Good,
    /// Neither good nor bad.
    Neutral,
    /// Needs attention.
    Caution,
}

/// A part of a page with a heading.
#[derive(Debug, Clone, PartialEq)]
pub struct Section {
    /// The heading.
    pub heading: String,
    /// Its contents.
    pub blocks: Vec<Block>,
}

/// An element of a page.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// A paragraph.
    Text(String),
    /// A figure.
    Figure(Figure),
    /// A table.
    Table(Table),
    /// Several alternatives, one of which is shown.
    Choice(Choice),
}

/// A table with a header; the first column contains the row names.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Table {
    /// Caption.
    pub caption: String,
    /// Names of the columns.
    pub heading: Vec<String>,
    /// The rows.
    pub rows: Vec<Vec<String>>,
}

/// Several alternatives, one of which is shown.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// Label of the choice.
    pub label: String,
    /// The alternatives: name and contents.
    pub options: Vec<(String, Vec<Block>)>,
}

/// Cells longer than this are prose, which may be wrapped.
const PROSE: usize = 32;

/// Numbers the figures and choices of a page.
#[derive(Default)]
struct Counter {
    n_figures: usize,
    n_choices: usize,
}

impl Page {
    /// The complete page.
    pub fn to_html(&self) -> String {
        let mut counter = Counter::default();
        let mut body = String::new();
        for Section { heading, blocks } in &self.sections {
            write!(body, "<section><h2>{}</h2>{}</section>", escaped(heading), html_of(blocks, &mut counter))
                .expect("invariant: writing to a string cannot fail");
        }
        let findings: String = self.findings.iter().map(Finding::to_html).collect();
        let verdict = if self.verdict.is_empty() {
            String::new()
        } else {
            format!("<p class=\"verdict\">{}</p>", escaped(&self.verdict))
        };
        format!(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
             <title>{title}</title><link rel=\"icon\" href=\"data:,\">\n<style>:root{{{colours}}}\n{page_style}{STYLE}</style></head>\n\
             <body><main><header><h1>{title}</h1><p class=\"subtitle\">{subtitle}</p>{verdict}\
             <div class=\"findings\">{findings}</div></header>\n{body}\n<footer>{footer}</footer></main>\n\
             <script>{script}</script></body></html>\n",
            title = escaped(&self.title),
            colours = light_colours(),
            page_style = include_str!("page.css"),
            subtitle = escaped(&self.subtitle),
            footer = escaped(&self.footer),
            script = include_str!("page.js"),
        )
    }

    /// All figures, including those of choices.
    pub fn figures(&self) -> Vec<&Figure> {
        let mut figures = Vec::new();
        self.sections.iter().for_each(|section| collect(&section.blocks, &mut figures));
        figures
    }
}

/// Adds a prefix to the names of all figures, so that several data sets can have the same figures.
pub fn prefix_names(blocks: &mut [Block], prefix: &str) {
    for block in blocks {
        match block {
            Block::Figure(figure) => figure.name.insert_str(0, prefix),
            Block::Choice(choice) => choice.options.iter_mut().for_each(|(_, blocks)| prefix_names(blocks, prefix)),
            Block::Text(_) | Block::Table(_) => {}
        }
    }
}

fn collect<'a>(blocks: &'a [Block], figures: &mut Vec<&'a Figure>) {
    for block in blocks {
        match block {
            Block::Figure(figure) => figures.push(figure),
            Block::Choice(choice) => choice.options.iter().for_each(|(_, blocks)| collect(blocks, figures)),
            Block::Text(_) | Block::Table(_) => {}
        }
    }
}

impl Finding {
    fn to_html(&self) -> String {
        let tone = match self.tone {
            Tone::Good => "good",
            Tone::Neutral => "neutral",
            Tone::Caution => "caution",
        };
        let (value, label) = (escaped(&self.value), escaped(&self.label));
        format!("<div class=\"finding {tone}\"><b>{value}</b><span>{label}</span></div>")
    }
}

fn html_of(blocks: &[Block], counter: &mut Counter) -> String {
    blocks
        .iter()
        .map(|block| match block {
            Block::Text(text) => format!("<p>{}</p>", escaped(text)),
            Block::Figure(figure) => figure_html(figure, counter),
            Block::Table(table) => table.to_html(),
            Block::Choice(choice) => choice.to_html(counter),
        })
        .collect()
}

fn figure_html(figure: &Figure, counter: &mut Counter) -> String {
    counter.n_figures += 1;
    let id = format!("figure-{}", counter.n_figures);
    let mut legend = String::new();
    for (number, series) in figure.series.iter().enumerate() {
        write!(
            legend,
            "<button type=\"button\" class=\"{}\" data-series=\"{number}\" aria-pressed=\"true\"><svg viewBox=\"0 0 22 8\" aria-hidden=\"true\"><path class=\"line\" d=\"M0 4h22\"/></svg>{}</button>",
            class_of(series),
            escaped(&series.name)
        )
        .expect("invariant: writing to a string cannot fail");
    }
    // Inside a script element, only "</" is forbidden.
    let data = figure.to_data().to_string().replace("</", "<\\/");
    format!(
        "<figure id=\"{id}\" data-name=\"{}\"><figcaption>{}</figcaption><div class=\"legend-bar\">{legend}\
         <button type=\"button\" class=\"reset\" hidden>reset zoom</button></div><div class=\"plot\">{}<div class=\"tip\" hidden></div></div>\
         <script type=\"application/json\">{data}</script></figure>",
        escaped(&figure.name),
        escaped(&figure.title),
        figure.to_inline_svg(&id),
    )
}

impl Table {
    fn to_html(&self) -> String {
        let cells = |row: &[String], tag: &str| -> String {
            let class = |cell: &str| if cell.chars().count() > PROSE { " class=\"prose\"" } else { "" };
            row.iter().map(|cell| format!("<{tag}{}>{}</{tag}>", class(cell), escaped(&with_minus(cell)))).collect()
        };
        let rows: String = self.rows.iter().map(|row| format!("<tr>{}</tr>", cells(row, "td"))).collect();
        format!(
            "<p class=\"caption\">{caption}</p><div class=\"table\"><table aria-label=\"{caption}\"><thead><tr>{}</tr></thead>\
             <tbody>{rows}</tbody></table></div>",
            cells(&self.heading, "th"),
            caption = escaped(&self.caption)
        )
    }
}

/// A negative number with a minus sign in place of a hyphen.
fn with_minus(cell: &str) -> String {
    if cell.parse::<f64>().is_ok() { cell.replace('-', "−") } else { cell.into() }
}

impl Choice {
    fn to_html(&self, counter: &mut Counter) -> String {
        counter.n_choices += 1;
        let id = format!("choice-{}", counter.n_choices);
        let mut options = String::new();
        let mut parts = String::new();
        for (number, (name, blocks)) in self.options.iter().enumerate() {
            let hidden = if number == 0 { "" } else { " hidden" };
            write!(options, "<option value=\"{number}\">{}</option>", escaped(name))
                .expect("invariant: writing to a string cannot fail");
            write!(parts, "<div class=\"option\"{hidden}>{}</div>", html_of(blocks, counter))
                .expect("invariant: writing to a string cannot fail");
        }
        format!(
            "<div class=\"choice\"><label for=\"{id}\">{} <select id=\"{id}\">{options}</select></label>{parts}</div>",
            escaped(&self.label)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Axis, Mark, Series};

    fn figure(name: &str) -> Block {
        let marks = vec![Mark::line("value", vec![0.0, 1.0], vec![1.0, 2.0])];
        Block::Figure(Figure {
            name: name.into(),
            title: format!("title </script> of {name}"),
            x: Axis::linear("round"),
            y: Axis::linear("value </script>"),
            series: vec![Series::new("s", 0, marks)],
        })
    }

    #[test]
    fn a_page_holds_everything_and_refers_to_nothing() {
        let choice = Choice {
            label: "start".into(),
            options: vec![("1".into(), vec![figure("a")]), ("2".into(), vec![figure("b"), Block::Text("t".into())])],
        };
        let table = Table {
            caption: "c".into(),
            heading: vec!["h".into()],
            rows: vec![vec!["1 < 2".into()], vec!["-1.5".into()]],
        };
        let page = Page {
            title: "T".into(),
            findings: vec![Finding { value: "2×".into(), label: "faster".into(), tone: Tone::Good }],
            sections: vec![Section {
                heading: "S".into(),
                blocks: vec![Block::Choice(choice), figure("c"), Block::Table(table)],
            }],
            ..Page::default()
        };
        let html = page.to_html();
        let names: Vec<&str> = page.figures().iter().map(|figure| figure.name.as_str()).collect();
        assert_eq!(names, ["a", "b", "c"]);
        assert_eq!(html.matches("<figure ").count(), 3);
        assert!(
            html.contains("id=\"figure-3\"")
                && html.contains("1 &lt; 2")
                && html.contains("<div class=\"option\" hidden>")
        );
        // Only the page's own scripts: one per figure, and the main script.
        assert_eq!(html.matches("</script>").count(), 4);
        // An XML namespace, not an address.
        let html = html.replace("http://www.w3.org/2000/svg", "");
        for outside in ["http:", "https:", "src=", "@import", "url(h"] {
            assert!(!html.contains(outside), "{outside}");
        }
    }
}
