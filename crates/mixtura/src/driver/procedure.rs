//! The interface of an algorithm: which assignment comes next, what is kept of a pass, how the next model is made, when
//! to stop, and what the result is.

use serde::{Deserialize, Serialize};

use super::accelerate::Accelerated;
use super::auto::Auto;
use super::cem::Cem;
use super::em::Em;
use super::run::{Evaluated, State};
use super::saem::Saem;
use super::sem::Sem;
use super::{Algorithm, Options, Problem, Termination};
use crate::Error;
use crate::family::Family;
use crate::pass::{Assignment, Tally};
use crate::random::Address;
use crate::sweep::Engine;

/// How far likelihoods of the same model may differ by rounding.
const ROUNDING: f64 = 1e-9;

/// One algorithm with its own state. Each has its own file.
pub(super) trait Steps<F: Family> {
    /// What the next pass does with posteriors; random draws use this address.
    fn assignment(&self, at: Address) -> Assignment;

    /// Whether labels are drawn at random.
    fn samples(&self) -> bool {
        false
    }

    /// Whether the likelihoods of its passes are in double precision.
    fn is_exact(&self, options: &Options) -> bool {
        !self.samples() || options.precision == crate::pass::Precision::Double
    }

    /// Keeps what the result may later be computed from.
    fn keep(&mut self, _state: &State<F>, _tally: &Tally<F::Moments>, _options: &Options) {}

    /// Computes the model of the next round; returns the number of repairs and clippings.
    fn next<E: Engine>(
        &mut self,
        problem: &Problem<'_, F, E>,
        state: &mut State<F>,
        tally: Tally<F::Moments>,
    ) -> Result<u64, Error>;

    /// Reports whether a model on trial was good enough.
    fn tried(&mut self, _round: u64, _is_accepted: bool) {}

    /// Whether the algorithm's own stopping rule holds.
    fn settled(&self, state: &State<F>, options: &Options) -> Option<Termination>;

    /// The result, with its likelihood in double precision.
    fn answer<E: Engine>(&self, problem: &Problem<'_, F, E>, state: &State<F>) -> Result<Evaluated<F>, Error> {
        let last = state.last();
        if self.is_exact(problem.options()) { Ok(last) } else { problem.evaluated(state, last.model) }
    }

    /// How far likelihoods of the same result may differ.
    fn noise(&self, _state: &State<F>) -> f64 {
        ROUNDING
    }

    /// Number of rounds averaged so far.
    fn n_averaged(&self) -> u64 {
        0
    }

    /// The round after which EM took over.
    fn em_since(&self) -> Option<u64> {
        None
    }
}

/// How far the likelihoods of random models differ: their range over the last rounds.
pub(super) fn range_of_last(likelihoods: &[f64]) -> f64 {
    let last = likelihoods.iter().rev().take(20);
    let (low, high) = last.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &l| (low.min(l), high.max(l)));
    (high - low).max(ROUNDING)
}

/// The chosen algorithm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(bound = "")]
pub(super) enum Procedure<F: Family> {
    Em(Em),
    Accelerated(Accelerated<F>),
    Sem(Sem<F>),
    Cem(Cem),
    Saem(Saem<F>),
    Auto(Auto<F>),
}

impl<F: Family> Procedure<F> {
    pub(super) fn new(options: &Options) -> Self {
        match options.algorithm {
            Algorithm::Em if options.accelerate => Self::Accelerated(Accelerated::new(Em::default())),
            Algorithm::Em => Self::Em(Em::default()),
            Algorithm::Sem => Self::Sem(Sem::new()),
            Algorithm::Cem => Self::Cem(Cem {}),
            Algorithm::Saem => Self::Saem(Saem::new()),
            Algorithm::Auto => Self::Auto(Auto::new(options)),
        }
    }
}

/// Implements [`Steps`] for an enum of algorithms by delegating to the current variant.
macro_rules! delegate_steps {
    ($enum:ident: $($variant:ident)*) => {
        impl<F: Family> Steps<F> for $enum<F> {
            fn assignment(&self, at: Address) -> Assignment {
                match self { $(Self::$variant(steps) => Steps::<F>::assignment(steps, at),)* }
            }
            fn samples(&self) -> bool {
                match self { $(Self::$variant(steps) => Steps::<F>::samples(steps),)* }
            }
            fn is_exact(&self, options: &Options) -> bool {
                match self { $(Self::$variant(steps) => Steps::<F>::is_exact(steps, options),)* }
            }
            fn keep(&mut self, state: &State<F>, tally: &Tally<F::Moments>, options: &Options) {
                match self { $(Self::$variant(steps) => steps.keep(state, tally, options),)* }
            }
            fn next<E: Engine>(
                &mut self,
                problem: &Problem<'_, F, E>,
                state: &mut State<F>,
                tally: Tally<F::Moments>,
            ) -> Result<u64, Error> {
                match self { $(Self::$variant(steps) => steps.next(problem, state, tally),)* }
            }
            fn tried(&mut self, round: u64, is_accepted: bool) {
                match self { $(Self::$variant(steps) => Steps::<F>::tried(steps, round, is_accepted),)* }
            }
            fn settled(&self, state: &State<F>, options: &Options) -> Option<Termination> {
                match self { $(Self::$variant(steps) => steps.settled(state, options),)* }
            }
            fn answer<E: Engine>(&self, problem: &Problem<'_, F, E>, state: &State<F>) -> Result<Evaluated<F>, Error> {
                match self { $(Self::$variant(steps) => steps.answer(problem, state),)* }
            }
            fn noise(&self, state: &State<F>) -> f64 {
                match self { $(Self::$variant(steps) => steps.noise(state),)* }
            }
            fn n_averaged(&self) -> u64 {
                match self { $(Self::$variant(steps) => Steps::<F>::n_averaged(steps),)* }
            }
            fn em_since(&self) -> Option<u64> {
                match self { $(Self::$variant(steps) => Steps::<F>::em_since(steps),)* }
            }
        }
    };
}
pub(super) use delegate_steps;

delegate_steps!(Procedure: Em Accelerated Sem Cem Saem Auto);
