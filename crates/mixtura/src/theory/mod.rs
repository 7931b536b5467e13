//! Says how far one update of SEM can be from that of EM: Theorems 1–3 of the paper.
//!
//! From one and the same model, EM's update is deterministic and SEM's is a random variable about it
//! (Blömer, Bujna and Kuntze 2014, Section 2.3). [`Proximity::measure`] sweeps the rows for what the
//! theorems are stated in; [`Proximity::bounds`] states them for a probability of failure δ;
//! [`Proximity::typical`] says what to expect instead of what to fear. The inverse questions (how
//! heavy must a component be, how many rows does it take) are in [`Proximity::demand`] and
//! [`least_weight`].
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
//! The theorems hold for rows without weights and for updates that no floor or repair changed; the
//! third for full covariance matrices. Theorems 1 and 2 hold for every family whose update of a mean
//! is the mean of its rows, which all families here are.

mod bounds;
mod demand;
mod proximity;

pub use bounds::{Bounds, lambda_weight, reach};
pub use demand::{Demand, least_weight};
pub use proximity::{Proximity, Typical};
