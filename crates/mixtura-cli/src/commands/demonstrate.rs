//! Demonstrates EM against SEM on generated data: `mixtura` without arguments.

use std::path::Path;
use std::process::ExitCode;

use mixtura::generate::Artificial;
use mixtura::{Rows, Start};
use mixtura_paper::comparison::{PageSettings, Plan, Summary, compare, page};

use super::compare::to_table;
use crate::progress::Countdown;
use crate::{interrupt, output};

const N_ROWS: usize = 100_000;
const SEED: u64 = 1;
/// Where the page goes.
const PAGE: &str = "mixtura-demo.html";

/// Runs the demonstration.
pub(crate) fn run() -> anyhow::Result<ExitCode> {
    let path = Path::new(PAGE);
    output::check(&[Some(&path.to_path_buf())], &[])?;
    let artificial = Artificial::default();
    let truth = artificial.mixture(SEED)?;
    let (values, _) = truth.sample(0..N_ROWS, SEED)?;
    let rows = Rows::from_vec(values, artificial.n_columns)?;
    let plan =
        Plan { n_components: artificial.n_components, starts: 3, runs: 3, start: Start::Random, ..Plan::default() };
    let countdown = Countdown::new("EM against stochastic EM", false);
    let comparison = compare(&rows, &plan, &countdown, |_, _| {})?;
    countdown.finish();
    if (comparison.starts.len() as u64) < plan.starts {
        return Ok(ExitCode::from(interrupt::EXIT_CODE));
    }
    let summary = Summary::of(&comparison);
    let data = format!(
        "{N_ROWS} rows × {} columns from {} interfusing Gaussians, seed {SEED}",
        artificial.n_columns, artificial.n_components
    );
    let settings = PageSettings {
        title: "EM and stochastic EM: a demonstration".into(),
        data: format!("{data}; the true model has −{:.6} nats a row", -truth.score(&rows)?.mean_log_likelihood),
        units: "the data's units".into(),
        footer: format!("mixtura {}\nmixtura", env!("CARGO_PKG_VERSION")),
    };
    mixtura_io::write_file(path, page(&comparison, &summary, &settings).to_html().as_bytes())?;
    output::text(
        None,
        &format!(
            "{data}.\nEM and stochastic EM, {} rounds each, from the same {} starts (the paper's: random rows).\n\n{}\n\
             The whole comparison, to look into: {PAGE}\nTry it on your own data: mixtura fit data.csv -k 10\n",
            plan.rounds,
            plan.starts,
            to_table(&comparison, &summary)
        ),
    )?;
    Ok(ExitCode::SUCCESS)
}
