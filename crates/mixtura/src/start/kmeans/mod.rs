//! Clusters all rows by k-means, with the arithmetic and the order of sums that scikit-learn has on one thread.
//!
//! The draws of k-means++ and the rules of its loop are the caller's; here is what costs O(N K D):
//! [`Points::distances_into`] for k-means++, [`Points::assign`] and [`Points::sums_into`] for a round of Lloyd's
//! algorithm (Lloyd 1982), and [`Rounds`], which runs the rounds after the first and passes over rows whose label is
//! certain not to change.
//!
//! scikit-learn labels a row with the centre c of least ‖c‖² − 2x·c, computed by a matrix product whose order of
//! operations is its own. A label is therefore given only where every order leads to it; the other rows are
//! reported as tied.
//!
//! ```
//! use mixtura::start::kmeans::Points;
//!
//! let points = Points::new(&[0.0, 1.0, 2.0, 9.0], &[0.0], None)?;
//! let mut labels = [0; 4];
//! let found = points.assign(&[0.0, 4.0], &[0.0, 16.0], &mut labels)?;
//! // 2 is as far from 0 as from 4, so that its label is left as it was.
//! assert_eq!((labels, found.tied), ([0, 0, 0, 1], vec![2]));
//! # Ok::<(), mixtura::Error>(())
//! ```

mod points;
mod rounds;
mod scores;
mod sums;
#[cfg(test)]
mod tests;

pub use points::{Assigned, Points, Real};
pub use rounds::{Limits, Pause, Rounds};
