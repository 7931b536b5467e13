//! Summarizes columns before a fit: extremes, means, a centre, and a robust scale.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::picks::{pick, sample};
use super::spread::Spread;
use super::{Chunk, Engine, Merge, Prepared, Sweep, Threads};
use crate::kernels::{InstructionSet, LANES, Lanes};
use crate::random::{Address, Purpose};
use crate::rows::shorten;
use crate::{Error, Rows};

/// Maximum number of rows used for robust scales; more would not make a difference to the floor.
const ROWS_FOR_SCALE: usize = 1 << 16;
/// Every whole number up to here is representable.
const LARGEST_COUNT: f64 = 9_007_199_254_740_992.0; // 2^53
/// A value is far if it is this many times farther from the centre than the outer quantiles are. Heavy tails do not
/// reach that far: in a Cauchy distribution, one row in 10⁷ does.
const FAR: f64 = 1e6;
/// Maximum number of far values reported.
const MOST_FAR_VALUES: usize = 5;

/// What a fit needs to know about the columns before the first round.
///
/// Rows of weight 0 are ignored. Cost: one sweep over the rows, and a selection on at most 65,536 of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Number of rows, including those of weight 0.
    pub n_rows: usize,
    /// Whether rows have weights.
    pub weighted: bool,
    /// Sum of row weights.
    pub total_weight: f64,
    /// Whether every row weight is a whole number of at most 2⁵³.
    pub whole_weights: bool,
    /// Smallest value of each column.
    pub minimum: Vec<f64>,
    /// Largest value of each column.
    pub maximum: Vec<f64>,
    /// The first row with the smallest value of each column, from 0.
    pub minimum_row: Vec<usize>,
    /// The first row with the largest value of each column, from 0.
    pub maximum_row: Vec<usize>,
    /// Weighted mean of each column.
    pub mean: Vec<f64>,
    /// Approximate median of each column, with few digits: the point that rows are centred on (0 for a family that
    /// needs uncentred values).
    pub centre: Vec<f64>,
    /// The factor by which normalization multiplies each column; 1 without normalization.
    pub unit: Vec<f64>,
    /// A robust scale of each column: interquartile range / 1.349, but at least a tenth of the standard deviation after
    /// moving values beyond the 5 % and 95 % quantiles to these quantiles (in a small sample, two rows at either end),
    /// and the full standard deviation if the range is 0. If both are 0, the plain standard deviation; for a constant
    /// column c, |c|, or 1 if c = 0.
    pub scale: Vec<f64>,
    /// Distance from the centre to the farther of these outer quantiles, or the scale if that is larger.
    pub reach: Vec<f64>,
}

/// A value so far from all others in its column that it is unlikely to be a measurement: a fill value, a different
/// unit, a typing error.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct FarValue {
    /// Row, from 0.
    pub row: usize,
    /// Column, from 0.
    pub column: usize,
    /// The value, as the fit sees it.
    pub value: f64,
}

impl Summary {
    /// Summarizes rows in memory; rejects columns whose squares exceed the floating-point range.
    pub fn of(rows: &Rows<'_>) -> Result<Self, Error> {
        Self::measure(&Threads::new(rows))
    }

    /// Summarizes the rows of an engine; rejects columns whose squares exceed the floating-point range.
    pub fn measure<E: Engine>(engine: &E) -> Result<Self, Error> {
        let origin = pick(engine, &[0], false)?.row(0);
        let columns = engine.sweep(&Columns { origin: origin.clone() })?;
        for (column, (&minimum, &maximum)) in columns.minimum.iter().zip(&columns.maximum).enumerate() {
            // A variance, its floor and their product with the row count must all be normal numbers.
            let square = (maximum - minimum) * (maximum - minimum);
            let fits = (square * 1e10).is_finite() && (square == 0.0 || square > 1e-260);
            if !fits || (square == 0.0 && maximum > minimum) {
                return Err(Error::Overflow { column, minimum, maximum });
            }
        }
        let address = Address { seed: 0, restart: 0, round: 0, purpose: Purpose::Sample };
        let (n_rows, weighted) = (columns.n_rows, columns.weighted);
        let sample = sample(engine, n_rows, weighted, ROWS_FOR_SCALE, &mut address.item(0))?;
        let mut summary = Self {
            n_rows: n_rows as usize,
            weighted,
            total_weight: columns.weight,
            whole_weights: columns.whole_weights,
            centre: Vec::new(),
            mean: columns.sum.iter().zip(&origin).map(|(sum, origin)| origin + sum / columns.weight).collect(),
            minimum: columns.minimum,
            maximum: columns.maximum,
            minimum_row: columns.minimum_row,
            maximum_row: columns.maximum_row,
            unit: columns.unit,
            scale: Vec::new(),
            reach: Vec::new(),
        };
        let columns = 0..summary.mean.len();
        let spreads: Vec<Spread> = columns.clone().into_par_iter().map(|d| Spread::of(&sample, d)).collect();
        summary.centre = columns.clone().map(|d| summary.centre_of(d, spreads[d].quartiles)).collect();
        summary.scale = summary.scales(engine, &spreads)?;
        let reach = |d: usize| {
            let distances = spreads[d].outer.map(|outer: f64| (outer - summary.centre[d]).abs());
            distances.into_iter().fold(summary.scale[d], f64::max)
        };
        summary.reach = columns.map(reach).collect();
        Ok(summary)
    }

