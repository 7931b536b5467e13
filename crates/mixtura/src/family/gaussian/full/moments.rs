//! Accumulates weights, first and second moments of all components.

use serde::{Deserialize, Serialize};

use super::super::matrix::packed;
use super::FullPrepared;
use crate::family::{Group, Moments};
use crate::kernels::{DotProducts, InstructionSet, LANES, Lanes, Products, Scale, Side, flat};

/// Column pairs whose products are formed at a time: 12 · 8 blocks · 128 bytes stay in the L1 cache.
const PAIRS_AT_A_TIME: usize = 6;
/// Up to so many components are cheaper one by one than by products shared among them.
const FEW_COMPONENTS: usize = 4;
/// Rows of a triangle updated at a time; the height of a tile of dot products.
const TRIANGLE_STEP: usize = 4;

/// For each component Σw·(x,1)(x,1)ᵀ about its centre, as a packed lower triangle, and Σw².
///
/// The last row of the triangle holds the first moments and, in its corner, the total weight.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FullMoments {
    n_columns: usize,
    packed: Vec<f64>,
    squared_weights: Vec<f64>,
    centres: Vec<f64>,
}

/// Buffers of one worker.
#[derive(Debug)]
pub struct FullScratch {
    shifted: Vec<Lanes>,
    left: Vec<Lanes>,
    products: Vec<Lanes>,
    square: Vec<f64>,
    order: Vec<u32>,
    ends: Vec<u32>,
}

impl FullScratch {
    pub(super) fn new(n_components: usize, n_columns: usize, n_blocks: usize) -> Self {
        Self {
            shifted: vec![Lanes::all(0.0); (n_columns + 1) * n_blocks],
            left: vec![Lanes::all(0.0); (n_columns + 1) * n_blocks],
            products: vec![Lanes::all(0.0); PAIRS_AT_A_TIME * n_blocks],
            square: vec![0.0; (n_columns + 1) * (n_columns + 1)],
            order: vec![0; n_blocks * LANES],
            ends: vec![0; n_components + 1],
        }
    }

    /// The block less `shift`.
    pub(super) fn shifted(&mut self, block: &[Lanes], shift: &[f64]) -> &[Lanes] {
        let out = &mut self.shifted[..block.len()];
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
            squared_weights: vec![0.0; n_components],
            centres: vec![0.0; n_components * n_columns],
        }
    }

    pub(super) fn reset(&mut self, centres: &[f64]) {
        self.packed.fill(0.0);
        self.squared_weights.fill(0.0);
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
        group: Group<'_>,
        weights: &[Lanes],
        scratch: &mut FullScratch,
    ) {
        let n_components = prepared.n_components();
        let mut first = 0;
        // Runs of components about the common centre share their products.
        while first < n_components {
            if let Some(shift) = prepared.shift(first) {
                self.add_far(set, group, (first, n_components, weights), shift, scratch);
                first += 1;
                continue;
            }
            let run = prepared.run_from(first);
            first = run.end;
            if run.len() <= FEW_COMPONENTS {
                run.for_each(|k| self.add_alone(set, group, (k, n_components, weights), scratch));
                continue;
            }
            let run = Side { blocks: weights, stride: n_components, first: run.start, n: run.len() };
            self.add_near(prepared, set, group, run, scratch);
        }
    }

    /// Components about the common centre: products of columns once, times everyone's weights.
    fn add_near(
        &mut self,
        prepared: &FullPrepared,
        set: InstructionSet,
        group: Group<'_>,
        run: Side<'_>,
        scratch: &mut FullScratch,
    ) {
        let stride = prepared.n_columns() + 1;
        let size = packed(stride, 0);
        let n_blocks = group.blocks.len() / stride;
        let mut done = 0;
        for pairs in prepared.pairs().chunks(PAIRS_AT_A_TIME) {
            let products = &mut scratch.products[..pairs.len() * n_blocks];
            set.run(Products { blocks: group.blocks, stride, pairs, out: products });
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
        group: Group<'_>,
        (component, n_components, weights): (usize, usize, &[Lanes]),
        scratch: &mut FullScratch,
    ) {
        let stride = self.n_columns + 1;
        let n_blocks = group.blocks.len() / stride;
        for (block, columns) in group.blocks.chunks_exact(stride).enumerate() {
            let weight = weights[block * n_components + component];
            let out = &mut scratch.left[block * stride..][..stride];
            set.run(Scale { columns, weight: &weight, out });
        }
        let left = &scratch.left[..n_blocks * stride];
        add_triangle(set, left, group.blocks, &mut scratch.square, self.triangle_mut(component));
    }

    /// A component about its own mean: rows shifted and weighted for it alone.
    fn add_far(
        &mut self,
        set: InstructionSet,
        group: Group<'_>,
        (component, n_components, weights): (usize, usize, &[Lanes]),
        shift: &[f64],
        scratch: &mut FullScratch,
    ) {
        let stride = self.n_columns + 1;
        let n_blocks = group.blocks.len() / stride;
        for block in 0..n_blocks {
            let weight = &weights[block * n_components + component];
            for column in 0..stride {
                let at = block * stride + column;
                let shift = shift.get(column).copied().unwrap_or(0.0);
                let shifted = group.blocks[at].map(|x| x - shift);
                scratch.left[at] = Lanes(std::array::from_fn(|lane| shifted[lane] * weight[lane]));
                scratch.shifted[at] = Lanes(shifted);
            }
        }
        let (left, right) = (&scratch.left[..n_blocks * stride], &scratch.shifted[..n_blocks * stride]);
        add_triangle(set, left, right, &mut scratch.square, self.triangle_mut(component));
    }

    pub(super) fn add_labelled(
        &mut self,
        prepared: &FullPrepared,
        set: InstructionSet,
        group: Group<'_>,
        labels: &[u32],
        scratch: &mut FullScratch,
    ) {
        sort_by_label(labels, group.weights, scratch);
        for component in 0..prepared.n_components() {
            let (first, end) = (scratch.ends[component] as usize, scratch.ends[component + 1] as usize);
            if first == end {
                continue;
            }
            self.gather(group, component, first..end, prepared.shift(component), scratch);
            let n_lanes = (end - first).div_ceil(LANES) * (self.n_columns + 1);
            let right = &scratch.shifted[..n_lanes];
            let left = if group.unit_weights { right } else { &scratch.left[..n_lanes] };
            add_triangle(set, left, right, &mut scratch.square, self.triangle_mut(component));
        }
    }

    /// Copies the rows of one component side by side: plain on the right, weighted on the left.
    fn gather(
        &mut self,
        group: Group<'_>,
        component: usize,
        rows: std::ops::Range<usize>,
        shift: Option<&[f64]>,
        scratch: &mut FullScratch,
    ) {
        let stride = self.n_columns + 1;
        let n_rows = rows.len();
        let last = (n_rows - 1) / LANES * stride;
        scratch.shifted[last..last + stride].fill(Lanes::all(0.0));
        scratch.left[last..last + stride].fill(Lanes::all(0.0));
        for (to, &row) in scratch.order[rows].iter().enumerate() {
            let (block, lane) = (row as usize / LANES, row as usize % LANES);
            let source = &group.blocks[block * stride..][..stride];
            let target = &mut scratch.shifted[to / LANES * stride..][..stride];
            for (target, source) in target.iter_mut().zip(source) {
                target[to % LANES] = source[lane];
            }
            if let Some(shift) = shift {
                for (target, shift) in target.iter_mut().zip(shift) {
                    target[to % LANES] -= shift;
                }
            }
            if !group.unit_weights {
                let weight = group.weights[block][lane];
                self.squared_weights[component] += weight * weight;
                for (left, right) in scratch.left[to / LANES * stride..][..stride].iter_mut().zip(target) {
                    left[to % LANES] = weight * right[to % LANES];
                }
            }
        }
        if group.unit_weights {
            self.squared_weights[component] += n_rows as f64;
        }
    }
}

