//! Puts rows from anywhere side by side, by way of a copy in which the numbers of each row are consecutive.
//!
//! Both steps transpose squares in registers, which takes less time than moving numbers one by one. The copy has eight
//! numbers of one row and eight of the next in each `Lanes`, so that no vector crosses a cache line.

use super::vector::{TwoFours, Vector};
use super::{Arithmetic, Kernel, LANES, Lanes};

/// Rows and columns of a square: [`Consecutive`] and [`Gather`] need at least as many columns.
pub(crate) const SQUARE: usize = 8;

/// Squares that cover n columns.
pub(crate) fn n_squares(n: usize) -> usize {
    n.div_ceil(SQUARE)
}

/// First columns of these squares; the last one begins earlier where too few are left.
#[inline(always)]
fn squares(n: usize) -> impl Iterator<Item = usize> {
    (0..n).step_by(SQUARE).map(move |column| column.min(n - SQUARE))
}

/// Writes down the rows of a block, one after the other.
pub(crate) struct Consecutive<'a> {
    /// A `Lanes` for each column.
    pub block: &'a [Lanes],
    /// Sixteen rows, two in as many `Lanes` as there are squares.
    pub out: &'a mut [Lanes],
}

impl Kernel for Consecutive<'_> {
    type Output = ();

    #[inline(always)]
    fn run<A: Arithmetic>(self) {
        let n = self.block.len();
        let width = n_squares(n);
        for (at, column) in squares(n).enumerate() {
            let columns: &[Lanes; SQUARE] = self.block[column..].first_chunk().expect("invariant: enough columns");
            for lane in (0..LANES).step_by(SQUARE) {
                let mut square = [A::Eight::all(0.0); SQUARE];
                for i in 0..SQUARE {
                    square[i] = A::Eight::load(&columns[i][lane..]);
                }
                let square = A::Eight::transposed(square);
                for i in 0..SQUARE {
                    square[i].store(&mut self.out[(lane / 2 + i / 2) * width + at][i % 2 * SQUARE..]);
                }
            }
        }
    }
}

/// Puts sixteen rows side by side.
pub(crate) struct Gather<'a> {
    /// Rows as [`Consecutive`] writes them.
    pub rows: &'a [Lanes],
    /// Numbers of the rows to put into the lanes.
    pub picked: &'a [u32; LANES],
    /// A `Lanes` for each column.
    pub out: &'a mut [Lanes],
}

impl Kernel for Gather<'_> {
    type Output = ();

    #[inline(always)]
    fn run<A: Arithmetic>(self) {
        let n = self.out.len();
        let width = n_squares(n);
        for lane in (0..LANES).step_by(SQUARE) {
            let mut rows = [(self.rows, 0); SQUARE];
            for i in 0..SQUARE {
                let row = self.picked[lane + i] as usize;
                rows[i] = (&self.rows[row / 2 * width..][..width], row % 2 * SQUARE);
            }
            for (at, column) in squares(n).enumerate() {
                let mut square = [A::Eight::all(0.0); SQUARE];
                for i in 0..SQUARE {
                    let (row, half) = rows[i];
                    square[i] = A::Eight::load(&row[at][half..]);
                }
                let square = A::Eight::transposed(square);
                let columns: &mut [Lanes; SQUARE] =
                    self.out[column..].first_chunk_mut().expect("invariant: enough columns");
                for i in 0..SQUARE {
                    square[i].store(&mut columns[i][lane..]);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::InstructionSet;
    use super::*;

    proptest! {
        #[test]
        fn gathered_rows_are_those_picked(
            n in SQUARE..=40, picked in prop::array::uniform16(0..2 * LANES as u32),
            values in prop::collection::vec(-1.0..1.0f64, 2 * 40 * LANES),
        ) {
            let blocks: Vec<Lanes> = values.as_chunks().0[..2 * n].iter().map(|&lanes| Lanes(lanes)).collect();
            for set in InstructionSet::fused().into_iter().chain([InstructionSet::baseline()]) {
                let mut rows = vec![Lanes::all(0.0); LANES * n_squares(n)];
                for (block, out) in blocks.chunks_exact(n).zip(rows.chunks_exact_mut(LANES / 2 * n_squares(n))) {
                    set.run(Consecutive { block, out });
                }
                let mut out = vec![Lanes::all(0.0); n];
                set.run(Gather { rows: &rows, picked: &picked, out: &mut out });
                for (lane, &row) in picked.iter().enumerate() {
                    let (block, from) = (row as usize / LANES, row as usize % LANES);
                    for (column, out) in out.iter().enumerate() {
                        prop_assert_eq!(out[lane], blocks[block * n + column][from]);
                    }
                }
            }
        }
    }
}
