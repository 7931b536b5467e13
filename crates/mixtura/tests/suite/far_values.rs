//! Checks fits of rows with values far from all others: single outliers, fill values, offsets.

use std::sync::Mutex;

use mixtura::driver::{EventKind, Observer, Quiet};
use mixtura::family::{Family, Floor};
use mixtura::sweep::{FarValue, Summary};
use mixtura::{
    Algorithm, DiagonalGaussian, Fit, FullGaussian, Options, Rows, Source, SphericalGaussian, Start, TiedGaussian, fit,
};
use proptest::prelude::*;

use crate::rounds;

/// Standard normal numbers.
fn normal(n: usize, seed: u64) -> Vec<f64> {
    let one = FullGaussian::new(1, vec![0.0], vec![1.0]).unwrap();
    mixtura::Mixture::new(vec![1.0], one).unwrap().sample(0..n, seed).unwrap().0
}

fn fitted<F: Family>(rows: &Rows<'_>, n_components: usize, options: &Options) -> Fit<F> {
    fit(&Source::of(rows).unwrap(), n_components, &Start::<F>::KmeansPlusPlus, options, &Quiet).unwrap()
}

/// The maximum mean log-likelihood of a single Gaussian without correlations, with a shared variance or a separate one
/// per column: −½ Σ (1 + ln 2πv).
fn without_correlations(values: &[f64], n_columns: usize, is_spherical: bool) -> f64 {
    let n = (values.len() / n_columns) as f64;
    let column = |d: usize| values.iter().skip(d).step_by(n_columns);
    let variance = |d: usize| {
        let mean = column(d).sum::<f64>() / n;
        column(d).map(|x| (x - mean).powi(2)).sum::<f64>() / n
    };
    let mut variances: Vec<f64> = (0..n_columns).map(variance).collect();
    if is_spherical {
        let mean = variances.iter().sum::<f64>() / n_columns as f64;
        variances.fill(mean);
    }
    -0.5 * variances.iter().map(|v| 1.0 + (std::f64::consts::TAU * v).ln()).sum::<f64>()
}

fn one_far_row<F: Family>(rows: &Rows<'_>, values: &[f64], is_spherical: bool) {
    for algorithm in [Algorithm::Em, Algorithm::Sem, Algorithm::Cem, Algorithm::Saem, Algorithm::Auto] {
        for regularization in [1e-9, 0.0] {
            let options = crate::single().algorithm(algorithm).regularization(regularization);
            let fit = fitted::<F>(rows, 1, &options);
            let expected = without_correlations(values, rows.n_columns(), is_spherical);
            // Correlations may be kept where they can be resolved; they only raise it.
            assert!(
                fit.mean_ln_likelihood > expected - 1e-6 * expected.abs(),
                "{:?} {algorithm:?} {regularization:e}: {} and not {expected}",
                F::STRUCTURE,
                fit.mean_ln_likelihood
            );
        }
    }
}

/// A row at 1e10 among standard normal rows made the covariance singular to working precision; the previous covariance
/// was kept, and the mean log-likelihood was −1e16.
#[test]
fn one_far_row_kept_the_previous_covariance() {
    let mut values = normal(3 * 500, 1);
    values.extend([1e10; 3]);
    let plain = Rows::from_slice(&values, 3).unwrap();
    let narrow: Vec<f32> = values.iter().map(|&x| x as f32).collect();
    let rounded: Vec<f64> = narrow.iter().map(|&x| f64::from(x)).collect();
    let weighted = Rows::from_slice(&values, 3).unwrap().with_weights(vec![0.25; 501]).unwrap();
    for (rows, values) in [(&plain, &values), (&Rows::from_slice(&narrow, 3).unwrap(), &rounded), (&weighted, &values)]
    {
        one_far_row::<FullGaussian>(rows, values, false);
        one_far_row::<TiedGaussian>(rows, values, false);
        one_far_row::<DiagonalGaussian>(rows, values, false);
        one_far_row::<SphericalGaussian>(rows, values, true);
    }
    let dropped = |events: &[mixtura::driver::Event]| events.iter().any(|e| e.kind == EventKind::CorrelationsDropped);
    assert!(dropped(&fitted::<FullGaussian>(&plain, 1, &crate::em()).events));
    assert!(dropped(&fitted::<TiedGaussian>(&plain, 1, &crate::em()).events));
}

