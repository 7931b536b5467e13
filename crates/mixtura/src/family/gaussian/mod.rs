//! Holds the Gaussian families, one for each covariance structure.

mod full;
mod matrix;

pub use full::{FullGaussian, FullMoments, FullPrepared, FullSampler, FullScratch};

/// Parameters of the two kinds that every Gaussian has: means, and how wide they are.
fn two(parameters: Vec<Vec<f64>>) -> [Vec<f64>; 2] {
    parameters.try_into().expect("invariant: as many as shapes are named")
}
