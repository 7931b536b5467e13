//! Arranges several figures as lettered panels of one figure, as in a paper.

use std::fmt::Write as _;

use crate::escaped;
use crate::figure::Figure;
use crate::layout::{Layout, Least, Margins};
use crate::legend::{Legend, bar_html, sample};
use crate::style::{Look, PANEL, PRINT, classes};
use crate::svg::{COLUMN, Size, document, heading, text_lines};
use crate::typeset;

/// Width of a panel on the screen, in pixels, and of one that shares its row with all others.
const PANEL_WIDTH: f64 = 460.0;
const ROW_PANEL_WIDTH: f64 = 350.0;
/// Width of two columns in print with the space between them, in millimetres.
const TWO_COLUMNS: f64 = 174.0;
/// Sizes of the title and the caption on the screen.
const TITLE: f64 = 17.0;
const CAPTION: f64 = 13.0;

/// Several figures as lettered panels of one figure.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sheet {
    /// File name: letters, digits and hyphens.
    pub name: String,
    /// Title; in print, it belongs into the caption and is left out.
    pub title: String,
    /// Caption; left out in print.
    pub caption: String,
    /// Number of panels side by side.
    pub columns: usize,
    /// Whether a page shows all panels side by side on screens that are wide enough.
    pub in_one_row: bool,
    /// Headings and figures of the panels, row by row. The figures' own titles are not shown.
    pub panels: Vec<(String, Figure)>,
}

/// A panel with its heading and layout.
struct Panel<'a> {
    heading: String,
    figure: &'a Figure,
    layout: Layout,
}

impl Sheet {
    /// The sheet as a standalone file with title and caption.
    pub fn to_svg(&self) -> String {
        let width = PANEL_WIDTH * self.n_columns() as f64 + gap(PANEL) * (self.n_columns() - 1) as f64;
        let (head, above) = text_lines(&[&self.title], "title sheet-title", TITLE, 0.5 * PANEL.tick, width);
        let (panels, height) = self.drawing(PANEL, width);
        let (foot, below) = text_lines(&[&self.caption], "caption", CAPTION, 0.5 * PANEL.tick, width);
        let height = above + height;
        let body = format!(
            "<style>.sheet-title{{font-size:{TITLE}px}}</style>{head}<g transform=\"translate(0 {above:.2})\">{panels}</g>\
             <g transform=\"translate(0 {height:.2})\">{foot}</g>"
        );
        document(&body, &self.title, PANEL, (width, height + below), Size::Any)
    }

    /// The panels ready for print, with text of 7 to 8 points: 84 mm wide for one column of panels, 174 mm for more.
    pub fn to_column_svg(&self) -> String {
        let millimetres = if self.n_columns() == 1 { COLUMN } else { TWO_COLUMNS };
        let width = Size::points(millimetres);
        let (panels, height) = self.drawing(PRINT, width);
        document(&panels, &self.title, PRINT, (width, height), Size::Millimetres(millimetres))
    }

    /// The sheet as part of a page: its panels are beside each other if there is room, and a sheet of one column of
    /// panels beside the next sheet.
    pub(crate) fn to_html(&self, id: &str) -> String {
        let shared = self.shared_legend();
        let row = Self { columns: self.panels.len(), ..self.clone() };
        let (arranged, panel_width, class) = match (self.in_one_row, self.n_columns()) {
            (true, _) => (&row, ROW_PANEL_WIDTH, "sheet whole row"),
            (false, 1) => (self, PANEL_WIDTH, "sheet"),
            (false, _) => (self, PANEL_WIDTH, "sheet whole"),
        };
        let mut panels = String::new();
        for (number, panel) in arranged.panels(PANEL, panel_width).iter().flatten().enumerate() {
            let legend = if shared.is_some() { String::new() } else { legend_html(panel.figure) };
            write!(
                panels,
                "<div class=\"panel\"><p class=\"panel-heading\">{}</p>{legend}{}</div>",
                typeset::html(&panel.heading),
                panel.figure.inline(&panel.layout, &format!("{id}-{}", number + 1))
            )
            .expect("invariant: writing to a string cannot fail");
        }
        format!(
            "<figure class=\"{class}\" id=\"{id}\" style=\"--columns:{}\"><figcaption>{}</figcaption>{}\
             <div class=\"panels\">{panels}</div><p class=\"caption\">{}</p></figure>",
            arranged.n_columns(),
            typeset::html(&self.title),
            shared.map_or_else(String::new, legend_html),
            typeset::html(&self.caption)
        )
    }

    fn n_columns(&self) -> usize {
        self.columns.clamp(1, self.panels.len().max(1))
    }

