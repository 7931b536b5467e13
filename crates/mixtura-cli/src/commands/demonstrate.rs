//! `mixtura` without arguments: a demo that compares EM with SEM on generated data.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use mixtura::generate::Artificial;
use mixtura::{Rows, Start};
use mixtura_paper::comparison::{PageSettings, Plan, Summary, compare, page};

use super::compare::to_table;
use crate::progress::Countdown;
use crate::{output, talk};

const N_ROWS: usize = 100_000;
const SEED: u64 = 1;

/// Runs the demo; the report goes to `output`, or to the temporary folder if there is none.
pub(crate) fn run(asked: Option<&Path>) -> anyhow::Result<ExitCode> {
    output::check(&[asked], &[])?;
    let artificial = Artificial::default();
    let truth = artificial.mixture(SEED)?;
    let (values, _) = truth.sample(0..N_ROWS, SEED)?;
    let rows = Rows::from_vec(values, artificial.n_columns)?;
    let plan =
        Plan { n_components: artificial.n_components, starts: 3, runs: 3, start: Start::Random, ..Plan::default() };
    let countdown = Countdown::new("comparing EM and stochastic EM");
    let comparison = compare(&rows, &plan, &countdown, |_, _| {})?;
    countdown.finish();
    let summary = Summary::of(&comparison);
    let data = format!(
        "{N_ROWS} rows × {} columns from {} overlapping Gaussians (data: seed {SEED}; runs: seed {})",
        artificial.n_columns, artificial.n_components, plan.seed
    );
    let settings = PageSettings {
        title: "EM and stochastic EM: a demo".into(),
        data: format!(
            "{data}; log-likelihood of the true model: −{:.6} nats per row",
            -truth.score(&rows)?.mean_ln_likelihood
        ),
        name: "generated data".into(),
        units: "data units".into(),
        footer: format!("mixtura {}\ncommand: mixtura", env!("CARGO_PKG_VERSION")),
    };
    let written = write(asked, &page(&comparison, &summary, &settings).to_html())?;
    let look = written.map_or(String::new(), |page| format!("Full report: {}\n", page.display()));
    output::text(
        None,
        &format!(
            "{data}.\nEM and stochastic EM, {} rounds each, from the same {} starts (random rows, as in the paper).\n\n{}\n\
             {look}Try it on your own data: mixtura fit data.csv -k 10\n",
            plan.rounds,
            plan.starts,
            to_table(&comparison, &summary)
        ),
    )?;
    Ok(ExitCode::SUCCESS)
}

/// Writes the report and returns its path; `None` if no file was requested and the temporary folder is not writable.
fn write(asked: Option<&Path>, html: &str) -> anyhow::Result<Option<PathBuf>> {
    if let Some(path) = asked {
        output::text(Some(path), html)?;
        return Ok(Some(path.to_owned()));
    }
    let written = output::in_temporary_folder("mixtura-demo-", ".html", html);
    if let Err(error) = &written {
        talk::warning(&format!("no report: cannot write to the temporary folder: {error}"));
    }
    Ok(written.ok())
}
