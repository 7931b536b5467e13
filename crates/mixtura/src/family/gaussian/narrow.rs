//! Rounds factors to single precision, with a bound on the error of the log-densities.

use std::ops::RangeInclusive;
use std::sync::OnceLock;

use crate::kernels::{
    ErrorBound, InstructionSet, Lanes, NarrowLanes, RELEVANT_BITS, ROUNDOFF, SteepRow, SubtractSteep,
};

/// Sizes within which products of single-precision numbers neither overflow nor lose digits to underflow.
const SIZES: RangeInclusive<f64> = 1e-25..=1e25;
/// Beyond this slope, in units of the columns' scales, every draw is uncertain.
const LARGEST_SLOPE: f64 = 1e12;
/// Bits that the log-densities of a component's own rows may typically be off before its steepest coordinates are
/// computed in double precision: a quarter of what a draw can tolerate, since some rows are farther out.
const TYPICAL_ERROR: f64 = 0.25;
/// At most one coordinate in this many is computed in double precision: the last quarter of the rows of A has nearly
/// half of its entries, and takes as long in double precision as all of them in single precision.
const PER_STEEP: usize = 4;

/// How far rows are from the centre under a model: mean squares of their columns.
#[derive(Debug)]
pub(super) struct Spread {
    /// For each component and column, that of the component's rows.
    squares: Vec<f64>,
    /// For each column, the root of that of all rows.
    scales: Vec<f64>,
}

impl Spread {
    /// The spread of components of these means (K·D numbers), weights and variances (of component and column).
    pub(super) fn new(means: &[f64], weights: &[f64], centre: &[f64], variance: impl Fn(usize, usize) -> f64) -> Self {
        let n = centre.len();
        let square = |(at, mean): (usize, &f64)| variance(at / n, at % n) + (mean - centre[at % n]).powi(2);
        let squares: Vec<f64> = means.iter().enumerate().map(square).collect();
        let of_all = |d: usize| squares[d..].iter().step_by(n).zip(weights).map(|(square, weight)| square * weight);
        let scale = |d: usize| of_all(d).sum::<f64>().sqrt().clamp(*SIZES.start(), *SIZES.end());
        Self { scales: (0..n).map(scale).collect(), squares }
    }

    /// The root mean square of a component's rows in units of the scales: at least the length of its mean.
    fn radius(&self, component: usize) -> f64 {
        let squares = self.squares.chunks_exact(self.scales.len()).nth(component).expect("invariant: a component");
        squares.iter().zip(&self.scales).map(|(square, scale)| square / (scale * scale)).sum::<f64>().sqrt()
    }
}

/// Factors A, offsets b and constants of `constant − |A x + b|²`, for rows about the common centre.
pub(super) struct Wide<'a> {
    /// Row and column of the entries of a component's A, all others being 0.
    pub(super) entries: &'a [(u32, u32)],
    /// These entries of each component.
    pub(super) factors: &'a [f64],
    /// D numbers for each component.
    pub(super) offsets: &'a [f64],
    pub(super) constants: &'a [f64],
    pub(super) spread: &'a Spread,
}

/// Factors, offsets and constants in single precision.
#[derive(Debug)]
pub(super) struct Narrowed {
    pub(super) factors: Vec<f32>,
    pub(super) offsets: Vec<f32>,
    pub(super) constants: Vec<f32>,
    /// Factors and offsets as wide registers use them, made when first asked for.
    pub(super) groups: OnceLock<Vec<f32>>,
    /// Coordinates of each component that are computed in double precision, and are 0 in `factors` and `offsets`;
    /// empty if no component has any.
    steep: Vec<Vec<SteepRow>>,
    /// Error of A x + b of each component, for a row of length 1 in units of the scales.
    pub(super) slopes: Vec<f32>,
    /// 1 / scale of each column.
    pub(super) inverse_scales: Vec<f32>,
    pub(super) bound: ErrorBound,
}

impl Narrowed {
    /// Rounds all components. None if sizes do not suit single precision.
    ///
    /// The bound (`docs/certified-draws.md`) counts D multiply-adds for each coordinate of A x + b;
    /// where A has fewer entries it holds all the more.
    pub(super) fn new(wide: &Wide<'_>) -> Option<Self> {
        Self::with_steep(wide, &vec![Vec::new(); wide.constants.len()])
    }

    /// The same, with the coordinates of each component in double precision that would be too inaccurate otherwise.
    pub(super) fn with_steepest(wide: &Wide<'_>) -> Option<Self> {
        let steep: Vec<_> = (0..wide.constants.len()).map(|k| Coordinates::new(wide, k).steepest()).collect();
        Self::with_steep(wide, &steep)
    }

