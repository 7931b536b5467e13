//! Checks that searching for near components changes nothing: labels and likelihoods agree bit for bit, statistics of
//! soft assignments up to the order of their sums.

use mixtura::generate::Artificial;
use mixtura::pass::{Assignment, Pass, Precision};
use mixtura::random::{Address, Purpose};
use mixtura::{Algorithm, FullGaussian, Mixture, Rows, Source, Start};

use crate::{assert_close, assert_models_close, fit_rows, reference, rounds, started};

fn separated(n_rows: usize, n_columns: usize, n_components: usize) -> (Rows<'static>, Mixture<FullGaussian>) {
    let shape = Artificial { n_columns, n_components, separation: 6.0, ..Artificial::default() };
    let model = shape.mixture(3).unwrap();
    let (values, _) = model.sample(0..n_rows, 3).unwrap();
    (Rows::from_vec(values, n_columns).unwrap(), model)
}

/// Compares three passes; the later ones have hints from the first. Returns whether there was a search, which shows in
/// the sums of soft assignments.
#[track_caller]
fn check(rows: &Rows<'_>, model: &Mixture<FullGaussian>, what: &str) -> bool {
    let source = Source::of(rows).unwrap();
    let n_columns = rows.n_columns();
    let mut searched = false;
    for round in 0..3 {
        let address = Address { seed: 5, restart: 0, round, purpose: Purpose::Label };
        let sampled = Assignment::Sampled(address);
        for (assignment, precision) in [
            (sampled, Precision::Certified),
            (sampled, Precision::Double),
            (Assignment::Hard, Precision::Double),
            (Assignment::Soft, Precision::Double),
        ] {
            let pass = Pass { precision, ..Pass::new(&source, model.clone(), assignment).unwrap() };
            let plain = Pass { probe: Vec::new(), ..pass.clone() };
            let (near, dense) = (source.sweep(&pass).unwrap(), source.sweep(&plain).unwrap());
            let what = format!("{what}, {assignment:?} in {precision:?}, round {round}");
            assert_eq!(near.ln_likelihood.to_bits(), dense.ln_likelihood.to_bits(), "{what}");
            assert!((near.weight - dense.weight).abs() <= 1e-12 * dense.weight, "{what}");
            if assignment != Assignment::Soft {
                assert_eq!(near.moments, dense.moments, "{what}");
                continue;
            }
            searched |= near.moments != dense.moments;
            for k in 0..model.n_components() {
                for i in 0..n_columns {
                    let size = dense.moments.second(k, i, i);
                    let close =
                        |a: f64, b: f64, size: f64| assert!((a - b).abs() <= 1e-12 * size, "{what}: {a} and {b}");
                    close(near.moments.first(k)[i], dense.moments.first(k)[i], size.sqrt() * dense.weight.sqrt());
                    for j in 0..=i {
                        let size = (size * dense.moments.second(k, j, j)).sqrt();
                        close(near.moments.second(k, i, j), dense.moments.second(k, i, j), size);
                    }
                }
            }
        }
    }
    searched
}

#[test]
fn a_search_changes_nothing_on_many_shapes() {
    for (n_rows, n_columns, n_components) in
        [(3000, 10, 64), (5003, 10, 100), (2048, 5, 40), (1500, 4, 33), (3001, 27, 50), (2100, 3, 200)]
    {
        let (rows, model) = separated(n_rows, n_columns, n_components);
        let what = format!("{n_rows}×{n_columns} K {n_components}");
        assert!(check(&rows, &model, &what), "{what}: no search");
    }
}

#[test]
fn a_search_changes_nothing_from_a_start_or_with_weights() {
    let (rows, _) = separated(4000, 10, 64);
    assert!(check(&rows, &started(&rows, 64, &Start::KmeansPlusPlus, 1), "k-means++"));
    check(&rows, &started(&rows, 64, &Start::Random, 1), "random");
    let (rows, model) = separated(3000, 6, 48);
    let weights: Vec<f64> = (0..3000).map(|n| if n % 7 == 0 { 0.0 } else { 0.3 + f64::from(n % 5) }).collect();
    assert!(check(&rows.with_weights(weights).unwrap(), &model, "weights"));
}

