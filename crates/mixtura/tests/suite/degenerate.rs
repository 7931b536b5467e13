//! Checks that degenerate data are never fatal, and that every repair is recorded.

use mixtura::driver::EventKind;
use mixtura::{Algorithm, Error, FullGaussian, Mixture, Poisson, Rows, Start};

use crate::{artificial, fit_rows, rounds};

const ALGORITHMS: [Algorithm; 5] = [Algorithm::Em, Algorithm::Sem, Algorithm::Cem, Algorithm::Saem, Algorithm::Auto];

fn is_finite(model: &Mixture<FullGaussian>) -> bool {
    let parameters = |k| model.components.mean(k).iter().chain(model.components.covariance(k));
    (model.weights.iter().sum::<f64>() - 1.0).abs() < 1e-12
        && model.weights.iter().all(|weight| *weight >= 0.0)
        && (0..model.n_components()).flat_map(parameters).all(|x| x.is_finite())
}

#[test]
fn a_component_without_rows_is_reseeded_and_recorded() {
    let (rows, model) = artificial(1000, 2, 2, 61);
    // A third component, so far away that no row is ever assigned to it.
    let mut means = [model.components.mean(0), model.components.mean(1)].concat();
    means.extend([1e6, 1e6]);
    let covariances = [model.components.covariance(0), model.components.covariance(1), &[1.0, 0.0, 0.0, 1.0]].concat();
    let start = Mixture::new(vec![0.4, 0.4, 0.2], FullGaussian::new(2, means, covariances).unwrap()).unwrap();
    for algorithm in ALGORITHMS {
        let options = rounds(10).algorithm(algorithm);
        let fit = fit_rows(&rows, 3, &Start::Model(start.clone()), &options).unwrap();
        let reseeded = fit.events.iter().find(|event| event.kind == EventKind::Reseeded).unwrap();
        assert_eq!((reseeded.component, reseeded.first), (Some(2), 1));
        assert!(is_finite(&fit.model) && fit.mean_ln_likelihood.is_finite());
        // After it was moved into the data, it has rows.
        assert!(fit.model.weights[2] > 1e-3, "{:?}", fit.model.weights);
    }
}

#[test]
fn a_reseeded_component_gets_weight_one_over_k() {
    let (rows, model) = artificial(900, 1, 2, 62);
    let means = vec![model.components.mean(0)[0], model.components.mean(1)[0], 1e9];
    let start = FullGaussian::new(1, means, vec![20.0, 20.0, 1e-3]).unwrap();
    let start = Mixture::new(vec![0.4, 0.4, 0.2], start).unwrap();
    let options = rounds(1).algorithm(Algorithm::Cem);
    let fit = fit_rows(&rows, 3, &Start::Model(start.clone()), &options).unwrap();
    assert!((fit.model.weights[2] - 1.0 / 3.0).abs() < 1e-15);
    let labels = start.labels(&rows).unwrap();
    let share = labels.iter().filter(|&&label| label == 0).count() as f64 / 900.0;
    assert!((fit.model.weights[0] - share * 2.0 / 3.0).abs() < 1e-12);
}

#[test]
fn a_component_with_too_few_rows_is_blended() {
    // Six rows, D = 2, ζ = 3; the second component has two rows: (2·S + 1·Σ)/3.
    let values = [0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 1.0, 1.0, 9.0, 9.0, 9.0, 11.0];
    let rows = Rows::from_slice(&values, 2).unwrap();
    let start = FullGaussian::new(2, vec![0.5, 0.5, 9.0, 10.0], vec![1.0, 0.0, 0.0, 1.0, 2.0, 0.0, 0.0, 2.0]).unwrap();
    let start = Mixture::new(vec![0.5, 0.5], start).unwrap();
    let options = rounds(1).algorithm(Algorithm::Cem);
    let fit = fit_rows(&rows, 2, &Start::Model(start), &options).unwrap();
    assert_eq!(fit.events[0].kind, EventKind::Blended);
    assert_eq!(fit.events[0].component, Some(1));
    let expected = [2.0 / 3.0, 0.0, 0.0, (2.0 * 1.0 + 2.0) / 3.0];
    for (found, expected) in fit.model.components.covariance(1).iter().zip(expected) {
        assert!((found - expected).abs() < 1e-14);
    }
    assert_eq!(fit.model.components.mean(1), [9.0, 10.0]);
}

#[test]
fn repeated_rows_do_not_give_a_zero_covariance() {
    let values: Vec<f64> = (0..300).flat_map(|i| [f64::from(i % 3), f64::from(i % 3 * 2)]).collect();
    let rows = Rows::from_slice(&values, 2).unwrap();
    for algorithm in ALGORITHMS {
        for start in [Start::KmeansPlusPlus, Start::Random] {
            for regularization in [1e-9, 0.0] {
                let options = rounds(20).algorithm(algorithm).regularization(regularization);
                let fit = fit_rows(&rows, 3, &start, &options).unwrap();
                assert!(is_finite(&fit.model) && fit.mean_ln_likelihood.is_finite());
                assert!(!fit.events.is_empty(), "{algorithm:?} {start:?} {regularization}");
            }
        }
    }
}

