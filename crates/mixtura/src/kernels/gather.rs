//! Puts rows from anywhere side by side: number by number, or by way of a copy in which the numbers of each row are
//! consecutive.
//!
//! Both steps of the latter transpose squares in registers, which takes less time for many columns or components. The
//! copy has eight numbers of one row and eight of the next in each `Lanes`, so that no vector crosses a cache line.

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

/// Copies rows to places among other blocks, number by number: faster than [`Gather`] for few columns and components.
pub(crate) struct Distribute<'a, R> {
    /// Blocks of `stride` lanes each.
    pub blocks: &'a [Lanes],
    /// Lanes from one block to the next.
    pub stride: usize,
    /// Numbers of the rows, each with the number of the row it becomes.
    pub rows: R,
    /// Blocks of as many lanes.
    pub out: &'a mut [Lanes],
}

impl<R: Iterator<Item = (u32, u32)>> Kernel for Distribute<'_, R> {
    type Output = ();

    #[inline(always)]
    fn run<A: Arithmetic>(self) {
        let Self { blocks, stride, rows, out } = self;
        for (row, to) in rows {
            let (from, lane) = (&blocks[row as usize / LANES * stride..][..stride], row as usize % LANES);
            let (to, to_lane) = (&mut out[to as usize / LANES * stride..][..stride], to as usize % LANES);
            let (fours, rest) = from.as_chunks::<4>();
            let (to_fours, to_rest) = to.as_chunks_mut::<4>();
            for (to, from) in to_fours.iter_mut().zip(fours) {
                for i in 0..4 {
                    to[i][to_lane] = from[i][lane];
                }
            }
            for (to, from) in to_rest.iter_mut().zip(rest) {
                to[to_lane] = from[lane];
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

        #[test]
        fn distributed_rows_are_at_their_places(
            n in 1usize..=12, from in prop::array::uniform16(0..2 * LANES as u32),
            values in prop::collection::vec(-1.0..1.0f64, 2 * 12 * LANES),
        ) {
            let blocks: Vec<Lanes> = values.as_chunks().0[..2 * n].iter().map(|&lanes| Lanes(lanes)).collect();
            // Every second place.
            let to = |at: usize| 2 * at as u32 + 1;
            for set in InstructionSet::fused().into_iter().chain([InstructionSet::baseline()]) {
                let mut out = vec![Lanes::all(2.0); 2 * n];
                let rows = from.iter().enumerate().map(|(at, &row)| (row, to(at)));
                set.run(Distribute { blocks: &blocks, stride: n, rows, out: &mut out });
                let value = |blocks: &[Lanes], row: usize, column: usize| blocks[row / LANES * n + column][row % LANES];
                for (at, &row) in from.iter().enumerate() {
                    for column in 0..n {
                        prop_assert_eq!(value(&out, to(at) as usize, column), value(&blocks, row as usize, column));
                        prop_assert_eq!(value(&out, to(at) as usize - 1, column), 2.0);
                    }
                }
            }
        }
    }
}
