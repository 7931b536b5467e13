//! A pass in the form in which it is sent to an engine.

use serde::{Deserialize, Serialize};

use super::near::probe;
use super::{Assignment, Precision, PreparedPass, Tally};
use crate::family::Family;
use crate::sweep::{Engine, Source, Sweep};
use crate::{Error, Mixture};

/// One self-contained pass: the model, and what to do with posteriors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct Pass<F: Family> {
    /// The vector subtracted from all rows first, if they are far from 0. Model and centre refer to the shifted rows.
    /// Without it, means would lose the digits that a narrow component needs (ADR 6).
    #[serde(default)]
    pub origin: Option<Vec<f64>>,
    /// The current model.
    pub model: Mixture<F>,
    /// The point that rows are centred on.
    pub centre: Vec<f64>,
    /// What to do with posteriors.
    pub assignment: Assignment,
    /// Precision of log-densities for draws.
    pub precision: Precision,
    /// Whether a row of weight n is drawn n times instead of once with its full weight.
    pub split_counts: bool,
    /// Rows from all over the data, row-major and minus `origin`, from which the pass decides whether to search for
    /// near components; empty to evaluate every component for every row.
    pub probe: Vec<f64>,
}

impl<F: Family> Pass<F> {
    /// A pass over the rows of a source, in double precision.
    pub fn new<E: Engine>(source: &Source<E>, model: Mixture<F>, assignment: Assignment) -> Result<Self, Error> {
        let has_posterior = !matches!(assignment, Assignment::Given | Assignment::Evaluate);
        Ok(Self {
            origin: None,
            centre: centre_of::<F, E>(source),
            assignment,
            precision: Precision::Double,
            split_counts: source.summary().weighted && source.summary().whole_weights,
            probe: if has_posterior { probe::<F, E>(source, model.n_components())? } else { Vec::new() },
            model,
        })
    }

    /// A pass that only evaluates a model, in double precision, centred between its components.
    pub fn evaluating(model: Mixture<F>) -> Self {
        Self {
            origin: None,
            centre: model.centre(),
            model,
            assignment: Assignment::Evaluate,
            precision: Precision::Double,
            split_counts: false,
            probe: Vec::new(),
        }
    }

    /// The centre in the data's own coordinates.
    pub(super) fn data_centre(&self) -> Vec<f64> {
        match &self.origin {
            None => self.centre.clone(),
            Some(origin) => self.centre.iter().zip(origin).map(|(centre, origin)| centre + origin).collect(),
        }
    }
}

/// The point that the rows of a source are centred on; 0 for a family that needs uncentred values.
pub(crate) fn centre_of<F: Family, E: Engine>(source: &Source<E>) -> Vec<f64> {
    if F::CENTRED { source.summary().centre.clone() } else { vec![0.0; source.n_columns()] }
}

impl<F: Family> Sweep for Pass<F> {
    const NAME: &'static str = "pass";
    type Tally = Tally<F::Moments>;
    type Prepared = PreparedPass<F>;

    fn prepare(&self) -> Result<PreparedPass<F>, Error> {
        PreparedPass::new(self)
    }
}
