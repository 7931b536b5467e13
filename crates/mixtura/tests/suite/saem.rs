//! Checks SAEM: its gains, starting over after a repair, its stopping rule.

use mixtura::driver::{EventKind, Quiet, Termination};
use mixtura::family::{Family, Fate, Floor, Moments};
use mixtura::{Algorithm, FullGaussian, Mixture, Options, Start, fit};

use crate::averages::{Recording, Statistics, model_of, problem, run_after};
use crate::{artificial, assert_models_close, fit_rows, rounds};

fn saem(n: u64) -> Options {
    rounds(n).algorithm(Algorithm::Saem)
}

/// Every model of a run of 9 rounds, recomputed from the recorded statistics: gains 1, 1, 1, 1 in the first half, then
/// 1, 1/2, 1/3, 1/4, 1/5.
#[test]
fn gains_are_one_and_then_fall() {
    let (rows, truth) = artificial(2000, 2, 3, 221);
    let source = Recording::source(&rows);
    let found = fit(&source, 3, &Start::Model(truth), &saem(9), &Quiet).unwrap();
    let passes = source.engine().statistics();
    assert_eq!(passes.len(), 9);
    let floor = Floor::of::<FullGaussian>(source.summary(), 1e-9, 0.0);
    let mut statistics = passes[0].1.moments.clone();
    for (round, (pass, tally)) in passes.iter().enumerate() {
        let gain = if round < 4 { 1.0 } else { 1.0 / (round - 3) as f64 };
        if gain == 1.0 {
            statistics = tally.moments.clone();
        } else {
            statistics.scale(1.0 - gain);
            statistics.add_scaled(&tally.moments, gain);
        }
        let (components, _) = pass.model.components.maximize(&statistics, &vec![Fate::Estimate; 3], &floor);
        let weights = (0..3).map(|k| statistics.weight(k) / tally.weight).collect();
        let next = passes.get(round + 1).map_or(&found.model, |(pass, _)| &pass.model);
        assert_models_close(&Mixture { weights, components }, next, 1e-12);
    }
}

#[test]
fn a_repair_starts_the_average_over() {
    let (rows, truth) = artificial(3000, 2, 3, 222);
    let source = Recording::source(&rows);
    let problem = problem(&source, &truth, &saem(20));
    let mut run = run_after(&problem, &truth, 14);
    // Component 2 has no rows, in the second half.
    run.state_mut().model.weights = vec![0.5, 0.5 - 1e-300, 1e-300];
    source.engine().passes.lock().unwrap().clear();
    run.go(&problem, &Quiet).unwrap();
    let reseeded = run.state().events.iter().find(|event| event.kind == EventKind::Reseeded).unwrap();
    assert_eq!((reseeded.first, reseeded.last), (15, 15));
    // Rounds 16 to 20 average only the passes after the repair.
    let passes = source.engine().statistics();
    let after: Vec<&Statistics> = passes[1..].iter().map(|(_, tally)| tally).collect();
    assert_eq!(after.len(), 5);
    let floor = Floor::of::<FullGaussian>(source.summary(), 1e-9, 0.0);
    assert_models_close(&run.answer().unwrap().model, &model_of(&after, &truth.components, &floor), 1e-12);
}

#[test]
fn saem_settles_in_its_second_half_near_em() {
    let (rows, truth) = artificial(5000, 3, 3, 223);
    let start = Start::Model(truth);
    let em = fit_rows(&rows, 3, &start, &crate::em().tolerance(1e-10)).unwrap();
    let options = saem(300).tolerance(1e-6);
    let found = fit_rows(&rows, 3, &start, &options).unwrap();
    assert_eq!(found.termination, Termination::Converged);
    assert!((153..300).contains(&found.rounds), "{}", found.rounds);
    // SEM's own likelihood varies by p/2N = 29/10000; the average is much closer.
    assert!(em.mean_ln_likelihood - found.mean_ln_likelihood < 3e-4);
    let score = found.model.score(&rows).unwrap().mean_ln_likelihood;
    assert!((score - found.mean_ln_likelihood).abs() < 1e-12);
}
