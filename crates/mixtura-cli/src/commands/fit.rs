//! Fits a model to data: `mixtura fit`.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::{Args, ValueEnum};
use mixtura::driver::{Event, EventKind, SemResult, Termination};
use mixtura::family::Family;
use mixtura::pass::{Precision, Source, Threads};
use mixtura::rows::{Normalization, Summary};
use mixtura::{Algorithm, AnyMixture, Fit, Kind, Mixture, Options, Rows, Start, with_family};
use mixtura_io::{FitRecord, Input, ModelFile, Table};

use super::show;
use crate::arguments::{Format, at_least_one, not_negative, threads};
use crate::data::DataArguments;
use crate::failure::Usage;
use crate::progress::{Watch, spinner};
use crate::table::{counted, number};
use crate::{interrupt, output, talk};

/// Why a component of a normalised fit has one in the data's units.
const CAN_BE_MAPPED: &str = "invariant: families that cannot be mapped were refused";

/// Fit a mixture model to data
#[derive(Debug, Args)]
#[command(allow_negative_numbers = true)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag that can be typed")]
pub(crate) struct FitArguments {
    #[command(flatten)]
    data: DataArguments,

    /// Number of components
    #[arg(short = 'k', value_name = "K", value_parser = at_least_one)]
    n_components: usize,

    /// The algorithm: how posteriors become weights
    #[arg(long, value_enum, default_value_t = AlgorithmName::Auto)]
    algorithm: AlgorithmName,

    /// Which of SEM's models is the answer
    #[arg(long, value_enum, default_value_t = ResultName::Average)]
    result: ResultName,

    /// With auto: run EM from the same start as well, and keep the better
    #[arg(long)]
    guard: bool,

    /// With em or auto: extrapolate EM's steps where that does not lower the likelihood
    #[arg(long)]
    accelerate: bool,

    /// Structure of the covariance matrices [default: that of the initial model, else full]
    #[arg(long, value_enum)]
    covariance: Option<Covariance>,

    /// Distribution of the components [default: that of the initial model, else gaussian]
    #[arg(long, value_enum)]
    family: Option<FamilyName>,

    /// Limit on rounds
    #[arg(long, value_name = "N", default_value_t = 1000)]
    rounds: u64,

    /// Stop when the log-likelihood a row changes by less, in nats; 0 = run all rounds
    #[arg(long, value_name = "T", default_value = "1e-6", value_parser = not_negative)]
    tolerance: f64,

    /// Seed of all random draws
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,

    /// How SEM computes the densities it draws from; both draw the same labels
    #[arg(long, value_enum, default_value_t = PrecisionName::Certified)]
    precision: PrecisionName,

    /// Number of threads [default: all]; changes no bit of the result
    #[arg(long, value_name = "T", value_parser = threads)]
    threads: Option<usize>,

    /// Where the fit starts
    #[arg(long, value_enum, default_value_t = Init::KmeansPlusPlus, help_heading = "Start")]
    init: Init,

    /// Start from the model in this file
    #[arg(long, value_name = "FILE", conflicts_with_all = ["init", "labels"], help_heading = "Start")]
    init_model: Option<PathBuf>,

    /// Start from the groups that this column names
    #[arg(long, value_name = "COLUMN", conflicts_with = "init", help_heading = "Start")]
    labels: Option<String>,

    /// Number of starts; the best is kept
    #[arg(long, value_name = "R", default_value = "1", value_parser = at_least_one, help_heading = "Start")]
    restarts: usize,

    /// Column of row weights
    #[arg(long, value_name = "COLUMN", help_heading = "Data")]
    weights: Option<String>,

    /// Map each column to [0, 1] for the fit; the model stays in the data's units
    #[arg(long, help_heading = "Data")]
    normalize: bool,

    /// Least variance, in units of the squared robust scale of a column; 0 = none
    #[arg(long, value_name = "E", default_value = "1e-9", value_parser = not_negative, help_heading = "Degenerate components")]
    regularization: f64,

    /// Added to every variance, in the data's units
    #[arg(long, value_name = "R", default_value = "0", value_parser = not_negative, help_heading = "Degenerate components")]
    ridge: f64,

    /// Write the model to this file
    #[arg(short, long, value_name = "MODEL", help_heading = "Output")]
    output: Option<PathBuf>,

    /// Write the likelihood, time and repairs of every round to this CSV file
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    trace: Option<PathBuf>,

    /// Print the model as JSON or as a table [default: a table on a terminal, else JSON]
    #[arg(long, value_enum, help_heading = "Output")]
    format: Option<Format>,

    /// Sort the components by weight, heaviest first [default: in the order of the start]
    #[arg(long, help_heading = "Output")]
    sort: bool,

