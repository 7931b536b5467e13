//! Sums products over rows: the one matrix product behind all statistics.

use super::{Arithmetic, InstructionSet, Kernel, LANES, Lanes, tiles};

/// Partial sums kept for each product, so that four rows are added side by side.
pub(super) const WIDTH: usize = 4;
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
        if set.is_wide() {
            return tiles::add_matrix(set, self.left, self.right, self.n_blocks, (out, out_stride));
        }
        let n_strips = self.left.n.div_ceil(TALL);
        let mut m = 0;
        for strip in 0..n_strips {
            // As even as can be: a strip of one or two rows would leave the machine waiting for its own sums.
            let height = (self.left.n - m).div_ceil(n_strips - strip);
            let out = &mut out[m * out_stride..];
            match height {
                1 => set.run(self.strip::<1>(m, out, out_stride)),
                2 => set.run(self.strip::<2>(m, out, out_stride)),
                3 => set.run(self.strip::<3>(m, out, out_stride)),
                _ => set.run(self.strip::<4>(m, out, out_stride)),
            }
            m += height;
        }
    }

    #[inline(always)]
    fn strip<'a, const M: usize>(&'a self, m: usize, out: &'a mut [f64], out_stride: usize) -> Strip<'a, M> {
        let Self { left, right, n_blocks } = *self;
        Strip { left: Side { first: left.first + m, ..left }, right, n_blocks, out, out_stride }
    }
}

/// M rows of the left side with all of the right, a tile of a few at a time.
struct Strip<'a, const M: usize> {
    left: Side<'a>,
    right: Side<'a>,
    n_blocks: usize,
    out: &'a mut [f64],
    out_stride: usize,
}

impl<const M: usize> Kernel for Strip<'_, M> {
    type Output = ();

    #[inline(always)]
    fn run<A: Arithmetic>(mut self) {
        let n = self.right.n / WIDE * WIDE;
        for n in (0..n).step_by(WIDE) {
            self.tile::<A, WIDE>(n);
        }
        match self.right.n - n {
            1 => self.tile::<A, 1>(n),
            2 => self.tile::<A, 2>(n),
            _ => {}
        }
    }
}

impl<const M: usize> Strip<'_, M> {
    /// M × N dot products at once, each as four partial sums; small enough to stay in registers.
    #[inline(always)]
    fn tile<A: Arithmetic, const N: usize>(&mut self, n: usize) {
        let (left, right) = (&self.left.blocks[self.left.first..], &self.right.blocks[self.right.first + n..]);
        let mut sums = [[[0.0; WIDTH]; N]; M];
        for block in 0..self.n_blocks {
            let a: &[Lanes; M] = left[block * self.left.stride..].first_chunk().expect("invariant: left rows");
            let b: &[Lanes; N] = right[block * self.right.stride..].first_chunk().expect("invariant: right rows");
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
        // Kept apart from the loop: the compiler would rather add across lanes inside it.
        let sums = std::hint::black_box(sums);
        for (m, sums) in sums.iter().enumerate() {
            let out: &mut [f64; N] = self.out[m * self.out_stride + n..].first_chunk_mut().expect("invariant: room");
            for (out, sum) in out.iter_mut().zip(sums) {
                *out += (sum[0] + sum[2]) + (sum[1] + sum[3]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn matches_the_scalar_twin(
            m in 1usize..=40, n in 1usize..=64, n_blocks in 0usize..4, gap in 0usize..3,
            values in prop::collection::vec(-1.0..1.0f64, (3 + 3 * 64) * LANES),
        ) {
            let lanes: Vec<Lanes> = values.as_chunks::<LANES>().0.iter().map(|&lanes| Lanes(lanes)).collect();
            let left = Side { blocks: &lanes, stride: m + gap, first: gap, n: m };
            let right = Side { blocks: &lanes[3..], stride: n, first: 0, n };
            let products = DotProducts { left, right, n_blocks };
            let mut out = vec![1.0; m * (n + gap)];
            products.add_to(InstructionSet::detect(), &mut out, n + gap);
            // The same bits with narrow registers, with wide ones, and with arrays in place of these.
            for set in InstructionSet::fused() {
                let mut same = vec![1.0; m * (n + gap)];
                products.add_to(set, &mut same, n + gap);
                prop_assert_eq!(&same, &out);
                let mut same = vec![1.0; m * (n + gap)];
                tiles::add_matrix(InstructionSet::baseline(), left, right, n_blocks, (&mut same, n + gap));
                prop_assert_eq!(&same, &out);
            }
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
