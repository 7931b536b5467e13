//! Draws what stays readable whatever the zoom: texts at points, and lines across a figure with their labels.

use std::fmt::Write as _;

use crate::figure::{End, Figure, Mark};
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

/// Steps from where a short text belongs to where it may be instead, in heights and multiples of its width and a gap.
const STEPS: [(f64, f64); 8] =
    [(0.0, -1.0), (0.0, 1.0), (-1.0, 0.0), (1.0, 0.0), (-1.0, -1.0), (1.0, -1.0), (-1.0, 1.0), (1.0, 1.0)];
/// Number of rings of such places that are tried.
const RINGS: usize = 3;

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
                        let (x, y) = apart(look.tick, (x, y), text, &mut taken);
                        svg.push_str(&note("middle", x, y + 0.35 * look.tick, text));
                    }
                }
                Mark::Level { label, y, end } => {
                    let Some(y) = figure.y.scale.place(*y) else { continue };
                    let (_, y) = view.to_frame(*frame, view.x.0, y);
                    let place = free_place(*frame, look.tick, y, (label, *end), &mut taken);
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

fn overlaps(a: Rectangle, b: Rectangle) -> bool {
    a.0 < b.2 && b.0 < a.2 && a.1 < b.3 && b.1 < a.3
}

/// The place nearest to a point where a short text does not touch the others: numbers side by side would read as one.
fn apart(size: f64, (x, y): (f64, f64), text: &str, taken: &mut Vec<Rectangle>) -> (f64, f64) {
    let (half, height) = (0.5 * size * width(text), 0.95 * size);
    let across = 2.0 * half + 0.35 * size;
    let rectangle = |(x, y): (f64, f64)| {
        let margin = 0.15 * size;
        (x - half - margin, y - 0.5 * height, x + half + margin, y + 0.5 * height)
    };
    let rings = (1..=RINGS).flat_map(|ring| STEPS.map(|(i, j)| (ring as f64 * i, ring as f64 * j)));
    let places = rings.map(|(i, j)| (x + i * across, y + j * height));
    let is_free = |place: &(f64, f64)| !taken.iter().any(|other| overlaps(rectangle(*place), *other));
    let place = std::iter::once((x, y)).chain(places).find(is_free).unwrap_or((x, y));
    taken.push(rectangle(place));
    place
}

/// The first place for a label that is inside the frame and free: above or below the line at the end that was asked
/// for, then at the other end.
fn free_place(frame: Frame, size: f64, y: f64, (label, end): (&str, End), taken: &mut Vec<Rectangle>) -> Place {
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
    let is_left = end == End::Left;
    let places = [above(is_left), below(is_left), above(!is_left), below(!is_left)];
    let is_free = |place: &Place| {
        let rectangle = rectangle(*place);
        is_inside(rectangle) && !taken.iter().any(|other| overlaps(rectangle, *other))
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
        let label = ("the paper's value", End::Right);
        let places = [100.0, 103.0, 101.0].map(|y| free_place(FRAME, 12.0, y, label, &mut taken));
        assert!(places[0].baseline < 100.0 && places[1].baseline > 103.0 && places[2].is_left);
        // At the top of the frame, only the space below the line is inside.
        assert!(free_place(FRAME, 12.0, 3.0, ("high", End::Right), &mut taken).baseline > 3.0);
        assert!(free_place(FRAME, 12.0, 50.0, ("left", End::Left), &mut taken).is_left);
    }

    #[test]
    fn components_1_and_5_read_as_15() {
        let mut taken = Vec::new();
        let mut place = |x: f64, text: &str| apart(12.0, (x, 50.0), text, &mut taken);
        assert_eq!(place(100.0, "1"), (100.0, 50.0));
        let (x, y) = place(107.0, "5");
        assert!(x == 107.0 && (y - 50.0).abs() > 11.0);
        assert_eq!(place(130.0, "2"), (130.0, 50.0));
        // However many there are, none is left out.
        let many: Vec<_> = (0..40).map(|_| place(200.0, "7")).collect();
        assert!(many.iter().all(|(x, y)| (x - 200.0).abs() < 60.0 && (y - 50.0).abs() < 60.0));
    }
}
