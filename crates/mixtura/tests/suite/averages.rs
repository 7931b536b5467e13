//! Checks SEM's result: the model of averaged statistics, when averaging starts over, and the fallback.

use std::any::Any;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use mixtura::driver::{Evaluated, EventKind, Observer, Problem, Quiet, Run, SemResult, Termination};
use mixtura::family::{Family, Fate, Floor, Moments};
use mixtura::matching::Outline;
use mixtura::pass::{Assignment, Pass, Tally};
use mixtura::sweep::{Engine, Sweep, Threads};
use mixtura::{Algorithm, Error, FullGaussian, Mixture, Options, Rows, Source, Start};

use crate::{artificial, assert_models_close, fit_rows, rounds, started};

pub(crate) type Statistics = Tally<<FullGaussian as Family>::Moments>;

/// An engine that records the statistics of every pass that computes some.
pub(crate) struct Recording<'a> {
    threads: Threads<'a>,
    pub passes: Mutex<Vec<(Pass<FullGaussian>, Statistics)>>,
}

impl<'a> Recording<'a> {
    pub(crate) fn source(rows: &'a Rows<'a>) -> Source<Self> {
        Source::new(Self { threads: Threads::new(rows), passes: Mutex::default() }).unwrap()
    }

    /// All passes so far, except those that only evaluate.
    pub(crate) fn statistics(&self) -> Vec<(Pass<FullGaussian>, Statistics)> {
        let passes = self.passes.lock().unwrap();
        passes.iter().filter(|(pass, _)| pass.assignment != Assignment::Evaluate).cloned().collect()
    }
}

impl Engine for Recording<'_> {
    fn sweep<S: Sweep>(&self, sweep: &S) -> Result<S::Tally, Error> {
        let tally = self.threads.sweep(sweep)?;
        let (any_sweep, any_tally): (&dyn Any, &dyn Any) = (sweep, &tally);
        if let (Some(pass), Some(tally)) = (any_sweep.downcast_ref::<Pass<_>>(), any_tally.downcast_ref::<Statistics>())
        {
            self.passes.lock().unwrap().push((pass.clone(), tally.clone()));
        }
        Ok(tally)
    }
}

/// Stops after a given number of rounds.
pub(crate) struct StopAfter(pub u64, pub AtomicU64);

impl Observer for StopAfter {
    fn updated(&self, _restart: u64, round: u64, _n_repairs: u64) {
        self.1.store(round, Ordering::Relaxed);
    }
    fn is_stopped(&self) -> bool {
        self.1.load(Ordering::Relaxed) >= self.0
    }
}

/// A fit from a given model.
pub(crate) fn problem<'a, E: Engine>(
    source: &'a Source<E>,
    model: &Mixture<FullGaussian>,
    options: &Options,
) -> Problem<'a, FullGaussian, E> {
    Problem::new(source, model.n_components(), Start::Model(model.clone()), options.clone()).unwrap()
}

/// A run from a model, stopped after `rounds` rounds.
pub(crate) fn run_after<E: Engine>(
    problem: &Problem<'_, FullGaussian, E>,
    model: &Mixture<FullGaussian>,
    n_rounds: u64,
) -> Run<FullGaussian> {
    let mut run = problem.run_from(model.clone(), 0).unwrap();
    go_until(&mut run, problem, n_rounds);
    run
}

/// Continues until the given round.
fn go_until<E: Engine>(run: &mut Run<FullGaussian>, problem: &Problem<'_, FullGaussian, E>, n_rounds: u64) {
    run.go(problem, &StopAfter(n_rounds, AtomicU64::new(0))).unwrap();
    assert_eq!((run.termination(), run.state().round), (Some(Termination::Interrupted), n_rounds));
}

/// The model of summed statistics, relative to the centres of the first.
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

/// The first of several runs whose likelihood is flat after 40 rounds, at that point.
fn flat_after_40<'a>(
    source: &'a Source<Threads<'a>>,
    model: &Mixture<FullGaussian>,
) -> (Run<FullGaussian>, Problem<'a, FullGaussian, Threads<'a>>) {
    let runs = (0..20).map(|seed| {
        let problem = problem(source, model, &sem(60).seed(seed));
        (run_after(&problem, model, 40), problem)
    });
    runs.into_iter().find(|(run, _)| run.n_averaged() >= 20).expect("one of 20 seeds is flat")
}

fn sem(rounds: u64) -> Options {
    crate::rounds(rounds).algorithm(Algorithm::Sem)
}

#[test]
fn the_result_is_the_maximum_of_averaged_statistics() {
    let (rows, truth) = artificial(4000, 3, 3, 201);
    let source = Recording::source(&rows);
    let options = sem(400).tolerance(1e-6);
    let fit = mixtura::fit(&source, 3, &Start::Model(truth), &options, &Quiet).unwrap();
    assert_eq!(fit.termination, Termination::Flat);
    // The last two batches of ten rounds.
    let passes = source.engine().statistics();
    assert_eq!(passes.len() as u64, fit.rounds + 1);
    let tail: Vec<&Statistics> = passes[passes.len() - 20..].iter().map(|(_, tally)| tally).collect();
    let floor = Floor::of::<FullGaussian>(source.summary(), 1e-9, 0.0);
    let expected = model_of(&tail, &fit.model.components, &floor);
    assert_models_close(&fit.model, &expected, 1e-12);
    let likelihood = fit.model.score(&rows).unwrap().mean_ln_likelihood;
    assert!((likelihood - fit.mean_ln_likelihood).abs() < 1e-12);
}

