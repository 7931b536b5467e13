//! Accumulates weights, first and second moments of all components.

use serde::{Deserialize, Serialize};

use super::super::matrix::packed;
use super::super::placement::shift_rows;
use super::super::triangle::Triangle;
use super::{FullGaussian, FullPrepared};
use crate::family::{CommonRows, Moments, OwnRows, Weights};
use crate::kernels::{DotProducts, InstructionSet, Lanes, OuterProducts, Products, Side};

/// Column pairs whose products are formed at a time: 12 · 8 blocks · 128 bytes stay in the L1 cache.
const PAIRS_AT_A_TIME: usize = 6;
/// Up to this many components are cheaper one by one than with products shared among them.
const FEW_COMPONENTS: usize = 4;
/// For each component Σw·(x,1)(x,1)ᵀ about its centre, as a packed lower triangle.
///
/// The last row of the triangle holds the first moments and, in its corner, the total weight.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FullMoments {
    n_columns: usize,
    packed: Vec<f64>,
    centres: Vec<f64>,
}

/// Buffers of one worker.
#[derive(Debug)]
pub struct FullScratch {
    /// Rows shifted for a component far away.
    pub(super) rows: Vec<Lanes>,
    products: Vec<Lanes>,
    triangle: Triangle,
}

impl FullScratch {
    pub(super) fn new(n_columns: usize, n_blocks: usize) -> Self {
        let stride = n_columns + 1;
        Self {
            rows: vec![Lanes::all(0.0); stride * n_blocks],
            products: vec![Lanes::all(0.0); PAIRS_AT_A_TIME * n_blocks],
            triangle: Triangle::new(stride, n_blocks),
        }
    }
}

impl FullMoments {
    pub(super) fn new(n_components: usize, n_columns: usize) -> Self {
        Self {
            n_columns,
            packed: vec![0.0; n_components * packed(n_columns + 1, 0)],
            centres: vec![0.0; n_components * n_columns],
        }
    }

    /// Of rows of these components, each about its mean.
    pub(super) fn expected(components: &FullGaussian, weights: &[f64]) -> Self {
        let n = components.mean(0).len();
        let mut moments = Self::new(weights.len(), n);
        for (k, &weight) in weights.iter().enumerate() {
            moments.centres[k * n..][..n].copy_from_slice(components.mean(k));
            let (covariance, triangle) = (components.covariance(k), moments.triangle_mut(k));
            for i in 0..n {
                for j in 0..=i {
                    triangle[packed(i, j)] = weight * covariance[i * n + j];
                }
            }
            triangle[packed(n, n)] = weight;
        }
        moments
    }

    pub(super) fn reset(&mut self, centres: &[f64]) {
        self.packed.fill(0.0);
        self.centres.copy_from_slice(centres);
    }

    pub(super) fn n_components(&self) -> usize {
        self.centres.len() / self.n_columns
    }

    /// The point that the moments of a component are centred on.
    pub fn centre(&self, component: usize) -> &[f64] {
        &self.centres[component * self.n_columns..][..self.n_columns]
    }

    /// Σw(x − centre) of a component.
    pub fn first(&self, component: usize) -> &[f64] {
        &self.triangle(component)[packed(self.n_columns, 0)..][..self.n_columns]
    }

    /// Entry (i, j ≤ i) of Σw(x − centre)(x − centre)ᵀ of a component.
    pub fn second(&self, component: usize, i: usize, j: usize) -> f64 {
        self.triangle(component)[packed(i, j)]
    }

    /// The mean less the centre, and the covariance matrix, of a component's weighted rows.
    pub(super) fn shift_and_covariance(&self, component: usize) -> (Vec<f64>, Vec<f64>) {
        let (n, weight) = (self.n_columns, self.weight(component));
        let shift: Vec<f64> = self.first(component).iter().map(|sum| sum / weight).collect();
        let mut covariance = vec![0.0; n * n];
        for i in 0..n {
            for j in 0..=i {
                let entry = self.second(component, i, j) / weight - shift[i] * shift[j];
                covariance[i * n + j] = entry;
                covariance[j * n + i] = entry;
            }
        }
        (shift, covariance)
    }