#[test]
fn a_search_changes_nothing_on_difficult_data() {
    let (rows, model) = separated(3000, 4, 40);
    let map = |f: &dyn Fn(usize, usize, f64) -> f64| {
        let values = (0..3000)
            .flat_map(|n| rows.row(n).into_iter().enumerate().map(move |(d, x)| f(n, d, x)).collect::<Vec<_>>());
        Rows::from_vec(values.collect(), 4).unwrap()
    };
    let outliers = map(&|n, d, x| if n % 300 == 7 { x * [1e3, 1e7, 1e11, 1e15][d] } else { x });
    assert!(check(&outliers, &model, "outliers"));
    let shifted = map(&|_, d, x| x * [1e-9, 1.0, 1e6, 1e12][d] + [0.0, 1e9, -1e6, 3.0][d]);
    check(&shifted, &started(&shifted, 40, &Start::KmeansPlusPlus, 1), "uneven columns");
    let constant = map(&|_, d, x| if d < 2 { 7.0 } else { x });
    check(&constant, &started(&constant, 40, &Start::KmeansPlusPlus, 1), "first columns that tell nothing");
    let (mixed, far) = with_a_component_far_away(&rows, &model);
    assert!(check(&mixed, &far, "a component far away"));
}

/// Shifts one row in 40, together with one component, so far that its rows are centred on its own mean.
fn with_a_component_far_away(rows: &Rows<'_>, model: &Mixture<FullGaussian>) -> (Rows<'static>, Mixture<FullGaussian>) {
    let n_columns = rows.n_columns();
    let (mut means, mut covariances) = (Vec::new(), Vec::new());
    for k in 0..model.n_components() {
        let far = k == 17;
        means.extend(model.components.mean(k).iter().map(|mean| if far { mean + 1e5 } else { *mean }));
        covariances.extend(model.components.covariance(k).iter().map(|entry| if far { entry * 1e-4 } else { *entry }));
    }
    let components = FullGaussian::new(n_columns, means, covariances).unwrap();
    let shift = |n: usize| if n.is_multiple_of(40) { 1e5 } else { 0.0 };
    let values = (0..rows.n_rows()).flat_map(|n| rows.row(n).into_iter().map(move |x| x + shift(n)));
    let shifted = Rows::from_vec(values.collect(), n_columns).unwrap();
    (shifted, Mixture::new(model.weights.clone(), components).unwrap())
}

/// Compares with code that shares nothing with the pass.
#[test]
fn a_search_agrees_with_the_reference() {
    let (rows, model) = separated(3000, 4, 40);
    let far = with_a_component_far_away(&rows, &model);
    for (rows, model) in [(rows, model), far] {
        let (expected, last) = reference::em(&rows, &model, 3);
        let options = rounds(3).regularization(0.0);
        let fitted = fit_rows(&rows, 40, &Start::Model(model.clone()), &options).unwrap();
        assert_close(fitted.mean_ln_likelihood, expected[3], 1e-9, 1.0);
        assert_models_close(&fitted.model, &last, 1e-9);

        let (posteriors, _) = reference::posteriors(&rows, &model);
        let best = |p: &Vec<f64>| (0..40).max_by(|&a, &b| p[a].total_cmp(&p[b])).unwrap();
        let one_hot: Vec<Vec<f64>> =
            posteriors.iter().map(|p| (0..40).map(|k| f64::from(u8::from(k == best(p)))).collect()).collect();
        let options = options.algorithm(Algorithm::Cem);
        let fitted = fit_rows(&rows, 40, &Start::Model(model), &options.rounds(1)).unwrap();
        assert_models_close(&fitted.model, &reference::maximum(&rows, &one_hot), 1e-9);
    }
}

/// Restarts on few rows run in parallel and share hints.
#[test]
fn parallel_restarts_do_not_disturb_a_search() {
    let (rows, _) = separated(1900, 4, 40);
    for algorithm in [Algorithm::Em, Algorithm::Sem, Algorithm::Cem] {
        let options = rounds(12).algorithm(algorithm).restarts(6);
        let fit = |n_threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().unwrap();
            pool.install(|| fit_rows(&rows, 40, &Start::Random, &options).unwrap().model)
        };
        let alone = fit(1);
        for _ in 0..5 {
            assert_eq!(fit(4), alone, "{algorithm:?}");
        }
    }
}
