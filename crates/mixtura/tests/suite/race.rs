//! Checks the race of starts: what it finds, that it is reproducible, and that it can be stopped and continued.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use mixtura::driver::{Attempts, Observer, Place, Problem, Quiet, Standing, Termination};
use mixtura::generate::Artificial;
use mixtura::theory::Proximity;
use mixtura::{
    Algorithm, DiagonalGaussian, Error, Fitter, FullGaussian, Gmm, Mixture, Options, Poisson, Rows, Source,
    SphericalGaussian, Start, TiedGaussian,
};

use crate::reproducible::on_threads;
use crate::{artificial, fit_rows};

/// Rows of well separated clusters, where most single starts end at a poor maximum.
fn clusters(n_rows: usize) -> (Rows<'static>, Mixture<FullGaussian>) {
    let shape = Artificial { n_columns: 2, n_components: 20, separation: 4.0, ..Artificial::default() };
    let model = shape.mixture(17).unwrap();
    let (values, _) = model.sample(0..n_rows, 1).unwrap();
    (Rows::from_vec(values, 2).unwrap(), model)
}

fn race(seed: u64) -> Options {
    Options::default().algorithm(Algorithm::Em).seed(seed)
}

#[test]
fn a_race_finds_the_best_maximum_where_single_starts_do_not() {
    let (rows, truth) = clusters(20_000);
    let from_truth = fit_rows(&rows, 20, &Start::Model(truth), &race(0)).unwrap().mean_ln_likelihood;
    let fits = |options: fn(u64) -> Options| -> Vec<f64> {
        let fit = |seed| fit_rows(&rows, 20, &Start::KmeansPlusPlus, &options(seed)).unwrap().mean_ln_likelihood;
        (0..6).map(fit).collect()
    };
    let reached = |found: &[f64]| found.iter().filter(|&&likelihood| likelihood > from_truth - 1e-3).count();
    assert_eq!(reached(&fits(race)), 6);
    assert!(reached(&fits(|seed| race(seed).restarts(1))) < 3);
}

#[test]
fn the_result_of_a_race_is_a_maximum_for_all_rows() {
    let (rows, _) = clusters(20_000);
    let fit = fit_rows(&rows, 20, &Start::KmeansPlusPlus, &race(1)).unwrap();
    assert_eq!(fit.termination, Termination::Converged);
    assert!((fit.model.score(&rows).unwrap().mean_ln_likelihood - fit.mean_ln_likelihood).abs() < 1e-12);
    let next = fit_rows(&rows, 20, &Start::Model(fit.model), &crate::rounds(1)).unwrap();
    // One change below the tolerance of 1e-6 is followed by a smaller one.
    assert!((0.0..1e-6).contains(&(next.mean_ln_likelihood - fit.mean_ln_likelihood)));
}

#[test]
fn the_record_of_a_race_adds_up() {
    let (rows, _) = clusters(20_000);
    let fit = fit_rows(&rows, 20, &Start::KmeansPlusPlus, &race(2)).unwrap();
    let record = fit.race.unwrap();
    assert_eq!((fit.restarts_asked, fit.restarts_ended), (8, fit.restarts.len() as u64));
    assert!((1..=2).contains(&fit.restarts.len()));
    let levels = &record.levels;
    let mut starts: Vec<u64> = levels[0].entries.iter().map(|entry| entry.start).collect();
    starts.sort_unstable();
    assert_eq!(starts, (0..8).collect::<Vec<_>>());
    for pair in levels.windows(2) {
        assert!(pair[1].n_rows > 2 * pair[0].n_rows);
        let on = pair[0].entries.iter().filter(|entry| entry.place == Place::On).count();
        assert_eq!(on, pair[1].entries.len());
    }
    let last = levels.last().unwrap();
    assert_eq!(last.entries.iter().filter(|entry| entry.place == Place::On).count(), fit.restarts.len());
    assert!((1..=8).contains(&record.n_agreed));
    assert!(record.runner_up.unwrap().gap > 0.0);
    assert_eq!(record.interrupted_on, None);
}

#[test]
fn a_race_is_the_same_on_any_number_of_threads() {
    let (rows, _) = artificial(20_011, 3, 4, 31);
    let whole: Vec<f64> = (0..20_011).map(|n| f64::from(n % 4)).collect();
    let fractional: Vec<f64> = (0..20_011).map(|n| 0.25 + f64::from(n % 7) / 3.0).collect();
    let few = rows.gather(&(0..1500).collect::<Vec<_>>());
    let sets = [rows.clone(), rows.clone().with_weights(whole).unwrap(), rows.with_weights(fractional).unwrap(), few];
    for rows in &sets {
        for algorithm in [Algorithm::Em, Algorithm::Sem, Algorithm::Auto] {
            let options = Options::default().algorithm(algorithm).rounds(30).seed(42);
            let fit = |n_threads| {
                let fit = on_threads(n_threads, || fit_rows(rows, 4, &Start::KmeansPlusPlus, &options).unwrap());
                serde_json::to_string(&fit).unwrap()
            };
            let one = fit(1);
            for n_threads in [2, 5] {
                assert_eq!(one, fit(n_threads), "{algorithm:?} on {n_threads} threads");
            }
        }
    }
}

