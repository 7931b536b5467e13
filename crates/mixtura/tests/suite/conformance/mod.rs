//! Runs the same checks on every family and structure; `subjects.rs` has the reference implementations.

mod subjects;

use mixtura::driver::{Quiet, SemResult};
use mixtura::family::{Family, Fate, Floor, Moments};
use mixtura::pass::{Assignment, Pass, Precision, Tally};
use mixtura::random::{Address, Purpose};
use mixtura::sweep::{Merge, Threads};
use mixtura::{
    Algorithm, DiagonalGaussian, Fit, FullGaussian, Mixture, Options, Poisson, Rows, Source, SphericalGaussian, Start,
    TiedGaussian, fit,
};

use self::subjects::Subject;
use crate::assert_close;
use crate::draws::labels;
use crate::reproducible::on_threads;

/// One test for each family and check.
macro_rules! conformance {
    ($($family:ident: $subject:ty),*; $checks:tt) => {
        $(mod $family {
            use super::*;
            conformance!(@ $subject, $checks);
        })*
    };
    (@ $subject:ty, [$($check:ident),* $(,)?]) => {
        $(#[test]
        fn $check() {
            super::$check::<$subject>();
        })*
    };
}

conformance! {
    full: FullGaussian, tied: TiedGaussian, diagonal: DiagonalGaussian, spherical: SphericalGaussian, poisson: Poisson;
    [
        density_matches_the_reference,
        density_normalizes,
        statistics_are_naive_sums,
        statistics_merge_in_any_grouping,
        weighted_rows_are_repeated_rows,
        estimate_is_a_maximum,
        samples_match_the_density,
        parameters_read_back_to_the_same_bits,
        em_is_monotone,
        sem_update_is_the_complete_data_maximum,
        draws_are_those_of_double_precision,
        threads_change_no_bit,
        shifts_and_scales_change_nothing,
        components_far_away_keep_their_digits,
        degenerate_components_are_repaired,
    ]
}

/// Rows of a mixture of three components, and the mixture.
fn rows_of<F: Subject>(n_rows: usize, n_columns: usize, seed: u64) -> (Rows<'static>, Mixture<F>) {
    let model = F::example(n_columns, seed);
    let (values, _) = model.sample(0..n_rows, seed).unwrap();
    (Rows::from_vec(values, n_columns).unwrap(), model)
}

fn fitted<F: Family>(rows: &Rows<'_>, start: &Start<F>, n_components: usize, options: &Options) -> Fit<F> {
    fit(&Source::of(rows).unwrap(), n_components, start, options, &Quiet).unwrap()
}

/// A fixed number of rounds without a floor.
fn plain(rounds: u64) -> Options {
    crate::em().rounds(rounds).tolerance(0.0).regularization(0.0)
}

fn pass<F: Family>(source: &Source<Threads<'_>>, model: &Mixture<F>, centre: &[f64]) -> Tally<F::Moments> {
    let pass = Pass::new(source, model.clone(), Assignment::Soft).unwrap();
    source.sweep(&Pass { centre: centre.to_vec(), probe: Vec::new(), ..pass }).unwrap()
}

fn no_floor<F: Family>(rows: &Rows<'_>) -> Floor {
    Floor::of::<F>(&mixtura::sweep::Summary::of(rows).unwrap(), 0.0, 0.0)
}

/// Reference posteriors of all rows, and the mean log-likelihood.
fn posteriors<F: Subject>(rows: &Rows<'_>, model: &Mixture<F>) -> (Vec<Vec<f64>>, f64) {
    let mut total = 0.0;
    let posterior = |n: usize| {
        let row = rows.row(n);
        let ln: Vec<f64> =
            (0..model.n_components()).map(|k| model.weights[k].ln() + model.components.ln_density(k, &row)).collect();
        let largest = ln.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = ln.iter().map(|ln| (ln - largest).exp()).sum();
        total += largest + sum.ln();
        ln.iter().map(|ln| (ln - largest).exp() / sum).collect()
    };
    let posteriors = (0..rows.n_rows()).map(posterior).collect();
    (posteriors, total / rows.n_rows() as f64)
}

