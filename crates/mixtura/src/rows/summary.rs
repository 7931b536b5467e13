//! Summarises columns before a fit: extremes, means, a centre to compute about and a robust scale.

use rand::Rng;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::Rows;
use super::spread::Spread;
use crate::Error;
use crate::kernels::{InstructionSet, LANES, Lanes};
use crate::pass::merge_in_order;
use crate::random::{Address, Purpose, below, uniform};

/// Blocks that one step of a summary looks at.
const BLOCKS_AT_A_TIME: usize = 256;
/// Rows that robust scales are taken from, at most: a floor needs no more digits.
const ROWS_FOR_SCALE: usize = 1 << 16;
/// Up to here every whole number is a floating-point number.
const LARGEST_COUNT: f64 = 9_007_199_254_740_992.0; // 2^53
/// Bits kept of a centre, so that subtracting it from values of its size is exact.
const CENTRE_BITS: u32 = 40;
/// A value is far if it lies so many times farther from the centre than the outer quantiles do. Heavy tails do not
/// reach there: of Cauchy's distribution, one row in 10⁷.
const FAR: f64 = 1e6;
/// Far values that are told of, at most.
const MOST_FAR_VALUES: usize = 5;

/// What a fit needs to know of the columns before the first round.
///
/// Rows of weight 0 do not count. Cost: one sweep of the rows, and a selection on at most 65,536.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Number of rows, those of weight 0 included.
    pub n_rows: usize,
    /// Sum of row weights.
    pub total_weight: f64,
    /// Whether every row weight is a whole number, of at most 2⁵³.
    pub whole_weights: bool,
    /// Least value of each column.
    pub minimum: Vec<f64>,
    /// Greatest value of each column.
    pub maximum: Vec<f64>,
    /// The first row that has the least value of each column, from 0.
    pub minimum_row: Vec<usize>,
    /// The first row that has the greatest value of each column, from 0.
    pub maximum_row: Vec<usize>,
    /// Weighted mean of each column.
    pub mean: Vec<f64>,
    /// About the median of each column, with few digits: what rows are taken about (0 for a family
    /// that needs values as they are).
    pub centre: Vec<f64>,
    /// What normalization multiplies each column by; 1 without it.
    pub unit: Vec<f64>,
    /// A robust scale of each column: interquartile range / 1.349, but at least a tenth of the standard deviation of
    /// the values between the 0.5 % and 99.5 % quantiles (those beyond moved there; of a small sample two rows at
    /// either end), and all of that where the range is 0; where both are 0 the standard deviation; |c| for a
    /// constant column c, 1 if c = 0.
    pub scale: Vec<f64>,
    /// How far the farther of these outer quantiles lies from the centre, or the scale if that is more.
    pub reach: Vec<f64>,
}

/// A value that lies so far from all others of its column that it is hardly a measurement: a fill value, another
/// unit, a slip.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct FarValue {
    /// Row, from 0.
    pub row: usize,
    /// Column, from 0.
    pub column: usize,
    /// The value, as the fit sees it.
    pub value: f64,
}

#[derive(Clone)]
struct Sweep {
    weight: f64,
    minimum: Vec<f64>,
    maximum: Vec<f64>,
    minimum_row: Vec<usize>,
    maximum_row: Vec<usize>,
    sum: Vec<f64>,
    squares: Vec<f64>,
}

impl Summary {
    /// Sweeps the rows once; refuses columns whose squares leave the range of finite numbers.
    pub fn of(rows: &Rows<'_>) -> Result<Self, Error> {
        Self::of_unless(rows, &|| false)
    }

