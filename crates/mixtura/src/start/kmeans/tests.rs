//! Compares the loops of k-means with plain implementations.

use proptest::prelude::*;
use rand::distr::{Distribution, Uniform};
use rand::{RngExt, SeedableRng};
use rand_distr::StandardNormal;

use super::{Limits, Pause, Points, Rounds, Seeds};

/// Rows around a few places, and as many of them as centres.
fn rows(seed: u64, n_rows: usize, n_columns: usize, n_clusters: usize) -> (Vec<f64>, Vec<f64>) {
    let mut draw = rand::rngs::ChaCha8Rng::seed_from_u64(seed);
    let places: Vec<f64> = (0..5 * n_columns).map(|_| 3.0 * draw.sample::<f64, _>(StandardNormal)).collect();
    let which = Uniform::new(0, 5).expect("invariant: not empty");
    let mut values = Vec::with_capacity(n_rows * n_columns);
    for _ in 0..n_rows {
        let place = which.sample(&mut draw) * n_columns;
        values.extend((0..n_columns).map(|d| places[place + d] + draw.sample::<f64, _>(StandardNormal)));
    }
    let centres = values[..n_clusters * n_columns].to_vec();
    (values, centres)
}

fn squared_distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}

fn norms(centres: &[f64], n_columns: usize) -> Vec<f64> {
    centres.chunks_exact(n_columns).map(|centre| centre.iter().map(|c| c * c).sum()).collect()
}

/// The nearest centre of each row, computed from distances.
fn nearest(values: &[f64], centres: &[f64], n_columns: usize) -> Vec<u32> {
    let label = |row: &[f64]| {
        let distances = centres.chunks_exact(n_columns).map(|centre| squared_distance(row, centre));
        distances.zip(0..).min_by(|a, b| a.0.total_cmp(&b.0)).map_or(0, |(_, k)| k)
    };
    values.chunks_exact(n_columns).map(label).collect()
}

/// The mean of each label's rows.
fn means(values: &[f64], labels: &[u32], n_columns: usize, n_clusters: usize) -> Vec<f64> {
    let (mut sums, mut counts) = (vec![0.0; n_clusters * n_columns], vec![0.0; n_clusters]);
    for (row, &label) in values.chunks_exact(n_columns).zip(labels) {
        counts[label as usize] += 1.0;
        sums[label as usize * n_columns..][..n_columns].iter_mut().zip(row).for_each(|(sum, x)| *sum += x);
    }
    sums.iter().enumerate().map(|(i, sum)| sum / counts[i / n_columns]).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn labels_and_distances_are_those_of_plain_loops(
        seed in 0u64..1000, n_rows in 20usize..5000, n_columns in 1usize..=33, n_clusters in 1usize..=20,
    ) {
        let (values, centres) = rows(seed, n_rows, n_columns, n_clusters);
        let points = Points::new(&values, &vec![0.0; n_columns], None).unwrap();
        let mut labels = vec![u32::MAX; n_rows];
        let found = points.assign(&centres, &norms(&centres, n_columns), &mut labels).unwrap();
        prop_assert_eq!((found.n_changed, found.tied), (n_rows, vec![]));
        prop_assert_eq!(&labels, &nearest(&values, &centres, n_columns));
        let again = points.assign(&centres, &norms(&centres, n_columns), &mut labels).unwrap();
        prop_assert_eq!(again.n_changed, 0);

        let (mut first, mut all) = (vec![0.0; n_rows], vec![0.0; n_rows * n_clusters]);
        points.distances_into(&centres[..n_columns], None, &mut first).unwrap();
        points.distances_into(&centres, Some(&first), &mut all).unwrap();
        for (k, centre) in centres.chunks_exact(n_columns).enumerate() {
            for (n, row) in values.chunks_exact(n_columns).enumerate() {
                let plain = squared_distance(row, centre).min(squared_distance(row, &centres[..n_columns]));
                // The error of each of the two norms and of twice the product is D + 2 roundings.
                let size: f64 = row.iter().chain(&centres).map(|x| x * x).sum();
                prop_assert!((all[k * n_rows + n] - plain).abs() <= 4.0 * (n_columns as f64 + 2.0) * f64::EPSILON * size);
            }
        }
    }

    #[test]
    fn fast_rounds_are_plain_rounds(
        seed in 0u64..1000, n_rows in 200usize..6000, n_columns in 1usize..=12, n_clusters in 1usize..=12,
    ) {
        let (values, first) = rows(seed, n_rows, n_columns, n_clusters);
        let offset = vec![0.0; n_columns];
        let points = Points::new(&values, &offset, None).unwrap();
        let mut labels = nearest(&values, &first, n_columns);
        let mut plain = labels.clone();
        let limits = Limits { n_rounds: 40, tolerance: 1e-4 };
        let mut rounds = Rounds::new(&points, &first, &labels, || false).unwrap();
        let pause = rounds.go(&points, &mut labels, limits, || false).unwrap();
        let mut centres = first;
        let mut has_empty = false;
        for _ in 0..limits.n_rounds {
            has_empty |= (0..n_clusters as u32).any(|cluster| !plain.contains(&cluster));
            let moved = means(&values, &plain, n_columns, n_clusters);
            let has_settled = squared_distance(&moved, &centres) <= limits.tolerance;
            centres = moved;
            let next = nearest(&values, &centres, n_columns);
            let is_same = next == plain;
            plain = next;
            if has_settled || is_same {
                break;
            }
        }
        // Only a cluster that becomes empty is left to the plain rounds here.
        prop_assert_eq!(pause, if has_empty { Pause::Uncertain } else { Pause::Done });
        if !has_empty {
            prop_assert_eq!(labels, plain);
        }
    }
}

