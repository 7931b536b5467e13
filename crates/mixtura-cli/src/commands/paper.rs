//! `mixtura paper`: repeats the paper's evaluation.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, anyhow};
use clap::{Args, ValueEnum};
use mixtura::Rows;
use mixtura_io::{Input, OutputFolder, ReadOptions};
use mixtura_paper::Build;
use mixtura_paper::comparison::{StartDigest, Summary};
use mixtura_paper::evaluation::{
    Claim, DataSet, Ellipses, Evaluated, Evaluation, Origin, SETS, Scale, Shelf, artificial_mixture, artificial_rows,
    claims, experiment, page, projection, specimen, specimen_plans, speedup, speedup_plans,
};
use serde_json::json;

use crate::failure::Hinted;
use crate::progress::Countdown;
use crate::table::counted;
use crate::{interrupt, output, talk};

/// Repeat the paper's evaluation: its data sets, its three experiments and every figure
///
/// Writes a self-contained HTML report with a conclusion for each claim of the paper, and the figures as SVG, also in
/// the layout of the paper and at the width of a printed column. Finished starts are kept in the output folder: after an
/// interruption, run the same command again to continue. Times are measured anew by every run, in its last part.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  mixtura paper --output evaluation\n  \
    mixtura paper --scale full --only artificial-1e4 --output evaluation")]
pub(crate) struct PaperArguments {
    /// Size of the evaluation
    #[arg(long, value_enum, default_value_t = ScaleName::Quick)]
    scale: ScaleName,

    /// Run only this data set, only `specimens` (other artificial mixtures) or only `speedups`; may be repeated
    /// [default: all]
    #[arg(long, value_name = "NAME", value_parser = names())]
    only: Vec<String>,

    /// Folder that contains covertype.parquet and aloi.parquet
    #[arg(long, value_name = "FOLDER", default_value = "data")]
    data: PathBuf,

    /// Output folder
    #[arg(short, long, value_name = "FOLDER")]
    output: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ScaleName {
    /// 3 starts × 5 runs of each data set; takes minutes
    Quick,
    /// 30 starts × 100 runs, as in the paper; takes hours
    Full,
}

const SPECIMENS: &str = "specimens";
const SPEEDUPS: &str = "speedups";
const INDEX: &str = "index.html";
const FINDINGS: &str = "findings.json";

fn names() -> clap::builder::PossibleValuesParser {
    SETS.iter().map(|set| set.name).chain([SPECIMENS, SPEEDUPS]).collect::<Vec<_>>().into()
}

/// Runs the subcommand.
pub(crate) fn run(arguments: &PaperArguments) -> anyhow::Result<ExitCode> {
    let scale = if arguments.scale == ScaleName::Quick { Scale::Quick } else { Scale::Full };
    let folder = OutputFolder::create(&arguments.output)?;
    let outputs = [INDEX, FINDINGS].map(|name| folder.would_write(Path::new(name)));
    let inputs = SETS.iter().filter_map(|set| file_of(set, &arguments.data)).map(Input::Path).collect::<Vec<_>>();
    output::refuse_inputs(&outputs.each_ref().map(PathBuf::as_path), &inputs.iter().collect::<Vec<_>>())?;
    folder.refuse_foreign(&[INDEX, FINDINGS])?;
    drop(folder);
    fs::create_dir_all(&arguments.output)
        .with_context(|| format!("{}: cannot create folder", arguments.output.display()))?;
    interrupt::hear();
    let is_wanted = |name: &str| arguments.only.is_empty() || arguments.only.iter().any(|only| only == name);
    let (mut missing, mut sets) = (Vec::new(), Vec::new());
    for set in SETS.iter().filter(|set| is_wanted(set.name)) {
        if interrupt::is_wanted() {
            break;
        }
        match rows_of(set, &arguments.data)? {
            Some(rows) => sets.extend(evaluate(arguments, set, &rows, scale)?),
            None => missing.push(format!(
                "{} is missing: no {}.parquet in {}",
                set.title,
                set.name,
                arguments.data.display()
            )),
        }
    }
    let specimens = if is_wanted(SPECIMENS) {
        each("artificial mixture", &specimen_plans(scale), |plan, watcher| Ok(specimen(plan, watcher)?))?
    } else {
        Vec::new()
    };
    let speedups = if is_wanted(SPEEDUPS) {
        each("timing shape", &speedup_plans(scale), |plan, watcher| Ok(speedup(plan, watcher)?))?
    } else {
        Vec::new()
    };
    let evaluation = Evaluation { scale, sets, specimens, speedups, missing };
    let has_nothing = evaluation.sets.is_empty() && evaluation.specimens.is_empty() && evaluation.speedups.is_empty();
    let missing = &evaluation.missing;
    if has_nothing && !missing.is_empty() {
        let hint = "run data/get to download the real data sets, or pass their folder with --data".into();
        return Err(Hinted { message: missing.join("\n"), hint }.into());
    }
    let interrupted = interrupt::is_wanted();
    // Finished starts are kept; a report with fewer results must not replace one with more.
    let has_page = arguments.output.join(INDEX).exists();
    if !interrupted || (!has_page && !has_nothing) {
        write(arguments, &evaluation)?;
    }
    if interrupted {
        let kept = if has_page { "; the existing report was not changed" } else { "" };
        talk::warning(&format!("interrupted: run the same command again to continue{kept}"));
        return Ok(ExitCode::from(interrupt::EXIT_CODE));
    }
    for text in missing {
        talk::warning(&format!("{text}; run data/get to download it"));
    }
    Ok(ExitCode::SUCCESS)
}

/// The rows of a data set, scaled to [0, 1] if they are real data; `None` if the file does not exist.
fn rows_of(set: &DataSet, folder: &Path) -> anyhow::Result<Option<Rows<'static>>> {
    if let Origin::Artificial { n_rows, balance } = set.origin {
        return Ok(Some(artificial_rows(n_rows, balance)?));
    }
    let Some(path) = file_of(set, folder).filter(|path| path.exists()) else { return Ok(None) };
    let table = mixtura_io::read(&Input::Path(path), &ReadOptions::default())?;
    Ok(Some(table.rows.normalized()?))
}

