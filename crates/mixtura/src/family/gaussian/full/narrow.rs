//! Prepares single-precision log-densities and the bound on their error.

use super::density::FullPrepared;
use crate::family::Near;
use crate::kernels::{ErrorBound, InstructionSet, NarrowLanes, ROUNDOFF, Whiten, WhitenNear};

/// Sizes within which products of single-precision numbers neither overflow nor lose digits to underflow.
const SIZES: std::ops::RangeInclusive<f64> = 1e-25..=1e25;

/// Whitening factors and constants in single precision.
#[derive(Debug)]
pub(super) struct NarrowPrepared {
    factors: Vec<f32>,
    offsets: Vec<f32>,
    constants: Vec<f32>,
    slopes: Vec<f32>,
    bound: ErrorBound,
}

impl NarrowPrepared {
    /// Rounds the factors; none if sizes do not suit single precision.
    pub(super) fn new(prepared: &FullPrepared) -> Option<Self> {
        let n = prepared.n_columns();
        let offsets = prepared.common_offsets();
        let length = |values: &[f64]| values.iter().map(|x| x * x).sum::<f64>().sqrt();
        let slopes: Vec<f64> = prepared.factors().chunks_exact(n * (n + 1) / 2).map(length).collect();
        let slope = slopes.iter().copied().fold(0.0, f64::max);
        let reach = slopes.iter().zip(offsets.chunks_exact(n)).map(|(slope, offset)| length(offset) / slope);
        let reach = reach.fold(0.0, f64::max);
        if !slopes.iter().all(|slope| SIZES.contains(slope)) || slope * reach > *SIZES.end() {
            return None;
        }
        let common = prepared.constants().iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let n_terms = (n + 3) as f64;
        let roundoff = f64::from(ROUNDOFF);
        // Rounded up a little, because the bound itself is computed in single precision.
        let gamma = 1.001 * n_terms * roundoff / (1.0 - 2.0 * n_terms * roundoff);
        let narrow = |values: &[f64]| values.iter().map(|&x| x as f32).collect();
        Some(Self {
            factors: narrow(prepared.factors()),
            offsets: narrow(&offsets),
            constants: prepared.constants().iter().map(|constant| (constant - common) as f32).collect(),
            slopes: slopes.iter().map(|slope| (gamma * slope) as f32).collect(),
            bound: ErrorBound {
                slope: (gamma * slope) as f32,
                reach: (1.001 * reach) as f32,
                gamma: gamma as f32,
                n_roundings: 1.0,
                common,
            },
        })
    }

    pub(super) fn bound(&self) -> ErrorBound {
        self.bound
    }

    /// γ·‖A‖ of each component.
    pub(super) fn slopes(&self) -> &[f32] {
        &self.slopes
    }

    pub(super) fn joint_into(&self, set: InstructionSet, block: &[NarrowLanes], out: &mut [NarrowLanes]) {
        let Self { factors, offsets, constants, .. } = self;
        set.run(Whiten { block, factors, offsets, constants, out });
    }

    pub(super) fn near_into(
        &self,
        set: InstructionSet,
        block: &[NarrowLanes],
        near: Near<'_, NarrowLanes, f32>,
    ) -> usize {
        let n = block.len();
        let n_factor = n * (n + 1) / 2;
        let mut largest = NarrowLanes::all(f32::NEG_INFINITY);
        for hint in near.hints.iter().map(|&hint| hint as usize) {
            let mut hinted = [NarrowLanes::all(0.0)];
            set.run(Whiten {
                block,
                factors: &self.factors[hint * n_factor..][..n_factor],
                offsets: &self.offsets[hint * n..][..n],
                constants: &self.constants[hint..=hint],
                out: &mut hinted,
            });
            largest.0 = std::array::from_fn(|lane| largest.0[lane].max(hinted[0].0[lane]));
        }
        let Self { factors, offsets, constants, .. } = self;
        let Near { least, out, components: near, .. } = near;
        set.run(WhitenNear { block, factors, offsets, constants, least, largest: &largest, out, near })
    }
}