#[test]
fn a_row_between_two_centres_is_tied() {
    let values = [0.0, 1.0, 2.0, 3.0, 4.0];
    let points = Points::new(&values, &[0.0], None).unwrap();
    let mut labels = [7; 5];
    let found = points.assign(&[0.0, 4.0], &[0.0, 16.0], &mut labels).unwrap();
    assert_eq!((found.n_changed, found.tied), (4, vec![2]));
    assert_eq!(labels, [0, 0, 7, 1, 1]);
}

#[test]
fn single_precision_ties_within_its_own_rounding() {
    let values = [0.0f32, 2.0 - 2e-7, 2.0 - 2e-5, 4.0];
    let points = Points::new(&values, &[0.0], None).unwrap();
    let found = points.assign(&[0.0, 4.0], &[0.0, 16.0], &mut [7; 4]).unwrap();
    assert_eq!(found.tied, [1]);
}

#[test]
fn sums_take_rows_in_their_order_on_any_number_of_threads() {
    let (values, _) = rows(5, 5000, 3, 1);
    let labels: Vec<u32> = (0..5000).map(|n| n * n % 7).collect();
    let weights: Vec<f64> = (0..5000).map(|n| f64::from(n % 3)).collect();
    let points = Points::new(&values, &[0.5, 0.0, -0.25], Some(&weights)).unwrap();
    let (mut expected, mut totals) = ([0.0; 21], [0.0; 7]);
    for (n, row) in values.chunks_exact(3).enumerate() {
        let k = labels[n] as usize;
        totals[k] += weights[n];
        (0..3).for_each(|d| expected[k * 3 + d] += (row[d] - [0.5, 0.0, -0.25][d]) * weights[n]);
    }
    for n_threads in [1, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().unwrap();
        let (mut sums, mut found) = ([9.0; 21], [9.0; 7]);
        pool.install(|| points.sums_into(&labels, &mut sums, &mut found)).unwrap();
        assert_eq!((sums, found), (expected, totals));
    }
}

#[test]
fn an_empty_cluster_is_uncertain_and_a_stop_is_noticed() {
    let values = [0.0, 1.0, 10.0, 11.0];
    let points = Points::new(&values, &[0.0], None).unwrap();
    let limits = Limits { n_rounds: 10, tolerance: 0.0 };
    for (centres, mut labels, is_stopped, expected) in [
        ([0.0, 50.0], [0; 4], false, Pause::Uncertain),
        ([0.0, 10.0], [0, 0, 1, 1], true, Pause::Stopped),
        ([0.0, 10.0], [0, 0, 1, 1], false, Pause::Done),
    ] {
        let mut rounds = Rounds::new(&points, &centres, &labels, || false).unwrap();
        assert_eq!(rounds.go(&points, &mut labels, limits, || is_stopped).unwrap(), expected);
    }
}

