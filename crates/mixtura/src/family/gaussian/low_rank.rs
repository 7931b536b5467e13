//! Raises the eigenvalues of a matrix of low rank: what a floor costs where there are fewer rows than columns.

use super::matrix::{cholesky, dot, gram, invert_lower};

/// With fewer columns than this the plain way is as fast.
const LEAST_COLUMNS: usize = 64;
/// What is left of a diagonal entry is rounding if it is less than this many roundings of it for each step.
const ROUNDINGS: f64 = 16.0;

/// Raises the eigenvalues of a positive semidefinite matrix B (row-major) to at least 1 if its rank r is at most
/// half its size; whether that was done. At least one eigenvalue is below 1 then.
///
/// A pivoted Cholesky factor L reveals the rank: B = LLᵀ up to rounding. Of the r×r matrix LᵀL, which has the
/// other eigenvalues λ, come their eigenvectors V, and 1 − L·V·diag(min(1, 1/λ))·Vᵀ·Lᵀ is what B misses: 1 − λ where
/// λ < 1, 1 where there is none, else nothing. Cost O(n²r) instead of a decomposition in O(n³).
pub(super) fn raise_if_low_rank(matrix: &mut [f64], n: usize) -> bool {
    if n < LEAST_COLUMNS {
        return false;
    }
    let Some(factor) = pivoted_cholesky(matrix, n, n / 2) else { return false };
    let Some(shares) = missing_shares(&factor) else { return false };
    let rank = factor.len();
    // Rows of L, and of L times the shares.
    let rows: Vec<f64> = (0..n).flat_map(|i| factor.iter().map(move |column| column[i])).collect();
    let mut products = Vec::with_capacity(n * rank);
    for row in rows.chunks_exact(rank) {
        products.extend(shares.chunks_exact(rank).map(|share| dot(row, share)));
    }
    for i in 0..n {
        for j in 0..=i {
            let one = f64::from(u8::from(i == j));
            matrix[i * n + j] += one - dot(rows_of(&products, i, rank), rows_of(&rows, j, rank));
            matrix[j * n + i] = matrix[i * n + j];
        }
    }
    true
}

fn rows_of(matrix: &[f64], row: usize, n: usize) -> &[f64] {
    &matrix[row * n..][..n]
}

/// Columns of L with LLᵀ = B to rounding, the entry with the largest share of its diagonal left taken next; none
/// if there would be more than `most` of them.
fn pivoted_cholesky(matrix: &[f64], n: usize, most: usize) -> Option<Vec<Vec<f64>>> {
    let diagonal: Vec<f64> = (0..n).map(|i| matrix[i * n + i]).collect();
    let mut left = diagonal.clone();
    let mut columns: Vec<Vec<f64>> = Vec::new();
    loop {
        let share = |i: usize| if diagonal[i] > 0.0 { left[i] / diagonal[i] } else { 0.0 };
        let pivot = (0..n).max_by(|&a, &b| share(a).total_cmp(&share(b)))?;
        if share(pivot) <= ROUNDINGS * f64::EPSILON * (columns.len() + 1) as f64 {
            return Some(columns);
        }
        if columns.len() == most {
            return None;
        }
        let mut column = matrix[pivot * n..][..n].to_vec();
        for done in &columns {
            let factor = done[pivot];
            column.iter_mut().zip(done).for_each(|(entry, done)| *entry -= factor * done);
        }
        let root = left[pivot].sqrt();
        for (entry, left) in column.iter_mut().zip(&mut left) {
            *entry /= root;
            *left -= *entry * *entry;
        }
        left[pivot] = 0.0;
        columns.push(column);
    }
}

/// V·diag(min(1, 1/λ))·Vᵀ for the eigenvalues λ and eigenvectors V of LᵀL: r×r numbers.
fn missing_shares(factor: &[Vec<f64>]) -> Option<Vec<f64>> {
    let rank = factor.len();
    let mut shifted = vec![0.0; rank * rank];
    for i in 0..rank {
        for j in 0..=i {
            let entry = dot(&factor[i], &factor[j]);
            shifted[i * rank + j] = entry;
            shifted[j * rank + i] = entry;
        }
        shifted[i * rank + i] += 1.0;
    }
    // As in the plain way, the small λ come from the inverse of LᵀL + 1, where they are the large ones.
    let inverse = invert_lower(&cholesky(&shifted, rank, 0.0).ok()?, rank);
    let eigen = gram(&inverse, rank).symmetric_eigen();
    let mut shares = vec![0.0; rank * rank];
    for (&inverse, vector) in eigen.eigenvalues.iter().zip(eigen.eigenvectors.column_iter()) {
        // 1/λ for λ = 1/μ − 1.
        let share = if inverse < 0.5 { (inverse / (1.0 - inverse)).max(0.0) } else { 1.0 };
        for i in 0..rank {
            for j in 0..rank {
                shares[i * rank + j] += share * vector[i] * vector[j];
            }
        }
    }
    Some(shares)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::matrix::raise_eigenvalues_plainly;
    use super::*;

    /// A random matrix of some rank, with columns of different size.
    fn of_rank(n: usize, rank: usize, seed: u64, grading: f64) -> Vec<f64> {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 53) as f64 - 0.5
        };
        let factor: Vec<f64> = (0..n * rank).map(|_| next()).collect();
        let sizes: Vec<f64> = (0..n).map(|_| 10f64.powf(grading * next())).collect();
        let entry =
            |i: usize, j: usize| sizes[i] * sizes[j] * dot(rows_of(&factor, i, rank), rows_of(&factor, j, rank));
        (0..n * n).map(|at| entry((at / n).max(at % n), (at / n).min(at % n))).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
        /// The plain way adds a matrix of norm at most 1, computed with an error of norm cnε. The fast one adds 1 − L·S·Lᵀ,
        /// where row i of L has length √B_ii and S, of norm at most 1, has an error of norm cnε. So entry (i, j) of the
        /// results differs by at most cnε(1 + √B_ii)(1 + √B_jj), and in these units the norm of all n² differences is
        /// at most n times cnε.
        #[test]
        fn few_rows_in_many_columns_are_raised_as_the_plain_way_does(
            n in 64usize..110, share in 0.01..0.5f64, seed in any::<u64>(), grading in 0.0..6.0f64,
        ) {
            let rank = ((n as f64 * share) as usize).max(1);
            let matrix = of_rank(n, rank, seed, grading);
            let (mut plain, mut fast) = (matrix.clone(), matrix.clone());
            prop_assert!(raise_eigenvalues_plainly(&mut plain, n));
            prop_assert!(raise_if_low_rank(&mut fast, n));
            let size = |i: usize| 1.0 + matrix[i * n + i].sqrt();
            let difference = |at: usize| (plain[at] - fast[at]) / (size(at / n) * size(at % n));
            let norm = (0..n * n).map(|at| difference(at).powi(2)).sum::<f64>().sqrt();
            let bound = 32.0 * (n * n) as f64 * f64::EPSILON;
            prop_assert!(norm <= bound, "{norm:e} {bound:e}");
        }
    }

    #[test]
    fn a_matrix_of_high_rank_is_left_to_the_plain_way() {
        let matrix = of_rank(70, 60, 1, 2.0);
        let mut same = matrix.clone();
        assert!(!raise_if_low_rank(&mut same, 70));
        assert_eq!(same, matrix);
    }
}
