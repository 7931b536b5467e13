//! Fits one data set from many starts: one start, the best of ten, or a race; `bench/race` runs it.
//!
//! ```console
//! $ printf 'truth 0\none 0\nrace 0\n' | cargo run --release -p mixtura --example starts -- generated 2 20 4 100000 balanced 17
//! $ printf 'one 0\nrace 0\n' | cargo run --release -p mixtura --example starts -- file 10 20 covertype.f64
//! ```
//!
//! The arguments are `generated D K SEPARATION N balanced|unbalanced SEED`, or `file D K PATH` for rows as raw
//! little-endian f64, row-major. After the rows have been read or generated, it prints `{"n_rows": N}` and then answers
//! every line of standard input: `WAY SEED` runs a fit and prints it as one line of JSON; `rows PATH` writes the rows to
//! a file. The ways:
//!
//! - `truth`: EM from the mixture that the rows were drawn from; generated rows only.
//! - `one`: EM from one k-means++ start.
//! - `accelerated`: the same with extrapolated steps.
//! - `ten`: EM from ten k-means++ starts on all rows, of which the best is kept.
//! - `race`: the defaults, by which starts race and the winner is fitted with `auto`.
//! - `race-random`: the same with the paper's random starts instead of k-means++.
//!
//! All stop at a change of 1e-6 nats per row, or after 3000 rounds. Only the fit is timed: the rows are in memory. Rounds
//! are also given in units of passes over all rows (`full_rounds`): a round on a sample of n of the N rows counts n/N.

use std::fs;
use std::io::{self, BufRead, BufWriter, Write};
use std::sync::Mutex;
use std::time::Instant;

use mixtura::driver::{Fit, Observer, Standing};
use mixtura::generate::{Artificial, Balance};
use mixtura::rows::RowsBuilder;
use mixtura::{Algorithm, FullGaussian, Mixture, Options, Rows, Source, Start, fit};
use serde_json::{Value, json};

type Failure = Box<dyn std::error::Error>;

const USAGE: &str = "arguments: generated D K SEPARATION N balanced|unbalanced SEED, or file D K PATH";
/// Limit on rounds of all ways, so that it does not decide which is faster.
const MOST_ROUNDS: u64 = 3000;
/// Seed of the rows drawn from a mixture.
const SEED_OF_ROWS: u64 = 1;
/// Rows generated or read at a time.
const ROWS_AT_A_TIME: usize = 1 << 16;

fn main() -> Result<(), Failure> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.first().is_some_and(|word| word == "--version") {
        println!("starts {}", env!("CARGO_PKG_VERSION"));
        return Ok(());
    }
    let data = Data::of(&words.iter().map(String::as_str).collect::<Vec<_>>())?;
    let source = Source::of(&data.rows)?;
    let n_rows = data.rows.n_rows();
    say(&json!({ "n_rows": n_rows }))?;
    for line in io::stdin().lock().lines() {
        let line = line?;
        let (verb, rest) = line.split_once(' ').ok_or("expected WAY SEED, or rows PATH")?;
        if verb == "rows" {
            data.write(rest)?;
            say(&json!({ "rows": rest }))?;
            continue;
        }
        let (start, options) = data.way(verb)?;
        let seed: u64 = rest.trim().parse()?;
        let counter = Counter { n_rows, passes: Mutex::new(0.0) };
        let began = Instant::now();
        let answer = fit(&source, data.n_components, &start, &options.seed(seed), &counter)?;
        let seconds = began.elapsed().as_secs_f64();
        let passes = counter.passes.into_inner().map_err(|_| "an observer panicked")?;
        say(&described(verb, seed, seconds, passes, &answer))?;
    }
    Ok(())
}

/// The rows to fit, and the mixture they were drawn from if there is one.
struct Data {
    rows: Rows<'static>,
    n_components: usize,
    truth: Option<Mixture<FullGaussian>>,
}

