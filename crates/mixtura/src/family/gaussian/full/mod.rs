//! Gaussians with a full covariance matrix for each component.

mod density;
mod estimate;
mod moments;
mod narrow;

use serde::{Deserialize, Serialize};

use super::{GaussianSampler, two};
use crate::Error;
use crate::family::{
    CommonRows, ErrorBound, Family, Fate, Floor, InstructionSet, NarrowLanes, NarrowRows, Near, Outcome, OwnRows,
};
use crate::kernels::Lanes;

pub use density::FullPrepared;
pub use moments::{FullMoments, FullScratch};

/// K Gaussians in D dimensions, each with a mean and a covariance matrix of its own.
///
/// ```
/// use mixtura::family::Family;
/// use mixtura::FullGaussian;
///
/// let gaussian = FullGaussian::new(2, vec![0.0, 1.0], vec![2.0, 0.5, 0.5, 1.0])?;
/// assert_eq!((gaussian.n_components(), gaussian.n_columns()), (1, 2));
/// assert_eq!(gaussian.mean(0), [0.0, 1.0]);
/// assert_eq!(gaussian.n_free_parameters(), 5);
///
/// let error = FullGaussian::new(1, vec![0.0], vec![-1.0]).unwrap_err();
/// assert_eq!(error.to_string(), "component 0: covariance not positive definite at pivot 1 (value -1e0)");
/// # Ok::<(), mixtura::Error>(())
/// ```
///
/// Deserializing applies the checks of [`FullGaussian::new`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct FullGaussian {
    n_columns: usize,
    means: Vec<f64>,
    covariances: Vec<f64>,
}

/// The parameters as deserialized.
#[derive(Deserialize)]
#[serde(rename = "FullGaussian")]
struct Unchecked {
    n_columns: usize,
    means: Vec<f64>,
    covariances: Vec<f64>,
}

impl TryFrom<Unchecked> for FullGaussian {
    type Error = Error;

    fn try_from(Unchecked { n_columns, means, covariances }: Unchecked) -> Result<Self, Error> {
        Self::new(n_columns, means, covariances)
    }
}

impl FullGaussian {
    /// Components from K·D means and K·D·D covariances, row-major; refused unless each covariance
    /// is symmetric (to 1e-9 of its diagonal) and positive definite.
    pub fn new(n_columns: usize, means: Vec<f64>, mut covariances: Vec<f64>) -> Result<Self, Error> {
        let n_components = super::n_components(n_columns, &means)?;
        super::check_entries(covariances.len(), n_components * n_columns * n_columns)?;
        for (component, matrix) in covariances.chunks_exact_mut(n_columns * n_columns).enumerate() {
            super::check_symmetric(component, matrix, n_columns)?;
        }
        let components = Self { n_columns, means, covariances };
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

    /// Covariance matrix of a component, row-major.
    ///
    /// # Panics
    /// If there is no such component.
    pub fn covariance(&self, component: usize) -> &[f64] {
        let n_entries = self.n_columns * self.n_columns;
        &self.covariances[component * n_entries..][..n_entries]
    }
}

impl Family for FullGaussian {
    type Prepared = FullPrepared;
    type Moments = FullMoments;
    type Scratch = FullScratch;
    type Sampler = GaussianSampler;

    const NAME: &'static str = "gaussian";
    const STRUCTURE: Option<&'static str> = Some("full");
    const SEARCHES: bool = true;

    fn n_components(&self) -> usize {
        self.means.len() / self.n_columns
    }

    fn n_columns(&self) -> usize {
        self.n_columns
    }

    fn n_free_parameters(&self) -> usize {
        self.n_components() * (self.n_columns + self.n_columns * (self.n_columns + 1) / 2)
    }

    fn fewest_rows(&self) -> f64 {
        (self.n_columns + 1) as f64
    }

    fn centres(&self) -> Vec<f64> {
        self.means.clone()
    }

    fn spreads(&self) -> Vec<f64> {
        let diagonal = |k: usize| self.covariance(k).iter().step_by(self.n_columns + 1);
        (0..self.n_components()).flat_map(diagonal).map(|variance| variance.sqrt()).collect()
    }

    fn shapes(n_components: usize, n_columns: usize) -> Vec<(&'static str, Vec<usize>)> {
        vec![("means", vec![n_components, n_columns]), ("covariances", vec![n_components, n_columns, n_columns])]
    }

    fn parameters(&self) -> Vec<&[f64]> {
        vec![&self.means, &self.covariances]
    }

    fn from_parameters(n_columns: usize, parameters: Vec<Vec<f64>>) -> Result<Self, Error> {
        let [means, covariances] = two(parameters);
        Self::new(n_columns, means, covariances)
    }

    fn check(&self) -> Result<(), Error> {
        for component in 0..self.n_components() {
            super::check_mean(component, self.mean(component))?;
            super::check_covariance(component, self.covariance(component), self.n_columns)?;
        }
        Ok(())
    }

    fn prepare(&self, weights: &[f64], centre: &[f64]) -> Result<FullPrepared, Error> {
        FullPrepared::new(self, weights, centre)
    }

