//! Passes a figure's axes and values to the script of a page.

use serde_json::{Value, json};

use crate::Scale;
use crate::figure::{Axis, End, Figure, Mark, Series};
use crate::view::View;

impl Figure {
    /// The data for the page's script: the axes, the values, and how the marks were drawn.
    pub(crate) fn to_data(&self) -> Value {
        let layout = self.inline_layout();
        let whole = View::of(self);
        let (frame, view) = (layout.frame, layout.view);
        json!({
            "drawn": {
                "left": frame.left, "top": frame.top, "width": frame.width, "height": frame.height,
                "x": [view.x.0, view.x.1], "y": [view.y.0, view.y.1],
            },
            "equal": self.equal,
            "x": axis(&self.x, whole.x),
            "y": axis(&self.y, whole.y),
            "series": self.series.iter().map(series).collect::<Vec<_>>(),
        })
    }
}

fn axis(axis: &Axis, (from, to): (f64, f64)) -> Value {
    let second = axis.second.as_ref().map(|second| json!({"label": second.label, "factor": second.factor}));
    let log = axis.scale == Scale::Log;
    json!({"label": axis.label, "log": log, "whole": axis.whole, "second": second, "from": from, "to": to})
}

fn series(series: &Series) -> Value {
    let marks: Vec<Value> = series.marks.iter().filter_map(mark).collect();
    let notes: Vec<Value> = series.marks.iter().filter_map(note).collect();
    json!({"name": series.name, "marks": marks, "notes": notes})
}

/// A mark whose values are shown under the pointer.
fn mark(mark: &Mark) -> Option<Value> {
    match mark {
        Mark::Line { label, x, y } => Some(json!({"label": label, "x": values(x), "y": values(y)})),
        Mark::Band { label, x, low, high } => {
            Some(json!({"label": label, "x": values(x), "low": values(low), "high": values(high)}))
        }
        Mark::Points { .. } | Mark::Area { .. } | Mark::Text { .. } | Mark::Level { .. } => None,
    }
}

/// A mark that the script draws again for each view.
fn note(mark: &Mark) -> Option<Value> {
    match mark {
        Mark::Text { x, y, text } => Some(json!({"x": value(*x), "y": value(*y), "text": text})),
        Mark::Level { label, y, end } => Some(json!({"level": value(*y), "text": label, "left": *end == End::Left})),
        Mark::Line { .. } | Mark::Band { .. } | Mark::Points { .. } | Mark::Area { .. } => None,
    }
}

fn values(values: &[f64]) -> Vec<Option<f64>> {
    values.iter().copied().map(value).collect()
}

fn value(value: f64) -> Option<f64> {
    value.is_finite().then(|| short(value))
}

/// Rounds to seven digits, which are enough to read.
fn short(value: f64) -> f64 {
    format!("{value:.6e}").parse().unwrap_or(value)
}
