//! Generates artificial mixtures as in the paper: overlapping Gaussians.

use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::family::Family;
use crate::family::gaussian::FullGaussian;
use crate::neighbours::Neighbours;
use crate::random::{Address, Generator, Purpose, uniform};
use crate::{Error, Mixture};

/// Spread (maximum − minimum) of a column in the paper's artificial data.
const SPREAD: f64 = 40.0;
/// Approximate spread of a column of a million rows, in standard deviations.
const SPREAD_IN_DEVIATIONS: f64 = 9.0;
/// Largest standard deviation along a principal axis, in units of the smallest.
const STRETCH: f64 = 4.0;
/// Largest weight of an unbalanced mixture, in units of the smallest.
const IMBALANCE: f64 = 10.0;

/// How the weights of an artificial mixture are distributed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Balance {
    /// Equal weights.
    #[default]
    Balanced,
    /// Weights in geometric progression, the first ten times the last.
    Unbalanced,
}

/// The parameters of an artificial mixture.
///
/// ```
/// use mixtura::generate::Artificial;
/// use mixtura::family::Family;
///
/// let model = Artificial { n_columns: 3, n_components: 4, ..Artificial::default() }.mixture(7)?;
/// assert_eq!((model.n_components(), model.components.n_columns()), (4, 3));
/// # Ok::<(), mixtura::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Artificial {
    /// D, at least 1; default 10.
    pub n_columns: usize,
    /// K, at least 1; default 10.
    pub n_components: usize,
    /// Median over components of the separation c from their nearest neighbour, where c = ‖μ_i − μ_j‖/√max(tr Σ_i, tr
    /// Σ_j) (after Dasgupta 1999); at least 0, default 0.6, which gives overlapping neighbours.
    pub separation: f64,
    /// How weights are distributed; default equal.
    pub balance: Balance,
}

impl Default for Artificial {
    fn default() -> Self {
        Self { n_columns: 10, n_components: 10, separation: 0.6, balance: Balance::Balanced }
    }
}

impl Artificial {
    /// The mixture for a seed: randomly rotated ellipsoids around random means, scaled so that a column of many rows
    /// has a spread of about 40.
    pub fn mixture(&self, seed: u64) -> Result<Mixture<FullGaussian>, Error> {
        self.mixture_unless(seed, || false)
    }

    /// The same, but returns [`Error::Interrupted`] once `stop` returns true: it takes about 3·K·D³ operations.
    pub fn mixture_unless(&self, seed: u64, stop: impl Fn() -> bool) -> Result<Mixture<FullGaussian>, Error> {
        self.check()?;
        let (d, k) = (self.n_columns, self.n_components);
        let address = Address { seed, restart: 0, round: 0, purpose: Purpose::Parameters };
        let mut means: Vec<f64> = {
            let mut generator = address.item(0);
            (0..k * d).map(|_| StandardNormal.sample(&mut generator)).collect()
        };
        let mut covariances = Vec::with_capacity(k * d * d);
        for k in 1..=k {
            covariances.extend(ellipsoid(d, &mut address.item(k as u64), &stop).ok_or(Error::Interrupted)?);
        }
        let measured = separation(&means, &covariances, d);
        if measured > 0.0 {
            means.iter_mut().for_each(|mean| *mean *= self.separation / measured);
        }
        let weights = self.weights();
        let total = total_variance(&weights, &means, &covariances, d);
        let scale = SPREAD / SPREAD_IN_DEVIATIONS / (total / d as f64).sqrt();
        means.iter_mut().for_each(|mean| *mean *= scale);
        covariances.iter_mut().for_each(|entry| *entry *= scale * scale);
        Mixture::new(weights, FullGaussian::new(d, means, covariances)?)
    }

    fn check(&self) -> Result<(), Error> {
        for (option, value) in [("dimension", self.n_columns), ("the number of components", self.n_components)] {
            if value == 0 {
                return Err(Error::Option { option, expected: "at least 1", value: "0".into() });
            }
        }
        if !(self.separation.is_finite() && self.separation >= 0.0) {
            let value = self.separation.to_string();
            return Err(Error::Option { option: "separation", expected: "a finite number of at least 0", value });
        }
        FullGaussian::check_size(self.n_components, self.n_columns)
    }

