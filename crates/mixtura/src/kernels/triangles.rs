//! Factors symmetric matrices and inverts the factors, a few rows at a time.
//!
//! Every number is computed by the same operations in the same order as row by row, with two roundings
//! in a multiply-add on every machine; several rows only share what is read from memory.

use super::vector::Vector;
use super::{Arithmetic, Kernel};

/// Rows that are computed side by side.
const PANEL: usize = 4;
/// Partial sums of a dot product.
const WIDTH: usize = 8;

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
            let (done, panel) = factor.split_at_mut(packed(first, 0));
            if end - first == PANEL {
                for j in 0..first {
                    let other = &done[packed(j, 0)..][..=j];
                    let at = |p: usize| packed(first + p, 0) - packed(first, 0);
                    let sums = dots::<A, PANEL>(std::array::from_fn(|p| &panel[at(p)..][..j]), &other[..j]);
                    for p in 0..PANEL {
                        panel[at(p) + j] = (matrix[(first + p) * n + j] - sums[p]) / other[j];
                    }
                }
            }
            // What is left of these rows: their own square, or all if they are too few.
            let common = if end - first == PANEL { first } else { 0 };
            for i in first..end {
                let (done, rest) = factor.split_at_mut(packed(i, 0));
                let row = &mut rest[..=i];
                for j in common..i {
                    let other = &done[packed(j, 0)..][..=j];
                    let [sum] = dots::<A, 1>([&row[..j]], &other[..j]);
                    row[j] = (matrix[i * n + j] - sum) / other[j];
                }
                let [square] = dots::<A, 1>([&row[..i]], &row[..i]);
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

/// Products of several rows with another one, each as eight partial sums side by side.
#[inline(always)]
fn dots<A: Arithmetic, const N: usize>(rows: [&[f64]; N], other: &[f64]) -> [f64; N] {
    let mut sums = [A::Eight::all(0.0); N];
    let whole = other.len() / WIDTH * WIDTH;
    for at in (0..whole).step_by(WIDTH) {
        let chunk = A::Eight::load(&other[at..]);
        for n in 0..N {
            sums[n] = sums[n].add(A::Eight::load(&rows[n][at..]).mul(chunk));
        }
    }
    let mut out = [0.0; N];
    for n in 0..N {
        let mut partial = [0.0; WIDTH];
        sums[n].store(&mut partial);
        let tail: f64 = rows[n][whole..].iter().zip(&other[whole..]).map(|(a, b)| a * b).sum();
        out[n] = partial.iter().sum::<f64>() + tail;
    }
    out
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
            let (done, panel) = inverse.split_at_mut(packed(first, 0));
            for l in 0..first {
                let entries = &done[packed(l, 0)..][..=l];
                for i in first..end {
                    subtract(&mut panel[packed(i, 0) - packed(first, 0)..], factor[packed(i, l)], entries);
                }
            }
            for i in first..end {
                let (done, rest) = inverse.split_at_mut(packed(i, 0));
                let row = &mut rest[..=i];
                for l in first..i {
                    subtract(row, factor[packed(i, l)], &done[packed(l, 0)..][..=l]);
                }
                row[i] = 1.0;
                let diagonal = 1.0 / factor[packed(i, i)];
                row.iter_mut().for_each(|entry| *entry *= diagonal);
            }
        }
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
                let rest = matrix[i * n + j] - dots::<Separate, 1>([row], other)[0];
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
