//! Places the frame, the numbers and the labels of a figure so that nothing is cut off.

use crate::figure::{Axis, Figure};
use crate::style::Look;
use crate::text::{balanced, width};
use crate::ticks::{Tick, second_ticks, ticks};
use crate::view::{Frame, View};

/// Distance between the lines of a text, in multiples of its size.
pub(crate) const LINE_HEIGHT: f64 = 1.2;
/// Distances in multiples of the size of the numbers: between numbers along the axes, the least space between them,
/// between the frame and the numbers, and between the numbers and the label.
const X_STEP: f64 = 3.6;
const Y_STEP: f64 = 3.0;
const SPACE: f64 = 0.8;
/// More numbers are not easier to read.
const MOST_TICKS: usize = 9;
pub(crate) const TICK_GAP: f64 = 0.65;
pub(crate) const LABEL_GAP: f64 = 0.5;
/// Distance between an upright label and the edge.
pub(crate) const EDGE: f64 = 0.2;
/// The height of a frame with equal axes divided by its width is between these.
const LOWEST: f64 = 0.45;
const HIGHEST: f64 = 1.0;
/// Least height of a frame divided by the width of the figure.
const LEAST_HEIGHT: f64 = 0.3;
/// Number of attempts to find margins.
const MOST_TIMES: usize = 6;

/// The space around a frame.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Margins {
    pub left: f64,
    pub right: f64,
    pub top: f64,
    pub bottom: f64,
}

impl Margins {
    /// The larger of two on each side.
    fn max(self, other: Self) -> Self {
        Self {
            left: self.left.max(other.left),
            right: self.right.max(other.right),
            top: self.top.max(other.top),
            bottom: self.bottom.max(other.bottom),
        }
    }
}

/// The least margins and height of a frame, so that panels are aligned.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Least {
    pub margins: Margins,
    pub height: f64,
}

/// An axis with its numbers and the lines of its labels.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Side {
    pub ticks: Vec<Tick>,
    pub second_ticks: Vec<Tick>,
    pub label: Vec<String>,
    pub second_label: Vec<String>,
}

/// Where everything around and inside a frame is. The origin is the upper left corner, below title and legend.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Layout {
    pub look: Look,
    pub width: f64,
    pub height: f64,
    pub frame: Frame,
    pub view: View,
    pub margins: Margins,
    pub x: Side,
    pub y: Side,
}

impl Layout {
    /// The layout of a figure of a given width.
    pub(crate) fn of(figure: &Figure, look: Look, width: f64, least: Least) -> Self {
        let whole = View::of(figure);
        let mut margins = Margins { left: 5.0 * look.tick, right: look.tick, ..least.margins };
        // The numbers determine the margins, which determine the frame, which determines the numbers. They rarely change
        // after the first time; from then on, margins only grow, so that nothing is cut off.
        let mut layout = None;
        for time in 0..MOST_TIMES {
            let frame = frame(figure, look, width, margins, whole, least.height);
            let view = if figure.equal { whole.equalized(frame) } else { whole };
            let x = Side::of(&figure.x, look, view.x, frame.width, true);
            let y = Side::of(&figure.y, look, view.y, frame.height, false);
            let height = margins.top + frame.height + margins.bottom;
            let needed = margins_of(look, &x, &y, least.margins);
            layout = Some(Self { look, width, height, frame, view, margins, x, y });
            if needed.max(margins) == margins && time > 0 {
                break;
            }
            margins = if time == 0 { needed } else { needed.max(margins) };
        }
        layout.expect("invariant: the loop runs at least once")
    }

    /// What other panels must have to be aligned with this one.
    pub(crate) fn least(&self) -> Least {
        Least { margins: self.margins, height: self.frame.height }
    }
}

impl Side {
    fn of(axis: &Axis, look: Look, range: (f64, f64), length: f64, is_horizontal: bool) -> Self {
        let step = if is_horizontal { X_STEP } else { Y_STEP };
        let most = ((length / (step * look.tick)) as usize).clamp(2, MOST_TICKS);
        let has_room = |ticks: &[Tick]| {
            let space = |pair: &[Tick]| (pair[1].place - pair[0].place) / (range.1 - range.0) * length / look.tick;
            let needed = |pair: &[Tick]| SPACE + 0.5 * (width(&pair[0].label) + width(&pair[1].label));
            !is_horizontal || ticks.windows(2).all(|pair| space(pair) >= needed(pair))
        };
        // As many numbers as have room; if that is only one, rather a few more.
        let roomy = |ticks: &dyn Fn(usize) -> Vec<Tick>| {
            let counts = (2..=most).rev().chain(most + 1..=2 * most);
            let is_good = |ticks: &Vec<Tick>| ticks.len() > 1 && has_room(ticks);
            counts.map(ticks).find(is_good).unwrap_or_else(|| ticks(1))
        };
        let lines = |label: &str| balanced(label, length / look.label);
        Self {
            ticks: roomy(&|n| ticks(axis, range, n)),
            second_ticks: roomy(&|n| second_ticks(axis, range, n)),
            label: lines(&axis.label),
            second_label: axis.second.as_ref().map_or_else(Vec::new, |second| lines(&second.label)),
        }
    }
}

