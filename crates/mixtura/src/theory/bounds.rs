//! Evaluates the bounds of Theorems 1–3 of the paper for given rows and a model.

use std::f64::consts::E;

use super::Proximity;
use crate::Error;
use crate::family::Family;

/// Bounds on the distance of SEM's update from EM's. Each statement holds with probability at least 1 − δ, given those
/// it depends on (a mean depends on its component's weight, a covariance on weight and means).
///
/// Jointly: a mean and its weight with probability at least 1 − 2δ, an entry of a covariance and everything it depends
/// on 1 − 4δ (1 − 3δ on the diagonal), all statements 1 − δ·(their number).
#[derive(Debug, Clone, PartialEq)]
pub struct Bounds {
    /// δ, the probability that a single statement fails.
    pub delta: f64,
    /// λ_w of each component (Theorem 1).
    pub lambda_weight: Vec<f64>,
    /// Whether λ_w < 1; otherwise there is no bound for the component, and its entries are NaN.
    pub valid: Vec<bool>,
    /// Bounds on |w_SEM − w_EM|: K numbers.
    pub weight: Vec<f64>,
    /// Bounds on each coordinate of |μ_SEM − μ_EM|: K·D numbers.
    pub mean: Vec<f64>,
    /// Bounds on each entry of |Σ_SEM − Σ_EM|: K·D·D numbers; only for full covariance matrices.
    pub covariance: Option<Vec<f64>>,
}

/// λ_w = √(3 ln(2/δ)/r) of Theorem 1: |w_SEM − w_EM| ≤ λ_w·w_EM with probability at least 1 − δ. Valid for λ_w ≤ 1,
/// that is, for δ ≥ 2e^(−r/3).
///
/// ```
/// let lambda = mixtura::theory::lambda_weight(300.0, 2.0 * (-4.0f64).exp());
/// assert!((lambda - 0.2).abs() < 1e-15); // √(3·4/300)
/// ```
pub fn lambda_weight(responsibility: f64, delta: f64) -> f64 {
    (3.0 * (2.0 / delta).ln() / responsibility).sqrt()
}

/// λ·τ of Theorems 2 and 3: a bound that is exceeded with probability at most δ by a sum of independent, centred terms
/// of at most `spread` each and with total standard deviation τ.
///
/// λ = √(2e ln(2/δ)) if τ/Δ ≥ √(2e ln(2/δ))/e, else (2Δ/τ) ln(2/δ). The first is larger than the second exactly where
/// it applies, so λτ = max(√(2e ln(2/δ))·τ, 2Δ ln(2/δ)). This formula also covers τ = 0; with Δ = 0 nothing varies.
///
/// ```
/// use mixtura::theory::reach;
/// let delta = 2.0 * (-2.0f64).exp(); // ln(2/δ) = 2
/// assert!((reach(10.0, 1.0, delta) - 10.0 * (4.0 * std::f64::consts::E).sqrt()).abs() < 1e-12);
/// assert!((reach(0.1, 1.0, delta) - 4.0).abs() < 1e-15);
/// assert_eq!(reach(0.0, 0.0, delta), 0.0);
/// ```
pub fn reach(tau: f64, spread: f64, delta: f64) -> f64 {
    let ln = (2.0 / delta).ln();
    ((2.0 * E * ln).sqrt() * tau).max(2.0 * spread * ln)
}

/// λ itself: the bound in units of the standard deviation.
fn lambda(tau: f64, spread: f64, delta: f64) -> f64 {
    if tau == 0.0 && spread == 0.0 { (2.0 * E * (2.0 / delta).ln()).sqrt() } else { reach(tau, spread, delta) / tau }
}

/// Rejects a δ that is not a probability of failure.
pub(super) fn check_delta(delta: f64) -> Result<(), Error> {
    if delta > 0.0 && delta < 1.0 {
        return Ok(());
    }
    Err(Error::Option { option: "delta", expected: "a number between 0 and 1", value: delta.to_string() })
}

fn check_confidence(confidence: f64) -> Result<(), Error> {
    if confidence > 0.0 && confidence < 1.0 {
        return Ok(());
    }
    Err(Error::Option { option: "confidence", expected: "a number between 0 and 1", value: confidence.to_string() })
}

