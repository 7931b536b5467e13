//! Draws figures as SVG.

use std::fmt::Write as _;

use crate::figure::{Figure, Mark};
use crate::layout::{EDGE, LABEL_GAP, LINE_HEIGHT, Layout, Least, TICK_GAP};
use crate::legend::Legend;
use crate::notes::notes;
use crate::style::{Look, PRINT, SCREEN, classes, has_halo};
use crate::text::wrapped;
use crate::typeset;

/// Width of a figure on the screen, in pixels.
const WIDTH: f64 = 720.0;
/// Width of a column in print, in millimetres.
pub(crate) const COLUMN: f64 = 84.0;
/// Points in a millimetre.
const POINTS: f64 = 72.0 / 25.4;

/// The size of a standalone file.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Size {
    /// As large as the window.
    Any,
    /// A width in millimetres; the unit of the drawing is a point.
    Millimetres(f64),
}

impl Size {
    /// The width of the drawing in points.
    pub(crate) fn points(millimetres: f64) -> f64 {
        millimetres * POINTS
    }
}

impl Figure {
    /// The figure as a standalone file with title and legend.
    pub fn to_svg(&self) -> String {
        self.standalone(SCREEN, WIDTH, Size::Any)
    }

    /// The figure ready for print, 84 mm wide with text of 7 to 8 points, like a column of a paper.
    pub fn to_column_svg(&self) -> String {
        self.standalone(PRINT, Size::points(COLUMN), Size::Millimetres(COLUMN))
    }

    fn standalone(&self, look: Look, width: f64, size: Size) -> String {
        let (head, above) = heading(&[&self.title], look, width);
        let legend = Legend::of(self, look, width - look.tick);
        let layout = Layout::of(self, look, width, Least::default());
        let below = above + legend.height + 0.3 * look.tick;
        let body = format!(
            "{head}<g transform=\"translate({:.2} {above:.2})\">{}</g><g transform=\"translate(0 {below:.2})\">{}</g>",
            0.5 * look.tick,
            legend.svg,
            self.drawing(&layout, "figure")
        );
        document(&body, &self.title, look, (width, below + layout.height), size)
    }

    /// The figure as part of a page, whose styles and script it shares; `id` must be unique on the page.
    pub(crate) fn to_inline_svg(&self, id: &str) -> String {
        self.inline(&self.inline_layout(), id)
    }

    /// The layout of the figure in a page before its script changes it.
    pub(crate) fn inline_layout(&self) -> Layout {
        Layout::of(self, SCREEN, WIDTH, Least::default())
    }

    pub(crate) fn inline(&self, layout: &Layout, id: &str) -> String {
        format!(
            "<svg viewBox=\"0 0 {:.1} {:.1}\" role=\"img\" aria-label=\"{}\">{}</svg>",
            layout.width,
            layout.height,
            typeset::plain(&self.title),
            self.drawing(layout, id)
        )
    }

    /// Axes, marks and notes.
    pub(crate) fn drawing(&self, layout: &Layout, id: &str) -> String {
        let classes = classes(&self.series);
        let frame = layout.frame;
        let mut svg = format!(
            "<clipPath id=\"{id}-clip\"><rect x=\"{:.2}\" y=\"{:.2}\" width=\"{:.2}\" height=\"{:.2}\"/></clipPath>\
             <g class=\"axes\">{}</g><g clip-path=\"url(#{id}-clip)\"><g class=\"marks\">",
            frame.left,
            frame.top,
            frame.width,
            frame.height,
            axes(layout)
        );
        for (number, (series, class)) in self.series.iter().zip(&classes).enumerate() {
            write!(svg, "<g class=\"{class}\" data-series=\"{number}\">")
                .expect("invariant: writing to a string cannot fail");
            series.marks.iter().for_each(|mark| svg.push_str(&self.mark(mark, number, layout)));
            svg.push_str("</g>");
        }
        write!(svg, "</g><g class=\"notes\">{}</g></g>", notes(self, layout, &classes))
            .expect("invariant: writing to a string cannot fail");
        svg
    }

