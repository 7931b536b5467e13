//! Counts the arithmetic of a round: as the paper counts it, and as the kernels do it.

use serde::Serialize;

/// Operations for a power of two: the polynomial and scaling of the kernel, each as one multiply-add.
const POWER: f64 = 17.0;
/// Operations for a logarithm.
const LOGARITHM: f64 = 14.0;

/// Multiply-adds of a round with full covariances.
///
/// The paper counts 2KND² multiplications for EM, half of them for the densities and half for the statistics, and KND²
/// for SEM, whose statistics take only ND². The kernels use symmetry: a density takes D(D+1)/2 multiply-adds for the
/// triangular factor, D for the squares and 1 for the constant, statistics take (D+1)(D+2)/2 for the products of a row
/// with itself and a one. Posteriors take a power per component and a logarithm per row.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Operations {
    /// As counted in the paper.
    pub paper: f64,
    /// Densities, as the kernels compute them.
    pub densities: f64,
    /// Posteriors.
    pub posteriors: f64,
    /// Statistics.
    pub statistics: f64,
}

impl Operations {
    /// Of a round of EM.
    pub fn em(n_rows: usize, n_columns: usize, n_components: usize) -> Self {
        let sem = Self::sem(n_rows, n_columns, n_components);
        Self { paper: 2.0 * sem.paper, statistics: n_components as f64 * sem.statistics, ..sem }
    }

    /// Of a round of SEM, whose rows count towards one component each.
    pub fn sem(n_rows: usize, n_columns: usize, n_components: usize) -> Self {
        let (n, d, k) = (n_rows as f64, n_columns as f64, n_components as f64);
        Self {
            paper: n * k * d * d,
            densities: n * k * (d * (d + 1.0) / 2.0 + d + 1.0),
            posteriors: n * (k * POWER + LOGARITHM),
            statistics: n * (d + 1.0) * (d + 2.0) / 2.0,
        }
    }

    /// All that the kernels do.
    pub fn total(&self) -> f64 {
        self.densities + self.posteriors + self.statistics
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_is_the_sum_over_rows_and_components() {
        let (n, d, k) = (7, 3, 4);
        let (em, sem) = (Operations::em(n, d, k), Operations::sem(n, d, k));
        // A factor of 3 rows with 1, 2 and 3 entries, three squares and a constant.
        assert_eq!(em.densities, 7.0 * 4.0 * (1.0 + 2.0 + 3.0 + 3.0 + 1.0));
        // Products of (1, x, y, z) with itself: ten pairs.
        assert_eq!((em.statistics, sem.statistics), (7.0 * 4.0 * 10.0, 7.0 * 10.0));
        assert_eq!((em.paper, sem.paper), (2.0 * 4.0 * 7.0 * 9.0, 4.0 * 7.0 * 9.0));
        // With many columns EM takes twice as long as SEM with many components, and less than twice with few.
        let ratio = |k| Operations::em(1, 1000, k).total() / Operations::sem(1, 1000, k).total();
        assert!((ratio(1000) - 2.0).abs() < 0.01 && (ratio(1) - 1.0).abs() < 1e-12 && ratio(3) < 1.6);
    }
}