    fn triangle_mut(&mut self, component: usize) -> &mut [f64] {
        let size = packed(self.n_columns + 1, 0);
        &mut self.packed[component * size..][..size]
    }

    fn triangle(&self, component: usize) -> &[f64] {
        let size = packed(self.n_columns + 1, 0);
        &self.packed[component * size..][..size]
    }

    pub(super) fn add_common(
        &mut self,
        prepared: &FullPrepared,
        set: InstructionSet,
        CommonRows { blocks, weights }: CommonRows<'_>,
        scratch: &mut FullScratch,
    ) {
        let n_components = prepared.n_components();
        // Many components about the common centre share their products; of few, or of one about its own
        // mean, the rows are weighted for each alone.
        for run in prepared.placement().runs() {
            if run.len() <= FEW_COMPONENTS {
                for component in run {
                    let weights = Weights { blocks: &weights[component..], stride: n_components };
                    let rows = prepared.placement().rows_about(component, blocks, &mut scratch.rows);
                    scratch.triangle.add(set, rows, Some(weights), self.triangle_mut(component));
                }
            } else {
                let run = Side { blocks: weights, stride: n_components, first: run.start, n: run.len() };
                self.add_near(prepared, set, blocks, run, scratch);
            }
        }
    }

    /// Components about the common centre: products of columns once, times everyone's weights.
    fn add_near(
        &mut self,
        prepared: &FullPrepared,
        set: InstructionSet,
        blocks: &[Lanes],
        run: Side<'_>,
        scratch: &mut FullScratch,
    ) {
        let stride = prepared.n_columns() + 1;
        let size = packed(stride, 0);
        let n_blocks = blocks.len() / stride;
        if set.is_wide() {
            return OuterProducts { blocks, stride, weights: run, out: &mut self.packed[run.first * size..] }.add(set);
        }
        let mut done = 0;
        for pairs in prepared.pairs().chunks(PAIRS_AT_A_TIME) {
            let products = &mut scratch.products[..pairs.len() * n_blocks];
            set.run(Products { blocks, stride, pairs, out: products });
            let right = Side { blocks: products, stride: pairs.len(), first: 0, n: pairs.len() };
            let out = &mut self.packed[run.first * size + done..];
            DotProducts { left: run, right, n_blocks }.add_to(set, out, size);
            done += pairs.len();
        }
    }

    pub(super) fn add_own(
        &mut self,
        prepared: &FullPrepared,
        set: InstructionSet,
        OwnRows { component, rows, weights }: OwnRows<'_>,
        scratch: &mut FullScratch,
    ) {
        if let Some(shift) = prepared.placement().shift(component) {
            shift_rows(rows, shift);
        }
        scratch.triangle.add(set, rows, weights, self.triangle_mut(component));
    }
}

impl Moments for FullMoments {
    fn merge(&mut self, other: &Self) {
        assert_eq!(self.centres, other.centres, "invariant: statistics of one pass share their centres");
        self.packed.iter_mut().zip(&other.packed).for_each(|(a, b)| *a += b);
    }

    fn scale(&mut self, factor: f64) {
        self.packed.iter_mut().for_each(|sum| *sum *= factor);
    }

    fn add_scaled(&mut self, other: &Self, factor: f64) {
        let n = self.n_columns;
        for component in 0..self.n_components() {
            let shift: Vec<f64> =
                other.centre(component).iter().zip(self.centre(component)).map(|(from, to)| from - to).collect();
            let (weight, first) = (other.weight(component), other.first(component));
            let source = other.triangle(component);
            let triangle = self.triangle_mut(component);
            for i in 0..n {
                for j in 0..=i {
                    let moved = shift[i] * first[j] + first[i] * shift[j] + weight * shift[i] * shift[j];
                    triangle[packed(i, j)] += factor * (source[packed(i, j)] + moved);
                }
                triangle[packed(n, i)] += factor * (first[i] + weight * shift[i]);
            }
            triangle[packed(n, n)] += factor * weight;
        }
    }

    fn weight(&self, component: usize) -> f64 {
        self.triangle(component)[packed(self.n_columns, self.n_columns)]
    }
}
