//! Checks that certified single precision draws the same labels as double precision, bit for bit.

use mixtura::driver::{Quiet, Run};
use mixtura::generate::Artificial;
use mixtura::pass::{Assignment, Pass, Precision, Tally};
use mixtura::random::{Address, Purpose};
use mixtura::{Algorithm, FullGaussian, Mixture, Rows, Source, Start};

use crate::averages::{Recording, problem, run_after};
use crate::{artificial, fit_rows, rounds, started};

fn pass(
    rows: &Rows<'_>,
    model: &Mixture<FullGaussian>,
    seed: u64,
    precision: Precision,
) -> Tally<impl PartialEq + std::fmt::Debug + use<>> {
    let source = Source::of(rows).unwrap();
    let address = Address { seed, restart: 0, round: seed, purpose: Purpose::Label };
    let pass = Pass::new(&source, model.clone(), Assignment::Sampled(address)).unwrap();
    source.sweep(&Pass { precision, ..pass }).unwrap()
}

/// The statistics of a pass are sums over labelled rows in a fixed order: equal bits mean equal labels.
#[track_caller]
fn check(rows: &Rows<'_>, model: &Mixture<FullGaussian>, what: &str) {
    for seed in 0..5 {
        let narrow = pass(rows, model, seed, Precision::Certified);
        let wide = pass(rows, model, seed, Precision::Double);
        assert_eq!(narrow.moments, wide.moments, "{what}");
        let size = wide.ln_likelihood.abs().max(wide.weight);
        assert!((narrow.ln_likelihood - wide.ln_likelihood).abs() <= 1e-4 * size, "{what}");
    }
}

#[test]
fn labels_are_those_of_double_precision_on_many_shapes() {
    for (n_rows, n_columns, n_components) in [
        (5000, 1, 2),
        (5000, 2, 5),
        (5000, 10, 10),
        (3000, 27, 3),
        (2000, 50, 20),
        (3000, 10, 100),
        (999, 3, 1),
        (17, 4, 2),
    ] {
        let (rows, truth) = artificial(n_rows, n_columns, n_components, 17);
        let what = format!("{n_rows}×{n_columns} K {n_components}");
        check(&rows, &truth, &what);
        if n_rows > 10 * n_components {
            check(&rows, &started(&rows, n_components, &Start::KmeansPlusPlus, 1), &what);
            check(&rows, &started(&rows, n_components, &Start::Random, 1), &what);
        }
    }
}

#[test]
fn labels_are_those_of_double_precision_on_difficult_data() {
    let (rows, model) = artificial(4000, 4, 3, 18);
    let map = |f: &dyn Fn(usize, usize, f64) -> f64| {
        let values = (0..4000)
            .flat_map(|n| rows.row(n).into_iter().enumerate().map(move |(d, x)| f(n, d, x)).collect::<Vec<_>>());
        Rows::from_vec(values.collect(), 4).unwrap()
    };
    for scale in [1e-30, 1e-12, 1e12, 1e30] {
        let scaled = map(&|_, _, x| x * scale);
        check(&scaled, &started(&scaled, 3, &Start::KmeansPlusPlus, 1), &format!("scale {scale:e}"));
    }
    let uneven = map(&|_, d, x| x * [1e-9, 1.0, 1e6, 1e12][d] + [0.0, 1e9, -1e6, 3.0][d]);
    check(&uneven, &started(&uneven, 3, &Start::KmeansPlusPlus, 1), "uneven columns");
    let outliers = map(&|n, d, x| if n % 500 == 3 { x * [1e3, 1e7, 1e11, 1e15][d] } else { x });
    check(&outliers, &started(&outliers, 3, &Start::KmeansPlusPlus, 1), "outliers");
    check(&outliers, &model, "outliers under the true model");
    // A column that is nearly a sum of others: factors up to 1e6.
    let flat = map(&|n, d, x| if d == 3 { rows.row(n)[0] + rows.row(n)[1] + 1e-6 * x } else { x });
    check(&flat, &started(&flat, 3, &Start::KmeansPlusPlus, 1), "nearly singular");
    // All components are identical: every boundary is a tie between log-densities.
    let means = [model.components.mean(0); 4].concat();
    let covariances = [model.components.covariance(0); 4].concat();
    let same = Mixture::new(vec![0.25; 4], FullGaussian::new(4, means, covariances).unwrap()).unwrap();
    check(&rows, &same, "equal components");
    let mut unequal = same.clone();
    unequal.weights = vec![1.0 - 3e-12, 1e-12, 1e-12, 1e-12];
    check(&rows, &unequal, "tiny weights");
    unequal.weights = vec![0.5, 0.5, 0.0, 0.0];
    check(&rows, &unequal, "zero weights");
}

