//! Computes log-densities that need no products of columns: distances along axes, and linear forms.

use std::ops::DerefMut;

use super::dispatch::block_by_block;
use super::whiten::Number;
use super::{Arithmetic, Kernel, LANES, Lanes};

/// `constant − Σ_d (a_d x_d + b_d)²` for several components and the rows of one block.
///
/// Cost: 2D multiply-adds per row and component.
pub(crate) struct Stretch<'a, L, T> {
    /// The block, lanes for each of the D columns.
    pub block: &'a [L],
    /// a of each component: D numbers.
    pub factors: &'a [T],
    /// b of each component: D numbers.
    pub offsets: &'a [T],
    /// Constant term of each component's log-density.
    pub constants: &'a [T],
    /// The result, for each component.
    pub out: &'a mut [L],
}

impl<L: DerefMut<Target = [T; W]>, T: Number, const W: usize> Kernel for Stretch<'_, L, T> {
    type Output = ();

    #[inline(always)]
    fn run<A: Arithmetic>(self) {
        let n = self.block.len();
        let (pairs, rest) = self.out.as_chunks_mut::<2>();
        let mut k = 0;
        for [first, second] in pairs {
            // Two at a time: each column of the block is loaded once.
            let (a, b) = (&self.factors[k * n..][..2 * n], &self.offsets[k * n..][..2 * n]);
            let (mut square, mut other) = ([T::ZERO; W], [T::ZERO; W]);
            for (d, x) in self.block.iter().enumerate() {
                square = add_square::<A, T, W>(a[d], b[d], x, square);
                other = add_square::<A, T, W>(a[n + d], b[n + d], x, other);
            }
            **first = square.map(|square| T::less_square(self.constants[k], square));
            **second = other.map(|square| T::less_square(self.constants[k + 1], square));
            k += 2;
        }
        for out in rest {
            let (a, b) = (&self.factors[k * n..][..n], &self.offsets[k * n..][..n]);
            let mut square = [T::ZERO; W];
            for ((x, &a), &b) in self.block.iter().zip(a).zip(b) {
                square = add_square::<A, T, W>(a, b, x, square);
            }
            **out = square.map(|square| T::less_square(self.constants[k], square));
        }
    }
}

/// Adds (a x + b)² of the rows of a block.
#[inline(always)]
fn add_square<A: Arithmetic, T: Number, const W: usize>(a: T, b: T, x: &[T; W], mut square: [T; W]) -> [T; W] {
    for lane in 0..W {
        let y = T::mul_add::<A>(a, x[lane], b);
        square[lane] = T::mul_add::<A>(y, y, square[lane]);
    }
    square
}

/// `base + constant + Σ_d a_d x_d` for several components and the rows of one block.
///
/// Cost: D multiply-adds per row and component.
pub(crate) struct Linear<'a> {
    /// The block, lanes for each of the D columns.
    pub block: &'a [Lanes],
    /// What all components have in common.
    pub base: &'a Lanes,
    /// a of each component: D numbers.
    pub factors: &'a [f64],
    /// The constant of each component.
    pub constants: &'a [f64],
    /// The result, for each component.
    pub out: &'a mut [Lanes],
}

impl Kernel for Linear<'_> {
    type Output = ();

    #[inline(always)]
    fn run<A: Arithmetic>(self) {
        let n = self.block.len();
        let base = |k: usize| self.base.map(|base| base + self.constants[k]);
        let (pairs, rest) = self.out.as_chunks_mut::<2>();
        let mut k = 0;
        for [first, second] in pairs {
            // Two at a time: neither waits for its own sums.
            let (a, b) = self.factors[k * n..][..2 * n].split_at(n);
            let (mut sum, mut other) = (base(k), base(k + 1));
            for ((x, &a), &b) in self.block.iter().zip(a).zip(b) {
                for lane in 0..LANES {
                    sum[lane] = A::mul_add(a, x[lane], sum[lane]);
                    other[lane] = A::mul_add(b, x[lane], other[lane]);
                }
            }
            (*first, *second) = (Lanes(sum), Lanes(other));
            k += 2;
        }
        for out in rest {
            let mut sum = base(k);
            for (x, &a) in self.block.iter().zip(&self.factors[k * n..]) {
                for lane in 0..LANES {
                    sum[lane] = A::mul_add(a, x[lane], sum[lane]);
                }
            }
            *out = Lanes(sum);
        }
    }
}

/// `out = A x` for the rows of one block and a lower triangular A, packed.
pub(crate) struct Transform<'a> {
    /// The block, lanes for each of the D columns.
    pub block: &'a [Lanes],
    /// A, packed row after row: D(D+1)/2 numbers.
    pub factor: &'a [f64],
    /// The result, lanes for each coordinate.
    pub out: &'a mut [Lanes],
}

impl Kernel for Transform<'_> {
    type Output = ();

    #[inline(always)]
    fn run<A: Arithmetic>(self) {
        let mut rest = self.factor;
        let (pairs, last) = self.out.as_chunks_mut::<2>();
        for (i, pair) in pairs.iter_mut().enumerate() {
            let (rows, tail) = rest.split_at(4 * i + 3);
            rest = tail;
            *pair = two_coordinates::<A>(self.block, rows);
        }
        for out in last {
            let mut y = [0.0; LANES];
            for (x, &a) in self.block.iter().zip(rest) {
                for lane in 0..LANES {
                    y[lane] = A::mul_add(a, x[lane], y[lane]);
                }
            }
            *out = Lanes(y);
        }
    }
}

