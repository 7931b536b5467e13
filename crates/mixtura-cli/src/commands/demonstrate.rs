//! Demonstrates EM against SEM on generated data: `mixtura` without arguments.

use std::fmt::Write as _;
use std::process::ExitCode;

use mixtura::driver::{SemResult, Termination};
use mixtura::generate::Artificial;
use mixtura::pass::Threads;
use mixtura::{Algorithm, Fit, FullGaussian, Mixture, Options, Rows, Start};

use crate::progress::Watch;
use crate::table::{Aligned, number};
use crate::{interrupt, output};

const N_ROWS: usize = 100_000;
const ROUNDS: u64 = 50;
const STARTS: u64 = 3;
const SEED: u64 = 1;

/// One start, taken by both algorithms.
struct Pair {
    em: Fit<FullGaussian>,
    sem: Fit<FullGaussian>,
    seconds: [f64; 2],
}

/// Runs the demonstration.
pub(crate) fn run() -> anyhow::Result<ExitCode> {
    let artificial = Artificial::default();
    let truth = artificial.mixture(SEED)?;
    let (values, _) = truth.sample(0..N_ROWS, SEED)?;
    let rows = Rows::from_vec(values, artificial.n_columns)?;
    let engine = Threads::new(&rows)?;
    let mut text = format!(
        "{N_ROWS} rows × {} columns from {} interfusing Gaussians, seed {SEED}.\n\
         EM and stochastic EM, {ROUNDS} rounds each, from the same {STARTS} starts (the paper's: random rows).\n\n",
        artificial.n_columns, artificial.n_components
    );
    let mut pairs = Vec::new();
    for start in 0..STARTS {
        let Some(pair) = compare(&engine, artificial.n_components, start)? else {
            return Ok(ExitCode::from(interrupt::EXIT_CODE));
        };
        pairs.push(pair);
    }
    text.push_str(&likelihoods(&pairs, truth.score(&rows)?.mean_log_likelihood));
    text.push_str(&differences(&pairs));
    text.push_str(&times(&pairs));
    text.push_str("\nTry it on your own data: mixtura fit data.csv -k 10\n");
    output::text(None, &text)?;
    Ok(ExitCode::SUCCESS)
}

/// Both algorithms from one start; nothing if interrupted.
fn compare(engine: &Threads<'_, FullGaussian>, n_components: usize, start: u64) -> anyhow::Result<Option<Pair>> {
    let options = |algorithm| Options {
        algorithm,
        result: SemResult::Last,
        rounds: ROUNDS,
        tolerance: 0.0,
        seed: start,
        ..Options::default()
    };
    let initial = mixtura::fit(
        engine,
        n_components,
        &Start::Random,
        &Options { rounds: 0, ..options(Algorithm::Em) },
        &mixtura::driver::Quiet,
    )?;
    let run = |algorithm: Algorithm| -> anyhow::Result<(Fit<FullGaussian>, f64)> {
        let what = format!("start {}/{STARTS}  {}", start + 1, super::fit::name(algorithm));
        let watch = Watch::new(&what, ROUNDS, 0.0, false);
        let from = Start::Model(initial.model.clone());
        let fit = mixtura::fit(engine, n_components, &from, &options(algorithm), &watch)?;
        watch.finish();
        // The median round: others on this machine may have slowed some of them.
        let mut seconds: Vec<f64> = watch.trace(0).iter().skip(1).map(|row| row.seconds).collect();
        seconds.sort_by(f64::total_cmp);
        Ok((fit, seconds.get(seconds.len() / 2).copied().unwrap_or(f64::NAN)))
    };
    let (em, em_seconds) = run(Algorithm::Em)?;
    let (sem, sem_seconds) = run(Algorithm::Sem)?;
    let interrupted = [&em, &sem].iter().any(|fit| fit.termination == Termination::Interrupted);
    Ok((!interrupted).then_some(Pair { em, sem, seconds: [em_seconds, sem_seconds] }))
}

fn likelihoods(pairs: &[Pair], truth: f64) -> String {
    let mut table = Aligned::new(["start", "EM", "SEM", "SEM − EM"]);
    for (number, pair) in pairs.iter().enumerate() {
        let (em, sem) = (pair.em.mean_ln_likelihood, pair.sem.mean_ln_likelihood);
        table.row([(number + 1).to_string(), format!("{em:.6}"), format!("{sem:.6}"), format!("{:+.6}", sem - em)]);
    }
    format!("Log-likelihood after the last round, nats a row (the true model has {truth:.6})\n\n{}\n", table.to_text())
}

fn differences(pairs: &[Pair]) -> String {
    let mut table = Aligned::new(["start", "weight", "mean", "covariance"]);
    for (index, pair) in pairs.iter().enumerate() {
        let [weight, mean, covariance] = largest_differences(&pair.em.model, &pair.sem.model);
        table.row([(index + 1).to_string(), number(weight), number(mean), number(covariance)]);
    }
    format!(
        "Largest difference of a component between EM and SEM\n\
         (means: Euclidean distance, covariances: Frobenius norm; the data span about 40 a column)\n\n{}\n",
        table.to_text()
    )
}

fn times(pairs: &[Pair]) -> String {
    let mut table = Aligned::new(["start", "EM ms", "SEM ms", "speedup"]);
    for (number, Pair { seconds: [em, sem], .. }) in pairs.iter().enumerate() {
        table.row([
            (number + 1).to_string(),
            format!("{:.2}", em * 1e3),
            format!("{:.2}", sem * 1e3),
            format!("{:.2}", em / sem),
        ]);
    }
    let n_threads = rayon::current_num_threads();
    let mut text = format!("Median time of a round, {n_threads} threads\n\n");
    write!(text, "{}", table.to_text()).expect("invariant: text can be written to");
    text
}

/// Largest differences in weight, mean and covariance between components of the same number.
fn largest_differences(a: &Mixture<FullGaussian>, b: &Mixture<FullGaussian>) -> [f64; 3] {
    let distance = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
    let mut largest = [0.0f64; 3];
    for k in 0..a.n_components() {
        largest[0] = largest[0].max((a.weights[k] - b.weights[k]).abs());
        largest[1] = largest[1].max(distance(a.components.mean(k), b.components.mean(k)));
        largest[2] = largest[2].max(distance(a.components.covariance(k), b.components.covariance(k)));
    }
    largest
}
