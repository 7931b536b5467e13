//! Sums products over rows in wide registers: all statistics, where a machine has thirty-two of them.
//!
//! Every product has four partial sums, as in [`DotProducts`](super::DotProducts), and so the same bits;
//! a register holds those of two products. What is multiplied more than once never leaves registers.

use std::ops::Range;

use super::dispatch::block_by_block;
use super::dots::WIDTH;
use super::vector::{TwoFours, Vector};
use super::{Arithmetic, InstructionSet, Kernel, LANES, Lanes, Side};

/// Rows of one side in a tile: two vectors of two.
const PAIRED: usize = 4;
/// Most rows of the other side: 12 × 2 sums and 2 + 1 operands fit thirty-two registers.
const PLAIN: usize = 12;
/// Columns that stay in the L2 cache, in all blocks, while all rows of a triangle are multiplied with them.
const COLUMNS: usize = 120;
/// With more columns than this, weighted rows are multiplied so often that it pays to write them down.
const OFTEN: usize = 3 * PLAIN;

/// The paired side of a tile: up to 2N rows in N vectors.
trait Paired: Copy {
    /// Four numbers each, from `at` on, of rows 2i and 2i + 1 of a block, for every i < N.
    fn vectors<A: Arithmetic, const N: usize>(self, block: usize, at: usize) -> [A::Eight; N];
}

/// The rows themselves; where there are fewer than 2N, the last one stands in for those missing.
impl Paired for Side<'_> {
    #[inline(always)]
    fn vectors<A: Arithmetic, const N: usize>(self, block: usize, at: usize) -> [A::Eight; N] {
        let rows = &self.blocks[block * self.stride + self.first..][..self.n];
        let four = |row: usize| &rows[row.min(self.n - 1)][at..];
        let mut vectors = [A::Eight::all(0.0); N];
        for i in 0..N {
            vectors[i] = A::Eight::pair(four(2 * i), four(2 * i + 1));
        }
        vectors
    }
}

/// Rows times weights.
#[derive(Clone, Copy)]
struct Weighted<'a> {
    rows: Side<'a>,
    weights: Side<'a>,
}

impl Paired for Weighted<'_> {
    #[inline(always)]
    fn vectors<A: Arithmetic, const N: usize>(self, block: usize, at: usize) -> [A::Eight; N] {
        let Side { blocks, stride, first, .. } = self.weights;
        let weight = A::Eight::twice(&blocks[block * stride + first][at..]);
        let mut vectors = self.rows.vectors::<A, N>(block, at);
        for i in 0..N {
            vectors[i] = vectors[i].mul(weight);
        }
        vectors
    }
}

/// The paired side as it is multiplied, written down once for many tiles: see [`Pack`].
#[derive(Clone, Copy)]
struct Packed<'a>(&'a [Lanes]);

impl Paired for Packed<'_> {
    #[inline(always)]
    fn vectors<A: Arithmetic, const N: usize>(self, block: usize, at: usize) -> [A::Eight; N] {
        let both = &self.0[block * PAIRED + at / WIDTH];
        let mut vectors = [A::Eight::all(0.0); N];
        for i in 0..N {
            vectors[i] = A::Eight::load(&both[i * LANES / 2..]);
        }
        vectors
    }
}

/// Writes down both vectors for every four numbers of each block.
struct Pack<'a, P> {
    paired: P,
    /// Four lanes for each block.
    out: &'a mut [Lanes],
}

impl<P: Paired> Kernel for Pack<'_, P> {
    type Output = ();

    #[inline(always)]
    fn run<A: Arithmetic>(self) {
        for (block, out) in self.out.chunks_exact_mut(PAIRED).enumerate() {
            for (quarter, out) in out.iter_mut().enumerate() {
                let [first, second] = self.paired.vectors::<A, 2>(block, quarter * WIDTH);
                first.store(&mut out[..]);
                second.store(&mut out[LANES / 2..]);
            }
        }
    }
}

/// Products of rows i and i + 1 with row j, then with row j + 1.
#[derive(Clone, Copy)]
struct Square<'a> {
    blocks: &'a [Lanes],
    stride: usize,
    i: usize,
    j: usize,
}

