//! Matches the components of two mixtures so that the total distance is minimal.

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::family::Family;

/// Largest distance between components, so that sums over any number of them stay finite.
const FARTHEST: f64 = 1e290;

/// The location and width of components: all that matching uses.
///
/// Deserializing refuses lists whose lengths do not match.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct Outline {
    n_columns: usize,
    centres: Vec<f64>,
    spreads: Vec<f64>,
}

/// An outline as deserialized.
#[derive(Deserialize)]
#[serde(rename = "Outline")]
struct Unchecked {
    n_columns: usize,
    centres: Vec<f64>,
    spreads: Vec<f64>,
}

impl TryFrom<Unchecked> for Outline {
    type Error = Error;

    fn try_from(Unchecked { n_columns, centres, spreads }: Unchecked) -> Result<Self, Error> {
        if n_columns == 0 {
            return Err(Error::NoColumns);
        }
        if centres.is_empty() || !centres.len().is_multiple_of(n_columns) {
            return Err(Error::Ragged { n_values: centres.len(), n_columns });
        }
        if spreads.len() != centres.len() {
            let (n_found, n_expected) = (spreads.len(), centres.len());
            return Err(Error::Length { what: "spreads", n_found, n_expected, of: "centres" });
        }
        Ok(Self { n_columns, centres, spreads })
    }
}

impl Outline {
    /// The outline of a mixture's components.
    pub fn of<F: Family>(components: &F) -> Self {
        Self { n_columns: components.n_columns(), centres: components.centres(), spreads: components.spreads() }
    }

    /// Number of components.
    pub fn n_components(&self) -> usize {
        self.centres.len() / self.n_columns
    }

    /// Moves by a fraction of the way to another outline; with fractions 1, 1/2, 1/3, … the result is the mean.
    pub fn approach(&mut self, other: &Self, share: f64) {
        let numbers = self.centres.iter_mut().chain(&mut self.spreads);
        for (own, other) in numbers.zip(other.centres.iter().chain(&other.spreads)) {
            *own += share * (other - *own);
        }
    }

    /// Squared distance between a component and one of another outline: Σ_d (Δcentre² + Δspread²)/scale², the
    /// Wasserstein distance for Gaussians without correlations.
    pub fn distance(&self, component: usize, other: &Self, of_other: usize, scale: &[f64]) -> f64 {
        let n = self.n_columns;
        let part = |own: &[f64], other: &[f64]| -> f64 {
            let pairs = own[component * n..][..n].iter().zip(&other[of_other * n..][..n]);
            pairs.zip(scale).map(|((a, b), scale)| ((a - b) / scale).powi(2)).sum()
        };
        (part(&self.centres, &other.centres) + part(&self.spreads, &other.spreads)).min(FARTHEST)
    }

    /// For each component, its partner in another outline, with minimal total distance.
    pub fn matched(&self, other: &Self, scale: &[f64]) -> Vec<usize> {
        let n = self.n_components();
        let costs: Vec<f64> = (0..n * n).map(|at| self.distance(at / n, other, at % n, scale)).collect();
        assignment(&costs, n)
    }

    /// Whether matching components by number has minimal total distance.
    pub fn matches_by_number(&self, other: &Self, scale: &[f64]) -> bool {
        let n = self.n_components();
        let costs: Vec<f64> = (0..n * n).map(|at| self.distance(at / n, other, at % n, scale)).collect();
        // The common case: every component is nearest to the one with the same number.
        let is_nearest = |k: usize| costs[k * n..][..n].iter().all(|&cost| costs[k * n + k] <= cost);
        if (0..n).all(is_nearest) {
            return true;
        }
        let total = |partners: &[usize]| -> f64 { partners.iter().enumerate().map(|(k, &j)| costs[k * n + j]).sum() };
        let identity: Vec<usize> = (0..n).collect();
        total(&identity) <= total(&assignment(&costs, n))
    }
}

/// For each component of `a`, its partner in `b`; distances are in units of `scale`, one per column.
///
/// ```
/// use mixtura::FullGaussian;
/// use mixtura::matching::matching;
///
/// let a = FullGaussian::new(1, vec![0.0, 5.0, 9.0], vec![1.0, 1.0, 1.0])?;
/// let b = FullGaussian::new(1, vec![9.1, 0.2, 4.0], vec![1.0, 1.0, 1.0])?;
/// assert_eq!(matching(&a, &b, &[1.0]), [1, 2, 0]);
/// # Ok::<(), mixtura::Error>(())
/// ```
pub fn matching<F: Family>(a: &F, b: &F, scale: &[f64]) -> Vec<usize> {
    Outline::of(a).matched(&Outline::of(b), scale)
}