/// Rows like colour histograms: shares that sum to one, two of them zero in a whole group.
fn histograms() -> Rows<'static> {
    let (rows, _) = artificial(6000, 12, 3, 21);
    let values = (0..6000).flat_map(|n| {
        let is_empty = |d: usize| n % 3 == 0 && [4, 9].contains(&d);
        let shares = rows.row(n).into_iter().enumerate().map(|(d, x)| if is_empty(d) { 0.0 } else { (0.3 * x).exp() });
        let shares: Vec<f64> = shares.collect();
        let sum: f64 = shares.iter().sum();
        shares.into_iter().map(move |share| share / sum)
    });
    Rows::from_vec(values.collect(), 12).unwrap()
}

#[test]
fn draws_along_flat_directions_are_certain_too() {
    let rows = histograms();
    let fitted = fit_rows(&rows, 3, &Start::KmeansPlusPlus, &rounds(10)).unwrap().model;
    check(&rows, &fitted, "histograms");
    // The sum of a row hardly varies: in single precision alone, no draw would be certain.
    for k in 0..3 {
        let covariance = fitted.components.covariance(k);
        let trace: f64 = covariance.iter().step_by(13).sum();
        assert!(covariance.iter().sum::<f64>() < 1e-6 * trace);
    }
    let n_unsure = pass(&rows, &fitted, 0, Precision::Certified).n_unsure;
    assert!(n_unsure < 300, "{n_unsure} of 6000");
}

#[test]
fn flat_directions_do_not_disturb_the_search_for_near_components() {
    let shape = Artificial { n_columns: 6, n_components: 40, separation: 6.0, ..Artificial::default() };
    let (values, _) = shape.mixture(22).unwrap().sample(0..8000, 22).unwrap();
    let with_sum = values.chunks_exact(6).flat_map(|row| row.iter().copied().chain([row.iter().sum::<f64>()]));
    let rows = Rows::from_vec(with_sum.collect(), 7).unwrap();
    let fitted = fit_rows(&rows, 40, &Start::KmeansPlusPlus, &rounds(5)).unwrap().model;
    check(&rows, &fitted, "a column that is the sum of the others");
    let n_unsure = pass(&rows, &fitted, 0, Precision::Certified).n_unsure;
    assert!(n_unsure < 400, "{n_unsure} of 8000");
}

#[test]
fn a_fit_is_the_same_in_both_precisions() {
    let (rows, _) = artificial(8000, 6, 5, 19);
    let fit = |precision| {
        let options =
            rounds(30).algorithm(Algorithm::Sem).precision(precision).result(mixtura::driver::SemResult::Last);
        fit_rows(&rows, 5, &Start::Random, &options).unwrap()
    };
    let (narrow, wide) = (fit(Precision::Certified), fit(Precision::Double));
    assert_eq!(narrow.model, wide.model);
    assert_eq!(narrow.mean_ln_likelihood, wide.mean_ln_likelihood);
}

/// Two groups of rows far narrower than their distance: single precision cannot tell rows of a group apart.
fn narrow_groups() -> Rows<'static> {
    let (rows, _) = artificial(3000, 2, 2, 20);
    let values = (0..3000).flat_map(|n| rows.row(n).into_iter().map(move |x| (n % 2) as f64 + 1e-7 * x));
    Rows::from_vec(values.collect(), 2).unwrap()
}

#[test]
fn rounds_are_drawn_in_double_precision_while_single_precision_does_not_pay() {
    let rows = narrow_groups();
    let initial = started(&rows, 2, &Start::KmeansPlusPlus, 1);
    // With the default floor, components would be wider than the groups.
    let options = rounds(36).algorithm(Algorithm::Sem).regularization(1e-20);
    let whole_on = |n_threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().unwrap();
        pool.install(|| {
            let source = Recording::source(&rows);
            let problem = problem(&source, &initial, &options);
            let mut run = problem.run_from(initial.clone(), 0).unwrap();
            run.go(&problem, &Quiet).unwrap();
            (run, source.engine().statistics())
        })
    };
    let (whole, passes) = whole_on(1);
    let attempts: Vec<usize> = (0..passes.len()).filter(|&i| passes[i].0.precision == Precision::Certified).collect();
    // The first model is wide enough for single precision.
    assert_eq!(attempts, [0, 1, 6, 15, 32]);
    assert!(attempts[1..].iter().all(|&i| passes[i].1.n_unsure > 1000));
    assert_eq!(whole_on(3).0, whole);
    let source = Source::of(&rows).unwrap();
    let problem = problem(&source, &initial, &options);
    for n_rounds in 1..36 {
        let saved = serde_json::to_string(&run_after(&problem, &initial, n_rounds)).unwrap();
        let mut rest: Run<FullGaussian> = serde_json::from_str(&saved).unwrap();
        rest.go(&problem, &Quiet).unwrap();
        assert_eq!(rest, whole, "from round {n_rounds}");
    }
}