    /// No progress, no notices
    #[arg(short, long, help_heading = "Output")]
    quiet: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum AlgorithmName {
    /// Expectation maximisation
    Em,
    /// Stochastic EM
    Sem,
    /// Classification EM
    Cem,
    /// Stochastic approximation EM: SEM, then averaged statistics
    Saem,
    /// SEM while it rises, then EM from its result
    Auto,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ResultName {
    /// The model of the statistics averaged over the flat end; the best if that is better
    Average,
    /// The model of highest likelihood
    Best,
    /// The last model
    Last,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum PrecisionName {
    /// Single precision where the draw is certain, else double
    Certified,
    /// Double precision throughout
    Double,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Covariance {
    /// A matrix of its own for each component
    Full,
    /// One matrix for all components
    Tied,
    /// A variance for each column of each component
    Diagonal,
    /// One variance for each component
    Spherical,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum FamilyName {
    /// Real numbers, normally distributed
    Gaussian,
    /// Independent counts in each column
    Poisson,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Init {
    /// k-means++ on a sample, with scaled columns
    #[value(name = "kmeans++")]
    KmeansPlusPlus,
    /// Rows drawn at random, as in the paper
    Random,
    /// The best of several short runs of EM, on a sample
    #[value(name = "short-em")]
    ShortEm,
}

impl FitArguments {
    fn options(&self) -> Options {
        Options {
            algorithm: match self.algorithm {
                AlgorithmName::Em => Algorithm::Em,
                AlgorithmName::Sem => Algorithm::Sem,
                AlgorithmName::Cem => Algorithm::Cem,
                AlgorithmName::Saem => Algorithm::Saem,
                AlgorithmName::Auto => Algorithm::Auto,
            },
            guard: self.guard,
            accelerate: self.accelerate,
            result: match self.result {
                ResultName::Average => SemResult::Average,
                ResultName::Best => SemResult::Best,
                ResultName::Last => SemResult::Last,
            },
            rounds: self.rounds,
            tolerance: self.tolerance,
            restarts: self.restarts as u64,
            regularization: self.regularization,
            ridge: self.ridge,
            seed: self.seed,
            precision: match self.precision {
                PrecisionName::Certified => Precision::Certified,
                PrecisionName::Double => Precision::Double,
            },
        }
    }
}

/// Runs the subcommand.
pub(crate) fn run(arguments: &FitArguments) -> anyhow::Result<ExitCode> {
    let model_input = arguments.init_model.clone().map(Input::Path);
    let inputs: Vec<&Input> = std::iter::once(&arguments.data.data).chain(&model_input).collect();
    check_companions(arguments)?;
    output::check(&[arguments.output.as_ref(), arguments.trace.as_ref()], &inputs)?;
    if let Some(n_threads) = arguments.threads {
        rayon::ThreadPoolBuilder::new().num_threads(n_threads).build_global()?;
    }
    let start_model = arguments.init_model.as_deref().map(ModelFile::read).transpose()?;
    let kind = kind(arguments, start_model.as_ref())?;
    with_family!(kind, F => run_with::<F>(arguments, start_model))
}

/// The family that was asked for, or that the initial model has.
fn kind(arguments: &FitArguments, start: Option<&ModelFile>) -> anyhow::Result<Kind> {
    let given = start.map(|file| file.model.kind());
    let asked = match (arguments.family, arguments.covariance) {
        (None, None) => given.unwrap_or(Kind::Full),
        (Some(FamilyName::Poisson), None) => Kind::Poisson,
        (Some(FamilyName::Poisson), Some(_)) => {
            return Err(Usage("--covariance is for Gaussians: Poisson counts have none".into()).into());
        }
        (Some(FamilyName::Gaussian), None) => given.filter(|kind| kind.structure().is_some()).unwrap_or(Kind::Full),
        (_, Some(Covariance::Full)) => Kind::Full,
        (_, Some(Covariance::Tied)) => Kind::Tied,
        (_, Some(Covariance::Diagonal)) => Kind::Diagonal,
        (_, Some(Covariance::Spherical)) => Kind::Spherical,
    };
    if let Some(given) = given.filter(|&given| given != asked) {
        return Err(Usage(format!("the initial model is {given}, but {asked} was asked for")).into());
    }
    let why_not = match asked {
        Kind::Poisson => "counts are not counts any more in [0, 1]",
        Kind::Spherical => "one variance cannot serve columns that were scaled differently; try --covariance diagonal",
        Kind::Full | Kind::Tied | Kind::Diagonal => return Ok(asked),
    };
    if arguments.normalize {
        return Err(Usage(format!("--normalize does not go with this family: {why_not}")).into());
    }
    Ok(asked)
}

/// Fits a mixture of one family.
fn run_with<F: Family>(arguments: &FitArguments, start_model: Option<ModelFile>) -> anyhow::Result<ExitCode>
where
    AnyMixture: From<Mixture<F>>,
    Mixture<F>: TryFrom<AnyMixture>,
{
    let reading = spinner(format!("reading {}", arguments.data.data), arguments.quiet);
    let table = read(arguments, start_model.as_ref())?;
    reading.finish_and_clear();
    let columns = table.rows.names().to_vec();
    let rows = prepare(arguments, table)?;
    let start = start::<F>(arguments, start_model, &rows)?;
    let ln_volume = rows.normalization().map_or(0.0, Normalization::ln_volume);

    let options = arguments.options();
    let watch = Watch::new(name(options.algorithm), options.rounds, ln_volume, arguments.quiet);
    let named = || arguments.data.data.to_string();
    let engine = Threads::<F>::new(&rows).with_context(named)?;
    if !arguments.quiet {
        let deterministic = matches!(arguments.algorithm, AlgorithmName::Em | AlgorithmName::Cem);
        if deterministic && arguments.restarts > 1 && matches!(start, Start::Model(_) | Start::Labels) {
            talk::notice("--restarts repeats the same fit: this start and this algorithm leave nothing to chance");
        }
        announce_constant_columns(engine.summary(), &columns);
    }
    let fit = mixtura::fit(&engine, arguments.n_components, &start, &options, &watch).with_context(named)?;
    watch.finish();

    let model = finished_model(arguments, &fit, &rows);
    let mut record = FitRecord::new(&fit, &options, ln_volume);
    if arguments.normalize {
        // Going back to the data's units rounds: the file states the likelihood of what it holds.
        record.mean_log_likelihood = model.score(&rows.without_normalization())?.mean_log_likelihood;
        record.restarts[fit.winner] = record.mean_log_likelihood;
    }
    let file = ModelFile { model: model.into(), columns, fit: Some(record) };
    report(arguments, &file, &fit, &watch)?;
    let interrupted = fit.termination == Termination::Interrupted;
    Ok(if interrupted { ExitCode::from(interrupt::EXIT_CODE) } else { ExitCode::SUCCESS })
}

/// Refuses options that the algorithm has no use for.
fn check_companions(arguments: &FitArguments) -> anyhow::Result<()> {
    let is_auto = matches!(arguments.algorithm, AlgorithmName::Auto);
    if arguments.guard && !is_auto {
        return Err(Usage("--guard needs --algorithm auto".into()).into());
    }
    if arguments.accelerate && !is_auto && !matches!(arguments.algorithm, AlgorithmName::Em) {
        return Err(Usage("--accelerate needs --algorithm em or auto".into()).into());
    }
    Ok(())
}

/// Reads the data; with an initial model that names its columns, those.
fn read(arguments: &FitArguments, start: Option<&ModelFile>) -> anyhow::Result<Table> {
    if let (Some(model), None) = (start, &arguments.labels) {
        let rows = arguments.data.read_for(model, arguments.weights.as_ref())?;
        return Ok(Table { rows, labels: None, notices: Vec::new() });
    }
    arguments.data.read(arguments.weights.as_ref(), arguments.labels.as_ref())
}

fn prepare(arguments: &FitArguments, table: Table) -> anyhow::Result<Rows<'static>> {
    if let Some(labels) = &table.labels
        && labels.values.len() != arguments.n_components
    {
        let (n_labels, k) = (labels.values.len(), arguments.n_components);
        return Err(Usage(format!("column {} has {n_labels} different labels, but -k is {k}", labels.name)).into());
    }
    if !arguments.normalize {
        return Ok(table.rows);
    }
    let summary = Summary::of(&table.rows)?;
    let map = Normalization::to_unit_interval(&summary.minimum, &summary.maximum);
    Ok(table.rows.with_normalization(map))
}

fn start<F: Family>(arguments: &FitArguments, model: Option<ModelFile>, rows: &Rows<'_>) -> anyhow::Result<Start<F>>
where
    Mixture<F>: TryFrom<AnyMixture>,
{
    if let Some(file) = model {
        let n_model = file.model.n_components();
        if n_model != arguments.n_components {
            return Err(Usage(format!(
                "the initial model has {n_model} components, but -k is {}",
                arguments.n_components
            ))
            .into());
        }
        let mut model: Mixture<F> =
            file.model.try_into().unwrap_or_else(|_| unreachable!("invariant: its family was chosen"));
        if let Some(map) = rows.normalization() {
            model.components = model.components.mapped(map.offset(), map.scale()).expect(CAN_BE_MAPPED);
        }
        return Ok(Start::Model(model));
    }
    Ok(match arguments.init {
        _ if arguments.labels.is_some() => Start::Labels,
        Init::KmeansPlusPlus => Start::KmeansPlusPlus,
        Init::Random => Start::Random,
        Init::ShortEm => Start::ShortEm,
    })
}

fn finished_model<F: Family>(arguments: &FitArguments, fit: &Fit<F>, rows: &Rows<'_>) -> Mixture<F> {
    let mut model = fit.model.clone();
    if let Some(map) = rows.normalization() {
        model.components = model.components.unmapped(map.offset(), map.scale()).expect(CAN_BE_MAPPED);
    }
    if arguments.sort { model.sorted_by_weight() } else { model }
}

fn report<F: Family>(arguments: &FitArguments, file: &ModelFile, fit: &Fit<F>, watch: &Watch) -> anyhow::Result<()> {
    if let Some(path) = &arguments.trace {
        output::text(Some(path), &watch.trace_csv(fit.observed))?;
    }
    if let Some(path) = &arguments.output {
        output::text(Some(path), &file.to_json())?;
    }
    if !arguments.quiet {
        if let Some(path) = &arguments.output {
            talk::notice(&format!("{}: wrote {}", path.display(), show::outcome(file)));
        }
        announce_events(fit, arguments.options().algorithm);
    }
    if arguments.output.is_none() || arguments.format.is_some() {
        let text = match output::format(arguments.format) {
            Format::Json => file.to_json(),
            Format::Table => show::table(file, false),
        };
        output::text(None, &text)?;
    }
    Ok(())
}

/// The algorithm's name for human eyes.
pub(crate) fn name(algorithm: Algorithm) -> &'static str {
    match algorithm {
        Algorithm::Em => "EM",
        Algorithm::Sem => "SEM",
        Algorithm::Cem => "CEM",
        Algorithm::Saem => "SAEM",
        Algorithm::Auto => "auto",
    }
}

fn announce_constant_columns(summary: &Summary, columns: &[String]) {
    for column in summary.constant_columns() {
        let name = columns.get(column).map_or_else(|| (column + 1).to_string(), Clone::clone);
        let value = summary.minimum[column];
        talk::notice(&format!("column {name} holds the same value everywhere ({value}): it tells nothing apart"));
    }
}

/// Says what happened, a line for each kind of event.
fn announce_events<F: Family>(fit: &Fit<F>, algorithm: Algorithm) {
    let mut told = Vec::new();
    for event in &fit.events {
        if !told.contains(&event.kind) {
            told.push(event.kind);
            let alike: Vec<&Event> = fit.events.iter().filter(|other| other.kind == event.kind).collect();
            announce(event.kind, &alike, fit, algorithm);
        }
    }
}

fn announce<F: Family>(kind: EventKind, events: &[&Event], fit: &Fit<F>, algorithm: Algorithm) {
    let mut components: Vec<usize> = events.iter().filter_map(|event| event.component).collect();
    components.sort_unstable();
    let components: Vec<String> = components.iter().map(ToString::to_string).collect();
    let who = match components.as_slice() {
        [one] => format!("component {one} was"),
        few if few.len() <= 5 => format!("components {} were", few.join(", ")),
        many => format!("{} components were", many.len()),
    };
    let first = events.iter().map(|event| event.first).min().unwrap_or(0);
    let last = events.iter().map(|event| event.last).max().unwrap_or(0);
    let when = if first == last { format!("in round {first}") } else { format!("between rounds {first} and {last}") };
    match kind {
        EventKind::Reseeded => talk::warning(&format!("{who} empty and moved to a new place {when}")),
        EventKind::Blended => {
            talk::notice(&format!("{who} short of rows and blended with the previous estimate {when}"));
        }
        EventKind::CovarianceKept => {
            talk::warning(&format!("{who} left with a singular covariance and kept the previous one {when}"));
        }
        EventKind::ParametersKept => talk::warning(&format!("{who} empty again and kept the last parameters {when}")),
        EventKind::Recentred => {
            talk::notice(&format!("{who} far away and narrow, and taken about the own mean from then on, {when}"));
        }
        EventKind::Clipped => talk::notice(&format!("{who} held at the least variance (--regularization) {when}")),
        EventKind::RoundLimit => {
            let or_tolerance = if algorithm == Algorithm::Sem { "" } else { " or --tolerance" };
            let rounds = counted(fit.rounds as usize, "round");
            talk::warning(&format!("not converged after {rounds}: raise --rounds{or_tolerance}"));
        }
        EventKind::RestartsDisagree => {
            let least = fit.restarts.iter().copied().fold(f64::INFINITY, f64::min);
            let spread = number(fit.mean_ln_likelihood - least);
            talk::warning(&format!("restarts disagree by up to {spread} nats a row: there are several local maxima"));
        }
        EventKind::GuardWon => talk::notice("EM from the same start ended higher than auto, and was kept (--guard)"),
        EventKind::FractionalWeights => {
            talk::notice("weights are not whole numbers: each row's drawn label carries its whole weight");
        }
    }
}
