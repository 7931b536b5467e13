//! `mixtura show`: prints a model in readable form.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use mixtura::{AnyMixture, Kind};
use mixtura_io::{FitRecord, ModelFile};

use crate::arguments::Format;
use crate::output;
use crate::table::{Aligned, counted, number};

/// Width of the output when there is no terminal.
const WIDTH: usize = 100;
/// Why writing to a `String` succeeds.
const WRITABLE: &str = "invariant: writing to a string cannot fail";

/// Print a model in readable form
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  mixtura show model.json\n  \
    mixtura show model.json --sort --columns 'hillshade_*'\n  mixtura show model.json --covariances | less")]
pub(crate) struct ShowArguments {
    /// Model file
    model: PathBuf,

    /// Columns to show: names, positions from 1, ranges (a..c, 2-5), patterns ('x*') [default: all]
    #[arg(long, value_name = "A,B,C", value_delimiter = ',')]
    columns: Option<Vec<String>>,

    /// Sort the components by weight, heaviest first [default: in the order of the file]
    #[arg(long)]
    sort: bool,

    /// Show the covariance matrices too
    #[arg(long)]
    covariances: bool,

    /// Print as a table or as JSON
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

/// Runs the subcommand.
pub(crate) fn run(arguments: &ShowArguments) -> anyhow::Result<ExitCode> {
    let mut file = ModelFile::read(&arguments.model)?;
    if arguments.sort {
        file = file.sorted_by_weight();
    }
    let mut view = View::all(&file);
    if let Some(wanted) = &arguments.columns {
        let name = arguments.model.display().to_string();
        view.columns = mixtura_io::pick_columns(&file.columns, file.model.n_columns(), wanted, &name)?;
    }
    let text = match arguments.format {
        Format::Json => file.to_json(),
        Format::Table => {
            table(&file, &view) + &if arguments.covariances { matrices(&file, &view) } else { String::new() }
        }
    };
    output::text(None, &text)?;
    Ok(ExitCode::SUCCESS)
}

/// Which parts of a model to show.
pub(crate) struct View {
    columns: Vec<usize>,
    width: usize,
}

impl View {
    /// Everything, at the width of the terminal.
    pub(crate) fn all(file: &ModelFile) -> Self {
        let width = terminal_size::terminal_size_of(std::io::stdout()).map(|(width, _)| usize::from(width.0));
        Self { columns: (0..file.model.n_columns()).collect(), width: width.unwrap_or(WIDTH) }
    }
}

/// The outcome of the fit in one line.
pub(crate) fn outcome(file: &ModelFile) -> String {
    let components = counted(file.model.n_components(), "component");
    let Some(fit) = &file.fit else { return components };
    let rounds = counted(fit.rounds as usize, "round");
    let ended = match fit.reason.as_str() {
        "flat" => format!("likelihood flat after {rounds}"),
        "round-limit" => format!("stopped at the limit of {rounds}"),
        other => format!("{other} after {rounds}"),
    };
    let likelihood = match (fit.mean_log_likelihood, fit.lower_bound) {
        (Some(likelihood), _) => format!(", log-likelihood {likelihood:.6} per row"),
        (None, Some(bound)) => format!(", log-likelihood {bound:.6} per row before the last update"),
        (None, None) => String::new(),
    };
    format!("{components}, {} {ended}{likelihood}", fit.algorithm)
}

/// Number of rows, number of free parameters and BIC in one line.
fn size(fit: &FitRecord) -> Option<String> {
    let rows = counted(fit.rows? as usize, "row");
    let weight = fit.total_weight.map_or(String::new(), |weight| format!(" of total weight {}", number(weight)));
    let parameters =
        fit.free_parameters.map_or(String::new(), |n| format!(", {}", counted(n as usize, "free parameter")));
    let bic = fit.bic.map_or(String::new(), |bic| format!(", BIC {bic:.3} (lower is better)"));
    Some(format!("{rows}{weight}{parameters}{bic}"))
}

/// The model as a table: weight, mean and standard deviation of each component.
pub(crate) fn table(file: &ModelFile, view: &View) -> String {
    let columns = counted(file.model.n_columns(), "column");
    let mut text = format!("{}, {columns}\n{}\n", title(file.model.kind()), outcome(file));
    if let Some(fit) = &file.fit {
        for line in size(fit).into_iter().chain(starts(file)) {
            writeln!(text, "{line}").expect(WRITABLE);
        }
    }
    text.push('\n');
    text.push_str(&across(file, view).unwrap_or_else(|| down(file, view)));
    text
}

/// How many starts there were, and how they compare.
pub(crate) fn starts(file: &ModelFile) -> Option<String> {
    let fit = file.fit.as_ref()?;
    let Some(race) = &fit.race else { return restarts(file.model.n_components(), fit) };
    let n_starts = fit.restarts_asked.unwrap_or(fit.restarts.len() as u64);
    if let Some(n_rows) = race.interrupted_on {
        return Some(format!("{n_starts} starts raced; interrupted on {}", counted(n_rows as usize, "row")));
    }
    let agreed = match race.agreed {
        1 => "one of them led to this maximum".to_owned(),
        agreed if agreed == n_starts => "all of them led to this maximum".to_owned(),
        agreed => format!("{agreed} of them led to this maximum"),
    };
    let moved = match race.moves {
        0 => String::new(),
        moves => format!(
            " after {} moved",
            if moves == 1 { "a component was".into() } else { format!("{moves} components were") }
        ),
    };
    let next = race.gap.zip(race.gap_rows).map_or(String::new(), |(gap, rows)| {
        format!("; the next best was {} nats per row lower on {}", number(gap.max(0.0)), counted(rows as usize, "row"))
    });
    Some(format!("{n_starts} starts raced: {agreed}{moved}{next}"))
}

/// Final log-likelihoods of starts that did not race, best first; abbreviated if there are many.
fn restarts(n_components: usize, fit: &FitRecord) -> Option<String> {
    const MOST: usize = 6;
    let mut ends = fit.restarts.clone();
    ends.sort_by(|a, b| b.total_cmp(a));
    let shown = |ends: &[f64]| ends.iter().map(|end| format!("{end:.6}")).collect::<Vec<_>>().join(", ");
    let asked = fit.restarts_asked.map_or(String::new(), |asked| format!(" of {asked}"));
    match ends.as_slice() {
        [_] if asked.is_empty() && n_components > 1 => Some("one start: others may lead to other maxima".into()),
        [] | [_] if asked.is_empty() => None,
        few if few.len() <= MOST => Some(format!("{}{asked} restarts ended at {}", few.len(), shown(few))),
        [best @ .., least] => {
            Some(format!("{}{asked} restarts ended at {}, … {least:.6}", ends.len(), shown(&best[..MOST - 1])))
        }
        [] => None,
    }
}

/// The kind of model in words.
fn title(kind: Kind) -> String {
    let family = kind.family();
    let family = family[..1].to_uppercase() + &family[1..];
    let structure = match kind.structure() {
        Some("tied") => ", tied covariance".into(),
        Some(structure) => format!(", {structure} covariances"),
        None => String::new(),
    };
    format!("{family} mixture{structure}")
}

/// The name of a column, or its number if it has no name.
fn column_name(file: &ModelFile, column: usize) -> String {
    file.columns.get(column).cloned().unwrap_or_else(|| format!("column {}", column + 1))
}

/// Means and standard deviations of a model.
struct Cells {
    n_columns: usize,
    centres: Vec<f64>,
    spreads: Vec<f64>,
}

impl Cells {
    fn of(model: &AnyMixture) -> Self {
        Self { n_columns: model.n_columns(), centres: model.centres(), spreads: model.spreads() }
    }

