//! Fast, reproducible mixture models: Gaussian mixtures and Poisson mixtures, fitted by EM and stochastic EM.
//!
//! # Quick start
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
//! [`Rows`] borrow your data without copying it: `f64` or `f32`, row-major ([`Rows::from_slice`]), column-major
//! ([`Rows::from_column_major`]), or an array of the `ndarray` crate (`Rows::from_array`, with the feature `ndarray`).
//! [`Gmm`] fits them, and the [`Fit`] it returns holds the model, its log-likelihood, why the fit ended, and what
//! happened on the way.
//!
//! # Choosing a family
//!
//! | components | fit with | parameters for K components in D columns |
//! |---|---|---|
//! | Gaussians, a covariance matrix each | `Gmm::new(k)` | K·D + K·D(D + 1)/2 |
//! | Gaussians that share one covariance matrix | `Gmm::new(k).covariance(Tied)` | K·D + D(D + 1)/2 |
//! | Gaussians with uncorrelated columns | `Gmm::new(k).covariance(Diagonal)` | 2·K·D |
//! | round Gaussians | `Gmm::new(k).covariance(Spherical)` | K·D + K |
//! | Poisson distributions, for counts | `Fitter::<Poisson>::new(k)` | K·D |
//!
//! The weights of the components add K − 1. [`Mixture::score`] computes AIC, BIC and ICL to compare families and
//! numbers of components; the example `choose_k` does so. If the family is only known at run time, see [`Kind`] and
//! [`AnyMixture`].
//!
//! # Options
//!
//! Every option is a method of [`Gmm`] and [`Fitter`]; [`Options`] documents them all.
//!
//! ```
//! use mixtura::{Algorithm, Diagonal, Gmm, Rows};
//!
//! # let values: Vec<f64> = (0..200).map(|n| f64::from(n * n % 101) + 300.0 * f64::from(n % 2)).collect();
//! let rows = Rows::from_slice(&values, 2)?;
//! let fit = Gmm::new(3)
//!     .covariance(Diagonal)
//!     .algorithm(Algorithm::Em)
//!     .restarts(20) // default 8
//!     .seed(7)
//!     .tolerance(1e-8)
//!     .fit(&rows)?;
//! assert_eq!(fit.restarts_asked, 20);
//! assert!(fit.restarts.iter().all(|&other| other <= fit.mean_ln_likelihood));
//! # Ok::<(), mixtura::Error>(())
//! ```
//!
//! The default algorithm, [`Algorithm::Auto`], runs stochastic EM first, whose rounds are cheaper, and finishes with
//! EM. A likelihood has many maxima, so a fit begins with several starts, which race on samples of the rows until one
//! or two are left ([`Options::race`](Options#structfield.race)); [`Fit::race`](Fit#structfield.race) says how many of
//! them agreed. Fits start from k-means++ unless [`Fitter::start`] says otherwise: [`Start`] can also be a given model, labels,
//! or random rows. Rows may have weights ([`Rows::with_weights`]): a row of weight 3 counts like three rows.
//!
//! # Using a model
//!
//! ```
//! use mixtura::{FullGaussian, Mixture, Rows};
//!
//! let components = FullGaussian::new(1, vec![0.0, 4.0], vec![1.0, 1.0])?; // one column: two means, two variances
//! let model = Mixture::new(vec![0.5, 0.5], components)?;
//! let rows = Rows::from_slice(&[-1.0, 2.0, 9.0], 1)?;
//!
//! assert_eq!(model.labels(&rows)?[0], 0); // the most probable component
//! assert_eq!(model.posteriors(&rows)?[2..4], [0.5, 0.5]); // K probabilities per row
//! assert!(model.ln_densities(&rows)?[2] < -10.0); // an outlier
//! let score = model.score(&rows)?;
//! assert_eq!(score.rows, 3);
//! let (values, labels) = model.sample(0..100, 7)?; // 100 new rows
//! assert_eq!((values.len(), labels.len()), (100, 100));
//! # Ok::<(), mixtura::Error>(())
//! ```
//!
//! Models, options and the complete state of a fit implement serde's traits. Deserializing checks what constructors
//! check, so a model that was read is a valid one. To get the same bits back, choose a format that keeps them: for JSON,
//! turn on serde_json's feature `float_roundtrip`. [`Tail`] says how unusual a row is under a model.
//!
//! # Results are reproducible
//!
//! The same data, options and seed give the same model, bit for bit, on any number of threads. All sums have a fixed
//! order, and random numbers belong to rows, not to threads. The layout of the data does not matter either, nor does
//! the machine, if it has fused multiply-add; without it, results agree up to rounding.
//!
//! Fits run on the rayon thread pool they are called in; use `ThreadPool::install` to choose the number of threads.
//! Nothing here reads files, looks at a clock or prints.
//!
//! # Large data, other engines, and more
//!
//! - Memory use is little more than the data: there is no array of N·K posteriors.
//! - [`sweep`] explains how to fit rows that are not in memory, or are on several machines: an [`Engine`](sweep::Engine)
//!   is a few lines. [`driver::Online`] learns from batches.
//! - [`driver`] has one file for each algorithm, and the parts of a fit: run it round by round, pause it, save it and
//!   continue ([`driver::Attempts`]), observe it ([`driver::Observer`]), or stop it by your own rule ([`driver::Rule`]).
//! - [`theory`] bounds how far one update of stochastic EM can be from EM's.
//! - [`matching`] finds which component of one mixture corresponds to which of another.
//!
//! # Feature flags
//!
//! - `ndarray`: `Rows::from_array`. Off by default.

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
pub use pass::Evaluator;
pub use rows::Rows;
pub use start::Start;
pub use sweep::Source;
pub use tail::Tail;

/// Keeps the README's example true.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
pub struct Readme;
