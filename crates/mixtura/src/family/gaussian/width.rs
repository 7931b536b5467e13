//! Gives components their first width, and keeps them from becoming too narrow.

use rayon::prelude::*;

use super::matrix::{cholesky, raise_eigenvalues_to_one};
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
        let nearest = neighbours.nearest_square(k);
        if nearest.is_finite() { nearest / (2.0 * n as f64) } else { 1.0 }
    };
    (0..n_components).into_par_iter().with_min_len(POINTS_AT_A_TIME).map(variance).collect()
}

/// What to add to the variance of a column whose digits drowned in the distance of its rows from the
/// centre, so that the next pass takes them about the component's own mean.
pub(super) fn noise(shift: f64) -> f64 {
    LOST * shift * shift
}

/// Whether a column's variance has drowned, where `least` is the component's least deviation and `scale` the
/// column's.
pub(super) fn is_lost(variance: f64, shift: f64, least: f64, scale: f64) -> bool {
    // Noise under the floor, or of the last bits of a column that is constant here, does no harm.
    let least = least.max(f64::EPSILON * scale);
    noise(shift) > least * least && variance < noise(shift)
}

/// Widens a covariance whose digits drowned; true if it was.
pub(super) fn widen_where_digits_are_lost(covariance: &mut [f64], shift: &[f64], least: &[f64], scale: &[f64]) -> bool {
    let n = shift.len();
    if !(0..n).any(|d| is_lost(covariance[d * n + d], shift[d], least[d], scale[d])) {
        return false;
    }
    for d in 0..n {
        covariance[d * n + d] += noise(shift[d]);
    }
    true
}

/// Clips the eigenvalues of F^{-1/2} S F^{-1/2} at 1 from below, where `root` is the diagonal of F^{1/2}; true if
/// any was.
///
/// This is the likelihood's maximum subject to S ⪰ F.
pub(super) fn raise_to_floor(covariance: &mut [f64], n: usize, root: &[f64]) -> bool {
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

/// Whether some direction of the given columns is at the floor, or below it by rounding.
pub(super) fn is_at_floor(covariance: &[f64], n: usize, root: &[f64], columns: &[usize]) -> bool {
    /// Clipped eigenvalues are 1 to the rounding of matrices whose largest may be 1e9 and more.
    const CLOSE: f64 = 1.0 + 1e-3;
    let m = columns.len();
    if root.contains(&0.0) {
        return false;
    }
    let mut whitened = vec![0.0; m * m];
    for (i, &row) in columns.iter().enumerate() {
        for (j, &column) in columns.iter().enumerate() {
            whitened[i * m + j] = covariance[row * n + column] / (root[row] * root[column]);
        }
        whitened[i * m + i] -= CLOSE;
    }
    cholesky(&whitened, m, 0.0).is_err()
}

/// What can be estimated of a covariance that is singular within rounding: its variances, at least the floor,
/// and no correlations. Where a variance is itself within rounding of zero beside the mean square about the
/// centre, and there is no floor, it is the previous one. None if that is so everywhere.
pub(super) fn variances_alone(
    covariance: &[f64],
    squares: &[f64],
    previous: &[f64],
    least: &[f64],
) -> Option<Vec<f64>> {
    let n = least.len();
    let estimate = |d: usize| {
        let variance = covariance[d * n + d];
        let is_sound = variance.is_finite() && variance > 4.0 * f64::EPSILON * squares[d];
        let raised = if is_sound { variance.max(least[d] * least[d]) } else { least[d] * least[d] };
        (raised > 0.0).then_some(raised)
    };
    let estimates: Vec<Option<f64>> = (0..n).map(estimate).collect();
    if estimates.iter().all(Option::is_none) {
        return None;
    }
    let mut diagonal = vec![0.0; n * n];
    for (d, estimate) in estimates.into_iter().enumerate() {
        diagonal[d * n + d] = estimate.unwrap_or(previous[d * n + d]);
    }
    Some(diagonal)
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

    const SCALE: [f64; 2] = [2.0, 10.0];

    fn least(regularization: f64) -> [f64; 2] {
        SCALE.map(|s| f64::sqrt(regularization) * s)
    }

    #[test]
    fn only_noise_above_the_floor_counts_as_lost_digits() {
        let lost = |variance: f64, shift: f64, regularization: f64| {
            let covariance = &mut [variance, 0.0, 0.0, 1.0];
            widen_where_digits_are_lost(covariance, &[shift, 0.0], &least(regularization), &SCALE)
        };
        assert!(lost(0.0, 1e6, 1e-9) && lost(0.0, 1.0, 0.0));
        // A column that is constant within the component, about its own mean: rounding, nothing lost.
        assert!(!lost(0.0, 1e-16, 1e-9) && !lost(-1e-34, 1e-17, 0.0));
        assert!(!lost(1.0, 1e4, 1e-9));
    }

    #[test]
    fn the_floor_lifts_only_what_is_below_it() {
        let mut covariance = vec![4.0, 0.0, 0.0, 0.0];
        assert!(raise_to_floor(&mut covariance, 2, &least(0.01)));
        assert!(is_at_floor(&covariance, 2, &least(0.01), &[0, 1]) && !is_at_floor(&covariance, 2, &least(0.01), &[0]));
        assert_eq!(covariance[0], 4.0);
        assert!((covariance[3] - 1.0).abs() < 1e-15);
        let mut high = vec![4.0, 0.3, 0.3, 50.0];
        assert!(!raise_to_floor(&mut high, 2, &least(0.01)));
        assert_eq!(high, [4.0, 0.3, 0.3, 50.0]);
    }

    #[test]
    fn variances_are_what_is_left_of_a_singular_covariance() {
        let (singular, previous) = ([4.0, 6.0, 6.0, 9.0], [1.0, 0.5, 0.5, 7.0]);
        assert_eq!(variances_alone(&singular, &[4.0, 9.0], &previous, &[0.0; 2]), Some(vec![4.0, 0.0, 0.0, 9.0]));
        assert_eq!(variances_alone(&singular, &[4.0, 9.0], &previous, &[0.0, 4.0]), Some(vec![4.0, 0.0, 0.0, 16.0]));
        // A variance of the second column that is no more than the rounding of its square.
        assert_eq!(variances_alone(&singular, &[4.0, 1e17], &previous, &[0.0; 2]), Some(vec![4.0, 0.0, 0.0, 7.0]));
        assert_eq!(variances_alone(&[0.0; 4], &[1.0; 2], &previous, &[0.0; 2]), None);
    }
}
