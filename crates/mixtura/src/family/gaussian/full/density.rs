//! Prepares whitening factors and evaluates log-densities of blocks.

use std::ops::Range;
use std::sync::OnceLock;

use super::super::matrix::{cholesky, for_components, invert_lower, packed};
use super::super::narrow::{Narrowed, Spread, Wide};
use super::super::placement::Placement;
use super::super::{ln_constant, not_positive_definite};
use super::{FullGaussian, FullScratch};
use crate::Error;
use crate::family::{Family, Near};
use crate::kernels::{ErrorBound, InstructionSet, Lanes, Whiten, WhitenGroups, WhitenNear, grouped, scalar_ln};

/// Whitening factors and constants of all components.
///
/// A_k = √(½ log₂e) L_k⁻¹ for Σ_k = L_k L_kᵀ, so that log₂ N(x) = constant − |A_k (x − μ_k)|².
#[derive(Debug)]
pub struct FullPrepared {
    n_columns: usize,
    factors: Vec<f64>,
    offsets: Vec<f64>,
    constants: Vec<f64>,
    /// Factors and offsets of each run of components as wide registers use them, made when first asked for.
    groups: OnceLock<Vec<f64>>,
    placement: Placement,
    spread: Spread,
    /// (i, j ≤ i) in packed order, of the D columns and the column of ones.
    pairs: Vec<(u32, u32)>,
    /// The same in single precision, made when first asked for.
    narrow: OnceLock<Option<Narrowed>>,
}

impl FullPrepared {
    pub(super) fn new(components: &FullGaussian, weights: &[f64], centre: &[f64]) -> Result<Self, Error> {
        let n = components.n_columns();
        let half_log2_e = 0.5 * std::f64::consts::LOG2_E;
        let mut prepared = Self {
            n_columns: n,
            factors: Vec::with_capacity(components.n_components() * n * (n + 1) / 2),
            offsets: Vec::with_capacity(components.n_components() * n),
            constants: Vec::with_capacity(components.n_components()),
            groups: OnceLock::new(),
            placement: Placement::new(&components.means, centre, |k, d| components.covariance(k)[d * n + d]),
            spread: Spread::new(&components.means, weights, centre, |k, d| components.covariance(k)[d * n + d]),
            pairs: (0..=n as u32).flat_map(|i| (0..=i).map(move |j| (i, j))).collect(),
            narrow: OnceLock::new(),
        };
        let whitenings = for_components(weights.len(), n, |component| {
            let factor =
                cholesky(components.covariance(component), n, 0.0).map_err(not_positive_definite(component))?;
            let ln_determinant_half: f64 = (0..n).map(|i| scalar_ln(factor[packed(i, i)])).sum();
            let mut whitening = invert_lower(&factor, n);
            whitening.iter_mut().for_each(|entry| *entry *= half_log2_e.sqrt());
            Ok((whitening, ln_determinant_half))
        });
        for (component, (whitening, &weight)) in whitenings.into_iter().zip(weights).enumerate() {
            let (whitening, ln_determinant_half) = whitening?;
            let constant = ln_constant(weight, n) - ln_determinant_half;
            prepared.constants.push(constant * std::f64::consts::LOG2_E);
            let rest = prepared.placement.rest(component, components.mean(component));
            prepared.offsets.extend(offset_of(&whitening, &rest));
            prepared.factors.extend(whitening);
        }
        Ok(prepared)
    }

    pub(super) fn n_components(&self) -> usize {
        self.constants.len()
    }

    pub(super) fn n_columns(&self) -> usize {
        self.n_columns
    }

    /// b of every component for rows about the common centre, far components too.
    fn common_offsets(&self) -> Vec<f64> {
        let (n, mut offsets) = (self.n_columns, self.offsets.clone());
        for (component, out) in offsets.chunks_exact_mut(n).enumerate() {
            if let Some(shift) = self.placement.shift(component) {
                let (factor, ..) = self.parameters(component..component + 1);
                out.iter_mut().zip(offset_of(factor, shift)).for_each(|(out, offset)| *out = offset);
            }
        }
        offsets
    }

    pub(super) fn narrow_bound(&self) -> Option<ErrorBound> {
        let narrowed = || {
            Narrowed::with_steepest(&Wide {
                entries: &self.pairs[..packed(self.n_columns, 0)],
                factors: &self.factors,
                offsets: &self.common_offsets(),
                constants: &self.constants,
                spread: &self.spread,
            })
        };
        self.narrow.get_or_init(narrowed).as_ref().map(|narrow| narrow.bound)
    }

