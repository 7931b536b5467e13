//! Fits mixture models by EM, stochastic EM and classification EM.
//!
//! ```
//! use mixtura::{Gmm, Rows};
//!
//! let values = [0.0, 0.1, 0.2, 0.3, 5.0, 5.1, 5.2, 5.3];
//! let rows = Rows::from_slice(&values, 1)?; // one column
//! let fit = Gmm::new(2).fit(&rows)?;
//! assert!(fit.termination.has_converged());
//!
//! let labels = fit.model.labels(&rows)?;
//! assert!(labels[..4].iter().all(|&label| label == labels[0]));
//! assert!(labels[4..].iter().all(|&label| label == 1 - labels[0]));
//! # Ok::<(), mixtura::Error>(())
//! ```
//!
//! Every algorithm is the same loop: model → one pass over the rows → statistics → new model. EM, SEM and CEM differ in
//! how a posterior becomes weights ([`pass::Assignment`]); [`driver`] has a file for each.
//!
//! - [`Gmm`] and [`Fitter`] fit any family in one line; [`Options`] lists all options.
//! - [`Mixture`] is a model: labels, posteriors, densities, scores, samples.
//! - [`Rows`] are data in memory. [`sweep`] is for data elsewhere, and explains how to write an engine.
//! - [`theory`] bounds how far one update of SEM can be from EM's.
//!
//! The same seed gives the same bits for any number of threads. The library does not read files, use a clock or print.

mod any;
pub mod driver;
mod error;
pub mod family;
mod fitter;
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
pub mod sweep;
mod tail;
pub mod theory;

pub use any::{AnyMixture, Kind};
pub use driver::{Algorithm, Fit, Options, fit};
pub use error::Error;
pub use family::gaussian::{DiagonalGaussian, FullGaussian, SphericalGaussian, TiedGaussian};
pub use family::poisson::Poisson;
pub use fitter::{Covariance, Diagonal, Fitter, Full, Gmm, Spherical, Tied};
pub use model::{Classified, Criteria, Mixture, Score};
pub use rows::Rows;
pub use start::Start;
pub use sweep::Source;
pub use tail::Tail;

/// Keeps the README's example true.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
pub struct Readme;
