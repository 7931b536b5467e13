//! Gaussians whose components share one covariance matrix.

mod density;
mod estimate;
mod moments;

use serde::{Deserialize, Serialize};

use super::{GaussianSampler, check_symmetric, two};
use crate::Error;
use crate::family::{CommonRows, Family, Fate, Floor, InstructionSet, Outcome, OwnRows};
use crate::kernels::Lanes;

pub use density::TiedPrepared;
pub use moments::{TiedMoments, TiedScratch};

/// K Gaussians in D dimensions that share their covariance matrix.
///
/// ```
/// use mixtura::TiedGaussian;
/// use mixtura::family::Family;
///
/// let tied = TiedGaussian::new(2, vec![0.0, 1.0, 5.0, 5.0], vec![4.0, 1.0, 1.0, 9.0])?;
/// assert_eq!(tied.n_free_parameters(), 4 + 3);
/// assert_eq!(tied.spreads(), [2.0, 3.0, 2.0, 3.0]);
/// # Ok::<(), mixtura::Error>(())
/// ```
///
/// Deserializing applies the checks of [`TiedGaussian::new`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct TiedGaussian {
    n_columns: usize,
    means: Vec<f64>,
    covariance: Vec<f64>,
}

/// The parameters as deserialized.
#[derive(Deserialize)]
#[serde(rename = "TiedGaussian")]
struct Unchecked {
    n_columns: usize,
    means: Vec<f64>,
    covariance: Vec<f64>,
}

impl TryFrom<Unchecked> for TiedGaussian {
    type Error = Error;

    fn try_from(Unchecked { n_columns, means, covariance }: Unchecked) -> Result<Self, Error> {
        Self::new(n_columns, means, covariance)
    }
}

impl TiedGaussian {
    /// Components from K·D means and D·D entries of a covariance matrix, row-major; refused unless it
    /// is symmetric (to 1e-9 of its diagonal) and positive definite.
    pub fn new(n_columns: usize, means: Vec<f64>, mut covariance: Vec<f64>) -> Result<Self, Error> {
        super::n_components(n_columns, &means)?;
        super::check_entries(covariance.len(), n_columns * n_columns)?;
        check_symmetric(0, &mut covariance, n_columns)?;
        let components = Self { n_columns, means, covariance };
        components.check()?;
        Ok(components)
    }

    /// Mean of a component.
    ///
    /// # Panics
    /// If there is no such component.
    pub fn mean(&self, component: usize) -> &[f64] {
        &self.means[component * self.n_columns..][..self.n_columns]
    }

    /// The covariance matrix of all components, row-major.
    pub fn covariance(&self) -> &[f64] {
        &self.covariance
    }

    fn transformed(&self, factor: &[f64], map: impl Fn(usize, f64) -> f64) -> Self {
        let n = self.n_columns;
        let means = self.means.iter().enumerate().map(|(i, &mean)| map(i % n, mean)).collect();
        let entry = |(i, &entry): (usize, &f64)| entry * (factor[i / n] * factor[i % n]);
        Self { n_columns: n, means, covariance: self.covariance.iter().enumerate().map(entry).collect() }
    }
}

impl Family for TiedGaussian {
    type Prepared = TiedPrepared;
    type Moments = TiedMoments;
    type Scratch = TiedScratch;
    type Sampler = GaussianSampler;

    const NAME: &'static str = "gaussian";
    const STRUCTURE: Option<&'static str> = Some("tied");

    fn n_components(&self) -> usize {
        self.means.len() / self.n_columns
    }

    fn n_columns(&self) -> usize {
        self.n_columns
    }

    fn n_free_parameters(&self) -> usize {
        self.means.len() + self.n_columns * (self.n_columns + 1) / 2
    }

    fn fewest_rows(&self) -> f64 {
        1.0
    }

    fn centres(&self) -> Vec<f64> {
        self.means.clone()
    }

