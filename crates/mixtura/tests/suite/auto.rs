//! Checks `auto`: SEM, then EM from its result, never worse than SEM's best model; and its guard.

use std::sync::Mutex;

use mixtura::driver::{Evaluated, EventKind, Observer, Quiet, Run, SemResult, Termination};
use mixtura::family::Floor;
use mixtura::pass::Assignment;
use mixtura::{Algorithm, FullGaussian, Options, Source, Start, fit};

use crate::averages::{Recording, Statistics, model_of, problem, run_after};
use crate::{artificial, assert_models_close, fit_rows, rounds, started};

fn auto() -> Options {
    crate::single().algorithm(Algorithm::Auto)
}

#[derive(Default)]
struct Trace(Mutex<Vec<(u64, u64, f64)>>);

impl Observer for Trace {
    fn evaluated(&self, restart: u64, round: u64, likelihood: f64) {
        self.0.lock().unwrap().push((restart, round, likelihood));
    }
}

/// Small data sets are noisy: SEM is flat after its first two batches of five rounds.
#[test]
fn em_starts_from_the_average_of_sem() {
    let mut n_averages = 0;
    for seed in 0..10 {
        let (rows, truth) = artificial(1000, 3, 3, 231);
        let source = Recording::source(&rows);
        let found = fit(&source, 3, &Start::Model(truth), &auto().seed(seed), &Quiet).unwrap();
        assert_eq!(found.termination, Termination::Converged);
        let passes = source.engine().statistics();
        let n_sem = passes.iter().take_while(|(pass, _)| matches!(pass.assignment, Assignment::Sampled(_))).count();
        assert!(n_sem >= 10 && passes[n_sem..].iter().all(|(pass, _)| pass.assignment == Assignment::Soft));
        // Every pass is a round, unless an average was rejected.
        if n_sem > 10 || passes.len() as u64 > found.rounds + 1 {
            continue;
        }
        let tail: Vec<&Statistics> = passes[..10].iter().map(|(_, tally)| tally).collect();
        let floor = Floor::of::<FullGaussian>(source.summary(), 1e-9, 0.0);
        let expected = model_of(&tail, &found.model.components, &floor);
        let (first_of_em, _) = &passes[n_sem];
        // If only a decrease ended SEM, EM starts from the best model.
        if (first_of_em.model.weights[0] - expected.weights[0]).abs() < 1e-12 {
            assert_models_close(&first_of_em.model, &expected, 1e-12);
            n_averages += 1;
        } else {
            assert!(passes[..n_sem].iter().any(|(pass, _)| pass.model == first_of_em.model));
        }
    }
    assert!(n_averages >= 2, "{n_averages} of 10");
}

#[test]
fn auto_converges_like_em_and_is_never_worse_than_sem() {
    for seed in 0..12 {
        let (rows, _) = artificial(1500, 2, 4, 240 + seed);
        let engine = Source::of(&rows).unwrap();
        for result in [SemResult::Average, SemResult::Best, SemResult::Last] {
            for accelerate in [false, true] {
                let (trace, options) = (Trace::default(), auto().result(result).seed(seed).accelerate(accelerate));
                let found = fit(&engine, 4, &Start::<FullGaussian>::Random, &options, &trace).unwrap();
                let best = trace.0.into_inner().unwrap().iter().fold(f64::NEG_INFINITY, |best, seen| best.max(seen.2));
                // In single precision, SEM's likelihoods may be off by about 1e-7.
                assert!(found.mean_ln_likelihood >= best - 1e-6, "{seed} {result:?}");
                if found.termination == Termination::Converged {
                    let more = fit_rows(&rows, 4, &Start::Model(found.model.clone()), &rounds(1)).unwrap();
                    let change = more.mean_ln_likelihood - found.mean_ln_likelihood;
                    assert!(change.abs() < options.tolerance, "{seed} {result:?} {change}");
                }
            }
        }
    }
}

#[test]
fn sem_takes_at_most_half_of_the_rounds() {
    let (rows, _) = artificial(1000, 2, 3, 232);
    for (n, n_sem) in [(0, 0), (1, 0), (2, 1), (7, 3), (18, 9)] {
        let source = Recording::source(&rows);
        let options = auto().tolerance(0.0).rounds(n);
        let found = fit(&source, 3, &Start::<FullGaussian>::Random, &options, &Quiet).unwrap();
        assert_eq!(found.rounds, n);
        let passes = source.engine().statistics();
        let sampled = passes.iter().filter(|(pass, _)| matches!(pass.assignment, Assignment::Sampled(_))).count();
        assert_eq!((passes.len() as u64, sampled), (n, n_sem));
        assert!(found.mean_ln_likelihood.is_finite());
    }
}

