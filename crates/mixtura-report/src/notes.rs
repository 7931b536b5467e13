//! Draws what stays readable whatever the zoom: texts at points, and lines across a figure with their labels.

use std::fmt::Write as _;

use crate::figure::{Figure, Mark};
use crate::layout::Layout;
use crate::text::width;
use crate::typeset;
use crate::view::Frame;

/// The rectangle around a label: left, top, right, bottom.
type Rectangle = (f64, f64, f64, f64);

/// Where a label is written: the end of the line it belongs to, and its baseline.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Place {
    x: f64,
    baseline: f64,
    is_left: bool,
}

/// The texts and levels of a figure, with a group for each series.
pub(crate) fn notes(figure: &Figure, layout: &Layout, classes: &[String]) -> String {
    let Layout { frame, view, look, .. } = layout;
    let point = |x: f64, y: f64| {
        let (x, y) = (figure.x.scale.place(x)?, figure.y.scale.place(y)?);
        Some(view.to_frame(*frame, x, y))
    };
    let mut svg = String::new();
    let mut taken = Vec::new();
    for (number, (series, class)) in figure.series.iter().zip(classes).enumerate() {
        write!(svg, "<g class=\"{class}\" data-series=\"{number}\">")
            .expect("invariant: writing to a string cannot fail");
        for mark in &series.marks {
            match mark {
                Mark::Text { x, y, text } => {
                    if let Some((x, y)) = point(*x, *y) {
                        svg.push_str(&note("middle", x, y + 0.35 * look.tick, text));
                    }
                }
                Mark::Level { label, y } => {
                    let Some(y) = figure.y.scale.place(*y) else { continue };
                    let (_, y) = view.to_frame(*frame, view.x.0, y);
                    let place = free_place(*frame, look.tick, y, label, &mut taken);
                    let anchor = if place.is_left { "start" } else { "end" };
                    write!(svg, "<path class=\"line level\" d=\"M{:.2} {y:.2}H{:.2}\"/>", frame.left, frame.right())
                        .expect("invariant: writing to a string cannot fail");
                    svg.push_str(&note(anchor, place.x, place.baseline, label));
                }
                _ => {}
            }
        }
        svg.push_str("</g>");
    }
    svg
}

fn note(anchor: &str, x: f64, y: f64, text: &str) -> String {
    format!("<text class=\"note\" text-anchor=\"{anchor}\" x=\"{x:.2}\" y=\"{y:.2}\">{}</text>", typeset::svg(text))
}

/// The first place for a label that is inside the frame and free: above or below the line at its right end, then at
/// its left end.
fn free_place(frame: Frame, size: f64, y: f64, label: &str, taken: &mut Vec<Rectangle>) -> Place {
    let (length, gap) = (size * width(label), 0.4 * size);
    let above = |is_left: bool| Place {
        x: if is_left { frame.left + gap } else { frame.right() - gap },
        baseline: y - gap,
        is_left,
    };
    let below = |is_left: bool| Place { baseline: y + gap + 0.75 * size, ..above(is_left) };
    let rectangle = |place: Place| {
        let left = if place.is_left { place.x } else { place.x - length };
        (left, place.baseline - 0.8 * size, left + length, place.baseline + 0.25 * size)
    };
    let is_inside = |(_, top, _, bottom): Rectangle| top >= frame.top && bottom <= frame.bottom();
    let overlaps = |a: Rectangle, b: &Rectangle| a.0 < b.2 && b.0 < a.2 && a.1 < b.3 && b.1 < a.3;
    let places = [above(false), below(false), above(true), below(true)];
    let is_free = |place: &Place| {
        let rectangle = rectangle(*place);
        is_inside(rectangle) && !taken.iter().any(|other| overlaps(rectangle, other))
    };
    let place = places.into_iter().find(is_free).unwrap_or(places[0]);
    taken.push(rectangle(place));
    place
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: Frame = Frame { left: 0.0, top: 0.0, width: 400.0, height: 200.0 };

    #[test]
    fn labels_of_levels_do_not_overlap() {
        let mut taken = Vec::new();
        let places = [100.0, 103.0, 101.0].map(|y| free_place(FRAME, 12.0, y, "the paper's value", &mut taken));
        assert!(places[0].baseline < 100.0 && places[1].baseline > 103.0 && places[2].is_left);
        // At the top of the frame, only the space below the line is inside.
        assert!(free_place(FRAME, 12.0, 3.0, "high", &mut taken).baseline > 3.0);
    }
}