/// A single column without variance prevented the estimation of all others.
#[test]
fn a_column_without_variance_keeps_only_its_own_previous_variance() {
    let values: Vec<f64> = normal(200, 2).into_iter().flat_map(|x| [10.0 * x, 7.0]).collect();
    let rows = Rows::from_slice(&values, 2).unwrap();
    let options = crate::em().regularization(0.0);
    let column: Vec<f64> = values.iter().step_by(2).copied().collect();
    let mean = column.iter().sum::<f64>() / 200.0;
    let variance = column.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 200.0;
    let diagonal = fitted::<DiagonalGaussian>(&rows, 1, &options);
    assert!((diagonal.model.components.variance(0, 0) / variance - 1.0).abs() < 1e-12);
    assert!(diagonal.model.components.variance(0, 1) > 0.0);
    let full = fitted::<FullGaussian>(&rows, 1, &options);
    assert!((full.model.components.covariance(0)[0] / variance - 1.0).abs() < 1e-12);
    for events in [diagonal.events, full.events] {
        assert!(events.iter().any(|event| event.kind.is_repair()));
    }
}

/// Two rows at 1e16 raised the floor of all components to 35 of their standard deviations.
#[test]
fn fill_values_raised_the_floor_of_all_components() {
    let mut values = normal(2 * 1000, 3);
    let clean = fitted::<FullGaussian>(&Rows::from_slice(&values, 2).unwrap(), 1, &crate::em());
    values.extend([1e16, 1e16, 1e16, 1e16]);
    let rows = Rows::from_slice(&values, 2).unwrap();
    let check = |name: &str, weights: &[f64], covariance: &dyn Fn(usize) -> Vec<f64>| {
        let k = usize::from(weights[1] > weights[0]);
        assert!((weights[k] - 1000.0 / 1002.0).abs() < 1e-9, "{name}: {weights:?}");
        for (a, b) in covariance(k).iter().zip(clean.model.components.covariance(0)) {
            assert!((a - b).abs() < 0.1, "{name}: {a} {b}");
        }
    };
    for algorithm in [Algorithm::Em, Algorithm::Sem, Algorithm::Cem] {
        let options = crate::single().algorithm(algorithm);
        let full = fitted::<FullGaussian>(&rows, 2, &options);
        check("full", &full.model.weights, &|k| full.model.components.covariance(k).to_vec());
        let diagonal = fitted::<DiagonalGaussian>(&rows, 2, &options);
        check("diagonal", &diagonal.model.weights, &|k| {
            let v = diagonal.model.components.variances(k);
            vec![v[0], 0.0, 0.0, v[1]]
        });
        let spherical = fitted::<SphericalGaussian>(&rows, 2, &options);
        check("spherical", &spherical.model.weights, &|k| {
            let v = spherical.model.components.variances(k)[0];
            vec![v, 0.0, 0.0, v]
        });
    }
    let summary = Summary::of(&rows).unwrap();
    assert!(summary.scale.iter().all(|scale| (0.9..1.1).contains(scale)));
    let far = |column: usize| FarValue { row: 1000, column, value: 1e16 };
    let mut found = summary.far_values();
    found.sort_by_key(|far| far.column);
    assert_eq!(found, [far(0), far(1)]);
}

/// Tails of Cauchy and log-normal distributions are long but not suspicious; neither are offsets and counts.
#[test]
fn heavy_tails_and_offsets_have_no_far_values() {
    let normal = normal(200_000, 4);
    let columns: [fn(f64, f64) -> f64; 4] =
        [|x, y| x / y, |x, _| (4.0 * x).exp(), |x, _| 1e12 + x, |x, _| f64::from(u8::from(x > 3.5))];
    let values: Vec<f64> =
        normal.chunks_exact(2).flat_map(|pair| columns.map(|column| column(pair[0], pair[1]))).collect();
    let summary = Summary::of(&Rows::from_slice(&values, 4).unwrap()).unwrap();
    assert_eq!(summary.far_values(), []);
}

#[derive(Default)]
struct Likelihoods(Mutex<Vec<f64>>);

impl Observer for Likelihoods {
    fn evaluated(&self, _restart: u64, _round: u64, likelihood: f64) {
        self.0.lock().unwrap().push(likelihood);
    }
}