#[test]
fn a_constant_column_and_equal_rows_can_be_fitted() {
    let values: Vec<f64> = (0..100).flat_map(|i| [f64::from(i), 7.0]).collect();
    let fit = fit_rows(&Rows::from_slice(&values, 2).unwrap(), 2, &Start::KmeansPlusPlus, &rounds(10)).unwrap();
    assert!(is_finite(&fit.model));
    assert!((fit.model.components.covariance(0)[3] / (1e-9 * 49.0) - 1.0).abs() < 1e-6);
    let equal = Rows::from_slice(&[2.0; 50], 1).unwrap();
    let fit = fit_rows(&equal, 1, &Start::KmeansPlusPlus, &crate::em()).unwrap();
    assert_eq!(fit.model.components.mean(0), [2.0]);
    assert!(fit.events.iter().any(|event| event.kind == EventKind::Clipped));
}

#[test]
fn more_components_than_distinct_rows_are_rejected() {
    let rows = Rows::from_slice(&[1.0, 1.0, 2.0, 0.0, -0.0, 2.0], 1).unwrap();
    let error = fit_rows(&rows, 4, &Start::KmeansPlusPlus, &crate::em()).unwrap_err();
    assert_eq!(error, Error::TooFewDistinctRows { n_components: 4, n_distinct: 3 });
    for start in [Start::KmeansPlusPlus, Start::Random] {
        assert!(fit_rows(&rows, 3, &start, &rounds(3)).is_ok());
    }
}

#[test]
fn a_far_outlier_stays_in_the_likelihood() {
    let (rows, _) = artificial(500, 2, 2, 63);
    let mut values: Vec<f64> = (0..500).flat_map(|n| rows.row(n)).collect();
    values.extend([1e7, -1e7]);
    let rows = Rows::from_slice(&values, 2).unwrap();
    for algorithm in ALGORITHMS {
        let options = rounds(25).algorithm(algorithm);
        let fit = fit_rows(&rows, 2, &Start::KmeansPlusPlus, &options).unwrap();
        assert!(is_finite(&fit.model) && fit.mean_ln_likelihood.is_finite());
    }
    let model = artificial(10, 2, 2, 63).1;
    assert!(model.score(&rows).unwrap().ln_likelihood < -1e10);
}

#[test]
fn reaching_the_limit_on_rounds_is_not_an_error() {
    let (rows, _) = artificial(2000, 3, 3, 64);
    let fit = fit_rows(&rows, 3, &Start::Random, &crate::em().rounds(3)).unwrap();
    assert!(!fit.termination.has_converged());
    assert!(fit.events.iter().any(|event| event.kind == EventKind::RoundLimit));
    assert_eq!(fit.rounds, 3);
}

#[test]
fn a_fit_that_is_repaired_in_every_round_still_ends() {
    let rows = Rows::from_slice(&[3.0, 3.0, 3.0, 3.0, 3.0, 3.0], 2).unwrap();
    for algorithm in [Algorithm::Em, Algorithm::Cem, Algorithm::Sem] {
        let options = crate::single().algorithm(algorithm).regularization(0.0);
        let fit = fit_rows(&rows, 1, &Start::KmeansPlusPlus, &options).unwrap();
        assert!(fit.termination.has_converged() && fit.rounds < 30, "{algorithm:?} {}", fit.rounds);
        assert!(fit.events.iter().any(|event| event.kind.is_repair()));
    }
}

#[test]
fn extreme_constant_columns_can_be_fitted() {
    for value in [1e160, 1e300, 1e-300, -1e200] {
        let values = [1.0, value, 2.0, value, 5.0, value];
        let fit = fit_rows(&Rows::from_slice(&values, 2).unwrap(), 1, &Start::KmeansPlusPlus, &rounds(3)).unwrap();
        assert!(is_finite(&fit.model) && fit.mean_ln_likelihood.is_finite(), "{value:e}");
    }
}

#[test]
fn a_model_larger_than_memory_is_rejected() {
    let rows = Rows::from_vec(vec![1.0; 3 * 40_000], 40_000).unwrap();
    let error = fit_rows(&rows, 1, &Start::KmeansPlusPlus, &crate::em()).unwrap_err();
    assert_eq!(error.to_string(), "the parameters of 1 components in 40000 columns would take 13 GB");
}

#[test]
fn a_count_near_the_largest_float_gave_a_nan_model() {
    for values in [vec![1.7e308], vec![1.7e308; 3]] {
        let rows = Rows::from_vec(values, 1).unwrap();
        assert!(matches!(mixtura::Fitter::<Poisson>::new(1).fit(&rows), Err(Error::Overflow { column: 0, .. })));
    }
}
