//! Checks that a round of SEM is an exact draw, and that its update is the complete-data maximum.

use mixtura::pass::{Assignment, Pass, Precision};
use mixtura::random::{Address, Purpose};
use mixtura::{Algorithm, FullGaussian, Mixture, Rows, Source, Start};

use crate::{artificial, assert_models_close, fit_rows, reference, rounds, started};

/// The label that a row's draw gives, from the posteriors of the reference implementation.
pub(crate) fn labels(posteriors: &[Vec<f64>], address: Address) -> Vec<usize> {
    let label = |(n, row): (usize, &Vec<f64>)| {
        let mut rest = address.uniform(n as u64);
        let found = row.iter().position(|p| {
            rest -= p;
            rest < 0.0
        });
        found.unwrap_or(row.len() - 1)
    };
    posteriors.iter().enumerate().map(label).collect()
}

#[test]
fn given_the_labels_the_update_is_the_complete_data_maximum() {
    for (algorithm, seed) in [(Algorithm::Sem, 3), (Algorithm::Sem, 4), (Algorithm::Cem, 3)] {
        let (rows, _) = artificial(3000, 5, 3, 21);
        let initial = started(&rows, 3, &Start::KmeansPlusPlus, 0);
        let (posteriors, _) = reference::posteriors(&rows, &initial);
        let labels = match algorithm {
            Algorithm::Cem => initial.labels(&rows).unwrap().iter().map(|&l| l as usize).collect(),
            _ => labels(&posteriors, Address { seed, restart: 0, round: 0, purpose: Purpose::Label }),
        };
        let one_hot: Vec<Vec<f64>> =
            labels.iter().map(|&label| (0..3).map(|k| f64::from(u8::from(k == label))).collect()).collect();
        let expected = reference::maximum(&rows, &one_hot);
        let options = rounds(1).algorithm(algorithm).seed(seed).result(mixtura::driver::SemResult::Last);
        let found = fit_rows(&rows, 3, &Start::Model(initial), &options).unwrap();
        assert_models_close(&found.model, &expected, 1e-12);
    }
}

/// Twenty rows, evaluated one at a time: the frequency of each label over 4000 seeds is compared with its posterior.
/// Pearson's χ² with 20·(3−1) = 40 degrees of freedom exceeds 82.06 with probability α = 0.0001.
#[test]
fn label_frequencies_match_the_posterior() {
    const SEEDS: u64 = 4000;
    let (rows, model) = artificial(20, 2, 3, 9);
    let (posteriors, _) = reference::posteriors(&rows, &model);
    let mut chi2 = 0.0;
    let mut counts = vec![[0.0; 3]; 20];
    for seed in 0..SEEDS {
        let address = Address { seed, restart: 2, round: 5, purpose: Purpose::Label };
        for (n, counts) in counts.iter_mut().enumerate() {
            counts[drawn_label(&rows, &model, n, address)] += 1.0;
        }
    }
    let mut freedom = 0;
    for (row, counts) in posteriors.iter().zip(&counts) {
        // Cells with fewer than five expected draws are merged into the row's largest cell.
        let largest = (0..3).max_by(|&a, &b| row[a].total_cmp(&row[b])).unwrap();
        let pooled = |values: &dyn Fn(usize) -> f64, k: usize| {
            let small = |k: usize| row[k] * (SEEDS as f64) < 5.0;
            if k == largest { (0..3).filter(|&j| j == largest || small(j)).map(values).sum() } else { values(k) }
        };
        for k in (0..3).filter(|&k| k == largest || row[k] * SEEDS as f64 >= 5.0) {
            let expected: f64 = pooled(&|k| row[k] * SEEDS as f64, k);
            let observed: f64 = pooled(&|k| counts[k], k);
            chi2 += (observed - expected).powi(2) / expected;
            freedom += usize::from(k != largest);
        }
    }
    assert!((20..=40).contains(&freedom), "{freedom}");
    assert!(chi2 < 82.06, "χ² {chi2} with {freedom} degrees of freedom");
}

/// The label that the engine draws for row `n`, found by setting the weight of all other rows to 0.
fn drawn_label(rows: &Rows<'_>, model: &Mixture<FullGaussian>, n: usize, address: Address) -> usize {
    let mut weights = vec![0.0; rows.n_rows()];
    weights[n] = 0.5; // fractional, so that the row keeps one label
    let rows = rows.clone().with_weights(weights).unwrap();
    let source = Source::of(&rows).unwrap();
    let pass = Pass::new(&source, model.clone(), Assignment::Sampled(address)).unwrap();
    let tally = source.sweep(&Pass { precision: Precision::default(), ..pass }).unwrap();
    (0..3).find(|&k| mixtura::family::Moments::weight(&tally.moments, k) > 0.0).unwrap()
}

#[test]
fn different_seeds_and_rounds_draw_differently() {
    let (rows, _) = artificial(500, 2, 3, 10);
    let initial = started(&rows, 3, &Start::KmeansPlusPlus, 0);
    let fit = |seed, n| {
        let options = rounds(n).algorithm(Algorithm::Sem).seed(seed);
        fit_rows(&rows, 3, &Start::Model(initial.clone()), &options).unwrap().model
    };
    assert_ne!(fit(0, 1), fit(1, 1));
    assert_eq!(fit(1, 7), fit(1, 7));
}
