//! `mixtura compare`: runs EM and SEM from the same starts and reports the differences.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::Args;
use mixtura::rows::Normalization;
use mixtura_io::OutputFolder;
use mixtura_paper::comparison::{Comparison, Files, Plan, Publication, Summary, compare};

use crate::arguments::{Format, Init, at_least_one, not_negative, positive, probability, whole};
use crate::data::DataArguments;
use crate::failure::Usage;
use crate::progress::Countdown;
use crate::table::{Aligned, counted, number};
use crate::{interrupt, output, talk};

/// Compare EM and stochastic EM from the same starts: likelihoods, differences, bounds, speed
///
/// Writes to the output folder: index.html (a self-contained report), summary.json, every curve as CSV and every
/// figure as SVG.
#[derive(Debug, Args)]
#[command(allow_negative_numbers = true)]
#[command(after_help = "Examples:\n  mixtura compare data.csv -k 5\n  \
    mixtura compare data.parquet -k 10 --normalize --starts 10 -o comparison")]
pub(crate) struct CompareArguments {
    #[command(flatten)]
    data: DataArguments,

    /// Number of components
    #[arg(short = 'k', value_name = "K", value_parser = at_least_one)]
    n_components: usize,

    /// Number of starts
    #[arg(long, value_name = "S", default_value = "5", value_parser = at_least_one)]
    starts: usize,

    /// Number of runs of SEM from each start
    #[arg(long, value_name = "R", default_value = "5", value_parser = at_least_one)]
    runs: usize,

    /// Number of these runs that are compared with the theoretical bounds in every round
    #[arg(long, value_name = "B", default_value = "1", value_parser = whole)]
    bound_runs: u64,

    /// Number of rounds of each run
    #[arg(long, value_name = "N", default_value = "50", value_parser = at_least_one)]
    rounds: usize,

    /// How the runs are initialized
    #[arg(long, value_enum, default_value_t = Init::KmeansPlusPlus)]
    init: Init,

    /// Random seed
    #[arg(long, value_name = "S", default_value = "0", value_parser = whole)]
    seed: u64,

    /// Confidence that all bounds of a round hold simultaneously
    #[arg(long, value_name = "C", default_value = "0.99", value_parser = probability)]
    confidence: f64,

    /// Log-likelihoods count as equal if they differ by less than this, in nats per row
    #[arg(long, value_name = "T", default_value = "1e-3", value_parser = positive)]
    equal_within: f64,

    /// Variance floor, in units of the squared robust scale of each column; 0 = none
    #[arg(long, value_name = "E", default_value = "1e-9", value_parser = not_negative)]
    regularization: f64,

    /// Scale each column to [0, 1], as in the paper; differences are then in these units
    #[arg(long, help_heading = "Data")]
    normalize: bool,

    /// Not supported: the theorems apply to unweighted rows
    #[arg(long, value_name = "COLUMN", hide = true)]
    weights: Option<String>,

    /// Folder for the report, figures and curves; created if it does not exist
    #[arg(short, long, value_name = "FOLDER", default_value = "mixtura-compare", help_heading = "Output")]
    output: PathBuf,

    /// Print the summary as JSON or as a table [default: a table on a terminal, else JSON]
    #[arg(long, value_enum, help_heading = "Output")]
    format: Option<Format>,
}

/// Runs the subcommand.
pub(crate) fn run(arguments: &CompareArguments) -> anyhow::Result<ExitCode> {
    if arguments.weights.is_some() {
        return Err(Usage::hinted(
            "--weights is not supported here: the theorems apply to unweighted rows",
            "leave out --weights",
        )
        .into());
    }
    let plan = arguments.plan();
    plan.check().map_err(|error| Usage::new(error.to_string()))?;
    let mut folder = OutputFolder::create(&arguments.output)?;
    let outputs: Vec<PathBuf> = Publication::NAMES.iter().map(|name| folder.would_write(Path::new(name))).collect();
    output::refuse_inputs(&outputs.iter().map(PathBuf::as_path).collect::<Vec<_>>(), &[&arguments.data.data])?;
    folder.refuse_foreign(Publication::NAMES)?;
    let table = arguments.data.read(None, None)?;
    let rows = if arguments.normalize { table.rows.normalized()? } else { table.rows };
    interrupt::hear();
    let countdown = Countdown::new("comparing");
    let mut files = Files::new(rows.normalization().map_or(0.0, Normalization::ln_volume));
    let comparison = compare(&rows, &plan, &countdown, |number, start| files.add(number, start))
        .with_context(|| arguments.data.data.to_string())?;
    countdown.finish();
    let interrupted = interrupt::is_wanted();
    if comparison.starts.is_empty() {
        talk::warning("interrupted: nothing was written");
        return Ok(ExitCode::from(interrupt::EXIT_CODE));
    }
    let summary = Summary::of(&comparison);
    let published = arguments.publication(&comparison, &summary);
    for (name, text) in published.documents(&files) {
        folder.add(Path::new(&name), text.as_bytes())?;
    }
    folder.commit()?;
    let text = match output::format(arguments.format) {
        Format::Json => format!("{}\n", serde_json::to_string_pretty(&published.to_json())?),
        Format::Table => to_table(&comparison, &summary),
    };
    output::text(None, &text)?;
    if interrupted {
        talk::warning(&format!("interrupted after {} of {} starts", comparison.starts.len(), plan.starts));
    }
    talk::notice(&format!("wrote {}", arguments.output.join(Publication::INDEX).display()));
    Ok(if interrupted { ExitCode::from(interrupt::EXIT_CODE) } else { ExitCode::SUCCESS })
}