    /// The panels row by row, with aligned frames.
    fn panels(&self, look: Look, width: f64) -> Vec<Vec<Panel<'_>>> {
        let n_columns = self.n_columns();
        let rows: Vec<Vec<Layout>> = (self.panels.chunks(n_columns))
            .map(|row| row.iter().map(|(_, figure)| Layout::of(figure, look, width, Least::default())).collect())
            .collect();
        let mut sides = vec![(0.0f64, 0.0f64); n_columns];
        for (column, layout) in rows.iter().flat_map(|row| row.iter().enumerate()) {
            let (left, right) = &mut sides[column];
            (*left, *right) = (left.max(layout.margins.left), right.max(layout.margins.right));
        }
        let aligned = |(i, row): (usize, &Vec<Layout>)| {
            let most = |of: fn(&Least) -> f64| row.iter().map(|layout| of(&layout.least())).fold(0.0, f64::max);
            let (top, bottom) = (most(|least| least.margins.top), most(|least| least.margins.bottom));
            let height = most(|least| least.height);
            let panel = |column: usize| {
                let number = i * n_columns + column;
                let (heading, figure) = &self.panels[number];
                let (left, right) = sides[column];
                let least = Least { margins: Margins { left, right, top, bottom }, height };
                let layout = Layout::of(figure, look, width, least);
                let heading = match self.panels.len() {
                    1 => heading.clone(),
                    _ => format!("({}) {heading}", letter(number)),
                };
                Panel { heading, figure, layout }
            };
            (0..row.len()).map(panel).collect()
        };
        rows.iter().enumerate().map(aligned).collect()
    }

    /// The first figure, if all panels have the same legend.
    fn shared_legend(&self) -> Option<&Figure> {
        let entries = |figure: &Figure| -> Vec<_> {
            let each = figure.series.iter().zip(classes(&figure.series));
            each.map(|(series, class)| (series.name.clone(), class, sample(series, 1.0))).collect()
        };
        let (_, first) = self.panels.first()?;
        let is_same = |figure: &Figure| entries(figure) == entries(first) && figure.shading == first.shading;
        self.panels.iter().all(|(_, figure)| is_same(figure)).then_some(first)
    }

    /// All panels with their headings and legends, and their height.
    fn drawing(&self, look: Look, width: f64) -> (String, f64) {
        let n_columns = self.n_columns() as f64;
        let panel_width = (width - gap(look) * (n_columns - 1.0)) / n_columns;
        let shared = self.shared_legend();
        let inset = 0.5 * look.tick;
        let (mut svg, mut y) = (String::new(), 0.0);
        let place = |svg: &mut String, x: f64, y: f64, part: &str| {
            write!(svg, "<g transform=\"translate({x:.2} {y:.2})\">{part}</g>")
                .expect("invariant: writing to a string cannot fail");
        };
        if let Some(figure) = shared {
            let legend = Legend::of(figure, look, width - 2.0 * inset);
            place(&mut svg, inset, 0.3 * look.tick, &legend.svg);
            y += legend.height + 0.3 * look.tick;
        }
        let mut number = 0;
        for row in self.panels(look, panel_width) {
            let heads: Vec<_> = row.iter().map(|panel| heading(&[&panel.heading], look, panel_width)).collect();
            let legend = |panel: &Panel<'_>| Legend::of(panel.figure, look, panel_width - 2.0 * inset);
            let legends: Vec<_> = if shared.is_some() { Vec::new() } else { row.iter().map(legend).collect() };
            let above = heads.iter().map(|head| head.1).fold(0.0, f64::max);
            let below = legends.iter().map(|legend| legend.height).fold(0.0, f64::max);
            let mut height = 0.0f64;
            for (column, panel) in row.iter().enumerate() {
                let x = (panel_width + gap(look)) * column as f64;
                number += 1;
                place(&mut svg, x, y, &heads[column].0);
                if let Some(legend) = legends.get(column) {
                    place(&mut svg, x + inset, y + above, &legend.svg);
                }
                let drawing = panel.figure.drawing(&panel.layout, &format!("panel-{number}"));
                write!(
                    svg,
                    "<g class=\"panel\" transform=\"translate({x:.2} {:.2})\">{drawing}</g>",
                    y + above + below
                )
                .expect("invariant: writing to a string cannot fail");
                height = height.max(panel.layout.height);
            }
            y += above + below + height + 0.6 * look.tick;
        }
        (svg, y)
    }
}

/// The space between panels.
fn gap(look: Look) -> f64 {
    1.5 * look.tick
}

