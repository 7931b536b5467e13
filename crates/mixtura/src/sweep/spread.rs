//! Robust measures of the spread of a column: quartiles, and a winsorized standard deviation.

use crate::Rows;

/// Distance between the quartiles of a standard normal distribution.
const NORMAL_QUARTILE_RANGE: f64 = 1.349;
/// Minimum share of the rows, at either end, whose values are replaced by the outer quantile.
///
/// A column may contain that many fill values without affecting its scale.
const OUTER_SHARE: f64 = 0.05;
/// In a small sample, the values of at least this many rows at either end are replaced, so that a couple of fill values
/// do not count.
const OUTER_ROWS: f64 = 3.0;
/// Maximum share of the rows, at either end, whose values are replaced on account of `OUTER_ROWS`.
const LARGEST_OUTER_SHARE: f64 = 0.125;
/// The scale of a column is at least this share of its winsorized standard deviation.
///
/// In a column that is mostly one value, the quartiles are close together, and the scale would be that of the spike
/// alone. See ADR 6 for measurements.
const DEVIATION_SHARE: f64 = 0.1;

/// Bounds the relative rounding of a deviation.
const ROUNDING: f64 = 1e-6;

/// The spread of a column. Cost: a few selections; sorting, if rows have weights or the deviation matters.
pub(super) struct Spread {
    /// Lower weighted quartiles: the same as if each row were repeated according to its weight.
    pub quartiles: [f64; 3],
    /// The outer quantiles.
    pub outer: [f64; 2],
    /// Standard deviation after moving values beyond the outer quantiles to these quantiles (winsorized); `None` if it
    /// is too small to affect the scale.
    deviation: Option<f64>,
}

impl Spread {
    /// The spread of a column of a sample in which every row has a positive weight.
    pub(super) fn of(sample: &Rows<'_>, column: usize) -> Self {
        let values = sample.raw_column(column);
        match sample.weights() {
            None => Self::of_values(values),
            Some(weights) => Self::of_weighted(values.into_iter().zip(weights.iter().copied()).collect()),
        }
    }

    /// A robust scale: based on the quartiles, or on the standard deviation if it is much larger; 0 if both are 0.
    pub(super) fn scale(&self) -> f64 {
        let of_quartiles = scale_of_quartiles(self.quartiles);
        match self.deviation {
            None => of_quartiles,
            Some(deviation) if of_quartiles == 0.0 => deviation,
            Some(deviation) => of_quartiles.max(DEVIATION_SHARE * deviation),
        }
    }

    fn of_values(mut values: Vec<f64>) -> Self {
        let n = values.len();
        let outer_rank = (outer_share(n as f64) * n as f64).ceil() as usize - 1;
        let [first, second, third] = [1, 2, 3].map(|quarter| (quarter * n).div_ceil(4) - 1);
        let ranks = [outer_rank, first, second, third, n - 1 - outer_rank];
        select(&mut values, 0, &ranks);
        let [low, first, second, third, high] = ranks.map(|rank| values[rank]);
        let (quartiles, outer) = ([first, second, third], [low, high]);
        // Values between two limits deviate by at most half the distance between these (Popoviciu 1935).
        let largest = (high - low) / 2.0 * (1.0 + ROUNDING);
        if DEVIATION_SHARE * largest < scale_of_quartiles(quartiles) {
            return Self { quartiles, outer, deviation: None };
        }
        // Sorted, so that the sum does not depend on the order of the rows.
        values.sort_unstable_by(f64::total_cmp);
        let deviation = Some(deviation(values.into_iter().map(|x| (x, 1.0)), quartiles[1], outer));
        Self { quartiles, outer, deviation }
    }

    fn of_weighted(mut values: Vec<(f64, f64)>) -> Self {
        values.sort_by(|a, b| a.0.total_cmp(&b.0));
        let total: f64 = values.iter().map(|(_, weight)| weight).sum();
        let squares: f64 = values.iter().map(|(_, weight)| weight * weight).sum();
        // Whole-number weights count rows; for others, the effective number of rows is used (Kish 1965).
        let is_whole = values.iter().all(|(_, weight)| weight.fract() == 0.0);
        let n = if is_whole { total } else { total * total / squares };
        let ascending = || values.iter();
        let quartiles = [0.25, 0.5, 0.75].map(|share| quantile(ascending(), share * total));
        let outer = outer_share(n) * total;
        let outer = [quantile(ascending(), outer), quantile(ascending().rev(), outer)];
        let deviation = Some(deviation(values.iter().copied(), quartiles[1], outer));
        Self { quartiles, outer, deviation }
    }
}

fn scale_of_quartiles([first, _, third]: [f64; 3]) -> f64 {
    (third - first) / NORMAL_QUARTILE_RANGE
}

