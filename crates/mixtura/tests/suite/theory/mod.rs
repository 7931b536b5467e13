//! Checks the theorems: their quantities against plain sums, their formulas by hand, their guarantees by draws.

mod coverage;

use mixtura::theory::{Proximity, lambda_weight, least_weight};
use mixtura::{DiagonalGaussian, Error, FullGaussian, Mixture, Poisson, Rows, Source, TiedGaussian};

use crate::{artificial, assert_close, reference};

/// The quantities as written in the paper, row by row.
struct Plain {
    responsibility: Vec<f64>,
    doubt: Vec<f64>,
    tau: Vec<f64>,
    rho: Vec<f64>,
}

fn plain(rows: &Rows<'_>, posteriors: &[Vec<f64>], means: &[f64], covariances: &[f64]) -> Plain {
    let (n, k) = (rows.n_columns(), posteriors[0].len());
    let mut plain =
        Plain { responsibility: vec![0.0; k], doubt: vec![0.0; k], tau: vec![0.0; k * n], rho: vec![0.0; k * n * n] };
    for (row, posterior) in posteriors.iter().enumerate() {
        let x = rows.row(row);
        for (k, p) in posterior.iter().enumerate() {
            let y: Vec<f64> = (0..n).map(|d| x[d] - means[k * n + d]).collect();
            plain.responsibility[k] += p;
            plain.doubt[k] += p * (1.0 - p);
            for i in 0..n {
                plain.tau[k * n + i] += p * (1.0 - p) * y[i] * y[i];
                for j in 0..n {
                    let at = (k * n + i) * n + j;
                    plain.rho[at] += p * (1.0 - p) * (y[i] * y[j] - covariances[at]).powi(2);
                }
            }
        }
    }
    plain.tau.iter_mut().chain(&mut plain.rho).for_each(|sum| *sum = sum.sqrt());
    plain
}

#[track_caller]
fn assert_all_close(found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len());
    let scale = expected.iter().fold(0.0f64, |largest, x| largest.max(x.abs()));
    found.iter().zip(expected).for_each(|(a, b)| assert_close(*a, *b, tolerance, 1e-3 * scale));
}

fn measure(rows: &Rows<'_>, model: &Mixture<FullGaussian>) -> Proximity<FullGaussian> {
    Proximity::measure(&Source::of(rows).unwrap(), model).unwrap()
}

#[test]
fn quantities_are_the_sums_in_the_paper() {
    for (n_rows, n_columns, n_components) in [(2500, 1, 2), (1500, 3, 4), (1025, 7, 3), (700, 12, 1)] {
        let (rows, model) = artificial(n_rows, n_columns, n_components, 7);
        let found = measure(&rows, &model);
        let (posteriors, likelihood) = reference::posteriors(&rows, &model);
        let update = reference::maximum(&rows, &posteriors);
        let covariances: Vec<f64> = (0..n_components).flat_map(|k| update.components.covariance(k).to_vec()).collect();
        let means: Vec<f64> = (0..n_components).flat_map(|k| update.components.mean(k).to_vec()).collect();
        let expected = plain(&rows, &posteriors, &means, &covariances);
        assert_all_close(&found.responsibility, &expected.responsibility, 1e-12);
        assert_all_close(&found.tau, &expected.tau, 1e-9);
        assert_all_close(found.rho.as_ref().unwrap(), &expected.rho, 1e-9);
        if n_components > 1 {
            assert_all_close(&found.doubt, &expected.doubt, 1e-12);
        }
        assert_all_close(found.covariances.as_ref().unwrap(), &covariances, 1e-11);
        crate::assert_models_close(&found.update, &update, 1e-11);
        assert_close(found.mean_ln_likelihood, likelihood, 1e-13, 0.0);
        for d in 0..n_columns {
            let column = (0..n_rows).map(|n| rows.row(n)[d]);
            let (least, most) = (column.clone().fold(f64::MAX, f64::min), column.fold(f64::MIN, f64::max));
            assert_eq!(found.spread[d], most - least);
        }
    }
}

