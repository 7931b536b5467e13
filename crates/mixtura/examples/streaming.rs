//! Scores batches of rows as they arrive, and learns from them: `cargo run -p mixtura --example streaming`.
//!
//! Only one batch is in memory at a time. Each is scored with the model of the batches before it, so the scores are
//! those of unseen rows.

use mixtura::driver::{Gains, Online, Problem};
use mixtura::generate::Artificial;
use mixtura::{Algorithm, FullGaussian, Options, Rows, Source, Start};

const BATCH: usize = 500;

fn main() -> Result<(), mixtura::Error> {
    let truth = Artificial { n_columns: 3, n_components: 4, separation: 2.0, ..Artificial::default() }.mixture(5)?;
    // Stands for a socket, a queue or a file that grows.
    let batch = |number: usize| -> Result<Rows<'static>, mixtura::Error> {
        let (values, _) = truth.sample(number * BATCH..(number + 1) * BATCH, 1)?;
        Rows::from_vec(values, 3)
    };
    let options = Options::default().algorithm(Algorithm::Em);

    // The first batch gives the first model.
    let first = batch(0)?;
    let source = Source::of(&first)?;
    let problem = Problem::<FullGaussian, _>::new(&source, 4, Start::KmeansPlusPlus, options.clone())?;
    let mut online = Online::new(problem.first_model(0)?, problem.floor().clone());
    online.learn(&source, &options, &Gains::default())?;

    let (mut ln_likelihood, mut n_rows) = (0.0, 0);
    let mut excess = Vec::new();
    println!("batch    rows  this batch  all so far  (mean log-likelihood of rows not yet learned from)");
    for number in 1..20 {
        let rows = batch(number)?;
        let mean = online.learn(&Source::of(&rows)?, &options, &Gains::default())?;
        ln_likelihood += mean * rows.n_rows() as f64;
        n_rows += rows.n_rows();
        excess.push(mean - truth.score(&rows)?.mean_ln_likelihood);
        println!("{number:5}  {n_rows:6}  {mean:10.4}  {:10.4}", ln_likelihood / n_rows as f64);
    }

    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (early, late) = (mean(&excess[..5]), mean(&excess[14..]));
    println!("below the true model by {:.4} nats per row in batches 1 to 5, by {:.4} in 15 to 19", -early, -late);
    assert!(late > early && late > -0.05);
    Ok(())
}
