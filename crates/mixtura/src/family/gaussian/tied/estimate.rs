//! Estimates means and the common covariance from moments: maximum likelihood, above the floor.

use super::super::matrix::cholesky;
use super::super::placement::is_far;
use super::super::width::{
    is_at_floor, neighbour_variances, raise_to_floor, variances_alone, widen_where_digits_are_lost,
};
use super::{TiedGaussian, TiedMoments};
use crate::family::{Fate, Floor, Moments, Outcome};

/// Components about `centres`, all as wide as neighbours are far on average; at least the floor.
pub(super) fn about(centres: &[f64], unit: &[f64], floor: &Floor) -> TiedGaussian {
    let n = unit.len();
    let variances = neighbour_variances(centres, unit);
    let variance = variances.iter().sum::<f64>() / variances.len() as f64;
    let shares = vec![1.0 / variances.len() as f64; variances.len()];
    let mut covariance = vec![0.0; n * n];
    for (d, least) in least_about_all(centres, &shares, floor).into_iter().enumerate() {
        covariance[d * n + d] = (variance * unit[d] * unit[d]).max(least * least).max(floor.ridge[d]);
    }
    TiedGaussian { n_columns: n, means: centres.to_vec(), covariance }
}

/// The least deviations of a covariance that components of these means (K·D numbers) share: their mean square,
/// by the share of the rows that each has, because so much does the rounding of a mean count in the covariance.
fn least_about_all(means: &[f64], shares: &[f64], floor: &Floor) -> Vec<f64> {
    let n = floor.smallest_deviation.len();
    let mut squares = vec![0.0; n];
    for (mean, share) in means.chunks_exact(n).zip(shares) {
        for (square, least) in squares.iter_mut().zip(floor.smallest_deviation_at(mean)) {
            *square += share * least * least;
        }
    }
    // Without a limit that binds, the floor to the bit.
    squares
        .iter()
        .zip(&floor.smallest_deviation)
        .map(|(square, least)| if *square > 1.001 * least * least { square.sqrt() } else { *least })
        .collect()
}

/// Whether the common covariance is at the floor in some direction of the given columns, for each component: the
/// mixing weights are not known here, and the floor of all is what binds where no limit does.
pub(super) fn is_on_floor(components: &TiedGaussian, floor: &Floor, columns: &[usize]) -> Vec<bool> {
    let n = components.n_columns;
    vec![is_at_floor(&components.covariance, n, &floor.smallest_deviation, columns); components.means.len() / n]
}

/// The update of every mean, where its fate lets it, and of the covariance they share.
pub(super) fn maximize(
    previous: &TiedGaussian,
    moments: &TiedMoments,
    fates: &[Fate],
    floor: &Floor,
) -> (TiedGaussian, Vec<Outcome>) {
    let n = previous.n_columns;
    let mut next = previous.clone();
    let shift = |k: usize| -> Vec<f64> {
        let weight = moments.weight(k);
        moments.first(k).iter().map(|sum| if weight > 0.0 { sum / weight } else { 0.0 }).collect()
    };
    let shifts: Vec<Vec<f64>> = (0..fates.len()).map(shift).collect();
    for (k, fate) in fates.iter().enumerate() {
        let mean = &mut next.means[k * n..][..n];
        match fate {
            Fate::Keep => {}
            Fate::Reseed(row) => mean.copy_from_slice(row),
            // A component with any row at all has a mean, and the covariance is everyone's.
            Fate::Estimate | Fate::Blend { .. } => {
                for d in 0..n {
                    mean[d] = moments.centre(k)[d] + shifts[k][d];
                }
            }
        }
    }
    let mut covariance = pooled(moments, &shifts, floor);
    let total: f64 = (0..fates.len()).map(|k| moments.weight(k)).sum();
    let shares: Vec<f64> = (0..fates.len()).map(|k| moments.weight(k) / total).collect();
    let least = least_about_all(&next.means, &shares, floor);
    let widen = |shift: &Vec<f64>| widen_where_digits_are_lost(&mut covariance, shift, &least, &floor.scale);
    let recentred: Vec<bool> = shifts.iter().map(widen).collect();
    let clipped = raise_to_floor(&mut covariance, n, &least);
    // A pivot within rounding of zero is no variance.
    if cholesky(&covariance, n, 4.0 * n as f64 * f64::EPSILON).is_err() {
        let squares: Vec<f64> = (0..n).map(|d| moments.second(d, d) / total).collect();
        let Some(variances) = variances_alone(&covariance, &squares, &previous.covariance, &least) else {
            return (next, vec![Outcome::Kept; fates.len()]);
        };
        next.covariance = variances;
        return (next, vec![Outcome::Uncorrelated; fates.len()]);
    }
    let outcome = |k: usize| match fates[k] {
        Fate::Keep | Fate::Reseed(_) => Outcome::Done,
        _ if recentred[k] => Outcome::Recentred,
        _ if clipped => Outcome::Clipped,
        _ if is_far(&shifts[k], |d| covariance[d * n + d]) => Outcome::Rough,
        _ => Outcome::Done,
    };
    let outcomes = (0..fates.len()).map(outcome).collect();
    next.covariance = covariance;
    (next, outcomes)
}

/// The covariance about all means: what is left of the second moments without the means' own.
fn pooled(moments: &TiedMoments, shifts: &[Vec<f64>], floor: &Floor) -> Vec<f64> {
    let n = floor.ridge.len();
    let total: f64 = (0..shifts.len()).map(|k| moments.weight(k)).sum();
    let mut covariance = vec![0.0; n * n];
    for i in 0..n {
        for j in 0..=i {
            let of_means: f64 =
                shifts.iter().enumerate().map(|(k, shift)| moments.weight(k) * shift[i] * shift[j]).sum();
            let entry = (moments.second(i, j) - of_means) / total;
            covariance[i * n + j] = entry;
            covariance[j * n + i] = entry;
        }
        covariance[i * n + i] += floor.ridge[i];
    }
    covariance
}
