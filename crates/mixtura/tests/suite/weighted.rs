//! Checks the meaning of row weights: repeated rows for EM and CEM, split counts or weighted labels for SEM.

use mixtura::driver::EventKind;
use mixtura::family::Moments;
use mixtura::pass::{Assignment, Pass, Precision, Tally};
use mixtura::random::{Address, Purpose};
use mixtura::{Algorithm, FullGaussian, Mixture, Rows, Source, Start};

use crate::{artificial, assert_models_close, fit_rows, reference, rounds, started};

fn repeated(rows: &Rows<'_>, weights: &[f64]) -> Rows<'static> {
    let values =
        (0..rows.n_rows()).flat_map(|n| std::iter::repeat_n(rows.row(n), weights[n] as usize)).flatten().collect();
    Rows::from_vec(values, rows.n_columns()).unwrap()
}

#[test]
fn weighted_rows_are_repeated_rows() {
    let (rows, _) = artificial(500, 3, 3, 81);
    let weights: Vec<f64> = (0..500).map(|n| f64::from(n % 4)).collect();
    let repeated = repeated(&rows, &weights);
    let weighted = rows.with_weights(weights).unwrap();
    let initial = started(&repeated, 3, &Start::KmeansPlusPlus, 0);
    for algorithm in [Algorithm::Em, Algorithm::Cem] {
        let options = rounds(10).algorithm(algorithm);
        let a = fit_rows(&weighted, 3, &Start::Model(initial.clone()), &options).unwrap();
        let b = fit_rows(&repeated, 3, &Start::Model(initial.clone()), &options).unwrap();
        assert_models_close(&a.model, &b.model, 1e-10);
        assert!((a.mean_ln_likelihood - b.mean_ln_likelihood).abs() < 1e-12);
    }
}

#[test]
fn fractional_weights_weight_the_statistics_of_em() {
    let (rows, _) = artificial(400, 2, 2, 82);
    let weights: Vec<f64> = (0..400).map(|n| 0.1 + f64::from(n % 5) * 0.37).collect();
    let rows = rows.with_weights(weights).unwrap();
    let initial = started(&rows, 2, &Start::KmeansPlusPlus, 0);
    let (likelihoods, expected) = reference::em(&rows, &initial, 10);
    let fit = fit_rows(&rows, 2, &Start::Model(initial), &rounds(10)).unwrap();
    assert_models_close(&fit.model, &expected, 1e-10);
    assert!((fit.mean_ln_likelihood - likelihoods[10]).abs() < 1e-12);
}

fn sampled(rows: &Rows<'_>, model: &Mixture<FullGaussian>, seed: u64) -> Tally<impl Moments> {
    let source = Source::of(rows).unwrap();
    let address = Address { seed, restart: 0, round: 0, purpose: Purpose::Label };
    let pass = Pass::new(&source, model.clone(), Assignment::Sampled(address)).unwrap();
    source.sweep(&Pass { precision: Precision::default(), ..pass }).unwrap()
}

/// A row with a count of 7 (split draw by draw) or 1000 (split by binomial draws): mean and variance of the count in
/// each component over 4000 seeds are those of a multinomial. The mean of 4000 draws is within 4.5 standard errors with
/// probability 1 − 7e-6, the variance within 4.5·√(2/4000) of its relative size (slightly more for the skewed small
/// count).
#[test]
fn whole_counts_are_split_multinomially() {
    let (rows, model) = artificial(1, 2, 3, 83);
    let (posteriors, _) = reference::posteriors(&rows, &model);
    for count in [7.0, 1000.0] {
        let weighted = rows.clone().with_weights(vec![count]).unwrap();
        let draws: Vec<Vec<f64>> = (0..4000)
            .map(|seed| {
                let tally = sampled(&weighted, &model, seed);
                (0..3).map(|k| tally.moments.weight(k)).collect()
            })
            .collect();
        for k in 0..3 {
            let p = posteriors[0][k];
            let values: Vec<f64> = draws.iter().map(|draw| draw[k]).collect();
            assert!(values.iter().all(|v| v.fract() == 0.0));
            let mean = values.iter().sum::<f64>() / 4000.0;
            let deviation = (count * p * (1.0 - p)).sqrt();
            assert!((mean - count * p).abs() <= 4.5 * deviation / 4000f64.sqrt() + 1e-12, "{mean} {}", count * p);
            let variance = values.iter().map(|v| (v - count * p).powi(2)).sum::<f64>() / 4000.0;
            if count * p * (1.0 - p) > 0.5 {
                assert!((variance / (deviation * deviation) - 1.0).abs() < 0.15, "{variance}");
            }
        }
        assert!(draws.iter().all(|draw| draw.iter().sum::<f64>() == count));
    }
}

#[test]
fn fractional_weights_follow_the_label_and_are_recorded() {
    let (rows, _) = artificial(300, 2, 2, 84);
    let weights: Vec<f64> = (0..300).map(|n| 0.5 + f64::from(n % 3)).collect();
    let rows = rows.with_weights(weights).unwrap();
    let options = rounds(5).algorithm(Algorithm::Sem);
    let fit = fit_rows(&rows, 2, &Start::KmeansPlusPlus, &options).unwrap();
    assert!(fit.events.iter().any(|event| event.kind == EventKind::FractionalWeights));
    let whole = Rows::from_slice(&[1.0, 2.0, 4.0, 8.0], 1).unwrap().with_weights(vec![2.0; 4]).unwrap();
    let fit = fit_rows(&whole, 1, &Start::KmeansPlusPlus, &options).unwrap();
    assert!(!fit.events.iter().any(|event| event.kind == EventKind::FractionalWeights));
}

#[test]
fn rows_of_weight_zero_have_no_effect() {
    let (rows, _) = artificial(200, 2, 2, 85);
    let weights: Vec<f64> = (0..200).map(|n| if n < 150 { 1.0 } else { 0.0 }).collect();
    let kept = rows.gather(&(0..150).collect::<Vec<_>>());
    let weighted = rows.with_weights(weights).unwrap();
    let initial = started(&kept, 2, &Start::KmeansPlusPlus, 0);
    for algorithm in [Algorithm::Em, Algorithm::Cem] {
        let options = rounds(8).algorithm(algorithm);
        let a = fit_rows(&weighted, 2, &Start::Model(initial.clone()), &options).unwrap();
        let b = fit_rows(&kept, 2, &Start::Model(initial.clone()), &options).unwrap();
        assert_models_close(&a.model, &b.model, 1e-11);
    }
}

#[test]
fn counts_too_large_to_split_follow_the_label() {
    let (rows, _) = artificial(50, 2, 2, 86);
    let mut weights = vec![1.0; 50];
    weights[0] = 1e20;
    let rows = rows.with_weights(weights).unwrap();
    let options = rounds(20).algorithm(Algorithm::Sem);
    let fit = fit_rows(&rows, 2, &Start::KmeansPlusPlus, &options).unwrap();
    assert!((fit.model.weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    assert!(fit.events.iter().any(|event| event.kind == EventKind::FractionalWeights));
    for weight in [1e-320, 1e101] {
        let refused = Rows::from_slice(&[1.0, 2.0], 1).unwrap().with_weights(vec![1.0, weight]);
        assert!(refused.is_err());
    }
}

/// A weight column of ones is no weight column: a component with fewer rows than it takes is blended.
#[test]
fn small_components_of_whole_weights_were_never_blended() {
    let mut values: Vec<f64> = (0..400).map(|n| f64::from(n % 20)).collect();
    values.extend([1000.0, 1000.5]);
    let rows = Rows::from_slice(&values, 2).unwrap();
    let n_rows = rows.n_rows();
    let components = FullGaussian::new(2, vec![9.0, 10.0, 1000.0, 1000.5], [1e2, 0.0, 0.0, 1e2].repeat(2)).unwrap();
    let model = Mixture::new(vec![0.9, 0.1], components).unwrap();
    for rows in [rows.clone(), rows.with_weights(vec![1.0; n_rows]).unwrap()] {
        let options = rounds(3).algorithm(Algorithm::Sem);
        let found = fit_rows(&rows, 2, &Start::Model(model.clone()), &options).unwrap();
        let blended = |event: &&mixtura::driver::Event| event.kind == mixtura::driver::EventKind::Blended;
        let event = found.events.iter().find(blended).expect("one row is too few for a component");
        assert_eq!((event.component, event.count), (Some(1), 3));
    }
}