impl<F: Family> Proximity<F> {
    /// The theorems' bounds if each statement may fail with probability δ.
    pub fn bounds(&self, delta: f64) -> Result<Bounds, Error> {
        check_delta(delta)?;
        let (n, n_components) = (self.n_columns(), self.n_components());
        let lambda: Vec<f64> = self.responsibility.iter().map(|&r| lambda_weight(r, delta)).collect();
        let valid: Vec<bool> = lambda.iter().map(|&lambda| lambda < 1.0).collect();
        // (1 − λ_w)·r: the smallest number of rows the component may get.
        let fewest_rows = |k: usize| if valid[k] { (1.0 - lambda[k]) * self.responsibility[k] } else { f64::NAN };
        let mean: Vec<f64> = (0..n_components * n)
            .map(|at| reach(self.tau[at], self.spread[at % n], delta) / fewest_rows(at / n))
            .collect();
        let covariance = self.rho.as_ref().map(|rho| {
            let bound = |(at, rho): (usize, &f64)| {
                let (k, i, j) = (at / (n * n), at / n % n, at % n);
                let own = reach(*rho, self.spread[i] * self.spread[j], delta) / fewest_rows(k);
                own + mean[k * n + i] * mean[k * n + j]
            };
            rho.iter().enumerate().map(bound).collect()
        });
        let weight = |k: usize| if valid[k] { lambda[k] * self.update.weights[k] } else { f64::NAN };
        Ok(Bounds {
            delta,
            weight: (0..n_components).map(weight).collect(),
            lambda_weight: lambda,
            valid,
            mean,
            covariance,
        })
    }

    /// λ_μ of Theorem 2 for each coordinate of a mean, K·D numbers; infinite where τ is 0 but Δ is not.
    pub fn lambda_mean(&self, delta: f64) -> Vec<f64> {
        let n = self.n_columns();
        self.tau.iter().enumerate().map(|(at, tau)| lambda(*tau, self.spread[at % n], delta)).collect()
    }

    /// λ_Σ of Theorem 3 for each entry of a covariance, K·D·D numbers; only for full covariance matrices.
    pub fn lambda_covariance(&self, delta: f64) -> Option<Vec<f64>> {
        let n = self.n_columns();
        let spread = |at: usize| self.spread[at / n % n] * self.spread[at % n];
        Some(self.rho.as_ref()?.iter().enumerate().map(|(at, rho)| lambda(*rho, spread(at), delta)).collect())
    }

    /// Number of statements: K weights, K·D coordinates of means and, for full covariance matrices, K·D(D + 1)/2
    /// entries.
    pub fn n_statements(&self) -> usize {
        let n = self.n_columns();
        self.n_components() * (1 + n + if self.rho.is_some() { n * (n + 1) / 2 } else { 0 })
    }

    /// The δ for which all statements hold simultaneously with the given confidence: (1 − confidence)/(their number).
    pub fn delta_for_all(&self, confidence: f64) -> Result<f64, Error> {
        check_confidence(confidence)?;
        Ok((1.0 - confidence) / self.n_statements() as f64)
    }

    /// The paper's bound on the Euclidean distance between the means of each component, for all K simultaneously with
    /// the given confidence (Section 3.2, with 0.99): δ = (1 − confidence)/(K(D + 1)). NaN where there is no bound.
    ///
    /// Columns are divided by `unit` first: all 1 for the data's own units, the spreads for columns mapped to [0, 1].
    pub fn euclidean_mean_bounds(&self, confidence: f64, unit: &[f64]) -> Result<Vec<f64>, Error> {
        check_confidence(confidence)?;
        let n = self.n_columns();
        let bounds = self.bounds((1.0 - confidence) / (self.n_components() * (n + 1)) as f64)?;
        // The bound of a constant column is 0, whatever its unit.
        let square = |(bound, unit): (&f64, &f64)| if *bound == 0.0 { 0.0 } else { (bound / unit).powi(2) };
        let distance = |mean: &[f64]| mean.iter().zip(unit).map(square).sum::<f64>().sqrt();
        Ok(bounds.mean.chunks_exact(n).map(distance).collect())
    }
}
