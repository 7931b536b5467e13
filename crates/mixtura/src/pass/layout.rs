//! Groups rows by component, so that a family receives the rows of one component side by side.

use crate::family::{OwnRows, Weights};
use crate::kernels::{Consecutive, Distribute, Gather, InstructionSet, LANES, Lanes, SQUARE, n_squares};

/// The label of a row of weight 0.
pub(super) const NO_LABEL: u32 = u32::MAX;
/// Number of components that may leave a block partly filled.
const UNFILLED: usize = 32;
/// With so many columns, or rows of so many components, copying numbers one by one is slower than transposing squares.
const MANY_COLUMNS: usize = 4 * SQUARE;
const MANY_COMPONENTS: usize = 32;

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
    gathering: Gathering,
}

/// Buffers for rows that are copied sixteen at a time, empty if they are not.
struct Gathering {
    /// All rows, one after the other, then two of zeros.
    rows: Vec<Lanes>,
    /// The row that belongs at each position.
    picked: Vec<u32>,
    /// Number of the first row of zeros.
    none: u32,
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
            gathering: Gathering { rows: Vec::new(), picked: Vec::new(), none: (n_blocks * LANES) as u32 },
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
        set: InstructionSet,
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
        let gathers = Gathering::pays(set, self.stride, self.counts.len());
        if gathers {
            self.gathering.take(set, blocks, self.stride);
            self.gathering.picked.resize(self.weights.len() * LANES, 0);
        }
        let mut first = 0;
        // As many components at a time as fit into the buffer.
        while first < self.counts.len() {
            let source = if gathers { Source::Gathering } else { Source::Blocks(blocks) };
            let components = first..self.lay_out(set, source, shares.clone(), (first, unit_weights));
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
        set: InstructionSet,
        source: Source<'_>,
        shares: impl Iterator<Item = Share>,
        (first, unit_weights): (usize, bool),
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
                self.weights[done - 1] = Lanes::all(0.0);
                match source {
                    Source::Blocks(_) => self.rows[(done - 1) * stride..][..stride].fill(Lanes::all(0.0)),
                    Source::Gathering => self.gathering.pick_none(done - 1),
                }
            }
        }
        let (places, weights) = (&mut self.places[first..end], &mut self.weights);
        // Numbers of components before the first wrap around and are too large as well.
        let placed = shares.filter_map(|Share { row, component, weight }| {
            let place = places.get_mut((component as usize).wrapping_sub(first))?;
            let to = *place;
            *place += 1;
            if !unit_weights {
                weights[to as usize / LANES][to as usize % LANES] = weight;
            }
            Some((row, to))
        });
        match source {
            Source::Blocks(blocks) => set.run(Distribute { blocks, stride, rows: placed, out: &mut self.rows }),
            Source::Gathering => {
                placed.for_each(|(row, to)| self.gathering.picked[to as usize] = row);
                self.gathering.put(set, &mut self.rows[..done * stride], stride);
            }
        }
        end
    }
}

/// Where rows are copied from.
#[derive(Clone, Copy)]
enum Source<'a> {
    /// The blocks, number by number.
    Blocks(&'a [Lanes]),
    /// A copy of the rows, sixteen at a time.
    Gathering,
}

impl Gathering {
    /// Whether rows are copied faster this way.
    fn pays(set: InstructionSet, stride: usize, n_components: usize) -> bool {
        set.is_wide() && (stride >= MANY_COLUMNS || n_components >= MANY_COMPONENTS && stride >= SQUARE)
    }

    /// Copies the rows of all blocks. The buffer is made when it is first needed.
    fn take(&mut self, set: InstructionSet, blocks: &[Lanes], stride: usize) {
        self.rows.resize((self.none as usize / 2 + 1) * n_squares(stride), Lanes::all(0.0));
        for (block, out) in blocks.chunks_exact(stride).zip(self.rows.chunks_exact_mut(LANES / 2 * n_squares(stride))) {
            set.run(Consecutive { block, out });
        }
    }

    /// Leaves a block empty: all of its lanes are the row of zeros.
    fn pick_none(&mut self, block: usize) {
        self.picked[block * LANES..][..LANES].fill(self.none);
    }

    /// Puts picked rows into blocks.
    fn put(&self, set: InstructionSet, blocks: &mut [Lanes], stride: usize) {
        let (picked, _) = self.picked.as_chunks();
        for (out, picked) in blocks.chunks_exact_mut(stride).zip(picked) {
            set.run(Gather { rows: &self.rows, picked, out });
        }
    }
}
