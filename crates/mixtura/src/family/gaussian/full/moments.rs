//! Accumulates weights, first and second moments of all components.

use serde::{Deserialize, Serialize};

use super::super::matrix::packed;
use super::FullPrepared;
use crate::family::{Moments, Weights};
use crate::kernels::{DotProducts, InstructionSet, Lanes, Products, Scale, Side};

/// Column pairs whose products are formed at a time: 12 · 8 blocks · 128 bytes stay in the L1 cache.
const PAIRS_AT_A_TIME: usize = 6;
/// Up to so many components are cheaper one by one than by products shared among them.
const FEW_COMPONENTS: usize = 4;
/// Rows of a triangle updated at a time; the height of a tile of dot products.
const TRIANGLE_STEP: usize = 4;

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
    rows: Vec<Lanes>,
    /// A few columns of every block, weighted.
    strip: Vec<Lanes>,
    products: Vec<Lanes>,
    /// A few rows of a square matrix.
    square: Vec<f64>,
}

impl FullScratch {
    pub(super) fn new(n_columns: usize, n_blocks: usize) -> Self {
        let stride = n_columns + 1;
        Self {
            rows: vec![Lanes::all(0.0); stride * n_blocks],
            strip: vec![Lanes::all(0.0); TRIANGLE_STEP * n_blocks],
            products: vec![Lanes::all(0.0); PAIRS_AT_A_TIME * n_blocks],
            square: vec![0.0; TRIANGLE_STEP * stride],
        }
    }

    /// The block less `shift`.
    pub(super) fn shifted(&mut self, block: &[Lanes], shift: &[f64]) -> &[Lanes] {
        let out = &mut self.rows[..block.len()];
        for ((out, block), shift) in out.iter_mut().zip(block).zip(shift) {
            *out = Lanes(block.map(|x| x - shift));
        }
        out
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

    pub(super) fn reset(&mut self, centres: &[f64]) {
        self.packed.fill(0.0);
        self.centres.copy_from_slice(centres);
    }

    /// What the moments of a component are taken about.
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

    fn triangle_mut(&mut self, component: usize) -> &mut [f64] {
        let size = packed(self.n_columns + 1, 0);
        &mut self.packed[component * size..][..size]
    }

    fn triangle(&self, component: usize) -> &[f64] {
        let size = packed(self.n_columns + 1, 0);
        &self.packed[component * size..][..size]
    }

    pub(super) fn add_weighted(
        &mut self,
        prepared: &FullPrepared,
        set: InstructionSet,
        blocks: &[Lanes],
        weights: &[Lanes],
        scratch: &mut FullScratch,
    ) {
        let n_components = prepared.n_components();
        let mut first = 0;
        // Runs of components about the common centre share their products.
        while first < n_components {
            if let Some(shift) = prepared.shift(first) {
                self.add_far(set, blocks, (first, n_components, weights), shift, scratch);
                first += 1;
                continue;
            }
            let run = prepared.run_from(first);
            first = run.end;
            if run.len() <= FEW_COMPONENTS {
                run.for_each(|k| self.add_alone(set, blocks, (k, n_components, weights), scratch));
                continue;
            }
            let run = Side { blocks: weights, stride: n_components, first: run.start, n: run.len() };
            self.add_near(prepared, set, blocks, run, scratch);
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

    /// One of few components: its rows weighted for it alone, because products would serve too few.
    fn add_alone(
        &mut self,
        set: InstructionSet,
        blocks: &[Lanes],
        (component, n_components, weights): (usize, usize, &[Lanes]),
        scratch: &mut FullScratch,
    ) {
        let weights = Some(Weights { blocks: &weights[component..], stride: n_components });
        let FullScratch { strip, square, .. } = scratch;
        add_triangle(set, blocks, weights, strip, square, self.triangle_mut(component));
    }

    /// A component about its own mean: rows shifted and weighted for it alone.
    fn add_far(
        &mut self,
        set: InstructionSet,
        blocks: &[Lanes],
        (component, n_components, weights): (usize, usize, &[Lanes]),
        shift: &[f64],
        scratch: &mut FullScratch,
    ) {
        let rows = &mut scratch.rows[..blocks.len()];
        rows.copy_from_slice(blocks);
        shift_rows(rows, shift);
        let weights = Some(Weights { blocks: &weights[component..], stride: n_components });
        add_triangle(set, rows, weights, &mut scratch.strip, &mut scratch.square, self.triangle_mut(component));
    }

    pub(super) fn add_rows(
        &mut self,
        prepared: &FullPrepared,
        set: InstructionSet,
        component: usize,
        rows: &mut [Lanes],
        weights: Option<Weights<'_>>,
        scratch: &mut FullScratch,
    ) {
        if let Some(shift) = prepared.shift(component) {
            shift_rows(rows, shift);
        }
        add_triangle(set, rows, weights, &mut scratch.strip, &mut scratch.square, self.triangle_mut(component));
    }
}

/// Subtracts `shift` from the columns of all rows; where the column of ones is zero there is no row.
fn shift_rows(rows: &mut [Lanes], shift: &[f64]) {
    for block in rows.chunks_exact_mut(shift.len() + 1) {
        let ones = block[shift.len()];
        for (column, shift) in block.iter_mut().zip(shift) {
            column.0 = std::array::from_fn(|lane| column[lane] - shift * ones[lane]);
        }
    }
}

/// Adds Σ w·x·xᵀ to a packed lower triangle, a few of its rows at a time.
fn add_triangle(
    set: InstructionSet,
    rows: &[Lanes],
    weights: Option<Weights<'_>>,
    strip: &mut [Lanes],
    square: &mut [f64],
    triangle: &mut [f64],
) {
    let stride = square.len() / TRIANGLE_STEP;
    let n_blocks = rows.len() / stride;
    for first in (0..stride).step_by(TRIANGLE_STEP) {
        let n = TRIANGLE_STEP.min(stride - first);
        let left = match weights {
            None => Side { blocks: rows, stride, first, n },
            Some(weights) => {
                let (columns, out) = (first..first + n, &mut strip[..n * n_blocks]);
                let Weights { blocks: weights, stride: weight_stride } = weights;
                set.run(Scale { blocks: rows, stride, columns, weights, weight_stride, out });
                Side { blocks: strip, stride: n, first: 0, n }
            }
        };
        let right = Side { blocks: rows, stride, first: 0, n: first + n };
        let square = &mut square[..n * stride];
        square.fill(0.0);
        DotProducts { left, right, n_blocks }.add_to(set, square, stride);
        for (i, row) in (first..first + n).zip(square.chunks_exact(stride)) {
            for (sum, addend) in triangle[packed(i, 0)..].iter_mut().zip(&row[..=i]) {
                *sum += addend;
            }
        }
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
        for component in 0..self.centres.len() / n {
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