    fn mark(&self, mark: &Mark, number: usize, layout: &Layout) -> String {
        let point = |x: f64, y: f64| {
            let (x, y) = (self.x.scale.place(x)?, self.y.scale.place(y)?);
            Some(layout.view.to_frame(layout.frame, x, y))
        };
        match mark {
            Mark::Line { x, y, .. } => {
                let path = path(x.iter().zip(y).map(|(&x, &y)| point(x, y)));
                let halo = has_halo(&self.series, number).then(|| format!("<path class=\"halo\" d=\"{path}\"/>"));
                format!("{}<path class=\"line\" d=\"{path}\"/>", halo.unwrap_or_default())
            }
            Mark::Points { x, y } => {
                let dots = x.iter().zip(y).filter_map(|(&x, &y)| point(x, y));
                let path: String = dots.map(|(x, y)| format!("M{x:.1} {y:.1}h0")).collect();
                format!("<path class=\"dots\" d=\"{path}\"/>")
            }
            Mark::Area { x, y, opacity } => {
                let points = x.iter().zip(y).map(|(&x, &y)| point(x, y));
                format!("<path class=\"area\" fill-opacity=\"{opacity:.3}\" d=\"{}Z\"/>", path(points))
            }
            Mark::Band { x, low, high, .. } => {
                // Only positions where both ends are finite.
                let both: Vec<_> = (x.iter().zip(low).zip(high))
                    .filter_map(|((&x, &low), &high)| Some((point(x, low)?, point(x, high)?)))
                    .collect();
                let ring = both.iter().map(|ends| ends.1).chain(both.iter().rev().map(|ends| ends.0));
                format!("<path class=\"band\" d=\"{}Z\"/>", path(ring.map(Some)))
            }
            // Drawn above all series.
            Mark::Text { .. } | Mark::Level { .. } => String::new(),
        }
    }
}

/// A standalone file with literal colours on a white background.
pub(crate) fn document(body: &str, title: &str, look: Look, (width, height): (f64, f64), size: Size) -> String {
    let dimensions = match size {
        Size::Any => String::new(),
        Size::Millimetres(width) => format!(" width=\"{width}mm\" height=\"{:.3}mm\"", height / POINTS),
    };
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\"{dimensions} viewBox=\"0 0 {width:.3} {height:.3}\" font-family=\"{}\">\
         <title>{}</title><style>{}</style><rect class=\"paper\" width=\"{width:.3}\" height=\"{height:.3}\"/>{body}</svg>\n",
        look.font,
        typeset::plain(title),
        look.style(),
    )
}

/// Paragraphs in bold at the top of a drawing, and their height.
pub(crate) fn heading(paragraphs: &[&str], look: Look, width: f64) -> (String, f64) {
    text_lines(paragraphs, "title", look.title, 0.5 * look.tick, width)
}

/// Paragraphs broken into lines from the left margin, and their height.
pub(crate) fn text_lines(paragraphs: &[&str], class: &str, size: f64, left: f64, width: f64) -> (String, f64) {
    // Bold letters are wider.
    let most = (width - 2.0 * left) / (1.15 * size);
    let lines: Vec<String> = paragraphs.iter().flat_map(|paragraph| wrapped(paragraph, most)).collect();
    let line = |(i, line): (usize, &String)| {
        let y = size * (1.2 + 1.3 * i as f64);
        format!("<text class=\"{class}\" x=\"{left:.2}\" y=\"{y:.2}\">{}</text>", typeset::svg(line))
    };
    let svg = lines.iter().enumerate().map(line).collect();
    (svg, if lines.is_empty() { 0.0 } else { size * (0.6 + 1.3 * lines.len() as f64) })
}

