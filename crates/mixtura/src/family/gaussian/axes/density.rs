//! Prepares factors along the axes and evaluates log-densities of blocks.

use std::sync::OnceLock;

use super::super::narrow::{Narrowed, Spread, Wide};
use super::super::placement::Placement;
use super::{Axes, AxisGaussian, AxisScratch};
use crate::Error;
use crate::family::Family;
use crate::kernels::{InstructionSet, Lanes, NarrowLanes, Stretch, scalar_ln};

/// Factors a = √(½ log₂e)/σ, offsets b and constants of all components, so that
/// log₂ N(x) = constant − Σ_d (a_d x_d + b_d)².
#[derive(Debug)]
pub struct AxisPrepared {
    n_columns: usize,
    factors: Vec<f64>,
    offsets: Vec<f64>,
    constants: Vec<f64>,
    placement: Placement,
    spread: Spread,
    /// The same in single precision, made when first asked for.
    narrow: OnceLock<Option<Narrowed>>,
}

impl AxisPrepared {
    pub(super) fn new<A: Axes>(components: &AxisGaussian<A>, weights: &[f64], centre: &[f64]) -> Result<Self, Error> {
        components.check()?;
        let n = components.n_columns();
        let placement = Placement::new(&components.means, centre, |k, d| components.variance(k, d));
        let spread = Spread::new(&components.means, weights, centre, |k, d| components.variance(k, d));
        let (mut factors, mut offsets, mut constants) = (Vec::new(), Vec::new(), Vec::new());
        for (k, &weight) in weights.iter().enumerate() {
            let mut constant = super::super::ln_constant(weight, n);
            for (d, rest) in placement.rest(k, components.mean(k)).into_iter().enumerate() {
                let variance = components.variance(k, d);
                let factor = (0.5 * std::f64::consts::LOG2_E / variance).sqrt();
                factors.push(factor);
                offsets.push(-factor * rest);
                constant -= 0.5 * scalar_ln(variance);
            }
            constants.push(constant * std::f64::consts::LOG2_E);
        }
        Ok(Self { n_columns: n, factors, offsets, constants, placement, spread, narrow: OnceLock::new() })
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
        scratch: &mut AxisScratch,
        out: &mut [Lanes],
    ) {
        let n = self.n_columns;
        for run in self.placement.runs() {
            let block = self.placement.taken_about(run.start, block, &mut scratch.rows);
            let factors = &self.factors[run.start * n..run.end * n];
            let offsets = &self.offsets[run.start * n..run.end * n];
            set.run(Stretch { block, factors, offsets, constants: &self.constants[run.clone()], out: &mut out[run] });
        }
    }

    pub(super) fn narrow(&self) -> Option<&Narrowed> {
        let narrowed = || {
            let entries: Vec<(u32, u32)> = (0..self.n_columns as u32).map(|d| (d, d)).collect();
            Narrowed::new(&Wide {
                entries: &entries,
                factors: &self.factors,
                offsets: &self.common_offsets(),
                constants: &self.constants,
                spread: &self.spread,
            })
        };
        self.narrow.get_or_init(narrowed).as_ref()
    }

    pub(super) fn narrow_joint_into(&self, set: InstructionSet, block: &[NarrowLanes], out: &mut [NarrowLanes]) {
        let narrow = self.narrow().expect("invariant: asked for its bound first");
        let Narrowed { factors, offsets, constants, .. } = narrow;
        set.run(Stretch { block, factors, offsets, constants, out });
    }

    /// b of every component for rows about the common centre, far components too.
    fn common_offsets(&self) -> Vec<f64> {
        let (n, mut offsets) = (self.n_columns, self.offsets.clone());
        for (component, out) in offsets.chunks_exact_mut(n).enumerate() {
            if let Some(shift) = self.placement.shift(component) {
                for (d, out) in out.iter_mut().enumerate() {
                    *out = -self.factors[component * n + d] * shift[d];
                }
            }
        }
        offsets
    }
}
