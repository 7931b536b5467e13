//! Combines the parts of a fit: rows, number of components, start, options, stopping rule.

use std::sync::Arc;

use super::options::USUAL_RESTARTS;
use super::origin::{self, relative_to};
use super::procedure::{Procedure, Steps};
use super::rule::{Rule, Settled};
use super::run::{Evaluated, State};
use super::{Algorithm, Observer, Options, Run, short};
use crate::family::{Family, Floor};
use crate::pass::{Assignment, Pass, Precision, Tally, centre_of, probe};
use crate::random::{Address, Purpose};
use crate::sweep::{Engine, Source, check_rows};
use crate::{Error, Mixture, Start};

/// A mixture to be fitted to rows. Everything is validated once, here.
///
/// ```
/// use mixtura::driver::{Problem, Quiet};
/// use mixtura::{FullGaussian, Options, Rows, Source, Start};
///
/// let rows = Rows::from_slice(&[0.0, 0.1, 0.2, 5.0, 5.1, 5.2], 1)?;
/// let source = Source::of(&rows)?;
/// let problem = Problem::<FullGaussian, _>::new(&source, 2, Start::KmeansPlusPlus, Options::default())?;
/// let mut run = problem.run(0)?;
/// while !run.step(&problem, &Quiet)? {
///     assert!(run.state().likelihoods.len() as u64 == run.state().round);
/// }
/// assert!(run.termination().unwrap().has_converged());
/// # Ok::<(), mixtura::Error>(())
/// ```
pub struct Problem<'a, F: Family, E> {
    source: &'a Source<E>,
    n_components: usize,
    start: Start<F>,
    options: Options,
    rule: Arc<dyn Rule + 'a>,
    floor: Floor,
    /// The vector subtracted from all rows, if they are far from 0.
    origin: Option<Vec<f64>>,
    /// The point that rows are centred on.
    centre: Vec<f64>,
    /// Rows from which passes decide whether to search for near components.
    probe: Vec<f64>,
}

impl<'a, F: Family, E: Engine> Problem<'a, F, E> {
    /// Validates everything, and fixes the floor.
    pub fn new(source: &'a Source<E>, n_components: usize, start: Start<F>, options: Options) -> Result<Self, Error> {
        options.check()?;
        check_rows::<F, E>(source.engine())?;
        check_components(source, n_components, &start)?;
        let floor = Floor::of::<F>(source.summary(), options.regularization, options.ridge);
        Ok(Self {
            origin: origin::origin(source.summary()).filter(|_| F::CENTRED),
            centre: centre_of::<F, E>(source),
            probe: if options.search { probe::<F, E>(source, n_components)? } else { Vec::new() },
            source,
            n_components,
            start,
            options,
            rule: Arc::new(Settled),
            floor,
        })
    }

    /// Replaces the algorithm's own stopping rule.
    #[must_use]
    pub fn with_rule(self, rule: impl Rule + 'a) -> Self {
        Self { rule: Arc::new(rule), ..self }
    }

    /// Uses the floor of a larger data set that these rows are part of.
    #[must_use]
    pub(super) fn with_floor(self, floor: Floor) -> Self {
        Self { floor, ..self }
    }

    /// Number of components.
    pub fn n_components(&self) -> usize {
        self.n_components
    }