#[test]
fn after_a_race_auto_is_accelerated_em() {
    let (rows, _) = artificial(9000, 3, 4, 33);
    let fit = |options: Options| fit_rows(&rows, 4, &Start::KmeansPlusPlus, &options).unwrap();
    let (em, auto) = (race(3).algorithm(Algorithm::Em), fit(race(3).algorithm(Algorithm::Auto)));
    assert_eq!(fit(em.clone().accelerate(true)), auto);
    // Without acceleration it takes longer to the same maximum.
    let plain = fit(em);
    assert!(plain.rounds > auto.rounds && auto.mean_ln_likelihood >= plain.mean_ln_likelihood);
    assert_eq!(fit(race(3).algorithm(Algorithm::Sem)).termination, Termination::Flat);
}

#[test]
fn one_component_a_given_model_and_labels_have_one_start() {
    let (rows, model) = artificial(500, 2, 3, 34);
    let labels = model.labels(&rows).unwrap();
    let rows = rows.with_labels(labels).unwrap();
    let asked = |fitter: Gmm| fitter.fit(&rows).unwrap().restarts_asked;
    assert_eq!(asked(Gmm::new(1)), 1);
    assert_eq!(asked(Gmm::new(3).start_from(model.clone())), 1);
    assert_eq!(asked(Gmm::new(3).start(Start::Labels)), 1);
    assert_eq!(asked(Gmm::new(3).start_from(model).restarts(2).algorithm(Algorithm::Sem)), 2);
    assert_eq!(asked(Gmm::new(3)), 8);
    assert_eq!(asked(Gmm::new(3).race(false)), 8);
}

#[test]
fn starts_that_do_not_race_are_all_run_on_all_rows() {
    let (rows, _) = artificial(3000, 2, 3, 35);
    let fit = fit_rows(&rows, 3, &Start::Random, &race(4).restarts(3).race(false)).unwrap();
    assert_eq!((fit.restarts.len(), fit.race), (3, None));
    let alone = fit_rows(&rows, 3, &Start::Random, &race(4).restarts(1)).unwrap();
    assert_eq!(alone.mean_ln_likelihood, fit.restarts[0]);
}

#[test]
fn every_family_and_every_start_can_race() {
    let (rows, _) = artificial(6000, 3, 4, 36);
    let source = Source::of(&rows).unwrap();
    macro_rules! races {
        ($($family:ty),*) => {$(
            for start in [Start::KmeansPlusPlus, Start::Random, Start::ShortEm] {
                let fitter = Fitter::<$family>::new(4).start(start.clone()).seed(5);
                let fit = fitter.fit_source(&source).unwrap();
                let alone = fitter.restarts(1).algorithm(Algorithm::Em).fit_source(&source).unwrap();
                assert!(fit.termination.has_converged());
                assert!(fit.mean_ln_likelihood > alone.mean_ln_likelihood - 1e-3, "{start:?}");
            }
        )*};
    }
    races!(FullGaussian, TiedGaussian, DiagonalGaussian, SphericalGaussian);
    let counts: Vec<f64> = (0..9000).map(|n| f64::from(n * 7 % 5 + 20 * (n % 3))).collect();
    let fit = Fitter::<Poisson>::new(3).fit(&Rows::from_slice(&counts, 1).unwrap()).unwrap();
    assert!(fit.termination.has_converged());
    assert!(fit.race.unwrap().levels[0].n_rows < 9000);
}

#[test]
fn few_distinct_or_hardly_weighted_rows_can_race() {
    // Ten distinct values among 30,000 rows, nine of them rare; a sample may not have enough of them.
    let values: Vec<f64> = (0..30_000).map(|n| if n % 1000 == 0 { f64::from(n / 1000 % 10) } else { 0.5 }).collect();
    let rows = Rows::from_slice(&values, 1).unwrap();
    let fit = Gmm::new(5).rounds(20).fit(&rows).unwrap();
    assert!(fit.mean_ln_likelihood.is_finite());
    // Three rows weigh nearly everything.
    let (rows, _) = artificial(20_000, 2, 2, 37);
    let weights: Vec<f64> = (0..20_000).map(|n| if n % 7000 == 0 { 1e6 } else { 1e-3 }).collect();
    let rows = rows.with_weights(weights).unwrap();
    assert!(Gmm::new(2).rounds(20).fit(&rows).unwrap().mean_ln_likelihood.is_finite());
    // As many rows as components.
    let rows = Rows::from_slice(&[0.0, 1.0, 5.0], 1).unwrap();
    assert!(Gmm::new(3).rounds(20).fit(&rows).unwrap().mean_ln_likelihood.is_finite());
}

/// Stops after a number of rounds, those of a race and those on all rows.
struct PauseAfter {
    n_rounds: u64,
    done: AtomicU64,
}

