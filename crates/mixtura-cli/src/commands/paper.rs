//! `mixtura paper`: repeats the paper's evaluation.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, anyhow};
use clap::{Args, ValueEnum};
use mixtura::Rows;
use mixtura_io::{Input, OutputFolder, ReadOptions};
use mixtura_paper::comparison::{StartDigest, Summary};
use mixtura_paper::evaluation::{
    DataSet, Evaluated, Finding, Origin, SETS, Scale, Shelf, Specimen, artificial_rows, experiment, findings, page,
    projection, specimen, specimen_plans,
};
use serde_json::json;

use crate::failure::Hinted;
use crate::progress::Countdown;
use crate::{interrupt, output, talk};

/// Repeat the paper's evaluation: its data sets, its three experiments and every figure
///
/// Writes a self-contained HTML report that compares the findings with the paper's, and the figures as SVG. Finished
/// parts are kept in the output folder: after an interruption, run the same command again to continue.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  mixtura paper --output evaluation\n  \
    mixtura paper --scale full --only artificial-1e4 --output evaluation")]
pub(crate) struct PaperArguments {
    /// Size of the evaluation
    #[arg(long, value_enum, default_value_t = ScaleName::Quick)]
    scale: ScaleName,

    /// Run only this data set, or only `specimens`; may be repeated [default: all]
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
const INDEX: &str = "index.html";
const FINDINGS: &str = "findings.json";

fn names() -> clap::builder::PossibleValuesParser {
    SETS.iter().map(|set| set.name).chain([SPECIMENS]).collect::<Vec<_>>().into()
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
    let mut missing = Vec::new();
    let mut evaluated = Vec::new();
    for set in SETS.iter().filter(|set| is_wanted(set.name)) {
        if interrupt::is_wanted() {
            break;
        }
        match rows_of(set, &arguments.data)? {
            Some(rows) => evaluated.extend(evaluate(arguments, set, &rows, scale)?),
            None => missing.push(format!(
                "{} is missing: no {}.parquet in {}",
                set.title,
                set.name,
                arguments.data.display()
            )),
        }
    }
    let specimens = if is_wanted(SPECIMENS) { specimens(scale)? } else { Vec::new() };
    if evaluated.is_empty() && specimens.is_empty() && !missing.is_empty() {
        let hint = "run data/get to download the real data sets, or pass their folder with --data".into();
        return Err(Hinted { message: missing.join("\n"), hint }.into());
    }
    let interrupted = interrupt::is_wanted();
    // Finished starts are kept; a report with fewer results must not replace one with more.
    let has_page = arguments.output.join(INDEX).exists();
    if !interrupted || (!has_page && !evaluated.is_empty()) {
        write(arguments, scale, &evaluated, &specimens, &missing)?;
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
    if let Origin::Artificial { n_rows } = set.origin {
        return Ok(Some(artificial_rows(n_rows)?));
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
    /// The plan of the stored starts; starts of another plan are ignored.
    plan: serde_json::Value,
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
        (kept["plan"] == self.plan).then(|| serde_json::from_value(kept["start"].take()).ok()).flatten()
    }

    fn put(
        &self,
        _set: &DataSet,
        start: u64,
        digest: &StartDigest,
    ) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        let text = serde_json::to_string(&json!({"plan": self.plan, "start": digest}))?;
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
    let folder = Folder { path, plan: json!({"mixtura": env!("CARGO_PKG_VERSION"), "plan": plan}) };
    let countdown = Countdown::new(set.title);
    let comparison =
        experiment(set, rows, &plan, &folder, &countdown).map_err(|error| anyhow!("{}: {error}", set.title))?;
    countdown.finish();
    let Some(comparison) = comparison else { return Ok(None) };
    let title = format!("Random projection: {}", set.title);
    let projection = projection("projection", &title, rows, &comparison.starts[0].em_model)?;
    let summary = Summary::of(&comparison);
    Ok(Some(Evaluated { set: *set, comparison, summary, projection }))
}

fn specimens(scale: Scale) -> anyhow::Result<Vec<Specimen>> {
    let plans = specimen_plans(scale);
    let mut found = Vec::new();
    for (number, plan) in plans.iter().enumerate() {
        if interrupt::is_wanted() {
            break;
        }
        let countdown = Countdown::new(&format!("artificial mixture {}/{}", number + 1, plans.len()));
        found.extend(specimen(plan, &countdown)?);
        countdown.finish();
    }
    Ok(found)
}

fn write(
    arguments: &PaperArguments,
    scale: Scale,
    evaluated: &[Evaluated],
    specimens: &[Specimen],
    missing: &[String],
) -> anyhow::Result<()> {
    let findings = findings(evaluated, specimens);
    let mut folder = OutputFolder::create(&arguments.output)?;
    let footer = format!("mixtura {}\n{}", env!("CARGO_PKG_VERSION"), command(arguments));
    let page = page(evaluated, specimens, &findings, missing, footer);
    for figure in page.figures() {
        folder.add(Path::new("figures").join(format!("{}.svg", figure.name)), figure.to_svg().as_bytes())?;
    }
    let sets: Vec<serde_json::Value> = evaluated
        .iter()
        .map(|set| json!({"name": set.set.name, "plan": set.comparison.plan, "threads": set.comparison.n_threads, "summary": set.summary}))
        .collect();
    let all = json!({
        "format": "mixtura-paper",
        "version": 1,
        "mixtura": env!("CARGO_PKG_VERSION"),
        "command": command(arguments),
        "scale": scale,
        "missing": missing,
        "findings": findings,
        "sets": sets,
        "specimens": specimens,
    });
    folder.add(Path::new(FINDINGS), format!("{}\n", serde_json::to_string_pretty(&all)?).as_bytes())?;
    folder.add(Path::new(INDEX), page.to_html().as_bytes())?;
    folder.commit()?;
    output::text(None, &format!("{}\n{}\n", to_text(&findings), page.verdict))?;
    talk::notice(&format!("wrote {}", arguments.output.join(INDEX).display()));
    Ok(())
}

/// The findings as text, one paragraph each.
fn to_text(findings: &[Finding]) -> String {
    let paragraph = |Finding { what, paper, ours, agrees, sentence }: &Finding| {
        let mark = if *agrees { "agrees " } else { "differs" };
        format!("{mark}  {what}\n         paper: {paper}\n         here:  {ours}\n         {sentence}\n\n")
    };
    findings.iter().map(paragraph).collect::<Vec<_>>().concat()
}

/// The command line that repeats this evaluation.
fn command(arguments: &PaperArguments) -> String {
    let scale = if arguments.scale == ScaleName::Quick { "quick" } else { "full" };
    let only: String = arguments.only.iter().map(|name| format!(" --only {name}")).collect::<Vec<_>>().concat();
    format!("mixtura paper --scale {scale}{only} --output {}", arguments.output.display())
}
