//! Checks that a single request to stop ends a fit promptly, at any point, with the best model so far.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use mixtura::driver::{Attempts, Observer, Problem, Quiet, Termination};
use mixtura::sweep::Threads;
use mixtura::theory::Proximity;
use mixtura::{Algorithm, Error, FullGaussian, Source, Start, fit};

use crate::{artificial, rounds};

/// Requests a stop from a given call on, and counts the calls.
struct AfterQuestions {
    limit: usize,
    asked: AtomicUsize,
    counts: AtomicBool,
}

impl AfterQuestions {
    fn new(limit: usize) -> Self {
        Self { limit, asked: AtomicUsize::new(0), counts: AtomicBool::new(true) }
    }

    /// Neither counts calls nor requests a stop until it is started.
    fn paused(limit: usize) -> Self {
        Self { counts: AtomicBool::new(false), ..Self::new(limit) }
    }

    fn start(&self) {
        self.counts.store(true, Ordering::Relaxed);
    }

    fn is_stopped(&self) -> bool {
        self.counts.load(Ordering::Relaxed) && self.asked.fetch_add(1, Ordering::Relaxed) >= self.limit
    }

    fn n_asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }
}

/// Records the likelihoods of evaluated models, and starts counting calls with the first pass.
struct Seen<'a>(std::sync::Mutex<Vec<f64>>, &'a AfterQuestions);

impl Observer for Seen<'_> {
    fn pass_started(&self, _restart: u64, _round: u64) {
        self.1.start();
    }
    fn evaluated(&self, _restart: u64, _round: u64, likelihood: f64) {
        self.0.lock().unwrap().push(likelihood);
    }
}

#[test]
fn a_pass_that_is_stopped_half_way_ends_the_fit_with_the_best_model_so_far() {
    // Ten chunks: a pass checks ten times, and a round once more. Two rounds, then part of the third pass.
    let (rows, _) = artificial(10_240, 2, 3, 201);
    for algorithm in [Algorithm::Em, Algorithm::Sem, Algorithm::Cem, Algorithm::Saem, Algorithm::Auto] {
        let start = Start::Model(crate::started(&rows, 3, &Start::Random, 0));
        let stop = AfterQuestions::paused(2 * 11 + 4);
        let engine = Source::of(&rows).unwrap().with_stop(|| stop.is_stopped());
        let (seen, options) = (Seen(std::sync::Mutex::default(), &stop), rounds(100).algorithm(algorithm));
        let fit = fit(&engine, 3, &start, &options, &seen).unwrap();
        assert_eq!((fit.termination, fit.rounds), (Termination::Interrupted, 2), "{algorithm:?}");
        let seen = seen.0.into_inner().unwrap();
        assert_eq!(seen.len(), 2);
        let best = seen.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        assert_eq!(fit.mean_ln_likelihood, best);
        // The error of single precision is far below 1e-6 here.
        let score = fit.model.score(&rows).unwrap();
        assert!((score.mean_ln_likelihood - best).abs() < 1e-6);
        assert_eq!((fit.restarts_asked, fit.restarts_ended, fit.restarts.len()), (1, 0, 1));
    }
}

#[test]
fn a_run_stopped_in_a_pass_continues_to_the_same_bits() {
    let (rows, _) = artificial(5000, 3, 4, 202);
    let plain = Source::of(&rows).unwrap();
    for algorithm in [Algorithm::Em, Algorithm::Sem, Algorithm::Auto] {
        let options = rounds(14).algorithm(algorithm);
        let whole = fit(&plain, 4, &Start::<FullGaussian>::Random, &options, &Quiet).unwrap();
        let first = crate::started(&rows, 4, &Start::Random, 0);
        let stop = AfterQuestions::paused(6 * 6 + 3);
        let engine = Source::of(&rows).unwrap().with_stop(|| stop.is_stopped());
        let problem =
            |source| Problem::<FullGaussian, _>::new(source, 4, Start::Model(first.clone()), options.clone()).unwrap();
        let stopped = problem(&engine);
        let mut run = stopped.run_from(first.clone(), 0).unwrap();
        stop.start();
        run.go(&stopped, &Quiet).unwrap();
        assert_eq!((run.termination(), run.state().round), (Some(Termination::Interrupted), 6));
        run.go(&problem(&plain), &Quiet).unwrap();
        let answer = run.answer().unwrap();
        assert_eq!((&answer.model, answer.mean_ln_likelihood), (&whole.model, whole.mean_ln_likelihood));
    }
}

#[test]
fn a_fit_stopped_before_any_model_was_evaluated_is_an_error() {
    let (rows, _) = artificial(10_240, 2, 3, 203);
    for start in [Start::<FullGaussian>::KmeansPlusPlus, Start::Random, Start::ShortEm] {
        for limit in [0, 1, 5] {
            let stop = AfterQuestions::new(limit);
            let engine = Source::of(&rows).unwrap().with_stop(|| stop.is_stopped());
            let options = rounds(100).restarts(3);
            assert_eq!(fit(&engine, 3, &start, &options, &Quiet).unwrap_err(), Error::Interrupted);
            // A few more checks until all threads and restarts have noticed, and no more.
            assert!(stop.n_asked() < limit + 30, "{start:?} {limit}: {}", stop.n_asked());
        }
    }
}

