//! Compares EM, round by round, with the reference implementation and with scikit-learn.

use std::sync::Mutex;

use mixtura::driver::Observer;
use mixtura::family::Family;
use mixtura::{
    DiagonalGaussian, FullGaussian, Mixture, Options, Poisson, Rows, Source, SphericalGaussian, Start, TiedGaussian,
    fit,
};
use serde_json::Value;

use crate::conformance::assert_parameters_close;
use crate::{artificial, assert_close, assert_models_close, reference, rounds, started};

#[derive(Default)]
struct Likelihoods(Mutex<Vec<f64>>);

impl Observer for Likelihoods {
    fn evaluated(&self, _restart: u64, _round: u64, mean_ln_likelihood: f64) {
        self.0.lock().unwrap().push(mean_ln_likelihood);
    }
}

fn trajectory<F: Family>(rows: &Rows<'_>, initial: &Mixture<F>, options: &Options) -> (Vec<f64>, Mixture<F>) {
    let seen = Likelihoods::default();
    let engine = Source::of(rows).unwrap();
    let fit = fit(&engine, initial.n_components(), &Start::Model(initial.clone()), options, &seen).unwrap();
    (seen.0.into_inner().unwrap(), fit.model)
}

fn numbers(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(entries) => entries.iter().flat_map(numbers).collect(),
        number => vec![number.as_f64().unwrap()],
    }
}

fn model<F: Family>(value: &Value, n_columns: usize) -> Mixture<F> {
    let weights = numbers(&value["weights"]);
    let parameters = F::shapes(weights.len(), n_columns).iter().map(|(name, _)| numbers(&value[*name])).collect();
    Mixture::new(weights, F::from_parameters(n_columns, parameters).unwrap()).unwrap()
}

/// Follows a recorded trajectory; returns the last models, found and expected.
fn follow<F: Family>(case: &Value) -> [Mixture<F>; 2] {
    let n_columns = case["rows"][0].as_array().unwrap().len();
    let rows = Rows::from_vec(numbers(&case["rows"]), n_columns).unwrap();
    let options = rounds(50).regularization(0.0);
    let (likelihoods, last) = trajectory(&rows, &model::<F>(&case["initial"], n_columns), &options);
    let expected = numbers(&case["mean_log_likelihoods"]);
    assert_eq!(likelihoods.len(), expected.len());
    for (a, b) in likelihoods.iter().zip(&expected) {
        assert!((a - b).abs() < 1e-9, "{a} {b}");
    }
    [last, model(&case["final"], n_columns)]
}

#[test]
fn em_follows_scikit_learn_for_fifty_rounds() {
    let golden: Value = serde_json::from_str(include_str!("../golden/trajectory.json")).unwrap();
    let mut n_followed = [0; 4];
    for case in golden["cases"].as_array().unwrap() {
        let which = ["full", "tied", "diagonal", "spherical"].iter().position(|name| case["covariance"] == *name);
        n_followed[which.unwrap()] += 1;
        match which {
            Some(0) => {
                let [last, expected] = follow::<FullGaussian>(case);
                assert_models_close(&last, &expected, 1e-8);
            }
            Some(1) => assert_parameters_close(&follow::<TiedGaussian>(case), 1e-8),
            Some(2) => assert_parameters_close(&follow::<DiagonalGaussian>(case), 1e-8),
            _ => assert_parameters_close(&follow::<SphericalGaussian>(case), 1e-8),
        }
    }
    assert_eq!(n_followed, [5, 2, 2, 2]);
    let counts = golden["counts"].as_array().unwrap();
    assert_eq!(counts.len(), 2);
    counts.iter().for_each(|case| assert_parameters_close(&follow::<Poisson>(case), 1e-8));
}

