//! Checks the definition of each start.

use mixtura::family::{Floor, Outcome};
use mixtura::start::maximum_of_labels;
use mixtura::{Algorithm, Diagonal, Error, Fitter, FullGaussian, Gmm, Mixture, Rows, Source, Start, TiedGaussian};

use crate::{artificial, assert_models_close, fit_rows, reference, rounds, started};

#[test]
fn the_papers_start_is_as_the_paper_says() {
    let (rows, _) = artificial(1000, 3, 4, 71);
    let model = started(&rows, 4, &Start::Random, 5);
    let all: Vec<Vec<f64>> = (0..1000).map(|n| rows.row(n)).collect();
    for k in 0..4 {
        assert_eq!(model.weights[k], 0.25);
        let mean = model.components.mean(k);
        assert!(all.iter().any(|row| row == mean));
        let distance =
            |other: usize| -> f64 { mean.iter().zip(model.components.mean(other)).map(|(a, b)| (a - b).powi(2)).sum() };
        let nearest = (0..4).filter(|&other| other != k).map(distance).fold(f64::INFINITY, f64::min);
        for (at, entry) in model.components.covariance(k).iter().enumerate() {
            let expected = if at % 4 == 0 { nearest / 6.0 } else { 0.0 };
            assert!((entry - expected).abs() <= 1e-15 * nearest);
        }
    }
    assert_ne!(model, started(&rows, 4, &Start::Random, 6));
}

/// Means of the paper's start are uniform over rows: 3000 seeds, 10 rows, two means each. χ² with 9 degrees of freedom
/// exceeds 33.72 with probability α = 0.0001; drawing without replacement only makes it smaller.
#[test]
fn the_papers_start_draws_rows_uniformly() {
    let values: Vec<f64> = (0..10).map(f64::from).collect();
    let rows = Rows::from_slice(&values, 1).unwrap();
    let mut counts = [0.0; 10];
    for seed in 0..3000 {
        let model = started(&rows, 2, &Start::Random, seed);
        for k in 0..2 {
            counts[model.components.mean(k)[0] as usize] += 1.0;
        }
    }
    let chi2: f64 = counts.iter().map(|count| (count - 600.0f64).powi(2) / 600.0).sum();
    assert!(chi2 < 33.72, "{chi2}");
}

#[test]
fn one_component_starts_at_the_data() {
    let (rows, _) = artificial(500, 3, 2, 72);
    let expected = reference::maximum(&rows, &vec![vec![1.0]; 500]);
    for start in [Start::Random, Start::KmeansPlusPlus] {
        assert_models_close(&started(&rows, 1, &start, 0), &expected, 1e-12);
    }
}

#[test]
fn labels_start_at_their_groups() {
    let (rows, _) = artificial(600, 2, 3, 73);
    let labels: Vec<u32> = (0..600).map(|n| n % 3).collect();
    let memberships: Vec<Vec<f64>> =
        labels.iter().map(|&label| (0..3).map(|k| f64::from(u8::from(k == label))).collect()).collect();
    let expected = reference::maximum(&rows, &memberships);
    let labelled = rows.clone().with_labels(labels).unwrap();
    assert_models_close(&started(&labelled, 3, &Start::Labels, 0), &expected, 1e-12);
    let error = fit_rows(&labelled, 4, &Start::Labels, &crate::em()).unwrap_err();
    assert_eq!(error, Error::EmptyLabel { label: 3 });
}

#[test]
fn a_start_from_labels_panicked_without_labels() {
    let (rows, _) = artificial(200, 2, 2, 73);
    for algorithm in [Algorithm::Em, Algorithm::Sem, Algorithm::Cem, Algorithm::Saem, Algorithm::Auto] {
        let refused = Gmm::new(2).algorithm(algorithm).start(Start::Labels).fit(&rows).unwrap_err();
        assert_eq!(refused, Error::NoLabels);
    }
    let refused = Gmm::new(2).covariance(Diagonal).start(Start::Labels).fit(&rows).unwrap_err();
    assert_eq!(refused.to_string(), "the rows have no labels to start from");
}

