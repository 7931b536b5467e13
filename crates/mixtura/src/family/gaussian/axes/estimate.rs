//! Estimates means and variances from moments: maximum likelihood, above the floor.

use super::super::placement::is_far;
use super::super::width::{is_lost, neighbour_variances, noise};
use super::{Axes, AxisGaussian, AxisMoments};
use crate::family::{Family, Fate, Floor, Moments, Outcome};

/// Components about `centres`, as wide as their neighbours are far; at least the floor or the ridge.
pub(super) fn about<A: Axes>(centres: &[f64], unit: &[f64], floor: &Floor) -> AxisGaussian<A> {
    let n = unit.len();
    let ridges = averages::<A>(n, |d| floor.ridge[d]);
    let widths = averages::<A>(n, |d| unit[d] * unit[d]);
    let each = |(mean, variance): (&[f64], f64)| -> Vec<f64> {
        let least = least::<A>(&floor.smallest_deviation_at(mean));
        widths
            .iter()
            .zip(&ridges)
            .zip(least)
            .map(|((width, ridge), least)| (variance * width).max(least.max(*ridge)))
            .collect()
    };
    let variances = centres.chunks_exact(n).zip(neighbour_variances(centres, unit)).flat_map(each).collect();
    AxisGaussian::of(n, centres.to_vec(), variances)
}

/// Something of the columns that share a variance, averaged: for each variance.
fn averages<A: Axes>(n_columns: usize, of_column: impl Fn(usize) -> f64) -> Vec<f64> {
    let n_shared = n_columns / A::n_variances(n_columns);
    let average = |i: usize| (i * n_shared..(i + 1) * n_shared).map(&of_column).sum::<f64>() / n_shared as f64;
    (0..A::n_variances(n_columns)).map(average).collect()
}

/// Least variances: a variance that columns share must suffice for the widest of them.
fn least<A: Axes>(deviations: &[f64]) -> Vec<f64> {
    let n_shared = deviations.len() / A::n_variances(deviations.len());
    let largest = |columns: &[f64]| columns.iter().map(|least| least * least).fold(0.0, f64::max);
    deviations.chunks_exact(n_shared).map(largest).collect()
}

/// Whether each component is at the floor in one of some columns.
pub(super) fn is_on_floor<A: Axes>(components: &AxisGaussian<A>, floor: &Floor, columns: &[usize]) -> Vec<bool> {
    /// A clipped variance equals the floor up to rounding.
    const CLOSE: f64 = 1.0 + 1e-9;
    let is_at = |k: usize| {
        let least = least::<A>(&floor.smallest_deviation_at(components.mean(k)));
        columns.iter().any(|&d| {
            let least = least[d.min(least.len() - 1)];
            least > 0.0 && components.variance(k, d) <= CLOSE * least
        })
    };
    (0..components.n_components()).map(is_at).collect()
}

/// The update of every component, where its fate lets it.
pub(super) fn maximize<A: Axes>(
    previous: &AxisGaussian<A>,
    moments: &AxisMoments,
    fates: &[Fate],
    floor: &Floor,
) -> (AxisGaussian<A>, Vec<Outcome>) {
    let (n, n_variances) = (previous.n_columns, A::n_variances(previous.n_columns));
    let mut next = previous.clone();
    let mut outcomes = vec![Outcome::Done; fates.len()];
    for (k, fate) in fates.iter().enumerate() {
        let mean = &mut next.means[k * n..][..n];
        let n_rows = match fate {
            Fate::Keep => continue,
            Fate::Reseed(row) => {
                mean.copy_from_slice(row);
                continue;
            }
            Fate::Estimate => None,
            Fate::Blend { n_rows } => Some(*n_rows),
        };
        let (estimated, variances, outcome) = estimate(previous, moments, k, n_rows, floor);
        mean.copy_from_slice(&estimated);
        outcomes[k] = outcome;
        next.variances[k * n_variances..][..n_variances].copy_from_slice(&variances);
    }
    // Only now are all other means known, from which a new component takes its width.
    if fates.iter().any(|fate| matches!(fate, Fate::Reseed(_))) {
        let fresh = about::<A>(&next.means, &floor.scale, floor);
        for (k, _) in fates.iter().enumerate().filter(|(_, fate)| matches!(fate, Fate::Reseed(_))) {
            next.variances[k * n_variances..][..n_variances].copy_from_slice(fresh.variances(k));
        }
    }
    (next, outcomes)
}

fn estimate<A: Axes>(
    previous: &AxisGaussian<A>,
    moments: &AxisMoments,
    component: usize,
    blend: Option<f64>,
    floor: &Floor,
) -> (Vec<f64>, Vec<f64>, Outcome) {
    let n = previous.n_columns;
    let n_shared = (n / A::n_variances(n)) as f64;
    let weight = moments.weight(component);
    let shift: Vec<f64> = moments.first(component).iter().map(|sum| sum / weight).collect();
    let mean: Vec<f64> = moments.centre(component).iter().zip(&shift).map(|(centre, shift)| centre + shift).collect();
    let deviations = floor.smallest_deviation_at(&mean);
    let squares: Vec<f64> = moments.second(component).iter().map(|sum| sum / weight / n_shared).collect();
    let shifts = averages::<A>(n, |d| shift[d] * shift[d]);
    let ridges = averages::<A>(n, |d| floor.ridge[d]);
    let mut variances: Vec<f64> =
        squares.iter().zip(&shifts).zip(&ridges).map(|((square, shift), ridge)| square - shift + ridge).collect();
    if let Some(n_rows) = blend {
        let share = (n_rows / previous.fewest_rows()).min(1.0);
        for (variance, old) in variances.iter_mut().zip(previous.variances(component)) {
            *variance = share * *variance + (1.0 - share) * old;
        }
    }
    let of_column = |d: usize| d.min(variances.len() - 1);
    let recentred = (0..n).any(|d| is_lost(variances[of_column(d)], shift[d], deviations[d], floor.scale[d]));
    if recentred {
        let added = averages::<A>(n, |d| noise(shift[d]));
        variances.iter_mut().zip(added).for_each(|(variance, noise)| *variance += n_shared * noise);
    }
    let mut clipped = false;
    for (variance, least) in variances.iter_mut().zip(least::<A>(&deviations)) {
        clipped |= *variance < least;
        *variance = variance.max(least);
    }
    // What is left of a difference within rounding of zero is no variance: the previous one stays.
    let mut kept = false;
    for ((variance, square), old) in variances.iter_mut().zip(&squares).zip(previous.variances(component)) {
        if !(variance.is_finite() && *variance > 4.0 * f64::EPSILON * square) {
            (*variance, kept) = (*old, true);
        }
    }
    let outcome = if kept {
        Outcome::Kept
    } else if recentred {
        Outcome::Recentred
    } else if clipped {
        Outcome::Clipped
    } else if is_far(&shift, |d| variances[d.min(variances.len() - 1)]) {
        Outcome::Rough
    } else {
        Outcome::Done
    };
    (mean, variances, outcome)
}
