//! How narrow components may become: a floor fixed before the first round, and the floating-point resolution.

use serde::{Deserialize, Serialize};

use super::Family;
use crate::Error;
use crate::sweep::Summary;

/// How small a component's spread may become, fixed before the first round.
///
/// `smallest_deviation` applies to all components. In addition, each component is limited by the floating-point
/// resolution of its own values ([`Floor::smallest_deviation_at`]).
///
/// Deserializing applies [`Floor::check`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct Floor {
    /// Smallest allowed standard deviation of each column; all 0 = no floor.
    pub smallest_deviation: Vec<f64>,
    /// Added to the variance of each column.
    pub ridge: Vec<f64>,
    /// Smallest allowed mean of a count in each column; all 0 = no floor.
    pub smallest_rate: Vec<f64>,
    /// A robust scale of each column.
    pub scale: Vec<f64>,
    /// The point that rows are centred on.
    pub centre: Vec<f64>,
    /// The vector that was subtracted from all rows; means refer to the shifted rows. All 0 = nothing.
    pub origin: Vec<f64>,
}

/// A floor as deserialized.
#[derive(Deserialize)]
#[serde(rename = "Floor")]
struct Unchecked {
    // The aliases are earlier names: saved fits stay readable.
    #[serde(alias = "least")]
    smallest_deviation: Vec<f64>,
    ridge: Vec<f64>,
    #[serde(alias = "least_rate")]
    smallest_rate: Vec<f64>,
    scale: Vec<f64>,
    centre: Vec<f64>,
    origin: Vec<f64>,
}

impl TryFrom<Unchecked> for Floor {
    type Error = Error;

    fn try_from(read: Unchecked) -> Result<Self, Error> {
        let Unchecked { smallest_deviation, ridge, smallest_rate, scale, centre, origin } = read;
        let floor = Self { smallest_deviation, ridge, smallest_rate, scale, centre, origin };
        floor.check()?;
        Ok(floor)
    }
}

impl Floor {
    /// Smallest deviation in units of the magnitude of values: 16 ulps, so that the rounding of a mean is small in
    /// comparison.
    const SPARE: f64 = 16.0 * f64::EPSILON;
    /// Largest standard deviation that can be squared with room to spare.
    const LARGEST: f64 = 1e100;

    /// The floor E·diag(s²), and a ridge in the data's own units, for rows of a family.
    pub fn of<F: Family>(summary: &Summary, regularization: f64, ridge: f64) -> Self {
        let least = |scale: &f64| (regularization.sqrt() * scale).min(Self::LARGEST);
        Self {
            smallest_deviation: summary.scale.iter().map(least).collect(),
            ridge: summary.unit.iter().map(|unit| ridge * unit * unit).collect(),
            smallest_rate: summary
                .mean
                .iter()
                .map(|&mean| regularization * if mean > 0.0 { mean } else { 1.0 })
                .collect(),
            scale: summary.scale.clone(),
            centre: if F::CENTRED { summary.centre.clone() } else { vec![0.0; summary.centre.len()] },
            origin: vec![0.0; summary.centre.len()],
        }
    }

    /// Refuses lists of different lengths, values that are not finite, and negative deviations, variances, rates or
    /// scales.
    pub fn check(&self) -> Result<(), Error> {
        let n_columns = self.smallest_deviation.len();
        let lists = [
            ("smallest deviation", "smallest deviations", &self.smallest_deviation, 0.0),
            ("ridge", "ridges", &self.ridge, 0.0),
            ("smallest rate", "smallest rates", &self.smallest_rate, 0.0),
            ("scale", "scales", &self.scale, 0.0),
            ("centre", "centres", &self.centre, f64::MIN),
            ("origin", "origins", &self.origin, f64::MIN),
        ];
        for (what, plural, values, lowest) in lists {
            if values.len() != n_columns {
                return Err(Error::Length {
                    what: plural,
                    n_found: values.len(),
                    n_expected: n_columns,
                    of: "columns",
                });
            }
            let is_bad = |value: f64| !(value.is_finite() && value >= lowest);
            if let Some((column, &value)) = values.iter().enumerate().find(|(_, value)| is_bad(**value)) {
                let expected = if lowest == 0.0 { "finite and at least 0" } else { "finite" };
                return Err(Error::Column { column, what, value, expected });
            }
        }
        Ok(())
    }

    /// The smallest allowed standard deviations of a component with this mean: those of all components, but not below
    /// the floating-point resolution of values as large as the mean or its distance from the centre (ADR 6). All 0 = no
    /// floor.
    pub fn smallest_deviation_at(&self, mean: &[f64]) -> Vec<f64> {
        let places = self.centre.iter().zip(&self.origin);
        let size = |(mean, (centre, origin)): (&f64, (&f64, &f64))| (mean + origin).abs().max((mean - centre).abs());
        let sizes = mean.iter().zip(places).map(size);
        let bound = |(&least, size): (&f64, f64)| match least {
            0.0 => 0.0,
            least => least.max(Self::SPARE * power_of_two_above(size)).min(Self::LARGEST),
        };
        self.smallest_deviation.iter().zip(sizes).map(bound).collect()
    }

    /// The floor for rows from which `origin` was subtracted.
    #[must_use]
    pub(crate) fn about(&self, origin: &[f64]) -> Self {
        let subtract = |(centre, origin): (&f64, &f64)| centre - origin;
        Self { centre: self.centre.iter().zip(origin).map(subtract).collect(), origin: origin.to_vec(), ..self.clone() }
    }

    /// Smallest allowed variances of a component that is created around a mean.
    pub(crate) fn smallest_variances_at(&self, mean: &[f64]) -> Vec<f64> {
        self.smallest_deviation_at(mean)
            .iter()
            .zip(&self.ridge)
            .map(|(least, ridge)| (least * least).max(*ridge))
            .collect()
    }
}

/// The smallest power of two above a number. Only the exponent matters, so it is the same for means that differ
/// slightly.
fn power_of_two_above(x: f64) -> f64 {
    const EXPONENT: u64 = 0x7ff0_0000_0000_0000;
    2.0 * f64::from_bits(x.abs().to_bits() & EXPONENT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_component_is_limited_by_the_resolution_of_its_own_values() {
        assert_eq!([0.0, 1.0, 1.5, -6.0, 8.0].map(power_of_two_above), [0.0, 2.0, 2.0, 8.0, 16.0]);
        let floor = Floor {
            smallest_deviation: vec![1e-5, 1e-5, 0.0],
            ridge: vec![0.0; 3],
            smallest_rate: vec![0.0; 3],
            scale: vec![1.0; 3],
            centre: vec![0.0, 1e16, 0.0],
            origin: vec![0.0; 3],
        };
        // Ulps of 1e16 are 2; 16 ulps of the next power of two, 2^54, are 64. The last column has no floor.
        assert_eq!(floor.smallest_deviation_at(&[3.0, 3.0, 1e16]), [1e-5, 64.0, 0.0]);
        assert_eq!(floor.smallest_deviation_at(&[1e16, 1e16, 3.0]), [64.0, 64.0, 0.0]);
        assert_eq!(floor.about(&[0.0, 1e16, 0.0]).smallest_deviation_at(&[3.0, 3.0, 0.0]), [1e-5, 64.0, 0.0]);
    }
}