impl Data {
    fn of(words: &[&str]) -> Result<Self, Failure> {
        match words {
            ["generated", columns, components, separation, rows, balance, seed] => {
                let balance = match *balance {
                    "balanced" => Balance::Balanced,
                    "unbalanced" => Balance::Unbalanced,
                    _ => return Err(USAGE.into()),
                };
                let recipe = Artificial {
                    n_columns: columns.parse()?,
                    n_components: components.parse()?,
                    separation: separation.parse()?,
                    balance,
                };
                let truth = recipe.mixture(seed.parse()?)?;
                let rows = drawn(&truth, recipe.n_columns, rows.parse()?)?;
                Ok(Self { rows, n_components: recipe.n_components, truth: Some(truth) })
            }
            ["file", columns, components, path] => {
                let rows = read(path, columns.parse()?)?;
                Ok(Self { rows, n_components: components.parse()?, truth: None })
            }
            _ => Err(USAGE.into()),
        }
    }

    /// Where a way begins, and its options.
    fn way(&self, name: &str) -> Result<(Start<FullGaussian>, Options), Failure> {
        let defaults = Options::default().rounds(MOST_ROUNDS);
        let em = defaults.clone().algorithm(Algorithm::Em);
        Ok(match name {
            "truth" => {
                let truth = self.truth.clone().ok_or("the mixture that these rows were drawn from is not known")?;
                (Start::Model(truth), em.restarts(1))
            }
            "one" => (Start::KmeansPlusPlus, em.restarts(1)),
            "accelerated" => (Start::KmeansPlusPlus, em.restarts(1).accelerate(true)),
            "ten" => (Start::KmeansPlusPlus, em.restarts(10).race(false)),
            "race" => (Start::KmeansPlusPlus, defaults),
            "race-random" => (Start::Random, defaults),
            _ => return Err(format!("unknown way: {name}").into()),
        })
    }

    fn write(&self, path: &str) -> Result<(), Failure> {
        let mut file = BufWriter::new(fs::File::create(path)?);
        for row in 0..self.rows.n_rows() {
            self.rows.row(row).iter().try_for_each(|value| file.write_all(&value.to_le_bytes()))?;
        }
        Ok(file.flush()?)
    }
}

fn drawn(model: &Mixture<FullGaussian>, n_columns: usize, n_rows: usize) -> Result<Rows<'static>, Failure> {
    let mut builder = RowsBuilder::<f64>::new(n_columns)?;
    for first in (0..n_rows).step_by(ROWS_AT_A_TIME) {
        let (values, _) = model.sample(first..(first + ROWS_AT_A_TIME).min(n_rows), SEED_OF_ROWS)?;
        values.chunks_exact(n_columns).try_for_each(|row| builder.push_row(row))?;
    }
    Ok(builder.finish()?)
}

fn read(path: &str, n_columns: usize) -> Result<Rows<'static>, Failure> {
    let bytes = fs::read(path)?;
    let (values, rest) = bytes.as_chunks::<8>();
    if !rest.is_empty() || !values.len().is_multiple_of(n_columns) {
        return Err(format!("{path}: {} bytes are not rows of {n_columns} columns", bytes.len()).into());
    }
    Ok(Rows::from_vec(values.iter().copied().map(f64::from_le_bytes).collect(), n_columns)?)
}

/// Counts passes over all rows; one over a sample counts its share of the rows.
struct Counter {
    n_rows: usize,
    passes: Mutex<f64>,
}

impl Counter {
    fn add(&self, share: f64) {
        *self.passes.lock().expect("invariant: nothing panics while it is locked") += share;
    }
}

impl Observer for Counter {
    fn raced(&self, standing: &Standing) {
        self.add(standing.n_rows as f64 / self.n_rows as f64);
    }

    fn evaluated(&self, _restart: u64, _round: u64, _mean_ln_likelihood: f64) {
        self.add(1.0);
    }
}

fn described(way: &str, seed: u64, seconds: f64, passes: f64, fit: &Fit<FullGaussian>) -> Value {
    json!({
        "way": way,
        "seed": seed,
        "mean_log_likelihood": fit.mean_ln_likelihood,
        "seconds": seconds,
        "rounds": fit.rounds,
        "full_rounds": passes,
        "termination": fit.termination.name(),
        "n_events": fit.events.len(),
        "race": fit.race,
    })
}

fn say(line: &Value) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()
}
