//! Sums products over rows: the one matrix product behind all statistics.

use super::{Arithmetic, InstructionSet, Kernel, LANES, Lanes};

/// Partial sums kept for each product, so that four rows are added side by side.
const WIDTH: usize = 4;
/// Rows of the left side in a tile.
const TALL: usize = 4;
/// Rows of the right side in a tile: 4 × 3 accumulators, 3 + 1 operands fill sixteen registers.
const WIDE: usize = 3;

/// One operand: `blocks[b · stride + row]` are the lanes of `row` in block `b`.
#[derive(Clone, Copy)]
pub(crate) struct Side<'a> {
    /// All blocks.
    pub blocks: &'a [Lanes],
    /// `Lanes` from one block to the next.
    pub stride: usize,
    /// The first row that takes part.
    pub first: usize,
    /// How many rows take part.
    pub n: usize,
}

/// Adds `Σ_rows left[m] · right[n]` to `out[m · out_stride + n]`, tile by tile.
pub(crate) struct DotProducts<'a> {
    /// Left operand.
    pub left: Side<'a>,
    /// Right operand.
    pub right: Side<'a>,
    /// Number of blocks to sum over.
    pub n_blocks: usize,
}

impl DotProducts<'_> {
    /// Adds all products to `out`.
    pub(crate) fn add_to(&self, set: InstructionSet, out: &mut [f64], out_stride: usize) {
        for m in (0..self.left.n).step_by(TALL) {
            for n in (0..self.right.n).step_by(WIDE) {
                let out = &mut out[m * out_stride + n..];
                match (self.left.n - m, self.right.n - n) {
                    (1, 1) => self.tile::<1, 1>(set, (m, n), out, out_stride),
                    (1, 2) => self.tile::<1, 2>(set, (m, n), out, out_stride),
                    (1, _) => self.tile::<1, 3>(set, (m, n), out, out_stride),
                    (2, 1) => self.tile::<2, 1>(set, (m, n), out, out_stride),
                    (2, 2) => self.tile::<2, 2>(set, (m, n), out, out_stride),
                    (2, _) => self.tile::<2, 3>(set, (m, n), out, out_stride),
                    (3, 1) => self.tile::<3, 1>(set, (m, n), out, out_stride),
                    (3, 2) => self.tile::<3, 2>(set, (m, n), out, out_stride),
                    (3, _) => self.tile::<3, 3>(set, (m, n), out, out_stride),
                    (_, 1) => self.tile::<4, 1>(set, (m, n), out, out_stride),
                    (_, 2) => self.tile::<4, 2>(set, (m, n), out, out_stride),
                    (_, _) => self.tile::<4, 3>(set, (m, n), out, out_stride),
                }
            }
        }
    }

    #[inline]
    fn tile<const M: usize, const N: usize>(
        &self,
        set: InstructionSet,
        (m, n): (usize, usize),
        out: &mut [f64],
        out_stride: usize,
    ) {
        let mut sums = [[[0.0; WIDTH]; N]; M];
        set.run(Tile {
            left: &self.left.blocks[self.left.first + m..],
            left_stride: self.left.stride,
            right: &self.right.blocks[self.right.first + n..],
            right_stride: self.right.stride,
            n_blocks: self.n_blocks,
            sums: &mut sums,
        });
        for (sums, out) in sums.iter().zip(out.chunks_mut(out_stride)) {
            for (sum, out) in sums.iter().zip(out) {
                *out += (sum[0] + sum[2]) + (sum[1] + sum[3]);
            }
        }
    }
}

/// M × N dot products at once, each as four partial sums; small enough to stay in registers.
struct Tile<'a, const M: usize, const N: usize> {
    left: &'a [Lanes],
    left_stride: usize,
    right: &'a [Lanes],
    right_stride: usize,
    n_blocks: usize,
    sums: &'a mut [[[f64; WIDTH]; N]; M],
}

impl<const M: usize, const N: usize> Kernel for Tile<'_, M, N> {
    type Output = ();

    #[inline(always)]
    fn run<A: Arithmetic>(self) {
        let mut sums = [[[0.0; WIDTH]; N]; M];
        for block in 0..self.n_blocks {
            let a: &[Lanes; M] = self.left[block * self.left_stride..].first_chunk().expect("invariant: left rows");
            let b: &[Lanes; N] = self.right[block * self.right_stride..].first_chunk().expect("invariant: right rows");
            for quarter in 0..LANES / WIDTH {
                for m in 0..M {
                    for n in 0..N {
                        for lane in 0..WIDTH {
                            let at = quarter * WIDTH + lane;
                            sums[m][n][lane] = A::mul_add(a[m][at], b[n][at], sums[m][n][lane]);
                        }
                    }
                }
            }
        }
        *self.sums = sums;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn matches_the_scalar_twin(
            m in 1usize..16, n in 1usize..12, n_blocks in 0usize..5, gap in 0usize..3,
            values in prop::collection::vec(-1.0..1.0f64, 5 * 15 * LANES),
        ) {
            let lanes: Vec<Lanes> = values.as_chunks::<LANES>().0.iter().map(|&lanes| Lanes(lanes)).collect();
            let left = Side { blocks: &lanes, stride: m + gap, first: gap, n: m };
            let right = Side { blocks: &lanes[3..], stride: n, first: 0, n };
            let mut out = vec![1.0; m * (n + gap)];
            DotProducts { left, right, n_blocks }.add_to(InstructionSet::detect(), &mut out, n + gap);
            for i in 0..m {
                for j in 0..n {
                    let mut sum = 1.0;
                    for block in 0..n_blocks {
                        for lane in 0..LANES {
                            sum += lanes[block * (m + gap) + gap + i][lane] * lanes[3 + block * n + j][lane];
                        }
                    }
                    prop_assert!((out[i * (n + gap) + j] - sum).abs() <= 1e-12);
                }
            }
        }
    }
}