#[track_caller]
pub(crate) fn assert_parameters_close<F: Family>([a, b]: &[Mixture<F>; 2], tolerance: f64) {
    for (a, b) in a.weights.iter().zip(&b.weights) {
        assert_close(*a, *b, tolerance, 0.0);
    }
    for (a, b) in a.components.parameters().iter().zip(b.components.parameters()) {
        let scale = a.iter().fold(0.0f64, |largest, x| largest.max(x.abs()));
        for (a, b) in a.iter().zip(b) {
            assert_close(*a, *b, tolerance, scale);
        }
    }
}

fn density_matches_the_reference<F: Subject>() {
    for n_columns in [1, 2, 3, 7, 12] {
        let (rows, model) = rows_of::<F>(300, n_columns, 5);
        let (expected, likelihood) = posteriors(&rows, &model);
        let found = model.posteriors(&rows).unwrap();
        for (found, expected) in found.iter().zip(expected.concat()) {
            assert!((found - expected).abs() < 1e-11, "{found} and {expected}");
        }
        let score = model.score(&rows).unwrap();
        assert_close(score.mean_ln_likelihood, likelihood, 1e-12, 1.0);
        let mean = model.ln_densities(&rows).unwrap().iter().sum::<f64>() / 300.0;
        assert_close(mean, likelihood, 1e-12, 1.0);
    }
}

fn density_normalizes<F: Subject>() {
    for n_columns in [1, 2] {
        let model = F::example(n_columns, 3);
        let (points, volume) = F::grid(&model);
        let grid: Vec<f64> = if n_columns == 1 {
            points
        } else {
            points.iter().flat_map(|&x| points.iter().flat_map(move |&y| [x, y])).collect()
        };
        let densities = model.ln_densities(&Rows::from_vec(grid, n_columns).unwrap()).unwrap();
        let mass: f64 = densities.iter().map(|ln| ln.exp()).sum::<f64>() * volume.powf(n_columns as f64);
        assert!((mass - 1.0).abs() < 1e-9, "{n_columns} columns: {mass}");
    }
}

fn statistics_are_naive_sums<F: Subject>() {
    for n_columns in [1, 2, 5, 9] {
        let (rows, model) = rows_of::<F>(1500, n_columns, 8);
        let (memberships, likelihood) = posteriors(&rows, &model);
        let expected = F::maximum(&rows, &memberships);
        let found = fitted(&rows, &Start::Model(model), 3, &plain(1));
        assert_parameters_close(&[found.model, expected.clone()], 1e-10);
        let (_, after) = posteriors(&rows, &expected);
        assert!(after >= likelihood);
        assert_close(found.mean_ln_likelihood, after, 1e-11, 1.0);
    }
}

fn statistics_merge_in_any_grouping<F: Subject>() {
    let (rows, model) = rows_of::<F>(5000, 3, 13);
    let whole = Source::of(&rows).unwrap();
    let centre = whole.summary().centre.clone();
    let expected = pass(&whole, &model, &centre);
    let parts: Vec<Tally<F::Moments>> = [0..17, 17..1600, 1600..1601, 1601..5000]
        .into_iter()
        .map(|range| {
            let rows = rows.gather(&range.collect::<Vec<_>>());
            pass(&Source::of(&rows).unwrap(), &model, &centre)
        })
        .collect();
    let merged = |order: [usize; 4]| {
        let mut total = parts[order[0]].clone();
        order[1..].iter().for_each(|&part| total.merge(&parts[part]));
        total
    };
    let floor = no_floor::<F>(&rows);
    let estimate = |moments: &F::Moments| model.components.maximize(moments, &vec![Fate::Estimate; 3], &floor).0;
    let of = |moments: &F::Moments| Mixture { weights: model.weights.clone(), components: estimate(moments) };
    let all = of(&expected.moments);
    for order in [[0, 1, 2, 3], [3, 1, 0, 2], [2, 3, 1, 0]] {
        let total = merged(order);
        assert_close(total.ln_likelihood, expected.ln_likelihood, 1e-12, 0.0);
        assert_parameters_close(&[of(&total.moments), all.clone()], 1e-11);
    }
    // Averages of statistics are weighted sums, whatever centres the statistics are relative to.
    let elsewhere: Vec<f64> = centre.iter().map(|c| if F::CENTRED { c + 3.0 } else { *c }).collect();
    let mut average = parts[0].moments.clone();
    average.scale(0.5);
    for part in 1..4 {
        let rows = rows.gather(&[0..17, 17..1600, 1600..1601, 1601..5000][part].clone().collect::<Vec<_>>());
        let tally = pass(&Source::of(&rows).unwrap(), &model, &elsewhere);
        average.add_scaled(&tally.moments, 0.5);
    }
    assert_parameters_close(&[of(&average), all], 1e-10);
    for k in 0..3 {
        assert_close(average.weight(k), 0.5 * expected.moments.weight(k), 1e-12, 0.0);
    }
}

