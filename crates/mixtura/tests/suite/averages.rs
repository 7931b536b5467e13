//! Checks SEM's answer: the model of averaged statistics, its restarts, its fallback.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use mixtura::driver::{EventKind, Observer, Quiet, Run, SemResult, State, Termination};
use mixtura::family::{Family, Fate, Floor, Moments};
use mixtura::matching::Outline;
use mixtura::pass::{Assignment, Deviations, DeviationsPass, Engine, Pass, Source, Tally, Threads};
use mixtura::{Algorithm, Error, FullGaussian, Mixture, Options, Rows, Start, fit_rows};

use crate::{artificial, assert_models_close, rounds, started};

pub(crate) type Statistics = Tally<<FullGaussian as Family>::Moments>;

/// An engine that keeps the statistics of every pass that makes some.
pub(crate) struct Recording<'a> {
    pub engine: Threads<'a, FullGaussian>,
    pub passes: Mutex<Vec<(Pass<FullGaussian>, Statistics)>>,
}

impl<'a> Recording<'a> {
    pub(crate) fn new(rows: &'a Rows<'a>) -> Self {
        Self { engine: Threads::new(rows).unwrap(), passes: Mutex::default() }
    }

    /// The passes so far, except those that only evaluate.
    pub(crate) fn statistics(&self) -> Vec<(Pass<FullGaussian>, Statistics)> {
        let passes = self.passes.lock().unwrap();
        passes.iter().filter(|(pass, _)| pass.assignment != Assignment::Evaluate).cloned().collect()
    }
}

impl Source for Recording<'_> {
    fn summary(&self) -> &mixtura::rows::Summary {
        self.engine.summary()
    }
    fn is_weighted(&self) -> bool {
        self.engine.is_weighted()
    }
    fn gather(&self, rows: &[usize]) -> Result<Rows<'static>, Error> {
        self.engine.gather(rows)
    }
    fn sample(&self, n: usize, generator: &mut mixtura::random::Generator) -> Result<Rows<'static>, Error> {
        self.engine.sample(n, generator)
    }
    fn distinct(&self, limit: usize) -> Result<Vec<usize>, Error> {
        self.engine.distinct(limit)
    }
}

impl Engine<FullGaussian> for Recording<'_> {
    fn run(&self, pass: &Pass<FullGaussian>) -> Result<Statistics, Error> {
        let tally = self.engine.run(pass)?;
        self.passes.lock().unwrap().push((pass.clone(), tally.clone()));
        Ok(tally)
    }
    fn deviations(&self, pass: &DeviationsPass<FullGaussian>) -> Result<Deviations, Error> {
        self.engine.deviations(pass)
    }
    fn n_chunks(&self) -> usize {
        self.engine.n_chunks()
    }
}

/// Stops after so many rounds.
pub(crate) struct StopAfter(pub u64, pub AtomicU64);

impl Observer for StopAfter {
    fn updated(&self, _restart: u64, round: u64, _n_repairs: u64) {
        self.1.store(round, Ordering::Relaxed);
    }
    fn is_stopped(&self) -> bool {
        self.1.load(Ordering::Relaxed) >= self.0
    }
}

/// The state of a run after so many rounds.
pub(crate) fn state_after(
    engine: &impl Engine<FullGaussian>,
    model: &Mixture<FullGaussian>,
    options: &Options,
    n_rounds: u64,
) -> State<FullGaussian> {
    let floor = Floor::new(engine.summary(), options.regularization, options.ridge);
    let mut run = Run::new(State::new(model.clone(), 0, floor));
    run.go(engine, options, &StopAfter(n_rounds, AtomicU64::new(0))).unwrap();
    assert_eq!((run.termination(), run.state().round), (Termination::Interrupted, n_rounds));
    run.state().clone()
}

