//! Builds a self-contained HTML page from findings, figures and tables.

use std::fmt::Write as _;

use crate::choice::{Choice, group_selectors};
use crate::escaped;
use crate::figure::Figure;
use crate::legend::{bar_html, sample};
use crate::sheet::Sheet;
use crate::style::{STYLE, classes, light_colours};
use crate::table::Table;
use crate::typeset;

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
    /// What it is about, on a line of its own; empty if there is nothing to tell apart.
    pub name: String,
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
    /// Several figures as panels of one.
    Sheet(Sheet),
}

/// The script of a page.
const SCRIPT: &str = concat!(include_str!("ticks.js"), include_str!("figure.js"), include_str!("page.js"));

/// Numbers the figures, sheets and choices of a page.
#[derive(Default)]
pub(crate) struct Counter {
    n_figures: usize,
    n_sheets: usize,
    pub n_choices: usize,
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
            format!("<p class=\"verdict\">{}</p>", typeset::html(&self.verdict))
        };
        format!(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
             <title>{title}</title><link rel=\"icon\" href=\"data:,\">\n<style>:root{{{colours}}}\n{page_style}{STYLE}</style></head>\n\
             <body><main><header><h1>{title}</h1><p class=\"subtitle\">{subtitle}</p>{verdict}\
             <div class=\"findings\">{findings}</div></header>\n{selectors}{body}\n<footer>{footer}</footer></main>\n\
             <script>{script}</script></body></html>\n",
            title = escaped(&self.title),
            colours = light_colours(),
            page_style = include_str!("page.css"),
            subtitle = escaped(&self.subtitle),
            footer = typeset::html(&self.footer),
            selectors = group_selectors(&self.sections),
            script = SCRIPT,
        )
    }

    /// All figures, including those of choices, but not the panels of sheets.
    pub fn figures(&self) -> Vec<&Figure> {
        let figure = |block| if let Found::Figure(figure) = block { Some(figure) } else { None };
        self.found().into_iter().filter_map(figure).collect()
    }

    /// All sheets, including those of choices.
    pub fn sheets(&self) -> Vec<&Sheet> {
        let sheet = |block| if let Found::Sheet(sheet) = block { Some(sheet) } else { None };
        self.found().into_iter().filter_map(sheet).collect()
    }

    fn found(&self) -> Vec<Found<'_>> {
        let mut found = Vec::new();
        self.sections.iter().for_each(|section| collect(&section.blocks, &mut found));
        found
    }
}

/// What is saved as a file of its own.
enum Found<'a> {
    Figure(&'a Figure),
    Sheet(&'a Sheet),
}

/// Adds a prefix to the names of all figures and sheets, so that several data sets can have the same ones.
pub fn prefix_names(blocks: &mut [Block], prefix: &str) {
    for block in blocks {
        match block {
            Block::Figure(figure) => figure.name.insert_str(0, prefix),
            Block::Sheet(sheet) => sheet.name.insert_str(0, prefix),
            Block::Choice(choice) => choice.options.iter_mut().for_each(|(_, blocks)| prefix_names(blocks, prefix)),
            Block::Text(_) | Block::Table(_) => {}
        }
    }
}

fn collect<'a>(blocks: &'a [Block], found: &mut Vec<Found<'a>>) {
    for block in blocks {
        match block {
            Block::Figure(figure) => found.push(Found::Figure(figure)),
            Block::Sheet(sheet) => found.push(Found::Sheet(sheet)),
            Block::Choice(choice) => choice.options.iter().for_each(|(_, blocks)| collect(blocks, found)),
            Block::Text(_) | Block::Table(_) => {}
        }
    }
}

impl Tone {
    /// The style class.
    pub(crate) fn class(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Neutral => "neutral",
            Self::Caution => "caution",
        }
    }
}

impl Finding {
    fn to_html(&self) -> String {
        let tone = self.tone.class();
        let name = match self.name.as_str() {
            "" => String::new(),
            name => format!("<strong>{}</strong>", escaped(name)),
        };
        let (value, label) = (escaped(&self.value), typeset::html(&self.label));
        format!("<div class=\"finding {tone}\">{name}<b>{value}</b><span>{label}</span></div>")
    }
}

