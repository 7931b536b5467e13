//! Whitens a block once for all components and evaluates their log-densities.

use super::super::matrix::{cholesky, invert_lower, packed};
use super::super::placement::Placement;
use super::super::{ln_constant, not_positive_definite};
use super::{TiedGaussian, TiedScratch};
use crate::Error;
use crate::family::Family;
use crate::kernels::{InstructionSet, Lanes, Stretch, Transform, scalar_ln};

/// One whitening factor, and for each component where it puts the mean.
///
/// With y = A x, log₂ N(x) = constant − |y + b_k|².
#[derive(Debug)]
pub struct TiedPrepared {
    n_columns: usize,
    factor: Vec<f64>,
    offsets: Vec<f64>,
    /// Factors of the whitened coordinates: all 1.
    ones: Vec<f64>,
    constants: Vec<f64>,
    placement: Placement,
}

impl TiedPrepared {
    pub(super) fn new(components: &TiedGaussian, weights: &[f64], centre: &[f64]) -> Result<Self, Error> {
        let n = components.n_columns();
        let root = cholesky(components.covariance(), n, 0.0).map_err(not_positive_definite(0))?;
        let ln_determinant_half: f64 = (0..n).map(|i| scalar_ln(root[packed(i, i)])).sum();
        let mut factor = invert_lower(&root, n);
        factor.iter_mut().for_each(|entry| *entry *= (0.5 * std::f64::consts::LOG2_E).sqrt());
        let placement = Placement::new(&components.means, centre, |_, d| components.covariance[d * n + d]);
        let mut offsets = Vec::with_capacity(weights.len() * n);
        for k in 0..weights.len() {
            let rest = placement.rest(k, components.mean(k));
            let whitened = |i: usize| (0..=i).map(|j| -factor[packed(i, j)] * rest[j]).sum::<f64>();
            offsets.extend((0..n).map(whitened));
        }
        let constant = |&weight: &f64| (ln_constant(weight, n) - ln_determinant_half) * std::f64::consts::LOG2_E;
        let constants = weights.iter().map(constant).collect();
        Ok(Self { n_columns: n, factor, ones: vec![1.0; offsets.len()], offsets, constants, placement })
    }

    pub(super) fn placement(&self) -> &Placement {
        &self.placement
    }

    pub(super) fn n_components(&self) -> usize {
        self.constants.len()
    }

    pub(super) fn log2_joint_into(
        &self,
        set: InstructionSet,
        block: &[Lanes],
        scratch: &mut TiedScratch,
        out: &mut [Lanes],
    ) {
        let n = self.n_columns;
        let TiedScratch { rows, whitened, .. } = scratch;
        let mut is_common = false;
        for run in self.placement.runs() {
            let is_far = self.placement.shift(run.start).is_some();
            // Components about the common centre share the whitened block.
            if is_far || !is_common {
                let block = self.placement.taken_about(run.start, block, rows);
                set.run(Transform { block, factor: &self.factor, out: whitened });
            }
            is_common = !is_far;
            let (factors, offsets) =
                (&self.ones[run.start * n..run.end * n], &self.offsets[run.start * n..run.end * n]);
            let (constants, out) = (&self.constants[run.clone()], &mut out[run]);
            set.run(Stretch { block: &whitened[..], factors, offsets, constants, out });
        }
    }
}
