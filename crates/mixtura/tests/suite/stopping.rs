//! Checks that one request to stop ends a fit promptly, wherever it is, with the best model so far.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use mixtura::driver::{Observer, Quiet, Run, State, Termination};
use mixtura::family::Floor;
use mixtura::pass::{Source, Threads};
use mixtura::theory::Proximity;
use mixtura::{Algorithm, Error, FullGaussian, Options, Start, fit};

use crate::{artificial, rounds};

/// Says stop from the so-manyth question on, and counts the questions.
struct AfterQuestions {
    limit: usize,
    asked: AtomicUsize,
}

impl AfterQuestions {
    fn new(limit: usize) -> Self {
        Self { limit, asked: AtomicUsize::new(0) }
    }

    fn is_stopped(&self) -> bool {
        self.asked.fetch_add(1, Ordering::Relaxed) >= self.limit
    }

    fn n_asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }
}

/// Remembers the likelihoods of models that were evaluated.
#[derive(Default)]
struct Seen(std::sync::Mutex<Vec<f64>>);

impl Observer for Seen {
    fn evaluated(&self, _restart: u64, _round: u64, likelihood: f64) {
        self.0.lock().unwrap().push(likelihood);
    }
}

#[test]
fn a_pass_that_is_stopped_half_way_ends_the_fit_with_the_best_model_so_far() {
    // Ten chunks: a pass asks ten times, and a round once more. Two rounds, and then a part of the third pass.
    let (rows, _) = artificial(10_240, 2, 3, 201);
    for algorithm in [Algorithm::Em, Algorithm::Sem, Algorithm::Cem, Algorithm::Saem, Algorithm::Auto] {
        let start = Start::Model(crate::started(&rows, 3, &Start::Random, 0));
        let stop = AfterQuestions::new(1 + 2 * 11 + 4);
        let engine = Threads::<FullGaussian>::new(&rows).unwrap().with_stop(|| stop.is_stopped());
        let (seen, options) = (Seen::default(), Options { algorithm, ..rounds(100) });
        let fit = fit(&engine, 3, &start, &options, &seen).unwrap();
        assert_eq!((fit.termination, fit.rounds), (Termination::Interrupted, 2), "{algorithm:?}");
        let seen = seen.0.into_inner().unwrap();
        assert_eq!(seen.len(), 2);
        let best = seen.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        assert_eq!(fit.mean_ln_likelihood, best);
        // Single precision may be off by its bound, which is far below 1e-6 here.
        let score = fit.model.score(&rows).unwrap();
        assert!((score.mean_log_likelihood - best).abs() < 1e-6);
        assert_eq!((fit.restarts_asked, fit.restarts_ended, fit.restarts.len()), (1, 0, 1));
    }
}

#[test]
fn a_run_that_was_stopped_in_a_pass_goes_on_with_the_same_bits() {
    let (rows, _) = artificial(5000, 3, 4, 202);
    let plain = Threads::<FullGaussian>::new(&rows).unwrap();
    for algorithm in [Algorithm::Em, Algorithm::Sem, Algorithm::Auto] {
        let options = Options { algorithm, ..rounds(14) };
        let whole = fit(&plain, 4, &Start::Random, &options, &Quiet).unwrap();
        let first = crate::started(&rows, 4, &Start::Random, 0);
        let stop = AfterQuestions::new(6 * 6 + 3);
        let engine = Threads::<FullGaussian>::new(&rows).unwrap().with_stop(|| stop.is_stopped());
        let mut run = Run::new(State::new(first, 0, Floor::new(engine.summary(), 1e-9, 0.0)));
        run.go(&engine, &options, &Quiet).unwrap();
        assert_eq!((run.termination(), run.state().round), (Termination::Interrupted, 6));
        let mut run = Run::new(run.state().clone());
        run.go(&plain, &options, &Quiet).unwrap();
        assert_eq!(run.result(), (&whole.model, whole.mean_ln_likelihood));
    }
}

#[test]
fn a_fit_stopped_before_any_model_was_evaluated_is_an_error() {
    let (rows, _) = artificial(10_240, 2, 3, 203);
    for start in [Start::KmeansPlusPlus, Start::Random, Start::ShortEm] {
        for limit in [0, 1, 5] {
            let stop = AfterQuestions::new(limit);
            let engine = Threads::<FullGaussian>::new(&rows).unwrap().with_stop(|| stop.is_stopped());
            let options = Options { restarts: 3, ..rounds(100) };
            assert_eq!(fit(&engine, 3, &start, &options, &Quiet).unwrap_err(), Error::Interrupted);
            // A few questions while all threads and restarts hear of it, and no more.
            assert!(stop.n_asked() < limit + 30, "{start:?} {limit}: {}", stop.n_asked());
        }
    }
}

