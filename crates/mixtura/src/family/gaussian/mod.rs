//! The Gaussian families, one for each covariance structure.

mod axes;
mod full;
mod low_rank;
mod matrix;
mod narrow;
mod placement;
mod sampler;
mod tied;
mod triangle;
mod width;

pub use axes::{
    AllColumns, Axes, AxisGaussian, AxisMoments, AxisPrepared, AxisScratch, DiagonalGaussian, EachColumn,
    SphericalGaussian,
};
pub use full::{FullGaussian, FullMoments, FullPrepared, FullScratch};
pub use sampler::GaussianSampler;
pub use tied::{TiedGaussian, TiedMoments, TiedPrepared, TiedScratch};

use self::matrix::cholesky;
use crate::Error;
use crate::kernels::{BadPivot, scalar_ln};

/// Parameters of the two kinds that every Gaussian has: means, and how wide they are.
fn two(parameters: Vec<Vec<f64>>) -> [Vec<f64>; 2] {
    parameters.try_into().expect("invariant: as many as shapes are named")
}

/// How many components the means are of.
fn n_components(n_columns: usize, means: &[f64]) -> Result<usize, Error> {
    if n_columns == 0 {
        return Err(Error::NoColumns);
    }
    if means.is_empty() || !means.len().is_multiple_of(n_columns) {
        return Err(Error::RaggedComponents { what: "means", n_values: means.len(), n_columns });
    }
    Ok(means.len() / n_columns)
}

fn check_mean(component: usize, mean: &[f64]) -> Result<(), Error> {
    mean.iter()
        .find(|value| !value.is_finite())
        .map_or(Ok(()), |&value| Err(Error::Parameter { component, what: "mean", value }))
}

/// ln w − (D/2) ln 2π: the logarithm of a component's weight and density, without the terms of its covariance.
fn ln_constant(weight: f64, n_columns: usize) -> f64 {
    let ln_weight = if weight > 0.0 { scalar_ln(weight) } else { f64::NEG_INFINITY };
    ln_weight - 0.5 * n_columns as f64 * scalar_ln(std::f64::consts::TAU)
}

fn check_entries(n_found: usize, n_expected: usize) -> Result<(), Error> {
    if n_found == n_expected {
        return Ok(());
    }
    Err(Error::Length { what: "covariance entries", n_found, n_expected, of: "entries of the matrices" })
}

/// Refuses a matrix that is not symmetric to 1e-9 of its diagonal, and makes others so to the bit.
fn check_symmetric(component: usize, matrix: &mut [f64], n: usize) -> Result<(), Error> {
    for i in 0..n {
        for j in 0..i {
            let (lower, upper) = (matrix[i * n + j], matrix[j * n + i]);
            let scale = (matrix[i * n + i] * matrix[j * n + j]).abs().sqrt();
            if (lower - upper).abs() > 1e-9 * scale {
                return Err(Error::NotSymmetric { component, row: j, column: i, upper, lower });
            }
            // Equal entries stay bit for bit: a model file reads back as it was written.
            let middle = if lower == upper { lower } else { 0.5 * (lower + upper) };
            matrix[i * n + j] = middle;
            matrix[j * n + i] = middle;
        }
    }
    Ok(())
}

fn check_covariance(component: usize, covariance: &[f64], n: usize) -> Result<(), Error> {
    if let Some(&value) = covariance.iter().find(|value| !value.is_finite()) {
        return Err(Error::Parameter { component, what: "covariance entry", value });
    }
    cholesky(covariance, n, 0.0).map_err(not_positive_definite(component)).map(drop)
}

fn not_positive_definite(component: usize) -> impl Fn(BadPivot) -> Error {
    move |bad| Error::NotPositiveDefinite { component, pivot: bad.pivot, value: bad.value }
}
