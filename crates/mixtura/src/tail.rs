//! Measures how unusual a row is under a model: the fraction of the model's own draws that is less likely.

use crate::family::Family;
use crate::{Error, Mixture, Rows};

/// Draws evaluated at a time.
const BATCH: usize = 1 << 14;

/// The log-densities of draws from a model, to rank rows against.
///
/// For a single Gaussian in one dimension this is the two-sided tail probability; for any mixture, the probability that
/// the model generates a row of lower density. Its standard error is √(p(1 − p)/n) for n draws.
///
/// ```
/// use mixtura::{FullGaussian, Mixture, Tail};
///
/// let model = Mixture::new(vec![1.0], FullGaussian::new(1, vec![0.0], vec![1.0])?)?;
/// let tail = Tail::of(&model, 10_000, 7)?;
/// let ln_density = |x: f64| -0.5 * (x * x + std::f64::consts::TAU.ln());
/// assert!((tail.probability(ln_density(1.959964)) - 0.05).abs() < 0.012); // five standard errors
/// assert_eq!(tail.probability(ln_density(20.0)), 0.0);
/// # Ok::<(), mixtura::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Tail {
    /// In ascending order.
    ln_densities: Vec<f64>,
}

impl Tail {
    /// Draws rows from a model; the same seed gives the same rows.
    pub fn of<F: Family>(model: &Mixture<F>, n_draws: usize, seed: u64) -> Result<Self, Error> {
        let mut ln_densities = Vec::with_capacity(n_draws);
        for first in (0..n_draws).step_by(BATCH) {
            let (values, _) = model.sample(first..(first + BATCH).min(n_draws), seed)?;
            let rows = Rows::from_vec(values, model.components.n_columns())?;
            ln_densities.extend(model.ln_densities(&rows)?);
        }
        ln_densities.sort_unstable_by(f64::total_cmp);
        Ok(Self { ln_densities })
    }

    /// The fraction of the draws whose density is lower.
    pub fn probability(&self, ln_density: f64) -> f64 {
        self.ln_densities.partition_point(|&drawn| drawn < ln_density) as f64 / self.ln_densities.len() as f64
    }
}
