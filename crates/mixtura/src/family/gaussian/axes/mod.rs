//! Gaussians without correlations: a variance for each column, or one for all columns.

mod density;
mod estimate;
mod moments;

use std::fmt::Debug;
use std::marker::PhantomData;

use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};

use super::two;
use crate::Error;
use crate::family::{
    CommonRows, ErrorBound, Family, Fate, Floor, InstructionSet, NarrowLanes, NarrowRows, Outcome, OwnRows, Sampler,
};
use crate::kernels::Lanes;
use crate::random::Generator;

pub use density::AxisPrepared;
pub use moments::{AxisMoments, AxisScratch};

/// How many variances a component has.
pub trait Axes: Debug + Copy + PartialEq + Send + Sync + 'static {
    /// Name of the structure in model files.
    const STRUCTURE: &'static str;
    /// Number of variances of a component with this many columns: as many, or one.
    fn n_variances(n_columns: usize) -> usize;
}

/// A variance for each column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EachColumn;

impl Axes for EachColumn {
    const STRUCTURE: &'static str = "diagonal";

    fn n_variances(n_columns: usize) -> usize {
        n_columns
    }
}

/// One variance for all columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AllColumns;

impl Axes for AllColumns {
    const STRUCTURE: &'static str = "spherical";

    fn n_variances(_n_columns: usize) -> usize {
        1
    }
}

/// K Gaussians in D dimensions with diagonal covariance matrices.
pub type DiagonalGaussian = AxisGaussian<EachColumn>;
/// K Gaussians in D dimensions, each equally wide in all directions.
pub type SphericalGaussian = AxisGaussian<AllColumns>;

/// K Gaussians in D dimensions whose columns are independent.
///
/// ```
/// use mixtura::family::Family;
/// use mixtura::{DiagonalGaussian, SphericalGaussian};
///
/// let diagonal = DiagonalGaussian::new(2, vec![0.0, 1.0], vec![4.0, 9.0])?;
/// assert_eq!((diagonal.n_free_parameters(), diagonal.spreads()), (4, vec![2.0, 3.0]));
/// let spherical = SphericalGaussian::new(2, vec![0.0, 1.0], vec![4.0])?;
/// assert_eq!((spherical.n_free_parameters(), spherical.spreads()), (3, vec![2.0, 2.0]));
///
/// let error = SphericalGaussian::new(1, vec![0.0], vec![0.0]).unwrap_err();
/// assert_eq!(error.to_string(), "component 0: variance 0 is not a positive number");
/// # Ok::<(), mixtura::Error>(())
/// ```
///
/// Deserializing applies the checks of [`AxisGaussian::new`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(bound = "", try_from = "Unchecked")]
pub struct AxisGaussian<A: Axes> {
    n_columns: usize,
    means: Vec<f64>,
    variances: Vec<f64>,
    #[serde(skip)]
    axes: PhantomData<A>,
}

/// The parameters as deserialized.
#[derive(Deserialize)]
#[serde(rename = "AxisGaussian")]
struct Unchecked {
    n_columns: usize,
    means: Vec<f64>,
    variances: Vec<f64>,
}

impl<A: Axes> TryFrom<Unchecked> for AxisGaussian<A> {
    type Error = Error;

    fn try_from(Unchecked { n_columns, means, variances }: Unchecked) -> Result<Self, Error> {
        Self::new(n_columns, means, variances)
    }
}

impl<A: Axes> AxisGaussian<A> {
    /// Components from K·D means and K·D variances, or K of them if all columns share one.
    pub fn new(n_columns: usize, means: Vec<f64>, variances: Vec<f64>) -> Result<Self, Error> {
        let n_components = super::n_components(n_columns, &means)?;
        let n_expected = n_components * A::n_variances(n_columns);
        if variances.len() != n_expected {
            return Err(Error::Length {
                what: "variances",
                n_found: variances.len(),
                n_expected,
                of: if A::n_variances(2) == 1 { "components" } else { "columns of all components" },
            });
        }
        let components = Self::of(n_columns, means, variances);
        components.check()?;
        Ok(components)
    }