/// Two equal components: every posterior is 1/2. Rows −1, 0, 1, each m times, so N = 3m, r = 3m/2, the mean
/// 0, the variance 2/3, Σp(1−p) = 3m/4, τ² = 2m/4, and ρ² = m/4·(2·(1/3)² + (2/3)²) = m/6.
/// With ln(2/δ) = L: λ_w = √(3L/r) = √(2L/m). For m = 2000 and L = 10: λ_w = 1/10, so the weight is
/// within 1/20; τ = √1000 > Δ·√(2eL)/e = 2·2.71, so the mean is within √(20e·1000)/(0.9·3000), and
/// ρ = √(2000/6) = 18.26 > Δ²·√(2eL)/e = 10.85, so the variance within √(20e·2000/6)/2700 + (that of the mean)².
#[test]
fn a_case_worked_out_by_hand() {
    let m = 2000;
    let values: Vec<f64> = (0..3 * m).map(|n| f64::from(n % 3) - 1.0).collect();
    let rows = Rows::from_vec(values, 1).unwrap();
    let components = FullGaussian::new(1, vec![0.4, 0.4], vec![2.5, 2.5]).unwrap();
    let found = measure(&rows, &Mixture::new(vec![0.5, 0.5], components).unwrap());
    let m = f64::from(m);
    assert_eq!(found.n_statements(), 2 * 3);
    for k in 0..2 {
        assert_close(found.responsibility[k], 1.5 * m, 1e-13, 0.0);
        assert_close(found.doubt[k], 0.75 * m, 1e-13, 0.0);
        assert_close(found.tau[k], (0.5 * m).sqrt(), 1e-13, 0.0);
        assert_close(found.rho.as_ref().unwrap()[k], (m / 6.0).sqrt(), 1e-12, 0.0);
        let typical = found.typical();
        assert_close(typical.weight[k], (0.75 * m).sqrt() / (3.0 * m), 1e-13, 0.0);
        assert_close(typical.mean[k], (0.5 * m).sqrt() / (1.5 * m), 1e-13, 0.0);
        assert_close(typical.covariance.unwrap()[k], (m / 6.0).sqrt() / (1.5 * m), 1e-12, 0.0);
        let bounds = found.bounds(2.0 * (-10.0f64).exp()).unwrap();
        assert!(bounds.valid[k]);
        assert_close(bounds.lambda_weight[k], 0.1, 1e-13, 0.0);
        assert_close(bounds.weight[k], 0.05, 1e-13, 0.0);
        let mean = (20e3 * std::f64::consts::E).sqrt() / 2700.0;
        assert_close(bounds.mean[k], mean, 1e-12, 0.0);
        let variance = (20.0 * std::f64::consts::E * 2000.0 / 6.0).sqrt() / 2700.0 + mean * mean;
        assert_close(bounds.covariance.unwrap()[k], variance, 1e-12, 0.0);
    }
}

/// The same with few rows: m = 60, L = 10, so r = 90 and λ_w = √(1/3). Now τ = √30 = 5.48 is just above Δ·√(2eL)/e =
/// 5.43, but ρ = √10 < 10.85: the second case applies to the variance, 2Δ²L/((1 − λ_w)r) + (that of the mean)². With m
/// = 20 there is no bound: λ_w = 1.
#[test]
fn with_few_rows_the_second_case_applies_and_then_there_is_no_bound() {
    let of = |m: i32| {
        let values: Vec<f64> = (0..3 * m).map(|n| f64::from(n % 3) - 1.0).collect();
        let rows = Rows::from_vec(values, 1).unwrap();
        let components = FullGaussian::new(1, vec![0.0, 0.0], vec![1.0, 1.0]).unwrap();
        let found = measure(&rows, &Mixture::new(vec![0.5, 0.5], components).unwrap());
        found.bounds(2.0 * (-10.0f64).exp()).unwrap()
    };
    let bounds = of(60);
    let least = (1.0 - (1.0f64 / 3.0).sqrt()) * 90.0;
    let mean = (20.0 * std::f64::consts::E * 30.0).sqrt() / least;
    assert_close(bounds.mean[1], mean, 1e-12, 0.0);
    assert_close(bounds.covariance.unwrap()[1], 2.0 * 4.0 * 10.0 / least + mean * mean, 1e-12, 0.0);
    let none = of(19);
    assert_eq!(none.valid, [false, false]);
    assert!(none.weight[0].is_nan() && none.mean[0].is_nan() && none.covariance.unwrap()[0].is_nan());
}