    /// The same, but [`Error::Interrupted`] once `stop` says so: on wide rows the selections take seconds.
    pub fn of_unless(rows: &Rows<'_>, stop: &(dyn Fn() -> bool + Sync)) -> Result<Self, Error> {
        if rows.n_rows() == 0 {
            return Err(Error::NoRows);
        }
        let origin = rows.row(0);
        let sweep = sweep(rows, &origin);
        for (column, (&minimum, &maximum)) in sweep.minimum.iter().zip(&sweep.maximum).enumerate() {
            // A variance, its floor and their product with the row count must all be normal numbers.
            let square = (maximum - minimum) * (maximum - minimum);
            let fits = (square * 1e10).is_finite() && (square == 0.0 || square > 1e-260);
            if !fits || (square == 0.0 && maximum > minimum) {
                return Err(Error::Overflow { column, minimum, maximum });
            }
        }
        let mean: Vec<f64> = sweep.sum.iter().zip(&origin).map(|(sum, origin)| origin + sum / sweep.weight).collect();
        let mut summary = Self {
            n_rows: rows.n_rows(),
            total_weight: sweep.weight,
            whole_weights: rows.weights().is_none_or(|weights| {
                weights.par_iter().all(|weight| weight.fract() == 0.0 && *weight <= LARGEST_COUNT)
            }),
            centre: Vec::new(),
            minimum: sweep.minimum,
            maximum: sweep.maximum,
            minimum_row: sweep.minimum_row,
            maximum_row: sweep.maximum_row,
            mean,
            unit: rows.normalization().map_or_else(|| vec![1.0; rows.n_columns()], |map| map.scale().to_vec()),
            scale: Vec::new(),
            reach: Vec::new(),
        };
        let address = Address { seed: 0, restart: 0, round: 0, purpose: Purpose::Sample };
        let sample = rows.sample(ROWS_FOR_SCALE, &mut address.item(0));
        let columns = 0..rows.n_columns();
        let spread = |d| if stop() { Err(Error::Interrupted) } else { Ok(Spread::of(&sample, d)) };
        let spreads = columns.clone().into_par_iter().map(spread).collect::<Result<Vec<Spread>, Error>>()?;
        summary.centre = columns.clone().map(|d| summary.centre_of(d, spreads[d].quartiles)).collect();
        summary.scale = summary.scales(rows, &spreads);
        let reach = |d: usize| {
            let distances = spreads[d].outer.map(|outer: f64| (outer - summary.centre[d]).abs());
            distances.into_iter().fold(summary.scale[d], f64::max)
        };
        summary.reach = columns.map(reach).collect();
        Ok(summary)
    }

    /// Columns that hold a single value.
    pub fn constant_columns(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.minimum.len()).filter(|&d| self.minimum[d] == self.maximum[d])
    }

    /// Values that lie more than a million times as far from the centre as the outer quantiles of their column:
    /// of each column at most the least and the greatest; the farthest first, and at most five.
    ///
    /// ```
    /// use mixtura::Rows;
    /// use mixtura::rows::{FarValue, Summary};
    ///
    /// let mut values: Vec<f64> = (0..100).map(f64::from).collect();
    /// values[41] = -1e30;
    /// let summary = Summary::of(&Rows::from_slice(&values, 1)?)?;
    /// assert_eq!(summary.far_values(), [FarValue { row: 41, column: 0, value: -1e30 }]);
    /// # Ok::<(), mixtura::Error>(())
    /// ```
    pub fn far_values(&self) -> Vec<FarValue> {
        // Of two rows, either is as far from the other.
        if self.n_rows < 3 {
            return Vec::new();
        }
        let distance = |far: &FarValue| (far.value - self.centre[far.column]).abs() / self.reach[far.column];
        let extremes = (0..self.minimum.len()).flat_map(|column| {
            let least = FarValue { row: self.minimum_row[column], column, value: self.minimum[column] };
            let greatest = FarValue { row: self.maximum_row[column], column, value: self.maximum[column] };
            [least, greatest]
        });
        let mut far: Vec<FarValue> = extremes.filter(|value| distance(value) > FAR).collect();
        far.sort_by(|a, b| distance(b).total_cmp(&distance(a)));
        far.truncate(MOST_FAR_VALUES);
        far
    }

    /// The median, which no outlier moves, with few digits; a constant itself.
    fn centre_of(&self, column: usize, [_, median, _]: [f64; 3]) -> f64 {
        if self.minimum[column] == self.maximum[column] { median } else { shorten(median) }
    }

    fn scales(&self, rows: &Rows<'_>, spreads: &[Spread]) -> Vec<f64> {
        let scale = |d: usize| {
            if self.minimum[d] == self.maximum[d] {
                let value = self.minimum[d].abs();
                // Within what can be squared.
                return if value > 0.0 { value.clamp(1e-100, 1e100) } else { 1.0 };
            }
            spreads[d].scale()
        };
        let mut scales: Vec<f64> = (0..rows.n_columns()).map(scale).collect();
        if scales.contains(&0.0) {
            let about_mean = sweep(rows, &self.mean);
            for (scale, square) in scales.iter_mut().zip(about_mean.squares) {
                if *scale == 0.0 {
                    *scale = (square / self.total_weight).sqrt();
                }
            }
        }
        scales
    }
}

