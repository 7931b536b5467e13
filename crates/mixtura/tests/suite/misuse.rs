//! Checks that mistakes of callers are errors: neither panics nor made-up results.

use std::sync::atomic::{AtomicU64, Ordering};

use mixtura::driver::{Attempts, Observer, Problem, Quiet, Run};
use mixtura::rows::Normalization;
use mixtura::sweep::Piece;
use mixtura::{
    Algorithm, Diagonal, Error, Full, FullGaussian, Gmm, Mixture, Options, Poisson, Rows, Source, Start, TiedGaussian,
};

use crate::{artificial, em};

#[test]
fn rows_after_the_last_are_an_error_not_zeros() {
    let (rows, model) = artificial(100, 2, 3, 51);
    let evaluator = model.evaluator().unwrap();
    for (start, end) in [(98, 104), (100, 101), (101, 101), (7, 3), (0, usize::MAX)] {
        let expected = Error::NoSuchRows { start, end, n_rows: 100 };
        assert_eq!(evaluator.labels_in(&rows, start..end).unwrap_err(), expected);
        assert_eq!(evaluator.posteriors_in(&rows, start..end).unwrap_err(), expected);
        assert_eq!(evaluator.ln_densities_in(&rows, start..end).unwrap_err(), expected);
        assert_eq!(evaluator.classify_in(&rows, start..end).unwrap_err(), expected);
    }
    let message = evaluator.labels_in(&rows, 98..104).unwrap_err().to_string();
    assert_eq!(message, "there are no rows 99 to 104 among 100 rows");
    assert_eq!(evaluator.labels_in(&rows, 98..100).unwrap(), model.labels(&rows).unwrap()[98..]);
    assert_eq!(evaluator.labels_in(&rows, 100..100).unwrap(), [0; 0]);
    let counts = Rows::from_slice(&[1.0, 2.0], 1).unwrap();
    let model = Mixture::new(vec![1.0], Poisson::new(1, vec![1.0]).unwrap()).unwrap();
    assert!(matches!(model.evaluator().unwrap().labels_in(&counts, 1..3), Err(Error::NoSuchRows { .. })));
}

#[test]
fn a_start_is_not_dropped_when_the_covariance_is_chosen_after_it() {
    let (rows, model) = artificial(300, 2, 3, 52);
    let started = Gmm::new(3).algorithm(Algorithm::Em).rounds(0).start_from(model.clone());
    assert_eq!(started.clone().covariance(Diagonal).fit(&rows).unwrap_err(), Error::StartOfOtherFamily);
    // The same structure keeps the model, and another start replaces it.
    assert_eq!(started.clone().covariance(Full).fit(&rows).unwrap().model, model);
    assert!(started.covariance(Diagonal).start(Start::Random).fit(&rows).is_ok());
}

/// Stops after three rounds.
#[derive(Default)]
struct ThreeRounds(AtomicU64);

impl Observer for ThreeRounds {
    fn updated(&self, _restart: u64, round: u64, _n_repairs: u64) {
        self.0.store(round, Ordering::Relaxed);
    }
    fn is_stopped(&self) -> bool {
        self.0.load(Ordering::Relaxed) >= 3
    }
}

#[test]
fn a_saved_fit_does_not_continue_with_another_problem() {
    let (rows, _) = artificial(300, 2, 3, 53);
    let (wide, _) = artificial(300, 4, 3, 53);
    let (fewer, _) = artificial(299, 2, 3, 53);
    let [source, wide, fewer] = [&rows, &wide, &fewer].map(|rows| Source::of(rows).unwrap());
    let options = || em().restarts(2);
    let problem = |source, n_components, options| {
        Problem::<FullGaussian, _>::new(source, n_components, Start::Random, options).unwrap()
    };
    let mine = problem(&source, 3, options());
    let mut attempts = Attempts::new(&mine);
    mine.go(&mut attempts, &ThreeRounds::default()).unwrap();
    let others = [
        (problem(&source, 5, options()), "the number of components must be 3, as in the saved fit, not 5"),
        (problem(&wide, 3, options()), "the number of columns must be 2, as in the saved fit, not 4"),
        (problem(&fewer, 3, options()), "the number of rows must be 300, as in the saved fit, not 299"),
        (problem(&source, 3, options().seed(9)), "seed must be 0, as in the saved fit, not 9"),
        (problem(&source, 3, options().restarts(3)), "restarts must be 2, as in the saved fit, not 3"),
        (
            problem(&source, 3, options().algorithm(Algorithm::Sem)),
            "algorithm must be em, as in the saved fit, not sem",
        ),
    ];
    for (other, message) in others {
        let before = attempts.clone();
        assert_eq!(other.go(&mut attempts, &Quiet).unwrap_err().to_string(), message);
        assert_eq!(other.answer(&attempts).unwrap_err().to_string(), message);
        assert_eq!(attempts, before);
    }
    problem(&source, 3, options().tolerance(1e-3)).go(&mut attempts, &Quiet).unwrap();
    assert!(attempts.has_ended());
}

#[test]
fn a_run_does_not_continue_with_a_problem_of_another_shape() {
    let (rows, _) = artificial(300, 2, 3, 54);
    let (wide, _) = artificial(300, 4, 3, 54);
    let [source, wide] = [&rows, &wide].map(|rows| Source::of(rows).unwrap());
    let problem =
        |source, n_components| Problem::<FullGaussian, _>::new(source, n_components, Start::Random, em()).unwrap();
    let mut run = problem(&source, 3).run(0).unwrap();
    run.step(&problem(&source, 3), &Quiet).unwrap();
    let refused = run.step(&problem(&wide, 3), &Quiet).unwrap_err();
    assert_eq!(refused, Error::Width { n_model: 2, n_data: 4 });
    let refused = run.step(&problem(&source, 5), &Quiet).unwrap_err();
    assert_eq!(refused.to_string(), "the number of components must be 3, as in the saved fit, not 5");
}

