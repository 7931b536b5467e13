//! Accumulates weights, sums and squares of all components.

use serde::{Deserialize, Serialize};

use super::super::placement::shift_rows;
use super::{Axes, AxisGaussian, AxisPrepared};
use crate::family::{CommonRows, Family, Moments, OwnRows, weights_of};
use crate::kernels::{DotProducts, InstructionSet, Lanes, Side, Squares};

/// For each component Σw·x, Σw and Σw·x² about its centre: a square for each column, or their sum.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AxisMoments {
    n_columns: usize,
    n_squares: usize,
    sums: Vec<f64>,
    centres: Vec<f64>,
}

/// Buffers of one worker.
#[derive(Debug)]
pub struct AxisScratch {
    /// Rows shifted for a component far away.
    pub(super) rows: Vec<Lanes>,
    squares: Vec<Lanes>,
}

impl AxisScratch {
    pub(super) fn new(n_columns: usize, n_squares: usize, n_blocks: usize) -> Self {
        Self {
            rows: vec![Lanes::all(0.0); (n_columns + 1) * n_blocks],
            squares: vec![Lanes::all(0.0); n_squares * n_blocks],
        }
    }
}

impl AxisMoments {
    pub(super) fn new(n_components: usize, n_columns: usize, n_squares: usize) -> Self {
        Self {
            n_columns,
            n_squares,
            sums: vec![0.0; n_components * (n_columns + 1 + n_squares)],
            centres: vec![0.0; n_components * n_columns],
        }
    }

    /// Of rows of these components, each about its mean.
    pub(super) fn expected<A: Axes>(components: &AxisGaussian<A>, weights: &[f64]) -> Self {
        let (n, n_squares) = (components.n_columns(), A::n_variances(components.n_columns()));
        let mut moments = Self::new(weights.len(), n, n_squares);
        moments.centres = components.centres();
        // A variance that several columns share is that of each.
        let n_shared = (n / n_squares) as f64;
        for (sums, (k, &weight)) in moments.sums.chunks_exact_mut(n + 1 + n_squares).zip(weights.iter().enumerate()) {
            sums[n] = weight;
            for (square, variance) in sums[n + 1..].iter_mut().zip(components.variances(k)) {
                *square = weight * n_shared * variance;
            }
        }
        moments
    }

    pub(super) fn reset(&mut self, centres: &[f64]) {
        self.sums.fill(0.0);
        self.centres.copy_from_slice(centres);
    }

    fn stride(&self) -> usize {
        self.n_columns + 1 + self.n_squares
    }

    fn sums(&self, component: usize) -> &[f64] {
        &self.sums[component * self.stride()..][..self.stride()]
    }

    /// The point that the moments of a component are centred on.
    pub fn centre(&self, component: usize) -> &[f64] {
        &self.centres[component * self.n_columns..][..self.n_columns]
    }

    /// Σw(x − centre) of a component.
    pub fn first(&self, component: usize) -> &[f64] {
        &self.sums(component)[..self.n_columns]
    }

    /// Σw(x − centre)² of a component: for each column, or summed over them.
    pub fn second(&self, component: usize) -> &[f64] {
        &self.sums(component)[self.n_columns + 1..]
    }

    pub(super) fn add_common(
        &mut self,
        prepared: &AxisPrepared,
        set: InstructionSet,
        CommonRows { blocks, weights }: CommonRows<'_>,
        scratch: &mut AxisScratch,
    ) {
        let stride = prepared.n_components();
        let AxisScratch { rows: shifted, squares, .. } = scratch;
        let mut squares_are_common = false;
        for run in prepared.placement().runs() {
            let rows = prepared.placement().rows_about(run.start, blocks, shifted);
            // Components about the common centre share their squares.
            let is_far = prepared.placement().shift(run.start).is_some();
            if is_far || !squares_are_common {
                self.square(set, rows, squares);
            }
            squares_are_common = !is_far;
            let left = Side { blocks: weights, stride, first: run.start, n: run.len() };
            let start = run.start * self.stride();
            self.add_at(set, rows, squares, left, start);
        }
    }

    pub(super) fn add_own(
        &mut self,
        prepared: &AxisPrepared,
        set: InstructionSet,
        OwnRows { component, rows, weights }: OwnRows<'_>,
        scratch: &mut AxisScratch,
    ) {
        if let Some(shift) = prepared.placement().shift(component) {
            shift_rows(rows, shift);
        }
        self.square(set, rows, &mut scratch.squares);
        let left = weights_of(rows, self.n_columns, weights);
        let start = component * self.stride();
        self.add_at(set, rows, &scratch.squares, left, start);
    }

    fn square(&self, set: InstructionSet, blocks: &[Lanes], out: &mut [Lanes]) {
        let Self { n_columns, n_squares, .. } = *self;
        set.run(Squares { blocks, stride: n_columns + 1, n_columns, n_squares, out });
    }

    /// Adds rows that belong to one component or to several, from this place of the sums on.
    fn add_at(&mut self, set: InstructionSet, rows: &[Lanes], squares: &[Lanes], left: Side<'_>, start: usize) {
        let (n, stride) = (self.n_columns + 1, self.stride());
        let n_blocks = rows.len() / n;
        let columns = Side { blocks: rows, stride: n, first: 0, n };
        DotProducts { left, right: columns, n_blocks }.add_to(set, &mut self.sums[start..], stride);
        let squares = Side { blocks: squares, stride: self.n_squares, first: 0, n: self.n_squares };
        DotProducts { left, right: squares, n_blocks }.add_to(set, &mut self.sums[start + n..], stride);
    }
}

impl Moments for AxisMoments {
    fn merge(&mut self, other: &Self) {
        assert_eq!(self.centres, other.centres, "invariant: statistics of one pass share their centres");
        self.sums.iter_mut().zip(&other.sums).for_each(|(a, b)| *a += b);
    }

    fn scale(&mut self, factor: f64) {
        self.sums.iter_mut().for_each(|sum| *sum *= factor);
    }

    fn add_scaled(&mut self, other: &Self, factor: f64) {
        let (n, stride) = (self.n_columns, self.stride());
        for component in 0..self.centres.len() / n {
            let (weight, first) = (other.weight(component), other.first(component));
            let mut moved = other.sums(component).to_vec();
            for d in 0..n {
                let shift = other.centre(component)[d] - self.centre(component)[d];
                moved[d] += weight * shift;
                moved[n + 1 + d.min(self.n_squares - 1)] += (2.0 * first[d] + weight * shift) * shift;
            }
            let sums = &mut self.sums[component * stride..][..stride];
            sums.iter_mut().zip(moved).for_each(|(sum, moved)| *sum += factor * moved);
        }
    }

    fn weight(&self, component: usize) -> f64 {
        self.sums(component)[self.n_columns]
    }
}