#[test]
fn an_average_below_the_best_model_is_replaced_within_the_round() {
    let (rows, truth) = artificial(2000, 2, 3, 233);
    let em = fit_rows(&rows, 3, &Start::Model(truth.clone()), &crate::em().tolerance(1e-12));
    let em = em.unwrap();
    let mut n_tried = 0;
    for seed in 0..10 {
        let source = Recording::source(&rows);
        let problem = problem(&source, &truth, &auto().seed(seed));
        let mut run = problem.run_from(truth.clone(), 0).unwrap();
        // EM's model has the highest likelihood of all, so any average is below it.
        run.state_mut().best = Some(Evaluated { model: em.model.clone(), mean_ln_likelihood: em.mean_ln_likelihood });
        run.go(&problem, &Quiet).unwrap();
        let since = run.em_since().unwrap();
        assert!((run.state().likelihoods[since as usize] - em.mean_ln_likelihood).abs() < 1e-12);
        assert!(run.answer().unwrap().mean_ln_likelihood >= em.mean_ln_likelihood - 1e-12);
        // One more pass than rounds, and another if there was an average to try.
        let n_more = source.engine().statistics().len() as u64 - run.state().round;
        assert!((1..=2).contains(&n_more));
        n_tried += n_more - 1;
    }
    assert!(n_tried >= 2, "{n_tried} of 10");
}

/// Runs of all algorithms, saved and continued in every round.
#[test]
fn a_state_saved_in_any_round_continues_to_the_same_bits() {
    let (rows, _) = artificial(1200, 2, 3, 234);
    let source = Source::of(&rows).unwrap();
    let initial = started(&rows, 3, &Start::Random, 3);
    for (algorithm, accelerate) in [
        (Algorithm::Sem, false),
        (Algorithm::Saem, false),
        (Algorithm::Auto, false),
        (Algorithm::Auto, true),
        (Algorithm::Em, true),
    ] {
        let options = crate::single().algorithm(algorithm).accelerate(accelerate).rounds(64).tolerance(1e-9);
        let problem = problem(&source, &initial, &options);
        let mut whole = problem.run_from(initial.clone(), 0).unwrap();
        whole.go(&problem, &Quiet).unwrap();
        assert!(whole.state().round >= 19, "{algorithm:?}");
        for n_rounds in 1..whole.state().round {
            let saved = serde_json::to_string(&run_after(&problem, &initial, n_rounds)).unwrap();
            let mut rest: Run<FullGaussian> = serde_json::from_str(&saved).unwrap();
            rest.go(&problem, &Quiet).unwrap();
            assert_eq!(rest, whole, "{algorithm:?} from round {n_rounds}");
        }
    }
}

#[test]
fn a_guard_keeps_the_better_model_and_records_it() {
    let mut n_won = 0;
    for seed in 0..12 {
        let (rows, _) = artificial(600, 2, 5, 250 + seed);
        let engine = Source::of(&rows).unwrap();
        let fitted = |options: Options| {
            let trace = Trace::default();
            let found = fit(&engine, 5, &Start::<FullGaussian>::Random, &options.seed(seed), &trace).unwrap();
            (found, trace.0.into_inner().unwrap())
        };
        let (plain, _) = fitted(auto());
        let (em, trace_of_em) = fitted(crate::em());
        let (guarded, trace) = fitted(auto().guard(true));
        let em_wins = em.mean_ln_likelihood > plain.mean_ln_likelihood;
        n_won += u32::from(em_wins);
        let better = if em_wins { &em } else { &plain };
        assert_eq!((&guarded.model, guarded.rounds), (&better.model, better.rounds));
        assert_eq!(guarded.mean_ln_likelihood, em.mean_ln_likelihood.max(plain.mean_ln_likelihood));
        let said = guarded.events.iter().any(|event| event.kind == EventKind::GuardWon);
        assert_eq!((said, guarded.observed), (em_wins, u64::from(em_wins)));
        // Observers see the guard under a separate restart number.
        let of_guard: Vec<f64> = trace.iter().filter(|seen| seen.0 == 1).map(|seen| seen.2).collect();
        assert_eq!(of_guard, trace_of_em.iter().map(|seen| seen.2).collect::<Vec<_>>());
    }
    assert!((1..12).contains(&n_won), "{n_won} of 12; try other seeds");
}

#[test]
fn options_that_the_algorithm_does_not_use_are_rejected() {
    for algorithm in [Algorithm::Em, Algorithm::Sem, Algorithm::Cem, Algorithm::Saem] {
        let refused = crate::single().algorithm(algorithm).guard(true).check().unwrap_err();
        assert!(refused.to_string().starts_with("guard requires the algorithm auto, not "), "{refused}");
    }
    for algorithm in [Algorithm::Sem, Algorithm::Cem, Algorithm::Saem] {
        let refused = crate::single().algorithm(algorithm).accelerate(true).check().unwrap_err();
        assert!(refused.to_string().starts_with("accelerate requires the algorithm em or auto, not "), "{refused}");
    }
}