impl PauseAfter {
    fn rounds(n_rounds: u64) -> Self {
        Self { n_rounds, done: AtomicU64::new(0) }
    }
}

impl Observer for PauseAfter {
    fn raced(&self, _standing: &Standing) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }
    fn updated(&self, _restart: u64, _round: u64, _n_repairs: u64) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }
    fn is_stopped(&self) -> bool {
        self.done.load(Ordering::Relaxed) >= self.n_rounds
    }
}

#[test]
fn a_paused_race_continues_to_the_same_bits() {
    let (rows, _) = clusters(10_000);
    for n_rows in [10_000, 900] {
        let rows = rows.gather(&(0..n_rows).collect::<Vec<_>>());
        let source = Source::of(&rows).unwrap();
        let problem = Problem::<FullGaussian, _>::new(&source, 20, Start::KmeansPlusPlus, race(7)).unwrap();
        let whole = problem.fit(&Quiet).unwrap();
        let mut attempts = Attempts::new(&problem);
        let mut n_pauses = 0;
        while !attempts.has_ended() {
            problem.go(&mut attempts, &PauseAfter::rounds(40)).unwrap();
            let saved = serde_json::to_string(&attempts).unwrap();
            attempts = serde_json::from_str(&saved).unwrap();
            n_pauses += 1;
            assert!(n_pauses < 100);
        }
        assert!(n_pauses > 1);
        assert_eq!(problem.answer(&attempts).unwrap(), whole);
    }
}

#[test]
fn a_stopped_race_returns_the_best_model_so_far() {
    let (rows, _) = clusters(20_000);
    let source = Source::of(&rows).unwrap();
    let problem = Problem::<FullGaussian, _>::new(&source, 20, Start::KmeansPlusPlus, race(8)).unwrap();
    let fit = problem.fit(&PauseAfter::rounds(20)).unwrap();
    assert_eq!((fit.termination, fit.restarts_ended), (Termination::Interrupted, 0));
    let n_rows = fit.race.unwrap().interrupted_on.unwrap();
    assert!((1500..3500).contains(&n_rows), "{n_rows}");
    // The likelihood of a sample is about that of all rows.
    assert!((fit.model.score(&rows).unwrap().mean_ln_likelihood - fit.mean_ln_likelihood).abs() < 0.2);
    assert_eq!(problem.fit(&PauseAfter::rounds(0)).unwrap_err(), Error::Interrupted);
}

#[derive(Default)]
struct Log(Mutex<Vec<(bool, u64)>>);

impl Observer for Log {
    fn raced(&self, standing: &Standing) {
        self.0.lock().unwrap().push((true, standing.n_rows));
    }
    fn evaluated(&self, _restart: u64, round: u64, _mean_ln_likelihood: f64) {
        self.0.lock().unwrap().push((false, round));
    }
}

#[test]
fn observers_see_the_race_first_and_then_the_rounds_on_all_rows() {
    let (rows, _) = clusters(20_000);
    let log = Log::default();
    let fit = mixtura::fit::<FullGaussian, _>(&Source::of(&rows).unwrap(), 20, &Start::KmeansPlusPlus, &race(9), &log);
    let seen = log.0.into_inner().unwrap();
    let n_raced = seen.iter().take_while(|(is_race, _)| *is_race).count();
    assert!(seen[..n_raced].windows(2).all(|pair| pair[0].1 <= pair[1].1));
    let rounds: Vec<u64> =
        seen[n_raced..].iter().map(|&(is_race, round)| if is_race { u64::MAX } else { round }).collect();
    assert_eq!(*rounds.last().unwrap(), fit.unwrap().rounds);
    assert!(rounds.iter().all(|&round| round < u64::MAX));
}

/// The identity in docs/race.md: label noise and the error of a sample of rows make up the error of labelled rows.
#[test]
fn the_noise_of_labels_and_of_rows_adds_up_to_that_of_labelled_rows() {
    let (rows, model) = artificial(4000, 2, 3, 38);
    let source = Source::of(&rows).unwrap();
    let typical = Proximity::measure(&source, &model).unwrap().typical();
    let update = fit_rows(&rows, 3, &Start::Model(model.clone()), &crate::rounds(1)).unwrap().model;
    let posteriors = model.posteriors(&rows).unwrap();
    for k in 0..3 {
        let r: f64 = (0..4000).map(|n| posteriors[3 * n + k]).sum();
        for d in 0..2 {
            let deviation = |n: usize| rows.row(n)[d] - update.components.mean(k)[d];
            let of_rows: f64 = (0..4000).map(|n| (posteriors[3 * n + k] * deviation(n)).powi(2)).sum::<f64>() / (r * r);
            let of_labels = typical.mean[2 * k + d].powi(2);
            let of_labelled = update.components.covariance(k)[3 * d] / r;
            crate::assert_close(of_rows + of_labels, of_labelled, 1e-9, 0.0);
        }
    }
}