#[test]
fn an_average_grows_with_flat_batches_and_starts_over_after_others() {
    let (rows, truth) = artificial(3000, 2, 3, 202);
    let source = Source::of(&rows).unwrap();
    let run = run_after(&problem(&source, &truth, &sem(300)), &truth, 250);
    // Flatness of each pair of batches, from the likelihoods alone.
    let batch = |b: usize| &run.state().likelihoods[10 * b..][..10];
    let moments = |b: usize| {
        let mean = batch(b).iter().sum::<f64>() / 10.0;
        (mean, batch(b).iter().map(|l| (l - mean).powi(2)).sum::<f64>() / 9.0)
    };
    let flat = |b: usize| {
        let ((before, v), (after, w)) = (moments(b - 1), moments(b));
        (after - before).abs() < 2.0 * ((v + w) / 10.0).sqrt()
    };
    let n_flat = (1..25).rev().take_while(|&b| flat(b)).count() as u64;
    assert!((1..25).any(|b| !flat(b)), "no batch starts the average over; try another seed");
    assert_eq!(run.n_averaged(), if n_flat > 0 { 10 * (n_flat + 1) } else { 0 });
}

/// Total distance between the components, in standard deviations of the data.
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
        let em = fit_rows(&rows, 3, &start, &crate::em().tolerance(1e-12)).unwrap();
        let scale = mixtura::sweep::Summary::of(&rows).unwrap().scale;
        let far = |result| {
            let options = sem(100).result(result).seed(seed);
            let fit = fit_rows(&rows, 3, &start, &options).unwrap();
            distance(&fit.model, &em.model, &scale)
        };
        n_closer += u32::from(far(SemResult::Average) < far(SemResult::Last));
    }
    assert!(n_closer >= 8, "{n_closer} of 10");
}

#[test]
fn switched_labels_start_the_average_over() {
    let (rows, truth) = artificial(3000, 2, 3, 203);
    let source = Source::of(&rows).unwrap();
    let (mut run, problem) = flat_after_40(&source, &truth);
    let model = &mut run.state_mut().model;
    *model = Mixture {
        weights: [2, 0, 1].map(|k: usize| model.weights[k]).to_vec(),
        components: model.components.reordered(&[2, 0, 1]),
    };
    go_until(&mut run, &problem, 42);
    assert_eq!(run.n_averaged(), 0);
    // Rounds 41 to 49 do not complete a batch; 50 to 59 do, but a single batch is not flat.
    go_until(&mut run, &problem, 59);
    assert_eq!(run.n_averaged(), 0);
}

#[test]
fn a_repair_starts_the_average_over() {
    let (rows, truth) = artificial(3000, 2, 3, 203);
    let source = Source::of(&rows).unwrap();
    let (mut run, problem) = flat_after_40(&source, &truth);
    // Component 2 has no rows.
    run.state_mut().model.weights = vec![0.5, 0.5 - 1e-300, 1e-300];
    go_until(&mut run, &problem, 41);
    assert!(run.state().events.iter().any(|event| event.kind == EventKind::Reseeded));
    assert_eq!(run.n_averaged(), 0);
}

#[test]
fn without_a_flat_tail_the_result_is_the_best_model() {
    let (rows, _) = artificial(2000, 2, 3, 204);
    let initial = started(&rows, 3, &Start::Random, 1);
    let fit = |result| fit_rows(&rows, 3, &Start::Model(initial.clone()), &sem(15).result(result)).unwrap();
    let (average, best) = (fit(SemResult::Average), fit(SemResult::Best));
    assert_eq!(average.model, best.model);
    assert_eq!(average.mean_ln_likelihood, best.mean_ln_likelihood);
}

#[test]
fn an_average_below_the_best_model_is_not_the_result() {
    let (rows, truth) = artificial(2000, 2, 3, 205);
    let source = Source::of(&rows).unwrap();
    let em = crate::em().tolerance(1e-12);
    let em = fit_rows(&rows, 3, &Start::Model(truth.clone()), &em).unwrap();
    let problem = problem(&source, &truth, &sem(200).tolerance(1e-6));
    let of_em = Evaluated { model: em.model.clone(), mean_ln_likelihood: em.mean_ln_likelihood };
    for (best, wins) in [(None, false), (Some(of_em), true)] {
        let mut run = problem.run_from(truth.clone(), 0).unwrap();
        run.state_mut().best = best;
        run.go(&problem, &Quiet).unwrap();
        assert!(run.n_averaged() == 20);
        // EM's model has the highest likelihood of all, so any average is below it.
        assert_eq!(run.answer().unwrap().model == em.model, wins);
    }
}

#[test]
fn rounds_without_statistics_are_not_averaged() {
    let (rows, truth) = artificial(500, 2, 2, 206);
    let fit = fit_rows(&rows, 2, &Start::Model(truth), &rounds(20).algorithm(Algorithm::Sem)).unwrap();
    assert_eq!(fit.rounds, 20);
    assert!(fit.mean_ln_likelihood.is_finite());
}