    fn cell(&self, component: usize, column: usize) -> String {
        let at = component * self.n_columns + column;
        format!("{} ±{}", number(self.centres[at]), number(self.spreads[at]))
    }
}

/// A table with one line per component, if all columns fit side by side.
fn across(file: &ModelFile, view: &View) -> Option<String> {
    /// Minimum width of a cell, including the space before it.
    const NARROWEST: usize = 6;
    if view.columns.len() * NARROWEST > view.width {
        return None;
    }
    let (cells, weights) = (Cells::of(&file.model), file.model.weights());
    let names = view.columns.iter().map(|&column| column_name(file, column));
    let mut aligned = Aligned::new(["component".to_owned(), "weight".into()].into_iter().chain(names));
    for (k, weight) in weights.iter().enumerate() {
        let row = view.columns.iter().map(|&column| cells.cell(k, column));
        aligned.row([k.to_string(), format!("{weight:.6}")].into_iter().chain(row));
    }
    let text = aligned.to_text();
    text.lines().all(|line| line.chars().count() <= view.width).then_some(text)
}

/// Tables with one line per column, and as many components side by side as fit.
fn down(file: &ModelFile, view: &View) -> String {
    /// Usual maximum width of a cell, including the space before it.
    const CELL: usize = 21;
    let (cells, weights) = (Cells::of(&file.model), file.model.weights());
    let longest = view.columns.iter().map(|&column| column_name(file, column).chars().count()).max().unwrap_or(0);
    let n_beside = (view.width.saturating_sub(longest + 2) / CELL).max(1);
    let mut blocks = Vec::new();
    for first in (0..weights.len()).step_by(n_beside) {
        let components = first..(first + n_beside).min(weights.len());
        let line = |name: &str, cells: Vec<String>| [vec![name.to_owned()], cells].concat();
        let heading = components.clone().map(|k| format!("component {k}")).collect();
        let mut aligned = Aligned::new(line("column", heading));
        aligned.row(line("weight", weights[components.clone()].iter().map(|weight| format!("{weight:.6}")).collect()));
        for &column in &view.columns {
            let row = components.clone().map(|k| cells.cell(k, column)).collect();
            aligned.row(line(&column_name(file, column), row));
        }
        blocks.push(aligned.to_text());
    }
    blocks.join("\n")
}

/// The covariance matrices: one per component, one for all, or none if the standard deviations already say
/// everything. Wide matrices are split into blocks of columns.
fn matrices(file: &ModelFile, view: &View) -> String {
    /// Usual maximum width of a number, including the space before it.
    const CELL: usize = 12;
    let each: Vec<(String, &[f64])> = match &file.model {
        AnyMixture::Full(model) => {
            let of = |k: usize| (format!("covariance of component {k}"), model.components.covariance(k));
            (0..model.n_components()).map(of).collect()
        }
        AnyMixture::Tied(model) => vec![("covariance of all components".into(), model.components.covariance())],
        _ => Vec::new(),
    };
    let n = file.model.n_columns();
    let names: Vec<String> = view.columns.iter().map(|&column| column_name(file, column)).collect();
    let longest = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    let n_beside = (view.width.saturating_sub(longest + 2) / CELL.max(longest + 2)).max(1);
    let mut text = String::new();
    for (title, matrix) in each {
        write!(text, "\n{title}\n").expect(WRITABLE);
        for (columns, names_beside) in view.columns.chunks(n_beside).zip(names.chunks(n_beside)) {
            let mut aligned = Aligned::new(std::iter::once("").chain(names_beside.iter().map(String::as_str)));
            for (&d, name) in view.columns.iter().zip(&names) {
                let row = columns.iter().map(|&column| number(matrix[d * n + column]));
                aligned.row(std::iter::once(name.clone()).chain(row));
            }
            write!(text, "\n{}", aligned.to_text()).expect(WRITABLE);
        }
    }
    text
}