/// The model of the sum of statistics, about the centres of the first.
pub(crate) fn model_of(tallies: &[&Statistics], previous: &FullGaussian, floor: &Floor) -> Mixture<FullGaussian> {
    let mut moments = tallies[0].moments.clone();
    tallies[1..].iter().for_each(|tally| moments.add_scaled(&tally.moments, 1.0));
    let n = tallies.len() as f64;
    moments.scale(1.0 / n);
    let k = previous.n_components();
    let (components, _) = previous.maximize(&moments, &vec![Fate::Estimate; k], floor);
    let weight = tallies.iter().map(|tally| tally.weight).sum::<f64>() / n;
    Mixture { weights: (0..k).map(|k| moments.weight(k) / weight).collect(), components }
}

/// The first of some runs whose likelihood is flat after 40 rounds, there.
fn flat_after_40(engine: &Threads<'_, FullGaussian>, model: &Mixture<FullGaussian>) -> (State<FullGaussian>, Options) {
    let runs = (0..20).map(|seed| {
        let options = Options { seed, ..sem(60) };
        (state_after(engine, model, &options, 40), options)
    });
    runs.into_iter().find(|(state, _)| state.n_averaged() >= 20).expect("one of 20 seeds is flat")
}

fn sem(rounds: u64) -> Options {
    Options { algorithm: Algorithm::Sem, ..crate::rounds(rounds) }
}

#[test]
fn the_answer_is_the_maximum_of_averaged_statistics() {
    let (rows, truth) = artificial(4000, 3, 3, 201);
    let engine = Recording::new(&rows);
    let options = Options { tolerance: 1e-6, ..sem(400) };
    let fit = mixtura::fit(&engine, 3, &Start::Model(truth), &options, &Quiet).unwrap();
    assert_eq!(fit.termination, Termination::Flat);
    // The last two batches of ten rounds.
    let passes = engine.statistics();
    assert_eq!(passes.len() as u64, fit.rounds + 1);
    let tail: Vec<&Statistics> = passes[passes.len() - 20..].iter().map(|(_, tally)| tally).collect();
    let floor = Floor::new(engine.summary(), 1e-9, 0.0);
    let expected = model_of(&tail, &fit.model.components, &floor);
    assert_models_close(&fit.model, &expected, 1e-12);
    let likelihood = fit.model.score(&rows).unwrap().mean_log_likelihood;
    assert!((likelihood - fit.mean_ln_likelihood).abs() < 1e-12);
}

#[test]
fn an_average_grows_with_flat_batches_and_starts_again_after_others() {
    let (rows, truth) = artificial(3000, 2, 3, 202);
    let engine = Threads::<FullGaussian>::new(&rows).unwrap();
    let state = state_after(&engine, &truth, &sem(300), 250);
    // Flatness of each pair of batches, from the likelihoods alone.
    let batch = |b: usize| &state.likelihoods[10 * b..][..10];
    let moments = |b: usize| {
        let mean = batch(b).iter().sum::<f64>() / 10.0;
        (mean, batch(b).iter().map(|l| (l - mean).powi(2)).sum::<f64>() / 9.0)
    };
    let flat = |b: usize| {
        let ((before, v), (after, w)) = (moments(b - 1), moments(b));
        (after - before).abs() < 2.0 * ((v + w) / 10.0).sqrt()
    };
    let n_flat = (1..25).rev().take_while(|&b| flat(b)).count() as u64;
    assert!((1..25).any(|b| !flat(b)), "no batch restarts the average: another seed, please");
    assert_eq!(state.n_averaged(), if n_flat > 0 { 10 * (n_flat + 1) } else { 0 });
}

/// Distance of all components, in standard deviations of the data.
fn distance(a: &Mixture<FullGaussian>, b: &Mixture<FullGaussian>, scale: &[f64]) -> f64 {
    let (p, q) = (Outline::of(&a.components), Outline::of(&b.components));
    (0..a.n_components()).map(|k| p.distance(k, &q, k, scale)).sum::<f64>().sqrt()
}

