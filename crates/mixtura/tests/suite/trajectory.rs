//! Follows EM round by round: the plain version's and scikit-learn's.

use std::sync::Mutex;

use mixtura::driver::Observer;
use mixtura::pass::Threads;
use mixtura::{FullGaussian, Mixture, Options, Rows, Start, fit};
use serde_json::Value;

use crate::{artificial, assert_close, assert_models_close, reference, rounds, started};

#[derive(Default)]
struct Likelihoods(Mutex<Vec<f64>>);

impl Observer for Likelihoods {
    fn evaluated(&self, _restart: u64, _round: u64, mean_ln_likelihood: f64) {
        self.0.lock().unwrap().push(mean_ln_likelihood);
    }
}

fn trajectory(
    rows: &Rows<'_>,
    initial: &Mixture<FullGaussian>,
    options: &Options,
) -> (Vec<f64>, Mixture<FullGaussian>) {
    let seen = Likelihoods::default();
    let engine = Threads::new(rows).unwrap();
    let fit = fit(&engine, initial.n_components(), &Start::Model(initial.clone()), options, &seen).unwrap();
    (seen.0.into_inner().unwrap(), fit.model)
}

fn numbers(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(entries) => entries.iter().flat_map(numbers).collect(),
        number => vec![number.as_f64().unwrap()],
    }
}

fn model(value: &Value, n_columns: usize) -> Mixture<FullGaussian> {
    let components = FullGaussian::new(n_columns, numbers(&value["means"]), numbers(&value["covariances"])).unwrap();
    Mixture::new(numbers(&value["weights"]), components).unwrap()
}

#[test]
fn em_follows_scikit_learn_for_fifty_rounds() {
    let golden: Value = serde_json::from_str(include_str!("../golden/trajectory.json")).unwrap();
    let cases = golden["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 5);
    for case in cases {
        let n_columns = case["rows"][0].as_array().unwrap().len();
        let rows = Rows::from_vec(numbers(&case["rows"]), n_columns).unwrap();
        let options = Options { regularization: 0.0, ..rounds(50) };
        let (likelihoods, last) = trajectory(&rows, &model(&case["initial"], n_columns), &options);
        let expected = numbers(&case["mean_log_likelihoods"]);
        assert_eq!(likelihoods.len(), expected.len());
        for (a, b) in likelihoods.iter().zip(&expected) {
            assert!((a - b).abs() < 1e-9, "{a} {b}");
        }
        assert_models_close(&last, &model(&case["final"], n_columns), 1e-7);
    }
}

#[test]
fn em_follows_the_plain_version_for_fifty_rounds() {
    for (n_rows, n_columns, n_components) in [(700, 1, 2), (999, 3, 4), (1500, 6, 3), (1024, 10, 5)] {
        let (rows, _) = artificial(n_rows, n_columns, n_components, 5);
        let initial = started(&rows, n_components, &Start::KmeansPlusPlus, 0);
        let (expected, last) = reference::em(&rows, &initial, 50);
        let (likelihoods, found) = trajectory(&rows, &initial, &Options { regularization: 0.0, ..rounds(50) });
        for (a, b) in likelihoods.iter().zip(&expected) {
            assert_close(*a, *b, 1e-11, 1.0);
        }
        assert_models_close(&found, &last, 1e-7);
    }
}

#[test]
fn the_default_floor_leaves_well_conditioned_fits_alone() {
    let (rows, _) = artificial(1000, 4, 3, 6);
    let initial = started(&rows, 3, &Start::KmeansPlusPlus, 0);
    let plain = trajectory(&rows, &initial, &Options { regularization: 0.0, ..rounds(20) });
    let floored = trajectory(&rows, &initial, &rounds(20));
    assert_eq!(plain, floored);
}

#[test]
fn single_precision_rows_are_computed_in_double() {
    let (rows, _) = artificial(800, 3, 2, 7);
    let narrow: Vec<f32> = (0..800).flat_map(|n| rows.row(n)).map(|x| x as f32).collect();
    let wide: Vec<f64> = narrow.iter().map(|&x| f64::from(x)).collect();
    let narrow = Rows::from_slice(&narrow, 3).unwrap();
    let wide = Rows::from_slice(&wide, 3).unwrap();
    let initial = started(&wide, 2, &Start::KmeansPlusPlus, 0);
    assert_eq!(trajectory(&narrow, &initial, &rounds(10)), trajectory(&wide, &initial, &rounds(10)));
}

#[test]
fn posteriors_labels_and_densities_match_the_plain_version() {
    let (rows, model) = artificial(333, 4, 3, 8);
    let (posteriors, likelihood) = reference::posteriors(&rows, &model);
    let found = model.posteriors(&rows, 0..333).unwrap();
    let labels = model.labels(&rows, 0..333).unwrap();
    let densities = model.ln_densities(&rows, 0..333).unwrap();
    for (n, expected) in posteriors.iter().enumerate() {
        for (k, p) in expected.iter().enumerate() {
            assert!((found[n * 3 + k] - p).abs() < 1e-12);
        }
        assert!(expected.iter().all(|p| *p <= expected[labels[n] as usize]));
    }
    assert_close(densities.iter().sum::<f64>() / 333.0, likelihood, 1e-13, 1.0);
    let score = model.score(&rows).unwrap();
    assert_close(score.mean_log_likelihood, likelihood, 1e-13, 1.0);
    let p = 2.0 + 3.0 * (4.0 + 10.0);
    assert_close(score.aic, -2.0 * 333.0 * likelihood + 2.0 * p, 1e-12, 1.0);
    assert_close(score.bic, -2.0 * 333.0 * likelihood + p * 333f64.ln(), 1e-12, 1.0);
    let best: f64 = posteriors.iter().map(|row| row.iter().copied().fold(0.0, f64::max).ln()).sum();
    assert_close(score.icl, score.bic - 2.0 * best, 1e-12, 1.0);
    // A range that starts and ends within blocks gives the same rows.
    assert_eq!(model.ln_densities(&rows, 7..45).unwrap(), densities[7..45]);
    assert_eq!(model.labels(&rows, 330..333).unwrap(), labels[330..333]);
}