    fn spreads(&self) -> Vec<f64> {
        let each = (0..self.n_components()).flat_map(|_| self.covariance.iter().step_by(self.n_columns + 1));
        each.map(|variance| variance.sqrt()).collect()
    }

    fn check(&self) -> Result<(), Error> {
        for component in 0..self.n_components() {
            super::check_mean(component, self.mean(component))?;
        }
        super::check_covariance(0, &self.covariance, self.n_columns)
    }

    fn shapes(n_components: usize, n_columns: usize) -> Vec<(&'static str, Vec<usize>)> {
        vec![("means", vec![n_components, n_columns]), ("covariances", vec![n_columns, n_columns])]
    }

    fn parameters(&self) -> Vec<&[f64]> {
        vec![&self.means, &self.covariance]
    }

    fn from_parameters(n_columns: usize, parameters: Vec<Vec<f64>>) -> Result<Self, Error> {
        let [means, covariance] = two(parameters);
        Self::new(n_columns, means, covariance)
    }

    fn prepare(&self, weights: &[f64], centre: &[f64]) -> Result<TiedPrepared, Error> {
        TiedPrepared::new(self, weights, centre)
    }

    fn scratch(&self, n_blocks: usize) -> TiedScratch {
        TiedScratch::new(self.n_columns, n_blocks)
    }

    fn no_moments(&self) -> TiedMoments {
        TiedMoments::new(self.n_components(), self.n_columns)
    }

    fn expected_moments(&self, weights: &[f64]) -> TiedMoments {
        TiedMoments::expected(self, weights)
    }

    fn reset_moments(prepared: &TiedPrepared, moments: &mut TiedMoments) {
        moments.reset(prepared.placement().centres());
    }

    fn log2_joint_into(
        prepared: &TiedPrepared,
        set: InstructionSet,
        block: &[Lanes],
        scratch: &mut TiedScratch,
        out: &mut [Lanes],
    ) {
        prepared.log2_joint_into(set, block, scratch, out);
    }

    fn add_common(
        prepared: &TiedPrepared,
        set: InstructionSet,
        rows: CommonRows<'_>,
        scratch: &mut TiedScratch,
        moments: &mut TiedMoments,
    ) {
        moments.add_common(prepared, set, rows, scratch);
    }

    fn add_own(
        prepared: &TiedPrepared,
        set: InstructionSet,
        rows: OwnRows<'_>,
        scratch: &mut TiedScratch,
        moments: &mut TiedMoments,
    ) {
        moments.add_own(prepared, set, rows, scratch);
    }

    fn about(centres: &[f64], unit: &[f64], floor: &Floor) -> Self {
        estimate::about(centres, unit, floor)
    }

    fn maximize(&self, moments: &TiedMoments, fates: &[Fate], floor: &Floor) -> (Self, Vec<Outcome>) {
        estimate::maximize(self, moments, fates, floor)
    }

    fn is_on_floor(&self, floor: &Floor, columns: &[usize]) -> Vec<bool> {
        estimate::is_on_floor(self, floor, columns)
    }

    fn reordered(&self, order: &[usize]) -> Self {
        let means = order.iter().flat_map(|&old| self.mean(old)).copied().collect();
        Self { means, ..self.clone() }
    }

    fn unmapped(&self, offset: &[f64], scale: &[f64]) -> Option<Self> {
        let inverse: Vec<f64> = scale.iter().map(|scale| 1.0 / scale).collect();
        Some(self.transformed(&inverse, |d, mean| mean / scale[d] + offset[d]))
    }

    fn mapped(&self, offset: &[f64], scale: &[f64]) -> Option<Self> {
        Some(self.transformed(scale, |d, mean| (mean - offset[d]) * scale[d]))
    }

    fn sampler(&self) -> Result<GaussianSampler, Error> {
        GaussianSampler::new(self.n_columns, &self.means, &self.covariance)
    }
}