fn weighted_rows_are_repeated_rows<F: Subject>() {
    let (rows, model) = rows_of::<F>(400, 3, 17);
    let counts: Vec<usize> = (0..400).map(|n| n * 7 % 4).collect();
    let repeated: Vec<usize> = counts.iter().enumerate().flat_map(|(n, &count)| vec![n; count]).collect();
    let repeated = rows.gather(&repeated);
    let weighted = rows.clone().with_weights(counts.iter().map(|&count| count as f64).collect::<Vec<_>>()).unwrap();
    for algorithm in [Algorithm::Em, Algorithm::Cem] {
        let options = plain(3).algorithm(algorithm);
        let a = fitted(&repeated, &Start::Model(model.clone()), 3, &options);
        let b = fitted(&weighted, &Start::Model(model.clone()), 3, &options);
        assert_close(a.mean_ln_likelihood, b.mean_ln_likelihood, 1e-11, 1.0);
        assert_parameters_close(&[a.model, b.model], 1e-10);
    }
}

/// The expected complete-data log-likelihood falls if the estimate is perturbed in any direction.
fn estimate_is_a_maximum<F: Subject>() {
    for n_columns in [1, 3] {
        let (rows, model) = rows_of::<F>(600, n_columns, 23);
        let (memberships, _) = posteriors(&rows, &model);
        let estimate = fitted(&rows, &Start::Model(model), 3, &plain(1)).model;
        let likelihood = |model: &Mixture<F>| -> f64 {
            let of_row = |n: usize| {
                let row = rows.row(n);
                let of_component = |k: usize| model.weights[k].ln() + model.components.ln_density(k, &row);
                (0..3).map(|k| memberships[n][k] * of_component(k)).sum::<f64>()
            };
            (0..600).map(of_row).sum()
        };
        let best = likelihood(&estimate);
        for direction in 0..60 {
            let moved = F::moved(&estimate, direction, 1e-3);
            assert!(likelihood(&moved) < best, "{n_columns} columns, direction {direction}");
        }
    }
}

/// 20,000 draws in one column, in cells of at least 100 expected draws, by Pearson's χ². With f degrees of freedom, it
/// exceeds f + 5.5·√(2f) + 20 with probability α < 0.0001.
fn samples_match_the_density<F: Subject>() {
    const N: usize = 20_000;
    let model = F::example(1, 29);
    let (points, volume) = F::grid(&model);
    let densities = model.ln_densities(&Rows::from_vec(points.clone(), 1).unwrap()).unwrap();
    let (mut values, _) = model.sample(0..N, 41).unwrap();
    values.sort_by(f64::total_cmp);
    let (mut chi2, mut freedom, mut expected, mut drawn) = (0.0, -1.0, 0.0, 0);
    for (point, ln) in points.iter().zip(&densities) {
        expected += ln.exp() * volume * N as f64;
        if expected >= 100.0 {
            // Cells end half way to the next point.
            let reached = values.partition_point(|x| *x < point + 0.5 * volume);
            chi2 += ((reached - drawn) as f64 - expected).powi(2) / expected;
            freedom += 1.0;
            (expected, drawn) = (0.0, reached);
        }
    }
    assert!(freedom > 10.0, "only {freedom} cells");
    assert!(chi2 < freedom + 5.5 * f64::sqrt(2.0 * freedom) + 20.0, "χ² = {chi2} for {freedom} degrees of freedom");
}

