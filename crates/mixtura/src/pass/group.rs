//! Rows of a chunk that are processed together, and where their results go.

use std::ops::Range;

use crate::kernels::{InstructionSet, LANES, Lanes};
use crate::rows::{Loader, Rows};

/// How far ahead of the block that is loaded blocks are requested from memory: this many, and as many more as have so
/// many columns in all.
const BLOCKS_AHEAD: usize = 3;
const COLUMNS_AHEAD: usize = 64;

/// Rows that are processed together: loaded, centred, with a column of ones.
pub(super) struct Group {
    /// Number of `Lanes` per block: the columns and the column of ones.
    stride: usize,
    blocks: Vec<Lanes>,
    weights: Vec<Lanes>,
    /// Number of the first block within the piece.
    first: usize,
    n_blocks: usize,
    n_rows: usize,
    /// Blocks that have been loaded.
    n_loaded: usize,
}

impl Group {
    /// Room for up to `n_blocks` blocks.
    pub(super) fn new(n_columns: usize, n_blocks: usize) -> Self {
        Self {
            stride: n_columns + 1,
            blocks: vec![Lanes::all(1.0); n_blocks * (n_columns + 1)],
            weights: vec![Lanes::all(0.0); n_blocks],
            first: 0,
            n_blocks: 0,
            n_rows: 0,
            n_loaded: 0,
        }
    }

    /// Takes `n` blocks starting with number `first`, which are yet to be loaded.
    pub(super) fn take(&mut self, rows: &Rows<'_>, first: usize, n: usize) {
        (0..n).for_each(|i| rows.load_weights(first + i, &mut self.weights[i]));
        (self.first, self.n_blocks, self.n_loaded) = (first, n, 0);
        self.n_rows = ((first + n) * LANES).min(rows.n_rows()) - first * LANES;
    }

    /// Loads the first `n` blocks, except those loaded before, and requests the first part of those a few blocks ahead.
    /// Blocks loaded just before they are used leave memory the time to deliver the next ones.
    pub(super) fn load(&mut self, set: InstructionSet, loader: &Loader<'_>, n: usize) {
        for block in self.n_loaded..n {
            self.prefetch(loader, block, 0);
            loader.load(set, self.first + block, &mut self.blocks[block * self.stride..][..self.stride - 1]);
        }
        self.n_loaded = self.n_loaded.max(n);
    }

    /// Requests another part of what lies a few blocks ahead of this one.
    #[inline]
    pub(super) fn prefetch(&self, loader: &Loader<'_>, block: usize, part: usize) {
        loader.prefetch(self.first + block + BLOCKS_AHEAD + COLUMNS_AHEAD / self.stride, part);
    }

    pub(super) fn n_columns(&self) -> usize {
        self.stride - 1
    }

    pub(super) fn n_blocks(&self) -> usize {
        self.n_blocks
    }

    /// Number of actual rows; lanes of the last block beyond them have weight 0.
    pub(super) fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// Number of the first row within the piece.
    pub(super) fn first_row(&self) -> usize {
        self.first * LANES
    }

    /// All blocks: their columns and the column of ones.
    pub(super) fn blocks(&self) -> &[Lanes] {
        &self.blocks[..self.n_blocks * self.stride]
    }

    /// Some of the blocks.
    pub(super) fn blocks_in(&self, range: Range<usize>) -> &[Lanes] {
        &self.blocks[range.start * self.stride..range.end * self.stride]
    }

    /// One block: the columns and the column of ones.
    pub(super) fn block(&self, block: usize) -> &[Lanes] {
        &self.blocks[block * self.stride..][..self.stride]
    }

    /// Row weights of all blocks.
    pub(super) fn weights(&self) -> &[Lanes] {
        &self.weights[..self.n_blocks]
    }

    /// Copies rows side by side into a block.
    pub(super) fn gather(&self, rows: &[u32], out: &mut [Lanes]) {
        // If there are fewer rows than lanes, the last row is repeated, so that the padding adds no near components.
        let last = rows.last().expect("invariant: some rows");
        for (lane, &row) in rows.iter().chain(std::iter::repeat(last)).take(LANES).enumerate() {
            let (source, at) = (self.block(row as usize / LANES), row as usize % LANES);
            for (target, source) in out.iter_mut().zip(source) {
                target[lane] = source[at];
            }
        }
    }
}

/// Which rows of a group a block contains: a block as it is, or up to 16 rows from anywhere.
#[derive(Clone, Copy)]
pub(super) enum Place<'a> {
    Block(usize),
    Rows(&'a [u32]),
}

impl Place<'_> {
    /// Writes a value for each of the rows to its place in an array over all rows of the group.
    pub(super) fn put<T: Copy>(self, from: &[T; LANES], to: &mut [T]) {
        match self {
            Self::Block(block) => to[block * LANES..][..LANES].copy_from_slice(from),
            Self::Rows(rows) => rows.iter().zip(from).for_each(|(&row, &from)| to[row as usize] = from),
        }
    }

    /// The row in a lane, if there is one.
    pub(super) fn row(self, lane: usize) -> Option<u32> {
        match self {
            Self::Block(block) => Some((block * LANES + lane) as u32),
            Self::Rows(rows) => rows.get(lane).copied(),
        }
    }

    /// Reads a value for each of the rows; 0 past the last one.
    pub(super) fn take(self, from: &[Lanes]) -> Lanes {
        match self {
            Self::Block(block) => from[block],
            Self::Rows(rows) => {
                let mut lanes = Lanes::all(0.0);
                for (lane, &row) in rows.iter().enumerate() {
                    lanes[lane] = from[row as usize / LANES][row as usize % LANES];
                }
                lanes
            }
        }
    }
}