impl Paired for Square<'_> {
    #[inline(always)]
    fn vectors<A: Arithmetic, const N: usize>(self, block: usize, at: usize) -> [A::Eight; N] {
        let rows = &self.blocks[block * self.stride..][..self.stride];
        let both = A::Eight::pair(&rows[self.i][at..], &rows[self.i + 1][at..]);
        let mut vectors = [both; N];
        for n in 0..N {
            vectors[n] = both.mul(A::Eight::twice(&rows[self.j + n][at..]));
        }
        vectors
    }
}

/// Sums of M rows of the plain side times 2N of the other, a vector of four partial sums of each of two products.
///
/// The first vector of the last `SKIPPED` rows is left out, and remains 0.
#[inline(always)]
fn tile<A: Arithmetic, const M: usize, const N: usize, const SKIPPED: usize>(
    plain: Side<'_>,
    paired: impl Paired,
    n_blocks: usize,
) -> [[A::Eight; N]; M] {
    let mut sums = [[A::Eight::all(0.0); N]; M];
    for block in 0..n_blocks {
        let rows: &[Lanes; M] =
            plain.blocks[block * plain.stride + plain.first..].first_chunk().expect("invariant: plain rows");
        for quarter in 0..LANES / WIDTH {
            let at = quarter * WIDTH;
            let vectors = paired.vectors::<A, N>(block, at);
            for m in 0..M {
                let row = A::Eight::twice(&rows[m][at..]);
                for n in 0..N {
                    if n > 0 || m + SKIPPED < M {
                        sums[m][n] = row.mul_add(vectors[n], sums[m][n]);
                    }
                }
            }
        }
    }
    sums
}

/// Adds up partial sums: of plain row m those of the first halves of all vectors, then of the second halves.
#[inline(always)]
fn by_plain_row<A: Arithmetic, const M: usize, const N: usize>(sums: [[A::Eight; N]; M]) -> [[f64; PAIRED]; M] {
    let mut out = [[0.0; PAIRED]; M];
    for first in (0..M).step_by(2) {
        let second = (first + 1).min(M - 1);
        [out[first], out[second]] = A::Eight::sums([first, second].map(|m| [sums[m][0], sums[m][N - 1]]));
    }
    out
}

/// Most plain rows, rounded up to whole vectors.
const PLAIN_VECTORS: usize = PLAIN.next_multiple_of(EIGHT);
/// Numbers in a vector.
const EIGHT: usize = 8;

/// Adds up partial sums: of paired row n those with every plain row.
#[inline(always)]
fn by_paired_row<A: Arithmetic, const M: usize, const N: usize>(
    sums: [[A::Eight; N]; M],
) -> [[f64; PLAIN_VECTORS]; PAIRED] {
    let mut out = [[0.0; PLAIN_VECTORS]; PAIRED];
    for n in 0..N {
        for first in (0..M).step_by(EIGHT) {
            let mut vectors = [sums[first][n]; EIGHT];
            for m in 1..EIGHT {
                // Where half of the vectors are missing, the other half again: it costs nothing.
                let m_or_same = if first + EIGHT / 2 < M { first + m } else { first + m % (EIGHT / 2) };
                vectors[m] = sums[m_or_same.min(M - 1)][n];
            }
            let [even, odd] = A::Eight::sums_of_eight(vectors);
            even.store(&mut out[2 * n][first..]);
            odd.store(&mut out[2 * n + 1][first..]);
        }
    }
    out
}

/// Sums that are added up in tiles, for some of the plain rows at a time.
trait Tiles {
    /// Adds all sums of M plain rows; must be `#[inline(always)]`.
    fn add<A: Arithmetic, const M: usize>(&mut self, first: usize);
}

/// M plain rows from `first` on.
struct Run<'a, T, const M: usize> {
    tiles: &'a mut T,
    first: usize,
}

impl<T: Tiles, const M: usize> Kernel for Run<'_, T, M> {
    type Output = ();

    #[inline(always)]
    fn run<A: Arithmetic>(self) {
        self.tiles.add::<A, M>(self.first);
    }
}

