//! Factors symmetric matrices and inverts the factors, a few rows at a time.
//!
//! Every number is computed by the same operations in the same order as row by row, with two roundings
//! in a multiply-add on every machine; several rows only share what is read from memory.

use super::vector::{TwoFours, Vector};
use super::{Arithmetic, Kernel};

/// Rows that are computed side by side, and columns: the partial sums of a dot product, so that no number of
/// a block is needed for the vectors of another one in it.
const PANEL: usize = 8;
/// Rows whose sums fit into sixteen registers of half the width.
const HALF: usize = PANEL / 2;

/// Index of (i, j ≤ i) in a packed lower triangle.
const fn packed(i: usize, j: usize) -> usize {
    i * (i + 1) / 2 + j
}

/// A pivot that is not positive: where, and its value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct BadPivot {
    pub(crate) pivot: usize,
    pub(crate) value: f64,
}

/// Cholesky factor of a symmetric matrix (row-major), as a packed lower triangle.
///
/// A pivot must exceed `least` times the matrix's diagonal entry there. Cost D³/6 multiply-adds.
pub(crate) struct Cholesky<'a> {
    pub(crate) matrix: &'a [f64],
    pub(crate) n: usize,
    pub(crate) least: f64,
    pub(crate) factor: &'a mut [f64],
}

impl Kernel for Cholesky<'_> {
    type Output = Result<(), BadPivot>;

    #[inline(always)]
    fn run<A: Arithmetic>(self) -> Result<(), BadPivot> {
        let Self { matrix, n, least, factor } = self;
        for first in (0..n).step_by(PANEL) {
            let end = n.min(first + PANEL);
            let common = if end - first == PANEL { first } else { 0 };
            let (done, panel) = factor.split_at_mut(packed(first, 0));
            for j in (0..common).step_by(PANEL) {
                factor_block::<A>(matrix, n, first, j, done, panel);
            }
            // What is left of these rows: their own square, or all if they are too few.
            for i in first..end {
                let (done, rest) = factor.split_at_mut(packed(i, 0));
                let row = &mut rest[..=i];
                for j in common..i {
                    let other = &done[packed(j, 0)..][..=j];
                    let sum = dot::<A>(&row[..j], &other[..j]);
                    row[j] = (matrix[i * n + j] - sum) / other[j];
                }
                let square = dot::<A>(&row[..i], &row[..i]);
                let pivot = matrix[i * n + i] - square;
                let enough = pivot > least * matrix[i * n + i] && pivot > 0.0 && pivot.is_finite();
                if !enough {
                    return Err(BadPivot { pivot: i, value: pivot });
                }
                row[i] = pivot.sqrt();
            }
        }
        Ok(())
    }
}

/// Columns `from..from + 8` of rows `first..first + 8`, which begin `panel`; the rows before are `done`.
#[inline(always)]
fn factor_block<A: Arithmetic>(matrix: &[f64], n: usize, first: usize, from: usize, done: &[f64], panel: &mut [f64]) {
    let start = |p: usize| packed(first + p, 0) - packed(first, 0);
    let other = |j: usize| &done[packed(from + j, 0)..][..=from + j];
    let rows: [&[f64]; PANEL] = std::array::from_fn(|p| &panel[start(p)..][..from]);
    // Number p of vector j is the product of row p with row from + j, as far as the vectors go.
    let mut products = [[0.0; PANEL]; PANEL];
    for j in (0..PANEL).step_by(2) {
        let pair = [other(j), other(j + 1)];
        let sums = if A::IS_WIDE { tile::<A, PANEL, 2>(rows, pair, from) } else { halves::<A>(rows, pair, from) };
        for (product, sums) in products[j..].iter_mut().zip(sums) {
            in_order::<A>(sums).store(product);
        }
    }
    let mut found = [[0.0; PANEL]; PANEL];
    for j in 0..PANEL {
        let other = other(j);
        let mut tail = [-0.0; PANEL];
        for l in 0..j {
            for p in 0..PANEL {
                tail[p] += found[l][p] * other[from + l];
            }
        }
        for p in 0..PANEL {
            let sum = products[j][p] + tail[p];
            found[j][p] = (matrix[(first + p) * n + from + j] - sum) / other[from + j];
        }
    }
    for p in 0..PANEL {
        for (j, entry) in panel[start(p) + from..][..PANEL].iter_mut().enumerate() {
            *entry = found[j][p];
        }
    }
}

