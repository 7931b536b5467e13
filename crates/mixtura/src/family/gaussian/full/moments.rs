//! Accumulates weights, first and second moments of all components.

use serde::{Deserialize, Serialize};

use super::super::matrix::packed;
use super::FullPrepared;
use crate::family::{Group, Moments, Share};
use crate::kernels::{DotProducts, InstructionSet, LANES, Lanes, Products, Scale, Side};

/// Column pairs whose products are formed at a time: 12 · 8 blocks · 128 bytes stay in the L1 cache.
const PAIRS_AT_A_TIME: usize = 6;
/// Up to so many components are cheaper one by one than by products shared among them.
const FEW_COMPONENTS: usize = 4;
/// Rows of a triangle updated at a time; the height of a tile of dot products.
const TRIANGLE_STEP: usize = 4;
/// Components that may leave a block unfilled when rows are laid out by component.
const UNFILLED: usize = 32;

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
    /// Rows shifted or laid out by component, as blocks.
    rows: Vec<Lanes>,
    /// Weights of rows that are laid out, a `Lanes` for each block.
    row_weights: Vec<Lanes>,
    /// A few columns of every block, weighted.
    strip: Vec<Lanes>,
    products: Vec<Lanes>,
    /// A few rows of a square matrix.
    square: Vec<f64>,
    /// For each component how many rows carry its label.
    counts: Vec<u32>,
    /// For each component that is laid out the place of its next row.
    places: Vec<u32>,
}

impl FullScratch {
    pub(super) fn new(n_components: usize, n_columns: usize, n_blocks: usize) -> Self {
        let stride = n_columns + 1;
        let n_laid_out = n_blocks + n_components.min(UNFILLED);
        Self {
            rows: vec![Lanes::all(0.0); stride * n_laid_out],
            row_weights: vec![Lanes::all(0.0); n_laid_out],
            strip: vec![Lanes::all(0.0); TRIANGLE_STEP * n_laid_out],
            products: vec![Lanes::all(0.0); PAIRS_AT_A_TIME * n_blocks],
            square: vec![0.0; TRIANGLE_STEP * stride],
            counts: vec![0; n_components],
            places: vec![0; n_components],
        }
    }

    /// Copies rows of the components from `first` on side by side: in blocks of their own for each
    /// component, in their own order. Returns the first component that found no room.
    fn lay_out(
        &mut self,
        stride: usize,
        blocks: &[Lanes],
        shares: impl Iterator<Item = Share>,
        first: usize,
        unit_weights: bool,
    ) -> usize {
        let (mut done, mut end) = (0, first);
        while end < self.counts.len() {
            let count = self.counts[end] as usize;
            let n_blocks = count.div_ceil(LANES);
            if done + n_blocks > self.row_weights.len() {
                break;
            }
            self.places[end] = (done * LANES) as u32;
            done += n_blocks;
            end += 1;
            if !count.is_multiple_of(LANES) {
                self.rows[(done - 1) * stride..][..stride].fill(Lanes::all(0.0));
                self.row_weights[done - 1] = Lanes::all(0.0);
            }
        }
        let places = &mut self.places[first..end];
        for Share { row, component, weight } in shares {
            // Components before the first wrap around and are too large as well.
            let Some(place) = places.get_mut((component as usize).wrapping_sub(first)) else {
                continue;
            };
            let (to, to_lane) = (*place as usize / LANES, *place as usize % LANES);
            *place += 1;
            let (source, lane) = (&blocks[row as usize / LANES * stride..][..stride], row as usize % LANES);
            for (target, source) in self.rows[to * stride..][..stride].iter_mut().zip(source) {
                target[to_lane] = source[lane];
            }
            if !unit_weights {
                self.row_weights[to][to_lane] = weight;
            }
        }
        end
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
        let weights = Some(Weights { blocks: &weights[component..], stride: n_components });
        let FullScratch { strip, square, .. } = scratch;
        add_triangle(set, group.blocks, weights, strip, square, self.triangle_mut(component));
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
        let rows = &mut scratch.rows[..group.blocks.len()];
        rows.copy_from_slice(group.blocks);
        shift_rows(rows, shift);
        let weights = Some(Weights { blocks: &weights[component..], stride: n_components });
        add_triangle(set, rows, weights, &mut scratch.strip, &mut scratch.square, self.triangle_mut(component));
    }

    pub(super) fn add_labelled(
        &mut self,
        prepared: &FullPrepared,
        set: InstructionSet,
        group: Group<'_>,
        labels: &[u32],
        scratch: &mut FullScratch,
    ) {
        let rows = (0u32..).zip(labels);
        if group.unit_weights {
            let shares = rows.map(|(row, &component)| Share { row, component, weight: 1.0 });
            self.add_laid_out(prepared, set, group, &shares, true, scratch);
            for (squared, &count) in self.squared_weights.iter_mut().zip(&scratch.counts) {
                *squared += f64::from(count);
            }
            return;
        }
        let weight = |row: u32| group.weights[row as usize / LANES][row as usize % LANES];
        let shares = rows.map(|(row, &component)| Share { row, component, weight: weight(row) });
        self.add_laid_out(prepared, set, group, &shares, false, scratch);
        for share in shares {
            if let Some(squared) = self.squared_weights.get_mut(share.component as usize) {
                *squared += share.weight * share.weight;
            }
        }
    }

    pub(super) fn add_shares(
        &mut self,
        prepared: &FullPrepared,
        set: InstructionSet,
        group: Group<'_>,
        shares: &[Share],
        scratch: &mut FullScratch,
    ) {
        self.add_laid_out(prepared, set, group, &shares.iter().copied(), false, scratch);
    }

    /// Lays rows out by component, as many components at a time as the buffer holds, and adds them.
    fn add_laid_out(
        &mut self,
        prepared: &FullPrepared,
        set: InstructionSet,
        group: Group<'_>,
        shares: &(impl Iterator<Item = Share> + Clone),
        unit_weights: bool,
        scratch: &mut FullScratch,
    ) {
        let stride = self.n_columns + 1;
        scratch.counts.fill(0);
        for share in shares.clone() {
            if let Some(count) = scratch.counts.get_mut(share.component as usize) {
                *count += 1;
            }
        }
        let mut first = 0;
        while first < prepared.n_components() {
            let components = first..scratch.lay_out(stride, group.blocks, shares.clone(), first, unit_weights);
            let mut done = 0;
            for component in components.clone() {
                let n_blocks = scratch.counts[component].div_ceil(LANES as u32) as usize;
                if n_blocks == 0 {
                    continue;
                }
                let rows = &mut scratch.rows[done * stride..][..n_blocks * stride];
                if let Some(shift) = prepared.shift(component) {
                    shift_rows(rows, shift);
                }
                let weights = Weights { blocks: &scratch.row_weights[done..], stride: 1 };
                let weights = (!unit_weights).then_some(weights);
                add_triangle(set, rows, weights, &mut scratch.strip, &mut scratch.square, self.triangle_mut(component));
                done += n_blocks;
            }
            first = components.end;
        }
    }
}

/// Weights of rows: `blocks[b · stride]` are those of block b.
#[derive(Clone, Copy)]
struct Weights<'a> {
    blocks: &'a [Lanes],
    stride: usize,
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
