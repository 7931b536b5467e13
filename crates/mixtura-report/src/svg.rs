//! Draws figures as SVG.

use std::fmt::Write as _;

use crate::figure::{Axis, Figure, Mark, Series};
use crate::ticks::ticks;
use crate::{Scale, escaped};

/// Size of a figure, and of the area inside its axes.
const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 380.0;
const FRAME: Frame = Frame { left: 84.0, top: 14.0, width: 618.0, height: 312.0 };
/// Height of the title and of a line of the legend in a standalone figure.
const TITLE: f64 = 34.0;
const LEGEND_LINE: f64 = 22.0;
/// Width of a legend entry without its name, and of a letter.
const SWATCH: f64 = 34.0;
const LETTER: f64 = 7.4;
/// Approximate number of ticks on each axis.
const X_TICKS: usize = 8;
const Y_TICKS: usize = 6;
/// Number of colours before they repeat.
pub(crate) const COLOURS: usize = 8;

/// Style sheet of all figures, with named colours.
pub(crate) const STYLE: &str = include_str!("figure.css");
/// The named colours on a white background, distinguishable with any colour vision (after Okabe and Ito 2008);
/// pages use others in dark mode.
const PALETTE: [(&str, &str); 12] = [
    ("paper", "#ffffff"),
    ("ink", "#1c2430"),
    ("quiet", "#5b6675"),
    ("rule", "#dfe4ea"),
    ("c0", "#0072b2"),
    ("c1", "#d55e00"),
    ("c2", "#009e73"),
    ("c3", "#b85c94"),
    ("c4", "#3a9bdc"),
    ("c5", "#c98a00"),
    ("c6", "#5c5c5c"),
    ("c7", "#7a4fb5"),
];

/// The area inside the axes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Frame {
    pub left: f64,
    pub top: f64,
    pub width: f64,
    pub height: f64,
}

/// The ends of both axes, in units of the axes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View {
    pub x: (f64, f64),
    pub y: (f64, f64),
}

impl View {
    /// The range of a figure's values, with a margin above and below.
    pub(crate) fn of(figure: &Figure) -> Self {
        let (mut x, mut y) = (EMPTY, EMPTY);
        for mark in figure.series.iter().flat_map(|series| &series.marks) {
            let (places, values) = mark.extent();
            places.iter().filter_map(|&value| figure.x.scale.place(value)).for_each(|place| extend(&mut x, place));
            values.filter_map(|value| figure.y.scale.place(value)).for_each(|place| extend(&mut y, place));
        }
        Self { x: padded(x, 0.0, false), y: padded(y, 0.05, figure.y.scale == Scale::Linear) }
    }

    fn to_frame(self, frame: Frame, x: f64, y: f64) -> (f64, f64) {
        let share = |(from, to): (f64, f64), at: f64| (at - from) / (to - from);
        (frame.left + share(self.x, x) * frame.width, frame.top + (1.0 - share(self.y, y)) * frame.height)
    }
}

const EMPTY: (f64, f64) = (f64::INFINITY, f64::NEG_INFINITY);

fn extend(range: &mut (f64, f64), place: f64) {
    *range = (range.0.min(place), range.1.max(place));
}

/// A range of positive length, even for a single value or none.
fn padded((from, to): (f64, f64), share: f64, keeps_sign: bool) -> (f64, f64) {
    if from > to {
        return (0.0, 1.0);
    }
    let least = 1e-12 * from.abs().max(to.abs()).max(1e-290);
    let margin = if to - from > least { share * (to - from) } else { 0.5 * (from.abs() + to.abs()).max(1.0) };
    // Do not extend the range of non-negative values below 0.
    let bottom = if keeps_sign && from >= 0.0 && from < margin { 0.0 } else { from - margin };
    (bottom, to + margin)
}

