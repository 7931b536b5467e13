//! A pass that is ready to run: factors of the model, cutoffs, and how near components are found.

use super::chunk::Workspace;
use super::near::Search;
use super::{Assignment, Pass, Precision, Tally};
use crate::Error;
use crate::family::Family;
use crate::kernels::{ErrorBound, InstructionSet, LEAST_EXPONENT, scalar_ln};
use crate::sweep::{Chunk, Prepared};

/// A [`Pass`], prepared.
pub struct PreparedPass<F: Family> {
    pub(super) components: F,
    pub(super) prepared: F::Prepared,
    pub(super) assignment: Assignment,
    pub(super) split_counts: bool,
    /// The point that rows are centred on, in the data's own coordinates.
    pub(super) data_centre: Vec<f64>,
    /// For each component, the exponent below which its share of a row counts as zero.
    pub(super) cutoffs: Vec<f64>,
    /// The error bound of single precision, if draws may use it.
    pub(super) narrow: Option<ErrorBound>,
    /// How components near a row are found, if most are far from most rows.
    pub(super) search: Option<Search>,
    pub(super) set: InstructionSet,
}

/// The exponent below which a component's share of a row counts as zero: less than a rounding error of the row, and of
/// the component even if all rows are like this one.
pub(crate) fn cutoff_exponent(weight: f64) -> f64 {
    let of_component = if weight > 0.0 { scalar_ln(weight) * std::f64::consts::LOG2_E } else { LEAST_EXPONENT };
    (of_component.min(0.0) - f64::from(f64::MANTISSA_DIGITS)).max(LEAST_EXPONENT)
}

impl<F: Family> PreparedPass<F> {
    pub(super) fn new(pass: &Pass<F>) -> Result<Self, Error> {
        let components = pass.model.components.clone();
        let prepared = components.prepare(&pass.model.weights, &pass.centre)?;
        let set = InstructionSet::detect();
        let is_sampled = matches!(pass.assignment, Assignment::Sampled(_));
        let may_be_narrow = is_sampled && !pass.split_counts && pass.precision == Precision::Certified;
        let narrow = if may_be_narrow { F::narrow_bound(&prepared) } else { None };
        let mut ready = Self {
            data_centre: pass.data_centre(),
            assignment: pass.assignment,
            split_counts: is_sampled && pass.split_counts,
            cutoffs: pass.model.weights.iter().map(|&weight| cutoff_exponent(weight)).collect(),
            narrow: narrow.map(|bound| bound.with_roundings(set.n_roundings())),
            search: None,
            components,
            prepared,
            set,
        };
        let has_posterior = !matches!(pass.assignment, Assignment::Given | Assignment::Evaluate);
        if F::SEARCHES && has_posterior && !ready.split_counts && !pass.probe.is_empty() {
            ready.search = Search::new(&ready, &pass.centre, &pass.probe);
        }
        Ok(ready)
    }

    pub(super) fn n_components(&self) -> usize {
        self.components.n_components()
    }

    pub(super) fn n_columns(&self) -> usize {
        self.components.n_columns()
    }
}

impl<F: Family> Prepared for PreparedPass<F> {
    type Tally = Tally<F::Moments>;
    type Workspace = Workspace<F>;

    fn workspace(&self, n_blocks: usize) -> Workspace<F> {
        Workspace::new(&self.components, n_blocks)
    }

    fn fits(&self, workspace: &Workspace<F>) -> bool {
        workspace.fits(&self.components)
    }

    fn tally(&self) -> Tally<F::Moments> {
        let mut tally = Tally::new(self.n_components(), self.components.no_moments());
        F::reset_moments(&self.prepared, &mut tally.moments);
        tally
    }

    fn clear(&self, tally: &mut Tally<F::Moments>) -> bool {
        if tally.squared_weights.len() != self.n_components() {
            return false;
        }
        tally.clear();
        F::reset_moments(&self.prepared, &mut tally.moments);
        true
    }

    fn add(&self, chunk: &Chunk<'_>, work: &mut Workspace<F>, tally: &mut Tally<F::Moments>) -> Result<(), Error> {
        let (n_model, n_data) = (self.n_columns(), chunk.rows().n_columns());
        if n_model != n_data {
            return Err(Error::Width { n_model, n_data });
        }
        work.run(self, chunk, tally)
    }
}