/// In rounds without repairs, EM never falls by more than rounding: 1e-10 of the likelihood for its sums and, for each
/// column at the floor, ε/E, the rounding of a covariance entry relative to the smallest variance (see `monotone.rs`);
/// directions determined by other columns are at the floor here. At 1e6, where the origin is not shifted, the rounding
/// of means adds (5.8e-11/3.2e-5)²/2 for each column, which is less.
fn check_monotone<F: Family>(rows: &Rows<'_>, n_components: usize, seed: u64, what: &str) {
    let seen = Likelihoods::default();
    let options = rounds(30).seed(seed);
    let engine = Source::of(rows).unwrap();
    let fit = fit(&engine, n_components, &Start::<FullGaussian>::KmeansPlusPlus, &options, &seen).unwrap();
    let likelihoods = seen.0.into_inner().unwrap();
    let repairs: Vec<_> = fit.events.iter().filter(|event| event.kind.is_repair()).collect();
    let slack_at_floor = rows.n_columns() as f64 * f64::EPSILON / 1e-9;
    for (round, pair) in likelihoods.windows(2).enumerate() {
        let is_repaired = repairs.iter().any(|event| (event.first..=event.last).contains(&(round as u64 + 1)));
        let slack = 1e-10 * pair[0].abs().max(1.0) + slack_at_floor;
        assert!(
            is_repaired || pair[1] >= pair[0] - slack,
            "{what} {:?} round {}: {} after {}, {:e}",
            F::STRUCTURE,
            round + 1,
            pair[1],
            pair[0],
            pair[0] - pair[1]
        );
    }
    // The returned model has the reported likelihood.
    let score = fit.model.score(rows).unwrap().mean_ln_likelihood;
    assert!((score - fit.mean_ln_likelihood).abs() <= 1e-12 * score.abs().max(1.0), "{what}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, ..ProptestConfig::default() })]
    /// Means were rounded to the last bit of the offset in every round: EM fell by up to 6e-5 at 1e11.
    #[test]
    fn em_fell_at_large_offsets_with_columns_that_others_determine(seed in 0u64..10_000, n_components in 1usize..5) {
        let (rows, _) = crate::artificial(300, 2, 3, seed);
        for offset in [0.0, 1e6, 1e9, 1e11, 1e12] {
            let values: Vec<f64> = (0..300)
                .flat_map(|n| {
                    let row = rows.row(n);
                    [row[0] + offset, row[1] + offset, row[0] + row[1] + offset]
                })
                .collect();
            let rows = Rows::from_vec(values, 3).unwrap();
            let what = format!("offset {offset:e}");
            check_monotone::<FullGaussian>(&rows, n_components, seed, &what);
            check_monotone::<TiedGaussian>(&rows, n_components, seed, &what);
            check_monotone::<DiagonalGaussian>(&rows, n_components, seed, &what);
            check_monotone::<SphericalGaussian>(&rows, n_components, seed, &what);
        }
    }
}

/// With more columns than rows, every likelihood depends on the floor. Previously this was reported as "converged"
/// without a warning.
#[test]
fn components_with_too_few_rows_or_at_the_floor_were_not_reported() {
    let kinds = |events: &[mixtura::driver::Event]| -> Vec<(EventKind, Option<usize>)> {
        let is_meant = |kind| matches!(kind, EventKind::OnFloor | EventKind::FewRows);
        events.iter().filter(|event| is_meant(event.kind)).map(|event| (event.kind, event.component)).collect()
    };
    let wide = Rows::from_vec(normal(40 * 90, 5), 90).unwrap();
    let fit = fitted::<FullGaussian>(&wide, 1, &crate::em());
    assert_eq!(kinds(&fit.events), [(EventKind::OnFloor, Some(0)), (EventKind::FewRows, Some(0))]);
    let fit = fitted::<TiedGaussian>(&wide, 1, &crate::em());
    assert_eq!(kinds(&fit.events), [(EventKind::OnFloor, Some(0))]);
    let fit = fitted::<DiagonalGaussian>(&wide, 1, &crate::em());
    assert_eq!(kinds(&fit.events), []);
    // A component with a single row is at the floor in all columns; the other is valid.
    let mut values = normal(2 * 300, 6);
    values.extend([1e3, 1e3]);
    let rows = Rows::from_vec(values, 2).unwrap();
    for algorithm in [Algorithm::Em, Algorithm::Cem] {
        let fit = fitted::<DiagonalGaussian>(&rows, 2, &crate::single().algorithm(algorithm));
        let k = Some(usize::from(fit.model.weights[0] > fit.model.weights[1]));
        assert!(kinds(&fit.events).contains(&(EventKind::FewRows, k)), "{algorithm:?} {:?}", fit.events);
        assert!(kinds(&fit.events).iter().all(|(_, component)| *component == k));
    }
    // Constant columns are reported separately, and ordinary data give no warnings.
    let values: Vec<f64> = normal(2 * 300, 7).chunks_exact(2).flat_map(|row| [row[0], 7.0, row[1]]).collect();
    let fit = fitted::<FullGaussian>(&Rows::from_vec(values, 3).unwrap(), 2, &crate::em());
    assert_eq!(kinds(&fit.events), []);
}

/// The resolution limit of a component depends on its own values: shifted by an offset, it is that of the offset.
#[test]
fn the_resolution_limit_of_a_component_depends_on_its_own_values() {
    let mut values = normal(100, 8);
    values.push(1e16);
    let rows = Rows::from_slice(&values, 1).unwrap();
    let floor = Floor::of::<FullGaussian>(&Summary::of(&rows).unwrap(), 1e-9, 0.0);
    assert_eq!(floor.smallest_deviation_at(&[0.5]), floor.smallest_deviation);
    assert!(floor.smallest_deviation_at(&[1e16])[0] > 1.0);
}