/// Solves the assignment problem: assigns a different column to each row of an n×n table of finite costs, with minimal
/// total cost.
///
/// Shortest augmenting paths with potentials (Jonker and Volgenant 1987). Cost O(n³).
///
/// ```
/// assert_eq!(mixtura::matching::assignment(&[1.0, 0.0, 5.0, 1.0], 2), [0, 1]);
/// ```
pub fn assignment(costs: &[f64], n: usize) -> Vec<usize> {
    // Row and column 0 mean "none", so rows and columns are counted from 1 here.
    let (mut of_rows, mut of_columns) = (vec![0.0; n + 1], vec![0.0; n + 1]);
    let mut row_of = vec![0; n + 1];
    let (mut least, mut from, mut done) = (vec![0.0; n + 1], vec![0; n + 1], vec![false; n + 1]);
    for row in 1..=n {
        least.fill(f64::INFINITY);
        done.fill(false);
        row_of[0] = row;
        let mut column = 0;
        while row_of[column] != 0 {
            done[column] = true;
            let via = row_of[column];
            let (mut step, mut next) = (f64::INFINITY, 0);
            for j in (1..=n).filter(|&j| !done[j]) {
                let reduced = costs[(via - 1) * n + j - 1] - of_rows[via] - of_columns[j];
                if reduced < least[j] {
                    (least[j], from[j]) = (reduced, column);
                }
                if least[j] < step {
                    (step, next) = (least[j], j);
                }
            }
            for j in 0..=n {
                if done[j] {
                    of_rows[row_of[j]] += step;
                    of_columns[j] -= step;
                } else {
                    least[j] -= step;
                }
            }
            column = next;
        }
        while column != 0 {
            row_of[column] = row_of[from[column]];
            column = from[column];
        }
    }
    let mut columns = vec![0; n];
    for column in 1..=n {
        columns[row_of[column] - 1] = column - 1;
    }
    columns
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::FullGaussian;

    /// Minimal cost over all permutations.
    fn brute_force(costs: &[f64], n: usize, row: usize, taken: &mut Vec<bool>) -> f64 {
        if row == n {
            return 0.0;
        }
        let mut least = f64::INFINITY;
        for column in 0..n {
            if !taken[column] {
                taken[column] = true;
                least = least.min(costs[row * n + column] + brute_force(costs, n, row + 1, taken));
                taken[column] = false;
            }
        }
        least
    }

    proptest! {
        #[test]
        fn assignments_have_the_cost_of_the_best_permutation(
            n in 1usize..=6, entries in prop::collection::vec(0u32..20, 36), fine in prop::collection::vec(0.0..1.0, 36),
        ) {
            for costs in [entries.iter().map(|&x| f64::from(x)).collect::<Vec<_>>(), fine] {
                let costs = &costs[..n * n];
                let columns = assignment(costs, n);
                let mut sorted = columns.clone();
                sorted.sort_unstable();
                prop_assert_eq!(sorted, (0..n).collect::<Vec<_>>());
                let found: f64 = columns.iter().enumerate().map(|(row, column)| costs[row * n + column]).sum();
                let least = brute_force(costs, n, 0, &mut vec![false; n]);
                prop_assert!((found - least).abs() < 1e-12 * (1.0 + least), "{} {}", found, least);
            }
        }

        #[test]
        fn reordered_components_are_found_again(
            means in prop::collection::vec(-9.0..9.0, 12), seed in 0usize..720,
        ) {
            let covariances: Vec<f64> = (0..6).flat_map(|k| [1.0 + f64::from(k), 0.3, 0.3, 2.0]).collect();
            let a = FullGaussian::new(2, means, covariances).unwrap();
            let (mut left, mut rest) = ((0..6).collect::<Vec<usize>>(), seed);
            let order: Vec<usize> = (1..=6).rev().map(|n| { let at = rest % n; rest /= n; left.remove(at) }).collect();
            let b = a.reordered(&order);
            let partners = matching(&b, &a, &[2.0, 3.0]);
            prop_assert_eq!(&partners, &order);
            let by_number = Outline::of(&b).matches_by_number(&Outline::of(&a), &[2.0, 3.0]);
            prop_assert_eq!(by_number, order == [0, 1, 2, 3, 4, 5]);
        }
    }

    /// All are nearest to the same one, so only the whole assignment decides.
    #[test]
    fn components_match_by_number_even_if_another_is_nearer() {
        let a = FullGaussian::new(1, vec![0.0, 1.0, 2.0], vec![1.0; 3]).unwrap();
        let b = FullGaussian::new(1, vec![-9.0, 0.9, 4.0], vec![1.0; 3]).unwrap();
        assert!(Outline::of(&a).matches_by_number(&Outline::of(&b), &[1.0]));
        let c = FullGaussian::new(1, vec![1e200, 0.9, -1e200], vec![1.0; 3]).unwrap();
        assert_eq!(matching(&a, &c, &[1e-200]).len(), 3);
    }

    #[test]
    fn approaching_by_decreasing_fractions_gives_the_mean() {
        let outline = |mean: f64| Outline::of(&FullGaussian::new(1, vec![mean], vec![mean * mean]).unwrap());
        let mut mean = outline(1.0);
        mean.approach(&outline(2.0), 0.5);
        mean.approach(&outline(6.0), 1.0 / 3.0);
        assert!((mean.centres[0] - 3.0).abs() < 1e-15 && (mean.spreads[0] - 3.0).abs() < 1e-15);
    }
}
