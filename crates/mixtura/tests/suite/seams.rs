//! Checks the seams for other engines and for checkpoints: what crosses them can be saved and merged.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use mixtura::driver::{Observer, Quiet, Run, State, Termination};
use mixtura::pass::{Assignment, Deviations, DeviationsPass, Engine, Pass, Precision, Source, Tally, Threads};
use mixtura::random::{Address, Purpose};
use mixtura::theory::Proximity;
use mixtura::{Algorithm, Error, FullGaussian, Options, Rows, Start, fit};

use crate::{artificial, rounds};

type Statistics = Tally<<FullGaussian as mixtura::family::Family>::Moments>;

/// An engine in three parts that only talk in JSON, as machines would.
struct Parts<'a> {
    whole: Threads<'a, FullGaussian>,
    parts: Vec<Threads<'a, FullGaussian>>,
}

impl Source for Parts<'_> {
    fn summary(&self) -> &mixtura::rows::Summary {
        self.whole.summary()
    }
    fn is_weighted(&self) -> bool {
        self.whole.is_weighted()
    }
    fn gather(&self, rows: &[usize]) -> Result<Rows<'static>, Error> {
        self.whole.gather(rows)
    }
    fn sample(&self, n: usize, generator: &mut mixtura::random::Generator) -> Result<Rows<'static>, Error> {
        self.whole.sample(n, generator)
    }
    fn distinct(&self, limit: usize) -> Result<Vec<usize>, Error> {
        self.whole.distinct(limit)
    }
}

impl Engine<FullGaussian> for Parts<'_> {
    fn run(&self, pass: &Pass<FullGaussian>) -> Result<Statistics, Error> {
        let sent = serde_json::to_string(pass).unwrap();
        let mut answers = self.parts.iter().map(|part| {
            let pass: Pass<FullGaussian> = serde_json::from_str(&sent).unwrap();
            let answer = serde_json::to_string(&part.run(&pass).unwrap()).unwrap();
            serde_json::from_str::<Statistics>(&answer).unwrap()
        });
        let mut total = answers.next().unwrap();
        answers.for_each(|answer| total.merge(&answer));
        Ok(total)
    }
    fn deviations(&self, pass: &DeviationsPass<FullGaussian>) -> Result<Deviations, Error> {
        let sent = serde_json::to_string(pass).unwrap();
        let mut answers = self.parts.iter().map(|part| {
            let answer = part.deviations(&serde_json::from_str(&sent).unwrap()).unwrap();
            serde_json::from_str::<Deviations>(&serde_json::to_string(&answer).unwrap()).unwrap()
        });
        let mut total = answers.next().unwrap();
        answers.for_each(|answer| total.merge(&answer));
        Ok(total)
    }
    fn n_chunks(&self) -> usize {
        self.whole.n_chunks()
    }
}

#[test]
fn an_engine_in_parts_gives_the_same_model_to_rounding() {
    let (rows, _) = artificial(5000, 3, 3, 91);
    let parts: Vec<Rows<'static>> =
        [0..1111, 1111..1200, 1200..5000].map(|range| rows.gather(&range.collect::<Vec<_>>())).into();
    let engine = Parts {
        whole: Threads::new(&rows).unwrap(),
        parts: parts.iter().map(|rows| Threads::new(rows).unwrap()).collect(),
    };
    let a = fit(&engine, 3, &Start::KmeansPlusPlus, &rounds(10), &Quiet).unwrap();
    let b = fit(&engine.whole, 3, &Start::KmeansPlusPlus, &rounds(10), &Quiet).unwrap();
    crate::assert_models_close(&a.model, &b.model, 1e-11);
}