    fn scratch(&self, n_blocks: usize) -> FullScratch {
        FullScratch::new(self.n_columns, n_blocks)
    }

    fn no_moments(&self) -> FullMoments {
        FullMoments::new(self.n_components(), self.n_columns)
    }

    fn expected_moments(&self, weights: &[f64]) -> FullMoments {
        FullMoments::expected(self, weights)
    }

    fn reset_moments(prepared: &FullPrepared, moments: &mut FullMoments) {
        moments.reset(prepared.placement().centres());
    }

    fn log2_joints_into(
        prepared: &FullPrepared,
        set: InstructionSet,
        (blocks, _): (&[Lanes], usize),
        scratch: &mut FullScratch,
        out: &mut [Lanes],
    ) {
        prepared.log2_joints_into(set, blocks, scratch, out);
    }

    fn log2_joint_into(
        prepared: &FullPrepared,
        set: InstructionSet,
        block: &[Lanes],
        scratch: &mut FullScratch,
        out: &mut [Lanes],
    ) {
        prepared.log2_joint_into(set, block, scratch, out);
    }

    fn log2_near_into(
        prepared: &FullPrepared,
        set: InstructionSet,
        block: &[Lanes],
        scratch: &mut FullScratch,
        near: Near<'_, Lanes, f64>,
    ) -> usize {
        prepared.log2_near_into(set, block, scratch, near)
    }

    fn narrow_bound(prepared: &FullPrepared) -> Option<ErrorBound> {
        prepared.narrow_bound()
    }

    fn narrow_slopes(prepared: &FullPrepared) -> &[f32] {
        &prepared.narrow().slopes
    }

    fn narrow_inverse_scales(prepared: &FullPrepared) -> &[f32] {
        &prepared.narrow().inverse_scales
    }

    fn narrow_joint_into(prepared: &FullPrepared, set: InstructionSet, rows: NarrowRows<'_>, out: &mut [NarrowLanes]) {
        prepared.narrow().joint_into(set, rows, out);
    }

    fn narrow_near_into(
        prepared: &FullPrepared,
        set: InstructionSet,
        rows: NarrowRows<'_>,
        near: Near<'_, NarrowLanes, f32>,
    ) -> usize {
        prepared.narrow().near_into(set, rows, near)
    }

    fn add_common(
        prepared: &FullPrepared,
        set: InstructionSet,
        rows: CommonRows<'_>,
        scratch: &mut FullScratch,
        moments: &mut FullMoments,
    ) {
        moments.add_common(prepared, set, rows, scratch);
    }

    fn add_own(
        prepared: &FullPrepared,
        set: InstructionSet,
        rows: OwnRows<'_>,
        scratch: &mut FullScratch,
        moments: &mut FullMoments,
    ) {
        moments.add_own(prepared, set, rows, scratch);
    }

    fn about(centres: &[f64], unit: &[f64], floor: &Floor) -> Self {
        estimate::about(centres, unit, floor)
    }

    fn maximize(&self, moments: &FullMoments, fates: &[Fate], floor: &Floor) -> (Self, Vec<Outcome>) {
        estimate::maximize(self, moments, fates, floor)
    }

    fn sample_covariances(moments: &FullMoments) -> Option<Vec<f64>> {
        Some((0..moments.n_components()).flat_map(|component| moments.shift_and_covariance(component).1).collect())
    }

    fn is_on_floor(&self, floor: &Floor, columns: &[usize]) -> Vec<bool> {
        estimate::is_on_floor(self, floor, columns)
    }

    fn reordered(&self, order: &[usize]) -> Self {
        Self {
            n_columns: self.n_columns,
            means: order.iter().flat_map(|&old| self.mean(old)).copied().collect(),
            covariances: order.iter().flat_map(|&old| self.covariance(old)).copied().collect(),
        }
    }

    fn unmapped(&self, offset: &[f64], scale: &[f64]) -> Option<Self> {
        let inverse: Vec<f64> = scale.iter().map(|scale| 1.0 / scale).collect();
        Some(self.transformed(&inverse, |d, mean| mean / scale[d] + offset[d]))
    }

    fn mapped(&self, offset: &[f64], scale: &[f64]) -> Option<Self> {
        Some(self.transformed(scale, |d, mean| (mean - offset[d]) * scale[d]))
    }

    fn sampler(&self) -> Result<GaussianSampler, Error> {
        GaussianSampler::new(self.n_columns, &self.means, &self.covariances)
    }
}

impl FullGaussian {
    fn transformed(&self, factor: &[f64], map: impl Fn(usize, f64) -> f64) -> Self {
        let n = self.n_columns;
        let means = self.means.iter().enumerate().map(|(i, &mean)| map(i % n, mean)).collect();
        let entry = |(i, &entry): (usize, &f64)| entry * (factor[i / n % n] * factor[i % n]);
        Self { n_columns: n, means, covariances: self.covariances.iter().enumerate().map(entry).collect() }
    }
}
