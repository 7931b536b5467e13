//! Fits a model to data: `mixtura fit`.

mod announce;
mod arguments;

use std::process::ExitCode;

use anyhow::Context;
use mixtura::driver::Termination;
use mixtura::family::Family;
use mixtura::pass::{Source, Threads};
use mixtura::rows::Normalization;
use mixtura::{Algorithm, AnyMixture, Fit, Mixture, Rows, Start, with_family};
use mixtura_io::{FitRecord, Input, ModelFile, Table};

pub(crate) use self::announce::name;
pub(crate) use self::arguments::FitArguments;
use super::show;
use crate::arguments::Format;
use crate::failure::Usage;
use crate::progress::{Watch, spinner};
use crate::{interrupt, output, talk};

/// Why a component of a normalised fit has one in the data's units.
const CAN_BE_MAPPED: &str = "invariant: families that cannot be mapped were refused";

/// Runs the subcommand.
pub(crate) fn run(arguments: &FitArguments) -> anyhow::Result<ExitCode> {
    let model_input = arguments.init_model.clone().map(Input::Path);
    let inputs: Vec<&Input> = std::iter::once(&arguments.data.data).chain(&model_input).collect();
    arguments.check_companions()?;
    output::check(&[arguments.output.as_ref(), arguments.trace.as_ref()], &inputs)?;
    if let Some(n_threads) = arguments.threads {
        rayon::ThreadPoolBuilder::new().num_threads(n_threads).build_global()?;
    }
    let start_model = arguments.init_model.as_deref().map(ModelFile::read).transpose()?;
    let kind = arguments.kind(start_model.as_ref())?;
    with_family!(kind, F => run_with::<F>(arguments, start_model))
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
    let engine = Threads::<F>::new(&rows).with_context(named)?.with_stop(interrupt::is_wanted);
    if !arguments.quiet {
        let deterministic = matches!(options.algorithm, Algorithm::Em | Algorithm::Cem);
        if deterministic && arguments.restarts > 1 && matches!(start, Start::Model(_) | Start::Labels) {
            talk::notice("--restarts repeats the same fit: this start and this algorithm leave nothing to chance");
        }
        announce::constant_columns(engine.summary(), &columns);
        announce::far_values(engine.summary(), &rows, &columns);
    }
    let fit = mixtura::fit(&engine, arguments.n_components, &start, &options, &watch).with_context(named)?;
    watch.finish();

    let model = finished_model(arguments, &fit, &rows);
    let mut record = FitRecord::new(&fit, &options, ln_volume);
    if arguments.normalize {
        // Going back to the data's units rounds: the file states the likelihood of what it holds.
        let likelihood = model.score(&rows.without_normalization())?.mean_log_likelihood;
        record.mean_log_likelihood = Some(likelihood);
        record.restarts[fit.winner] = likelihood;
    }
    let file = ModelFile { model: model.into(), columns, fit: Some(record) };
    report(arguments, &file, &fit, &watch)?;
    let interrupted = fit.termination == Termination::Interrupted;
    Ok(if interrupted { ExitCode::from(interrupt::EXIT_CODE) } else { ExitCode::SUCCESS })
}

/// Reads the data; with an initial model that names its columns, those.
fn read(arguments: &FitArguments, start: Option<&ModelFile>) -> anyhow::Result<Table> {
    if let (Some(model), None) = (start, &arguments.labels) {
        return arguments.data.read_for(model, arguments.weights.as_ref());
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
    Ok(table.rows.normalized()?)
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
    Ok(if arguments.labels.is_some() { Start::Labels } else { arguments.init.start() })
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
        announce::events(fit, arguments.options().algorithm);
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
