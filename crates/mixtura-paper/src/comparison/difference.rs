//! Measures the differences between the components of two mixtures.

use mixtura::matching::matching;
use mixtura::{FullGaussian, Mixture};
use serde::{Deserialize, Serialize};

/// The difference between two components.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// Absolute difference of the weights.
    pub weight: f64,
    /// Euclidean distance of the means.
    pub mean: f64,
    /// Frobenius norm of the difference of the covariances.
    pub covariance: f64,
}

/// The differences between SEM's and EM's components after the same number of rounds.
#[derive(Debug, Clone, PartialEq)]
pub struct RoundDifferences {
    /// Compared with the component of the same number, as in the paper.
    pub unmatched: Vec<Difference>,
    /// Compared with the matched component of SEM, in the assignment of smallest total distance.
    pub matched: Vec<Difference>,
    /// For each component of EM, its match.
    pub partners: Vec<usize>,
}

impl Difference {
    /// Between component `i` of one mixture and `j` of another.
    pub fn between(a: &Mixture<FullGaussian>, i: usize, b: &Mixture<FullGaussian>, j: usize) -> Self {
        let distance = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
        Self {
            weight: (a.weights[i] - b.weights[j]).abs(),
            mean: distance(a.components.mean(i), b.components.mean(j)),
            covariance: distance(a.components.covariance(i), b.components.covariance(j)),
        }
    }
}

impl RoundDifferences {
    /// Between EM's and SEM's components; `scale` is a unit for each column.
    pub fn new(em: &Mixture<FullGaussian>, sem: &Mixture<FullGaussian>, scale: &[f64]) -> Self {
        let partners = matching(&em.components, &sem.components, scale);
        Self {
            unmatched: (0..em.n_components()).map(|k| Difference::between(em, k, sem, k)).collect(),
            matched: partners.iter().enumerate().map(|(k, &j)| Difference::between(em, k, sem, j)).collect(),
            partners,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_those_of_the_paper() {
        let model = |means: Vec<f64>, variance: f64| {
            let covariances = vec![1.0, 0.0, 0.0, 1.0, variance, 0.0, 0.0, variance];
            Mixture::new(vec![0.25, 0.75], FullGaussian::new(2, means, covariances).unwrap()).unwrap()
        };
        let em = model(vec![0.0, 0.0, 9.0, 9.0], 4.0);
        let mut sem = model(vec![3.0, 4.0, 9.0, 9.0], 5.0);
        let found = RoundDifferences::new(&em, &sem, &[1.0, 1.0]);
        assert_eq!(found.partners, [0, 1]);
        assert_eq!(found.unmatched[0], Difference { weight: 0.0, mean: 5.0, covariance: 0.0 });
        assert!((found.unmatched[1].covariance - 2f64.sqrt()).abs() < 1e-15);
        // Swapped components: far apart by number, close when matched.
        sem = Mixture::new(
            vec![0.7, 0.3],
            FullGaussian::new(2, vec![9.0, 9.0, 0.0, 0.0], vec![4.0, 0.0, 0.0, 4.0, 1.0, 0.0, 0.0, 1.0]).unwrap(),
        )
        .unwrap();
        let found = RoundDifferences::new(&em, &sem, &[1.0, 1.0]);
        assert_eq!(found.partners, [1, 0]);
        assert!((found.unmatched[0].mean - 162f64.sqrt()).abs() < 1e-12 && found.matched[0].mean == 0.0);
        assert!((found.matched[0].weight - 0.05).abs() < 1e-12);
    }
}