#[test]
fn a_saved_fit_with_lists_of_the_wrong_length_is_refused() {
    let (rows, _) = artificial(300, 2, 3, 55);
    let source = Source::of(&rows).unwrap();
    let problem = Problem::<FullGaussian, _>::new(&source, 3, Start::Random, em().restarts(2)).unwrap();
    let mut attempts = Attempts::new(&problem);
    problem.go(&mut attempts, &ThreeRounds::default()).unwrap();
    let saved = serde_json::to_value(&attempts).unwrap();
    let run = saved["attempts"].as_array().unwrap().iter().map(|attempt| &attempt["main"]).find(|run| !run.is_null());
    let run = run.unwrap();
    assert!(serde_json::from_value::<Run<FullGaussian>>(run.clone()).is_ok());
    let refusal = |field: &str, value: serde_json::Value| {
        let mut run = run.clone();
        run["state"][field] = value;
        serde_json::from_value::<Run<FullGaussian>>(run).unwrap_err().to_string()
    };
    assert_eq!(refusal("reseeds", serde_json::json!([])), "0 reseeds for 3 components");
    assert_eq!(refusal("origin", serde_json::json!([1.0])), "1 origin for 2 columns");
    let small = FullGaussian::new(1, vec![0.0], vec![1.0]).unwrap();
    let best = serde_json::json!({ "model": Mixture::new(vec![1.0], small).unwrap(), "mean_ln_likelihood": 0.0 });
    assert_eq!(refusal("best", best), "1 component for 3 components of the model");

    let mut shorter = saved;
    shorter["attempts"].as_array_mut().unwrap().pop();
    let mut shorter: Attempts<FullGaussian> = serde_json::from_value(shorter).unwrap();
    let refused = problem.go(&mut shorter, &Quiet).unwrap_err();
    assert_eq!(refused.to_string(), "1 saved restart for 2 restarts");
}

#[test]
fn too_many_restarts_are_an_error_not_a_panic() {
    let rows = Rows::from_slice(&[0.0, 1.0, 2.0], 1).unwrap();
    let refused = Gmm::new(1).restarts(u64::MAX).fit(&rows).unwrap_err();
    assert_eq!(refused.to_string(), "restarts must be at most a million, not 18446744073709551615");
    assert!(Options::default().restarts(1_000_000).check().is_ok());
}

#[test]
fn more_draws_than_memory_are_an_error_not_a_panic() {
    let (_, model) = artificial(10, 2, 3, 56);
    assert!(matches!(model.sample(0..usize::MAX, 1), Err(Error::Memory { .. })));
    assert!(matches!(model.sample(0..usize::MAX / 64, 1), Err(Error::Memory { .. })));
}

#[test]
fn a_normalization_of_another_width_is_an_error_not_a_panic() {
    let rows = Rows::from_slice(&[0.0, 1.0, 2.0], 1).unwrap();
    let normalization = Normalization::new(vec![0.0; 2], vec![1.0; 2]).unwrap();
    let refused = rows.with_normalization(normalization).unwrap_err();
    assert_eq!(refused.to_string(), "2 normalized columns for 1 column");
}

#[test]
fn a_piece_that_begins_within_a_chunk_is_an_error_not_a_panic() {
    let rows = Rows::from_slice(&[0.0, 1.0, 2.0], 1).unwrap();
    let refused = Piece::at(&rows, 1000).map(|piece| piece.first_row).unwrap_err();
    assert_eq!(refused.to_string(), "the first row of a piece must be a multiple of 1024, not 1000");
    assert_eq!(Piece::at(&rows, 2048).unwrap().first_chunk, 2);
}

#[test]
fn damaged_weights_are_an_error_neither_a_panic_nor_label_0() {
    let (rows, model) = artificial(50, 2, 3, 57);
    let refusals = |model: &Mixture<FullGaussian>| {
        let start = Gmm::new(3).start_from(model.clone());
        [
            model.labels(&rows).unwrap_err(),
            model.posteriors(&rows).unwrap_err(),
            model.score(&rows).unwrap_err(),
            model.sample(0..3, 1).unwrap_err(),
            start.fit(&rows).unwrap_err(),
        ]
    };
    let mut nan = model.clone();
    nan.weights[1] = f64::NAN;
    for refused in refusals(&nan) {
        let message = "component weights must be at least 0 and sum to 1: the weight of component 1 is NaN";
        assert_eq!(refused.to_string(), message);
    }
    let mut short = model;
    short.weights.pop();
    for refused in &refusals(&short)[..4] {
        assert_eq!(refused.to_string(), "2 weights for 3 components");
    }
}

#[test]
fn another_number_of_components_names_both_numbers() {
    let (rows, model) = artificial(50, 2, 3, 58);
    let refused = Gmm::new(2).start_from(model).fit(&rows).unwrap_err();
    assert_eq!(refused.to_string(), "the number of components must be 3, as in the initial model, not 2");
    let refused = TiedGaussian::new(2, vec![0.0; 3], vec![1.0, 0.0, 0.0, 1.0]).unwrap_err();
    assert_eq!(refused.to_string(), "3 means do not divide into components of 2 columns");
}