fn axes(layout: &Layout) -> String {
    let Layout { look, frame, view, x, y, .. } = layout;
    let tick = look.tick;
    let (left, right, top, bottom) = (frame.left, frame.right(), frame.top, frame.bottom());
    let mut svg = String::new();
    let mut push = |part: String| svg.push_str(&part);
    let at_x = |place: f64| view.to_frame(*frame, place, view.y.0).0;
    let at_y = |place: f64| view.to_frame(*frame, view.x.0, place).1;
    let number = |anchor: &str, x: f64, y: f64, label: &str| {
        format!("<text class=\"tick\" text-anchor=\"{anchor}\" x=\"{x:.1}\" y=\"{y:.1}\">{label}</text>")
    };
    for mark in &x.ticks {
        let x = at_x(mark.place);
        push(format!("<path class=\"grid\" d=\"M{x:.1} {top:.2}V{bottom:.2}\"/>"));
        push(number("middle", x, bottom + 1.5 * tick, &mark.label));
    }
    for mark in &y.ticks {
        let y = at_y(mark.place);
        push(format!("<path class=\"grid\" d=\"M{left:.2} {y:.1}H{right:.2}\"/>"));
        push(number("end", left - TICK_GAP * tick, y + 0.35 * tick, &mark.label));
    }
    for mark in &x.second_ticks {
        let x = at_x(mark.place);
        push(format!("<path class=\"axis\" d=\"M{x:.1} {top:.2}v{:.2}\"/>", -0.35 * tick));
        push(number("middle", x, top - 0.7 * tick, &mark.label));
    }
    for mark in &y.second_ticks {
        let y = at_y(mark.place);
        push(format!("<path class=\"axis\" d=\"M{right:.2} {y:.1}h{:.2}\"/>", 0.35 * tick));
        push(number("start", right + TICK_GAP * tick, y + 0.35 * tick, &mark.label));
    }
    let second_x = if x.second_ticks.is_empty() { String::new() } else { format!("M{left:.2} {top:.2}H{right:.2}") };
    let second_y = if y.second_ticks.is_empty() { String::new() } else { format!("M{right:.2} {top:.2}V{bottom:.2}") };
    push(format!("<path class=\"axis\" d=\"M{left:.2} {top:.2}V{bottom:.2}H{right:.2}{second_x}{second_y}\"/>"));
    push(labels(layout));
    svg
}

/// The labels of the axes, line by line.
fn labels(layout: &Layout) -> String {
    let Layout { look, frame, width, x, y, .. } = layout;
    let (size, line) = (look.label, LINE_HEIGHT * look.label);
    let (middle_x, middle_y) = (frame.left + 0.5 * frame.width, frame.top + 0.5 * frame.height);
    let mut svg = String::new();
    let mut push = |attributes: &str, text: &str| {
        write!(svg, "<text class=\"label\" text-anchor=\"middle\" {attributes}>{}</text>", typeset::svg(text))
            .expect("invariant: writing to a string cannot fail");
    };
    let below = frame.bottom() + (1.5 + LABEL_GAP) * look.tick + 0.85 * size;
    for (i, text) in x.label.iter().enumerate() {
        push(&format!("x=\"{middle_x:.2}\" y=\"{:.2}\"", below + line * i as f64), text);
    }
    for (i, text) in x.second_label.iter().rev().enumerate() {
        push(&format!("x=\"{middle_x:.2}\" y=\"{:.2}\"", frame.top - 2.0 * look.tick - line * i as f64), text);
    }
    let upright = |x: f64| format!("transform=\"translate({x:.2} {middle_y:.2}) rotate(-90)\"");
    for (i, text) in y.label.iter().enumerate() {
        push(&upright(EDGE * look.tick + 0.95 * size + line * i as f64), text);
    }
    for (i, text) in y.second_label.iter().rev().enumerate() {
        push(&upright(width - EDGE * look.tick - 0.3 * size - line * i as f64), text);
    }
    svg
}