impl Rows<'_> {
    /// At most `n` rows: all of positive weight if they are so few, else one drawn from each of `n`
    /// equal shares of the total weight, in their order, without weights of their own.
    pub fn sample(&self, n: usize, generator: &mut impl Rng) -> Rows<'static> {
        if self.n_rows() <= n {
            let kept: Vec<usize> = (0..self.n_rows()).filter(|&row| self.weight(row) > 0.0).collect();
            return self.gather(&kept);
        }
        let Some(weights) = self.weights() else {
            let share = |i: usize| (i as u128 * self.n_rows() as u128 / n as u128) as usize;
            let rows: Vec<usize> = (0..n).map(|i| share(i) + below(generator, share(i + 1) - share(i))).collect();
            return self.gather(&rows);
        };
        let total: f64 = weights.iter().sum();
        let mut chosen = Vec::with_capacity(n);
        let (mut row, mut reached) = (0, weights[0]);
        for i in 0..n {
            let target = (i as f64 + uniform(generator)) / n as f64 * total;
            while reached <= target && row + 1 < weights.len() {
                row += 1;
                reached += weights[row];
            }
            chosen.push(row);
        }
        // Rounding of the running sum may leave the last target past the last positive weight.
        let last_positive = weights.iter().rposition(|&weight| weight > 0.0).unwrap_or(0);
        chosen.iter_mut().for_each(|row| *row = (*row).min(last_positive));
        let mut sample = self.gather(&chosen);
        sample.weights = None;
        sample
    }
}

/// The number with all but [`CENTRE_BITS`] of its significant bits cleared.
pub(crate) fn shorten(x: f64) -> f64 {
    f64::from_bits(x.to_bits() & !((1 << (53 - CENTRE_BITS)) - 1))
}

fn sweep(rows: &Rows<'_>, origin: &[f64]) -> Sweep {
    let n_pieces = rows.n_blocks().div_ceil(BLOCKS_AT_A_TIME);
    let piece = |piece: usize| {
        let blocks = piece * BLOCKS_AT_A_TIME..((piece + 1) * BLOCKS_AT_A_TIME).min(rows.n_blocks());
        sweep_blocks(rows, origin, blocks)
    };
    merge_in_order(n_pieces, &piece, &|a: &mut Sweep, b: Sweep| {
        a.weight += b.weight;
        for d in 0..a.sum.len() {
            // Of equal extremes the first one stays.
            if b.minimum[d] < a.minimum[d] {
                (a.minimum[d], a.minimum_row[d]) = (b.minimum[d], b.minimum_row[d]);
            }
            if b.maximum[d] > a.maximum[d] {
                (a.maximum[d], a.maximum_row[d]) = (b.maximum[d], b.maximum_row[d]);
            }
            a.sum[d] += b.sum[d];
            a.squares[d] += b.squares[d];
        }
    })
}