/// Takes some plain rows, in runs of nearly equal length: a short one would wait for its own sums.
fn add_all(set: InstructionSet, rows: Range<usize>, tiles: &mut impl Tiles) {
    let n_runs = rows.len().div_ceil(PLAIN);
    let mut first = rows.start;
    for run in 0..n_runs {
        let height = (rows.end - first).div_ceil(n_runs - run);
        macro_rules! run {
            ($($height:literal)*) => {
                match height {
                    $($height => set.run_wide(Run::<_, $height> { tiles, first }),)*
                    _ => set.run_wide(Run::<_, PLAIN> { tiles, first }),
                }
            };
        }
        run!(1 2 3 4 5 6 7 8 9 10 11);
        first += height;
    }
}

/// Adds `Σ_rows left[m] · right[n]` to `out[m · out_stride + n]`.
pub(super) fn add_matrix(
    set: InstructionSet,
    left: Side<'_>,
    right: Side<'_>,
    n_blocks: usize,
    (out, out_stride): (&mut [f64], usize),
) {
    // The side of few rows is paired: vectors of it are made once for all rows of the other.
    let is_flat = left.n <= PAIRED && right.n > left.n;
    let mut matrix = if is_flat {
        Matrix { plain: right, paired: left, n_blocks, out, plain_step: 1, paired_step: out_stride }
    } else {
        Matrix { plain: left, paired: right, n_blocks, out, plain_step: out_stride, paired_step: 1 }
    };
    add_all(set, 0..matrix.plain.n, &mut matrix);
}

struct Matrix<'a> {
    plain: Side<'a>,
    paired: Side<'a>,
    n_blocks: usize,
    out: &'a mut [f64],
    /// From the sum of a plain row to that of the next.
    plain_step: usize,
    /// From the sum of a paired row to that of the next.
    paired_step: usize,
}

impl Tiles for Matrix<'_> {
    #[inline(always)]
    fn add<A: Arithmetic, const M: usize>(&mut self, first: usize) {
        let plain = Side { first: self.plain.first + first, ..self.plain };
        for row in (0..self.paired.n).step_by(PAIRED) {
            let n = PAIRED.min(self.paired.n - row);
            let paired = Side { first: self.paired.first + row, n, ..self.paired };
            let out = &mut self.out[first * self.plain_step + row * self.paired_step..];
            if n > 2 {
                let sums = by_plain_row::<A, M, 2>(tile::<A, M, 2, 0>(plain, paired, self.n_blocks));
                for (m, &[first, third, second, fourth]) in sums.iter().enumerate() {
                    for (i, sum) in [first, second, third, fourth].iter().take(n).enumerate() {
                        out[m * self.plain_step + i * self.paired_step] += sum;
                    }
                }
            } else {
                let sums = by_plain_row::<A, M, 1>(tile::<A, M, 1, 0>(plain, paired, self.n_blocks));
                for (m, sums) in sums.iter().enumerate() {
                    for i in 0..n {
                        out[m * self.plain_step + i * self.paired_step] += sums[2 * i];
                    }
                }
            }
        }
    }
}

/// Adds `Σ_rows w · x_i · x_j` for all j ≤ i to a packed lower triangle.
pub(crate) struct OuterProduct<'a> {
    /// Blocks of `stride` columns each.
    pub blocks: &'a [Lanes],
    /// Columns of a block.
    pub stride: usize,
    /// One row of weights, if they are not all 1.
    pub weights: Option<Side<'a>>,
    /// Room for four weighted columns of every block.
    pub strip: &'a mut [Lanes],
    /// The triangle.
    pub out: &'a mut [f64],
}

impl OuterProduct<'_> {
    /// Adds them, a few rows of the triangle at a time.
    pub(crate) fn add(self, set: InstructionSet) {
        let Self { blocks, stride, weights, strip, out } = self;
        let n_blocks = blocks.len() / stride;
        for panel in (0..stride).step_by(COLUMNS) {
            for first in (panel..stride).step_by(PAIRED) {
                let n = PAIRED.min(stride - first);
                let rows = Side { blocks, stride, first, n };
                // Tiles reach beyond the diagonal; what lies there is not added to anything.
                let columns = panel..(first + n).min(panel + COLUMNS);
                match weights {
                    None => add_all(set, columns, &mut SomeRows { rows, paired: rows, n_blocks, out }),
                    Some(weights) if columns.len() > OFTEN => {
                        let strip = &mut strip[..n_blocks * PAIRED];
                        set.run_wide(Pack { paired: Weighted { rows, weights }, out: strip });
                        add_all(set, columns, &mut SomeRows { rows, paired: Packed(strip), n_blocks, out });
                    }
                    Some(weights) => {
                        let paired = Weighted { rows, weights };
                        add_all(set, columns, &mut SomeRows { rows, paired, n_blocks, out });
                    }
                }
            }
        }
    }
}