impl Figure {
    /// The figure as a standalone file with title and legend.
    pub fn to_svg(&self) -> String {
        let lines = legend_lines(&self.series);
        let above = TITLE + LEGEND_LINE * lines.len() as f64;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 {} {WIDTH} {}\" font-family=\"system-ui, sans-serif\">\
             <style>{}</style><rect class=\"paper\" x=\"0\" y=\"{}\" width=\"{WIDTH}\" height=\"{}\"/>\
             <text class=\"title\" x=\"{}\" y=\"{}\">{}</text>",
            -above,
            HEIGHT + above,
            plain_style(),
            -above,
            HEIGHT + above,
            FRAME.left,
            20.0 - above,
            escaped(&self.title)
        );
        for (line, entries) in lines.iter().enumerate() {
            let y = TITLE + LEGEND_LINE * (line as f64 + 0.4) - above;
            for (x, series) in entries {
                let class = class_of(series);
                write!(
                    svg,
                    "<g class=\"{class}\"><path class=\"line\" d=\"M{x} {y}h22\"/></g><text class=\"legend\" x=\"{}\" y=\"{}\">{}</text>",
                    x + 28.0,
                    y + 4.0,
                    escaped(&series.name)
                )
                .expect("invariant: writing to a string cannot fail");
            }
        }
        svg.push_str(&self.drawing("figure"));
        svg.push_str("</svg>\n");
        svg
    }

    /// The figure as part of a page, whose styles and script it shares; `id` must be unique on the page.
    pub(crate) fn to_inline_svg(&self, id: &str) -> String {
        format!(
            "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">{}</svg>",
            escaped(&self.title),
            self.drawing(id)
        )
    }

    /// The data for the page's script: the axes and the values.
    pub(crate) fn to_data(&self) -> serde_json::Value {
        let view = View::of(self);
        let axis = |axis: &Axis, (from, to): (f64, f64)| serde_json::json!({"label": axis.label, "log": axis.scale == Scale::Log, "from": from, "to": to});
        let values = |values: &[f64]| -> Vec<Option<f64>> {
            values.iter().map(|&value| value.is_finite().then(|| short(value))).collect()
        };
        let mark = |mark: &Mark| match mark {
            Mark::Line { label, x, y } => Some(serde_json::json!({"label": label, "x": values(x), "y": values(y)})),
            Mark::Band { label, x, low, high } => {
                Some(serde_json::json!({"label": label, "x": values(x), "low": values(low), "high": values(high)}))
            }
            // Shown, but not part of the tooltips.
            Mark::Points { .. } | Mark::Area { .. } => None,
        };
        let series = |series: &Series| {
            let marks: Vec<serde_json::Value> = series.marks.iter().filter_map(mark).collect();
            serde_json::json!({"name": series.name, "marks": marks})
        };
        serde_json::json!({
            "frame": {"left": FRAME.left, "top": FRAME.top, "width": FRAME.width, "height": FRAME.height},
            "x": axis(&self.x, view.x),
            "y": axis(&self.y, view.y),
            "series": self.series.iter().map(series).collect::<Vec<_>>(),
        })
    }

    fn drawing(&self, id: &str) -> String {
        let view = View::of(self);
        let Frame { left, top, width, height } = FRAME;
        let mut svg = format!(
            "<clipPath id=\"{id}-clip\"><rect x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{height}\"/></clipPath>\
             <g class=\"axes\">{}</g><g clip-path=\"url(#{id}-clip)\"><g class=\"marks\">",
            self.axes(view)
        );
        for (number, series) in self.series.iter().enumerate() {
            write!(svg, "<g class=\"{}\" data-series=\"{number}\">", class_of(series))
                .expect("invariant: writing to a string cannot fail");
            series.marks.iter().for_each(|mark| svg.push_str(&self.mark(mark, view)));
            svg.push_str("</g>");
        }
        svg.push_str("</g></g>");
        svg
    }

    fn axes(&self, view: View) -> String {
        let Frame { left, top, width, height } = FRAME;
        let bottom = top + height;
        let mut svg = String::new();
        for tick in ticks(self.x.scale, view.x.0, view.x.1, X_TICKS) {
            let (x, _) = view.to_frame(FRAME, tick.place, view.y.0);
            write!(
                svg,
                "<path class=\"grid\" d=\"M{x:.1} {top}V{bottom}\"/><text class=\"tick\" text-anchor=\"middle\" x=\"{x:.1}\" y=\"{}\">{}</text>",
                bottom + 18.0,
                tick.label
            )
            .expect("invariant: writing to a string cannot fail");
        }
        for tick in ticks(self.y.scale, view.y.0, view.y.1, Y_TICKS) {
            let (_, y) = view.to_frame(FRAME, view.x.0, tick.place);
            write!(
                svg,
                "<path class=\"grid\" d=\"M{left} {y:.1}h{width}\"/><text class=\"tick\" text-anchor=\"end\" x=\"{}\" y=\"{:.1}\">{}</text>",
                left - 8.0,
                y + 4.0,
                tick.label
            )
            .expect("invariant: writing to a string cannot fail");
        }
        let (middle_x, middle_y) = (left + width / 2.0, top + height / 2.0);
        write!(
            svg,
            "<path class=\"axis\" d=\"M{left} {top}V{bottom}h{width}\"/>\
             <text class=\"label\" text-anchor=\"middle\" x=\"{middle_x}\" y=\"{}\">{}</text>\
             <text class=\"label\" text-anchor=\"middle\" transform=\"translate(16 {middle_y}) rotate(-90)\">{}</text>",
            bottom + 40.0,
            escaped(&self.x.label),
            escaped(&self.y.label)
        )
        .expect("invariant: writing to a string cannot fail");
        svg
    }

    fn mark(&self, mark: &Mark, view: View) -> String {
        let point = |x: f64, y: f64| {
            let (x, y) = (self.x.scale.place(x)?, self.y.scale.place(y)?);
            Some(view.to_frame(FRAME, x, y))
        };
        match mark {
            Mark::Line { x, y, .. } => {
                let points = x.iter().zip(y).map(|(&x, &y)| point(x, y));
                format!("<path class=\"line\" d=\"{}\"/>", path(points))
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
        }
    }
}