#[test]
fn labels_of_no_component_were_dropped_while_their_weight_counted() {
    let (rows, _) = artificial(3000, 2, 2, 73);
    let mut labels: Vec<u32> = (0..3000).map(|n| n % 2).collect();
    labels[2500] = 2;
    for weights in [None, Some(vec![2.0; 3000])] {
        let labelled = rows.clone().with_labels(labels.clone()).unwrap();
        let labelled = match weights {
            None => labelled,
            Some(weights) => labelled.with_weights(weights).unwrap(),
        };
        let fitter = Gmm::new(2).start(Start::Labels);
        let refused = fitter.fit(&labelled).unwrap_err();
        assert_eq!(refused, Error::Label { row: 2500, label: 2, n_components: 2 });
        assert_eq!(refused.to_string(), "row 2501: label 2 is out of range for 2 components (labels start at 0)");
        let tied = Fitter::<TiedGaussian>::new(2).start(Start::Labels);
        assert_eq!(tied.fit(&labelled).unwrap_err(), refused);
        // One component more, and every row counts: the weights of the start are the shares of the labels.
        let fit = Gmm::new(3).start(Start::Labels).rounds(0).fit(&labelled).unwrap();
        assert!((fit.model.weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        assert!((fit.model.weights[2] - 1.0 / 3000.0).abs() < 1e-15);
    }
}

#[test]
fn kmeans_finds_separated_clusters_and_restarts_agree() {
    let (rows, truth) = {
        let shape =
            mixtura::generate::Artificial { n_columns: 4, n_components: 5, separation: 8.0, ..Default::default() };
        let model = shape.mixture(74).unwrap();
        let (values, _) = model.sample(0..5000, 1).unwrap();
        (Rows::from_vec(values, 4).unwrap(), model)
    };
    let fit = fit_rows(&rows, 5, &Start::KmeansPlusPlus, &crate::em().restarts(4)).unwrap();
    assert_eq!(fit.restarts.len(), 4);
    assert!(fit.mean_ln_likelihood >= truth.score(&rows).unwrap().mean_ln_likelihood);
    assert!(fit.restarts.iter().all(|l| *l <= fit.mean_ln_likelihood));
}

#[test]
fn restarts_really_restart_and_are_never_worse() {
    let (rows, _) = artificial(800, 2, 6, 75);
    let options = |restarts| crate::em().restarts(restarts).seed(1);
    let one = fit_rows(&rows, 6, &Start::Random, &options(1)).unwrap();
    let six = fit_rows(&rows, 6, &Start::Random, &options(6)).unwrap();
    assert_eq!(six.restarts[0], one.mean_ln_likelihood);
    assert!(six.mean_ln_likelihood >= one.mean_ln_likelihood);
    assert!(six.restarts.iter().any(|l| *l != six.restarts[0]));
    assert!(six.events.iter().any(|event| event.kind == mixtura::driver::EventKind::RestartsDisagree));
    assert_eq!(six.restarts[six.winner], six.mean_ln_likelihood);
}

#[test]
fn a_given_model_must_fit_the_data_and_the_number_of_components() {
    let (rows, model) = artificial(100, 2, 3, 76);
    let refused = fit_rows(&rows, 2, &Start::Model(model.clone()), &crate::em()).unwrap_err();
    assert!(matches!(refused, Error::Differs { .. }));
    let narrow = Rows::from_slice(&[1.0, 2.0, 3.0, 4.0], 1).unwrap();
    let refused = fit_rows(&narrow, 3, &Start::Model(model.clone()), &rounds(1)).unwrap_err();
    assert_eq!(refused, Error::Width { n_model: 2, n_data: 1 });
    assert_eq!(started(&rows, 3, &Start::Model(model.clone()), 0), model);
    let wrong = Mixture::new(vec![0.5, 0.4], FullGaussian::new(1, vec![0.0, 1.0], vec![1.0, 1.0]).unwrap());
    assert!(matches!(wrong, Err(Error::MixingWeights { .. })));
}

#[test]
fn short_runs_start_higher_than_one_cluster_start() {
    let mut n_higher = 0;
    for seed in 0..8 {
        let (rows, _) = artificial(3000, 3, 6, 80 + seed);
        let likelihood = |start| started(&rows, 6, &start, seed).score(&rows).unwrap().mean_ln_likelihood;
        n_higher += u32::from(likelihood(Start::ShortEm) > likelihood(Start::KmeansPlusPlus));
    }
    assert_eq!(n_higher, 8);
}

#[test]
fn short_runs_differ_by_seed_and_restart_and_by_nothing_else() {
    let (rows, _) = artificial(60_000, 2, 4, 77);
    let model = started(&rows, 4, &Start::ShortEm, 1);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    assert_eq!(model, pool.install(|| started(&rows, 4, &Start::ShortEm, 1)));
    assert_ne!(model, started(&rows, 4, &Start::ShortEm, 2));
    let options = rounds(0).restarts(2);
    let fit = fit_rows(&rows, 4, &Start::ShortEm, &options).unwrap();
    assert_ne!(fit.restarts[0], fit.restarts[1]);
}

#[test]
fn short_runs_can_start_from_repeated_rows() {
    let values: Vec<f64> = (0..100_000).map(|i| if i < 99_997 { 1.0 } else { f64::from(i) }).collect();
    let rows = Rows::from_slice(&values, 1).unwrap();
    let fit = fit_rows(&rows, 3, &Start::ShortEm, &rounds(3)).unwrap();
    assert!(fit.mean_ln_likelihood.is_finite());
}

/// Groups a million standard deviations apart: relative to a common centre, their covariances would have no digits
/// left.
#[test]
fn labelled_groups_far_apart_have_exact_covariances() {
    let (n, sites) = (300, [[0.0, 0.0], [1e4, 0.0], [0.0, 1e4]]);
    let wobble = |i: usize, d: usize| ((i * 37 + d * 101) % 199) as f64 * 1e-4;
    let values: Vec<f64> = (0..n).flat_map(|i| [0, 1].map(|d| sites[i % 3][d] + wobble(i, d))).collect();
    let labels: Vec<u32> = (0..n).map(|i| (i % 3) as u32).collect();
    let rows = Rows::from_slice(&values, 2).unwrap().with_labels(labels).unwrap();
    let engine = Source::of(&rows).unwrap();
    let floor = Floor::of::<FullGaussian>(engine.summary(), 0.0, 0.0);
    let (model, outcomes) = maximum_of_labels::<FullGaussian, _>(&engine, 3, &floor).unwrap();
    assert!(outcomes.iter().all(|outcome| *outcome == Outcome::Done));
    for k in 0..3 {
        let own: Vec<usize> = (0..n).filter(|i| i % 3 == k).collect();
        let mean = |d: usize| own.iter().map(|&i| values[2 * i + d] - sites[k][d]).sum::<f64>() / own.len() as f64;
        for (a, b) in [(0, 0), (0, 1), (1, 1)] {
            let product =
                |&i: &usize| (values[2 * i + a] - sites[k][a] - mean(a)) * (values[2 * i + b] - sites[k][b] - mean(b));
            let expected = own.iter().map(product).sum::<f64>() / own.len() as f64;
            let found = model.components.covariance(k)[2 * a + b];
            assert!((found - expected).abs() < 1e-9 * 2e-2 * 2e-2, "{found:e} and {expected:e}");
        }
    }
}
