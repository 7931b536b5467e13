//! Log-densities of counts.

use std::f64::consts::{LOG2_E, TAU};

use super::Poisson;
use crate::family::Family;
use crate::kernels::{InstructionSet, LANES, Lanes, Linear, scalar_ln};

/// Factorials up to here are tabulated; beyond, Stirling's series is exact to rounding.
const TABLE: usize = 256;
/// Used as the logarithm of a rate of 0: finite, so that its product with a count of 0 is 0.
const LOG2_OF_NOTHING: f64 = -1e300;

/// log₂ λ and constants of all components: log₂ p(x) = base(x) + constant + Σ_d x_d log₂ λ_d, where the base −Σ_d log₂
/// x_d! is the same for all components.
#[derive(Debug)]
pub struct PoissonPrepared {
    n_columns: usize,
    factors: Vec<f64>,
    constants: Vec<f64>,
    /// log₂ x! of small counts.
    log2_factorials: Vec<f64>,
}

impl PoissonPrepared {
    pub(super) fn new(components: &Poisson, weights: &[f64]) -> Self {
        let log2 = |x: f64| if x > 0.0 { scalar_ln(x) * LOG2_E } else { LOG2_OF_NOTHING };
        let constant = |(k, &weight): (usize, &f64)| {
            let log2_weight = if weight > 0.0 { scalar_ln(weight) * LOG2_E } else { f64::NEG_INFINITY };
            log2_weight - components.rates(k).iter().sum::<f64>() * LOG2_E
        };
        Self {
            n_columns: components.n_columns(),
            factors: components.rates.iter().map(|&rate| log2(rate)).collect(),
            constants: weights.iter().enumerate().map(constant).collect(),
            log2_factorials: log2_factorials(),
        }
    }

    pub(super) fn n_components(&self) -> usize {
        self.constants.len()
    }

    pub(super) fn log2_joint_into(&self, set: InstructionSet, block: &[Lanes], out: &mut [Lanes]) {
        let block = &block[..self.n_columns];
        let mut base = Lanes::all(0.0);
        for column in block {
            for lane in 0..LANES {
                base[lane] -= self.log2_factorial(column[lane]);
            }
        }
        set.run(Linear { block, base: &base, factors: &self.factors, constants: &self.constants, out });
    }

    fn log2_factorial(&self, count: f64) -> f64 {
        // Lanes past the last row may not contain counts; the cast saturates.
        self.log2_factorials.get(count as usize).copied().unwrap_or_else(|| stirling(count) * LOG2_E)
    }
}

/// log₂ x! of small counts.
fn log2_factorials() -> Vec<f64> {
    let mut ln = 0.0;
    let mut table = vec![0.0];
    for count in 1..TABLE {
        ln += scalar_ln(count as f64);
        table.push(ln * LOG2_E);
    }
    table
}

/// ln x! by Stirling's series, exact to rounding for x ≥ 30.
fn stirling(x: f64) -> f64 {
    let inverse = 1.0 / x;
    let square = inverse * inverse;
    let series = inverse * (1.0 / 12.0 - square * (1.0 / 360.0 - square * (1.0 / 1260.0 - square / 1680.0)));
    x * scalar_ln(x) - x + 0.5 * scalar_ln(TAU * x) + series
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_and_table_agree() {
        let table = log2_factorials();
        for count in 30..TABLE {
            let (a, b) = (table[count], stirling(count as f64) * LOG2_E);
            assert!((a - b).abs() <= 1e-13 * a, "{count}: {a} and {b}");
        }
        assert!((table[5] - 120f64.log2()).abs() < 1e-14);
        // ln 1000! to 15 digits, from a table of factorials.
        assert!((stirling(1000.0) - 5_912.128_178_488_163).abs() < 1e-11);
    }
}
