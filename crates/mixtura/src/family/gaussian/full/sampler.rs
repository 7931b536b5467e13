//! Draws rows from Gaussian components.

use rand::Rng;
use rand_distr::{Distribution, StandardNormal};

use super::super::matrix::{cholesky, packed};
use super::super::not_positive_definite;
use super::FullGaussian;
use crate::Error;
use crate::family::{Family, Sampler};

/// Means and Cholesky factors: a row is μ + L z for standard normal z.
#[derive(Debug)]
pub struct FullSampler {
    components: FullGaussian,
    factors: Vec<Vec<f64>>,
}

impl FullSampler {
    pub(super) fn new(components: &FullGaussian) -> Result<Self, Error> {
        let factor = |component| {
            cholesky(components.covariance(component), components.n_columns(), 0.0)
                .map_err(not_positive_definite(component))
        };
        let factors = (0..components.n_components()).map(factor).collect::<Result<_, _>>()?;
        Ok(Self { components: components.clone(), factors })
    }
}

impl Sampler for FullSampler {
    fn draw_into(&self, component: usize, generator: &mut impl Rng, out: &mut [f64]) {
        let factor = &self.factors[component];
        let normal: Vec<f64> = out.iter().map(|_| StandardNormal.sample(generator)).collect();
        for (i, (out, mean)) in out.iter_mut().zip(self.components.mean(component)).enumerate() {
            let row = &factor[packed(i, 0)..][..=i];
            *out = mean + row.iter().zip(&normal).map(|(l, z)| l * z).sum::<f64>();
        }
    }
}
