//! Runs the paper's experiments, which compare EM with stochastic EM, on any data.
//!
//! [`comparison`] runs both algorithms from the same starts and measures what the paper measures: likelihoods,
//! differences between the models after each round, and differences of single updates compared with the
//! theoretical bounds. It produces tables, files and an HTML report. [`evaluation`] uses it to repeat Section 3 of
//! the paper: its data sets, experiments and figures, and a comparison of the findings.

mod build;
pub mod comparison;
pub mod evaluation;
mod quantiles;

pub use build::Build;
pub use quantiles::Quantiles;
