//! Accumulates weights and sums of all components, and one matrix of second moments.

use serde::{Deserialize, Serialize};

use super::super::matrix::packed;
use super::super::placement::shift_rows;
use super::super::triangle::Triangle;
use super::{TiedGaussian, TiedPrepared};
use crate::family::{CommonRows, Family, Moments, OwnRows, Weights, weights_of};
use crate::kernels::{DotProducts, InstructionSet, Lanes, Side, TotalWeights};

/// For each component Σw·x and Σw about its centre, and Σ_k Σw·(x,1)(x,1)ᵀ about the same centres, as
/// a packed lower triangle.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TiedMoments {
    n_columns: usize,
    sums: Vec<f64>,
    triangle: Vec<f64>,
    centres: Vec<f64>,
}

/// Buffers of one worker.
#[derive(Debug)]
pub struct TiedScratch {
    /// Rows shifted for a component far away.
    pub(super) rows: Vec<Lanes>,
    /// One block in whitened coordinates.
    pub(super) whitened: Vec<Lanes>,
    /// For each block the rows' weights in all near components.
    weights: Vec<Lanes>,
    triangle: Triangle,
}

impl TiedScratch {
    pub(super) fn new(n_columns: usize, n_blocks: usize) -> Self {
        let stride = n_columns + 1;
        Self {
            rows: vec![Lanes::all(0.0); stride * n_blocks],
            whitened: vec![Lanes::all(0.0); n_columns],
            weights: vec![Lanes::all(0.0); n_blocks],
            triangle: Triangle::new(stride, n_blocks),
        }
    }
}

impl TiedMoments {
    pub(super) fn new(n_components: usize, n_columns: usize) -> Self {
        Self {
            n_columns,
            sums: vec![0.0; n_components * (n_columns + 1)],
            triangle: vec![0.0; packed(n_columns + 1, 0)],
            centres: vec![0.0; n_components * n_columns],
        }
    }

    /// Of rows of these components, each about its mean.
    pub(super) fn expected(components: &TiedGaussian, weights: &[f64]) -> Self {
        let n = components.n_columns();
        let mut moments = Self::new(weights.len(), n);
        moments.centres = components.centres();
        for (k, &weight) in weights.iter().enumerate() {
            moments.sums[k * (n + 1) + n] = weight;
        }
        let whole: f64 = weights.iter().sum();
        for i in 0..n {
            for j in 0..=i {
                moments.triangle[packed(i, j)] = whole * components.covariance()[i * n + j];
            }
        }
        moments.triangle[packed(n, n)] = whole;
        moments
    }

    pub(super) fn reset(&mut self, centres: &[f64]) {
        self.sums.fill(0.0);
        self.triangle.fill(0.0);
        self.centres.copy_from_slice(centres);
    }

    /// The point that the moments of a component are centred on.
    pub fn centre(&self, component: usize) -> &[f64] {
        &self.centres[component * self.n_columns..][..self.n_columns]
    }

    /// Σw(x − centre) of a component.
    pub fn first(&self, component: usize) -> &[f64] {
        &self.sums[component * (self.n_columns + 1)..][..self.n_columns]
    }

    /// Entry (i, j ≤ i) of Σ_k Σw(x − centre_k)(x − centre_k)ᵀ.
    pub fn second(&self, i: usize, j: usize) -> f64 {
        self.triangle[packed(i, j)]
    }

    pub(super) fn add_common(
        &mut self,
        prepared: &TiedPrepared,
        set: InstructionSet,
        CommonRows { blocks, weights }: CommonRows<'_>,
        scratch: &mut TiedScratch,
    ) {
        let (n, n_components) = (self.n_columns + 1, prepared.n_components());
        let n_blocks = blocks.len() / n;
        let TiedScratch { rows: shifted, weights: near, triangle, .. } = scratch;
        near[..n_blocks].fill(Lanes::all(0.0));
        for run in prepared.placement().runs() {
            let rows = prepared.placement().rows_about(run.start, blocks, shifted);
            let left = Side { blocks: weights, stride: n_components, first: run.start, n: run.len() };
            if prepared.placement().shift(run.start).is_some() {
                let of_component = Weights { blocks: &weights[run.start..], stride: n_components };
                triangle.add(set, rows, Some(of_component), &mut self.triangle);
            } else {
                set.run(TotalWeights { weights: left, out: near });
            }
            let right = Side { blocks: rows, stride: n, first: 0, n };
            DotProducts { left, right, n_blocks }.add_to(set, &mut self.sums[run.start * n..], n);
        }
        // Once for all components about the common centre.
        triangle.add(set, blocks, Some(Weights { blocks: near, stride: 1 }), &mut self.triangle);
    }

    pub(super) fn add_own(
        &mut self,
        prepared: &TiedPrepared,
        set: InstructionSet,
        OwnRows { component, rows, weights }: OwnRows<'_>,
        scratch: &mut TiedScratch,
    ) {
        if let Some(shift) = prepared.placement().shift(component) {
            shift_rows(rows, shift);
        }
        let n = self.n_columns + 1;
        let left = weights_of(rows, self.n_columns, weights);
        let right = Side { blocks: rows, stride: n, first: 0, n };
        let n_blocks = rows.len() / n;
        DotProducts { left, right, n_blocks }.add_to(set, &mut self.sums[component * n..], n);
        scratch.triangle.add(set, rows, weights, &mut self.triangle);
    }
}

impl Moments for TiedMoments {
    fn merge(&mut self, other: &Self) {
        assert_eq!(self.centres, other.centres, "invariant: statistics of one pass share their centres");
        self.sums.iter_mut().zip(&other.sums).for_each(|(a, b)| *a += b);
        self.triangle.iter_mut().zip(&other.triangle).for_each(|(a, b)| *a += b);
    }

    fn scale(&mut self, factor: f64) {
        self.sums.iter_mut().chain(&mut self.triangle).for_each(|sum| *sum *= factor);
    }

    fn add_scaled(&mut self, other: &Self, factor: f64) {
        let n = self.n_columns;
        self.triangle.iter_mut().zip(&other.triangle).for_each(|(sum, other)| *sum += factor * other);
        for component in 0..self.centres.len() / n {
            let shift: Vec<f64> =
                other.centre(component).iter().zip(self.centre(component)).map(|(from, to)| from - to).collect();
            let (weight, first) = (other.weight(component), other.first(component));
            for i in 0..n {
                for j in 0..=i {
                    let moved = shift[i] * first[j] + first[i] * shift[j] + weight * shift[i] * shift[j];
                    self.triangle[packed(i, j)] += factor * moved;
                }
            }
            let sums = &mut self.sums[component * (n + 1)..][..=n];
            for d in 0..n {
                sums[d] += factor * (first[d] + weight * shift[d]);
            }
            sums[n] += factor * weight;
        }
    }

    fn weight(&self, component: usize) -> f64 {
        self.sums[component * (self.n_columns + 1) + self.n_columns]
    }
}
