//! The interface of component distributions. Everything else is common to all mixtures.

mod floor;
pub mod gaussian;
pub mod poisson;

use std::fmt::Debug;
use std::ops::Range;

use rayon::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;

pub use self::floor::Floor;
use crate::kernels::Side;
#[doc(hidden)]
pub use crate::kernels::{ErrorBound, InstructionSet, Lanes, NarrowLanes, NarrowRows};
use crate::random::Generator;
use crate::rows::shorten;
use crate::{Error, Rows};

/// Only this crate can implement families: their kernels and statistics must agree to the last bit.
mod sealed {
    pub trait Sealed {}

    impl Sealed for crate::FullGaussian {}
    impl Sealed for crate::TiedGaussian {}
    impl<A: super::gaussian::Axes> Sealed for super::gaussian::AxisGaussian<A> {}
    impl Sealed for crate::Poisson {}
}

/// The parameters of all components of a mixture, and what can be done with them.
///
/// The trait is sealed, because its methods include kernels over blocks of rows, which are not a public interface.
///
/// A fit needs five things: log-densities of a block of rows, statistics of weighted rows, the maximum-likelihood
/// estimate from statistics, the minimum number of rows for an estimate, and draws. All components are handled at once,
/// because they may share work or parameters.
pub trait Family:
    sealed::Sealed + Clone + Debug + PartialEq + Send + Sync + Serialize + DeserializeOwned + 'static
{
    /// What a pass needs of the parameters: factors, constants, centres.
    type Prepared: Send + Sync + 'static;
    /// Sufficient statistics of weighted rows.
    type Moments: Moments;
    /// Buffers of one thread.
    type Scratch: Send + 'static;
    /// Draws rows from components.
    type Sampler: Sampler;

    /// Name in model files.
    const NAME: &'static str;
    /// Name of the covariance structure in model files, if the family has one.
    const STRUCTURE: Option<&'static str>;

    /// What values must be, if not arbitrary finite numbers; see [`Family::admits`].
    const VALUES: Option<&'static str> = None;
    /// Whether values are centred to preserve digits; otherwise they are used unchanged.
    const CENTRED: bool = true;
    /// Whether `log2_near_into` finds near components without evaluating all of them.
    const SEARCHES: bool = false;

    /// Number of components.
    fn n_components(&self) -> usize;
    /// Number of columns.
    fn n_columns(&self) -> usize;
    /// Rejects a number of parameters of which a few copies do not fit into memory.
    fn check_size(n_components: usize, n_columns: usize) -> Result<(), Error> {
        const MOST_GIGABYTES: f64 = 4.0;
        let size = |(_, shape): &(_, Vec<usize>)| shape.iter().map(|&n| n as f64).product::<f64>();
        let gigabytes = 8e-9 * Self::shapes(n_components, n_columns).iter().map(size).sum::<f64>();
        if gigabytes > MOST_GIGABYTES {
            return Err(Error::TooLarge { n_components, n_columns, gigabytes });
        }
        // A few copies of the model and, for each thread, statistics of about half its size, plus one that is pending.
        let n_copies = 4 + rayon::current_num_threads();
        let n_bytes = 1e9 * gigabytes * n_copies as f64;
        Vec::<u8>::new().try_reserve_exact(n_bytes as usize).map_err(|_| Error::Memory { n_bytes: n_bytes as u64 })
    }
    /// Number of free parameters of all components, without the mixing weights.
    fn n_free_parameters(&self) -> usize;
    /// ζ: the minimum number of rows needed to estimate a component.
    fn fewest_rows(&self) -> f64;
    /// A point between the components, with few digits, used as the centre of computations.
    fn centre(&self, weights: &[f64]) -> Vec<f64> {
        let (n_columns, centres) = (self.n_columns(), self.centres());
        if !Self::CENTRED {
            return vec![0.0; n_columns];
        }
        // The weighted median: a single far component would move a mean far away, and all others would lose digits.
        let median = |d: usize| {
            let mut values: Vec<(f64, f64)> =
                weights.iter().zip(centres.chunks_exact(n_columns)).map(|(&weight, mean)| (mean[d], weight)).collect();
            values.sort_by(|a, b| a.0.total_cmp(&b.0));
            let (half, mut reached) = (0.5 * weights.iter().sum::<f64>(), 0.0);
            let found = values.iter().find(|(_, weight)| {
                reached += weight;
                reached >= half
            });
            found.or(values.last()).map_or(0.0, |(value, _)| *value)
        };
        (0..n_columns).map(median).map(shorten).collect()
    }
    /// The means of all components: K·D numbers.
    fn centres(&self) -> Vec<f64>;
    /// The standard deviations of all columns in all components: K·D numbers.
    fn spreads(&self) -> Vec<f64>;
    /// Whether a finite value is valid for this family.
    fn admits(_value: f64) -> bool {
        true
    }
    /// Rejects invalid parameters.
    fn check(&self) -> Result<(), Error>;
    /// Names and shapes of the parameters in model files; the first has the shape [K, D].
    fn shapes(n_components: usize, n_columns: usize) -> Vec<(&'static str, Vec<usize>)>;
    /// The parameters in the order and shapes of `shapes`, row-major.
    fn parameters(&self) -> Vec<&[f64]>;
    /// The components with these parameters, if they are valid.
    fn from_parameters(n_columns: usize, parameters: Vec<Vec<f64>>) -> Result<Self, Error>;

    /// Prepares a pass over rows from which `centre` is subtracted.
    fn prepare(&self, weights: &[f64], centre: &[f64]) -> Result<Self::Prepared, Error>;
    /// Buffers for groups of up to `n_blocks` blocks.
    fn scratch(&self, n_blocks: usize) -> Self::Scratch;
    /// Statistics of no rows.
    fn no_moments(&self) -> Self::Moments;
    /// The expected statistics of this mixture per unit of weight, whose maximum-likelihood estimate is these
    /// components.
    fn expected_moments(&self, weights: &[f64]) -> Self::Moments;
    /// Clears statistics, and sets their centres to those of this pass.
    fn reset_moments(prepared: &Self::Prepared, moments: &mut Self::Moments);
    /// Base-2 logarithms of weight times density for one block, one `Lanes` per component.
    #[doc(hidden)]
    fn log2_joint_into(
        prepared: &Self::Prepared,
        set: InstructionSet,
        block: &[Lanes],
        scratch: &mut Self::Scratch,
        out: &mut [Lanes],
    );
    /// The same for several blocks of the D centred columns and a column of ones: K `Lanes` for each block.
    #[doc(hidden)]
    fn log2_joints_into(
        prepared: &Self::Prepared,
        set: InstructionSet,
        (blocks, n_blocks): (&[Lanes], usize),
        scratch: &mut Self::Scratch,
        out: &mut [Lanes],
    ) {
        let (stride, n_components) = (blocks.len() / n_blocks, out.len() / n_blocks);
        for (block, out) in blocks.chunks_exact(stride).zip(out.chunks_exact_mut(n_components)) {
            Self::log2_joint_into(prepared, set, block, scratch, out);
        }
    }
    /// The same, but only for components that may count for some row of the block; returns their number.
    #[doc(hidden)]
    fn log2_near_into(
        prepared: &Self::Prepared,
        set: InstructionSet,
        block: &[Lanes],
        scratch: &mut Self::Scratch,
        near: Near<'_, Lanes, f64>,
    ) -> usize {
        Self::log2_joint_into(prepared, set, block, scratch, near.out);
        near.all()
    }
    /// The error bound of single-precision log-densities; `None` if the family has none, or if these parameters are
    /// unsuitable for single precision.
    #[doc(hidden)]
    fn narrow_bound(_prepared: &Self::Prepared) -> Option<ErrorBound> {
        None
    }
    /// The error slope of each component (see `docs/certified-draws.md`).
    #[doc(hidden)]
    fn narrow_slopes(_prepared: &Self::Prepared) -> &[f32] {
        unreachable!("invariant: only called for families with a bound")
    }
    /// 1 / scale of each column: lengths of rows are measured in units of the scales.
    #[doc(hidden)]
    fn narrow_inverse_scales(_prepared: &Self::Prepared) -> &[f32] {
        unreachable!("invariant: only called for families with a bound")
    }
    /// Base-2 logarithms of weight times density in single precision, minus the bound's common part.
    #[doc(hidden)]
    fn narrow_joint_into(
        _prepared: &Self::Prepared,
        _set: InstructionSet,
        _rows: NarrowRows<'_>,
        _out: &mut [NarrowLanes],
    ) {
        unreachable!("invariant: only called for families with a bound")
    }
    /// The same, but only for components that may count for some row of the block; returns their number.
    #[doc(hidden)]
    fn narrow_near_into(
        prepared: &Self::Prepared,
        set: InstructionSet,
        rows: NarrowRows<'_>,
        near: Near<'_, NarrowLanes, f32>,
    ) -> usize {
        Self::narrow_joint_into(prepared, set, rows, near.out);
        near.all()
    }
    /// Adds rows that belong to all components, with weights.
    #[doc(hidden)]
    fn add_common(
        prepared: &Self::Prepared,
        set: InstructionSet,
        rows: CommonRows<'_>,
        scratch: &mut Self::Scratch,
        moments: &mut Self::Moments,
    );
    /// Adds rows that belong to one component.
    #[doc(hidden)]
    fn add_own(
        prepared: &Self::Prepared,
        set: InstructionSet,
        rows: OwnRows<'_>,
        scratch: &mut Self::Scratch,
        moments: &mut Self::Moments,
    );

    /// Components around given centres (K·D numbers), with widths determined by the distance to their neighbours
    /// (Dasgupta and Schulman 2007). Distances are measured in units of `unit`.
    fn about(centres: &[f64], unit: &[f64], floor: &Floor) -> Self;
    /// The maximum-likelihood components of the statistics, as far as `fates` allow.
    fn maximize(&self, moments: &Self::Moments, fates: &[Fate], floor: &Floor) -> (Self, Vec<Outcome>);
    /// Whether each component is at the floor, considering only some columns. Always false if that is harmless, as for
    /// distributions with a bounded density.
    fn is_on_floor(&self, _floor: &Floor, _columns: &[usize]) -> Vec<bool> {
        vec![false; self.n_components()]
    }
    /// The covariance matrices of weighted rows (K·D·D numbers), which are the estimate where no floor is active;
    /// `None` if the family has no such matrices. Theorem 3 refers to these.
    fn sample_covariances(_moments: &Self::Moments) -> Option<Vec<f64>> {
        None
    }
    /// The same components, reordered: `order[new] = old`.
    #[must_use]
    fn reordered(&self, order: &[usize]) -> Self;
    /// The components in the rows' original units, if these are components of rows mapped by `(x − offset) · scale`;
    /// `None` if the family has no such components.
    fn unmapped(&self, offset: &[f64], scale: &[f64]) -> Option<Self>;
    /// The components after rows are mapped by `(x − offset) · scale`; `None` if the family has no such components.
    fn mapped(&self, offset: &[f64], scale: &[f64]) -> Option<Self>;

    /// Prepares drawing rows.
    fn sampler(&self) -> Result<Self::Sampler, Error>;
}

/// Sufficient statistics of all components, which can be added up.
pub trait Moments: Clone + Debug + PartialEq + Send + Sync + Serialize + DeserializeOwned + 'static {
    /// Adds the statistics of other rows from the same pass.
    fn merge(&mut self, other: &Self);
    /// Multiplies all sums, as if every weight were multiplied.
    fn scale(&mut self, factor: f64);
    /// Adds a multiple of the statistics of another pass, converted to the centres of these.
    fn add_scaled(&mut self, other: &Self, factor: f64);
    /// Total weight of a component.
    fn weight(&self, component: usize) -> f64;
}