/// a, b, …, z, then numbers.
fn letter(number: usize) -> String {
    u8::try_from(number)
        .ok()
        .filter(|&n| n < 26)
        .map_or_else(|| (number + 1).to_string(), |n| char::from(b'a' + n).into())
}

fn legend_html(figure: &Figure) -> String {
    let entry = |(series, class): (&crate::Series, String)| {
        format!(
            "<span class=\"{class}\"><svg viewBox=\"0 0 22 10\" aria-hidden=\"true\">{}</svg>{}</span>",
            sample(series, 1.0),
            escaped(&series.name)
        )
    };
    let entries: String = figure.series.iter().zip(classes(&figure.series)).map(entry).collect();
    format!("<div class=\"legend-bar\">{entries}{}</div>", bar_html(figure))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Axis, Mark, Series};

    fn sheet(columns: usize, n_panels: usize) -> Sheet {
        let panel = |k: usize| {
            let line = Mark::line("v", vec![1.0, 50.0], vec![0.0, 10f64.powf(k as f64)]);
            let series = vec![Series::new("EM", 0, vec![line])];
            let figure = Figure::new("f", "unused", Axis::linear("round").rounds(), Axis::linear("value"), series);
            (format!("panel {k}"), figure)
        };
        Sheet {
            name: "s".into(),
            title: "the title".into(),
            caption: "the caption".into(),
            columns,
            in_one_row: false,
            panels: (0..n_panels).map(panel).collect(),
        }
    }

    #[test]
    fn a_single_panel_was_called_a() {
        let svg = sheet(1, 1).to_svg();
        assert!(svg.contains(">panel 0<") && !svg.contains("(a)"));
    }

    #[test]
    fn a_page_has_sheets_beside_each_other_and_panels_in_one_row() {
        let html = |sheet: Sheet| sheet.to_html("s");
        assert!(html(sheet(1, 3)).contains("class=\"sheet\" id=\"s\" style=\"--columns:1\""));
        assert!(html(sheet(2, 4)).contains("class=\"sheet whole\" id=\"s\" style=\"--columns:2\""));
        let row = html(Sheet { in_one_row: true, ..sheet(2, 4) });
        assert!(row.contains("class=\"sheet whole row\" id=\"s\" style=\"--columns:4\""));
        assert_eq!(row.matches("viewBox=\"0 0 350.0 ").count(), 4);
    }

    #[test]
    fn every_panel_has_its_letter_and_its_clip() {
        let svg = sheet(2, 5).to_svg();
        assert_eq!(svg.matches("class=\"panel\"").count(), 5);
        assert_eq!(svg.matches("<clipPath").count(), 5);
        assert!(svg.contains("(a) panel 0") && svg.contains("(e) panel 4") && svg.contains("id=\"panel-5-clip\""));
        assert!(svg.contains("the title") && svg.contains("the caption"));
        // All panels have the same legend, so it is drawn once.
        assert_eq!(svg.matches("class=\"legend\"").count(), 1);
        let mut different = sheet(2, 2);
        different.panels[1].1.series[0].name = "SEM".into();
        assert_eq!(different.to_svg().matches("class=\"legend\"").count(), 2);
    }

    #[test]
    fn printed_sheets_are_as_wide_as_one_or_two_columns() {
        for (columns, width) in [(1, "84mm"), (2, "174mm"), (3, "174mm")] {
            let svg = sheet(columns, 3).to_column_svg();
            assert!(svg.contains(&format!("width=\"{width}\"")), "{columns} columns");
            assert!(!svg.contains("var(") && svg.contains("Helvetica, Arial, sans-serif"));
            assert!(!svg.contains("the caption") && svg.matches("class=\"panel\"").count() == 3);
        }
        // The unit is a point: 174 mm are 493.2 of them.
        assert!(sheet(2, 3).to_column_svg().contains("viewBox=\"0 0 493.228 "));
    }

    #[test]
    fn frames_are_aligned_in_rows_and_columns() {
        let sheet = sheet(2, 4);
        let rows = sheet.panels(PANEL, PANEL_WIDTH);
        let frame = |row: usize, column: usize| rows[row][column].layout.frame;
        for i in 0..2 {
            assert_eq!((frame(0, i).left, frame(0, i).width), (frame(1, i).left, frame(1, i).width));
            assert_eq!((frame(i, 0).top, frame(i, 0).height), (frame(i, 1).top, frame(i, 1).height));
        }
    }

    #[test]
    fn an_empty_sheet_is_drawn_too() {
        assert!(sheet(0, 0).to_svg().starts_with("<svg ") && sheet(7, 0).to_column_svg().contains("84mm"));
    }
}
