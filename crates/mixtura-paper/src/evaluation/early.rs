//! Tests whether differences are larger only in the first rounds, as the paper says.

use crate::Quantiles;
use crate::comparison::{Differences, StartDigest};

/// The first rounds: "the first couple of rounds" of the paper.
pub(crate) const FIRST: usize = 5;

/// Weights, means or covariances of some differences.
pub(crate) type Part = fn(&Differences) -> &Vec<Vec<Quantiles>>;

/// The three parts and their names.
pub(crate) const PARTS: [(&str, Part); 3] = [
    ("weights", |differences| &differences.weight),
    ("means", |differences| &differences.mean),
    ("covariances", |differences| &differences.covariance),
];

/// When the differences from the starts of a data set were largest.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Peaks {
    /// Number of starts whose largest difference is in the first rounds.
    pub early: usize,
    /// The same in twice as many rounds.
    pub early_twice: usize,
    /// Number of starts.
    pub starts: usize,
    /// The round with the largest difference, over the starts.
    pub round: Quantiles,
}

/// The largest median over runs of any component, for each round from 1.
pub(crate) fn curve(start: &StartDigest, part: Part) -> Vec<f64> {
    let largest = |round: &Vec<Quantiles>| round.iter().map(|five| five.median).fold(0.0, f64::max);
    part(&start.unmatched)[1..].iter().map(largest).collect()
}

impl Peaks {
    /// Of curves, one per start, with a value per round from 1.
    pub(crate) fn of(curves: &[Vec<f64>]) -> Self {
        let largest = |values: &[f64]| values.iter().copied().fold(0.0, f64::max);
        let is_early = |curve: &[f64], n: usize| {
            let (first, rest) = curve.split_at(n.min(curve.len()));
            largest(first) >= largest(rest)
        };
        let n_early = |n: usize| curves.iter().filter(|curve| is_early(curve, n)).count();
        let round = |curve: &Vec<f64>| {
            let peak = largest(curve);
            1.0 + curve.iter().position(|&value| value == peak).unwrap_or(0) as f64
        };
        Self {
            early: n_early(FIRST),
            early_twice: n_early(2 * FIRST),
            starts: curves.len(),
            round: Quantiles::of(curves.iter().map(round)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peak_is_early_if_it_is_in_the_first_rounds() {
        let early = vec![4.0, 2.0, 1.0, 1.0, 1.0, 1.0, 2.0];
        let late = vec![1.0, 1.0, 1.0, 1.0, 1.0, 2.0, 8.0];
        let peaks = Peaks::of(&[early, late]);
        assert_eq!((peaks.early, peaks.early_twice, peaks.starts), (1, 2, 2));
        assert_eq!((peaks.round.minimum, peaks.round.maximum), (1.0, 7.0));
    }
}