/// Products of every row with every other, as eight partial sums each, over the first `length` numbers.
#[inline(always)]
fn tile<A: Arithmetic, const ROWS: usize, const OTHERS: usize>(
    rows: [&[f64]; ROWS],
    others: [&[f64]; OTHERS],
    length: usize,
) -> [[A::Eight; ROWS]; OTHERS] {
    let mut sums = [[A::Eight::all(0.0); ROWS]; OTHERS];
    for at in (0..length).step_by(PANEL) {
        let others = others.map(|other| A::Eight::load(&other[at..]));
        for p in 0..ROWS {
            let row = A::Eight::load(&rows[p][at..]);
            for j in 0..OTHERS {
                sums[j][p] = sums[j][p].add(row.mul(others[j]));
            }
        }
    }
    sums
}

/// The same, half of the rows and one other at a time.
#[inline(always)]
fn halves<A: Arithmetic>(rows: [&[f64]; PANEL], others: [&[f64]; 2], length: usize) -> [[A::Eight; PANEL]; 2] {
    others.map(|other| {
        let half = |from: usize| tile::<A, HALF, 1>(std::array::from_fn(|p| rows[from + p]), [other], length)[0];
        let (low, high) = (half(0), half(HALF));
        std::array::from_fn(|p| if p < HALF { low[p] } else { high[p - HALF] })
    })
}

/// Adds up each vector's numbers from the first to the last: number p of the result is the sum of vector p.
#[inline(always)]
fn in_order<A: Arithmetic>(vectors: [A::Eight; PANEL]) -> A::Eight {
    let [first, rest @ ..] = A::Eight::transposed(vectors);
    rest.into_iter().fold(first, A::Eight::add)
}

/// Product of two rows, as eight partial sums side by side.
#[inline(always)]
fn dot<A: Arithmetic>(row: &[f64], other: &[f64]) -> f64 {
    let whole = other.len() / PANEL * PANEL;
    let [[sums]] = tile::<A, 1, 1>([row], [other], whole);
    let mut partial = [0.0; PANEL];
    sums.store(&mut partial);
    let tail: f64 = row[whole..].iter().zip(&other[whole..]).map(|(a, b)| a * b).sum();
    partial.iter().sum::<f64>() + tail
}

/// Inverse of a packed lower triangle, packed; `inverse` must be zero. Cost D³/6 multiply-adds.
pub(crate) struct InvertLower<'a> {
    pub(crate) factor: &'a [f64],
    pub(crate) n: usize,
    pub(crate) inverse: &'a mut [f64],
}

impl Kernel for InvertLower<'_> {
    type Output = ();

    #[inline(always)]
    fn run<A: Arithmetic>(self) {
        let Self { factor, n, inverse } = self;
        for first in (0..n).step_by(PANEL) {
            let end = n.min(first + PANEL);
            let common = if end - first == PANEL { first } else { 0 };
            let (done, panel) = inverse.split_at_mut(packed(first, 0));
            for from in (0..common).step_by(PANEL) {
                if A::IS_WIDE {
                    invert_block::<A, PANEL>(factor, first, 0, from, done, panel);
                } else {
                    invert_block::<A, HALF>(factor, first, 0, from, done, panel);
                    invert_block::<A, HALF>(factor, first, HALF, from, done, panel);
                }
            }
            for i in first..end {
                let (done, rest) = inverse.split_at_mut(packed(i, 0));
                let row = &mut rest[..=i];
                for l in common..i {
                    subtract(row, factor[packed(i, l)], &done[packed(l, 0)..][..=l]);
                }
                row[i] = 1.0;
                let diagonal = 1.0 / factor[packed(i, i)];
                row.iter_mut().for_each(|entry| *entry *= diagonal);
            }
        }
    }
}