fn parameters_read_back_to_the_same_bits<F: Subject>() {
    let model = F::example(4, 31);
    let components = &model.components;
    let shapes = F::shapes(3, 4);
    assert_eq!(shapes[0].1, [3, 4]);
    let parameters: Vec<Vec<f64>> = components.parameters().into_iter().map(<[f64]>::to_vec).collect();
    for ((name, shape), values) in shapes.iter().zip(&parameters) {
        assert_eq!(values.len(), shape.iter().product::<usize>(), "{name}");
    }
    assert_eq!(&F::from_parameters(4, parameters).unwrap(), components);
    let text = serde_json::to_string(&model).unwrap();
    assert_eq!(serde_json::from_str::<Mixture<F>>(&text).unwrap(), model);
    let back = components.reordered(&[2, 0, 1]).reordered(&[1, 2, 0]);
    assert_eq!(&back, components);
}

fn em_is_monotone<F: Subject>() {
    for seed in 0..6 {
        let (rows, _) = rows_of::<F>(900, 1 + seed as usize, seed);
        let options = plain(0).seed(seed);
        let mut last = f64::NEG_INFINITY;
        let initial = fitted::<F>(&rows, &Start::Random, 3, &options).model;
        for rounds in 0..25 {
            let fit = fitted(&rows, &Start::Model(initial.clone()), 3, &options.clone().rounds(rounds));
            if fit.events.iter().any(|event| event.kind.is_repair()) {
                break;
            }
            let rounding = 1e-12 * fit.mean_ln_likelihood.abs();
            assert!(fit.mean_ln_likelihood >= last - rounding, "seed {seed}, round {rounds}");
            last = fit.mean_ln_likelihood;
        }
        assert!(last > f64::NEG_INFINITY);
    }
}

fn sem_update_is_the_complete_data_maximum<F: Subject>() {
    for (algorithm, seed) in [(Algorithm::Sem, 3), (Algorithm::Sem, 4), (Algorithm::Cem, 3)] {
        let (rows, model) = rows_of::<F>(2500, 4, 37);
        let (posteriors, _) = posteriors(&rows, &model);
        let labels: Vec<usize> = match algorithm {
            Algorithm::Cem => model.labels(&rows).unwrap().iter().map(|&label| label as usize).collect(),
            _ => labels(&posteriors, Address { seed, restart: 0, round: 0, purpose: Purpose::Label }),
        };
        let one_hot: Vec<Vec<f64>> =
            labels.iter().map(|&label| (0..3).map(|k| f64::from(u8::from(k == label))).collect()).collect();
        let options = plain(1).algorithm(algorithm).seed(seed).result(SemResult::Last);
        let found = fitted(&rows, &Start::Model(model), 3, &options);
        assert_parameters_close(&[found.model, F::maximum(&rows, &one_hot)], 1e-10);
    }
}

/// Statistics are sums over labelled rows in a fixed order: equal bits mean equal labels.
fn draws_are_those_of_double_precision<F: Subject>() {
    for n_columns in [1, 2, 5, 10, 20] {
        let (rows, model) = rows_of::<F>(3000, n_columns, 59);
        let outliers = |n: usize, x: f64| if n.is_multiple_of(100) { (x * 1e4).trunc() } else { x };
        let values = (0..3000).flat_map(|n| rows.row(n).into_iter().map(move |x| outliers(n, x))).collect();
        for rows in [rows, Rows::from_vec(values, n_columns).unwrap()] {
            assert_draws_are_the_same(&rows, &model);
        }
    }
}

#[track_caller]
fn assert_draws_are_the_same<F: Family>(rows: &Rows<'_>, model: &Mixture<F>) {
    let source = Source::of(rows).unwrap();
    for seed in 0..4 {
        let address = Address { seed, restart: 0, round: 1, purpose: Purpose::Label };
        let draw = |precision| {
            let pass = Pass::new(&source, model.clone(), Assignment::Sampled(address)).unwrap();
            source.sweep(&Pass { precision, ..pass }).unwrap()
        };
        let (narrow, wide) = (draw(Precision::Certified), draw(Precision::Double));
        assert_eq!(narrow.moments, wide.moments, "{} columns, seed {seed}", rows.n_columns());
        assert_close(narrow.ln_likelihood, wide.ln_likelihood, 1e-4, 1.0);
    }
}