    fn with_steep(wide: &Wide<'_>, steep: &[Vec<usize>]) -> Option<Self> {
        let (n, size) = (wide.spread.scales.len(), wide.entries.len());
        let suits = |factor: &[f64]| SIZES.contains(&length(factor));
        let has_steep = steep.iter().any(|steep| !steep.is_empty());
        let gammas = Gammas::new(n, has_steep);
        let errors = (0..).zip(steep).map(|(k, steep)| Coordinates::new(wide, k).error(steep, gammas));
        let (slopes, offsets): (Vec<f64>, Vec<f64>) = errors.unzip();
        let slope = slopes.iter().copied().fold(0.0, f64::max);
        let reach = slopes.iter().zip(&offsets).map(|(slope, offset)| offset / slope).fold(0.0, f64::max);
        let are_short = wide.offsets.chunks_exact(n).all(|offset| length(offset) <= *SIZES.end());
        if !wide.factors.chunks_exact(size).all(suits) || !are_short || slope > gammas.single * LARGEST_SLOPE {
            return None;
        }
        let common = wide.constants.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let (mut factors, mut offsets) = (wide.factors.to_vec(), wide.offsets.to_vec());
        let mut rows = vec![Vec::new(); if has_steep { steep.len() } else { 0 }];
        for (k, rows) in rows.iter_mut().enumerate() {
            let (factor, offset) = (&mut factors[k * size..][..size], &mut offsets[k * n..][..n]);
            *rows = steep[k].iter().map(|&i| take_row(wide.entries, factor, offset, i)).collect();
        }
        let narrow = |values: &[f64]| values.iter().map(|&x| x as f32).collect();
        Some(Self {
            factors: narrow(&factors),
            offsets: narrow(&offsets),
            constants: wide.constants.iter().map(|constant| (constant - common) as f32).collect(),
            groups: OnceLock::new(),
            steep: rows,
            slopes: narrow(&slopes),
            inverse_scales: wide.spread.scales.iter().map(|scale| scale.recip() as f32).collect(),
            bound: ErrorBound {
                slope: slope as f32,
                reach: (1.001 * reach) as f32,
                gamma: gammas.single as f32,
                n_roundings: 1.0,
                common,
            },
        })
    }

    /// Subtracts the squares of the coordinates that are computed in double precision, for some components.
    pub(super) fn subtract_steep(
        &self,
        set: InstructionSet,
        blocks: [&[Lanes]; 2],
        components: impl Iterator<Item = usize>,
        out: &mut [NarrowLanes],
    ) {
        if self.steep.is_empty() {
            return;
        }
        for (component, out) in components.zip(out) {
            let rows = &self.steep[component];
            if !rows.is_empty() {
                set.run(SubtractSteep { blocks, rows, out });
            }
        }
    }
}

/// Relative errors of sums of D + 3 rounded terms, or of two more if coordinates are added in double precision.
#[derive(Clone, Copy)]
struct Gammas {
    single: f64,
    double: f64,
}

impl Gammas {
    fn new(n_columns: usize, has_steep: bool) -> Self {
        let n_terms = (n_columns + if has_steep { 5 } else { 3 }) as f64;
        // Rounded up a little, because the bound itself is computed in single precision.
        let gamma = |roundoff: f64| 1.001 * n_terms * roundoff / (1.0 - 2.0 * n_terms * roundoff);
        Self { single: gamma(f64::from(ROUNDOFF)), double: gamma(f64::EPSILON / 2.0) }
    }
}

/// The coordinates of one component's A x + b.
struct Coordinates<'a> {
    /// Squared lengths of the rows of A, in units of the columns' scales.
    squares: Vec<f64>,
    offsets: &'a [f64],
    /// The typical length of the component's own rows, at least that of its mean.
    radius: f64,
    /// How far the component's constant is below the largest one, in bits.
    depth: f64,
}

impl<'a> Coordinates<'a> {
    fn new(wide: &Wide<'a>, component: usize) -> Self {
        let (n, size) = (wide.spread.scales.len(), wide.entries.len());
        let mut squares = vec![0.0; n];
        for (&(i, j), entry) in wide.entries.iter().zip(&wide.factors[component * size..]) {
            squares[i as usize] += (entry * wide.spread.scales[j as usize]).powi(2);
        }
        let common = wide.constants.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Self {
            squares,
            offsets: &wide.offsets[component * n..][..n],
            radius: wide.spread.radius(component),
            depth: common - wide.constants[component],
        }
    }

    /// Bounds the error of A x + b by `slope · |x| + offset` if some coordinates are computed in double precision.
    ///
    /// These are counted four times, for rounding b and for summing, both here and where draws are repeated in double
    /// precision; there, rows may be centred on the component's mean.
    fn error(&self, steep: &[usize], gammas: Gammas) -> (f64, f64) {
        let flat = (0..self.squares.len()).filter(|i| !steep.contains(i));
        let sums = flat.fold((0.0, 0.0), |sums, i| (sums.0 + self.squares[i], sums.1 + self.offsets[i].powi(2)));
        let of_steep = 4.0 * gammas.double * steep.iter().map(|&i| self.squares[i]).sum::<f64>().sqrt();
        let slope = gammas.single * sums.0.sqrt().max(*SIZES.start()) + of_steep;
        (slope, gammas.single * sums.1.sqrt() + of_steep * self.radius)
    }

    /// The coordinates to be computed in double precision: as few as make single precision accurate enough for the
    /// rest, or none if only many would, or if they hardly differ from the rest.
    fn steepest(&self) -> Vec<usize> {
        let n = self.squares.len();
        let gammas = Gammas::new(n, true);
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|&a, &b| self.squares[b].total_cmp(&self.squares[a]));
        let typical = |n_steep: usize| {
            let (slope, offset) = self.error(&order[..n_steep], gammas);
            let square = f64::from(RELEVANT_BITS) + n as f64 + self.depth;
            2.0 * square.sqrt() * (slope * self.radius + offset)
        };
        let n_steep = (0..=n / PER_STEEP).find(|&n_steep| typical(n_steep) <= TYPICAL_ERROR);
        let n_steep = n_steep.filter(|&n_steep| typical(n_steep) <= 0.5 * typical(0)).unwrap_or(0);
        order.truncate(n_steep);
        order
    }
}

/// Takes a row out of A and b, leaving zeros.
fn take_row(entries: &[(u32, u32)], factor: &mut [f64], offset: &mut [f64], row: usize) -> SteepRow {
    let of_row = entries.iter().zip(factor).filter(|((i, _), _)| *i as usize == row);
    SteepRow {
        entries: of_row.map(|(_, entry)| std::mem::take(entry)).collect(),
        offset: std::mem::take(&mut offset[row]),
    }
}

fn length(values: &[f64]) -> f64 {
    values.iter().map(|x| x * x).sum::<f64>().sqrt()
}