    /// Columns that contain a single value.
    pub fn constant_columns(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.minimum.len()).filter(|&d| self.minimum[d] == self.maximum[d])
    }

    /// Values more than a million times as far from the centre as the outer quantiles of their column. At most the
    /// smallest and the largest value of each column; farthest first, at most five.
    ///
    /// ```
    /// use mixtura::Rows;
    /// use mixtura::sweep::{FarValue, Summary};
    ///
    /// let mut values: Vec<f64> = (0..100).map(f64::from).collect();
    /// values[41] = -1e30;
    /// let summary = Summary::of(&Rows::from_slice(&values, 1)?)?;
    /// assert_eq!(summary.far_values(), [FarValue { row: 41, column: 0, value: -1e30 }]);
    /// # Ok::<(), mixtura::Error>(())
    /// ```
    pub fn far_values(&self) -> Vec<FarValue> {
        // Of two rows, each is equally far from the other.
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

    /// The median, which is robust against outliers, with few digits; the value itself for a constant column.
    fn centre_of(&self, column: usize, [_, median, _]: [f64; 3]) -> f64 {
        if self.minimum[column] == self.maximum[column] { median } else { shorten(median) }
    }

    fn scales<E: Engine>(&self, engine: &E, spreads: &[Spread]) -> Result<Vec<f64>, Error> {
        let scale = |d: usize| {
            if self.minimum[d] == self.maximum[d] {
                let value = self.minimum[d].abs();
                // Within the range that can be squared.
                return if value > 0.0 { value.clamp(1e-100, 1e100) } else { 1.0 };
            }
            spreads[d].scale()
        };
        let mut scales: Vec<f64> = (0..spreads.len()).map(scale).collect();
        if scales.contains(&0.0) {
            let about_mean = engine.sweep(&Columns { origin: self.mean.clone() })?;
            for (scale, square) in scales.iter_mut().zip(about_mean.squares) {
                if *scale == 0.0 {
                    *scale = (square / self.total_weight).sqrt();
                }
            }
        }
        Ok(scales)
    }
}

/// Computes the extremes and sums of all columns.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Columns {
    /// The point that sums are relative to.
    origin: Vec<f64>,
}

/// Extremes of columns, and sums relative to an origin.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ColumnSums {
    n_rows: u64,
    weighted: bool,
    whole_weights: bool,
    weight: f64,
    unit: Vec<f64>,
    minimum: Vec<f64>,
    maximum: Vec<f64>,
    minimum_row: Vec<usize>,
    maximum_row: Vec<usize>,
    sum: Vec<f64>,
    squares: Vec<f64>,
}

impl Merge for ColumnSums {
    fn merge(&mut self, later: &Self) {
        self.n_rows += later.n_rows;
        self.weighted |= later.weighted;
        self.whole_weights &= later.whole_weights;
        self.weight += later.weight;
        for d in 0..self.sum.len() {
            // The first of equal extremes is kept.
            if later.minimum[d] < self.minimum[d] {
                (self.minimum[d], self.minimum_row[d]) = (later.minimum[d], later.minimum_row[d]);
            }
            if later.maximum[d] > self.maximum[d] {
                (self.maximum[d], self.maximum_row[d]) = (later.maximum[d], later.maximum_row[d]);
            }
            self.sum[d] += later.sum[d];
            self.squares[d] += later.squares[d];
        }
    }
}