/// The style sheet with literal colours, for programs that do not support named ones.
fn plain_style() -> String {
    PALETTE
        .iter()
        .fold(STYLE.replace('\n', ""), |style, (name, colour)| style.replace(&format!("var(--{name})"), colour))
}

/// The named colours on a white background, as a style sheet.
pub(crate) fn light_colours() -> String {
    PALETTE.iter().map(|(name, colour)| format!("--{name}:{colour};")).collect()
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

pub(crate) fn class_of(series: &Series) -> String {
    let again = if series.colour >= COLOURS { " again" } else { "" };
    let dashed = if series.dashed { " dashed" } else { "" };
    format!("series c{}{again}{dashed}", series.colour % COLOURS)
}

/// The legend entries and their positions, line by line.
fn legend_lines(series: &[Series]) -> Vec<Vec<(f64, &Series)>> {
    let mut lines: Vec<Vec<(f64, &Series)>> = Vec::new();
    let mut x = f64::INFINITY;
    for series in series {
        let width = SWATCH + LETTER * series.name.chars().count() as f64 + 14.0;
        if x + width > WIDTH {
            lines.push(Vec::new());
            x = FRAME.left;
        }
        if let Some(line) = lines.last_mut() {
            line.push((x, series));
        }
        x += width;
    }
    lines
}

/// Rounds to seven digits, which are enough to read.
fn short(value: f64) -> f64 {
    format!("{value:.6e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(x: Axis, y: Axis, series: Vec<Series>) -> Figure {
        Figure { name: "f".into(), title: "a < b & c".into(), x, y, series }
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
        assert_eq!(svg.matches("data-series").count(), 10);
        assert_eq!(svg.matches("class=\"band\"").count(), 10);
        assert!(svg.contains("a &lt; b &amp; c") && svg.contains("&lt;7&gt;") && svg.contains("series c1 again"));
    }

    #[test]
    fn values_without_a_place_leave_gaps() {
        let mark = Mark::line("v", vec![1.0, 2.0, 3.0, 4.0, 5.0], vec![1.0, f64::NAN, 100.0, 0.0, 10.0]);
        let log = figure(Axis::linear("x"), Axis::log("y"), vec![Series::new("s", 0, vec![mark])]);
        let path = log.mark(&log.series[0].marks[0], View::of(&log));
        assert_eq!((path.matches('M').count(), path.matches('L').count()), (3, 0));
        let view = View::of(&log);
        assert!(view.y.0 < 0.0 && view.y.1 > 2.0 && view.y.1 < 2.2);
    }

    #[test]
    fn places_are_where_the_axis_says() {
        let mark = Mark::line("v", vec![0.0, 10.0], vec![0.0, 1.0]);
        let figure = figure(Axis::linear("x"), Axis::linear("y"), vec![Series::new("s", 0, vec![mark])]);
        let view = View::of(&figure);
        assert_eq!(view.x, (0.0, 10.0));
        assert_eq!(view.y, (0.0, 1.05));
        let (x, y) = view.to_frame(FRAME, 5.0, 0.525);
        assert!(
            (x - (FRAME.left + FRAME.width / 2.0)).abs() < 1e-9 && (y - (FRAME.top + FRAME.height / 2.0)).abs() < 1e-9
        );
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
}