impl CompareArguments {
    fn plan(&self) -> Plan {
        Plan {
            n_components: self.n_components,
            starts: self.starts as u64,
            runs: self.runs as u64,
            bound_runs: self.bound_runs,
            bound_starts: self.starts as u64,
            rounds: self.rounds as u64,
            start: self.init.start(),
            seed: self.seed,
            regularization: self.regularization,
            confidence: self.confidence,
            equal_within: self.equal_within,
            auto: false,
        }
    }

    fn publication<'a>(&self, comparison: &'a Comparison, summary: &'a Summary) -> Publication<'a> {
        Publication {
            comparison,
            summary,
            data: self.data.data.to_string(),
            normalized: self.normalize,
            command: self.command(),
        }
    }

    /// The command line that repeats this comparison.
    fn command(&self) -> String {
        let init = clap::ValueEnum::to_possible_value(&self.init).map(|value| value.get_name().to_string());
        let mut words = vec![
            format!("mixtura compare {} -k {}", self.data.data, self.n_components),
            format!("--starts {} --runs {} --bound-runs {}", self.starts, self.runs, self.bound_runs),
            format!("--rounds {} --init {} --seed {}", self.rounds, init.unwrap_or_default(), self.seed),
        ];
        if let Some(columns) = &self.data.columns {
            words.push(format!("--columns {}", columns.join(",")));
        }
        if self.normalize {
            words.push("--normalize".into());
        }
        words.join(" ")
    }
}

/// The summary as text for the terminal.
pub(crate) fn to_table(comparison: &Comparison, summary: &Summary) -> String {
    let mut starts =
        Aligned::new(["start", "EM", "SEM median", "median − EM", "SEM is", "runs better", "runs equal", "runs worse"]);
    for (at, start) in summary.starts.iter().enumerate() {
        starts.row([
            (at + 1).to_string(),
            format!("{:.6}", start.em),
            format!("{:.6}", start.sem.median),
            format!("{:+.6}", start.sem.median - start.em),
            start.outcome.word().into(),
            start.runs.better.to_string(),
            start.runs.equal.to_string(),
            start.runs.worse.to_string(),
        ]);
    }
    let mut differences = Aligned::new(["largest difference", "weight", "mean", "of Γ", "covariance", "of Γ"]);
    for (rounds, largest) in [("any round", &summary.largest_difference), ("last round", &summary.last_difference)] {
        for (how, parts) in [("by number", &largest.unmatched), ("matched", &largest.matched)] {
            differences.row([
                format!("{rounds}, {how}"),
                number(parts.weight),
                number(parts.mean),
                format!("{:.4} %", 100.0 * parts.mean / summary.gamma_mean),
                number(parts.covariance),
                format!("{:.4} %", 100.0 * parts.covariance / summary.gamma_covariance),
            ]);
        }
    }
    let time = &summary.time;
    let (em, sem) = (&time.em_operations, &time.sem_operations);
    let mut times = Aligned::new(["round of", "ms", "paper's count", "multiply-adds"]);
    for (name, seconds, count) in [("EM", time.em_seconds, em), ("SEM", time.sem_seconds, sem)] {
        let counts = [count.paper, count.total()].map(|count| format!("{count:.2e}"));
        let [paper, total] = counts;
        times.row([name.into(), format!("{:.3}", 1e3 * seconds), paper, total]);
    }
    times.row([
        "EM ÷ SEM".into(),
        format!("{:.2}", time.speedup),
        format!("{:.2}", em.paper / sem.paper),
        format!("{:.2}", em.total() / sem.total()),
    ]);
    let plan = &comparison.plan;
    let bounds = summary.bounds.as_ref().map_or(String::new(), |bounds| {
        let all = bounds.all;
        if all.statements == 0 {
            return "Single updates: no component was heavy enough for the theorems to apply.\n\n".into();
        }
        let share = |n: u64| 100.0 * n as f64 / all.statements as f64;
        let usable = bounds.starts.iter().map(|start| start.largest_usable).fold(0.0, f64::max);
        let void: usize = bounds.starts.iter().map(|start| start.void).sum();
        let void = if void == 0 {
            String::new()
        } else {
            format!(" ({} of components too light for the theorems left out)", counted(void, "void bound"))
        };
        format!(
            "Single updates: {:.2} % of {} differences from EM's update were within the theoretical bounds,\n\
             {:.1} % within one typical deviation, {:.1} % within two. Bounds on means: up to {:.4} % of Γ{void}.\n\n",
            share(all.held),
            all.statements,
            share(all.within_one),
            share(all.within_two),
            100.0 * usable / summary.gamma_mean
        )
    });
    format!(
        "Log-likelihood of the last models, nats per row ({} from each start, {})\n\n{}\n{}\n\
         Matched: each component of EM with its partner in the assignment of smallest total distance.\n\n\
         Median time per round, {}; multiplications as counted in the paper, multiply-adds as computed\n\n{}\n{bounds}\
         {}\n\n{}\n",
        counted(plan.runs as usize, "run"),
        counted(plan.rounds as usize, "round"),
        starts.to_text(),
        differences.to_text(),
        counted(comparison.n_threads, "thread"),
        times.to_text(),
        summary.repairs.sentence(),
        summary.sentence
    )
}
