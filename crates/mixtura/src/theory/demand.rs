//! Answers the inverse questions: how large a component's weight must be, and how many rows are needed.

use std::f64::consts::E;

use super::Proximity;
use super::bounds::{check_delta, lambda_weight};
use crate::Error;
use crate::family::Family;

/// The smallest weight of a component for which λ_w ≤ `lambda` on `n_rows` rows: 3 ln(2/δ)/(λ²N). For λ_w ≤ ½ this is
/// the paper's 12 ln(2/δ)/N (Section 2.4).
///
/// ```
/// use mixtura::theory::{lambda_weight, least_weight};
/// let weight = least_weight(10_000, 0.01, 0.5);
/// assert!((weight - 12.0 * 200.0f64.ln() / 10_000.0).abs() < 1e-15);
/// assert!((lambda_weight(weight * 10_000.0, 0.01) - 0.5).abs() < 1e-15);
/// ```
pub fn least_weight(n_rows: usize, delta: f64, lambda: f64) -> f64 {
    3.0 * (2.0 / delta).ln() / (lambda * lambda * n_rows as f64)
}

/// Number of rows like these needed to guarantee that SEM's update is close to EM's.
#[derive(Debug, Clone, PartialEq)]
pub struct Demand {
    /// For each component: until its weight is within the given fraction of w_k.
    pub weight: Vec<f64>,
    /// For each component: until every coordinate of its mean is within the given fraction of the component's standard
    /// deviation there.
    pub mean: Vec<f64>,
}

impl<F: Family> Proximity<F> {
    /// The number of rows, distributed like these, for which Theorem 1 bounds the error of each weight by the fraction
    /// `share` of the weight, and Theorem 2 the error of each coordinate of a mean by the fraction `share` of the
    /// updated component's standard deviation (with δ for each statement).
    ///
    /// With s times as many rows, r grows to s·r and τ to √s·τ, while Δ stays the same (for bounded data; otherwise it
    /// grows slowly). The bound of a mean is then max(√(2eL)·τ√s, 2ΔL)/(s·r − √s·λ_w r) with L = ln(2/δ), and each of
    /// the two is solved for √s. Infinite if a component has no rows or no width.
    pub fn demand(&self, share: f64, delta: f64) -> Result<Demand, Error> {
        check_delta(delta)?;
        if !(share.is_finite() && share > 0.0) {
            let value = share.to_string();
            return Err(Error::Option { option: "share", expected: "a positive number", value });
        }
        let (n, n_rows) = (self.n_columns(), self.n_rows as f64);
        let ln = (2.0 / delta).ln();
        let spreads = self.update.components.spreads();
        let mean = |k: usize| {
            let (r, lambda) = (self.responsibility[k], lambda_weight(self.responsibility[k], delta));
            let root = |d: usize| {
                let at = k * n + d;
                if self.spread[d] == 0.0 {
                    return 0.0;
                }
                let allowed = share * spreads[at] * r;
                let of_tau = lambda + (2.0 * E * ln).sqrt() * self.tau[at] / allowed;
                let of_spread = 0.5 * (lambda + (lambda * lambda + 8.0 * self.spread[d] * ln / allowed).sqrt());
                of_tau.max(of_spread)
            };
            n_rows * (0..n).map(root).fold(0.0, f64::max).powi(2)
        };
        Ok(Demand {
            weight: self.responsibility.iter().map(|r| n_rows * 3.0 * ln / (share * share * r)).collect(),
            mean: (0..self.n_components()).map(mean).collect(),
        })
    }
}
