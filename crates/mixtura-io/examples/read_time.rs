//! Measures the time to read a table: `cargo run --release -p mixtura-io --example read_time -- FILE [RUNS]`.

use std::time::Instant;

use mixtura_io::{Input, ReadOptions, read};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let input = Input::from(arguments.next().ok_or("missing file name")?.as_str());
    let n_runs: usize = arguments.next().map_or(Ok(5), |text| text.parse())?;
    for _ in 0..n_runs {
        let start = Instant::now();
        let table = read(&input, &ReadOptions::default())?;
        let (n_rows, n_columns) = (table.rows.n_rows(), table.rows.n_columns());
        println!("{n_rows} rows of {n_columns} columns in {:.3} s", start.elapsed().as_secs_f64());
    }
    Ok(())
}
