//! k-means over all rows, with the arithmetic and summation order of scikit-learn on one thread.
//!
//! The caller makes the draws of k-means++ and controls its loop. This module does the work that costs O(N K D):
//! [`Points::distances_into`] and [`Seeds`] for k-means++, [`Points::assign`] and [`Points::sums_into`] for a round of Lloyd's
//! algorithm (Lloyd 1982), and [`Rounds`], which runs the rounds after the first and skips rows whose label cannot
//! change.
//!
//! scikit-learn labels a row with the centre c that minimizes ‖c‖² − 2x·c, computed by a matrix product with an
//! unspecified order of operations. A label is therefore assigned only if every order leads to it; other rows are
//! reported as tied.
//!
//! ```
//! use mixtura::start::kmeans::Points;
//!
//! let points = Points::new(&[0.0, 1.0, 2.0, 9.0], &[0.0], None)?;
//! let mut labels = [0; 4];
//! let found = points.assign(&[0.0, 4.0], &[0.0, 16.0], &mut labels)?;
//! // 2 is equally far from 0 and 4, so its label is left unchanged.
//! assert_eq!((labels, found.tied), ([0, 0, 0, 1], vec![2]));
//! # Ok::<(), mixtura::Error>(())
//! ```

mod gather;
mod points;
mod rounds;
mod scores;
mod seeds;
mod sums;
#[cfg(test)]
mod tests;

pub use points::{Assigned, Points, Real};
pub use rounds::{Limits, Pause, Rounds};
pub use seeds::Seeds;
pub use sums::mean;
