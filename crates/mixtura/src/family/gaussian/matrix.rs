//! Linear algebra for covariances, in a fixed order of operations.

use nalgebra::DMatrix;
use rayon::prelude::*;

use super::low_rank::raise_if_low_rank;
use crate::kernels::{BadPivot, Cholesky, InstructionSet, InvertLower};

/// Index of (i, j ≤ i) in a packed lower triangle.
pub(crate) fn packed(i: usize, j: usize) -> usize {
    i * (i + 1) / 2 + j
}

/// Cholesky factor of a symmetric matrix (row-major), as a packed lower triangle.
///
/// A pivot must exceed `least` times the matrix's diagonal entry there. Cost D³/3.
pub(crate) fn cholesky(matrix: &[f64], n: usize, least: f64) -> Result<Vec<f64>, BadPivot> {
    let mut factor = vec![0.0; packed(n, 0)];
    InstructionSet::detect().run(Cholesky { matrix, n, least, factor: &mut factor })?;
    Ok(factor)
}

/// Sum of products in a fixed order: eight partial sums side by side, which the compiler vectorizes.
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    const WIDTH: usize = 8;
    let mut sums = [0.0; WIDTH];
    let (a, a_rest) = a.as_chunks::<WIDTH>();
    let (b, b_rest) = b.as_chunks::<WIDTH>();
    for (a, b) in a.iter().zip(b) {
        for lane in 0..WIDTH {
            sums[lane] += a[lane] * b[lane];
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f64>() + rest
}

/// Does something for every component, side by side where a matrix is large enough to pay for that.
pub(crate) fn for_components<T: Send>(
    n_components: usize,
    n_columns: usize,
    work: impl Fn(usize) -> T + Sync + Send,
) -> Vec<T> {
    const LEAST_WORK: usize = 20_000;
    if n_columns.pow(3) < LEAST_WORK {
        return (0..n_components).map(work).collect();
    }
    (0..n_components).into_par_iter().map(work).collect()
}

/// Inverse of a packed lower triangle, packed. Cost D³/6.
pub(crate) fn invert_lower(factor: &[f64], n: usize) -> Vec<f64> {
    let mut inverse = vec![0.0; factor.len()];
    InstructionSet::detect().run(InvertLower { factor, n, inverse: &mut inverse });
    inverse
}

/// Raises the eigenvalues of a symmetric matrix (row-major) to at least 1; true if any was below.
///
/// The Cholesky test comes first: a matrix whose eigenvalues all exceed 1 is left bit for bit.
///
/// Columns may differ in size by many powers of ten, and an eigenvalue of 1 drowns beside one of
/// 1e16. So the eigenvalues λ of B are found as 1/μ − 1 from those of (B + 1)⁻¹, where the small
/// ones are the large ones; a Cholesky factor keeps the digits of such graded matrices.
pub(crate) fn raise_eigenvalues_to_one(matrix: &mut [f64], n: usize) -> bool {
    let mut shifted = matrix.to_vec();
    (0..n).for_each(|i| shifted[i * n + i] -= 1.0);
    if cholesky(&shifted, n, 0.0).is_ok() {
        return false;
    }
    raise_if_low_rank(matrix, n) || raise_eigenvalues_plainly(matrix, n)
}

/// The same by an eigendecomposition of the whole matrix, which has an eigenvalue below 1.
pub(crate) fn raise_eigenvalues_plainly(matrix: &mut [f64], n: usize) -> bool {
    let mut shifted = matrix.to_vec();
    (0..n).for_each(|i| shifted[i * n + i] += 1.0);
    let Ok(factor) = cholesky(&shifted, n, 0.0) else { return false };
    let eigen = gram(&invert_lower(&factor, n), n).symmetric_eigen();
    let mut raised = false;
    // Only what is missing is added, so directions above the floor keep their digits.
    for (&inverse, vector) in eigen.eigenvalues.iter().zip(eigen.eigenvectors.column_iter()) {
        let missing = 2.0 - 1.0 / inverse;
        if inverse > 0.5 && missing > 0.0 {
            raised = true;
            for i in 0..n {
                for j in 0..=i {
                    matrix[i * n + j] += missing * vector[i] * vector[j];
                }
            }
        }
    }
    for i in 0..n {
        for j in 0..i {
            matrix[j * n + i] = matrix[i * n + j];
        }
    }
    raised
}

/// GᵀG for a packed lower triangle G, a row of G at a time.
pub(super) fn gram(factor: &[f64], n: usize) -> DMatrix<f64> {
    let mut product = DMatrix::<f64>::zeros(n, n);
    for l in 0..n {
        let row = &factor[packed(l, 0)..][..=l];
        for (j, &b) in row.iter().enumerate() {
            for (i, &a) in row.iter().enumerate() {
                product[(i, j)] += a * b;
            }
        }
    }
    product
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// B·Bᵀ for the first n² numbers.
    fn outer(values: &[f64], n: usize) -> Vec<f64> {
        let mut matrix = vec![0.0; n * n];
        for i in 0..n {
            for j in 0..n {
                matrix[i * n + j] = (0..n).map(|l| values[i * n + l] * values[j * n + l]).sum();
            }
        }
        matrix
    }

    proptest! {
        #[test]
        fn factor_and_inverse_multiply_to_the_identity(n in 1usize..9, values in prop::collection::vec(-1.0..1.0f64, 64)) {
            let mut matrix = outer(&values, n);
            for i in 0..n {
                matrix[i * n + i] += 1.0;
            }
            let factor = cholesky(&matrix, n, 0.0).unwrap();
            let inverse = invert_lower(&factor, n);
            for i in 0..n {
                for j in 0..n {
                    let product: f64 = (0..=i.min(j)).map(|l| factor[packed(i, l)] * factor[packed(j, l)]).sum();
                    prop_assert!((product - matrix[i * n + j]).abs() < 1e-12);
                }
                for j in 0..=i {
                    let product: f64 = (j..=i).map(|l| factor[packed(i, l)] * inverse[packed(l, j)]).sum();
                    prop_assert!((product - f64::from(u8::from(i == j))).abs() < 1e-12);
                }
            }
        }

        #[test]
        fn raised_matrices_have_no_eigenvalue_below_one(
            n in 1usize..7, values in prop::collection::vec(-2.0..2.0f64, 64), shift in 0.0..3.0f64,
        ) {
            let mut matrix = outer(&values, n);
            for i in 0..n {
                matrix[i * n + i] += shift;
            }
            let before = DMatrix::from_row_slice(n, n, &matrix).symmetric_eigenvalues();
            let original = matrix.clone();
            let raised = raise_eigenvalues_to_one(&mut matrix, n);
            let least = before.iter().copied().fold(f64::INFINITY, f64::min);
            prop_assert!(raised || least > 1.0 - 1e-12);
            if !raised {
                prop_assert_eq!(&original, &matrix);
            }
            let mut after: Vec<f64> = DMatrix::from_row_slice(n, n, &matrix).symmetric_eigenvalues().iter().copied().collect();
            let mut expected: Vec<f64> = before.iter().map(|v| v.max(1.0)).collect();
            after.sort_by(f64::total_cmp);
            expected.sort_by(f64::total_cmp);
            for (a, b) in after.iter().zip(&expected) {
                prop_assert!((a - b).abs() < 1e-11 * b.max(1.0));
            }
        }
    }

    #[test]
    fn a_singular_matrix_names_its_pivot() {
        let singular = [1.0, 1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0];
        assert_eq!(cholesky(&singular, 3, 0.0).unwrap_err(), BadPivot { pivot: 1, value: 0.0 });
    }
}