fn threads_change_no_bit<F: Subject>() {
    let (rows, _) = rows_of::<F>(9011, 3, 43);
    for algorithm in [Algorithm::Em, Algorithm::Sem, Algorithm::Cem] {
        let options = plain(8).algorithm(algorithm).restarts(2).seed(6);
        let run = |n_threads| {
            let fit = on_threads(n_threads, || fitted::<F>(&rows, &Start::KmeansPlusPlus, 3, &options));
            serde_json::to_string(&fit).unwrap()
        };
        let one = run(1);
        for n_threads in [2, 3, 7] {
            assert_eq!(one, run(n_threads), "{algorithm:?} on {n_threads} threads");
        }
    }
}

/// For families with components of mapped rows: fitting mapped rows gives the mapped components.
fn shifts_and_scales_change_nothing<F: Subject>() {
    let (rows, model) = rows_of::<F>(1200, 2, 47);
    let (offset, scale) = ([-7e6, -7e6], [1e-5, 1e-5]);
    let Some(mapped) = model.components.mapped(&offset, &scale) else {
        assert!(!F::CENTRED, "a family about a centre should follow it");
        return;
    };
    let values = (0..1200).flat_map(|n| rows.row(n).into_iter().map(|x| (x + 7e6) * 1e-5)).collect();
    let mapped_rows = Rows::from_vec(values, 2).unwrap();
    let a = fitted(&rows, &Start::Model(model.clone()), 3, &plain(5)).model;
    let start = Mixture { weights: model.weights, components: mapped };
    let b = fitted(&mapped_rows, &Start::Model(start), 3, &plain(5)).model;
    let back = Mixture { components: b.components.unmapped(&offset, &scale).unwrap(), ..b };
    // Values of magnitude 70 with steps of 1e-14 represent deviations of 1e-5 to 9 digits.
    assert_parameters_close(&[a, back], 1e-6);
}

/// One component is a million standard deviations from the others. Its covariance, or the shared one, agrees with the
/// reference, which centres rows on the means themselves.
fn components_far_away_keep_their_digits<F: Subject>() {
    const FAR: f64 = 3e6;
    if !F::CENTRED {
        return;
    }
    let model = F::example(3, 53);
    let (mut values, labels) = model.sample(0..1500, 53).unwrap();
    for (row, _) in values.chunks_exact_mut(3).zip(labels).filter(|(_, label)| *label == 2) {
        row.iter_mut().for_each(|x| *x += FAR);
    }
    let rows = Rows::from_vec(values, 3).unwrap();
    let mut parameters: Vec<Vec<f64>> = model.components.parameters().into_iter().map(<[f64]>::to_vec).collect();
    parameters[0][6..].iter_mut().for_each(|mean| *mean += FAR);
    let initial = Mixture { components: F::from_parameters(3, parameters).unwrap(), ..model };
    assert_draws_are_the_same(&rows, &initial);
    let mut expected = initial.clone();
    for _ in 0..3 {
        expected = F::maximum(&rows, &posteriors(&rows, &expected).0);
    }
    let found = fitted(&rows, &Start::Model(initial), 3, &plain(3)).model;
    let [a, b] = [found.components.parameters(), expected.components.parameters()];
    for (a, b) in a[1].iter().zip(b[1]) {
        assert_close(*a, *b, 1e-8, 1.0);
    }
    for (a, b) in a[0].iter().zip(b[0]) {
        assert!((a - b).abs() < 1e-8, "{a} and {b}");
    }
}

/// More components than clusters, and most rows are equal, so some component becomes empty or narrow.
fn degenerate_components_are_repaired<F: Subject>() {
    let values: Vec<f64> = (0..400).flat_map(|n| if n < 380 { [3.0, 1.0] } else { [f64::from(n % 5), 8.0] }).collect();
    let rows = Rows::from_vec(values, 2).unwrap();
    for algorithm in [Algorithm::Em, Algorithm::Sem, Algorithm::Cem] {
        for regularization in [1e-9, 0.0] {
            let options = plain(40).algorithm(algorithm).regularization(regularization);
            let fit = fitted::<F>(&rows, &Start::Random, 5, &options);
            assert!(fit.mean_ln_likelihood.is_finite(), "{algorithm:?}");
            fit.model.components.check().unwrap();
            assert_close(fit.model.weights.iter().sum(), 1.0, 1e-12, 0.0);
            assert!(!fit.events.is_empty() || regularization == 0.0 || !F::CENTRED, "{algorithm:?}: nothing happened?");
        }
    }
}
