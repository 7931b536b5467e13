//! Checks that the number of threads does not change a single bit of a fit.

use mixtura::{Algorithm, FullGaussian, Rows, Start};

use crate::{artificial, fit_rows};

pub(crate) fn on_threads<T: Send>(n_threads: usize, work: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().unwrap().install(work)
}

fn check(rows: &Rows<'_>, start: &Start<FullGaussian>, algorithm: Algorithm) {
    // Enough rounds for SEM's average and for extrapolated steps of EM.
    let (restarts, rounds, accelerate) = match algorithm {
        Algorithm::Em | Algorithm::Auto => (2, 60, true),
        Algorithm::Sem | Algorithm::Saem => (2, 40, false),
        _ => (3, 12, false),
    };
    let (guard, tolerance) = (algorithm == Algorithm::Auto, 0.0);
    let options = crate::single()
        .algorithm(algorithm)
        .accelerate(accelerate)
        .guard(guard)
        .restarts(restarts)
        .rounds(rounds)
        .tolerance(tolerance)
        .seed(42);
    let fit = |n_threads| {
        let fit = on_threads(n_threads, || fit_rows(rows, 4, start, &options).unwrap());
        serde_json::to_string(&fit).unwrap()
    };
    let one = fit(1);
    for n_threads in [2, 3, 7] {
        assert_eq!(one, fit(n_threads), "{algorithm:?} on {n_threads} threads");
    }
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let (rows, _) = artificial(20_011, 3, 4, 31);
    let whole: Vec<f64> = (0..20_011).map(|n| f64::from(n % 4)).collect();
    let fractional: Vec<f64> = (0..20_011).map(|n| 0.25 + f64::from(n % 7) / 3.0).collect();
    for algorithm in [Algorithm::Em, Algorithm::Sem, Algorithm::Cem, Algorithm::Saem, Algorithm::Auto] {
        for start in [Start::KmeansPlusPlus, Start::Random] {
            check(&rows, &start, algorithm);
            check(&rows.clone().with_weights(whole.clone()).unwrap(), &start, algorithm);
            check(&rows.clone().with_weights(fractional.clone()).unwrap(), &start, algorithm);
        }
    }
}

#[test]
fn small_data_with_parallel_restarts_changes_no_bit() {
    let (rows, _) = artificial(700, 2, 4, 32);
    for algorithm in [Algorithm::Em, Algorithm::Sem, Algorithm::Cem, Algorithm::Saem, Algorithm::Auto] {
        check(&rows, &Start::Random, algorithm);
    }
}