#[test]
fn simultaneous_bounds_divide_delta_among_their_statements() {
    let (rows, model) = artificial(4000, 3, 2, 11);
    let found = measure(&rows, &model);
    assert_eq!(found.n_statements(), 2 * (1 + 3 + 6));
    assert_close(found.delta_for_all(0.95).unwrap(), 0.05 / 20.0, 1e-13, 0.0);
    // The paper: δ = 1/(100·K(D+1)).
    let bounds = found.bounds(1.0 / (100.0 * 2.0 * 4.0)).unwrap();
    let distances = found.euclidean_mean_bounds(0.99, &[1.0; 3]).unwrap();
    let scaled = found.euclidean_mean_bounds(0.99, &found.spread).unwrap();
    for k in 0..2 {
        let mean = &bounds.mean[k * 3..][..3];
        assert_close(distances[k], mean.iter().map(|x| x * x).sum::<f64>().sqrt(), 1e-12, 0.0);
        let square = |d: usize| (mean[d] / found.spread[d]).powi(2);
        assert_close(scaled[k], (square(0) + square(1) + square(2)).sqrt(), 1e-12, 0.0);
    }
    for wrong in [0.0, 1.0, -0.1, f64::NAN] {
        assert!(found.bounds(wrong).is_err() && found.delta_for_all(wrong).is_err());
    }
}

/// The demand is the number of rows at which the bound equals the requested accuracy.
#[test]
fn demanded_rows_reach_the_requested_accuracy() {
    let (rows, model) = artificial(5000, 4, 3, 5);
    let found = measure(&rows, &model);
    let (delta, share) = (1e-3, 0.02);
    let demand = found.demand(share, delta).unwrap();
    for k in 0..3 {
        let grown = |n_rows: f64| {
            let factor = n_rows / found.n_rows as f64;
            let mut grown = found.clone();
            grown.responsibility.iter_mut().for_each(|r| *r *= factor);
            grown.tau.iter_mut().for_each(|tau| *tau *= factor.sqrt());
            grown.bounds(delta).unwrap()
        };
        let bounds = grown(demand.weight[k]);
        assert_close(bounds.weight[k] / found.update.weights[k], share, 1e-12, 0.0);
        let bounds = grown(demand.mean[k]);
        let spread = |d: usize| found.update.components.covariance(k)[d * 4 + d].sqrt();
        let worst = (0..4).map(|d| bounds.mean[k * 4 + d] / spread(d)).fold(0.0, f64::max);
        assert_close(worst, share, 1e-10, 0.0);
    }
    let weight = least_weight(5000, delta, 0.5);
    assert_close(weight, 12.0 * (2.0 / delta).ln() / 5000.0, 1e-14, 0.0);
    assert_close(lambda_weight(5000.0 * weight, delta), 0.5, 1e-14, 0.0);
    assert!(found.demand(0.0, delta).is_err());
}

#[test]
fn other_families_have_weights_and_means_only() {
    let (rows, model) = artificial(3000, 3, 2, 3);
    let posteriors_of = |model: &Mixture<DiagonalGaussian>| model.posteriors(&rows).unwrap();
    let means = model.components.mean(0).iter().chain(model.components.mean(1)).copied().collect::<Vec<_>>();
    let diagonal =
        Mixture::new(vec![0.4, 0.6], DiagonalGaussian::new(3, means.clone(), vec![20.0; 6]).unwrap()).unwrap();
    let found = Proximity::measure(&Source::of(&rows).unwrap(), &diagonal).unwrap();
    let posteriors: Vec<Vec<f64>> = posteriors_of(&diagonal).chunks(2).map(<[f64]>::to_vec).collect();
    let update = reference::maximum(&rows, &posteriors);
    let update_means: Vec<f64> = (0..2).flat_map(|k| update.components.mean(k).to_vec()).collect();
    let expected = plain(&rows, &posteriors, &update_means, &[0.0; 18]);
    assert_all_close(&found.tau, &expected.tau, 1e-9);
    assert!(found.rho.is_none() && found.bounds(0.01).unwrap().covariance.is_none());
    assert_eq!(found.n_statements(), 2 * (1 + 3));
    let mut identity = vec![0.0; 9];
    (0..3).for_each(|d| identity[d * 4] = 20.0);
    let tied = Mixture::new(vec![0.4, 0.6], TiedGaussian::new(3, means, identity).unwrap()).unwrap();
    // The same densities as above, and therefore the same quantities.
    assert_all_close(&Proximity::measure(&Source::of(&rows).unwrap(), &tied).unwrap().tau, &expected.tau, 1e-9);

    let counts: Vec<f64> = (0..2000).map(|n| f64::from(n % 7 + n % 3)).collect();
    let counts = Rows::from_vec(counts, 1).unwrap();
    let poisson = Mixture::new(vec![0.5, 0.5], Poisson::new(1, vec![2.0, 6.0]).unwrap()).unwrap();
    let found = Proximity::measure(&Source::of(&counts).unwrap(), &poisson).unwrap();
    assert!(found.bounds(0.01).unwrap().mean[0] > found.typical().mean[0]);
}