/// Puts the values of some ranks where sorting would put them; `values` begins at rank `begin`, and the ranks ascend.
fn select(values: &mut [f64], begin: usize, ranks: &[usize]) {
    let Some(&middle) = ranks.get(ranks.len() / 2) else { return };
    let (below, _, above) = values.select_nth_unstable_by(middle - begin, f64::total_cmp);
    select(below, begin, &ranks[..ranks.partition_point(|&rank| rank < middle)]);
    select(above, middle + 1, &ranks[ranks.partition_point(|&rank| rank <= middle)..]);
}

/// Share of the rows beyond either outer quantile, for a sample of `n` rows.
fn outer_share(n: f64) -> f64 {
    (OUTER_ROWS / n).clamp(OUTER_SHARE, LARGEST_OUTER_SHARE)
}

/// The value at which the cumulative weight reaches `target`.
fn quantile<'a>(mut values: impl Iterator<Item = &'a (f64, f64)> + Clone, target: f64) -> f64 {
    let last = values.clone().last();
    let mut reached = 0.0;
    let found = values.find(|(_, weight)| {
        reached += weight;
        reached >= target
    });
    found.or(last).expect("invariant: rows of positive weight").0
}

/// Standard deviation of values clamped to two limits; computed relative to `middle`, a value between them, to preserve
/// digits.
fn deviation(values: impl Iterator<Item = (f64, f64)>, middle: f64, [low, high]: [f64; 2]) -> f64 {
    let (mut total, mut sum, mut squares) = (0.0, 0.0, 0.0);
    for (x, weight) in values {
        let difference = x.clamp(low, high) - middle;
        total += weight;
        sum += weight * difference;
        squares += weight * difference * difference;
    }
    let mean: f64 = sum / total;
    (squares / total - mean * mean).max(0.0).sqrt()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_handful_of_fill_values_does_not_move_the_scale() {
        // Two rows move a quartile by 2/n in rank; the quantiles of a sine rise by 2.2 per rank there, and the
        // quartiles are 1.4 apart: 6.3/n, plus the distance between neighbours.
        for n in [30, 100, 1000, 5000] {
            let mut values: Vec<f64> = (0..n).map(|i| (f64::from(i) * 0.7).sin()).collect();
            let clean = Spread::of_values(values.clone()).scale();
            values[3] = 1e16;
            values[7] = 1e16;
            let filled = Spread::of_values(values).scale();
            assert!((filled / clean - 1.0).abs() < 10.0 / f64::from(n), "{n}: {filled} {clean}");
        }
    }

    #[test]
    fn one_per_cent_of_fill_values_determined_the_scale() {
        let mut values: Vec<f64> = (0..400).map(|i| (f64::from(i) * 0.7).sin()).collect();
        let clean = Spread::of_values(values.clone()).scale();
        values[..4].fill(-999_999_999.0);
        let filled = Spread::of_values(values).scale();
        assert!((filled / clean - 1.0).abs() < 0.05, "{filled} {clean}");
    }

    /// Mostly zeros, with a tenth spread over thousands: the quartiles are close together.
    #[test]
    fn the_scale_of_a_column_that_is_mostly_one_value_was_that_of_the_spike() {
        let values: Vec<f64> =
            (0..1000).map(|i| if i % 10 == 0 { f64::from(i * 13) } else { f64::from(i % 4) }).collect();
        let spread = Spread::of_values(values);
        assert!(spread.quartiles[2] - spread.quartiles[0] <= 3.0);
        assert!(spread.scale() > 1000.0 * DEVIATION_SHARE, "{}", spread.scale());
    }

    #[test]
    fn the_deviation_is_that_of_values_moved_to_the_outer_quantiles() {
        // Of 100 values, the five at either end take the value of the fifth: 4..=95.
        let spread = Spread::of_values((0..100).map(f64::from).collect());
        assert_eq!(spread.outer, [4.0, 95.0]);
        let moved = (0..100).map(|i| f64::from(i).clamp(4.0, 95.0) - 49.5);
        let expected = (moved.map(|x| x * x).sum::<f64>() / 100.0).sqrt();
        assert_eq!((spread.deviation, spread.scale()), (None, 50.0 / NORMAL_QUARTILE_RANGE));
        let found = deviation((0..100).map(|i| (f64::from(i), 1.0)), 49.0, spread.outer);
        assert!((found - expected).abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn selecting_gives_what_sorting_gives(
            mut values in prop::collection::vec(prop_oneof![3 => -9.0..9.0, 2 => Just(0.0), 1 => -1e6..1e6], 1..300),
        ) {
            let spread = Spread::of_values(values.clone());
            values.sort_unstable_by(f64::total_cmp);
            let n = values.len();
            let quartiles = [1, 2, 3].map(|quarter| values[(quarter * n).div_ceil(4) - 1]);
            let rank = (outer_share(n as f64) * n as f64).ceil() as usize - 1;
            let outer = [values[rank], values[n - 1 - rank]];
            prop_assert_eq!((spread.quartiles, spread.outer), (quartiles, outer));
            let sorted = deviation(values.into_iter().map(|x| (x, 1.0)), quartiles[1], outer);
            prop_assert_eq!(spread.scale(), Spread { quartiles, outer, deviation: Some(sorted) }.scale());
        }
    }
}
