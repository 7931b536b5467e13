//! Draws rows from Gaussian components with correlations.

use rand_distr::{Distribution, StandardNormal};

use super::matrix::{cholesky, packed};
use super::not_positive_definite;
use crate::Error;
use crate::family::Sampler;
use crate::random::Generator;

/// Means and Cholesky factors: a row is μ + L z for standard normal z.
#[derive(Debug)]
pub struct GaussianSampler {
    n_columns: usize,
    means: Vec<f64>,
    /// Of each component, or one for all.
    factors: Vec<Vec<f64>>,
}

impl GaussianSampler {
    /// A sampler of K·D means, and a covariance matrix for each component or one for all.
    pub(super) fn new(n_columns: usize, means: &[f64], covariances: &[f64]) -> Result<Self, Error> {
        let matrices = covariances.chunks_exact(n_columns * n_columns).enumerate();
        let factor = |(k, matrix)| cholesky(matrix, n_columns, 0.0).map_err(not_positive_definite(k));
        Ok(Self { n_columns, means: means.to_vec(), factors: matrices.map(factor).collect::<Result<_, _>>()? })
    }
}

impl Sampler for GaussianSampler {
    fn draw_into(&self, component: usize, generator: &mut Generator, out: &mut [f64]) {
        let factor = &self.factors[component.min(self.factors.len() - 1)];
        let means = &self.means[component * self.n_columns..];
        let normal: Vec<f64> = out.iter().map(|_| StandardNormal.sample(generator)).collect();
        for (i, (out, mean)) in out.iter_mut().zip(means).enumerate() {
            let row = &factor[packed(i, 0)..][..=i];
            *out = mean + row.iter().zip(&normal).map(|(l, z)| l * z).sum::<f64>();
        }
    }
}
