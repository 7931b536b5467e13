//! Pieces of the data set, and the chunks they are divided into.

use std::ops::Range;

use super::Hints;
use crate::kernels::LANES;
use crate::rows::Loader;
use crate::{Error, Rows};

/// Rows per chunk, the unit of work and of merging. Fixed, because it determines the order of sums.
pub const CHUNK_ROWS: usize = 1024;
/// Blocks per chunk.
pub(crate) const CHUNK_BLOCKS: usize = CHUNK_ROWS / LANES;

/// Consecutive rows of the data set, and their position in it.
#[derive(Clone, Copy)]
pub struct Piece<'a> {
    /// The rows.
    pub rows: &'a Rows<'a>,
    /// Number of the first row in the whole data set, from 0. Random draws are addressed by it.
    pub first_row: u64,
    /// Number of the first chunk in the whole data set, from 0. Results are merged by it.
    pub first_chunk: u64,
    /// What earlier passes learned about these rows. Only speed depends on it.
    pub hints: Option<&'a Hints>,
}

impl<'a> Piece<'a> {
    /// Rows that are the whole data set, or its beginning.
    pub fn of(rows: &'a Rows<'a>) -> Self {
        Self { rows, first_row: 0, first_chunk: 0, hints: None }
    }

    /// Rows that begin at a multiple of [`CHUNK_ROWS`]. All pieces except the last must have a length that is also a
    /// multiple. Pieces cut elsewhere are refused: they need explicit chunk numbers, which continue from one piece to
    /// the next.
    pub fn at(rows: &'a Rows<'a>, first_row: u64) -> Result<Self, Error> {
        if !first_row.is_multiple_of(CHUNK_ROWS as u64) {
            let value = first_row.to_string();
            return Err(Error::Option { option: "the first row of a piece", expected: "a multiple of 1024", value });
        }
        Ok(Self { first_row, first_chunk: first_row / CHUNK_ROWS as u64, ..Self::of(rows) })
    }

    /// Number of chunks in the piece.
    pub fn n_chunks(&self) -> u64 {
        self.rows.n_rows().div_ceil(CHUNK_ROWS) as u64
    }

    /// The chunk with this number in the whole data set.
    pub(super) fn chunk(self, number: u64) -> Chunk<'a> {
        let first = (number - self.first_chunk) as usize * CHUNK_BLOCKS;
        let blocks = first..(first + CHUNK_BLOCKS).min(self.rows.n_blocks());
        Chunk { piece: self, number, blocks }
    }
}

/// At most [`CHUNK_ROWS`] consecutive rows of a piece.
#[derive(Clone)]
pub struct Chunk<'a> {
    piece: Piece<'a>,
    number: u64,
    blocks: Range<usize>,
}

impl<'a> Chunk<'a> {
    /// Its number in the whole data set.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// All rows of the piece.
    pub fn rows(&self) -> &'a Rows<'a> {
        self.piece.rows
    }

    /// The rows of the chunk, by their numbers in the piece.
    pub fn range(&self) -> Range<usize> {
        self.blocks.start * LANES..(self.blocks.end * LANES).min(self.rows().n_rows())
    }

    /// The number of one of the piece's rows in the whole data set.
    pub fn row_number(&self, row: usize) -> u64 {
        self.piece.first_row + row as u64
    }

    /// Blocks of 16 rows, by their numbers in the piece.
    pub(crate) fn blocks(&self) -> Range<usize> {
        self.blocks.clone()
    }

    pub(crate) fn loader(&self, centre: &[f64]) -> Loader<'a> {
        self.rows().loader(centre)
    }

    pub(crate) fn hints(&self) -> Option<&'a Hints> {
        self.piece.hints
    }
}
