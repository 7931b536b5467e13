//! Fits mixture models by EM, stochastic EM and classification EM.
//!
//! Every algorithm here is one loop: model → one pass over the rows → statistics → new model. How a
//! posterior becomes weights ([`pass::Assignment`]) is all that tells the algorithms apart.
//!
//! ```
//! use mixtura::{Options, Rows, Start, fit_rows};
//!
//! let values = [0.0, 0.1, 0.2, 0.3, 5.0, 5.1, 5.2, 5.3];
//! let rows = Rows::from_slice(&values, 1)?;
//! let fit = fit_rows(&rows, 2, &Start::KmeansPlusPlus, &Options::default())?;
//! let mut means = [fit.model.components.mean(0)[0], fit.model.components.mean(1)[0]];
//! means.sort_by(f64::total_cmp);
//! assert!((means[0] - 0.15).abs() < 1e-6 && (means[1] - 5.15).abs() < 1e-6);
//! assert!(fit.termination.has_converged());
//! # Ok::<(), mixtura::Error>(())
//! ```
//!
//! The same seed gives the same bits for any number of threads. Nothing here reads files, looks at
//! a clock or prints.

mod any;
pub mod driver;
mod error;
pub mod family;
pub mod generate;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod internals;
mod kernels;
pub mod matching;
mod model;
mod neighbours;
pub mod pass;
pub mod random;
pub mod rows;
pub mod start;
mod tail;
pub mod theory;

pub use any::{AnyMixture, Kind};
pub use driver::{Algorithm, Fit, Options, fit, fit_rows};
pub use error::Error;
pub use family::gaussian::{DiagonalGaussian, FullGaussian, SphericalGaussian, TiedGaussian};
pub use family::poisson::Poisson;
pub use model::{Classified, Criteria, Mixture, Score};
pub use rows::Rows;
pub use start::Start;
pub use tail::Tail;

/// Keeps the README's example true.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
pub struct Readme;
