//! Prepares whitening factors and evaluates log-densities of blocks.

use std::sync::OnceLock;

use super::super::matrix::{cholesky, for_components, invert_lower, packed};
use super::narrow::NarrowPrepared;
use super::{FullGaussian, FullScratch};
use crate::Error;
use crate::family::Family;
use crate::kernels::{ErrorBound, InstructionSet, Lanes, NarrowLanes, Whiten, scalar_ln};

/// A component farther from the common centre than this, in squared standard deviations of a
/// column, has its rows centred about its own mean: otherwise its variances would lose more than
/// six of their sixteen digits.
const FAR: f64 = 1e6;

/// Whitening factors and constants of all components.
///
/// A_k = √(½ log₂e) L_k⁻¹ for Σ_k = L_k L_kᵀ, so that log₂ N(x) = constant − |A_k (x − μ_k)|².
#[derive(Debug)]
pub struct FullPrepared {
    n_columns: usize,
    factors: Vec<f64>,
    offsets: Vec<f64>,
    constants: Vec<f64>,
    /// For each component what its rows are taken about, in the data's units.
    centres: Vec<f64>,
    /// For each component far away its centre less the common one.
    shifts: Vec<Option<Vec<f64>>>,
    /// (i, j ≤ i) in packed order, of the D columns and the column of ones.
    pairs: Vec<(u32, u32)>,
    /// The same in single precision, made when first asked for.
    narrow: OnceLock<Option<NarrowPrepared>>,
}

impl FullPrepared {
    pub(super) fn new(components: &FullGaussian, weights: &[f64], centre: &[f64]) -> Result<Self, Error> {
        let n = components.n_columns();
        let half_log2_e = 0.5 * std::f64::consts::LOG2_E;
        let ln_two_pi = scalar_ln(std::f64::consts::TAU);
        let mut prepared = Self {
            n_columns: n,
            factors: Vec::with_capacity(components.n_components() * n * (n + 1) / 2),
            offsets: Vec::with_capacity(components.n_components() * n),
            constants: Vec::with_capacity(components.n_components()),
            centres: Vec::with_capacity(components.n_components() * n),
            shifts: Vec::with_capacity(components.n_components()),
            pairs: (0..=n as u32).flat_map(|i| (0..=i).map(move |j| (i, j))).collect(),
            narrow: OnceLock::new(),
        };
        let whitenings = for_components(weights.len(), n, |component| {
            let factor = cholesky(components.covariance(component), n, 0.0)
                .map_err(|bad| Error::NotPositiveDefinite { component, pivot: bad.pivot, value: bad.value })?;
            let ln_determinant_half: f64 = (0..n).map(|i| scalar_ln(factor[packed(i, i)])).sum();
            let mut whitening = invert_lower(&factor, n);
            whitening.iter_mut().for_each(|entry| *entry *= half_log2_e.sqrt());
            Ok((whitening, ln_determinant_half))
        });
        for (component, (whitening, &weight)) in whitenings.into_iter().zip(weights).enumerate() {
            let (whitening, ln_determinant_half) = whitening?;
            let ln_weight = if weight > 0.0 { scalar_ln(weight) } else { f64::NEG_INFINITY };
            let constant = ln_weight - ln_determinant_half - 0.5 * n as f64 * ln_two_pi;
            prepared.constants.push(constant * std::f64::consts::LOG2_E);
            prepared.place(components.mean(component), components.covariance(component), centre, &whitening);
            prepared.factors.extend(whitening);
        }
        Ok(prepared)
    }

    /// Decides what the component's rows are taken about, and the offset b that follows.
    fn place(&mut self, mean: &[f64], covariance: &[f64], centre: &[f64], whitening: &[f64]) {
        let n = self.n_columns;
        let shift: Vec<f64> = mean.iter().zip(centre).map(|(mean, centre)| mean - centre).collect();
        let is_far = shift.iter().enumerate().any(|(d, shift)| shift * shift > FAR * covariance[d * n + d]);
        if is_far {
            self.centres.extend(mean);
            self.offsets.extend(std::iter::repeat_n(0.0, n));
            self.shifts.push(Some(shift));
        } else {
            self.centres.extend(centre);
            let offset = |i| -> f64 { (0..=i).map(|j| -whitening[packed(i, j)] * shift[j]).sum() };
            self.offsets.extend((0..n).map(offset));
            self.shifts.push(None);
        }
    }

    pub(super) fn n_components(&self) -> usize {
        self.constants.len()
    }

    pub(super) fn n_columns(&self) -> usize {
        self.n_columns
    }

    pub(super) fn factors(&self) -> &[f64] {
        &self.factors
    }

    pub(super) fn offsets(&self) -> &[f64] {
        &self.offsets
    }

    pub(super) fn constants(&self) -> &[f64] {
        &self.constants
    }

    fn narrow(&self) -> Option<&NarrowPrepared> {
        self.narrow.get_or_init(|| NarrowPrepared::new(self)).as_ref()
    }

    pub(super) fn narrow_bound(&self) -> Option<ErrorBound> {
        self.narrow().map(NarrowPrepared::bound)
    }

    pub(super) fn narrow_joint_into(&self, set: InstructionSet, block: &[NarrowLanes], out: &mut [NarrowLanes]) {
        self.narrow().expect("invariant: asked for its bound first").joint_into(set, block, out);
    }

    pub(super) fn centres(&self) -> &[f64] {
        &self.centres
    }

    pub(super) fn pairs(&self) -> &[(u32, u32)] {
        &self.pairs
    }

    /// What to subtract from centred rows for this component, if it is far away.
    pub(super) fn shift(&self, component: usize) -> Option<&[f64]> {
        self.shifts[component].as_deref()
    }

    /// The components from `first` on that are as near or as far as it is: one if far, else all near ones in a row.
    pub(super) fn run_from(&self, first: usize) -> std::ops::Range<usize> {
        if self.shifts[first].is_some() {
            return first..first + 1;
        }
        let n_near = self.shifts[first..].iter().take_while(|shift| shift.is_none()).count();
        first..first + n_near
    }

    pub(super) fn log2_joint_into(
        &self,
        set: InstructionSet,
        block: &[Lanes],
        scratch: &mut FullScratch,
        out: &mut [Lanes],
    ) {
        let n = self.n_columns;
        let n_factor = n * (n + 1) / 2;
        let mut first = 0;
        while first < self.n_components() {
            let run = self.run_from(first);
            let block = match self.shift(first) {
                None => &block[..n],
                Some(shift) => scratch.shifted(&block[..n], shift),
            };
            set.run(Whiten {
                block,
                factors: &self.factors[run.start * n_factor..run.end * n_factor],
                offsets: &self.offsets[run.start * n..run.end * n],
                constants: &self.constants[run.clone()],
                out: &mut out[run.clone()],
            });
            first = run.end;
        }
    }
}