    fn of(n_columns: usize, means: Vec<f64>, variances: Vec<f64>) -> Self {
        Self { n_columns, means, variances, axes: PhantomData }
    }

    /// Mean of a component.
    ///
    /// # Panics
    /// If there is no such component.
    pub fn mean(&self, component: usize) -> &[f64] {
        &self.means[component * self.n_columns..][..self.n_columns]
    }

    /// Variances of a component: one for each column, or one.
    ///
    /// # Panics
    /// If there is no such component.
    pub fn variances(&self, component: usize) -> &[f64] {
        let n = A::n_variances(self.n_columns);
        &self.variances[component * n..][..n]
    }

    /// Variance of a column in a component.
    ///
    /// # Panics
    /// If there is no such component or column.
    pub fn variance(&self, component: usize, column: usize) -> f64 {
        let variances = self.variances(component);
        variances[column.min(variances.len() - 1)]
    }

    /// After a map that multiplies each column by a factor; none if one variance cannot say that.
    fn transformed(&self, factor: &[f64], map: impl Fn(usize, f64) -> f64) -> Option<Self> {
        let (n, n_variances) = (self.n_columns, A::n_variances(self.n_columns));
        if n_variances < n && factor.iter().any(|&other| other != factor[0]) {
            return None;
        }
        let means = self.means.iter().enumerate().map(|(i, &mean)| map(i % n, mean)).collect();
        let variance = |(i, &variance): (usize, &f64)| variance * factor[i % n_variances] * factor[i % n_variances];
        Some(Self::of(n, means, self.variances.iter().enumerate().map(variance).collect()))
    }
}

impl<A: Axes> Family for AxisGaussian<A> {
    type Prepared = AxisPrepared;
    type Moments = AxisMoments;
    type Scratch = AxisScratch;
    type Sampler = Self;

    const NAME: &'static str = "gaussian";
    const STRUCTURE: Option<&'static str> = Some(A::STRUCTURE);

    fn n_components(&self) -> usize {
        self.means.len() / self.n_columns
    }

    fn n_columns(&self) -> usize {
        self.n_columns
    }

    fn n_free_parameters(&self) -> usize {
        self.means.len() + self.variances.len()
    }

    fn fewest_rows(&self) -> f64 {
        2.0
    }

    fn centres(&self) -> Vec<f64> {
        self.means.clone()
    }

    fn spreads(&self) -> Vec<f64> {
        let each = (0..self.n_components()).flat_map(|k| (0..self.n_columns).map(move |d| (k, d)));
        each.map(|(k, d)| self.variance(k, d).sqrt()).collect()
    }

    fn check(&self) -> Result<(), Error> {
        for component in 0..self.n_components() {
            super::check_mean(component, self.mean(component))?;
            let is_bad = |variance: &f64| !(variance.is_finite() && *variance > 0.0);
            if let Some(&value) = self.variances(component).iter().find(|variance| is_bad(variance)) {
                return Err(Error::NotPositive { component, what: "variance", value });
            }
        }
        Ok(())
    }

    fn shapes(n_components: usize, n_columns: usize) -> Vec<(&'static str, Vec<usize>)> {
        let each = if Self::STRUCTURE == Some(AllColumns::STRUCTURE) { vec![] } else { vec![n_columns] };
        let covariances = std::iter::once(n_components).chain(each).collect();
        vec![("means", vec![n_components, n_columns]), ("covariances", covariances)]
    }

    fn parameters(&self) -> Vec<&[f64]> {
        vec![&self.means, &self.variances]
    }

    fn from_parameters(n_columns: usize, parameters: Vec<Vec<f64>>) -> Result<Self, Error> {
        let [means, variances] = two(parameters);
        Self::new(n_columns, means, variances)
    }

    fn prepare(&self, weights: &[f64], centre: &[f64]) -> Result<AxisPrepared, Error> {
        AxisPrepared::new(self, weights, centre)
    }

