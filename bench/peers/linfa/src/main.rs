//! Fits with linfa's Gaussian mixtures. They accept no start (random responsibilities): timing only.

use std::error::Error;
use std::io::BufRead;
use std::time::Instant;

use linfa::DatasetBase;
use linfa::traits::Fit;
use linfa_clustering::{GaussianMixtureModel, GmmError, GmmInitMethod};
use ndarray::Array2;
use rand_xoshiro::Xoshiro256Plus;
use rand_xoshiro::rand_core::SeedableRng;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let (n_rows, n_columns): (usize, usize) = (arguments[2].parse()?, arguments[3].parse()?);
    let n_components: usize = arguments[4].parse()?;
    let ridge: f64 = arguments[6].parse()?;
    let dataset = DatasetBase::from(read_rows(&arguments[1], n_rows, n_columns)?);

    println!("@ ready 0.8.1");
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let n_rounds = line.split(' ').nth(1).ok_or("no number of rounds")?.parse()?;
        let options = GaussianMixtureModel::params_with_rng(n_components, Xoshiro256Plus::seed_from_u64(1))
            .init_method(GmmInitMethod::Random)
            .reg_covariance(ridge)
            .tolerance(f64::MIN_POSITIVE)
            .max_n_iterations(n_rounds);
        let begin = Instant::now();
        let result = options.fit(&dataset);
        let seconds = begin.elapsed().as_secs_f64();
        // linfa reports a run that reaches its maximum number of rounds, as all of these do, as an error.
        match result {
            Err(GmmError::NotConverged(_)) => println!("@ ok {seconds}"),
            Ok(_) => println!("@ error stopped before {n_rounds} rounds"),
            Err(error) => println!("@ error {error}"),
        }
    }
    Ok(())
}

/// The values of an NPY file of version 1: they follow 10 bytes, the last of which give the header length, and the header.
fn read_rows(path: &str, n_rows: usize, n_columns: usize) -> Result<Array2<f64>, Box<dyn Error>> {
    let bytes = std::fs::read(path)?;
    let header = usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    let values = bytes[10 + header..].as_chunks::<8>().0.iter().map(|value| f64::from_le_bytes(*value)).collect();
    Ok(Array2::from_shape_vec((n_rows, n_columns), values)?)
}
