//! Holds the Gaussian families, one for each covariance structure.

mod full;
mod matrix;

pub use full::{FullGaussian, FullMoments, FullPrepared, FullSampler, FullScratch};
