//! `mixtura fit`: fits a model to data.

mod announce;
mod arguments;
mod save;

use std::process::ExitCode;

use anyhow::Context;
use mixtura::driver::{Problem, Termination};
use mixtura::family::Family;
use mixtura::rows::Normalization;
use mixtura::sweep::Threads;
use mixtura::{Algorithm, AnyMixture, Mixture, Rows, Source, Start, with_family};
use mixtura_io::{Input, ModelFile, Table};

pub(crate) use self::arguments::FitArguments;
use crate::failure::{Hinted, Usage, VALUE_HINT};
use crate::progress::{Plan, Watch};
use crate::{interrupt, output, talk};

/// Why a component of a normalized fit can be converted to the units of the data.
const CAN_BE_MAPPED: &str = "invariant: families that cannot be mapped were refused";

/// Runs the subcommand.
pub(crate) fn run(arguments: &FitArguments) -> anyhow::Result<ExitCode> {
    let model_input = arguments.init_model.clone().map(Input::Path);
    let inputs: Vec<&Input> = std::iter::once(&arguments.data.data).chain(&model_input).collect();
    arguments.check_companions()?;
    output::check(&[arguments.output.as_deref(), arguments.trace.as_deref()], &inputs)?;
    let start_model = arguments.init_model.as_deref().map(ModelFile::read).transpose()?;
    let n_components = arguments.n_components(start_model.as_ref())?;
    let kind = arguments.kind(start_model.as_ref())?;
    with_family!(kind, F => run_with::<F>(arguments, n_components, start_model))
}

/// Fits a mixture of one family.
fn run_with<F: Family>(
    arguments: &FitArguments,
    n_components: usize,
    start_model: Option<ModelFile>,
) -> anyhow::Result<ExitCode>
where
    AnyMixture: From<Mixture<F>>,
    Mixture<F>: TryFrom<AnyMixture>,
{
    let table = read(arguments, start_model.as_ref())?;
    let columns = table.rows.names().to_vec();
    let skipped = table.skipped.clone();
    let rows = prepare(arguments, n_components, table)?;
    let start = start::<F>(arguments, start_model, &rows);
    let ln_volume = rows.normalization().map_or(0.0, Normalization::ln_volume);

    let options = arguments.options();
    let named = || arguments.data.data.to_string();
    let source = Source::new(Threads::new(&rows).with_stop(interrupt::is_wanted)).with_context(named)?;
    let deterministic = matches!(options.algorithm, Algorithm::Em | Algorithm::Cem);
    if deterministic && options.restarts > Some(1) && matches!(start, Start::Model(_) | Start::Labels) {
        talk::notice("--restarts has no effect: this start and this algorithm are deterministic");
    }
    announce::constant_columns(source.summary(), &columns);
    announce::far_values(source.summary(), &rows, &columns, &skipped);
    interrupt::hear();
    let refused = |error| with_column_name(error, &columns, &skipped);
    let problem = Problem::new(&source, n_components, start, options.clone()).map_err(refused).with_context(named)?;
    let watch = Watch::new(Plan {
        algorithm: problem.algorithm_on_all_rows(),
        n_rounds: options.rounds,
        n_restarts: problem.n_restarts(),
        races: problem.races(),
        ln_volume,
    });
    let fit = problem.fit(&watch).map_err(refused).with_context(named)?;
    watch.finish();

    let mut file = ModelFile::of_fit(&fit, &options, &rows, source.summary())?;
    if arguments.sort {
        file = file.sorted_by_weight();
    }
    let saved = save::results(arguments, &file, || watch.trace_csv(fit.observed));
    announce::events(&fit, file.fit.as_ref().map_or(&[], |record| &record.events), options.algorithm);
    saved?;
    let interrupted = fit.termination == Termination::Interrupted;
    Ok(if interrupted { ExitCode::from(interrupt::EXIT_CODE) } else { ExitCode::SUCCESS })
}

/// Reads the data; if an initial model names its columns, reads those columns.
fn read(arguments: &FitArguments, start: Option<&ModelFile>) -> anyhow::Result<Table> {
    match (start, &arguments.labels) {
        (Some(model), None) => arguments.data.read_for(model, arguments.weights.as_ref()),
        _ => arguments.data.read(arguments.weights.as_ref(), arguments.labels.as_ref()),
    }
}

fn prepare(arguments: &FitArguments, n_components: usize, table: Table) -> anyhow::Result<Rows<'static>> {
    if let Some(labels) = &table.labels
        && labels.values.len() != n_components
    {
        let n_labels = labels.values.len();
        let message = format!("column {} has {n_labels} distinct labels, but -k is {n_components}", labels.name);
        let hint = format!("use -k {n_labels}, or choose another column with --labels");
        return Err(Usage::hinted(message, hint).into());
    }
    if !arguments.normalize {
        return Ok(table.rows);
    }
    Ok(table.rows.normalized()?)
}

fn start<F: Family>(arguments: &FitArguments, model: Option<ModelFile>, rows: &Rows<'_>) -> Start<F>
where
    Mixture<F>: TryFrom<AnyMixture>,
{
    let Some(file) = model else {
        return if arguments.labels.is_some() { Start::Labels } else { arguments.init.start() };
    };
    let mut model: Mixture<F> =
        file.model.try_into().unwrap_or_else(|_| unreachable!("invariant: its family was chosen"));
    if let Some(map) = rows.normalization() {
        model.components = model.components.mapped(map.offset(), map.scale()).expect(CAN_BE_MAPPED);
    }
    Start::Model(model)
}

/// The error about a value, with the name of its column and its row in the file, which may have skipped rows.
fn with_column_name(error: mixtura::Error, columns: &[String], skipped: &[usize]) -> anyhow::Error {
    match error {
        mixtura::Error::Value { row, column, value, expected } => {
            let name = columns.get(column).map_or_else(|| (column + 1).to_string(), |name| format!("{name:?}"));
            let row = announce::row_in_file(row, skipped) + 1;
            let message = format!("row {row}, column {name}: value {value} is not {expected}");
            Hinted { message, hint: VALUE_HINT.into() }.into()
        }
        error => error.into(),
    }
}
