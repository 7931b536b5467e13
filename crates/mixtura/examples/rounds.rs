//! Times rounds on artificial shapes: `cargo run --release -p mixtura --example rounds -- em 1000000 10 10`.
//!
//! `bounds` times the computation of the quantities in the theorems, `both` runs EM and SEM. Prints nanoseconds per
//! row, component and round (best of all rounds) and the likelihood. With `marks` as the last argument, reports on
//! standard error when the second round begins and when the last one ends; only rounds run between the two, for
//! `bench/profile`.

use std::sync::Mutex;
use std::time::Instant;

use mixtura::driver::Observer;
use mixtura::generate::Artificial;
use mixtura::rows::RowsBuilder;
use mixtura::sweep::Engine;
use mixtura::theory::Proximity;
use mixtura::{Algorithm, FullGaussian, Gmm, Mixture, Options, Source};

struct Clock {
    begin_and_best: Mutex<(Instant, f64)>,
    /// The last round, if marks were requested.
    marked: Option<u64>,
}

impl Observer for Clock {
    fn pass_started(&self, _restart: u64, round: u64) {
        if self.marked.is_some() && round == 1 {
            eprintln!("rounds begin");
        }
        self.begin_and_best.lock().expect("invariant: one thread observes").0 = Instant::now();
    }
    fn updated(&self, _restart: u64, round: u64, _n_repairs: u64) {
        let mut clock = self.begin_and_best.lock().expect("invariant: one thread observes");
        clock.1 = clock.1.min(clock.0.elapsed().as_secs_f64());
        if self.marked == Some(round) {
            eprintln!("rounds end");
        }
    }
}

fn main() -> Result<(), mixtura::Error> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, default: usize| words.get(at).and_then(|word| word.parse().ok()).unwrap_or(default);
    let (n_rows, n_columns, n_components) = (number(1, 1_000_000), number(2, 10), number(3, 10));
    let separation = words.get(5).and_then(|word| word.parse().ok()).unwrap_or(0.6);
    let model = Artificial { n_columns, n_components, separation, ..Artificial::default() }.mixture(1)?;
    let mut builder = RowsBuilder::<f64>::new(n_columns)?;
    for first in (0..n_rows).step_by(1 << 16) {
        let (values, _) = model.sample(first..(first + (1 << 16)).min(n_rows), 1)?;
        values.chunks_exact(n_columns).try_for_each(|row| builder.push_row(row))?;
    }
    let rows = builder.finish()?;
    let source = Source::of(&rows)?;
    if words.first().is_some_and(|word| word == "bounds") {
        return time_bounds(&source, &model, number(4, 20));
    }
    let algorithms = match words.first().map(String::as_str) {
        Some("em") => vec![Algorithm::Em],
        Some("sem") => vec![Algorithm::Sem],
        Some("cem") => vec![Algorithm::Cem],
        _ => vec![Algorithm::Em, Algorithm::Sem],
    };
    for algorithm in algorithms {
        let options = Options::default().algorithm(algorithm).restarts(1).rounds(number(4, 20) as u64).tolerance(0.0);
        let marked = words.get(6).filter(|word| *word == "marks").map(|_| options.rounds);
        let clock = Clock { begin_and_best: Mutex::new((Instant::now(), f64::INFINITY)), marked };
        let fit = Gmm::new(n_components).options(options).fit_observed(&source, &clock)?;
        let best = clock.begin_and_best.into_inner().expect("invariant: one thread observes").1;
        println!(
            "{n_rows}×{n_columns} K {n_components} {algorithm:?}: {:.3} ns, round {:.2} ms, {:.9} nats per row",
            best * 1e9 / (n_rows * n_components) as f64,
            best * 1e3,
            fit.mean_ln_likelihood
        );
    }
    Ok(())
}

/// Times the two sweeps needed for the theorems' bounds.
fn time_bounds(
    source: &Source<impl Engine>,
    model: &Mixture<FullGaussian>,
    repetitions: usize,
) -> Result<(), mixtura::Error> {
    let mut best = f64::INFINITY;
    for _ in 0..repetitions {
        let began = Instant::now();
        std::hint::black_box(Proximity::measure(source, model)?);
        best = best.min(began.elapsed().as_secs_f64());
    }
    let summary = source.summary();
    let n_pairs = summary.n_rows * model.n_components();
    println!(
        "{}×{} K {} bounds: {:.3} ns, {:.2} ms",
        summary.n_rows,
        summary.mean.len(),
        model.n_components(),
        best * 1e9 / n_pairs as f64,
        best * 1e3
    );
    Ok(())
}
