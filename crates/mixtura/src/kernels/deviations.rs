//! Sums squared deviations of products of columns: the variances that Theorems 2 and 3 are stated in.

use super::vector::Vector;
use super::{Arithmetic, Kernel, LANES, Lanes};

/// Partial sums kept for each pair of columns.
const WIDTH: usize = 8;
/// Pairs at a time.
const PAIRS: usize = 4;

/// Adds `Σ_rows w · (x_i · x_j − s_ij)²` to `out` for the given columns i and all j ≤ i.
pub(crate) struct SquaredDeviations<'a> {
    /// Blocks of `stride` columns each.
    pub blocks: &'a [Lanes],
    /// Columns of a block.
    pub stride: usize,
    /// Row weights of each block.
    pub weights: &'a [Lanes],
    /// The first column i; all after it follow.
    pub first: usize,
    /// What is subtracted, as the rows of a packed lower triangle from `first` on.
    pub subtracted: &'a [f64],
    /// The sums, in the same order.
    pub out: &'a mut [f64],
}

impl Kernel for SquaredDeviations<'_> {
    type Output = ();

    #[inline(always)]
    fn run<A: Arithmetic>(mut self) {
        let mut done = 0;
        for i in self.first..self.stride {
            let n = i + 1;
            for j in (0..n / PAIRS * PAIRS).step_by(PAIRS) {
                self.tile::<A, PAIRS>(i, j, done + j);
            }
            for j in n / PAIRS * PAIRS..n {
                self.tile::<A, 1>(i, j, done + j);
            }
            done += n;
        }
    }
}

impl SquaredDeviations<'_> {
    /// Column i with N columns from j on, whose sums stand from `at` on.
    #[inline(always)]
    fn tile<A: Arithmetic, const N: usize>(&mut self, i: usize, j: usize, at: usize) {
        let subtracted: &[f64; N] = self.subtracted[at..].first_chunk().expect("invariant: as many as sums");
        let sums = if A::IS_WIDE {
            self.sums_in_registers::<A, N>(i, j, subtracted)
        } else {
            self.sums::<A, N>(i, j, subtracted)
        };
        for (out, sum) in self.out[at..at + N].iter_mut().zip(&sums) {
            let pair = |lane: usize| sum[lane] + sum[lane + 4];
            *out += (pair(0) + pair(2)) + (pair(1) + pair(3));
        }
    }

    #[inline(always)]
    fn sums<A: Arithmetic, const N: usize>(&self, i: usize, j: usize, subtracted: &[f64; N]) -> [[f64; WIDTH]; N] {
        let mut sums = [[0.0; WIDTH]; N];
        for (block, weight) in self.blocks.chunks_exact(self.stride).zip(self.weights) {
            let x = &block[i];
            let y: &[Lanes; N] = block[j..].first_chunk().expect("invariant: columns up to i");
            for half in 0..LANES / WIDTH {
                for n in 0..N {
                    for lane in 0..WIDTH {
                        let row = half * WIDTH + lane;
                        let deviation = A::mul_add(x[row], y[n][row], -subtracted[n]);
                        sums[n][lane] = A::mul_add(weight[row] * deviation, deviation, sums[n][lane]);
                    }
                }
            }
        }
        // Kept apart from the loop: the compiler would rather add across lanes inside it.
        std::hint::black_box(sums)
    }

    /// The same sums, each eight in a register.
    #[inline(always)]
    fn sums_in_registers<A: Arithmetic, const N: usize>(
        &self,
        i: usize,
        j: usize,
        subtracted: &[f64; N],
    ) -> [[f64; WIDTH]; N] {
        let mut sums = [A::Eight::all(0.0); N];
        for (block, weight) in self.blocks.chunks_exact(self.stride).zip(self.weights) {
            let y: &[Lanes; N] = block[j..].first_chunk().expect("invariant: columns up to i");
            for half in 0..LANES / WIDTH {
                let at = half * WIDTH;
                let (x, weight) = (A::Eight::load(&block[i][at..]), A::Eight::load(&weight[at..]));
                for n in 0..N {
                    let deviation = x.mul_add(A::Eight::load(&y[n][at..]), A::Eight::all(-subtracted[n]));
                    sums[n] = weight.mul(deviation).mul_add(deviation, sums[n]);
                }
            }
        }
        let mut out = [[0.0; WIDTH]; N];
        for n in 0..N {
            sums[n].store(&mut out[n]);
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::InstructionSet;
    use super::*;

    proptest! {
        #[test]
        fn matches_the_scalar_twin(
            stride in 1usize..=40, first_share in 0.0..1.0f64, n_blocks in 0usize..4,
            values in prop::collection::vec(-1.0..1.0f64, 3 * 41 * LANES),
        ) {
            let lanes: Vec<Lanes> = values.as_chunks().0.iter().map(|&lanes| Lanes(lanes)).collect();
            let (blocks, weights) = (&lanes[..n_blocks * stride], &lanes[120..][..n_blocks]);
            let first = (stride as f64 * first_share) as usize;
            let pairs: Vec<(usize, usize)> = (first..stride).flat_map(|i| (0..=i).map(move |j| (i, j))).collect();
            let subtracted: Vec<f64> = pairs.iter().map(|&(i, j)| 0.1 * i as f64 - 0.2 * j as f64).collect();
            let sums_with = |set: InstructionSet| {
                let mut out = vec![1.0; pairs.len()];
                set.run(SquaredDeviations { blocks, stride, weights, first, subtracted: &subtracted, out: &mut out });
                out
            };
            let out = sums_with(InstructionSet::detect());
            for set in InstructionSet::fused() {
                prop_assert_eq!(&sums_with(set), &out);
            }
            for ((&(i, j), s), out) in pairs.iter().zip(&subtracted).zip(out) {
                let mut sum = 1.0;
                for (block, lane) in (0..n_blocks).flat_map(|block| (0..LANES).map(move |lane| (block, lane))) {
                    let x = |column: usize| blocks[block * stride + column][lane];
                    sum += weights[block][lane] * (x(i) * x(j) - s).powi(2);
                }
                prop_assert!((out - sum).abs() <= 1e-11 * (1.0 + sum.abs()), "{} {} {} {}", i, j, out, sum);
            }
        }
    }
}
