//! The five-number summary: extremes, quartiles, median; and numbers with two digits.

use serde::{Deserialize, Serialize};

/// Extremes, quartiles and median, as in the paper's figures.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Quantiles {
    /// Minimum.
    pub minimum: f64,
    /// Lower quartile.
    pub lower_quartile: f64,
    /// Median.
    pub median: f64,
    /// Upper quartile.
    pub upper_quartile: f64,
    /// Maximum.
    pub maximum: f64,
}

impl Quantiles {
    /// The quantiles of some numbers, with linear interpolation; NaN if there are none.
    ///
    /// ```
    /// let five = mixtura_paper::Quantiles::of([4.0, 1.0, 2.0, 8.0]);
    /// assert_eq!((five.minimum, five.lower_quartile, five.median, five.maximum), (1.0, 1.75, 3.0, 8.0));
    /// ```
    pub fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let Some(last) = values.len().checked_sub(1) else { return f64::NAN };
            let place = share * last as f64;
            let (below, rest) = (place.floor() as usize, place.fract());
            values[below] + rest * (values[(below + 1).min(last)] - values[below])
        };
        Self { minimum: at(0.0), lower_quartile: at(0.25), median: at(0.5), upper_quartile: at(0.75), maximum: at(1.0) }
    }
    /// The quantiles of the negated numbers.
    ///
    /// ```
    /// use mixtura_paper::Quantiles;
    ///
    /// assert_eq!(Quantiles::of([4.0, 1.0, 2.0, 8.0]).negated(), Quantiles::of([-4.0, -1.0, -2.0, -8.0]));
    /// ```
    #[must_use]
    pub fn negated(&self) -> Self {
        Self {
            minimum: -self.maximum,
            lower_quartile: -self.upper_quartile,
            median: -self.median,
            upper_quartile: -self.lower_quartile,
            maximum: -self.minimum,
        }
    }
}

/// A number with two digits.
pub(crate) fn short(x: f64) -> String {
    if x == 0.0 {
        return "0".into();
    }
    let decimals = (1.0 - x.abs().log10().floor()).clamp(0.0, 12.0) as usize;
    format!("{x:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_two_digits() {
        for (x, text) in [(0.0, "0"), (0.001_49, "0.0015"), (1.26, "1.3"), (34.0, "34")] {
            assert_eq!(short(x), text);
        }
    }
}