/// Draws rows from components.
pub trait Sampler: Sync {
    /// Draws one row from a component.
    fn draw_into(&self, component: usize, generator: &mut Generator, out: &mut [f64]);
}

/// Rows that belong to all components, with weights: blocks of the D centred columns and a column of ones.
#[derive(Clone, Copy)]
pub struct CommonRows<'a> {
    pub(crate) blocks: &'a [Lanes],
    /// `weights[b · K + k]`; 0 past the last row.
    pub(crate) weights: &'a [Lanes],
}

/// Rows that belong to one component: blocks of the D centred columns and a column of ones; all columns are 0 past the
/// last row. May be modified.
pub struct OwnRows<'a> {
    pub(crate) component: usize,
    pub(crate) rows: &'a mut [Lanes],
    /// If there are none, all weights are 1.
    pub(crate) weights: Option<Weights<'a>>,
}

/// Weights of rows: `blocks[b · stride]` are those of block b.
#[derive(Clone, Copy)]
pub struct Weights<'a> {
    pub(crate) blocks: &'a [Lanes],
    pub(crate) stride: usize,
}

/// Weights of rows as one side of dot products: the column of ones if all weights are 1.
pub(crate) fn weights_of<'a>(rows: &'a [Lanes], n_columns: usize, weights: Option<Weights<'a>>) -> Side<'a> {
    let ones = Weights { blocks: &rows[n_columns..], stride: n_columns + 1 };
    let Weights { blocks, stride } = weights.unwrap_or(ones);
    Side { blocks, stride, first: 0, n: 1 }
}