/// Two rows of one count, two components: worked out by hand.
#[test]
fn one_round_on_counts_agrees_with_a_calculation_by_hand() {
    let rows = Rows::from_slice(&[0.0, 4.0], 1).unwrap();
    let initial = Mixture::new(vec![0.5, 0.5], Poisson::new(1, vec![1.0, 3.0]).unwrap()).unwrap();
    // For a 0: e⁻¹ : e⁻³ = 1 : e⁻². For a 4: e⁻¹ : 81 e⁻³ = 1 : 81 e⁻².
    let (zero, four) = (1.0 / (1.0 + (-2f64).exp()), 1.0 / (1.0 + 81.0 * (-2f64).exp()));
    let options = rounds(1).regularization(0.0);
    let (likelihoods, last) = trajectory(&rows, &initial, &options);
    assert_close(last.weights[0], 0.5 * (zero + four), 1e-14, 0.0);
    assert_close(last.components.rates(0)[0], 4.0 * four / (zero + four), 1e-14, 0.0);
    assert_close(last.components.rates(1)[0], 4.0 * (1.0 - four) / (2.0 - zero - four), 1e-14, 0.0);
    let of_zero = 0.5 * ((-1f64).exp() + (-3f64).exp());
    let of_four = 0.5 * ((-1f64).exp() + 81.0 * (-3f64).exp()) / 24.0;
    assert_close(likelihoods[0], 0.5 * (of_zero.ln() + of_four.ln()), 1e-14, 0.0);
}

#[test]
fn em_follows_the_reference_for_fifty_rounds() {
    for (n_rows, n_columns, n_components) in [(700, 1, 2), (999, 3, 4), (1500, 6, 3), (1024, 10, 5)] {
        let (rows, _) = artificial(n_rows, n_columns, n_components, 5);
        let initial = started(&rows, n_components, &Start::KmeansPlusPlus, 0);
        let (expected, last) = reference::em(&rows, &initial, 50);
        let (likelihoods, found) = trajectory(&rows, &initial, &rounds(50).regularization(0.0));
        for (a, b) in likelihoods.iter().zip(&expected) {
            assert_close(*a, *b, 1e-11, 1.0);
        }
        assert_models_close(&found, &last, 1e-7);
    }
}

#[test]
fn the_default_floor_does_not_affect_well_conditioned_fits() {
    let (rows, _) = artificial(1000, 4, 3, 6);
    let initial = started(&rows, 3, &Start::KmeansPlusPlus, 0);
    let plain = trajectory(&rows, &initial, &rounds(20).regularization(0.0));
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
fn posteriors_labels_and_densities_match_the_reference() {
    let (rows, model) = artificial(333, 4, 3, 8);
    let (posteriors, likelihood) = reference::posteriors(&rows, &model);
    let found = model.posteriors(&rows).unwrap();
    let labels = model.labels(&rows).unwrap();
    let densities = model.ln_densities(&rows).unwrap();
    for (n, expected) in posteriors.iter().enumerate() {
        for (k, p) in expected.iter().enumerate() {
            assert!((found[n * 3 + k] - p).abs() < 1e-12);
        }
        assert!(expected.iter().all(|p| *p <= expected[labels[n] as usize]));
    }
    assert_close(densities.iter().sum::<f64>() / 333.0, likelihood, 1e-13, 1.0);
    let score = model.score(&rows).unwrap();
    assert_close(score.mean_ln_likelihood, likelihood, 1e-13, 1.0);
    let p = 2.0 + 3.0 * (4.0 + 10.0);
    assert_close(score.aic, -2.0 * 333.0 * likelihood + 2.0 * p, 1e-12, 1.0);
    assert_close(score.bic, -2.0 * 333.0 * likelihood + p * 333f64.ln(), 1e-12, 1.0);
    let best: f64 = posteriors.iter().map(|row| row.iter().copied().fold(0.0, f64::max).ln()).sum();
    assert_close(score.icl, score.bic - 2.0 * best, 1e-12, 1.0);
    // A range that starts and ends within blocks gives the same values.
    let evaluator = model.evaluator().unwrap();
    assert_eq!(evaluator.ln_densities_in(&rows, 7..45).unwrap(), densities[7..45]);
    assert_eq!(evaluator.labels_in(&rows, 330..333).unwrap(), labels[330..333]);
}

#[test]
fn blocks_evaluated_together_match_single_rows() {
    for n_columns in [1, 5, 60] {
        let (rows, model) = artificial(700, n_columns, 3, 9);
        let evaluator = model.evaluator().unwrap();
        let all = evaluator.posteriors(&rows).unwrap();
        for row in (0..700).step_by(37) {
            assert_eq!(evaluator.posteriors_in(&rows, row..row + 1).unwrap(), all[row * 3..][..3], "row {row}");
        }
    }
}