fn frame(figure: &Figure, look: Look, outer: f64, margins: Margins, whole: View, least: f64) -> Frame {
    let Margins { left, right, top, .. } = margins;
    let width = (outer - left - right).max(4.0 * look.tick);
    let aspect = if figure.equal { whole.aspect().clamp(LOWEST, HIGHEST) } else { look.aspect };
    // A frame that is narrow because of long labels is not low as well: they would need even more lines.
    Frame { left, top, width, height: (width * aspect).max(LEAST_HEIGHT * outer).max(least) }
}

fn margins_of(look: Look, x: &Side, y: &Side, least: Margins) -> Margins {
    let Look { tick, label, .. } = look;
    let widest = |ticks: &[Tick]| tick * ticks.iter().map(|tick| width(&tick.label)).fold(0.0, f64::max);
    let lines = |lines: &[String]| LINE_HEIGHT * label * lines.len() as f64;
    let beside = |ticks: &[Tick], label: &[String]| {
        if ticks.is_empty() { 0.0 } else { (TICK_GAP + LABEL_GAP + EDGE) * tick + widest(ticks) + lines(label) }
    };
    // Half of the last number is beside the frame.
    let half = x.ticks.last().map_or(0.0, |last| 0.5 * tick * width(&last.label));
    let above = if x.second_ticks.is_empty() { 0.0 } else { 2.0 * tick + lines(&x.second_label) };
    Margins {
        left: beside(&y.ticks, &y.label).max(least.left).max(half),
        right: beside(&y.second_ticks, &y.second_label).max(least.right).max(half).max(tick),
        top: above.max(tick).max(least.top),
        bottom: (1.5 * tick + LABEL_GAP * tick + lines(&x.label) + 0.4 * tick).max(least.bottom),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::style::{PRINT, SCREEN};
    use crate::{Mark, Series};

    fn figure(x: Axis, y: Axis) -> Figure {
        let line = Mark::line("v", vec![1.0, 50.0], vec![1.234_567e-5, 1.234_569e-5]);
        Figure::new("f", "", x, y, vec![Series::new("s", 0, vec![line])])
    }

    #[test]
    fn numbers_and_labels_have_room() {
        let label = "a long label that does not fit beside a low frame, so that it needs several lines there";
        for look in [SCREEN, PRINT] {
            let figure = figure(Axis::linear("round").rounds(), Axis::linear(label).also(label, 1e9));
            let layout = Layout::of(&figure, look, 40.0 * look.tick, Least::default());
            let Layout { frame, y, .. } = &layout;
            assert!(y.label.len() > 1 && y.label == y.second_label);
            let widest = |ticks: &[Tick]| ticks.iter().map(|tick| width(&tick.label)).fold(0.0, f64::max);
            let lines = y.label.len() as f64 * look.label;
            assert!(frame.left > lines + widest(&y.ticks) * look.tick);
            assert!(layout.width - frame.right() > lines + widest(&y.second_ticks) * look.tick);
            assert_eq!(frame.bottom() + layout.margins.bottom, layout.height);
        }
    }

    #[test]
    fn equal_axes_have_equal_units_in_every_layout() {
        for (x, y) in [(1.0, 1.0), (9.0, 1.0), (1.0, 9.0)] {
            let dots = Mark::Points { x: vec![0.0, x], y: vec![0.0, y] };
            let series = vec![Series::new("s", 0, vec![dots])];
            let figure = Figure::new("f", "", Axis::linear("x"), Axis::linear("y"), series).equal_axes();
            for (look, width) in [(SCREEN, 720.0), (SCREEN, 300.0), (PRINT, 238.0)] {
                let Layout { frame, view, .. } = Layout::of(&figure, look, width, Least::default());
                let (across, along) = (frame.width / (view.x.1 - view.x.0), frame.height / (view.y.1 - view.y.0));
                assert!((across / along - 1.0).abs() < 1e-9);
            }
        }
    }
}