/// Rejects rows of a range with a value that is not valid for the family.
pub(crate) fn check_values<F: Family>(rows: &Rows<'_>, range: Range<usize>) -> Result<(), Error> {
    let Some(expected) = F::VALUES else { return Ok(()) };
    let n_columns = rows.n_columns();
    let bad = range.into_par_iter().with_min_len(1024).find_map_first(|row| {
        let values = rows.row(row);
        let column = (0..n_columns).find(|&column| !F::admits(values[column]))?;
        Some(Error::Value { row, column, value: values[column], expected })
    });
    bad.map_or(Ok(()), Err)
}

/// A search for the components that may count for some row of a block, and its result.
pub struct Near<'a, L, T> {
    /// Components that are likely to be near, to start with.
    pub(crate) hints: &'a [u32],
    /// For each component, the exponent below which its share of a row counts as zero.
    pub(crate) least: &'a [T],
    /// Log-densities of the components found.
    pub(crate) out: &'a mut [L],
    /// The components found, in ascending order.
    pub(crate) components: &'a mut [u32],
}

impl<L, T> Near<'_, L, T> {
    /// The result for a family that does not search: all components.
    fn all(self) -> usize {
        (0..).zip(self.components.iter_mut()).for_each(|(k, component)| *component = k);
        self.components.len()
    }
}

/// How a component is to be updated.
#[derive(Debug, Clone, PartialEq)]
pub enum Fate {
    /// The maximum-likelihood estimate.
    Estimate,
    /// Too few rows: the estimate is blended with the previous covariance, (n·S + (ζ−n)·Σ)/ζ.
    Blend {
        /// n, the effective number of rows.
        n_rows: f64,
    },
    /// No rows: reinitialized around this row.
    Reseed(Vec<f64>),
    /// Keep the previous parameters.
    Keep,
}

/// The outcome of a component's update.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Updated according to its fate.
    Done,
    /// Updated, but so far from the point its rows were centred on that the next pass will give a better estimate.
    Rough,
    /// The floor was active.
    Clipped,
    /// The estimated covariance was singular. The previous covariance was kept around the new mean, or the previous
    /// variances of those columns that now have none.
    Kept,
    /// The estimated covariance was singular to working precision, for example because of one row far from all others.
    /// Only variances were estimated, without correlations.
    Uncorrelated,
    /// The component became so narrow, and so far from the point its rows were centred on, that its covariance lost its
    /// digits. It was widened slightly; its rows are centred on its own mean from now on.
    Recentred,
}
