//! Prepares whitening factors and evaluates log-densities of blocks.

use std::ops::Range;
use std::sync::OnceLock;

use super::super::matrix::{cholesky, for_components, invert_lower, packed};
use super::narrow::NarrowPrepared;
use super::{FullGaussian, FullScratch};
use crate::Error;
use crate::family::{Family, Near};
use crate::kernels::{ErrorBound, InstructionSet, Lanes, NarrowLanes, Whiten, WhitenNear, scalar_ln};

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
        if is_far(&shift, covariance) {
            self.centres.extend(mean);
            self.offsets.extend(std::iter::repeat_n(0.0, n));
            self.shifts.push(Some(shift));
        } else {
            self.centres.extend(centre);
            self.offsets.extend(offset_of(whitening, &shift));
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

    /// b of every component for rows about the common centre, far components too.
    pub(super) fn common_offsets(&self) -> Vec<f64> {
        let (n, mut offsets) = (self.n_columns, self.offsets.clone());
        for (component, out) in offsets.chunks_exact_mut(n).enumerate() {
            if let Some(shift) = self.shift(component) {
                let (factor, ..) = self.parameters(component..component + 1);
                out.iter_mut().zip(offset_of(factor, shift)).for_each(|(out, offset)| *out = offset);
            }
        }
        offsets
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

    pub(super) fn narrow_slopes(&self) -> &[f32] {
        self.narrow().expect("invariant: asked for its bound first").slopes()
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
    pub(super) fn run_from(&self, first: usize) -> Range<usize> {
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
        let mut first = 0;
        while first < self.n_components() {
            let run = self.run_from(first);
            self.whiten(set, block, run.clone(), scratch, &mut out[run.clone()]);
            first = run.end;
        }
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
        let mut first = 0;
        while first < self.n_components() {
            let run = self.run_from(first);
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
            first = run.end;
        }
        n_near
    }

    pub(super) fn narrow_near_into(
        &self,
        set: InstructionSet,
        block: &[NarrowLanes],
        near: Near<'_, NarrowLanes, f32>,
    ) -> usize {
        self.narrow().expect("invariant: asked for its bound first").near_into(set, block, near)
    }

    /// The block as the component takes it: about the common centre or about its own.
    fn taken_about<'a>(&self, component: usize, block: &'a [Lanes], scratch: &'a mut FullScratch) -> &'a [Lanes] {
        match self.shift(component) {
            None => &block[..self.n_columns],
            Some(shift) => scratch.shifted(&block[..self.n_columns], shift),
        }
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

/// Whether a component so far from where its rows are taken about loses digits that it could have.
pub(super) fn is_far(shift: &[f64], covariance: &[f64]) -> bool {
    let n = shift.len();
    shift.iter().enumerate().any(|(d, shift)| shift * shift > FAR * covariance[d * n + d])
}

/// −A·shift.
fn offset_of(factor: &[f64], shift: &[f64]) -> impl Iterator<Item = f64> {
    (0..shift.len()).map(|i| (0..=i).map(|j| -factor[packed(i, j)] * shift[j]).sum())
}
