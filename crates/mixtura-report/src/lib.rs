//! Draws SVG figures and builds self-contained HTML reports from figures, tables and findings.
//!
//! A [`Figure`] is drawn completely here, so that it can be printed, saved, and viewed where scripts do not
//! run; a [`Sheet`] arranges several of them as the panels of one. In a report, a small script lets readers hover,
//! zoom, hide series and choose between views.
//!
//! ```
//! use mixtura_report::{Axis, Block, Figure, Mark, Page, Section, Series};
//!
//! let line = Mark::line("square", vec![0.0, 1.0, 2.0], vec![0.0, 1.0, 4.0]);
//! let series = vec![Series::new("squares", 0, vec![line])];
//! let y = Axis::linear("its square").from_zero().also("per cent of the last", 25.0);
//! let figure = Figure::new("squares", "Squares", Axis::linear("number"), y, series);
//! assert!(figure.to_svg().starts_with("<svg "));
//! assert!(figure.to_column_svg().contains("width=\"84mm\""));
//! let section = Section { heading: "A figure".into(), blocks: vec![Block::Figure(figure)] };
//! let page = Page { title: "Numbers".into(), sections: vec![section], ..Page::default() };
//! assert!(page.to_html().starts_with("<!doctype html>"));
//! ```

// A page is written once, so a string per cell is cheap enough.
#![allow(clippy::format_collect)]

mod choice;
mod data;
mod figure;
mod layout;
mod legend;
mod notes;
mod page;
mod sheet;
mod style;
mod svg;
mod table;
mod text;
mod ticks;
mod typeset;
mod view;

pub use choice::Choice;
pub use figure::{Axis, Dash, End, Figure, Mark, Scale, SecondAxis, Series, Shading};
pub use page::{Block, Finding, Page, Section, Tone, prefix_names};
pub use sheet::Sheet;
pub use table::{Table, Verdicts};

/// Escapes the special characters of HTML and SVG.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            _ => out.push(c),
        }
    }
    out
}