/// What the rows before a panel, which are `done`, contribute to columns `from..from + 8` of its rows, from
/// `top` of them on; the panel begins with row `first`.
#[inline(always)]
fn invert_block<A: Arithmetic, const ROWS: usize>(
    factor: &[f64],
    first: usize,
    top: usize,
    from: usize,
    done: &[f64],
    panel: &mut [f64],
) {
    let start = |p: usize| packed(first + top + p, 0);
    let rows: [&[f64]; ROWS] = std::array::from_fn(|p| &factor[start(p)..]);
    let mut sums = [A::Eight::all(0.0); ROWS];
    let mut square = [0.0; PANEL * PANEL];
    for (l, entries) in square.chunks_exact_mut(PANEL).enumerate() {
        entries[..=l].copy_from_slice(&done[packed(from + l, from)..][..=l]);
    }
    for l in from..first {
        let entries = if l < from + PANEL { &square[(l - from) * PANEL..] } else { &done[packed(l, from)..] };
        let entries = A::Eight::load(entries);
        for p in 0..ROWS {
            sums[p] = sums[p].sub(A::Eight::all(rows[p][l]).mul(entries));
        }
    }
    for (p, sum) in sums.into_iter().enumerate() {
        sum.store(&mut panel[start(p) - packed(first, 0) + from..]);
    }
}

/// `row −= factor · entries`.
#[inline(always)]
fn subtract(row: &mut [f64], factor: f64, entries: &[f64]) {
    for (sum, entry) in row.iter_mut().zip(entries) {
        *sum -= factor * entry;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::InstructionSet;
    use super::super::dispatch::Separate;
    use super::*;

    /// Row by row, as in the textbook.
    fn plain(matrix: &[f64], n: usize) -> (Vec<f64>, Vec<f64>) {
        let mut factor = vec![0.0; packed(n, 0)];
        let mut inverse = factor.clone();
        for i in 0..n {
            for j in 0..=i {
                let (row, other) = (&factor[packed(i, 0)..][..j], &factor[packed(j, 0)..][..j]);
                let rest = matrix[i * n + j] - dot::<Separate>(row, other);
                factor[packed(i, j)] = if i == j { rest.sqrt() } else { rest / factor[packed(j, j)] };
            }
            for j in 0..=i {
                let mut sum = f64::from(u8::from(i == j));
                for l in j..i {
                    sum -= factor[packed(i, l)] * inverse[packed(l, j)];
                }
                inverse[packed(i, j)] = sum * (1.0 / factor[packed(i, i)]);
            }
        }
        (factor, inverse)
    }

    proptest! {
        #[test]
        fn panels_have_the_bits_of_single_rows(n in 1usize..40, values in prop::collection::vec(-1.0..1.0f64, 40 * 40)) {
            let mut matrix = vec![0.0; n * n];
            for (i, j) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))) {
                matrix[i * n + j] = (values[i * n + j] + values[j * n + i]) + if i == j { 2.0 * n as f64 } else { 0.0 };
            }
            let (factor, inverse) = plain(&matrix, n);
            for set in InstructionSet::fused().into_iter().chain([InstructionSet::baseline()]) {
                let (mut found, mut inverted) = (vec![0.0; factor.len()], vec![0.0; factor.len()]);
                set.run(Cholesky { matrix: &matrix, n, least: 0.0, factor: &mut found }).unwrap();
                set.run(InvertLower { factor: &found, n, inverse: &mut inverted });
                prop_assert_eq!(&found, &factor);
                prop_assert_eq!(&inverted, &inverse);
            }
        }
    }
}