/// Points joined by lines, with gaps for missing points.
fn path(points: impl Iterator<Item = Option<(f64, f64)>>) -> String {
    let mut path = String::new();
    let mut is_joined = false;
    for point in points {
        if let Some((x, y)) = point {
            let command = if is_joined { 'L' } else { 'M' };
            write!(path, "{command}{x:.2} {y:.2}").expect("invariant: writing to a string cannot fail");
        }
        is_joined = point.is_some();
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Axis, Series};

    fn figure(x: Axis, y: Axis, series: Vec<Series>) -> Figure {
        Figure::new("f", "a < b & c", x, y, series)
    }

    #[test]
    fn every_series_is_drawn_and_text_is_escaped() {
        let x: Vec<f64> = (0..5).map(f64::from).collect();
        let series = (0..10)
            .map(|k| {
                let y: Vec<f64> = x.iter().map(|x| x * f64::from(k)).collect();
                let low: Vec<f64> = y.iter().map(|y| y - 1.0).collect();
                let marks = vec![Mark::band("range", x.clone(), low, y.clone()), Mark::line("value", x.clone(), y)];
                Series::new(&format!("<{k}>"), k as usize, marks)
            })
            .collect();
        let svg = figure(Axis::linear("x"), Axis::linear("y"), series).to_svg();
        let (marks, _) = svg.split_once("class=\"notes\"").unwrap();
        let (_, marks) = marks.split_once("class=\"marks\"").unwrap();
        assert_eq!(marks.matches("data-series").count(), 10);
        assert_eq!(marks.matches("class=\"band\"").count(), 10);
        assert_eq!((marks.matches("class=\"halo\"").count(), marks.matches("class=\"line\"").count()), (0, 10));
        assert!(svg.contains("a &lt; b &amp; c") && svg.contains("&lt;7&gt;") && svg.contains("series c1 again"));
    }

    #[test]
    fn values_without_a_place_leave_gaps() {
        let mark = Mark::line("v", vec![1.0, 2.0, 3.0, 4.0, 5.0], vec![1.0, f64::NAN, 100.0, 0.0, 10.0]);
        let log = figure(Axis::linear("x"), Axis::log("y"), vec![Series::new("s", 0, vec![mark])]);
        let layout = log.inline_layout();
        let path = log.mark(&log.series[0].marks[0], 0, &layout);
        assert_eq!((path.matches('M').count(), path.matches('L').count()), (3, 0));
        assert!(layout.view.y.0 < 0.0 && layout.view.y.1 > 2.0 && layout.view.y.1 < 2.2);
    }

    #[test]
    fn nothing_and_constants_are_drawn_too() {
        for values in [vec![], vec![3.0, 3.0], vec![0.0, 0.0], vec![f64::NAN, f64::NAN]] {
            let x = (0..values.len()).map(|i| i as f64).collect();
            let mark = Mark::line("v", x, values);
            let svg = figure(Axis::linear("x"), Axis::linear("y"), vec![Series::new("s", 0, vec![mark])]).to_svg();
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
    }

    #[test]
    fn long_titles_are_wrapped() {
        let title = "|w EM − w SEM| by component, selected artificial data set, start 3 of 30, 100 runs of SEM each";
        let figure = Figure::new("f", title, Axis::linear("x"), Axis::linear("y"), vec![]);
        assert_eq!(figure.to_svg().matches("class=\"title\"").count(), 2);
        assert!(figure.to_column_svg().matches("class=\"title\"").count() >= 2);
    }

    #[test]
    fn levels_and_second_axes_are_drawn_with_their_labels() {
        let marks = vec![Mark::line("v", vec![1.0, 50.0], vec![0.0, 1.0]), Mark::level("paper's value", 0.5)];
        let y = Axis::linear("distance").from_zero().also("per cent of Γ", 10.0);
        let figure = figure(Axis::linear("round").rounds(), y, vec![Series::new("s", 0, marks)]);
        let svg = figure.to_svg();
        let frame = figure.inline_layout().frame;
        let line = format!("d=\"M{:.2} {:.2}H{:.2}\"", frame.left, frame.bottom() - frame.height / 2.1, frame.right());
        assert!(svg.contains(&line) && svg.contains("paper's value") && svg.contains("per cent of Γ"), "{line}");
        // 10 is also a round.
        assert_eq!(svg.matches(">10</text>").count(), 2);
    }

    #[test]
    fn a_column_is_84_mm_wide_with_readable_text() {
        let marks =
            vec![Mark::line("v", vec![1.0, 50.0], vec![0.0, 1.0]), Mark::Text { x: 2.0, y: 0.5, text: "3".into() }];
        let svg = figure(Axis::linear("x"), Axis::linear("y"), vec![Series::new("s", 0, marks)]).to_column_svg();
        assert!(svg.contains("width=\"84mm\"") && svg.contains("viewBox=\"0 0 238.110 ") && !svg.contains("var("));
        let sizes: Vec<f64> = PRINT
            .style()
            .split("font-size:")
            .skip(1)
            .map(|rest| rest.split("px").next().unwrap().parse().unwrap())
            .collect();
        // The last three rules replace those of the screen.
        assert_eq!(sizes[sizes.len() - 3..], [8.0, 7.5, 7.0]);
    }
}
