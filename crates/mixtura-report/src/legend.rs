//! Draws legends: a sample and a name for each series, and a bar for the meaning of opacity.

use std::fmt::Write as _;

use crate::escaped;
use crate::figure::{Figure, Mark, Series, Shading};
use crate::style::{Look, classes};
use crate::text::width;

/// Size of a sample, in units of which other sizes are multiples.
pub(crate) const SAMPLE: (f64, f64) = (22.0, 10.0);
/// Number of steps of a bar.
const STEPS: usize = 6;
/// Width of a bar.
const BAR: f64 = 60.0;

/// An entry of a legend: its width and its drawing, whose origin is the left end of its middle line.
struct Entry {
    width: f64,
    svg: String,
}

/// A legend in lines of at most a width; its origin is its upper left corner.
pub(crate) struct Legend {
    pub height: f64,
    pub svg: String,
}

impl Legend {
    pub(crate) fn of(figure: &Figure, look: Look, most: f64) -> Self {
        let entries =
            figure.series.iter().zip(classes(&figure.series)).map(|(series, class)| entry(series, &class, look));
        let bar = figure.shading.as_ref().map(|shading| bar_entry(figure, shading, look));
        let line = 1.6 * look.label;
        let (mut x, mut y) = (0.0, 0.5 * line);
        let mut svg = String::new();
        let mut is_empty = true;
        for Entry { width, svg: drawing } in entries.chain(bar) {
            if !is_empty && x + width > most {
                (x, y) = (0.0, y + line);
            }
            is_empty = false;
            write!(svg, "<g transform=\"translate({x:.2} {y:.2})\">{drawing}</g>")
                .expect("invariant: writing to a string cannot fail");
            x += width + 1.2 * look.label;
        }
        Self { height: if is_empty { 0.0 } else { y + 0.5 * line }, svg }
    }
}

fn entry(series: &Series, class: &str, look: Look) -> Entry {
    let scale = look.label / 13.0;
    let (left, text) = ((SAMPLE.0 + 6.0) * scale, escaped(&series.name));
    let svg = format!(
        "<g class=\"{class}\" transform=\"translate(0 {:.2})\">{}</g><text class=\"legend\" x=\"{left:.2}\" y=\"{:.2}\">{text}</text>",
        -0.5 * SAMPLE.1 * scale,
        sample(series, scale),
        0.35 * look.label
    );
    Entry { width: left + look.label * width(&series.name), svg }
}

fn bar_entry(figure: &Figure, shading: &Shading, look: Look) -> Entry {
    let (label, [from, to]) = (escaped(&shading.label), [shading.from, shading.to].map(number));
    let size = look.label;
    let scale = size / 13.0;
    let text =
        |x: f64, text: &str| format!("<text class=\"legend\" x=\"{x:.2}\" y=\"{:.2}\">{text}</text>", 0.35 * size);
    let name = size * (width(&format!("{} {from} ", shading.label)) + 0.3);
    let bar =
        format!("<g transform=\"translate({name:.2} {:.2})\">{}</g>", -0.5 * SAMPLE.1 * scale, bar(figure, scale));
    let end = name + BAR * scale + 0.4 * size;
    Entry {
        width: end + size * width(&to),
        svg: format!("{}{bar}{}", text(0.0, &format!("{label} {from}")), text(end, &to)),
    }
}

/// A sample of what a series looks like, as high as text of a size of 13 times `scale`.
pub(crate) fn sample(series: &Series, scale: f64) -> String {
    let has = |is: fn(&Mark) -> bool| series.marks.iter().any(is);
    let is_line = |mark: &Mark| matches!(mark, Mark::Line { .. } | Mark::Level { .. });
    let (width, height) = (SAMPLE.0 * scale, SAMPLE.1 * scale);
    let (middle, half) = (0.5 * width, 0.5 * height);
    let band = format!("<path class=\"band\" d=\"M0 0h{width:.2}v{height:.2}h{:.2}z\"/>", -width);
    let line = |class: &str| format!("<path class=\"{class}\" d=\"M0 {half:.2}h{width:.2}\"/>");
    if has(is_line) && has(|mark| matches!(mark, Mark::Band { .. })) {
        band + &line("line")
    } else if has(|mark| matches!(mark, Mark::Line { .. })) {
        line("line")
    } else if has(is_line) {
        line("line level")
    } else if has(|mark| matches!(mark, Mark::Area { .. })) {
        let (across, along) = (0.8 * middle, 0.85 * half);
        format!(
            "<ellipse class=\"area\" fill-opacity=\"0.25\" cx=\"{middle:.2}\" cy=\"{half:.2}\" rx=\"{across:.2}\" ry=\"{along:.2}\"/>"
        )
    } else if has(|mark| matches!(mark, Mark::Points { .. })) {
        let dots = [(0.2, 0.3), (0.4, 0.7), (0.6, 0.3), (0.8, 0.6)];
        let path: String = dots.iter().map(|(x, y)| format!("M{:.2} {:.2}h0", x * width, y * height)).collect();
        format!("<path class=\"dots\" d=\"{path}\"/>")
    } else if has(|mark| matches!(mark, Mark::Text { .. })) {
        format!("<text class=\"note\" text-anchor=\"middle\" x=\"{middle:.2}\" y=\"{:.2}\">1</text>", 0.9 * height)
    } else {
        band
    }
}

