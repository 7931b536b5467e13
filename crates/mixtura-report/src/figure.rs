//! The contents of a figure: axes, and series of lines, bands, areas and texts.

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
    /// Whether one unit has the same length on both axes.
    pub equal: bool,
    /// The meaning of the opacity of areas.
    pub shading: Option<Shading>,
}

/// The meaning of the opacity of a figure's areas, shown as a bar in the legend.
#[derive(Debug, Clone, PartialEq)]
pub struct Shading {
    /// What the opacity stands for.
    pub label: String,
    /// The value of the faintest area.
    pub from: f64,
    /// The value of the most opaque area.
    pub to: f64,
}

/// An axis: its label, its scale and its ticks.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// Quantity and unit.
    pub label: String,
    /// Linear or logarithmic.
    pub scale: Scale,
    /// Whether a linear axis begins at 0, unless there are negative values.
    pub zero: bool,
    /// Whether ticks are whole numbers, with one at the first value.
    pub whole: bool,
    /// A second axis on the opposite side.
    pub second: Option<SecondAxis>,
}

/// An axis on the opposite side, which shows the values in another unit.
#[derive(Debug, Clone, PartialEq)]
pub struct SecondAxis {
    /// Quantity and unit.
    pub label: String,
    /// Its value for a value of 1 on the first axis; positive.
    pub factor: f64,
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
    /// How its lines are drawn.
    pub dash: Dash,
    /// Whether its lines are thin, so that they stay behind those of others.
    pub thin: bool,
    /// What is drawn, from back to front.
    pub marks: Vec<Mark>,
}

/// How the lines of a series are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Dash {
    /// Solid.
    #[default]
    Solid,
    /// Dashed, which marks theoretical values, or lines on top of others.
    Dashed,
    /// Dotted.
    Dotted,
    /// Dashes and dots in turn.
    DashDotted,
}

/// A part of a series. Values that are not finite leave a gap.
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
    /// A short text centred on a point, above all lines and areas.
    Text {
        /// Horizontal position.
        x: f64,
        /// Vertical position.
        y: f64,
        /// The text.
        text: String,
    },
    /// A line over the whole width, dashed unless its series is drawn otherwise.
    Level {
        /// Its label.
        label: String,
        /// Its value, which is always inside the figure.
        y: f64,
        /// The end of the line where the label is, if there is room.
        end: End,
    },
}

/// An end of a horizontal line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The left one.
    Left,
    /// The right one.
    Right,
}

impl Figure {
    /// A figure with a file name, a title, two axes and what is drawn, from back to front.
    pub fn new(name: impl Into<String>, title: impl Into<String>, x: Axis, y: Axis, series: Vec<Series>) -> Self {
        Self { name: name.into(), title: title.into(), x, y, series, equal: false, shading: None }
    }

    /// The same with one unit of the same length on both axes, whatever the size of the figure.
    #[must_use]
    pub fn equal_axes(self) -> Self {
        Self { equal: true, ..self }
    }

    /// The same with a bar in the legend that shows the meaning of the areas' opacity: `from` is the value of the
    /// faintest area, `to` that of the most opaque one.
    #[must_use]
    pub fn shades(self, label: &str, from: f64, to: f64) -> Self {
        Self { shading: Some(Shading { label: label.into(), from, to }), ..self }
    }
}

impl Axis {
    /// A linear axis.
    pub fn linear(label: &str) -> Self {
        Self { label: label.into(), scale: Scale::Linear, zero: false, whole: false, second: None }
    }

    /// A logarithmic axis.
    pub fn log(label: &str) -> Self {
        Self { scale: Scale::Log, ..Self::linear(label) }
    }

    /// The same beginning at 0; a logarithmic axis, or one with negative values, does not change.
    #[must_use]
    // It describes an axis that starts from 0; it is not a conversion.
    #[allow(clippy::wrong_self_convention)]
    pub fn from_zero(self) -> Self {
        Self { zero: true, ..self }
    }

    /// The same with ticks at whole numbers only, one of them at the first value: 1, 10, 20, … for rounds 1 to 50.
    #[must_use]
    pub fn rounds(self) -> Self {
        Self { whole: true, ..self }
    }

    /// The same with a second axis on the opposite side, which shows each value multiplied by a positive factor.
    #[must_use]
    pub fn also(self, label: &str, factor: f64) -> Self {
        let is_usable = factor.is_finite() && factor > 0.0;
        Self { second: is_usable.then(|| SecondAxis { label: label.into(), factor }), ..self }
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
        Self { name: name.into(), colour, dash: Dash::Solid, thin: false, marks }
    }

    /// The same with dashed lines.
    #[must_use]
    pub fn dashed(self) -> Self {
        Self { dash: Dash::Dashed, ..self }
    }

    /// The same with dotted lines.
    #[must_use]
    pub fn dotted(self) -> Self {
        Self { dash: Dash::Dotted, ..self }
    }

    /// The same with lines of dashes and dots in turn.
    #[must_use]
    pub fn dash_dotted(self) -> Self {
        Self { dash: Dash::DashDotted, ..self }
    }

    /// The same with thin lines.
    #[must_use]
    pub fn thin(self) -> Self {
        Self { thin: true, ..self }
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

    /// A line over the whole width, with its label at its right end.
    pub fn level(label: &str, y: f64) -> Self {
        Self::Level { label: label.into(), y, end: End::Right }
    }

    /// A line over the whole width, with its label at its left end.
    pub fn level_from_left(label: &str, y: f64) -> Self {
        Self::Level { label: label.into(), y, end: End::Left }
    }

    /// All positions and all values.
    pub(crate) fn extent(&self) -> (&[f64], impl Iterator<Item = f64> + '_) {
        let (x, first, second): (&[f64], &[f64], &[f64]) = match self {
            Self::Line { x, y, .. } | Self::Points { x, y } | Self::Area { x, y, .. } => (x, y, &[]),
            Self::Band { x, low, high, .. } => (x, low, high),
            Self::Text { x, y, .. } => (std::slice::from_ref(x), std::slice::from_ref(y), &[]),
            Self::Level { y, .. } => (&[], std::slice::from_ref(y), &[]),
        };
        (x, first.iter().chain(second).copied())
    }
}