/// What the theorems are stated in adds up over parts as statistics do.
#[test]
fn an_engine_in_parts_gives_the_same_bounds_to_rounding() {
    let (rows, model) = artificial(3000, 3, 3, 92);
    let parts: Vec<Rows<'static>> = [0..999, 999..3000].map(|range| rows.gather(&range.collect::<Vec<_>>())).into();
    let engine = Parts {
        whole: Threads::new(&rows).unwrap(),
        parts: parts.iter().map(|rows| Threads::new(rows).unwrap()).collect(),
    };
    let a = Proximity::measure(&engine, &model).unwrap();
    let b = Proximity::measure(&engine.whole, &model).unwrap();
    for (a, b) in a.tau.iter().zip(&b.tau).chain(a.rho.iter().flatten().zip(b.rho.iter().flatten())) {
        crate::assert_close(*a, *b, 1e-11, 0.0);
    }
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

#[test]
fn a_saved_state_goes_on_with_the_same_bits() {
    let (rows, _) = artificial(3000, 3, 4, 92);
    let engine = Threads::<FullGaussian>::new(&rows).unwrap();
    for algorithm in [Algorithm::Em, Algorithm::Sem, Algorithm::Cem, Algorithm::Saem, Algorithm::Auto] {
        let options = Options { algorithm, ..rounds(14) };
        let whole = fit(&engine, 4, &Start::Random, &options, &Quiet).unwrap();

        let stop = StopAfter(6, AtomicBool::new(false));
        let half = fit(&engine, 4, &Start::Random, &Options { rounds: 0, ..options.clone() }, &stop).unwrap();
        let floor = mixtura::family::Floor::new(engine.summary(), 1e-9, 0.0);
        let mut run = Run::new(State::new(half.model, 0, floor));
        run.go(&engine, &options, &stop).unwrap();
        assert_eq!((run.termination(), run.state().round), (Termination::Interrupted, 6));

        let saved = serde_json::to_string(run.state()).unwrap();
        let mut run = Run::new(serde_json::from_str::<State<FullGaussian>>(&saved).unwrap());
        run.go(&engine, &options, &Quiet).unwrap();
        assert_eq!(run.result(), (&whole.model, whole.mean_ln_likelihood));
    }
}

#[test]
fn an_interrupted_fit_returns_the_best_model_so_far() {
    let (rows, _) = artificial(2000, 2, 3, 93);
    let engine = Threads::<FullGaussian>::new(&rows).unwrap();
    let stop = StopAfter(4, AtomicBool::new(false));
    let options = Options { algorithm: Algorithm::Sem, ..rounds(100) };
    let fit = fit(&engine, 3, &Start::Random, &options, &stop).unwrap();
    assert_eq!((fit.termination, fit.rounds), (Termination::Interrupted, 4));
    let score = fit.model.score(&rows).unwrap();
    assert!((score.mean_log_likelihood - fit.mean_ln_likelihood).abs() < 1e-12);
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
fn observers_see_every_round_in_order_and_one_pass_a_round() {
    let (rows, _) = artificial(100, 2, 2, 94);
    let log = Log::default();
    fit(&Threads::<FullGaussian>::new(&rows).unwrap(), 2, &Start::Random, &rounds(2), &log).unwrap();
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
fn statistics_merge_in_any_grouping() {
    let (rows, model) = artificial(4000, 3, 3, 95);
    let pieces: Vec<Rows<'static>> =
        (0..4).map(|i| rows.gather(&(i * 1000..(i + 1) * 1000).collect::<Vec<_>>())).collect();
    let whole = Threads::<FullGaussian>::new(&rows).unwrap();
    let centre = whole.summary().centre.clone();
    let address = Address { seed: 0, restart: 0, round: 0, purpose: Purpose::Label };
    for assignment in [Assignment::Soft, Assignment::Hard, Assignment::Sampled(address), Assignment::Evaluate] {
        let pass = Pass {
            origin: None,
            model: model.clone(),
            centre: centre.clone(),
            assignment,
            precision: Precision::default(),
        };
        let t: Vec<Statistics> =
            pieces.iter().map(|rows| Threads::<FullGaussian>::new(rows).unwrap().run(&pass).unwrap()).collect();
        let mut left = t[0].clone();
        t[1..].iter().for_each(|other| left.merge(other));
        let (mut right, mut first) = (t[2].clone(), t[0].clone());
        right.merge(&t[3]);
        first.merge(&t[1]);
        first.merge(&right);
        let all = whole.run(&pass).unwrap();
        // Draws are addressed by row, and the pieces number their rows from 0: compare merges only.
        let others = if matches!(assignment, Assignment::Sampled(_)) { vec![first] } else { vec![first, all] };
        for other in others {
            assert!((left.ln_likelihood - other.ln_likelihood).abs() < 1e-9 * left.ln_likelihood.abs());
            assert_eq!(left.weight, other.weight);
            for k in 0..3 {
                for i in 0..3 {
                    let (a, b) = (left.moments.first(k)[i], other.moments.first(k)[i]);
                    assert!((a - b).abs() < 1e-9, "{a} {b}");
                    let (a, b) = (left.moments.second(k, i, 0), other.moments.second(k, i, 0));
                    assert!((a - b).abs() < 1e-8, "{a} {b}");
                }
            }
        }
    }
}