/// The file of a real data set.
fn file_of(set: &DataSet, folder: &Path) -> Option<PathBuf> {
    match set.origin {
        Origin::Artificial { .. } => None,
        Origin::File { stem } => Some(folder.join(format!("{stem}.parquet"))),
    }
}

/// Stores finished starts as files.
struct Folder {
    path: PathBuf,
    /// The plan of the stored starts.
    plan: serde_json::Value,
    /// The build and the machine. Starts of another plan, build or class of machine are not mixed in.
    build: Build,
}

impl Folder {
    fn file(&self, start: u64) -> PathBuf {
        self.path.join(format!("start-{:02}.json", start + 1))
    }
}

impl Shelf for Folder {
    fn take(&self, _set: &DataSet, start: u64) -> Option<StartDigest> {
        let text = fs::read_to_string(self.file(start)).ok()?;
        let mut kept: serde_json::Value = serde_json::from_str(&text).ok()?;
        let build: Build = serde_json::from_value(kept["build"].take()).ok()?;
        let is_ours = kept["plan"] == self.plan && build == self.build;
        is_ours.then(|| serde_json::from_value(kept["start"].take()).ok()).flatten()
    }

    fn put(
        &self,
        _set: &DataSet,
        start: u64,
        digest: &StartDigest,
    ) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        let text = serde_json::to_string(&json!({"plan": self.plan, "build": self.build, "start": digest}))?;
        Ok(mixtura_io::write_file(&self.file(start), text.as_bytes())?)
    }
}

fn evaluate(
    arguments: &PaperArguments,
    set: &DataSet,
    rows: &Rows<'_>,
    scale: Scale,
) -> anyhow::Result<Option<Evaluated>> {
    let plan = scale.plan(set, rows.n_rows(), rows.n_columns());
    let path = arguments.output.join("starts").join(set.name);
    fs::create_dir_all(&path)?;
    // As it reads back, so that it can be compared.
    let kept_plan = serde_json::from_str(&serde_json::to_string(&plan)?)?;
    let folder = Folder { path, plan: kept_plan, build: Build::here() };
    let foreign = (0..plan.starts).filter(|&start| folder.file(start).exists() && folder.take(set, start).is_none());
    let n_foreign = foreign.count();
    if n_foreign > 0 {
        talk::notice(&format!(
            "{}: {} of another plan, build or machine: run again",
            set.title,
            counted(n_foreign, "kept start")
        ));
    }
    let countdown = Countdown::new(set.title);
    let comparison =
        experiment(set, rows, &plan, &folder, &countdown).map_err(|error| anyhow!("{}: {error}", set.title))?;
    countdown.finish();
    let Some(comparison) = comparison else { return Ok(None) };
    let title = format!("Random projection: {}", set.title);
    let fitted = &comparison.starts[0].em_model;
    let projection = if let Origin::Artificial { balance, .. } = set.origin {
        let truth = artificial_mixture(balance)?;
        let outlined = Some((fitted, "EM, start 1"));
        projection("projection", &title, rows, Ellipses { shaded: &truth, name: "true components", outlined })?
    } else {
        let ellipses = Ellipses { shaded: fitted, name: "components of EM, start 1", outlined: None };
        projection("projection", &title, rows, ellipses)?
    };
    let summary = Summary::of(&comparison);
    Ok(Some(Evaluated { set: *set, comparison, summary, projection }))
}

