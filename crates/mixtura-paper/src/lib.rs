//! Runs the paper's experiments, EM against stochastic EM, on any data.
//!
//! [`comparison`] takes both algorithms through the same starts and measures what the paper measures:
//! likelihoods, differences of the models after each round, and the differences of single updates beside
//! the theorems' bounds. Its results become tables, files and a page.

pub mod comparison;
mod quantiles;

pub use quantiles::Quantiles;
