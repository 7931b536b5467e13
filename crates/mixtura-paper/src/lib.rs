//! Runs the paper's experiments, EM against stochastic EM, on any data.
//!
//! [`comparison`] takes both algorithms through the same starts and measures what the paper measures:
//! likelihoods, differences of the models after each round, and the differences of single updates beside
//! the theorems' bounds. Its results become tables, files and a page. [`evaluation`] redoes Section 3 of the
//! paper with it: its data sets, its experiments, its figures, and what was found beside what it found.

pub mod comparison;
pub mod evaluation;
mod quantiles;

pub use quantiles::Quantiles;
