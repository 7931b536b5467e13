//! Checks learning from batches: single steps, long streams, empty components, continuing from a saved state.

use mixtura::driver::{EventKind, Gains, Online};
use mixtura::family::Floor;
use mixtura::{Algorithm, FullGaussian, Mixture, Rows, Source, Start};

use crate::{artificial, assert_models_close, fit_rows, rounds};

/// A learner before its first batch, from a given model and without a floor.
fn fresh(rows: &Rows<'_>, model: Mixture<FullGaussian>) -> Online<FullGaussian> {
    let engine = Source::of(rows).unwrap();
    Online::new(model, Floor::of::<FullGaussian>(engine.summary(), 0.0, 0.0))
}

fn learn(online: &mut Online<FullGaussian>, rows: &Rows<'_>, algorithm: Algorithm, gains: Gains) -> f64 {
    let options = crate::single().algorithm(algorithm).regularization(0.0);
    online.learn(&Source::of(rows).unwrap(), &options, &gains).unwrap()
}

#[test]
fn the_first_batch_is_a_round() {
    let (rows, truth) = artificial(2000, 3, 4, 5);
    for algorithm in [Algorithm::Em, Algorithm::Cem, Algorithm::Sem] {
        let mut online = fresh(&rows, truth.clone());
        let likelihood = learn(&mut online, &rows, algorithm, Gains::default());
        let options = rounds(1).algorithm(algorithm).regularization(0.0).result(mixtura::driver::SemResult::Last);
        let round = fit_rows(&rows, 4, &Start::Model(truth.clone()), &options).unwrap();
        assert_models_close(online.model(), &round.model, 1e-11);
        assert!((likelihood - truth.score(&rows).unwrap().mean_ln_likelihood).abs() < 1e-3);
    }
}

#[test]
fn equal_gains_are_the_mean_of_all_batches() {
    // With one component, the posterior is 1 under every model, so the order of rows does not matter.
    let (rows, _) = artificial(3000, 2, 1, 1);
    let everything: Vec<f64> = (0..3000).flat_map(|row| rows.row(row)).collect();
    let start = fit_rows(&rows, 1, &Start::KmeansPlusPlus, &rounds(0)).unwrap().model;
    let mut online = fresh(&rows, start);
    for batch in everything.chunks_exact(2 * 500) {
        let batch = Rows::from_slice(batch, 2).unwrap();
        learn(&mut online, &batch, Algorithm::Em, Gains { decay: 1.0, offset: 0.0 });
    }
    let whole = fit_rows(&rows, 1, &Start::KmeansPlusPlus, &rounds(1).regularization(0.0)).unwrap();
    assert_models_close(online.model(), &whole.model, 1e-11);
}

#[test]
fn a_long_stream_approaches_the_true_model() {
    let (test, truth) = artificial(20_000, 3, 3, 8);
    let best = truth.score(&test).unwrap().mean_ln_likelihood;
    for (algorithm, slack) in [(Algorithm::Em, 5e-3), (Algorithm::Sem, 5e-3)] {
        let mut online = None;
        for batch in 0..400_usize {
            let first = 1_000_000 + batch * 500;
            let rows = Rows::from_vec(truth.sample(first..first + 500, 8).unwrap().0, 3).unwrap();
            let start = || fit_rows(&rows, 3, &Start::ShortEm, &crate::em().restarts(5)).unwrap().model;
            let online = online.get_or_insert_with(|| fresh(&rows, start()));
            learn(online, &rows, algorithm, Gains::default());
        }
        let found = online.unwrap().model().score(&test).unwrap().mean_ln_likelihood;
        assert!(found > best - slack, "{algorithm:?}: {found} after {best}");
    }
}

#[test]
fn a_saved_state_continues_to_the_same_bits_on_any_number_of_threads() {
    let (rows, truth) = artificial(5000, 3, 3, 2);
    let mut whole = fresh(&rows, truth.clone());
    let mut parts = fresh(&rows, truth);
    for _ in 0..4 {
        learn(&mut whole, &rows, Algorithm::Sem, Gains::default());
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        pool.install(|| learn(&mut parts, &rows, Algorithm::Sem, Gains::default()));
        parts = serde_json::from_str(&serde_json::to_string(&parts).unwrap()).unwrap();
    }
    assert_eq!(whole, parts);
}