    fn weights(&self) -> Vec<f64> {
        let k = self.n_components;
        let steps = k.saturating_sub(1).max(1) as f64;
        let weight = |i: usize| match self.balance {
            Balance::Balanced => 1.0,
            Balance::Unbalanced => IMBALANCE.powf(-(i as f64) / steps),
        };
        let sum: f64 = (0..k).map(weight).sum();
        (0..k).map(|i| weight(i) / sum).collect()
    }
}

/// Median over components of the smallest ‖μ_i − μ_j‖/√max(tr Σ_i, tr Σ_j); 0 for one component. Cost: that of finding
/// neighbours, about K log K in low dimensions.
pub fn separation(means: &[f64], covariances: &[f64], n_columns: usize) -> f64 {
    let d = n_columns;
    let k = means.len() / d;
    let trace = |i: usize| -> f64 { (0..d).map(|j| covariances[i * d * d + j * d + j]).sum() };
    let (unit, traces) = (vec![1.0; d], (0..k).map(trace).collect::<Vec<f64>>());
    let neighbours = Neighbours::new(means, &unit, &traces);
    let nearest = |i: usize| neighbours.smallest_cost(i, |square, trace| square.sqrt() / trace.sqrt());
    let mut nearest: Vec<f64> = (0..k).into_par_iter().map(nearest).filter(|c| c.is_finite()).collect();
    nearest.sort_by(f64::total_cmp);
    nearest.get(nearest.len() / 2).copied().unwrap_or(0.0)
}

/// A covariance with a random basis and log-uniform standard deviations along its axes; `None` if stopped.
fn ellipsoid(d: usize, generator: &mut Generator, stop: &impl Fn() -> bool) -> Option<Vec<f64>> {
    let basis = orthonormal_basis(d, generator, stop)?;
    let variances: Vec<f64> = (0..d).map(|_| STRETCH.powf(2.0 * uniform(generator))).collect();
    let mut covariance = vec![0.0; d * d];
    for i in 0..d {
        if stop() {
            return None;
        }
        for j in 0..=i {
            let entry = (0..d).map(|axis| variances[axis] * basis[axis * d + i] * basis[axis * d + j]).sum();
            covariance[i * d + j] = entry;
            covariance[j * d + i] = entry;
        }
    }
    Some(covariance)
}

/// Random normal rows, orthonormalized one after the other (Gram–Schmidt, twice to preserve digits).
fn orthonormal_basis(d: usize, generator: &mut Generator, stop: &impl Fn() -> bool) -> Option<Vec<f64>> {
    let mut basis: Vec<f64> = (0..d * d).map(|_| StandardNormal.sample(generator)).collect();
    for i in 0..d {
        if stop() {
            return None;
        }
        let (done, rest) = basis.split_at_mut(i * d);
        let row = &mut rest[..d];
        for _ in 0..2 {
            for other in done.chunks_exact(d) {
                let dot: f64 = row.iter().zip(other).map(|(a, b)| a * b).sum();
                row.iter_mut().zip(other).for_each(|(a, b)| *a -= dot * b);
            }
        }
        let norm = row.iter().map(|a| a * a).sum::<f64>().sqrt();
        row.iter_mut().for_each(|a| *a /= norm);
    }
    Some(basis)
}

