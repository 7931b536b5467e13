//! Checks that shifting and scaling columns changes only rounding.

use mixtura::{Algorithm, FullGaussian, Mixture, Rows, SphericalGaussian, Start};

use crate::{artificial, assert_close, assert_models_close, fit_rows, rounds};

fn mapped(rows: &Rows<'_>, offset: f64, scale: &[f64]) -> Rows<'static> {
    let values = (0..rows.n_rows())
        .flat_map(|n| rows.row(n).into_iter().zip(scale).map(|(x, s)| x * s + offset).collect::<Vec<_>>())
        .collect();
    Rows::from_vec(values, rows.n_columns()).unwrap()
}

fn unmapped(model: &Mixture<FullGaussian>, offset: f64, scale: &[f64]) -> Mixture<FullGaussian> {
    let n = scale.len();
    let (mut means, mut covariances) = (vec![], vec![]);
    for k in 0..model.n_components() {
        means.extend(model.components.mean(k).iter().zip(scale).map(|(mean, s)| (mean - offset) / s));
        let covariance = model.components.covariance(k);
        covariances.extend((0..n * n).map(|at| covariance[at] / (scale[at / n] * scale[at % n])));
    }
    Mixture { weights: model.weights.clone(), components: FullGaussian::new(n, means, covariances).unwrap() }
}

fn fitted(rows: &Rows<'_>, algorithm: Algorithm) -> Mixture<FullGaussian> {
    let options = rounds(15).algorithm(algorithm).seed(3);
    fit_rows(rows, 3, &Start::KmeansPlusPlus, &options).unwrap().model
}

/// A shift by `offset` rounds every value to a grid of offset·2⁻⁵², about offset·2e-16, while the columns' standard
/// deviations are about 4; fifteen rounds may magnify that a thousandfold.
#[test]
fn shifted_columns_give_the_shifted_model() {
    let (rows, _) = artificial(3000, 3, 3, 51);
    let plain = fitted(&rows, Algorithm::Em);
    for offset in [1e6, -1e6, 1e9] {
        let found = fitted(&mapped(&rows, offset, &[1.0; 3]), Algorithm::Em);
        assert_models_close(&unmapped(&found, offset, &[1.0; 3]), &plain, 2e-13 * f64::abs(offset));
    }
}

/// Powers of two scale exactly, so that all draws are also the same; other factors round each value with a relative
/// error of 1e-16.
#[test]
fn scaled_columns_give_the_scaled_model() {
    let (rows, _) = artificial(3000, 3, 3, 52);
    for algorithm in [Algorithm::Em, Algorithm::Cem, Algorithm::Sem] {
        let plain = fitted(&rows, algorithm);
        let exact = [2f64.powi(-40), 2f64.powi(40), 1.0];
        let found = fitted(&mapped(&rows, 0.0, &exact), algorithm);
        assert_models_close(&unmapped(&found, 0.0, &exact), &plain, 1e-11);
    }
    let plain = fitted(&rows, Algorithm::Em);
    for scale in [[1e-12, 1e-12, 1e-12], [1e12, 1e12, 1e12], [1e-12, 1e12, 3.0]] {
        let found = fitted(&mapped(&rows, 0.0, &scale), Algorithm::Em);
        assert_models_close(&unmapped(&found, 0.0, &scale), &plain, 1e-9);
    }
}

/// Two clusters `distance` standard deviations apart: the fit must find each cluster's own moments.
fn far_clusters(distance: f64, regularization: f64) {
    let (rows, _) = artificial(2000, 2, 1, 53);
    let first: Vec<Vec<f64>> = (0..2000).map(|n| rows.row(n)).collect();
    let second: Vec<Vec<f64>> =
        first.iter().map(|row| vec![row[1] + distance * 4.4, 0.5 * row[0] - distance * 4.4]).collect();
    let values: Vec<f64> = first.iter().chain(&second).flatten().copied().collect();
    let rows = Rows::from_vec(values, 2).unwrap();
    let options = crate::em().regularization(regularization).rounds(100);
    let fit = fit_rows(&rows, 2, &Start::KmeansPlusPlus, &options).unwrap();
    for k in 0..2 {
        assert_close(fit.model.weights[k], 0.5, 1e-12, 1.0);
        // The rows as stored in memory, rounded by the shift.
        let is_first = fit.model.components.mean(k)[0] < distance * 2.0;
        let range = if is_first { 0..2000 } else { 2000..4000 };
        let own: Vec<Vec<f64>> = range.map(|n| rows.row(n)).collect();
        let origin = own[0].clone();
        let mean: Vec<f64> = (0..2).map(|d| own.iter().map(|row| row[d] - origin[d]).sum::<f64>() / 2000.0).collect();
        for i in 0..2 {
            let deviation = fit.model.components.covariance(k)[i * 2 + i].sqrt();
            // A mean of magnitude `distance` is only accurate to its last bit.
            let slack = 1e-9 + 2.0 * f64::EPSILON * distance;
            let found = fit.model.components.mean(k)[i] - origin[i];
            assert!((found - mean[i]).abs() / deviation <= slack, "mean {found} {}", mean[i]);
            for j in 0..2 {
                let product = |row: &Vec<f64>| (row[i] - origin[i] - mean[i]) * (row[j] - origin[j] - mean[j]);
                let expected = own.iter().map(product).sum::<f64>() / 2000.0;
                let other = fit.model.components.covariance(k)[j * 2 + j].sqrt();
                let found = fit.model.components.covariance(k)[i * 2 + j];
                assert!((found - expected).abs() / (deviation * other) <= 1e-9, "{found} {expected} at {distance:e}");
            }
        }
    }
}

#[test]
fn clusters_far_apart_keep_their_digits() {
    far_clusters(1e2, 1e-9);
    far_clusters(1e4, 1e-9);
    far_clusters(1e6, 0.0);
    far_clusters(1e8, 0.0);
}

/// Two clusters in three columns, from both starts and with all algorithms: none may get stuck with a covariance that
/// lost its digits because of the distance.
#[test]
fn far_clusters_are_found_from_every_start_by_every_algorithm() {
    let (rows, _) = artificial(1200, 3, 1, 54);
    for (distance, regularization, tolerance) in [(1e4, 1e-9, 1e-9), (1e6, 0.0, 1e-9), (1e8, 0.0, 1e-9)] {
        let far = |n: usize, x: f64| if n < 500 { x } else { x + distance * 4.4 };
        let values: Vec<f64> = (0..1200).flat_map(|n| rows.row(n).into_iter().map(move |x| far(n, x))).collect();
        let rows = Rows::from_vec(values, 3).unwrap();
        let expected = {
            let labels: Vec<u32> = (0..1200).map(|n| u32::from(n >= 500)).collect();
            let labelled = rows.clone().with_labels(labels).unwrap();
            let options = rounds(3).regularization(regularization);
            fit_rows(&labelled, 2, &Start::Labels, &options).unwrap()
        };
        for algorithm in [Algorithm::Em, Algorithm::Cem, Algorithm::Sem] {
            for start in [Start::KmeansPlusPlus, Start::Random] {
                for seed in 0..4 {
                    let options =
                        crate::single().algorithm(algorithm).regularization(regularization).seed(seed).restarts(3);
                    let fit = fit_rows(&rows, 2, &start, &options).unwrap();
                    let swapped = fit.model.weights[0] > fit.model.weights[1];
                    let order = if swapped { [1, 0] } else { [0, 1] };
                    for (k, &other) in order.iter().enumerate() {
                        let (a, b) = (fit.model.components.covariance(other), expected.model.components.covariance(k));
                        for (a, b) in a.iter().zip(b) {
                            assert!(
                                (a - b).abs() <= tolerance * b.abs().max(10.0),
                                "{distance:e} {algorithm:?} {start:?} {seed}: {a} {b}"
                            );
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn one_huge_outlier_does_not_blur_the_rest() {
    let (rows, _) = artificial(200, 3, 1, 55);
    let mut values: Vec<f64> = (0..200).flat_map(|n| rows.row(n)).collect();
    let plain = Rows::from_vec(values[3..].to_vec(), 3).unwrap();
    let alone = fit_rows(&plain, 1, &Start::KmeansPlusPlus, &crate::em()).unwrap();
    values[1] = 1e12;
    let rows = Rows::from_vec(values, 3).unwrap();
    for algorithm in [Algorithm::Em, Algorithm::Cem, Algorithm::Sem] {
        let fit = fit_rows(&rows, 2, &Start::KmeansPlusPlus, &crate::single().algorithm(algorithm)).unwrap();
        let k = usize::from(fit.model.weights[1] > 0.5);
        for (a, b) in fit.model.components.covariance(k).iter().zip(alone.model.components.covariance(0)) {
            assert!((a - b).abs() < 1e-9 * 20.0, "{algorithm:?}: {a} {b}");
        }
    }
}

/// Values that differ only in their last bits: the floor stays above the resolution of a mean.
#[test]
fn a_spread_of_a_few_last_bits_keeps_em_monotone() {
    let rows = Rows::from_slice(
        &[277_430.724_791_045_5, 17_064.874_439_653_15, -442_381.884_827_206_7, 17_064.874_439_656_75],
        2,
    )
    .unwrap();
    let one = |n| fit_rows(&rows, 1, &Start::KmeansPlusPlus, &rounds(n)).unwrap().mean_ln_likelihood;
    assert!(one(1) >= one(0) - 0.01, "{} {}", one(1), one(0));
}

/// A common centre of all components was 1e17 away, and every row was evaluated as if it were at 0.
#[test]
fn one_far_component_cost_all_others_their_digits() {
    let components = SphericalGaussian::new(1, vec![0.0, 10.0, 1e18], vec![1.0, 1.0, 1e18]).unwrap();
    let model = Mixture::new(vec![0.45, 0.45, 0.1], components).unwrap();
    let values = [0.0, 3.0, 4.0, 6.0, 7.0, 10.0];
    let rows = Rows::from_slice(&values, 1).unwrap();
    assert_eq!(model.labels(&rows).unwrap(), [0, 0, 0, 1, 1, 1]);
    let densities = model.ln_densities(&rows).unwrap();
    for (x, density) in values.iter().zip(densities) {
        let joint = |mean: f64| 0.45 * (-0.5 * (x - mean).powi(2)).exp();
        let expected = (joint(0.0) + joint(10.0)).ln() - 0.5 * std::f64::consts::TAU.ln();
        assert!((density - expected).abs() < 1e-12, "{x}: {density} {expected}");
    }
}
