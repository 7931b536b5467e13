//! Gives components their first width, and keeps them from becoming too narrow.

use rayon::prelude::*;

use super::matrix::raise_eigenvalues_to_one;
use crate::family::Floor;
use crate::neighbours::Neighbours;

/// Neighbours are searched for by several threads only if there are more points than this for each.
const POINTS_AT_A_TIME: usize = 64;

/// A variance below this share of the squared distance to the centre has fewer than some six
/// digits; the next pass, about the component's own mean, will have them all.
const LOST: f64 = 1e-10;

/// For each of the centres (K·D numbers) (1/2D)·min_{i≠k}‖μ_k − μ_i‖², in units of `unit`
/// (Dasgupta and Schulman 2007); 1 for a single one.
pub(super) fn neighbour_variances(centres: &[f64], unit: &[f64]) -> Vec<f64> {
    let n = unit.len();
    let n_components = centres.len() / n;
    let sizes = vec![0.0; n_components];
    let neighbours = Neighbours::new(centres, unit, &sizes);
    let variance = |k: usize| {
        let nearest = neighbours.least_square(k);
        if nearest.is_finite() { nearest / (2.0 * n as f64) } else { 1.0 }
    };
    (0..n_components).into_par_iter().with_min_len(POINTS_AT_A_TIME).map(variance).collect()
}

/// What to add to the variance of a column whose digits drowned in the distance of its rows from the
/// centre, so that the next pass takes them about the component's own mean.
pub(super) fn noise(shift: f64) -> f64 {
    LOST * shift * shift
}

/// Whether a column's variance has drowned.
pub(super) fn is_lost(variance: f64, shift: f64, column: usize, floor: &Floor) -> bool {
    // Noise under the floor, or of the last bits of a column that is constant here, does no harm.
    let least = floor.least[column].max(f64::EPSILON * floor.scale[column]);
    noise(shift) > least * least && variance < noise(shift)
}

/// Widens a covariance whose digits drowned; true if it was.
pub(super) fn widen_where_digits_are_lost(covariance: &mut [f64], shift: &[f64], floor: &Floor) -> bool {
    let n = shift.len();
    if !(0..n).any(|d| is_lost(covariance[d * n + d], shift[d], d, floor)) {
        return false;
    }
    for d in 0..n {
        covariance[d * n + d] += noise(shift[d]);
    }
    true
}

/// Clips the eigenvalues of F^{-1/2} S F^{-1/2} at 1 from below, F = E·diag(s²); true if any was.
///
/// This is the likelihood's maximum subject to S ⪰ F.
pub(super) fn raise_to_floor(covariance: &mut [f64], n: usize, floor: &Floor) -> bool {
    let root = &floor.least;
    if root.contains(&0.0) {
        return false;
    }
    let mut whitened: Vec<f64> =
        covariance.iter().enumerate().map(|(at, entry)| entry / (root[at / n] * root[at % n])).collect();
    let before = whitened.clone();
    let raised = raise_eigenvalues_to_one(&mut whitened, n);
    if raised {
        for (at, (entry, (new, old))) in covariance.iter_mut().zip(whitened.iter().zip(&before)).enumerate() {
            *entry += (new - old) * (root[at / n] * root[at % n]);
        }
    }
    raised
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_is_as_wide_as_its_neighbour_is_far() {
        // Distances 5 and 10 in plain units: variances 25/4, 25/4, 100/4.
        let centres = [0.0, 0.0, 3.0, 4.0, 9.0, 12.0];
        assert_eq!(neighbour_variances(&centres, &[1.0, 1.0]), [6.25, 6.25, 25.0]);
        assert_eq!(neighbour_variances(&[7.0], &[3.0]), [1.0]);
    }

    fn floor(regularization: f64) -> Floor {
        let scale = vec![2.0, 10.0];
        let least = scale.iter().map(|s| f64::sqrt(regularization) * s).collect();
        Floor { least, ridge: vec![0.0; 2], least_rate: vec![0.0; 2], scale }
    }

    #[test]
    fn only_noise_above_the_floor_counts_as_lost_digits() {
        let lost = |variance: f64, shift: f64, regularization: f64| {
            widen_where_digits_are_lost(&mut [variance, 0.0, 0.0, 1.0], &[shift, 0.0], &floor(regularization))
        };
        assert!(lost(0.0, 1e6, 1e-9) && lost(0.0, 1.0, 0.0));
        // A column that is constant within the component, about its own mean: rounding, nothing lost.
        assert!(!lost(0.0, 1e-16, 1e-9) && !lost(-1e-34, 1e-17, 0.0));
        assert!(!lost(1.0, 1e4, 1e-9));
    }

    #[test]
    fn the_floor_lifts_only_what_is_below_it() {
        let mut covariance = vec![4.0, 0.0, 0.0, 0.0];
        assert!(raise_to_floor(&mut covariance, 2, &floor(0.01)));
        assert_eq!(covariance[0], 4.0);
        assert!((covariance[3] - 1.0).abs() < 1e-15);
        let mut high = vec![4.0, 0.3, 0.3, 50.0];
        assert!(!raise_to_floor(&mut high, 2, &floor(0.01)));
        assert_eq!(high, [4.0, 0.3, 0.3, 50.0]);
    }
}