    fn scratch(&self, n_blocks: usize) -> AxisScratch {
        AxisScratch::new(self.n_columns, A::n_variances(self.n_columns), n_blocks)
    }

    fn no_moments(&self) -> AxisMoments {
        AxisMoments::new(self.n_components(), self.n_columns, A::n_variances(self.n_columns))
    }

    fn expected_moments(&self, weights: &[f64]) -> AxisMoments {
        AxisMoments::expected(self, weights)
    }

    fn reset_moments(prepared: &AxisPrepared, moments: &mut AxisMoments) {
        moments.reset(prepared.placement().centres());
    }

    fn log2_joint_into(
        prepared: &AxisPrepared,
        set: InstructionSet,
        block: &[Lanes],
        scratch: &mut AxisScratch,
        out: &mut [Lanes],
    ) {
        prepared.log2_joint_into(set, block, scratch, out);
    }

    fn narrow_bound(prepared: &AxisPrepared) -> Option<ErrorBound> {
        prepared.narrow().map(|narrow| narrow.bound)
    }

    fn narrow_slopes(prepared: &AxisPrepared) -> &[f32] {
        &prepared.narrow().expect("invariant: asked for its bound first").slopes
    }

    fn narrow_inverse_scales(prepared: &AxisPrepared) -> &[f32] {
        &prepared.narrow().expect("invariant: asked for its bound first").inverse_scales
    }

    fn narrow_joint_into(prepared: &AxisPrepared, set: InstructionSet, rows: NarrowRows<'_>, out: &mut [NarrowLanes]) {
        prepared.narrow_joint_into(set, rows.single, out);
    }

    fn add_common(
        prepared: &AxisPrepared,
        set: InstructionSet,
        rows: CommonRows<'_>,
        scratch: &mut AxisScratch,
        moments: &mut AxisMoments,
    ) {
        moments.add_common(prepared, set, rows, scratch);
    }

    fn add_own(
        prepared: &AxisPrepared,
        set: InstructionSet,
        rows: OwnRows<'_>,
        scratch: &mut AxisScratch,
        moments: &mut AxisMoments,
    ) {
        moments.add_own(prepared, set, rows, scratch);
    }

    fn about(centres: &[f64], unit: &[f64], floor: &Floor) -> Self {
        estimate::about(centres, unit, floor)
    }

    fn maximize(&self, moments: &AxisMoments, fates: &[Fate], floor: &Floor) -> (Self, Vec<Outcome>) {
        estimate::maximize(self, moments, fates, floor)
    }

    fn is_on_floor(&self, floor: &Floor, columns: &[usize]) -> Vec<bool> {
        estimate::is_on_floor(self, floor, columns)
    }

    fn reordered(&self, order: &[usize]) -> Self {
        let means = order.iter().flat_map(|&old| self.mean(old)).copied().collect();
        Self::of(self.n_columns, means, order.iter().flat_map(|&old| self.variances(old)).copied().collect())
    }

    fn unmapped(&self, offset: &[f64], scale: &[f64]) -> Option<Self> {
        let inverse: Vec<f64> = scale.iter().map(|scale| 1.0 / scale).collect();
        self.transformed(&inverse, |d, mean| mean / scale[d] + offset[d])
    }

    fn mapped(&self, offset: &[f64], scale: &[f64]) -> Option<Self> {
        self.transformed(scale, |d, mean| (mean - offset[d]) * scale[d])
    }

    fn sampler(&self) -> Result<Self, Error> {
        self.check()?;
        Ok(self.clone())
    }
}

impl<A: Axes> Sampler for AxisGaussian<A> {
    fn draw_into(&self, component: usize, generator: &mut Generator, out: &mut [f64]) {
        for (d, (out, mean)) in out.iter_mut().zip(self.mean(component)).enumerate() {
            let normal: f64 = StandardNormal.sample(generator);
            *out = mean + self.variance(component, d).sqrt() * normal;
        }
    }
}
