//! Checks the interfaces for other engines and for checkpoints: rows in several parts that exchange only JSON, and fits
//! that are paused and saved.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use mixtura::driver::{Attempts, Observer, Problem, Quiet, Seen, Termination};
use mixtura::family::Family;
use mixtura::pass::{Assignment, Pass, Precision, Tally};
use mixtura::random::{Address, Purpose};
use mixtura::sweep::{CHUNK_ROWS, Crew, Engine, Piece, Sweep, Tree};
use mixtura::theory::Proximity;
use mixtura::{
    Algorithm, DiagonalGaussian, Error, Fit, FullGaussian, Options, Poisson, Rows, Source, Start, TiedGaussian, fit,
};

use crate::{artificial, assert_models_close, rounds};

/// An engine in several parts that exchange only JSON, as separate machines would; they answer in reverse order.
struct Parts(Vec<Rows<'static>>);

impl Parts {
    /// The rows, cut before the given row numbers.
    fn cut(rows: &Rows<'_>, cuts: &[usize]) -> Self {
        let ends = cuts.iter().copied().chain([rows.n_rows()]);
        let begins = [0].into_iter().chain(cuts.iter().copied());
        let part = |(begin, end): (usize, usize)| {
            let numbers: Vec<usize> = (begin..end).collect();
            let part = rows.gather(&numbers);
            match rows.labels() {
                None => part,
                Some(labels) => part.with_labels(labels[begin..end].to_vec()).unwrap(),
            }
        };
        Self(begins.zip(ends).map(part).collect())
    }
}

impl Engine for Parts {
    fn sweep<S: Sweep>(&self, sweep: &S) -> Result<S::Tally, Error> {
        let sent = serde_json::to_string(sweep).unwrap();
        let (mut first_row, mut first_chunk) = (0, 0);
        let mut answers = Vec::new();
        for rows in &self.0 {
            // As in another process.
            let sweep: S = serde_json::from_str(&sent).unwrap();
            let piece = Piece { rows, first_row, first_chunk, hints: None };
            let answer = Crew::default().run(&sweep.prepare()?, piece)?;
            answers.push(serde_json::to_string(&answer).unwrap());
            first_row += rows.n_rows() as u64;
            first_chunk += piece.n_chunks();
        }
        let mut tree = Tree::new();
        for answer in answers.iter().rev() {
            tree.join(serde_json::from_str::<Tree<S::Tally>>(answer).unwrap())?;
        }
        tree.finish()?.ok_or(Error::NoRows)
    }
}

/// Cuts between chunks; one part is empty.
const BETWEEN_CHUNKS: [usize; 4] = [CHUNK_ROWS, 4 * CHUNK_ROWS, 4 * CHUNK_ROWS, 5 * CHUNK_ROWS];

/// Rows without weights, with whole-number weights, and with fractional weights.
fn differently_weighted(rows: &Rows<'static>) -> [Rows<'static>; 3] {
    let weights = |of: &dyn Fn(usize) -> f64| (0..rows.n_rows()).map(of).collect::<Vec<_>>();
    [
        rows.clone(),
        rows.clone().with_weights(weights(&|n| (n % 4) as f64)).unwrap(),
        rows.clone().with_weights(weights(&|n| 0.25 + (n % 3) as f64)).unwrap(),
    ]
}

#[track_caller]
fn assert_same_bits<F: Family>(
    rows: &Rows<'static>,
    n_components: usize,
    start: &Start<F>,
    options: &Options,
) -> Fit<F> {
    let parts = Source::new(Parts::cut(rows, &BETWEEN_CHUNKS)).unwrap();
    let whole = Source::of(rows).unwrap();
    assert_eq!(parts.summary(), whole.summary());
    let in_parts = fit(&parts, n_components, start, options, &Quiet).unwrap();
    let at_once = fit(&whole, n_components, start, options, &Quiet).unwrap();
    assert_eq!(in_parts, at_once, "{options:?}");
    at_once
}

#[test]
fn parts_cut_between_chunks_give_the_same_bits_by_every_algorithm() {
    let (rows, _) = artificial(6000, 3, 3, 91);
    for rows in differently_weighted(&rows) {
        for algorithm in [Algorithm::Em, Algorithm::Sem, Algorithm::Cem, Algorithm::Saem, Algorithm::Auto] {
            let options = rounds(12).algorithm(algorithm).restarts(2).seed(3);
            assert_same_bits::<FullGaussian>(&rows, 3, &Start::KmeansPlusPlus, &options);
        }
    }
}

#[test]
fn parts_cut_between_chunks_give_the_same_bits_for_every_start_and_family() {
    let (rows, truth) = artificial(6000, 3, 3, 91);
    let labels: Vec<u32> = (0..6000).map(|n| n % 3).collect();
    let rows = rows.with_labels(labels).unwrap();
    let options = rounds(3);
    for rows in differently_weighted(&rows) {
        for start in [Start::Random, Start::ShortEm, Start::Labels, Start::Model(truth.clone())] {
            assert_same_bits(&rows, 3, &start, &options);
        }
        assert_same_bits::<DiagonalGaussian>(&rows, 4, &Start::KmeansPlusPlus, &options);
        assert_same_bits::<TiedGaussian>(&rows, 4, &Start::KmeansPlusPlus, &options);
    }
    let counts: Vec<f64> = (0..12_000_u32).map(|n| f64::from(n * n % 13 + 9 * (n % 2))).collect();
    assert_same_bits::<Poisson>(&Rows::from_vec(counts, 2).unwrap(), 3, &Start::KmeansPlusPlus, &options);
}

/// Components without rows are moved to rows drawn from the data; if most rows are repeated, to distinct ones.
#[test]
fn parts_cut_between_chunks_repair_alike() {
    let (rows, truth) = artificial(6000, 2, 3, 96);
    let mut starved = truth;
    starved.weights = vec![0.5, 0.5 - 1e-300, 1e-300];
    for algorithm in [Algorithm::Em, Algorithm::Sem, Algorithm::Cem] {
        let options = rounds(6).algorithm(algorithm);
        let found = assert_same_bits(&rows, 3, &Start::Model(starved.clone()), &options);
        assert!(!found.events.is_empty(), "{algorithm:?}: nothing to repair");
    }
    let repeated: Vec<f64> = (0..6000).map(|n| f64::from(if n % 1000 == 999 { n / 1000 + 1 } else { 0 })).collect();
    let repeated = Rows::from_vec(repeated, 1).unwrap();
    for start in [Start::Random, Start::KmeansPlusPlus] {
        assert_same_bits::<FullGaussian>(&repeated, 4, &start, &rounds(3));
    }
}

/// With many separated components, passes search for near ones; all parts must make the same decision.
#[test]
fn parts_cut_between_chunks_search_alike() {
    let shape = mixtura::generate::Artificial { n_columns: 4, n_components: 40, separation: 6.0, ..Default::default() };
    let model = shape.mixture(3).unwrap();
    let rows = Rows::from_vec(model.sample(0..6000, 3).unwrap().0, 4).unwrap();
    for algorithm in [Algorithm::Em, Algorithm::Sem, Algorithm::Cem] {
        assert_same_bits(&rows, 40, &Start::Model(model.clone()), &rounds(3).algorithm(algorithm));
    }
}

#[test]
fn parts_cut_between_chunks_give_the_same_bounds_and_scores() {
    let (rows, model) = artificial(6000, 3, 3, 92);
    let (parts, whole) = (Source::new(Parts::cut(&rows, &BETWEEN_CHUNKS)).unwrap(), Source::of(&rows).unwrap());
    assert_eq!(Proximity::measure(&parts, &model).unwrap(), Proximity::measure(&whole, &model).unwrap());
    assert_eq!(model.score_with(parts.engine()).unwrap(), model.score(&rows).unwrap());
}

/// The label that SEM draws for each row, from the statistics of one row at a time.
fn drawn_labels(source: &Source<impl Engine>, model: &mixtura::Mixture<FullGaussian>) -> Statistics {
    let address = Address { seed: 5, restart: 1, round: 7, purpose: Purpose::Label };
    let pass = Pass::new(source, model.clone(), Assignment::Sampled(address)).unwrap();
    source.sweep(&Pass { precision: Precision::default(), ..pass }).unwrap()
}

type Statistics = Tally<<FullGaussian as Family>::Moments>;

/// Draws belong to rows, so cutting anywhere does not change a label: components have exactly the same number of rows,
/// and sums agree up to rounding.
#[test]
fn parts_cut_anywhere_draw_the_same_labels() {
    let (rows, model) = artificial(6000, 3, 3, 93);
    let whole = Source::of(&rows).unwrap();
    let expected = drawn_labels(&whole, &model);
    for cuts in [[1, 1000, 1000, 5999], [17, 1023, 1025, 3333], [500, 501, 502, 503]] {
        let parts = Source::new(Parts::cut(&rows, &cuts)).unwrap();
        let found = drawn_labels(&parts, &model);
        // Counts are exact integers: different labels would change counts, or sums by far more than rounding.
        assert_eq!(found.squared_weights, expected.squared_weights);
        for k in 0..3 {
            for i in 0..3 {
                let size = expected.moments.second(k, i, i);
                let (a, b) = (found.moments.first(k)[i], expected.moments.first(k)[i]);
                assert!((a - b).abs() < 1e-12 * (size * 6000.0).sqrt(), "{a} {b}");
                for j in 0..=i {
                    let (a, b) = (found.moments.second(k, i, j), expected.moments.second(k, i, j));
                    assert!((a - b).abs() < 1e-12 * size.max(expected.moments.second(k, j, j)), "{a} {b}");
                }
            }
        }
        for algorithm in [Algorithm::Em, Algorithm::Sem, Algorithm::Cem, Algorithm::Saem, Algorithm::Auto] {
            let options = rounds(8).algorithm(algorithm);
            let a = fit(&parts, 3, &Start::Model(model.clone()), &options, &Quiet).unwrap();
            let b = fit(&whole, 3, &Start::Model(model.clone()), &options, &Quiet).unwrap();
            assert_models_close(&a.model, &b.model, 1e-10);
        }
        let (a, b) = (Proximity::measure(&parts, &model).unwrap(), Proximity::measure(&whole, &model).unwrap());
        for (a, b) in a.tau.iter().zip(&b.tau).chain(a.rho.iter().flatten().zip(b.rho.iter().flatten())) {
            crate::assert_close(*a, *b, 1e-11, 0.0);
        }
    }
}

#[test]
fn an_engine_without_rows_or_with_a_gap_is_rejected() {
    struct Gap(Rows<'static>);
    impl Engine for Gap {
        fn sweep<S: Sweep>(&self, sweep: &S) -> Result<S::Tally, Error> {
            let tree = Crew::default().run(&sweep.prepare()?, Piece::at(&self.0, CHUNK_ROWS as u64)?)?;
            tree.finish()?.ok_or(Error::NoRows)
        }
    }
    let (rows, _) = artificial(3000, 2, 2, 94);
    assert_eq!(Source::new(Gap(rows)).err(), Some(Error::MissingChunk { chunk: 0 }));
    assert_eq!(Source::new(Parts(Vec::new())).err(), Some(Error::NoRows));
}

struct StopAfter(u64, AtomicBool);

impl Observer for StopAfter {
    fn updated(&self, _restart: u64, round: u64, _n_repairs: u64) {
        self.1.store(round >= self.0, Ordering::Relaxed);
    }
    fn is_stopped(&self) -> bool {
        self.1.load(Ordering::Relaxed)
    }
}

/// Whole fits, with restarts and a guard, paused after some rounds, saved, and continued.
#[test]
fn a_paused_fit_continues_to_the_same_bits() {
    let (rows, _) = artificial(3000, 3, 4, 92);
    let source = Source::of(&rows).unwrap();
    let all = [Algorithm::Em, Algorithm::Sem, Algorithm::Cem, Algorithm::Saem, Algorithm::Auto];
    for algorithm in all {
        let guard = algorithm == Algorithm::Auto;
        let options = rounds(14).algorithm(algorithm).restarts(3).guard(guard);
        let problem = Problem::<FullGaussian, _>::new(&source, 4, Start::Random, options).unwrap();
        let whole = problem.fit(&Quiet).unwrap();
        let mut attempts = Attempts::new(&problem);
        // Every restart has 14 rounds, and each guard another 14: pause in each of them.
        let n_runs = if guard { 6 } else { 3 };
        for pause in 1..n_runs {
            problem.go(&mut attempts, &PauseAfter { n_rounds: 11, done: AtomicU64::new(0) }).unwrap();
            assert!(attempts.n_rounds() >= 10 * pause, "{algorithm:?}");
            assert!(attempts.n_rounds() < 14 * n_runs, "{algorithm:?}");
            let saved = serde_json::to_string(&attempts).unwrap();
            attempts = serde_json::from_str(&saved).unwrap();
        }
        assert_eq!(problem.answer(&attempts).unwrap().termination, Termination::Interrupted);
        problem.go(&mut attempts, &Quiet).unwrap();
        assert_eq!(attempts.n_rounds(), 14 * n_runs);
        assert_eq!(problem.answer(&attempts).unwrap(), whole, "{algorithm:?}");
    }
}

/// Stops after a given number of rounds in total, over all restarts.
struct PauseAfter {
    n_rounds: u64,
    done: AtomicU64,
}

impl Observer for PauseAfter {
    fn updated(&self, _restart: u64, _round: u64, _n_repairs: u64) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }
    fn is_stopped(&self) -> bool {
        self.done.load(Ordering::Relaxed) >= self.n_rounds
    }
}

#[test]
fn an_interrupted_fit_returns_the_best_model_so_far() {
    let (rows, _) = artificial(2000, 2, 3, 93);
    let engine = Source::of(&rows).unwrap();
    let stop = StopAfter(4, AtomicBool::new(false));
    let options = rounds(100).algorithm(Algorithm::Sem);
    let fit = fit(&engine, 3, &Start::<FullGaussian>::Random, &options, &stop).unwrap();
    assert_eq!((fit.termination, fit.rounds), (Termination::Interrupted, 4));
    let score = fit.model.score(&rows).unwrap();
    assert!((score.mean_ln_likelihood - fit.mean_ln_likelihood).abs() < 1e-12);
}

#[derive(Default)]
struct Log(Mutex<Vec<String>>);

impl Observer for Log {
    fn pass_started(&self, restart: u64, round: u64) {
        self.0.lock().unwrap().push(format!("pass {restart}.{round}"));
    }
    fn evaluated(&self, restart: u64, round: u64, _likelihood: f64) {
        self.0.lock().unwrap().push(format!("evaluated {restart}.{round}"));
    }
    fn updated(&self, restart: u64, round: u64, _n_repairs: u64) {
        self.0.lock().unwrap().push(format!("updated {restart}.{round}"));
    }
}

#[test]
fn observers_see_every_round_in_order_and_one_pass_per_round() {
    let (rows, _) = artificial(100, 2, 2, 94);
    let log = Log::default();
    fit(&Source::of(&rows).unwrap(), 2, &Start::<FullGaussian>::Random, &rounds(2), &log).unwrap();
    let expected = [
        "pass 0.0",
        "evaluated 0.0",
        "updated 0.1",
        "pass 0.1",
        "evaluated 0.1",
        "updated 0.2",
        "pass 0.2",
        "evaluated 0.2",
    ];
    assert_eq!(log.0.into_inner().unwrap(), expected);
}

#[test]
fn one_crew_for_pieces_of_different_sizes_panicked() {
    let (rows, model) = artificial(3000, 3, 3, 97);
    let source = Source::of(&rows).unwrap();
    let small = rows.gather(&(0..10).collect::<Vec<_>>());
    let (wide, wide_model) = artificial(500, 5, 3, 98);
    let wide_source = Source::of(&wide).unwrap();
    let crew = Crew::default();
    for assignment in [Assignment::Soft, Assignment::Hard] {
        let pass = Pass::new(&source, model.clone(), assignment).unwrap().prepare().unwrap();
        let wide_pass = Pass::new(&wide_source, wide_model.clone(), assignment).unwrap().prepare().unwrap();
        let fresh = Crew::default().run(&pass, Piece::of(&rows)).unwrap();
        crew.run(&pass, Piece::of(&small)).unwrap();
        crew.run(&wide_pass, Piece::of(&wide)).unwrap();
        assert_eq!(crew.run(&pass, Piece::of(&rows)).unwrap(), fresh);
    }
}

/// A last chunk that weighs nothing has no extremes: they must cross the seam all the same.
#[test]
fn parts_whose_rows_weigh_nothing_can_be_summarized() {
    let (rows, _) = artificial(3000, 2, 2, 99);
    let rows = rows.with_weights((0..3000).map(|n| f64::from(n < 2048)).collect::<Vec<_>>()).unwrap();
    let parts = Source::new(Parts::cut(&rows, &[CHUNK_ROWS, 2 * CHUNK_ROWS])).unwrap();
    assert_eq!(parts.summary(), Source::of(&rows).unwrap().summary());
}

#[test]
fn rows_and_models_that_do_not_fit_are_refused() {
    let (rows, model) = artificial(100, 3, 2, 100);
    let source = Source::of(&rows).unwrap();
    assert_eq!(source.pick(&[3, 100]).unwrap_err(), Error::NoSuchRow { row: 100 });
    let (_, narrow) = artificial(1, 2, 2, 100);
    let problem = Problem::new(&source, 2, Start::Model(model), rounds(1)).unwrap();
    assert_eq!(problem.run_from(narrow.clone(), 0).unwrap_err(), Error::Width { n_model: 2, n_data: 3 });
    assert!(Problem::new(&source, 2, Start::Model(narrow), rounds(1)).is_err());
    let different = Parts(vec![rows.clone(), artificial(10, 2, 2, 1).0]);
    assert_eq!(Source::new(different).err(), Some(Error::Width { n_model: 3, n_data: 2 }));
    let mut attempts = Attempts::new(&problem);
    let other = Problem::<FullGaussian, _>::new(&source, 2, Start::Random, rounds(1).restarts(2)).unwrap();
    assert!(matches!(other.go(&mut attempts, &Quiet), Err(Error::Differs { what: "restarts", .. })));
}

#[test]
fn the_guard_went_on_where_the_rule_ends_a_run() {
    let (rows, _) = artificial(2000, 2, 3, 101);
    let log = Log::default();
    let three_rounds = |seen: &Seen<'_>| (seen.round == 3).then_some(Termination::Converged);
    let fitter = mixtura::Gmm::new(3).restarts(1).guard(true).rule(three_rounds);
    fitter.fit_observed(&Source::of(&rows).unwrap(), &log).unwrap();
    let seen = log.0.into_inner().unwrap();
    assert!(seen.contains(&"evaluated 1.3".into()) && !seen.contains(&"updated 1.4".into()), "{seen:?}");
}

#[test]
fn a_fit_that_ended_at_its_limit_stayed_there_when_the_limit_was_raised() {
    let (rows, _) = artificial(2000, 2, 3, 102);
    let source = Source::of(&rows).unwrap();
    for algorithm in [Algorithm::Em, Algorithm::Cem] {
        let problem = |n_rounds| {
            let options = rounds(n_rounds).algorithm(algorithm).restarts(2);
            Problem::<FullGaussian, _>::new(&source, 3, Start::Random, options).unwrap()
        };
        let mut attempts = Attempts::new(&problem(4));
        problem(4).go(&mut attempts, &Quiet).unwrap();
        assert!(attempts.has_ended());
        problem(10).go(&mut attempts, &Quiet).unwrap();
        assert_eq!(problem(10).answer(&attempts).unwrap(), problem(10).fit(&Quiet).unwrap());
    }
}