/// A bar from the faintest to the most opaque area of a figure, in the colour of the areas.
fn bar(figure: &Figure, scale: f64) -> String {
    let opacity = |mark: &Mark| if let Mark::Area { opacity, .. } = mark { Some(*opacity) } else { None };
    let shaded = figure.series.iter().find(|series| series.marks.iter().any(|mark| opacity(mark).is_some()));
    let opacities: Vec<f64> = figure.series.iter().flat_map(|series| &series.marks).filter_map(opacity).collect();
    let (least, most) = opacities.iter().fold((1.0f64, 0.0f64), |(least, most), &o| (least.min(o), most.max(o)));
    let (least, most) = if least > most { (0.0, 1.0) } else { (least, most) };
    let class = shaded.map_or_else(String::new, |series| classes(std::slice::from_ref(series)).concat());
    let (width, height) = (BAR * scale / STEPS as f64, SAMPLE.1 * scale);
    let rectangle = |class: &str, opacity: f64, x: f64, width: f64| {
        format!(
            "<rect class=\"{class}\" fill-opacity=\"{opacity:.3}\" x=\"{x:.2}\" y=\"0\" width=\"{width:.2}\" height=\"{height:.2}\"/>"
        )
    };
    let step = |i: usize| {
        let share = least + (most - least) * i as f64 / (STEPS - 1) as f64;
        rectangle("area step", share, i as f64 * width, width)
    };
    let steps: String = (0..STEPS).map(step).collect();
    format!("<g class=\"{class}\">{steps}{}</g>", rectangle("area", 0.0, 0.0, BAR * scale))
}

/// The bar in the legend of a page.
pub(crate) fn bar_html(figure: &Figure) -> String {
    let Some(shading) = &figure.shading else { return String::new() };
    format!(
        "<span class=\"shades\">{} {} <svg viewBox=\"-1 -1 {} 12\" aria-hidden=\"true\">{}</svg> {}</span>",
        escaped(&shading.label),
        number(shading.from),
        BAR + 2.0,
        bar(figure, 1.0),
        number(shading.to)
    )
}

/// A number with about three digits.
fn number(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    if !(1e-4..1e5).contains(&size) {
        return format!("{value:.1e}").replace('-', "−");
    }
    let decimals = (2.0 - size.log10().floor()).max(0.0) as usize;
    let text = format!("{value:.decimals$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    text.replace('-', "−")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Axis;
    use crate::style::{PRINT, SCREEN};

    fn shaded() -> Figure {
        let area = |opacity| Mark::Area { x: vec![0.0, 1.0, 1.0], y: vec![0.0, 0.0, 1.0], opacity };
        let series = vec![Series::new("components", 3, vec![area(0.1), area(0.35)])];
        Figure::new("f", "", Axis::linear("x"), Axis::linear("y"), series).shades("weight", 0.025, 0.25)
    }

    #[test]
    fn the_bar_spans_the_opacities_of_the_areas() {
        let bar = bar(&shaded(), 1.0);
        assert!(bar.contains("fill-opacity=\"0.100\"") && bar.contains("fill-opacity=\"0.350\""), "{bar}");
        assert_eq!(bar.matches("class=\"area step\"").count(), STEPS);
        let html = bar_html(&shaded());
        assert!(html.contains("weight 0.025 ") && html.ends_with(" 0.25</span>"), "{html}");
    }

    #[test]
    fn a_legend_has_as_many_lines_as_it_needs() {
        let mut figure = shaded();
        let one = Legend::of(&figure, SCREEN, 720.0);
        figure.series = (0..30).map(|k| Series::new("a component", k, vec![])).collect();
        let many = Legend::of(&figure, SCREEN, 720.0);
        assert!(many.height > 4.0 * one.height);
        assert!(Legend::of(&figure, PRINT, 200.0).height > 0.0);
        figure.series.clear();
        figure.shading = None;
        assert_eq!(Legend::of(&figure, SCREEN, 720.0).height, 0.0);
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!(
            [0.0, 0.25, 0.012_345, 120.0, 2e-7, -1.5].map(number),
            ["0", "0.25", "0.0123", "120", "2.0e−7", "−1.5"]
        );
    }
}
