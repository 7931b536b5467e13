//! Estimates means and covariances from moments: maximum likelihood, above the floor.

use super::super::matrix::{cholesky, for_components};
use super::super::placement::is_far;
use super::super::width::{
    is_at_floor, neighbour_variances, raise_to_floor, variances_alone, widen_where_digits_are_lost,
};
use super::{FullGaussian, FullMoments};
use crate::family::{Family, Fate, Floor, Outcome};

/// Spherical components about `centres`: Σ_k = (1/2D)·min_{i≠k}‖μ_k − μ_i‖²·I in units of `unit`
/// (Dasgupta and Schulman 2007), at least the floor or the ridge; a single component is as wide as the unit.
pub(super) fn about(centres: &[f64], unit: &[f64], floor: &Floor) -> FullGaussian {
    let n = unit.len();
    let mut covariances = vec![0.0; centres.len() * n];
    let each = centres.chunks_exact(n).zip(neighbour_variances(centres, unit));
    for (covariance, (mean, variance)) in covariances.chunks_exact_mut(n * n).zip(each) {
        for (d, least) in floor.smallest_variances_at(mean).into_iter().enumerate() {
            covariance[d * n + d] = (variance * unit[d] * unit[d]).max(least);
        }
    }
    FullGaussian { n_columns: n, means: centres.to_vec(), covariances }
}

/// Whether each component is at the floor in some direction of the given columns.
pub(super) fn is_on_floor(components: &FullGaussian, floor: &Floor, columns: &[usize]) -> Vec<bool> {
    let n = components.n_columns;
    for_components(components.n_components(), n, |k| {
        is_at_floor(components.covariance(k), n, &floor.smallest_deviation_at(components.mean(k)), columns)
    })
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
    let (shift, mut covariance) = moments.shift_and_covariance(component);
    let mean: Vec<f64> = moments.centre(component).iter().zip(&shift).map(|(centre, shift)| centre + shift).collect();
    for i in 0..n {
        covariance[i * n + i] += floor.ridge[i];
    }
    if let Some(n_rows) = blend {
        let least = previous.fewest_rows();
        let share = (n_rows / least).min(1.0);
        for (entry, old) in covariance.iter_mut().zip(previous.covariance(component)) {
            *entry = share * *entry + (1.0 - share) * old;
        }
    }
    let least = floor.smallest_deviation_at(&mean);
    let recentred = widen_where_digits_are_lost(&mut covariance, &shift, &least, &floor.scale);
    let clipped = raise_to_floor(&mut covariance, n, &least);
    // A pivot within rounding of zero is no variance.
    if cholesky(&covariance, n, 4.0 * n as f64 * f64::EPSILON).is_err() {
        let squares: Vec<f64> = (0..n).map(|d| covariance[d * n + d] + shift[d] * shift[d]).collect();
        let covariance = variances_alone(&covariance, &squares, previous.covariance(component), &least);
        let outcome = if covariance.is_some() { Outcome::Uncorrelated } else { Outcome::Kept };
        return Estimated { mean, covariance, outcome };
    }
    let outcome = match (recentred, clipped) {
        (true, _) => Outcome::Recentred,
        (false, true) => Outcome::Clipped,
        (false, false) if is_far(&shift, |d| covariance[d * n + d]) => Outcome::Rough,
        (false, false) => Outcome::Done,
    };
    Estimated { mean, covariance: Some(covariance), outcome }
}