/// Runs each plan in turn, until interrupted.
fn each<P, T>(
    what: &str,
    plans: &[P],
    run: impl Fn(&P, &Countdown) -> anyhow::Result<Option<T>>,
) -> anyhow::Result<Vec<T>> {
    let mut found = Vec::new();
    for (number, plan) in plans.iter().enumerate() {
        if interrupt::is_wanted() {
            break;
        }
        let countdown = Countdown::new(&format!("{what} {}/{}", number + 1, plans.len()));
        found.extend(run(plan, &countdown)?);
        countdown.finish();
    }
    Ok(found)
}

fn write(arguments: &PaperArguments, evaluation: &Evaluation) -> anyhow::Result<()> {
    let Evaluation { scale, sets, specimens, speedups, missing } = evaluation;
    let claims = claims(evaluation);
    let build = Build::here();
    let mut folder = OutputFolder::create(&arguments.output)?;
    let footer = format!(
        "mixtura {} (engine {}), {}\ncommand: {}",
        build.mixtura,
        build.engine,
        build.machine,
        command(arguments)
    );
    let page = page(evaluation, &claims, footer);
    for figure in page.figures() {
        folder.add(Path::new("figures").join(format!("{}.svg", figure.name)), figure.to_svg().as_bytes())?;
    }
    for sheet in page.sheets() {
        folder.add(Path::new("figures").join(format!("{}.svg", sheet.name)), sheet.to_svg().as_bytes())?;
        folder.add(Path::new("print").join(format!("{}.svg", sheet.name)), sheet.to_column_svg().as_bytes())?;
    }
    let sets: Vec<serde_json::Value> = sets
        .iter()
        .map(|set| json!({"name": set.set.name, "plan": set.comparison.plan, "threads": set.comparison.n_threads, "timing": set.comparison.timing, "summary": set.summary}))
        .collect();
    let all = json!({
        "format": "mixtura-paper",
        "version": 2,
        "build": build,
        "command": command(arguments),
        "scale": scale,
        "missing": missing,
        "claims": claims,
        "sets": sets,
        "specimens": specimens,
        "speedups": speedups,
    });
    folder.add(Path::new(FINDINGS), format!("{}\n", serde_json::to_string_pretty(&all)?).as_bytes())?;
    folder.add(Path::new(INDEX), page.to_html().as_bytes())?;
    folder.commit()?;
    output::text(None, &format!("{}\n{}\n", to_text(&claims), page.verdict))?;
    talk::notice(&format!("wrote {}", arguments.output.join(INDEX).display()));
    Ok(())
}

/// The claims as text, one paragraph each.
fn to_text(claims: &[Claim]) -> String {
    let paragraph = |Claim { claim, about, paper, here, verdict, because }: &Claim| {
        let because = if because.is_empty() { String::new() } else { format!("  {because}\n") };
        format!("{}: {claim} ({about})\n  paper: {paper}\n  here:  {here}\n{because}\n", verdict.words())
    };
    let (left_out, told): (Vec<&Claim>, Vec<&Claim>) = claims.iter().partition(|claim| claim.was_not_run());
    let rest = match left_out.len() {
        0 => String::new(),
        n => format!("not tested: {}; the data was not part of this run\n\n", counted(n, "claim")),
    };
    told.into_iter().map(paragraph).collect::<Vec<_>>().concat() + &rest
}

/// The command line that repeats this evaluation.
fn command(arguments: &PaperArguments) -> String {
    let scale = if arguments.scale == ScaleName::Quick { "quick" } else { "full" };
    let only: String = arguments.only.iter().map(|name| format!(" --only {name}")).collect::<Vec<_>>().concat();
    format!("mixtura paper --scale {scale}{only} --output {}", arguments.output.display())
}