#[test]
fn a_tie_after_the_first_round_is_left_to_the_caller() {
    // The means are −3 and 3, and the row at 0 is equally near to both.
    let values = [-4.0, -5.0, 0.0, 3.0, 3.0];
    let points = Points::new(&values, &[0.0], None).unwrap();
    let limits = Limits { n_rounds: 10, tolerance: 0.0 };
    for (label, ends, expected) in [(0, true, [0, 0, 0, 1, 1]), (1, false, [0, 0, 1, 1, 1])] {
        let mut labels = [0, 0, 0, 1, 1];
        let mut rounds = Rounds::new(&points, &[-4.0, 3.5], &labels, || false).unwrap();
        assert_eq!(rounds.go(&points, &mut labels, limits, || false).unwrap(), Pause::Tied(vec![2]));
        // If nothing changes, the rounds end.
        assert_eq!(rounds.settle(&points, &mut labels, &[2], &[label]).unwrap(), ends);
        if !ends {
            assert_eq!(rounds.go(&points, &mut labels, limits, || false).unwrap(), Pause::Done);
        }
        assert_eq!(labels, expected);
    }
}

#[test]
fn lists_of_wrong_length_are_rejected() {
    let values = [0.0, 1.0, 2.0, 3.0];
    assert!(Points::<f64>::new(&[], &[0.0], None).is_err());
    assert!(Points::new(&values, &[], None).is_err());
    assert!(Points::new(&values, &[0.0; 3], None).is_err());
    assert!(Points::new(&values, &[0.0; 2], Some(&[1.0])).is_err());
    let points = Points::new(&values, &[0.0; 2], None).unwrap();
    assert!(points.assign(&[0.0; 3], &[0.0; 2], &mut [0; 2]).is_err());
    assert!(points.assign(&[0.0; 4], &[0.0; 2], &mut [0; 3]).is_err());
    assert!(points.distances_into(&[0.0; 4], None, &mut [0.0; 3]).is_err());
    assert!(points.distances_into(&[0.0; 2], Some(&[0.0]), &mut [0.0; 2]).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn potentials_and_draws_are_those_of_plain_loops(
        seed in 0u64..1000, n_rows in 20usize..5000, n_columns in 1usize..=12, share in 0.001..0.999, is_weighted: bool,
    ) {
        let (values, centres) = rows(seed, n_rows, n_columns, 4);
        let weights: Vec<f64> = (0..n_rows).map(|n| 0.5 + (n % 3) as f64).collect();
        let points = Points::new(&values, &vec![0.0; n_columns], is_weighted.then_some(&weights[..])).unwrap();
        let weight = |n: usize| if is_weighted { weights[n] } else { 1.0 };
        let (first, others) = centres.split_at(n_columns);
        let mut seeds = Seeds::new(&points, first, || false).unwrap();
        let found = seeds.potentials(&points, others, || false).unwrap();
        let near = |row: &[f64], other: &[f64]| squared_distance(row, first).min(squared_distance(row, other));
        for (found, other) in found.iter().zip(others.chunks_exact(n_columns)) {
            let distances = values.chunks_exact(n_columns).enumerate().map(|(n, row)| weight(n) * near(row, other));
            let plain: f64 = distances.sum();
            prop_assert!((found - plain).abs() <= 1e-10 * (1.0 + plain));
        }
        seeds.add(&points, &others[..n_columns], || false).unwrap();
        prop_assert!((seeds.potential() - found[0]).abs() <= 1e-12 * found[0]);
        let drawn = share * seeds.potential();
        let (row, distance) = seeds.find(&points, drawn);
        let mut total = 0.0;
        let reached = values.chunks_exact(n_columns).enumerate().position(|(n, row)| {
            total += weight(n) * near(row, &others[..n_columns]);
            total >= drawn
        });
        prop_assert!(distance <= 1e-9 * seeds.potential() || reached == Some(row));
        prop_assert!(Seeds::new(&points, first, || true).is_err());
    }
}

#[test]
fn means_and_squares_add_rows_in_their_order() {
    let (values, _) = rows(3, 1000, 3, 1);
    let offset = [0.5, 0.0, -0.25];
    let points = Points::new(&values, &offset, None).unwrap();
    for (d, (mean, squares)) in super::mean(&values, 3).into_iter().zip(points.squares()).enumerate() {
        let column = || values.iter().skip(d).step_by(3);
        assert_eq!(mean, column().fold(0.0, |sum, x| sum + x) / 1000.0);
        assert_eq!(squares, column().fold(0.0, |sum, x| sum + (x - offset[d]) * (x - offset[d])));
    }
}
