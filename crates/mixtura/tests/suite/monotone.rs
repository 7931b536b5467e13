//! Checks that EM never lowers the likelihood, except in a round with a repair.

use std::sync::Mutex;

use mixtura::driver::{EventKind, Observer};
use mixtura::{FullGaussian, Options, Rows, Source, Start, fit};
use proptest::prelude::*;

use crate::{artificial, rounds};

#[derive(Default)]
struct Likelihoods(Mutex<Vec<f64>>);

impl Observer for Likelihoods {
    fn evaluated(&self, _restart: u64, _round: u64, likelihood: f64) {
        self.0.lock().unwrap().push(likelihood);
    }
}

/// Rounding of a mean of N terms of magnitude |ℓ|, with a margin for the conditioning of the covariances.
const SLACK: f64 = 1e-10;

/// At the floor E = 1e-9, the rounding of a covariance entry, ε of the column's variance, is ε/E of the smallest
/// variance; a log-density can lose half of that for each column.
fn slack_at_floor(n_columns: usize) -> f64 {
    n_columns as f64 * f64::EPSILON / 1e-9
}

fn check(rows: &Rows<'_>, n_components: usize, start: &Start<FullGaussian>, options: &Options) {
    let seen = Likelihoods::default();
    let fit = fit(&Source::of(rows).unwrap(), n_components, start, options, &seen).unwrap();
    let likelihoods = seen.0.into_inner().unwrap();
    assert!(likelihoods.iter().all(|l| l.is_finite()));
    // Only rounds that may include a repair are exempt, not the whole fit.
    let repairs: Vec<_> = fit.events.iter().filter(|event| event.kind.is_repair()).collect();
    let repaired = |round: u64| repairs.iter().any(|event| (event.first..=event.last).contains(&round));
    let clipped = fit.events.iter().any(|event| event.kind == EventKind::Clipped);
    for (round, pair) in likelihoods.windows(2).enumerate() {
        let slack = SLACK * pair[0].abs().max(1.0) + if clipped { slack_at_floor(rows.n_columns()) } else { 0.0 };
        assert!(
            repaired(round as u64 + 1) || pair[1] >= pair[0] - slack,
            "round {}: {} after {}",
            round + 1,
            pair[1],
            pair[0]
        );
    }
    assert!(!fit.events.iter().any(|event| event.kind == EventKind::ParametersKept));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]
    #[test]
    fn em_is_monotone_on_random_shapes(
        n_rows in 20usize..400, n_columns in 1usize..6, n_components in 1usize..6, seed in 0u64..1000, random in any::<bool>(),
    ) {
        let (rows, _) = artificial(n_rows, n_columns, n_components, seed);
        let start = if random { Start::Random } else { Start::KmeansPlusPlus };
        check(&rows, n_components, &start, &rounds(40).seed(seed));
    }
}

/// Counts that sum to a constant and are mostly zero, like colour histograms: a singular covariance.
fn histograms(n_rows: usize, n_columns: usize) -> Rows<'static> {
    let mut state = 12345u64;
    let mut next = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / f64::from(1u32 << 31)
    };
    let mut values = Vec::new();
    for _ in 0..n_rows {
        let raw: Vec<f64> =
            (0..n_columns).map(|d| if next() < 0.3 + 0.02 * d as f64 { 0.0 } else { next().powi(3) }).collect();
        let sum: f64 = raw.iter().sum::<f64>().max(1e-3);
        let mut counts: Vec<f64> = raw.iter().map(|x| (x / sum * 442_368.0).round()).collect();
        let rest = 442_368.0 - counts.iter().sum::<f64>();
        counts[0] += rest;
        values.extend(counts);
    }
    Rows::from_vec(values, n_columns).unwrap()
}

#[test]
fn em_is_monotone_on_exactly_singular_data() {
    let rows = histograms(4000, 27);
    for n_components in [3, 20] {
        check(&rows, n_components, &Start::KmeansPlusPlus, &rounds(30));
    }
}
