//! Rounds factors to single precision, with a bound on the error of the log-densities.

use std::sync::OnceLock;

use crate::kernels::{ErrorBound, ROUNDOFF};

/// Sizes within which products of single-precision numbers neither overflow nor lose digits to underflow.
const SIZES: std::ops::RangeInclusive<f64> = 1e-25..=1e25;

/// Factors A, offsets b and constants of `constant − |A x + b|²` in single precision.
#[derive(Debug)]
pub(super) struct Narrowed {
    pub(super) factors: Vec<f32>,
    pub(super) offsets: Vec<f32>,
    pub(super) constants: Vec<f32>,
    /// Factors and offsets as wide registers use them, made when first asked for.
    pub(super) groups: OnceLock<Vec<f32>>,
    /// γ·‖A‖ of each component.
    pub(super) slopes: Vec<f32>,
    pub(super) bound: ErrorBound,
}

impl Narrowed {
    /// Rounds what is given for each component: some entries of A, all others being 0, and D of b for
    /// rows about the common centre. None if sizes do not suit single precision.
    ///
    /// The bound (`docs/certified-draws.md`) counts D multiply-adds for each coordinate of A x + b;
    /// where A has fewer entries it holds all the more.
    pub(super) fn new(n_columns: usize, factors: &[f64], offsets: &[f64], constants: &[f64]) -> Option<Self> {
        let n = n_columns;
        let length = |values: &[f64]| values.iter().map(|x| x * x).sum::<f64>().sqrt();
        let slopes: Vec<f64> = factors.chunks_exact(factors.len() / constants.len()).map(length).collect();
        let slope = slopes.iter().copied().fold(0.0, f64::max);
        let reach = slopes.iter().zip(offsets.chunks_exact(n)).map(|(slope, offset)| length(offset) / slope);
        let reach = reach.fold(0.0, f64::max);
        if !slopes.iter().all(|slope| SIZES.contains(slope)) || slope * reach > *SIZES.end() {
            return None;
        }
        let common = constants.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let n_terms = (n + 3) as f64;
        let roundoff = f64::from(ROUNDOFF);
        // Rounded up a little, because the bound itself is computed in single precision.
        let gamma = 1.001 * n_terms * roundoff / (1.0 - 2.0 * n_terms * roundoff);
        let narrow = |values: &[f64]| values.iter().map(|&x| x as f32).collect();
        Some(Self {
            factors: narrow(factors),
            offsets: narrow(offsets),
            constants: constants.iter().map(|constant| (constant - common) as f32).collect(),
            groups: OnceLock::new(),
            slopes: slopes.iter().map(|slope| (gamma * slope) as f32).collect(),
            bound: ErrorBound {
                slope: (gamma * slope) as f32,
                reach: (1.001 * reach) as f32,
                gamma: gamma as f32,
                n_roundings: 1.0,
                common,
            },
        })
    }
}