/// Trace of the mixture's covariance.
fn total_variance(weights: &[f64], means: &[f64], covariances: &[f64], d: usize) -> f64 {
    let column = |c: usize| {
        let mean: f64 = weights.iter().enumerate().map(|(k, weight)| weight * means[k * d + c]).sum();
        let about = |(k, weight): (usize, &f64)| {
            weight * (covariances[k * d * d + c * d + c] + (means[k * d + c] - mean).powi(2))
        };
        weights.iter().enumerate().map(about).sum::<f64>()
    };
    (0..d).map(column).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Rows, sweep::Summary};

    #[test]
    fn a_mixture_has_the_requested_separation_and_spread() {
        for balance in [Balance::Balanced, Balance::Unbalanced] {
            let artificial = Artificial { separation: 0.9, balance, ..Artificial::default() };
            let model = artificial.mixture(3).unwrap();
            let covariances: Vec<f64> = (0..10).flat_map(|k| model.components.covariance(k).to_vec()).collect();
            let means: Vec<f64> = (0..10).flat_map(|k| model.components.mean(k).to_vec()).collect();
            assert!((separation(&means, &covariances, 10) - 0.9).abs() < 1e-12);
            assert!((model.weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            let (values, _) = model.sample(0..100_000, 1).unwrap();
            let summary = Summary::of(&Rows::from_vec(values, 10).unwrap()).unwrap();
            for d in 0..10 {
                let spread = summary.maximum[d] - summary.minimum[d];
                assert!((25.0..60.0).contains(&spread), "{spread}");
            }
        }
    }

    /// Compared with a loop over all pairs; the scale of every mixture depends on it to the last bit.
    #[test]
    fn generating_many_components_compares_each_with_all_others() {
        for (n_columns, n_components) in [(1, 1), (1, 2), (2, 1000), (10, 300), (30, 40)] {
            let artificial = Artificial { n_columns, n_components, ..Artificial::default() };
            let model = artificial.mixture(5).unwrap();
            let d = n_columns;
            let of_all = |part: fn(&FullGaussian, usize) -> &[f64]| -> Vec<f64> {
                (0..n_components).flat_map(|k| part(&model.components, k).to_vec()).collect()
            };
            let (means, covariances) = (of_all(FullGaussian::mean), of_all(FullGaussian::covariance));
            let trace = |i: usize| -> f64 { (0..d).map(|j| covariances[i * d * d + j * d + j]).sum() };
            let distance = |i: usize, j: usize| -> f64 {
                (0..d).map(|c| (means[i * d + c] - means[j * d + c]).powi(2)).sum::<f64>().sqrt()
            };
            let nearest = |i: usize| {
                let others = (0..n_components).filter(|&j| j != i);
                others.map(|j| distance(i, j) / trace(i).max(trace(j)).sqrt()).fold(f64::INFINITY, f64::min)
            };
            let mut nearest: Vec<f64> = (0..n_components).map(nearest).filter(|c| c.is_finite()).collect();
            nearest.sort_by(f64::total_cmp);
            let plain = nearest.get(nearest.len() / 2).copied().unwrap_or(0.0);
            assert_eq!(separation(&means, &covariances, d).to_bits(), plain.to_bits());
        }
    }

    /// A million components used to take days, and each of these cases minutes. They now take seconds. The test does
    /// not measure time, only that it finishes.
    #[test]
    fn a_hundred_thousand_components_are_generated_and_drawn_from() {
        let artificial = Artificial { n_columns: 2, n_components: 100_000, ..Artificial::default() };
        let model = artificial.mixture(1).unwrap();
        let (_, labels) = model.sample(0..20_000, 1).unwrap();
        assert!(labels.iter().any(|&label| label > 90_000) && labels.iter().any(|&label| label < 10_000));
    }

    #[test]
    fn a_wide_mixture_could_not_be_stopped() {
        let calls = std::cell::Cell::new(0);
        let stop = || calls.replace(calls.get() + 1) == 10;
        let found = Artificial::default().mixture_unless(1, stop);
        assert_eq!((found.unwrap_err(), calls.get()), (Error::Interrupted, 11));
    }

    #[test]
    fn several_sizes_come_from_one_parameter_vector() {
        let model = Artificial::default().mixture(11).unwrap();
        let (large, _) = model.sample(0..500, 11).unwrap();
        let (small, _) = model.sample(0..100, 11).unwrap();
        assert_eq!(small, large[..1000]);
    }
}