pub(crate) fn html_of(blocks: &[Block], counter: &mut Counter) -> String {
    let are_sheets = |a: &Block, b: &Block| matches!((a, b), (Block::Sheet(_), Block::Sheet(_)));
    // Sheets in sequence are beside each other if there is room.
    let group = |group: &[Block]| {
        let parts: String = group.iter().map(|block| block_html(block, counter)).collect();
        let is_sheet = matches!(group, [Block::Sheet(_), ..]);
        if is_sheet { format!("<div class=\"sheets\">{parts}</div>") } else { parts }
    };
    blocks.chunk_by(are_sheets).map(group).collect()
}

fn block_html(block: &Block, counter: &mut Counter) -> String {
    match block {
        Block::Text(text) => format!("<p>{}</p>", typeset::html(text)),
        Block::Figure(figure) => figure_html(figure, counter),
        Block::Table(table) => table.to_html(),
        Block::Choice(choice) => choice.to_html(counter),
        Block::Sheet(sheet) => {
            counter.n_sheets += 1;
            sheet.to_html(&format!("sheet-{}", counter.n_sheets))
        }
    }
}

fn figure_html(figure: &Figure, counter: &mut Counter) -> String {
    counter.n_figures += 1;
    let id = format!("figure-{}", counter.n_figures);
    let mut legend = String::new();
    for (number, (series, class)) in figure.series.iter().zip(classes(&figure.series)).enumerate() {
        write!(
            legend,
            "<button type=\"button\" class=\"{class}\" data-series=\"{number}\" aria-pressed=\"true\"><svg viewBox=\"0 0 22 10\" aria-hidden=\"true\">{}</svg>{}</button>",
            sample(series, 1.0),
            escaped(&series.name)
        )
        .expect("invariant: writing to a string cannot fail");
    }
    legend.push_str(&bar_html(figure));
    // Inside a script element, only "</" is forbidden.
    let data = figure.to_data().to_string().replace("</", "<\\/");
    format!(
        "<figure id=\"{id}\" data-name=\"{}\"><figcaption>{}</figcaption><div class=\"legend-bar\">{legend}\
         <button type=\"button\" class=\"reset\" hidden>reset zoom</button></div><div class=\"plot\">{}<div class=\"tip\" hidden></div></div>\
         <script type=\"application/json\">{data}</script></figure>",
        escaped(&figure.name),
        typeset::html(&figure.title),
        figure.to_inline_svg(&id),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Axis, Mark, Series};

    fn figure(name: &str) -> Block {
        let marks = vec![Mark::line("value", vec![0.0, 1.0], vec![1.0, 2.0])];
        let series = vec![Series::new("s", 0, marks)];
        let title = format!("title </script> of {name}");
        Block::Figure(Figure::new(name, title, Axis::linear("round"), Axis::linear("value </script>"), series))
    }

    #[test]
    fn a_page_holds_everything_and_refers_to_nothing() {
        let choice = Choice {
            label: "start".into(),
            group: None,
            options: vec![("1".into(), vec![figure("a")]), ("2".into(), vec![figure("b"), Block::Text("t".into())])],
        };
        let table = Table {
            caption: "c".into(),
            heading: vec!["h".into()],
            rows: vec![vec!["1 < 2".into()], vec!["-1.5".into()]],
            verdicts: None,
        };
        let page = Page {
            title: "T".into(),
            findings: vec![Finding {
                name: "EM & SEM".into(),
                value: "2×".into(),
                label: "faster".into(),
                tone: Tone::Good,
            }],
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
                && html.contains("<strong>EM &amp; SEM</strong><b>2×</b>")
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

    #[test]
    fn sheets_are_found_and_renamed() {
        let Block::Figure(panel) = figure("panel") else { unreachable!() };
        let sheet = Sheet { name: "s".into(), columns: 1, panels: vec![("one".into(), panel)], ..Sheet::default() };
        let options = vec![("1".into(), vec![Block::Sheet(sheet), figure("a")])];
        let mut blocks = vec![Block::Choice(Choice { label: "set".into(), group: None, options })];
        prefix_names(&mut blocks, "big-");
        let page = Page { sections: vec![Section { heading: "S".into(), blocks }], ..Page::default() };
        assert_eq!(page.sheets()[0].name, "big-s");
        assert_eq!(page.figures().iter().map(|figure| figure.name.as_str()).collect::<Vec<_>>(), ["big-a"]);
        let html = page.to_html();
        assert!(
            html.contains("id=\"sheet-1\"")
                && html.contains("<p class=\"panel-heading\">one</p>")
                && html.contains("id=\"sheet-1-1-clip\"")
        );
    }
}