#[test]
fn shifts_and_scales_change_nothing() {
    let (rows, model) = artificial(3000, 3, 3, 13);
    let found = measure(&rows, &model);
    for (shift, scale) in [(1e9, 1.0), (0.0, 1e-12), (-3e5, 1e12), (0.0, 1e100)] {
        let values: Vec<f64> = (0..3000).flat_map(|n| rows.row(n)).map(|x| (x + shift) * scale).collect();
        let moved = Rows::from_vec(values, 3).unwrap();
        let means = (0..3).flat_map(|k| model.components.mean(k)).map(|x| (x + shift) * scale).collect();
        let covariances = (0..3).flat_map(|k| model.components.covariance(k)).map(|x| x * scale * scale).collect();
        let components = FullGaussian::new(3, means, covariances).unwrap();
        let other = measure(&moved, &Mixture::new(model.weights.clone(), components).unwrap());
        let back = |values: &[f64], power: i32| -> Vec<f64> { values.iter().map(|x| x / scale.powi(power)).collect() };
        assert_all_close(&other.responsibility, &found.responsibility, 1e-6);
        assert_all_close(&back(&other.tau, 1), &found.tau, 1e-6);
        assert_all_close(&back(other.rho.as_ref().unwrap(), 2), found.rho.as_ref().unwrap(), 1e-6);
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let (rows, model) = artificial(9000, 5, 4, 17);
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| measure(&rows, &model))
    };
    let one = on(1);
    assert_eq!(one, on(2));
    assert_eq!(one, on(5));
}

#[test]
fn weighted_rows_are_rejected_and_components_without_rows_have_no_bound() {
    let (rows, model) = artificial(500, 2, 2, 19);
    let weighted = rows.gather(&(0..500).collect::<Vec<_>>()).with_weights(vec![2.0; 500]).unwrap();
    let engine = Source::of(&weighted).unwrap();
    assert_eq!(Proximity::measure(&engine, &model).unwrap_err(), Error::Weighted { what: "bounds" });
    assert!(engine.n_chunks() > 0);

    let components = FullGaussian::new(1, vec![0.0, 1e9], vec![1.0, 1.0]).unwrap();
    let far = Mixture::new(vec![0.5, 0.5], components).unwrap();
    let rows = Rows::from_vec((0..100).map(|n| f64::from(n) / 50.0).collect(), 1).unwrap();
    let found = measure(&rows, &far);
    assert_eq!(found.responsibility[1], 0.0);
    let bounds = found.bounds(0.1).unwrap();
    assert_eq!(bounds.valid, [true, false]);
    assert!(bounds.lambda_weight[1].is_infinite() && found.typical().mean[1] == 0.0);
    assert_eq!(found.demand(0.1, 0.1).unwrap().weight[1], f64::INFINITY);
}

/// Constant columns do not vary, so their bounds are 0.
#[test]
fn constant_columns_have_bounds_of_zero() {
    let values: Vec<f64> = (0..4000).flat_map(|n| [f64::from(n % 17), 3.0]).collect();
    let rows = Rows::from_vec(values, 2).unwrap();
    let covariances = vec![9.0, 0.0, 0.0, 1.0, 9.0, 0.0, 0.0, 1.0];
    let components = FullGaussian::new(2, vec![4.0, 3.0, 12.0, 3.0], covariances).unwrap();
    let found = measure(&rows, &Mixture::new(vec![0.5, 0.5], components).unwrap());
    let bounds = found.bounds(0.01).unwrap();
    assert!(bounds.mean[0] > 0.0);
    assert_eq!((bounds.mean[1], bounds.covariance.unwrap()[1], found.tau[1]), (0.0, 0.0, 0.0));
    assert!(found.euclidean_mean_bounds(0.99, &found.spread).unwrap().iter().all(|bound| bound.is_finite()));
}
