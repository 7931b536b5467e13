//! Is what a figure shows: axes, and series of lines and bands.

/// A figure with two axes.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// A name for files: letters, digits and hyphens.
    pub name: String,
    /// What it shows, in a line.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// What is drawn, the first at the bottom.
    pub series: Vec<Series>,
}

/// An axis: what it measures, with its unit, and how.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// What is measured, with its unit.
    pub label: String,
    /// Linear or logarithmic.
    pub scale: Scale,
}

/// How values are spread along an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Evenly.
    Linear,
    /// By their logarithms; values that have none are left out.
    Log,
}

/// What has one name and one colour: lines and bands that belong together.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// Number of its colour; after eight they begin again, with dashed lines.
    pub colour: usize,
    /// Whether its lines are dashed: not seen, but said.
    pub dashed: bool,
    /// What is drawn, the first at the bottom.
    pub marks: Vec<Mark>,
}

/// Something drawn over the horizontal axis. Values that are not finite leave a gap.
#[derive(Debug, Clone, PartialEq)]
pub enum Mark {
    /// A line through points.
    Line {
        /// What its values are called.
        label: String,
        /// Places.
        x: Vec<f64>,
        /// Values.
        y: Vec<f64>,
    },
    /// The area between two values at each place.
    Band {
        /// What its values are called.
        label: String,
        /// Places.
        x: Vec<f64>,
        /// Lower values.
        low: Vec<f64>,
        /// Upper values.
        high: Vec<f64>,
    },
    /// Small dots.
    Points {
        /// Places.
        x: Vec<f64>,
        /// Values.
        y: Vec<f64>,
    },
    /// A closed area.
    Area {
        /// Places along its edge.
        x: Vec<f64>,
        /// Values along its edge.
        y: Vec<f64>,
        /// How strongly it is filled, from 0 to 1.
        opacity: f64,
    },
}

impl Axis {
    /// An axis along which values are spread evenly.
    pub fn linear(label: &str) -> Self {
        Self { label: label.into(), scale: Scale::Linear }
    }

    /// An axis along which values are spread by their logarithms.
    pub fn log(label: &str) -> Self {
        Self { label: label.into(), scale: Scale::Log }
    }
}

impl Scale {
    /// Where a value lies along the axis, in units of the axis; nothing if it has no place there.
    pub(crate) fn place(self, value: f64) -> Option<f64> {
        let place = match self {
            Self::Linear => value,
            Self::Log => value.log10(),
        };
        place.is_finite().then_some(place)
    }
}

impl Series {
    /// A series of a name and a colour.
    pub fn new(name: &str, colour: usize, marks: Vec<Mark>) -> Self {
        Self { name: name.into(), colour, dashed: false, marks }
    }

    /// The same with dashed lines.
    #[must_use]
    pub fn dashed(self) -> Self {
        Self { dashed: true, ..self }
    }
}

impl Mark {
    /// A line through points.
    pub fn line(label: &str, x: Vec<f64>, y: Vec<f64>) -> Self {
        Self::Line { label: label.into(), x, y }
    }

    /// The area between two values at each place.
    pub fn band(label: &str, x: Vec<f64>, low: Vec<f64>, high: Vec<f64>) -> Self {
        Self::Band { label: label.into(), x, low, high }
    }

    /// All places, and all values.
    pub(crate) fn extent(&self) -> (&[f64], impl Iterator<Item = f64> + '_) {
        match self {
            Self::Line { x, y, .. } | Self::Points { x, y } | Self::Area { x, y, .. } => {
                (x, y.iter().chain([].iter()).copied())
            }
            Self::Band { x, low, high, .. } => (x, low.iter().chain(high.iter()).copied()),
        }
    }
}