impl Sweep for Columns {
    const NAME: &'static str = "columns";
    type Tally = ColumnSums;
    type Prepared = Self;

    fn prepare(&self) -> Result<Self, Error> {
        Ok(self.clone())
    }
}

impl Prepared for Columns {
    type Tally = ColumnSums;
    /// The columns of a block.
    type Workspace = Vec<Lanes>;

    fn workspace(&self, _n_blocks: usize) -> Vec<Lanes> {
        vec![Lanes::all(0.0); self.origin.len()]
    }

    fn fits(&self, workspace: &Vec<Lanes>) -> bool {
        workspace.len() == self.origin.len()
    }

    fn tally(&self) -> ColumnSums {
        let n = self.origin.len();
        ColumnSums {
            n_rows: 0,
            weighted: false,
            whole_weights: true,
            weight: 0.0,
            unit: vec![1.0; n],
            // Finite, so that every format can carry the sums of rows that weigh nothing.
            minimum: vec![f64::MAX; n],
            maximum: vec![f64::MIN; n],
            minimum_row: vec![0; n],
            maximum_row: vec![0; n],
            sum: vec![0.0; n],
            squares: vec![0.0; n],
        }
    }

    fn add(&self, chunk: &Chunk<'_>, workspace: &mut Vec<Lanes>, tally: &mut ColumnSums) -> Result<(), Error> {
        let (rows, range) = (chunk.rows(), chunk.range());
        if rows.n_columns() != self.origin.len() {
            return Err(Error::Width { n_model: self.origin.len(), n_data: rows.n_columns() });
        }
        tally.n_rows += range.len() as u64;
        if let Some(weights) = rows.weights() {
            tally.weighted = true;
            let is_count = |weight: &f64| weight.fract() == 0.0 && *weight <= LARGEST_COUNT;
            tally.whole_weights &= weights[range].iter().all(is_count);
        }
        if let Some(map) = rows.normalization() {
            tally.unit.copy_from_slice(map.scale());
        }
        let mut weights = Lanes::all(0.0);
        // Extremes refer to the values themselves; only sums are relative to the origin.
        let loader = chunk.loader(&vec![0.0; rows.n_columns()]);
        let set = InstructionSet::detect();
        for block in chunk.blocks() {
            loader.load(set, block, workspace);
            rows.load_weights(block, &mut weights);
            tally.weight += weights.iter().sum::<f64>();
            let first = chunk.row_number(block * LANES) as usize;
            workspace
                .iter()
                .enumerate()
                .for_each(|(d, lanes)| tally.add_block(d, lanes, &weights, self.origin[d], first));
        }
        Ok(())
    }
}

impl ColumnSums {
    /// Adds a block of column `d`; `first` is the number of its first row.
    fn add_block(&mut self, d: usize, lanes: &Lanes, weights: &Lanes, origin: f64, first: usize) {
        let (mut low, mut high) = (self.minimum[d], self.maximum[d]);
        let (mut sum, mut squares) = (0.0, 0.0);
        for (&x, &weight) in lanes.iter().zip(weights.iter()) {
            low = if weight > 0.0 && x < low { x } else { low };
            high = if weight > 0.0 && x > high { x } else { high };
            let difference = x - origin;
            sum += weight * difference;
            squares += weight * difference * difference;
        }
        let row_of = |value: f64| {
            let found = (0..LANES).find(|&lane| lanes[lane] == value && weights[lane] > 0.0);
            first + found.unwrap_or(0)
        };
        if low < self.minimum[d] {
            (self.minimum[d], self.minimum_row[d]) = (low, row_of(low));
        }
        if high > self.maximum[d] {
            (self.maximum[d], self.maximum_row[d]) = (high, row_of(high));
        }
        self.sum[d] += sum;
        self.squares[d] += squares;
    }
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
    fn squares_out_of_range_are_rejected() {
        for values in [[0.0, 1e200], [0.0, 1e-140]] {
            let rows = Rows::from_slice(&values, 1).unwrap();
            assert!(matches!(Summary::of(&rows), Err(Error::Overflow { column: 0, .. })));
        }
    }
}