    /// The rows.
    pub fn source(&self) -> &'a Source<E> {
        self.source
    }

    /// How starts are made.
    pub(super) fn start(&self) -> &Start<F> {
        &self.start
    }

    /// A model of the right shape whose components are all in the same place.
    pub(super) fn anywhere(&self) -> Mixture<F> {
        let centres: Vec<f64> = (0..self.n_components).flat_map(|_| self.centre.iter().copied()).collect();
        let components = F::about(&centres, &self.floor.scale, &self.floor);
        Mixture { weights: vec![1.0 / self.n_components as f64; self.n_components], components }
    }

    /// Number of starts.
    pub fn n_restarts(&self) -> u64 {
        let is_single = self.n_components == 1 || self.start.is_fixed();
        self.options.restarts.unwrap_or(if is_single { 1 } else { USUAL_RESTARTS })
    }

    /// Whether the starts race.
    pub fn races(&self) -> bool {
        self.options.race && self.n_restarts() > 1 && self.n_components > 1 && !self.start.is_fixed()
    }

    /// The algorithm that runs on all rows. A race leads to where SEM would no longer make progress, so `auto` goes on
    /// with EM after it, accelerated.
    pub fn algorithm_on_all_rows(&self) -> Algorithm {
        match self.options.algorithm {
            Algorithm::Auto if self.races() => Algorithm::Em,
            algorithm => algorithm,
        }
    }

    /// The options.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// The stopping rule.
    pub fn rule(&self) -> &dyn Rule {
        &*self.rule
    }

    /// How narrow components may become.
    pub fn floor(&self) -> &Floor {
        &self.floor
    }

    /// The initial model of a restart.
    pub fn first_model(&self, restart: u64) -> Result<Mixture<F>, Error> {
        self.source.check_stopped()?;
        let address = Address { seed: self.options.seed, restart, round: 0, purpose: Purpose::Start };
        if let Start::ShortEm = self.start
            && let Some(model) = short::short_em(self.source, self.n_components, address, &self.floor)?
        {
            return Ok(model);
        }
        self.start.first_model(self.source, self.n_components, address, &self.floor)
    }

    /// A restart before its first round.
    pub fn run(&self, restart: u64) -> Result<Run<F>, Error> {
        self.run_from(self.first_model(restart)?, restart)
    }

    /// A restart from a given model, before its first round.
    pub fn run_from(&self, model: Mixture<F>, restart: u64) -> Result<Run<F>, Error> {
        check_model(self.source, self.n_components, &model)?;
        Ok(self.run_with(&self.options, model, restart))
    }

    /// A restart from a given model with a different algorithm.
    pub(super) fn run_with(&self, options: &Options, model: Mixture<F>, restart: u64) -> Run<F> {
        let moved = self.origin.as_ref().and_then(|origin| Some((origin::moved(&model, origin)?, origin)));
        match moved {
            None => Run::new(options, restart, None, model, self.floor.clone()),
            Some((model, origin)) => Run::new(options, restart, Some(origin.clone()), model, self.floor.about(origin)),
        }
    }

    /// The same problem with a different algorithm.
    pub(super) fn with_options(&self, options: Options) -> Problem<'_, F, E> {
        Problem {
            source: self.source,
            n_components: self.n_components,
            start: self.start.clone(),
            options,
            rule: Arc::clone(&self.rule),
            floor: self.floor.clone(),
            origin: self.origin.clone(),
            centre: self.centre.clone(),
            probe: self.probe.clone(),
        }
    }

    /// The result of a run in the data's own coordinates. Its likelihood is the one before the shift, which rounds the
    /// means once.
    pub fn in_data_coordinates(&self, run: &Run<F>) -> Option<Evaluated<F>> {
        let answer = run.answer()?;
        let moved = origin::moved_back(&answer.model, run.state().origin.as_deref());
        Some(moved.map_or_else(|| answer.clone(), |model| Evaluated { model, ..answer.clone() }))
    }

    /// One pass under the current model.
    pub(super) fn pass(&self, state: &State<F>, assignment: Assignment) -> Result<Tally<F::Moments>, Error> {
        let precision = state.thrift.precision(self.options.precision);
        self.pass_under(state.model.clone(), state.origin.as_deref(), assignment, precision)
    }

    /// A model, in the coordinates of `state`, with its mean log-likelihood in double precision.
    pub(super) fn evaluated(&self, state: &State<F>, model: Mixture<F>) -> Result<Evaluated<F>, Error> {
        self.evaluated_about(state.origin.as_deref(), model)
    }

    /// The same for a model of rows from which `origin` was subtracted.
    pub(super) fn evaluated_about(&self, origin: Option<&[f64]>, model: Mixture<F>) -> Result<Evaluated<F>, Error> {
        let tally = self.pass_under(model.clone(), origin, Assignment::Evaluate, Precision::Double)?;
        Ok(Evaluated { model, mean_ln_likelihood: tally.mean_ln_likelihood() })
    }

    fn pass_under(
        &self,
        model: Mixture<F>,
        origin: Option<&[f64]>,
        assignment: Assignment,
        precision: Precision,
    ) -> Result<Tally<F::Moments>, Error> {
        let summary = self.source.summary();
        let probe = match origin {
            None => self.probe.clone(),
            Some(origin) => {
                self.probe.chunks_exact(origin.len()).flat_map(|row| relative_to(row, Some(origin))).collect()
            }
        };
        self.source.sweep(&Pass {
            origin: origin.map(<[f64]>::to_vec),
            model,
            centre: relative_to(&self.centre, origin),
            assignment,
            precision,
            split_counts: summary.weighted && summary.whole_weights,
            probe,
        })
    }

    /// A random row to move an empty component to, in the coordinates of `state`.
    pub(super) fn drawn_row(&self, state: &State<F>, component: usize) -> Result<Vec<f64>, Error> {
        let State { restart, round, .. } = *state;
        let address = Address { seed: self.options.seed, restart, round, purpose: Purpose::Reseed };
        let row = self.source.sample(1, &mut address.item(component as u64))?.row(0);
        Ok(relative_to(&row, state.origin.as_deref()))
    }

    /// Whether the algorithm draws labels at random.
    pub(super) fn samples(&self) -> bool {
        Procedure::<F>::new(&self.options).samples()
    }

    /// Whether there are so few chunks that threads would be idle within a round. Restarts then run in parallel.
    pub(super) fn is_small(&self) -> bool {
        self.source.n_chunks() < 2 * rayon::current_num_threads()
    }

    /// Whether work should end.
    pub(super) fn is_stopped(&self, observer: &dyn Observer) -> bool {
        observer.is_stopped() || self.source.is_stopped()
    }
}

/// Rejects a number of components that does not match the rows or the initial model.
fn check_components<F: Family, E: Engine>(
    source: &Source<E>,
    n_components: usize,
    start: &Start<F>,
) -> Result<(), Error> {
    if n_components == 0 {
        return Err(Error::Option { option: "the number of components", expected: "at least 1", value: "0".into() });
    }
    F::check_size(n_components, source.n_columns())?;
    if let Start::Model(model) = start {
        // A given model does not need rows to start from.
        return check_model(source, n_components, model);
    }
    let n_distinct = source.distinct(n_components)?.len();
    if n_distinct < n_components {
        return Err(Error::TooFewDistinctRows { n_components, n_distinct });
    }
    Ok(())
}

/// Refuses a model of a different shape, and one whose weights were damaged.
fn check_model<F: Family, E: Engine>(source: &Source<E>, n_components: usize, model: &Mixture<F>) -> Result<(), Error> {
    if model.n_components() != n_components {
        return Err(Error::Differs {
            what: "the number of components",
            expected: model.n_components().to_string(),
            of: "initial model",
            given: n_components.to_string(),
        });
    }
    model.check_weights()?;
    source.check_width(model.components.n_columns())
}
