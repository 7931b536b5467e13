//! Draws SVG figures and builds self-contained HTML reports from figures, tables and findings.
//!
//! A [`Figure`] is drawn completely here, so that it can be printed, saved, and viewed where scripts do not
//! run. In a report, a small script lets readers hover, zoom, hide series and choose between views.
//!
//! ```
//! use mixtura_report::{Axis, Block, Figure, Mark, Page, Section, Series};
//!
//! let line = Mark::line("square", vec![0.0, 1.0, 2.0], vec![0.0, 1.0, 4.0]);
//! let figure = Figure {
//!     name: "squares".into(),
//!     title: "Squares".into(),
//!     x: Axis::linear("number"),
//!     y: Axis::linear("its square"),
//!     series: vec![Series::new("squares", 0, vec![line])],
//! };
//! assert!(figure.to_svg().starts_with("<svg "));
//! let section = Section { heading: "A figure".into(), blocks: vec![Block::Figure(figure)] };
//! let page = Page { title: "Numbers".into(), sections: vec![section], ..Page::default() };
//! assert!(page.to_html().starts_with("<!doctype html>"));
//! ```

// A page is written once, so a string per cell is cheap enough.
#![allow(clippy::format_collect)]

mod figure;
mod page;
mod svg;
mod ticks;

pub use figure::{Axis, Figure, Mark, Scale, Series};
pub use page::{Block, Choice, Finding, Page, Section, Table, Tone, prefix_names};

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
