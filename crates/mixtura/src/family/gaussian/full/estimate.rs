//! Estimates means and covariances from moments: maximum likelihood, above the floor.

use super::super::matrix::{cholesky, for_components, raise_eigenvalues_to_one};
use super::density::is_far;
use super::{FullGaussian, FullMoments};
use crate::family::{Family, Fate, Floor, Moments, Outcome};

/// Spherical components about `centres`: Σ_k = (1/2D)·min_{i≠k}‖μ_k − μ_i‖²·I in units of `unit`
/// (Dasgupta and Schulman 2007), at least the floor; a single component is as wide as the unit.
pub(super) fn about(centres: &[f64], unit: &[f64], floor: &Floor) -> FullGaussian {
    let n = unit.len();
    let n_components = centres.len() / n;
    let mut covariances = vec![0.0; n_components * n * n];
    for (k, covariance) in covariances.chunks_exact_mut(n * n).enumerate() {
        let others = (0..n_components).filter(|&other| other != k);
        let nearest = others
            .map(|other| squared_distance(&centres[k * n..][..n], &centres[other * n..][..n], unit))
            .filter(|&square| square > 0.0)
            .fold(f64::INFINITY, f64::min);
        let variance = if nearest.is_finite() { nearest / (2.0 * n as f64) } else { 1.0 };
        for d in 0..n {
            covariance[d * n + d] = (variance * unit[d] * unit[d]).max(floor.least[d] * floor.least[d]);
        }
    }
    FullGaussian { n_columns: n, means: centres.to_vec(), covariances }
}

fn squared_distance(a: &[f64], b: &[f64], unit: &[f64]) -> f64 {
    a.iter().zip(b).zip(unit).map(|((a, b), unit)| ((a - b) / unit).powi(2)).sum()
}

/// The update of every component (equations 1 and 3 of the paper), subject to Σ ⪰ F.
pub(super) fn maximize(
    previous: &FullGaussian,
    moments: &FullMoments,
    fates: &[Fate],
    floor: &Floor,
) -> (FullGaussian, Vec<Outcome>) {
    let n = previous.n_columns;
    let mut next = previous.clone();
    let estimate = |k: usize| match fates[k] {
        Fate::Estimate => Some(estimate(previous, moments, k, None, floor)),
        Fate::Blend { n_rows } => Some(estimate(previous, moments, k, Some(n_rows), floor)),
        Fate::Reseed(_) | Fate::Keep => None,
    };
    let mut outcomes = Vec::with_capacity(fates.len());
    for (k, estimated) in for_components(fates.len(), n, estimate).into_iter().enumerate() {
        let mut outcome = Outcome::Done;
        if let Some(estimated) = estimated {
            next.means[k * n..][..n].copy_from_slice(&estimated.mean);
            outcome = estimated.outcome;
            if let Some(covariance) = estimated.covariance {
                next.covariances[k * n * n..][..n * n].copy_from_slice(&covariance);
            }
        }
        if let Fate::Reseed(row) = &fates[k] {
            next.means[k * n..][..n].copy_from_slice(row);
        }
        outcomes.push(outcome);
    }
    // Only now are all other means known, from which a new component takes its width.
    if fates.iter().any(|fate| matches!(fate, Fate::Reseed(_))) {
        let fresh = about(&next.means, &floor.scale, floor);
        for (k, _) in fates.iter().enumerate().filter(|(_, fate)| matches!(fate, Fate::Reseed(_))) {
            next.covariances[k * n * n..][..n * n].copy_from_slice(fresh.covariance(k));
        }
    }
    (next, outcomes)
}

/// A component's new mean and, unless the previous one is to be kept, its covariance.
struct Estimated {
    mean: Vec<f64>,
    covariance: Option<Vec<f64>>,
    outcome: Outcome,
}

fn estimate(
    previous: &FullGaussian,
    moments: &FullMoments,
    component: usize,
    blend: Option<f64>,
    floor: &Floor,
) -> Estimated {
    let n = previous.n_columns;
    let weight = moments.weight(component);
    let shift: Vec<f64> = moments.first(component).iter().map(|sum| sum / weight).collect();
    let mean = moments.centre(component).iter().zip(&shift).map(|(centre, shift)| centre + shift).collect();
    let mut covariance = vec![0.0; n * n];
    for i in 0..n {
        for j in 0..=i {
            let entry = moments.second(component, i, j) / weight - shift[i] * shift[j];
            covariance[i * n + j] = entry;
            covariance[j * n + i] = entry;
        }
        covariance[i * n + i] += floor.ridge[i];
    }
    if let Some(n_rows) = blend {
        let least = previous.least_rows();
        let share = (n_rows / least).min(1.0);
        for (entry, old) in covariance.iter_mut().zip(previous.covariance(component)) {
            *entry = share * *entry + (1.0 - share) * old;
        }
    }
    let recentred = widen_where_digits_are_lost(&mut covariance, &shift, floor);
    let clipped = raise_to_floor(&mut covariance, n, floor);
    // A pivot within rounding of zero is no variance.
    if cholesky(&covariance, n, 4.0 * n as f64 * f64::EPSILON).is_err() {
        return Estimated { mean, covariance: None, outcome: Outcome::Kept };
    }
    let outcome = match (recentred, clipped) {
        (true, _) => Outcome::Recentred,
        (false, true) => Outcome::Clipped,
        (false, false) if is_far(&shift, &covariance) => Outcome::Rough,
        (false, false) => Outcome::Done,
    };
    Estimated { mean, covariance: Some(covariance), outcome }
}

/// A variance below this share of the squared distance to the centre has fewer than some six
/// digits; the next pass, about the component's own mean, will have them all.
const LOST: f64 = 1e-10;

/// Widens a covariance whose digits drowned in the distance of its rows from the centre, enough
/// that the next pass takes them about the component's own mean; true if it was.
fn widen_where_digits_are_lost(covariance: &mut [f64], shift: &[f64], floor: &Floor) -> bool {
    let n = shift.len();
    let is_lost = |d: usize| {
        let noise = LOST * shift[d] * shift[d];
        // Noise under the floor, or of the last bits of a column that is constant here, does no harm.
        let least = floor.least[d].max(f64::EPSILON * floor.scale[d]);
        noise > least * least && covariance[d * n + d] < noise
    };
    if !(0..n).any(is_lost) {
        return false;
    }
    for d in 0..n {
        covariance[d * n + d] += LOST * shift[d] * shift[d];
    }
    true
}

/// Clips the eigenvalues of F^{-1/2} S F^{-1/2} at 1 from below, F = E·diag(s²); true if any was.
///
/// This is the likelihood's maximum subject to S ⪰ F.
fn raise_to_floor(covariance: &mut [f64], n: usize, floor: &Floor) -> bool {
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

    fn floor(regularization: f64) -> Floor {
        let scale = vec![2.0, 10.0];
        Floor { least: scale.iter().map(|s| f64::sqrt(regularization) * s).collect(), ridge: vec![0.0; 2], scale }
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
    fn a_start_is_as_wide_as_its_neighbour_is_far() {
        // Distances 5 and 10 in plain units: variances 25/4, 25/4, 100/4.
        let start = about(&[0.0, 0.0, 3.0, 4.0, 9.0, 12.0], &[1.0, 1.0], &floor(0.0));
        assert_eq!(start.covariance(0), [6.25, 0.0, 0.0, 6.25]);
        assert_eq!(start.covariance(1), [6.25, 0.0, 0.0, 6.25]);
        assert_eq!(start.covariance(2), [25.0, 0.0, 0.0, 25.0]);
    }
}
