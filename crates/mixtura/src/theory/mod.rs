//! Bounds how far one update of SEM can be from EM's: Theorems 1–3 of the paper.
//!
//! From the same model, EM's update is deterministic, and SEM's is a random variable around it (Blömer, Bujna and
//! Kuntze 2014, Section 2.3). [`Proximity::measure`] computes the quantities in the theorems from the rows;
//! [`Proximity::bounds`] evaluates the theorems for a probability of failure δ; [`Proximity::typical`] gives the
//! expected deviation instead of a guarantee. [`Proximity::demand`] and [`least_weight`] answer the inverse questions:
//! how large a component's weight must be, and how many rows are needed.
//!
//! ```
//! use mixtura::theory::Proximity;
//! use mixtura::{FullGaussian, Mixture, Rows, Source};
//!
//! let values: Vec<f64> = (0..10_000).map(|n| f64::from(n % 100) / 10.0).collect();
//! let rows = Rows::from_vec(values, 1)?;
//! let model = Mixture::new(vec![0.5, 0.5], FullGaussian::new(1, vec![3.0, 7.0], vec![4.0, 4.0])?)?;
//! let proximity = Proximity::measure(&Source::of(&rows)?, &model)?;
//! let bounds = proximity.bounds(0.001)?;
//! assert!(bounds.valid[0] && bounds.mean[0] > 5.0 * proximity.typical().mean[0]);
//! # Ok::<(), mixtura::Error>(())
//! ```
//!
//! The theorems hold for unweighted rows and for updates that are not affected by a floor or repair; the third holds
//! for full covariance matrices. Theorems 1 and 2 hold for every family that updates a mean to the mean of its rows,
//! which is true of all families here.

mod bounds;
mod demand;
mod proximity;

pub use bounds::{Bounds, lambda_weight, reach};
pub use demand::{Demand, least_weight};
pub use proximity::{Proximity, Typical};