fn sweep_blocks(rows: &Rows<'_>, origin: &[f64], blocks: std::ops::Range<usize>) -> Sweep {
    let n = rows.n_columns();
    let mut sweep = Sweep {
        weight: 0.0,
        minimum: vec![f64::INFINITY; n],
        maximum: vec![f64::NEG_INFINITY; n],
        minimum_row: vec![0; n],
        maximum_row: vec![0; n],
        sum: vec![0.0; n],
        squares: vec![0.0; n],
    };
    let mut lanes = vec![Lanes::all(0.0); n];
    let mut weights = Lanes::all(0.0);
    // Extremes are of the values themselves; only the sums are taken about the origin.
    let loader = rows.loader(&vec![0.0; n]);
    let set = InstructionSet::detect();
    for block in blocks {
        loader.load(set, block, &mut lanes);
        rows.load_weights(block, &mut weights);
        sweep.weight += weights.iter().sum::<f64>();
        for (d, lanes) in lanes.iter().enumerate() {
            let (mut low, mut high) = (sweep.minimum[d], sweep.maximum[d]);
            let (mut sum, mut squares) = (0.0, 0.0);
            for (&x, &weight) in lanes.iter().zip(weights.iter()) {
                low = if weight > 0.0 && x < low { x } else { low };
                high = if weight > 0.0 && x > high { x } else { high };
                let difference = x - origin[d];
                sum += weight * difference;
                squares += weight * difference * difference;
            }
            let row_of = |value: f64| {
                let found = (0..LANES).find(|&lane| lanes[lane] == value && weights[lane] > 0.0);
                block * LANES + found.unwrap_or(0)
            };
            if low < sweep.minimum[d] {
                (sweep.minimum[d], sweep.minimum_row[d]) = (low, row_of(low));
            }
            if high > sweep.maximum[d] {
                (sweep.maximum[d], sweep.maximum_row[d]) = (high, row_of(high));
            }
            sweep.sum[d] += sum;
            sweep.squares[d] += squares;
        }
    }
    sweep
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_robust_scale_ignores_outliers_and_falls_back() {
        // Column 1: 0..99 and an outlier; column 2: mostly one value; columns 3 and 4: constant.
        let values: Vec<f64> = (0..101)
            .flat_map(|i| [if i == 100 { 1e9 } else { f64::from(i) }, if i < 5 { 10.0 } else { 2.0 }, -3.0, 0.0])
            .collect();
        let summary = Summary::of(&Rows::from_slice(&values, 4).unwrap()).unwrap();
        assert_eq!(summary.scale[0], 50.0 / 1.349);
        assert_eq!((summary.minimum_row[0], summary.maximum_row[0], summary.maximum_row[1]), (0, 100, 0));
        assert_eq!(summary.far_values(), [FarValue { row: 100, column: 0, value: 1e9 }]);
        let p = 5.0f64 / 101.0;
        assert!((summary.scale[1] - 8.0 * (p * (1.0 - p)).sqrt()).abs() < 1e-12);
        assert_eq!(summary.scale[2..], [3.0, 1.0]);
        assert_eq!(summary.constant_columns().collect::<Vec<_>>(), [2, 3]);
        assert_eq!((summary.minimum[0], summary.maximum[0]), (0.0, 1e9));
    }

    #[test]
    fn weighted_rows_summarise_like_repeated_rows() {
        let values: Vec<f64> = (0..50).map(|i| (f64::from(i) * 1.7).sin() * 10.0).collect();
        let weights: Vec<f64> = (0..50).map(|i| f64::from(i % 4)).collect();
        let repeated: Vec<f64> =
            values.iter().zip(&weights).flat_map(|(&x, &w)| std::iter::repeat_n(x, w as usize)).collect();
        let a = Summary::of(&Rows::from_slice(&values, 1).unwrap().with_weights(weights).unwrap()).unwrap();
        let b = Summary::of(&Rows::from_slice(&repeated, 1).unwrap()).unwrap();
        assert_eq!(a.scale, b.scale);
        assert_eq!((a.minimum, a.maximum), (b.minimum, b.maximum));
        assert_eq!(a.total_weight, b.total_weight);
        assert!((a.mean[0] - b.mean[0]).abs() < 1e-14);
    }

    #[test]
    fn squares_out_of_range_are_refused() {
        for values in [[0.0, 1e200], [0.0, 1e-140]] {
            let rows = Rows::from_slice(&values, 1).unwrap();
            assert!(matches!(Summary::of(&rows), Err(Error::Overflow { column: 0, .. })));
        }
    }

    #[test]
    fn a_sample_has_one_row_from_each_share() {
        let values: Vec<f64> = (0..1000).map(f64::from).collect();
        let address = Address { seed: 1, restart: 0, round: 0, purpose: Purpose::Sample };
        let sample = Rows::from_slice(&values, 1).unwrap().sample(100, &mut address.item(0));
        for i in 0..100 {
            let x = sample.row(i)[0];
            assert!((10 * i..10 * i + 10).contains(&(x as usize)));
        }
        let weights: Vec<f64> = (0..1000).map(|i| if i % 100 == 7 { 1.0 } else { 0.0 }).collect();
        let sample =
            Rows::from_slice(&values, 1).unwrap().with_weights(weights).unwrap().sample(10, &mut address.item(0));
        assert_eq!(
            (0..10).map(|i| sample.row(i)[0]).collect::<Vec<_>>(),
            (0..10).map(|i| f64::from(100 * i + 7)).collect::<Vec<_>>()
        );
    }
}