/// k-means++ checks once per centre: with many components, the start alone takes a long time.
#[test]
fn a_start_with_many_components_ignored_a_stop() {
    let (rows, _) = artificial(12_000, 2, 3, 204);
    for start in [Start::KmeansPlusPlus, Start::ShortEm] {
        let stop = AfterQuestions::paused(40);
        let engine = Source::of(&rows).unwrap().with_stop(|| stop.is_stopped());
        let problem = Problem::<FullGaussian, _>::new(&engine, 500, start.clone(), crate::single()).unwrap();
        stop.start();
        let found = problem.first_model(0);
        assert_eq!(found.unwrap_err(), Error::Interrupted);
        assert!(stop.n_asked() < 60, "{start:?}: {}", stop.n_asked());
    }
}

/// Stops after a given number of restarts has ended.
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
fn parallel_restarts_were_all_begun_after_a_stop() {
    // One chunk: restarts run in parallel. Five chunks on one thread: one after the other.
    for (n_rows, threads) in [(300, 1), (300, 3), (5000, 1)] {
        let (rows, _) = artificial(n_rows, 2, 3, 205);
        let observer = AfterRestarts {
            limit: 7,
            rounds: 4,
            ended: AtomicUsize::new(0),
            begun: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
        };
        let engine = Source::of(&rows).unwrap().with_stop(|| observer.stop.load(Ordering::Relaxed));
        let options = rounds(4).restarts(1000);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let fit = pool.install(|| fit(&engine, 3, &Start::<FullGaussian>::Random, &options, &observer)).unwrap();
        assert_eq!((fit.termination, fit.restarts_asked), (Termination::Interrupted, 1000));
        // The seven that ended before the stop; the eighth noticed it only at its end.
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
    // The first sweep checks ten times, the second once per chunk.
    for limit in [4, 14] {
        let stop = AfterQuestions::new(limit);
        let engine = Source::of(&rows).unwrap().with_stop(|| stop.is_stopped());
        assert_eq!(Proximity::measure(&engine, &model).unwrap_err(), Error::Interrupted);
    }
    let stop = AfterQuestions::new(4);
    let engine = Source::of(&rows).unwrap().with_stop(|| stop.is_stopped());
    assert_eq!(model.score_with(engine.engine()).unwrap_err(), Error::Interrupted);
    let plain = Source::of(&rows).unwrap();
    assert_eq!(model.score_with(plain.engine()).unwrap(), model.score(&rows).unwrap());
}

#[test]
fn summarizing_wide_rows_ignored_a_stop() {
    let rows = mixtura::Rows::from_vec((0..3000).map(|n| f64::from(n % 101)).collect(), 300).unwrap();
    let found = Source::new(Threads::new(&rows).with_stop(|| true));
    assert_eq!(found.err(), Some(Error::Interrupted));
    assert!(Source::new(Threads::new(&rows).with_stop(|| false)).is_ok());
}

/// SEM in single precision evaluates its answer in double precision, in a pass after its last round.
#[test]
fn a_stop_while_the_answer_was_evaluated_lost_the_model() {
    let (rows, _) = artificial(10_240, 2, 3, 207);
    let plain = Source::of(&rows).unwrap();
    let start = Start::Model(crate::started(&rows, 3, &Start::Random, 0));
    for algorithm in [Algorithm::Sem, Algorithm::Saem] {
        let options = rounds(4).algorithm(algorithm);
        let whole = fit(&plain, 3, &start, &options, &Quiet).unwrap();
        // Five passes of ten chunks, each with a question after it; then a part of the sixth.
        let stop = AfterQuestions::paused(5 * 11 + 3);
        let engine = Source::of(&rows).unwrap().with_stop(|| stop.is_stopped());
        let seen = Seen(std::sync::Mutex::default(), &stop);
        let problem = Problem::new(&engine, 3, start.clone(), options.clone()).unwrap();
        let mut attempts = Attempts::new(&problem);
        problem.go(&mut attempts, &seen).unwrap();
        let found = problem.answer(&attempts).unwrap();
        assert_eq!((found.termination, found.rounds), (Termination::Interrupted, 4), "{algorithm:?}");
        assert!(!attempts.has_ended());
        let again = Problem::new(&plain, 3, start.clone(), options).unwrap();
        again.go(&mut attempts, &Quiet).unwrap();
        assert_eq!(again.answer(&attempts).unwrap(), whole, "{algorithm:?}");
    }
}

/// Whatever question a stop begins with, a start is the one it would have been, or none.
#[test]
fn a_short_run_that_was_stopped_passed_for_a_whole_one() {
    let (rows, _) = artificial(3000, 2, 3, 208);
    let whole = Source::of(&rows).unwrap();
    let model = |source: &Source<Threads<'_>>, stop: Option<&AfterQuestions>| {
        let problem = Problem::<FullGaussian, _>::new(source, 3, Start::ShortEm, crate::single()).unwrap();
        stop.inspect(|stop| stop.start());
        problem.first_model(0)
    };
    let expected = model(&whole, None).unwrap();
    let counting = AfterQuestions::paused(usize::MAX);
    let source = Source::of(&rows).unwrap().with_stop(|| counting.is_stopped());
    model(&source, Some(&counting)).unwrap();
    let n_asked = counting.n_asked();
    assert!(n_asked > 100);
    for limit in (0..n_asked).rev().take(40).chain([n_asked]) {
        let stop = AfterQuestions::paused(limit);
        let source = Source::of(&rows).unwrap().with_stop(|| stop.is_stopped());
        match model(&source, Some(&stop)) {
            Ok(found) => assert_eq!(found, expected, "{limit} of {n_asked}"),
            Err(error) => assert_eq!(error, Error::Interrupted),
        }
    }
}