#[test]
fn an_empty_component_stays_and_is_recorded() {
    let values: Vec<f64> = (0..200).map(|i| f64::from(i % 20)).collect();
    let rows = Rows::from_slice(&values, 1).unwrap();
    let components = FullGaussian::new(1, vec![10.0, 1e6], vec![30.0, 1.0]).unwrap();
    let mut online = fresh(&rows, Mixture::new(vec![0.5, 0.5], components).unwrap());
    learn(&mut online, &rows, Algorithm::Em, Gains::default());
    assert_eq!(online.model().components.mean(1), [1e6]);
    assert!((online.model().weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    let event = online.events().iter().find(|event| event.component == Some(1)).unwrap();
    assert_eq!((event.kind, event.first), (EventKind::ParametersKept, 1));
}

#[test]
fn algorithms_that_cannot_learn_from_batches_are_rejected() {
    let (rows, truth) = artificial(100, 2, 2, 1);
    let engine = Source::of(&rows).unwrap();
    let mut online = fresh(&rows, truth);
    let auto = crate::single().algorithm(Algorithm::Auto);
    let error = online.learn(&engine, &auto, &Gains::default()).unwrap_err();
    assert_eq!(error.to_string(), "the algorithm for batches must be em, sem or cem, not auto");
    let error = online.learn(&engine, &crate::em(), &Gains { decay: 1.5, offset: 0.0 }).unwrap_err();
    assert_eq!(error.to_string(), "decay must be a number from 0 to 1, not 1.5");
    assert_eq!(online.n_batches(), 0);
}

#[test]
fn a_model_is_the_maximum_of_its_expected_statistics() {
    fn check<F: mixtura::family::Family>(components: &F, weights: &[f64]) {
        let n_columns = components.n_columns();
        let floor = Floor {
            smallest_deviation: vec![0.0; n_columns],
            ridge: vec![0.0; n_columns],
            smallest_rate: vec![0.0; n_columns],
            scale: vec![1.0; n_columns],
            centre: vec![0.0; n_columns],
            origin: vec![0.0; n_columns],
        };
        let moments = components.expected_moments(weights);
        let fates = vec![mixtura::family::Fate::Estimate; weights.len()];
        let (again, _) = components.maximize(&moments, &fates, &floor);
        for (a, b) in again.parameters().into_iter().zip(components.parameters()) {
            a.iter().zip(b).for_each(|(a, b)| assert!((a - b).abs() <= 1e-14 * b.abs(), "{a} and {b}"));
        }
        for (k, &weight) in weights.iter().enumerate() {
            assert_eq!(mixtura::family::Moments::weight(&moments, k), weight);
        }
    }
    let (weights, means) = ([0.25, 0.75], vec![1.0, -2.0, 3.0, 5.0, 0.5, 7.0]);
    let matrix = [2.0, 0.5, 0.1, 0.5, 1.0, -0.2, 0.1, -0.2, 3.0];
    check(&FullGaussian::new(3, means.clone(), [matrix, matrix.map(|x| 2.0 * x)].concat()).unwrap(), &weights);
    check(&mixtura::TiedGaussian::new(3, means.clone(), matrix.to_vec()).unwrap(), &weights);
    check(&mixtura::DiagonalGaussian::new(3, means.clone(), vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap(), &weights);
    check(&mixtura::SphericalGaussian::new(3, means, vec![1.5, 2.5]).unwrap(), &weights);
    check(&mixtura::Poisson::new(3, vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap(), &weights);
}

#[test]
fn a_resumed_model_is_not_forgotten_at_once() {
    let (rows, truth) = artificial(20_000, 3, 3, 8);
    let engine = Source::of(&rows).unwrap();
    let floor = Floor::of::<FullGaussian>(engine.summary(), 0.0, 0.0);
    let mut online = Online::resumed(truth.clone(), floor, 1000);
    let few = Rows::from_vec(truth.sample(0..20, 99).unwrap().0, 3).unwrap();
    learn(&mut online, &few, Algorithm::Em, Gains::default());
    assert_eq!(online.n_batches(), 1001);
    let fall = truth.score(&rows).unwrap().mean_ln_likelihood - online.model().score(&rows).unwrap().mean_ln_likelihood;
    assert!((0.0..0.01).contains(&fall), "{fall}");
}