/// A few rows of a triangle, and the columns of the blocks that they are of.
struct SomeRows<'a, P> {
    rows: Side<'a>,
    paired: P,
    n_blocks: usize,
    out: &'a mut [f64],
}

impl<P: Paired> Tiles for SomeRows<'_, P> {
    #[inline(always)]
    fn add<A: Arithmetic, const M: usize>(&mut self, first: usize) {
        let plain = Side { first, ..self.rows };
        let Side { first: row, n: n_rows, .. } = self.rows;
        let is_on_diagonal = first + M == row + PAIRED;
        let sums = if n_rows <= 2 {
            by_paired_row::<A, M, 1>(tile::<A, M, 1, 0>(plain, self.paired, self.n_blocks))
        } else if is_on_diagonal && n_rows == PAIRED {
            // Of the last two columns, the first two rows are above the diagonal.
            by_paired_row::<A, M, 2>(tile::<A, M, 2, 2>(plain, self.paired, self.n_blocks))
        } else {
            by_paired_row::<A, M, 2>(tile::<A, M, 2, 0>(plain, self.paired, self.n_blocks))
        };
        for (i, sums) in (row..row + n_rows).zip(&sums) {
            let out = &mut self.out[i * (i + 1) / 2..][..=i][first..];
            if let Some(out) = out.first_chunk_mut::<M>() {
                for m in 0..M {
                    out[m] += sums[m];
                }
            } else {
                for (out, sum) in out.iter_mut().zip(sums) {
                    block_by_block();
                    *out += sum;
                }
            }
        }
    }
}

/// Adds `Σ_rows w_k · x_i · x_j` for all j ≤ i to the packed lower triangle of every component k.
pub(crate) struct OuterProducts<'a> {
    /// Blocks of `stride` columns each.
    pub blocks: &'a [Lanes],
    /// Columns of a block.
    pub stride: usize,
    /// A row of weights for each component.
    pub weights: Side<'a>,
    /// One triangle after the other.
    pub out: &'a mut [f64],
}

impl OuterProducts<'_> {
    /// Adds them, a few components at a time.
    pub(crate) fn add(mut self, set: InstructionSet) {
        add_all(set, 0..self.weights.n, &mut self);
    }
}

