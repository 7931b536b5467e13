//! The contents of a figure: axes, and series of lines and bands.

/// A figure with two axes.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// File name: letters, digits and hyphens.
    pub name: String,
    /// Title.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// What is drawn, from back to front.
    pub series: Vec<Series>,
}

/// An axis: its label and its scale.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// Quantity and unit.
    pub label: String,
    /// Linear or logarithmic.
    pub scale: Scale,
}

/// The scale of an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Linear.
    Linear,
    /// Logarithmic; values that are not positive are left out.
    Log,
}

/// Lines and bands that share a name and a colour.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// Number of its colour; after eight, colours repeat with dashed lines.
    pub colour: usize,
    /// Whether its lines are dashed, which marks theoretical values.
    pub dashed: bool,
    /// What is drawn, from back to front.
    pub marks: Vec<Mark>,
}

/// A mark drawn over the horizontal axis. Values that are not finite leave a gap.
#[derive(Debug, Clone, PartialEq)]
pub enum Mark {
    /// A line through points.
    Line {
        /// Label of its values.
        label: String,
        /// Horizontal positions.
        x: Vec<f64>,
        /// Values.
        y: Vec<f64>,
    },
    /// The area between two values at each position.
    Band {
        /// Label of its values.
        label: String,
        /// Horizontal positions.
        x: Vec<f64>,
        /// Lower values.
        low: Vec<f64>,
        /// Upper values.
        high: Vec<f64>,
    },
    /// Dots.
    Points {
        /// Horizontal positions.
        x: Vec<f64>,
        /// Values.
        y: Vec<f64>,
    },
    /// A closed area.
    Area {
        /// Horizontal positions along its edge.
        x: Vec<f64>,
        /// Values along its edge.
        y: Vec<f64>,
        /// Opacity, from 0 to 1.
        opacity: f64,
    },
}

impl Axis {
    /// A linear axis.
    pub fn linear(label: &str) -> Self {
        Self { label: label.into(), scale: Scale::Linear }
    }

    /// A logarithmic axis.
    pub fn log(label: &str) -> Self {
        Self { label: label.into(), scale: Scale::Log }
    }
}

impl Scale {
    /// The position of a value on the axis, in units of the axis; `None` if it has none.
    pub(crate) fn place(self, value: f64) -> Option<f64> {
        let place = match self {
            Self::Linear => value,
            Self::Log => value.log10(),
        };
        place.is_finite().then_some(place)
    }
}

impl Series {
    /// A series with a name and a colour.
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

    /// The area between two values at each position.
    pub fn band(label: &str, x: Vec<f64>, low: Vec<f64>, high: Vec<f64>) -> Self {
        Self::Band { label: label.into(), x, low, high }
    }

    /// All positions and all values.
    pub(crate) fn extent(&self) -> (&[f64], impl Iterator<Item = f64> + '_) {
        match self {
            Self::Line { x, y, .. } | Self::Points { x, y } | Self::Area { x, y, .. } => {
                (x, y.iter().chain([].iter()).copied())
            }
            Self::Band { x, low, high, .. } => (x, low.iter().chain(high.iter()).copied()),
        }
    }
}
