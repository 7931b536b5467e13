//! Separates what a pass computes from who runs it over the rows.

use serde::{Deserialize, Serialize};

use super::{Assignment, Deviations, DeviationsPass, Precision, Tally};
use crate::family::Family;
use crate::random::Generator;
use crate::rows::Summary;
use crate::{Error, Mixture, Rows};

/// One pass, as it would be sent to whoever holds the rows: the model and what to do with posteriors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct Pass<F: Family> {
    /// What is subtracted from all rows before anything else, if they lie far from 0: model and centre are those
    /// of such rows. Means would lose to it the digits that a narrow component needs (ADR 6).
    #[serde(default)]
    pub origin: Option<Vec<f64>>,
    /// The current model.
    pub model: Mixture<F>,
    /// What rows are taken about.
    pub centre: Vec<f64>,
    /// What becomes of a posterior.
    pub assignment: Assignment,
    /// How log-densities are computed for draws.
    pub precision: Precision,
}

impl<F: Family> Pass<F> {
    /// The centre in the data's own coordinates.
    pub fn data_centre(&self) -> Vec<f64> {
        match &self.origin {
            None => self.centre.clone(),
            Some(origin) => self.centre.iter().zip(origin).map(|(centre, origin)| centre + origin).collect(),
        }
    }
}

/// Rows that live somewhere: in memory, in a file, on a cluster.
pub trait Source: Sync {
    /// What is known of the columns.
    fn summary(&self) -> &Summary;

    /// Whether rows have weights.
    fn is_weighted(&self) -> bool;

    /// Copies rows out, with their weights.
    fn gather(&self, rows: &[usize]) -> Result<Rows<'static>, Error>;

    /// At most `n` rows that stand for all (see [`Rows::sample`]).
    fn sample(&self, n: usize, generator: &mut Generator) -> Result<Rows<'static>, Error>;

    /// The first rows of positive weight that differ from all before them, at most `limit`.
    fn distinct(&self, limit: usize) -> Result<Vec<usize>, Error>;

    /// Whether work on the rows should end as soon as possible. Long work that is not a pass looks here.
    fn is_stopped(&self) -> bool {
        false
    }

    /// Fails with [`Error::Interrupted`] if work should end.
    fn check_stopped(&self) -> Result<(), Error> {
        if self.is_stopped() { Err(Error::Interrupted) } else { Ok(()) }
    }
}

/// Someone who runs passes over rows.
///
/// Every engine gives the same statistics for the same rows: bit for bit where rows are cut into
/// the same chunks, to rounding elsewhere.
pub trait Engine<F: Family>: Source {
    /// Runs one pass over all rows; one that is stopped half-way is [`Error::Interrupted`].
    fn run(&self, pass: &Pass<F>) -> Result<Tally<F::Moments>, Error>;

    /// Runs one sweep for the variances of a stochastic update, over rows without weights.
    fn deviations(&self, pass: &DeviationsPass<F>) -> Result<Deviations, Error>;

    /// How many chunks the rows make: with fewer than twice the threads, restarts run side by side.
    fn n_chunks(&self) -> usize;
}