/// Two neighbouring coordinates of A x, given those rows of A.
///
/// Computed together, so that each column is loaded once and the sums are independent.
#[inline(always)]
fn two_coordinates<A: Arithmetic>(block: &[Lanes], rows: &[f64]) -> [Lanes; 2] {
    let (first, second) = rows.split_at(rows.len() / 2);
    let (mut y, mut z) = ([0.0; LANES], [0.0; LANES]);
    for ((x, &a), &b) in block.iter().zip(first).zip(second) {
        for lane in 0..LANES {
            y[lane] = A::mul_add(a, x[lane], y[lane]);
            z[lane] = A::mul_add(b, x[lane], z[lane]);
        }
    }
    let (x, b) = (&block[first.len()], second[first.len()]);
    for lane in 0..LANES {
        z[lane] = A::mul_add(b, x[lane], z[lane]);
    }
    [Lanes(y), Lanes(z)]
}

/// The squares of the first columns of every block: each of them, or their sum.
pub(crate) struct Squares<'a> {
    /// Blocks of `stride` columns each.
    pub blocks: &'a [Lanes],
    /// Columns of a block.
    pub stride: usize,
    /// How many columns are squared.
    pub n_columns: usize,
    /// How many results a block has: as many as columns, or one.
    pub n_squares: usize,
    /// The results of all blocks.
    pub out: &'a mut [Lanes],
}

impl Kernel for Squares<'_> {
    type Output = ();

    #[inline(always)]
    fn run<A: Arithmetic>(self) {
        for (block, out) in self.blocks.chunks_exact(self.stride).zip(self.out.chunks_exact_mut(self.n_squares)) {
            let columns = &block[..self.n_columns];
            if self.n_squares == self.n_columns {
                for (out, x) in out.iter_mut().zip(columns) {
                    block_by_block();
                    out.0 = x.map(|x| x * x);
                }
                continue;
            }
            let mut sum = [0.0; LANES];
            for x in columns {
                for (sum, &x) in sum.iter_mut().zip(x.iter()) {
                    *sum = A::mul_add(x, x, *sum);
                }
            }
            out[0] = Lanes(sum);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::InstructionSet;
    use super::*;

    /// Lanes, and numbers for components.
    fn inputs(n: usize, n_components: usize, values: &[f64]) -> (Vec<Lanes>, Vec<f64>) {
        let at = |i: usize| values[i % values.len()] + (i / values.len()) as f64 * 0.1;
        let block = (0..n).map(|d| Lanes(std::array::from_fn(|lane| at(d * LANES + lane)))).collect();
        (block, (0..n_components * (n + 1) * 2 + n * n).map(|i| at(3 * i + 1)).collect())
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-12 * (1.0 + a.abs())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn densities_match_their_scalar_twins(
            n in 1usize..=64, n_components in 1usize..=40, values in prop::collection::vec(-1.0..1.0f64, 97),
        ) {
            let set = InstructionSet::detect();
            let (block, numbers) = inputs(n, n_components, &values);
            let (factors, offsets) = numbers.split_at(n_components * n);
            let constants = &offsets[n_components * n..][..n_components];
            let mut out = vec![Lanes::all(0.0); n_components];
            set.run(Stretch { block: &block, factors, offsets, constants, out: &mut out });
            let mut lines = vec![Lanes::all(0.0); n_components];
            set.run(Linear { block: &block, base: &block[0], factors, constants, out: &mut lines });
            for (k, lane) in (0..n_components).flat_map(|k| (0..LANES).map(move |lane| (k, lane))) {
                let square: f64 = (0..n).map(|d| (factors[k * n + d] * block[d][lane] + offsets[k * n + d]).powi(2)).sum();
                prop_assert!(close(out[k][lane], constants[k] - square));
                let line: f64 = (0..n).map(|d| factors[k * n + d] * block[d][lane]).sum();
                prop_assert!(close(lines[k][lane], block[0][lane] + constants[k] + line));
            }
        }

        #[test]
        fn transforms_and_squares_match_their_scalar_twins(
            n in 1usize..=64, n_blocks in 0usize..4, values in prop::collection::vec(-1.0..1.0f64, 97),
        ) {
            let set = InstructionSet::detect();
            let (block, factor) = inputs(n, 1, &values);
            let mut out = vec![Lanes::all(0.0); n];
            set.run(Transform { block: &block, factor: &factor[..n * (n + 1) / 2], out: &mut out });
            for (i, lane) in (0..n).flat_map(|i| (0..LANES).map(move |lane| (i, lane))) {
                let sum: f64 = (0..=i).map(|j| factor[i * (i + 1) / 2 + j] * block[j][lane]).sum();
                prop_assert!(close(out[i][lane], sum));
            }
            let (blocks, _) = inputs(n_blocks * (n + 1), 1, &values);
            let (mut each, mut sum) = (vec![Lanes::all(0.0); n_blocks * n], vec![Lanes::all(0.0); n_blocks]);
            set.run(Squares { blocks: &blocks, stride: n + 1, n_columns: n, n_squares: n, out: &mut each });
            set.run(Squares { blocks: &blocks, stride: n + 1, n_columns: n, n_squares: 1, out: &mut sum });
            for (block, lane) in (0..n_blocks).flat_map(|block| (0..LANES).map(move |lane| (block, lane))) {
                let x = |d: usize| blocks[block * (n + 1) + d][lane];
                prop_assert!((0..n).all(|d| each[block * n + d][lane] == x(d) * x(d)));
                prop_assert!(close(sum[block][lane], (0..n).map(|d| x(d) * x(d)).sum()));
            }
        }
    }
}