/// Every centre of k-means++ is one look: with many components the start alone takes long.
#[test]
fn a_start_with_many_components_was_deaf_to_a_stop() {
    let (rows, _) = artificial(12_000, 2, 3, 204);
    for start in [Start::KmeansPlusPlus, Start::ShortEm] {
        let stop = AfterQuestions::new(40);
        let engine = Threads::<FullGaussian>::new(&rows).unwrap().with_stop(|| stop.is_stopped());
        let floor = Floor::new(engine.summary(), 1e-9, 0.0);
        let found = start.first_model(&engine, 500, (0, 0), &floor);
        assert_eq!(found.unwrap_err(), Error::Interrupted);
        assert!(stop.n_asked() < 60, "{start:?}: {}", stop.n_asked());
    }
}

/// Stops when so many restarts have ended.
struct AfterRestarts {
    limit: u64,
    rounds: u64,
    ended: AtomicUsize,
    begun: AtomicUsize,
    stop: AtomicBool,
}

impl Observer for AfterRestarts {
    fn pass_started(&self, _restart: u64, round: u64) {
        if round == 0 {
            self.begun.fetch_add(1, Ordering::Relaxed);
        }
    }
    fn evaluated(&self, _restart: u64, round: u64, _likelihood: f64) {
        if round == self.rounds && self.ended.fetch_add(1, Ordering::Relaxed) + 1 > self.limit as usize {
            self.stop.store(true, Ordering::Relaxed);
        }
    }
    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

#[test]
fn restarts_side_by_side_were_all_begun_after_a_stop() {
    // One chunk: restarts run side by side. Five chunks on one thread: one after the other.
    for (n_rows, threads) in [(300, 1), (300, 3), (5000, 1)] {
        let (rows, _) = artificial(n_rows, 2, 3, 205);
        let observer = AfterRestarts {
            limit: 7,
            rounds: 4,
            ended: AtomicUsize::new(0),
            begun: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
        };
        let engine = Threads::<FullGaussian>::new(&rows).unwrap().with_stop(|| observer.stop.load(Ordering::Relaxed));
        let options = Options { restarts: 1000, ..rounds(4) };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let fit = pool.install(|| fit(&engine, 3, &Start::Random, &options, &observer)).unwrap();
        assert_eq!((fit.termination, fit.restarts_asked), (Termination::Interrupted, 1000));
        // The seven that ended before the stop; the eighth saw it when it was at its end.
        assert!((7..=7 + threads as u64).contains(&fit.restarts_ended), "{}", fit.restarts_ended);
        assert!(observer.begun.load(Ordering::Relaxed) <= 8 + threads, "{threads}");
        assert!(fit.restarts.len() >= 8 && fit.restarts.len() <= 8 + threads);
        assert_eq!(fit.restarts[fit.winner], fit.mean_ln_likelihood);
        assert!(fit.restarts.iter().all(|likelihood| *likelihood <= fit.mean_ln_likelihood));
    }
}

#[test]
fn the_sweep_for_the_theorems_and_a_score_can_be_stopped() {
    let (rows, model) = artificial(10_240, 2, 3, 206);
    // The first sweep asks ten times, the second once for each chunk.
    for limit in [4, 14] {
        let stop = AfterQuestions::new(limit);
        let engine = Threads::<FullGaussian>::new(&rows).unwrap().with_stop(|| stop.is_stopped());
        assert_eq!(Proximity::measure(&engine, &model).unwrap_err(), Error::Interrupted);
    }
    let stop = AfterQuestions::new(4);
    let engine = Threads::<FullGaussian>::new(&rows).unwrap().with_stop(|| stop.is_stopped());
    assert_eq!(model.score_with(&engine).unwrap_err(), Error::Interrupted);
    let plain = Threads::new(&rows).unwrap();
    assert_eq!(model.score_with(&plain).unwrap(), model.score(&rows).unwrap());
}

#[test]
fn looking_at_wide_rows_was_deaf_to_a_stop() {
    let rows = mixtura::Rows::from_vec((0..3000).map(|n| f64::from(n % 101)).collect(), 300).unwrap();
    let found = Threads::<FullGaussian>::stoppable(&rows, || true);
    assert_eq!(found.err(), Some(Error::Interrupted));
    assert!(Threads::<FullGaussian>::stoppable(&rows, || false).is_ok());
}
