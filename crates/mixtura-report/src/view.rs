//! The range of values that a figure shows, and where they are in its frame.

use crate::Scale;
use crate::figure::{Axis, Figure};

/// The area inside the axes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Frame {
    pub left: f64,
    pub top: f64,
    pub width: f64,
    pub height: f64,
}

impl Frame {
    pub(crate) fn right(self) -> f64 {
        self.left + self.width
    }

    pub(crate) fn bottom(self) -> f64 {
        self.top + self.height
    }
}

/// The ends of both axes, in units of the axes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct View {
    pub x: (f64, f64),
    pub y: (f64, f64),
}

impl View {
    /// The range of a figure's values, with a margin above and below; with equal axes, all around.
    pub(crate) fn of(figure: &Figure) -> Self {
        let (mut x, mut y) = (EMPTY, EMPTY);
        for mark in figure.series.iter().flat_map(|series| &series.marks) {
            let (places, values) = mark.extent();
            places.iter().filter_map(|&value| figure.x.scale.place(value)).for_each(|place| extend(&mut x, place));
            values.filter_map(|value| figure.y.scale.place(value)).for_each(|place| extend(&mut y, place));
        }
        let beside = if figure.equal { 0.05 } else { 0.0 };
        Self {
            x: range(&figure.x, x, beside, false),
            y: range(&figure.y, y, 0.05, figure.y.scale == Scale::Linear && !figure.equal),
        }
    }

    /// The view widened around its centre along one axis, so that a unit has the same length on both.
    pub(crate) fn equalized(self, frame: Frame) -> Self {
        let (width, height) = (self.x.1 - self.x.0, self.y.1 - self.y.0);
        let unit = (frame.width / width).min(frame.height / height);
        Self {
            x: widened(self.x, 0.5 * (frame.width / unit - width)),
            y: widened(self.y, 0.5 * (frame.height / unit - height)),
        }
    }

    /// Height divided by width.
    pub(crate) fn aspect(self) -> f64 {
        (self.y.1 - self.y.0) / (self.x.1 - self.x.0)
    }

    pub(crate) fn to_frame(self, frame: Frame, x: f64, y: f64) -> (f64, f64) {
        let share = |(from, to): (f64, f64), at: f64| (at - from) / (to - from);
        (frame.left + share(self.x, x) * frame.width, frame.top + (1.0 - share(self.y, y)) * frame.height)
    }
}

const EMPTY: (f64, f64) = (f64::INFINITY, f64::NEG_INFINITY);

fn extend(range: &mut (f64, f64), place: f64) {
    *range = (range.0.min(place), range.1.max(place));
}

fn widened((from, to): (f64, f64), by: f64) -> (f64, f64) {
    (from - by, to + by)
}

fn range(axis: &Axis, places: (f64, f64), share: f64, keeps_sign: bool) -> (f64, f64) {
    let begins_at_zero = axis.zero && axis.scale == Scale::Linear && places.0 >= 0.0;
    if begins_at_zero && places.1 > 0.0 && places.1.is_finite() {
        return (0.0, places.1 * (1.0 + share));
    }
    let (from, to) = padded(places, share, keeps_sign);
    (if begins_at_zero { 0.0 } else { from }, to)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Mark, Series};

    const FRAME: Frame = Frame { left: 80.0, top: 10.0, width: 600.0, height: 300.0 };

    fn figure(x: Axis, y: Axis, marks: Vec<Mark>) -> Figure {
        Figure::new("f", "", x, y, vec![Series::new("s", 0, marks)])
    }

    #[test]
    fn places_are_where_the_axis_says() {
        let mark = Mark::line("v", vec![0.0, 10.0], vec![0.0, 1.0]);
        let view = View::of(&figure(Axis::linear("x"), Axis::linear("y"), vec![mark]));
        assert_eq!((view.x, view.y), ((0.0, 10.0), (0.0, 1.05)));
        let (x, y) = view.to_frame(FRAME, 5.0, 0.525);
        assert!((x - 380.0).abs() < 1e-9 && (y - 160.0).abs() < 1e-9);
    }

    #[test]
    fn an_axis_from_zero_begins_there_unless_values_are_negative() {
        let of = |low: f64, high: f64| {
            let mark = Mark::line("v", vec![0.0, 1.0], vec![low, high]);
            View::of(&figure(Axis::linear("x"), Axis::linear("y").from_zero(), vec![mark])).y
        };
        assert_eq!(of(7.0, 8.0), (0.0, 8.4));
        assert_eq!(of(0.0, 0.0), (0.0, 0.5));
        assert_eq!(of(5.0, 5.0), (0.0, 5.25));
        assert!(of(-1.0, 8.0).0 < -1.0);
    }

    #[test]
    fn a_level_is_inside_the_figure() {
        let marks = vec![Mark::line("v", vec![0.0, 1.0], vec![1.0, 2.0]), Mark::level("paper", 9.0)];
        let view = View::of(&figure(Axis::linear("x"), Axis::linear("y"), marks));
        assert!(view.y.1 > 9.0 && view.x == (0.0, 1.0));
    }

    #[test]
    fn equal_axes_have_equal_units_and_show_everything() {
        for (x, y) in [(10.0, 1.0), (1.0, 10.0), (2.0, 1.0), (1e-6, 3e-6)] {
            let mark = Mark::Points { x: vec![0.0, x], y: vec![-y, 0.0] };
            let whole = View::of(&figure(Axis::linear("x"), Axis::linear("y"), vec![mark]).equal_axes());
            let view = whole.equalized(FRAME);
            let unit = |view: View| (FRAME.width / (view.x.1 - view.x.0), FRAME.height / (view.y.1 - view.y.0));
            let (across, along) = unit(view);
            assert!((across / along - 1.0).abs() < 1e-9);
            assert!(view.x.0 <= whole.x.0 && view.x.1 >= whole.x.1 && view.y.0 <= whole.y.0 && view.y.1 >= whole.y.1);
            // One of the two is not widened.
            assert!((across.min(along) / unit(whole).0.min(unit(whole).1) - 1.0).abs() < 1e-9);
        }
    }
}
