//! Groups rows by component, so that a family receives the rows of one component side by side.

use crate::family::{OwnRows, Weights};
use crate::kernels::{LANES, Lanes};

/// The label of a row of weight 0.
pub(super) const NO_LABEL: u32 = u32::MAX;
/// Number of components that may leave a block partly filled.
const UNFILLED: usize = 32;

/// The part of a row's weight that belongs to one component.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Share {
    /// The row's number in its group.
    pub row: u32,
    /// The component, or `NO_LABEL`.
    pub component: u32,
    /// The weight.
    pub weight: f64,
}

/// Buffers for rows grouped by component.
pub(crate) struct Layout {
    /// Number of `Lanes` per block: the columns and the column of ones.
    stride: usize,
    rows: Vec<Lanes>,
    /// Weights of the rows, one `Lanes` per block.
    weights: Vec<Lanes>,
    /// Number of rows of each component.
    counts: Vec<u32>,
    /// For each component being laid out, the position of its next row.
    places: Vec<u32>,
}

impl Layout {
    /// Buffers for groups of up to `n_blocks` blocks.
    pub(crate) fn new(n_components: usize, n_columns: usize, n_blocks: usize) -> Self {
        let stride = n_columns + 1;
        // No more components than rows can be non-empty.
        let n_laid_out = n_blocks + n_components.min(UNFILLED).min(n_blocks * LANES);
        Self {
            stride,
            rows: vec![Lanes::all(0.0); stride * n_laid_out],
            weights: vec![Lanes::all(0.0); n_laid_out],
            counts: vec![0; n_components],
            places: vec![0; n_components],
        }
    }

    /// Number of rows that each component had in the last group.
    pub(super) fn counts(&self) -> &[u32] {
        &self.counts
    }

    /// Passes on the rows of every non-empty component, without weights if all are 1. Values past a component's last
    /// row are 0, including the column of ones.
    pub(crate) fn for_components(
        &mut self,
        blocks: &[Lanes],
        shares: &(impl Iterator<Item = Share> + Clone),
        unit_weights: bool,
        mut each: impl FnMut(OwnRows<'_>),
    ) {
        self.counts.fill(0);
        for share in shares.clone() {
            if let Some(count) = self.counts.get_mut(share.component as usize) {
                *count += 1;
            }
        }
        let mut first = 0;
        // As many components at a time as fit into the buffer.
        while first < self.counts.len() {
            let components = first..self.lay_out(blocks, shares.clone(), first, unit_weights);
            let mut done = 0;
            for component in components.clone() {
                let n_blocks = self.counts[component].div_ceil(LANES as u32) as usize;
                if n_blocks == 0 {
                    continue;
                }
                let rows = &mut self.rows[done * self.stride..][..n_blocks * self.stride];
                let weights = Weights { blocks: &self.weights[done..], stride: 1 };
                each(OwnRows { component, rows, weights: (!unit_weights).then_some(weights) });
                done += n_blocks;
            }
            first = components.end;
        }
    }

    /// Copies rows of the components from `first` on side by side, in row order and in separate blocks for each
    /// component. Returns the first component that did not fit.
    fn lay_out(
        &mut self,
        blocks: &[Lanes],
        shares: impl Iterator<Item = Share>,
        first: usize,
        unit_weights: bool,
    ) -> usize {
        let stride = self.stride;
        let (mut done, mut end) = (0, first);
        while end < self.counts.len() {
            let count = self.counts[end] as usize;
            let n_blocks = count.div_ceil(LANES);
            if done + n_blocks > self.weights.len() {
                break;
            }
            self.places[end] = (done * LANES) as u32;
            done += n_blocks;
            end += 1;
            if !count.is_multiple_of(LANES) {
                self.rows[(done - 1) * stride..][..stride].fill(Lanes::all(0.0));
                self.weights[done - 1] = Lanes::all(0.0);
            }
        }
        let places = &mut self.places[first..end];
        for Share { row, component, weight } in shares {
            // Numbers of components before the first wrap around and are too large as well.
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
                self.weights[to][to_lane] = weight;
            }
        }
        end
    }
}