    pub(super) fn narrow(&self) -> &Narrowed {
        self.narrow.get().and_then(Option::as_ref).expect("invariant: asked for its bound first")
    }

    pub(super) fn placement(&self) -> &Placement {
        &self.placement
    }

    pub(super) fn pairs(&self) -> &[(u32, u32)] {
        &self.pairs
    }

    pub(super) fn log2_joints_into(
        &self,
        set: InstructionSet,
        blocks: &[Lanes],
        scratch: &mut FullScratch,
        out: &mut [Lanes],
    ) {
        let (n_columns, constants) = (self.n_columns, &self.constants[..]);
        if set.is_wide() && self.placement.is_common() {
            let (stride, parameters) = (n_columns + 1, self.groups());
            return set.run_wide(WhitenGroups { blocks, stride, n_columns, parameters, constants, out });
        }
        for (block, out) in blocks.chunks_exact(n_columns + 1).zip(out.chunks_exact_mut(constants.len())) {
            self.log2_joint_into(set, block, scratch, out);
        }
    }

    pub(super) fn log2_joint_into(
        &self,
        set: InstructionSet,
        block: &[Lanes],
        scratch: &mut FullScratch,
        out: &mut [Lanes],
    ) {
        for run in self.placement.runs() {
            if !set.is_wide() {
                self.whiten(set, block, run.clone(), scratch, &mut out[run]);
                continue;
            }
            let size = self.n_columns + packed(self.n_columns, 0);
            let parameters = &self.groups()[run.start * size..run.end * size];
            let block = self.taken_about(run.start, block, scratch);
            set.run_wide(WhitenGroups {
                blocks: block,
                stride: self.n_columns,
                n_columns: self.n_columns,
                parameters,
                constants: &self.constants[run.clone()],
                out: &mut out[run],
            });
        }
    }

    fn groups(&self) -> &[f64] {
        self.groups.get_or_init(|| {
            let mut groups = Vec::with_capacity(self.factors.len() + self.offsets.len());
            for run in self.placement.runs() {
                let (factors, offsets, _) = self.parameters(run);
                groups.extend_from_slice(&grouped(self.n_columns, factors, offsets));
            }
            groups
        })
    }

    /// Log-densities of components that are all near, or of one.
    fn whiten(
        &self,
        set: InstructionSet,
        block: &[Lanes],
        run: Range<usize>,
        scratch: &mut FullScratch,
        out: &mut [Lanes],
    ) {
        let (factors, offsets, constants) = self.parameters(run.clone());
        set.run(Whiten { block: self.taken_about(run.start, block, scratch), factors, offsets, constants, out });
    }

    pub(super) fn log2_near_into(
        &self,
        set: InstructionSet,
        block: &[Lanes],
        scratch: &mut FullScratch,
        near: Near<'_, Lanes, f64>,
    ) -> usize {
        let Near { hints, least, out, components } = near;
        let mut largest = Lanes::all(f64::NEG_INFINITY);
        for &hint in hints {
            let run = hint as usize..hint as usize + 1;
            let mut hinted = [Lanes::all(0.0)];
            self.whiten(set, block, run, scratch, &mut hinted);
            largest.0 = std::array::from_fn(|lane| largest[lane].max(hinted[0][lane]));
        }
        let mut n_near = 0;
        for run in self.placement.runs() {
            let first = run.start;
            let (factors, offsets, constants) = self.parameters(run.clone());
            let found = set.run(WhitenNear {
                block: self.taken_about(run.start, block, scratch),
                factors,
                offsets,
                constants,
                least: &least[run.clone()],
                largest: &largest,
                out: &mut out[n_near..],
                near: &mut components[n_near..],
            });
            components[n_near..n_near + found].iter_mut().for_each(|component| *component += first as u32);
            n_near += found;
        }
        n_near
    }

    fn taken_about<'a>(&self, component: usize, block: &'a [Lanes], scratch: &'a mut FullScratch) -> &'a [Lanes] {
        self.placement.taken_about(component, block, &mut scratch.rows)
    }

    fn parameters(&self, run: Range<usize>) -> (&[f64], &[f64], &[f64]) {
        let (n, n_factor) = (self.n_columns, packed(self.n_columns, 0));
        (
            &self.factors[run.start * n_factor..run.end * n_factor],
            &self.offsets[run.start * n..run.end * n],
            &self.constants[run],
        )
    }
}

/// −A·shift.
fn offset_of(factor: &[f64], shift: &[f64]) -> impl Iterator<Item = f64> {
    (0..shift.len()).map(|i| (0..=i).map(|j| -factor[packed(i, j)] * shift[j]).sum())
}