#[test]
fn an_average_is_closer_to_em_than_the_last_model() {
    let mut n_closer = 0;
    for seed in 0..10 {
        let (rows, truth) = artificial(5000, 3, 3, 210 + seed);
        let start = Start::Model(truth);
        let em = fit_rows(&rows, 3, &start, &Options { tolerance: 1e-12, ..Options::default() }).unwrap();
        let scale = mixtura::rows::Summary::of(&rows).unwrap().scale;
        let far = |result| {
            let options = Options { result, seed, ..sem(100) };
            let fit = fit_rows(&rows, 3, &start, &options).unwrap();
            distance(&fit.model, &em.model, &scale)
        };
        n_closer += u32::from(far(SemResult::Average) < far(SemResult::Last));
    }
    assert!(n_closer >= 8, "{n_closer} of 10");
}

#[test]
fn switched_labels_start_the_average_again() {
    let (rows, truth) = artificial(3000, 2, 3, 203);
    let engine = Threads::<FullGaussian>::new(&rows).unwrap();
    let (mut state, options) = flat_after_40(&engine, &truth);
    state.model = Mixture {
        weights: [2, 0, 1].map(|k: usize| state.model.weights[k]).to_vec(),
        components: state.model.components.reordered(&[2, 0, 1]),
    };
    let go = |state: &State<FullGaussian>, n_rounds: u64| {
        let mut run = Run::new(state.clone());
        run.go(&engine, &options, &StopAfter(n_rounds, AtomicU64::new(0))).unwrap();
        run.state().clone()
    };
    let state = go(&state, 42);
    assert_eq!(state.n_averaged(), 0);
    // Rounds 41 to 49 make no whole batch; 50 to 59 do, and one batch is not flat by itself.
    assert_eq!(go(&state, 59).n_averaged(), 0);
}

#[test]
fn a_repair_starts_the_average_again() {
    let (rows, truth) = artificial(3000, 2, 3, 203);
    let engine = Threads::<FullGaussian>::new(&rows).unwrap();
    let (mut state, options) = flat_after_40(&engine, &truth);
    // Component 2 is left without rows.
    let weights = vec![0.5, 0.5 - 1e-300, 1e-300];
    state.model = Mixture { weights, components: state.model.components };
    let mut run = Run::new(state);
    run.go(&engine, &options, &StopAfter(41, AtomicU64::new(0))).unwrap();
    assert!(run.state().events.iter().any(|event| event.kind == EventKind::Reseeded));
    assert_eq!(run.state().n_averaged(), 0);
}

#[test]
fn without_a_flat_tail_the_answer_is_the_best_model() {
    let (rows, _) = artificial(2000, 2, 3, 204);
    let initial = started(&rows, 3, &Start::Random, 1);
    let fit = |result| fit_rows(&rows, 3, &Start::Model(initial.clone()), &Options { result, ..sem(15) }).unwrap();
    let (average, best) = (fit(SemResult::Average), fit(SemResult::Best));
    assert_eq!(average.model, best.model);
    assert_eq!(average.mean_ln_likelihood, best.mean_ln_likelihood);
}

#[test]
fn an_average_below_the_best_model_is_not_the_answer() {
    let (rows, truth) = artificial(2000, 2, 3, 205);
    let engine = Threads::<FullGaussian>::new(&rows).unwrap();
    let em = Options { tolerance: 1e-12, ..Options::default() };
    let em = fit_rows(&rows, 3, &Start::Model(truth.clone()), &em).unwrap();
    let floor = Floor::new(engine.summary(), 1e-9, 0.0);
    for (best, wins) in [(None, false), (Some((em.model.clone(), em.mean_ln_likelihood)), true)] {
        let mut state = State::new(truth.clone(), 0, floor.clone());
        state.best = best;
        let mut run = Run::new(state);
        run.go(&engine, &Options { tolerance: 1e-6, ..sem(200) }, &Quiet).unwrap();
        assert!(run.state().n_averaged() == 20);
        // EM's model has the highest likelihood of all: no average is above it.
        assert_eq!(run.result().0 == &em.model, wins);
    }
}

#[test]
fn rounds_without_statistics_are_not_averaged() {
    let (rows, truth) = artificial(500, 2, 2, 206);
    let fit = fit_rows(&rows, 2, &Start::Model(truth), &Options { algorithm: Algorithm::Sem, ..rounds(20) }).unwrap();
    assert_eq!(fit.rounds, 20);
    assert!(fit.mean_ln_likelihood.is_finite());
}