/// Adds left · rightᵀ to a packed lower triangle, a few of its rows at a time.
fn add_triangle(set: InstructionSet, left: &[Lanes], right: &[Lanes], square: &mut [f64], triangle: &mut [f64]) {
    // The triangle of n rows has n(n+1)/2 numbers and the square n².
    let stride = square.len().isqrt();
    let n_blocks = right.len() / stride;
    for first in (0..stride).step_by(TRIANGLE_STEP) {
        let n = TRIANGLE_STEP.min(stride - first);
        let rows = &mut square[..n * stride];
        rows.fill(0.0);
        let left = Side { blocks: left, stride, first, n };
        let right = Side { blocks: right, stride, first: 0, n: first + n };
        DotProducts { left, right, n_blocks }.add_to(set, rows, stride);
        for (i, row) in (first..first + n).zip(rows.chunks_exact(stride)) {
            for (sum, addend) in triangle[packed(i, 0)..].iter_mut().zip(&row[..=i]) {
                *sum += addend;
            }
        }
    }
}

/// Orders the rows of positive weight by label, in their own order within a label (counting sort):
/// rows `order[ends[k]..ends[k + 1]]` carry label k.
fn sort_by_label(labels: &[u32], weights: &[Lanes], scratch: &mut FullScratch) {
    let ends = &mut scratch.ends;
    ends.fill(0);
    for (&label, weight) in labels.iter().zip(flat(weights)) {
        ends[label as usize] += u32::from(weight > 0.0);
    }
    let mut total = 0;
    for end in ends.iter_mut() {
        let n = *end;
        *end = total;
        total += n;
    }
    // Each slot now holds the first place of its label, and after the loop the first of the next.
    for (row, (&label, weight)) in labels.iter().zip(flat(weights)).enumerate() {
        if weight > 0.0 {
            scratch.order[ends[label as usize] as usize] = row as u32;
            ends[label as usize] += 1;
        }
    }
    ends.rotate_right(1);
    ends[0] = 0;
}

impl Moments for FullMoments {
    fn merge(&mut self, other: &Self) {
        assert_eq!(self.centres, other.centres, "invariant: statistics of one pass share their centres");
        self.packed.iter_mut().zip(&other.packed).for_each(|(a, b)| *a += b);
        self.squared_weights.iter_mut().zip(&other.squared_weights).for_each(|(a, b)| *a += b);
    }

    fn weight(&self, component: usize) -> f64 {
        self.triangle(component)[packed(self.n_columns, self.n_columns)]
    }

    fn effective_rows(&self, component: usize) -> f64 {
        let weight = self.weight(component);
        if weight > 0.0 { weight * weight / self.squared_weights[component] } else { 0.0 }
    }
}