impl Tiles for OuterProducts<'_> {
    #[inline(always)]
    fn add<A: Arithmetic, const M: usize>(&mut self, first: usize) {
        let Self { blocks, stride, .. } = *self;
        let n_blocks = blocks.len() / stride;
        let size = stride * (stride + 1) / 2;
        let weights = Side { first: self.weights.first + first, ..self.weights };
        let out = &mut self.out[first * size..][..M * size];
        // Two rows by two columns at a time: of the two by two on the diagonal one is above it.
        let even = stride / 2 * 2;
        let rows = (0..even).step_by(COLUMNS).flat_map(|panel| (panel..even).step_by(2).map(move |i| (panel, i)));
        for (panel, i) in rows {
            for j in (panel..=i.min(panel + COLUMNS - 1)).step_by(2) {
                let square = Square { blocks, stride, i, j };
                let sums = by_plain_row::<A, M, 2>(tile::<A, M, 2, 0>(weights, square, n_blocks));
                let (upper, lower) = (i * (i + 1) / 2 + j, (i + 1) * (i + 2) / 2 + j);
                for (out, sums) in out.chunks_exact_mut(size).zip(&sums) {
                    out[upper] += sums[0];
                    if j < i {
                        out[upper + 1] += sums[1];
                    }
                    out[lower] += sums[2];
                    out[lower + 1] += sums[3];
                }
            }
        }
        if !stride.is_multiple_of(2) {
            // The last row by itself.
            let (last, start) = (Side { blocks, stride, first: stride - 1, n: 1 }, size - stride);
            for j in (0..stride).step_by(PAIRED) {
                let n = PAIRED.min(stride - j);
                let columns = Weighted { rows: Side { blocks, stride, first: j, n }, weights: last };
                let sums = by_plain_row::<A, M, 2>(tile::<A, M, 2, 0>(weights, columns, n_blocks));
                for (out, &[first, third, second, fourth]) in out.chunks_exact_mut(size).zip(&sums) {
                    let sums = [first, second, third, fourth];
                    out[start + j..].iter_mut().zip(&sums[..n]).for_each(|(out, sum)| *out += sum);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{DotProducts, Products, Scale};
    use super::*;

    /// The triangles of all components, from products that are written down first.
    fn shared_products(set: InstructionSet, blocks: &[Lanes], stride: usize, weights: Side<'_>) -> Vec<f64> {
        let (pairs, n_blocks) = (pairs(stride), blocks.len() / stride);
        let mut products = vec![Lanes::all(0.0); pairs.len() * n_blocks];
        set.run(Products { blocks, stride, pairs: &pairs, out: &mut products });
        let right = Side { blocks: &products, stride: pairs.len(), first: 0, n: pairs.len() };
        let mut out = vec![1.0; weights.n * pairs.len()];
        DotProducts { left: weights, right, n_blocks }.add_to(set, &mut out, pairs.len());
        out
    }

    /// The triangle of one component, from rows that are weighted first.
    fn weighted_rows(set: InstructionSet, blocks: &[Lanes], stride: usize, weights: Option<Side<'_>>) -> Vec<f64> {
        let n_blocks = blocks.len() / stride;
        let mut rows = blocks.to_vec();
        if let Some(Side { blocks: weights, stride: weight_stride, first, .. }) = weights {
            let (columns, weights) = (0..stride, &weights[first..]);
            set.run(Scale { blocks, stride, columns, weights, weight_stride, out: &mut rows });
        }
        let side = |blocks| Side { blocks, stride, first: 0, n: stride };
        let mut square = vec![0.0; stride * stride];
        DotProducts { left: side(&rows), right: side(blocks), n_blocks }.add_to(set, &mut square, stride);
        pairs(stride).iter().map(|&(i, j)| 1.0 + square[i as usize * stride + j as usize]).collect()
    }

    fn pairs(stride: usize) -> Vec<(u32, u32)> {
        (0..stride as u32).flat_map(|i| (0..=i).map(move |j| (i, j))).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn triangles_have_the_bits_of_products_that_are_written_down(
            stride in prop_oneof![6 => 1usize..=OFTEN, 3 => OFTEN..=2 * OFTEN, 1 => COLUMNS - 2..=COLUMNS + 30],
            n_components in 1usize..=30, n_blocks in 1usize..4, gap in 0usize..3,
            values in prop::collection::vec(-1.0..1.0f64, 3 * (COLUMNS + 30 + 33) * LANES),
        ) {
            let lanes: Vec<Lanes> = values.as_chunks().0.iter().map(|&lanes| Lanes(lanes)).collect();
            let (blocks, weights) = lanes.split_at(n_blocks * stride);
            let weights = Side { blocks: weights, stride: n_components + gap, first: gap, n: n_components };
            let one = Side { first: weights.first + n_components - 1, n: 1, ..weights };
            for twin in InstructionSet::fused() {
                let together = shared_products(twin, blocks, stride, weights);
                let (weighted, plain) =
                    (weighted_rows(twin, blocks, stride, Some(one)), weighted_rows(twin, blocks, stride, None));
                // In registers where there are such, and in arrays.
                for set in [InstructionSet::detect(), InstructionSet::baseline()] {
                    let mut out = vec![1.0; together.len()];
                    OuterProducts { blocks, stride, weights, out: &mut out }.add(set);
                    prop_assert_eq!(&out, &together);
                    for (weights, expected) in [(Some(one), &weighted), (None, &plain)] {
                        let mut out = vec![1.0; expected.len()];
                        let strip = &mut vec![Lanes::all(0.0); PAIRED * n_blocks];
                        OuterProduct { blocks, stride, weights, strip, out: &mut out }.add(set);
                        prop_assert_eq!(&out, expected);
                    }
                }
            }
        }
    }
}
