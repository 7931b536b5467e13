//! The sizes of a race's levels, and when a level has told what it can.

use crate::driver::Problem;
use crate::family::Family;
use crate::sweep::Engine;
use crate::{Mixture, Rows};

/// Contenders are compared for the first time after this many rounds.
pub(super) const FIRST_RUNG: u64 = 8;
/// Rows of the first level for each free parameter.
const ROWS_PER_PARAMETER: f64 = 8.0;
/// Fewest rows of a level: fewer would not save time.
const FEWEST_ROWS: f64 = 2000.0;
/// Rows of the first level for each component, in units of the fewest that a component can be estimated from.
const ROWS_PER_COMPONENT: f64 = 10.0;
/// Fewest rows of the smallest component at the next level, in the same units.
const ROWS_OF_SMALLEST: f64 = 4.0;
/// Factor by which a level has more rows than the one before.
const GROWTH: f64 = 4.0;
/// Most by which it has more rows if a component is small.
const FASTEST_GROWTH: f64 = 16.0;
/// What may be left to gain on a level, in units of p/(2n).
const GOAL: f64 = 0.03;
/// Rounds after which a level ends at the latest: on a sample, and on all rows.
const LAST_RUNG: u64 = 128;
const LAST_RUNG_OF_ALL: u64 = 32;
/// Samples with more than this share of the rows would save little: all rows are used instead.
const LARGEST_SHARE: f64 = 0.5;
/// All rows are copied for a race on all of them if they have no more values than this.
const MOST_VALUES_COPIED: f64 = 16_777_216.0;
/// Rounds for which the changes of the likelihood do not tell how it goes on.
const FEWEST_CHANGES: usize = 3;
/// The largest ratio of successive gains that is believed: on a plateau it comes close to 1 and tells nothing.
const SLOWEST: f64 = 0.9;

/// What the sizes of a race's levels depend on.
pub(super) struct Rules {
    n_rows: f64,
    n_components: f64,
    n_free: f64,
    /// Fewest rows of a component that can be estimated.
    fewest_rows: f64,
}

impl Rules {
    pub(super) fn of<F: Family, E: Engine>(problem: &Problem<'_, F, E>) -> Self {
        let model = problem.anywhere();
        Self {
            n_rows: problem.source().summary().n_rows as f64,
            n_components: model.n_components() as f64,
            n_free: Mixture::n_free_parameters(&model) as f64,
            fewest_rows: model.components.fewest_rows(),
        }
    }

    /// The share of the rows that the first level has.
    pub(super) fn first_share(&self) -> f64 {
        let by_component = ROWS_PER_COMPONENT * self.n_components * self.fewest_rows;
        let n_rows = FEWEST_ROWS.max(ROWS_PER_PARAMETER * self.n_free).max(by_component);
        self.share(n_rows)
    }

    /// The share of the rows that the next level has, if the smallest component has this weight at this one.
    pub(super) fn share_after(&self, share: f64, least_weight: f64) -> f64 {
        let n_rows = share * self.n_rows;
        let for_smallest = ROWS_OF_SMALLEST * self.fewest_rows / least_weight;
        self.share(for_smallest.min(FASTEST_GROWTH * n_rows).max(GROWTH * n_rows))
    }

    fn share(&self, n_rows: f64) -> f64 {
        let share = n_rows / self.n_rows;
        if share > LARGEST_SHARE { 1.0 } else { share }
    }

    /// Whether a sample has rows enough for the components, by weight.
    pub(super) fn is_enough(&self, rows: &Rows<'_>) -> bool {
        let Some(weights) = rows.weights() else { return rows.n_rows() > 0 };
        let (sum, squares) = weights.iter().fold((0.0, 0.0), |(sum, squares), w| (sum + w, squares + w * w));
        sum * sum / squares >= ROWS_PER_COMPONENT * self.n_components * self.fewest_rows
    }

    /// A start has done enough on a level of `n_rows` rows when less than this is left to gain, in nats per row: a small
    /// part of p/(2n), by which the maximum of a sample of n rows is off.
    pub(super) fn goal(&self, n_rows: u64) -> f64 {
        GOAL * self.n_free / (2 * n_rows) as f64
    }

    /// Rounds after which a level ends at the latest.
    pub(super) fn last_rung(&self, n_rows: u64) -> u64 {
        if self.is_all(n_rows) { LAST_RUNG_OF_ALL } else { LAST_RUNG }
    }

    /// How many contenders may stay on a level after a rung. On all rows rounds are dear, so half of them go every time.
    pub(super) fn most_after(&self, n_rows: u64, n_contenders: usize) -> usize {
        if self.is_all(n_rows) { n_contenders.div_ceil(2) } else { n_contenders }
    }

    fn is_all(&self, n_rows: u64) -> bool {
        n_rows as f64 >= self.n_rows
    }

    /// Whether all rows are so few that they may be copied.
    pub(super) fn fits_in_memory(&self, n_columns: usize) -> bool {
        self.n_rows * n_columns as f64 <= MOST_VALUES_COPIED
    }

    pub(super) fn n_free(&self) -> f64 {
        self.n_free
    }
}

/// What EM still has to gain if its gains go on shrinking as they do, in nats per row.
pub(super) fn left_to_gain(likelihoods: &[f64]) -> f64 {
    let [.., first, second, third] = *likelihoods else { return f64::INFINITY };
    let (before, gain) = (second - first, third - second);
    if gain <= 0.0 {
        return 0.0;
    }
    let ratio = if before > gain { gain / before } else { 1.0 };
    let ratio = ratio.min(SLOWEST);
    gain * ratio / (1.0 - ratio)
}

/// Whether there is less left to gain than the goal.
pub(super) fn is_done(likelihoods: &[f64], repaired: Option<u64>, goal: f64) -> bool {
    let since = repaired.unwrap_or(0) as usize;
    likelihoods.len() > since + FEWEST_CHANGES && left_to_gain(likelihoods) < goal
}

/// The most that a contender may hope to gain: as much as in the second half of its rounds so far.
pub(super) fn hope(likelihoods: &[f64]) -> f64 {
    let n = likelihoods.len();
    if n < 2 { f64::INFINITY } else { likelihoods[n - 1] - likelihoods[(n - 1) / 2] }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: Rules = Rules { n_rows: 1e6, n_components: 10.0, n_free: 659.0, fewest_rows: 11.0 };

    #[test]
    fn levels_grow_by_four_or_as_the_smallest_component_needs() {
        let first = RULES.first_share();
        assert_eq!(first, 8.0 * 659.0 / 1e6);
        assert_eq!(RULES.share_after(first, 0.1), 4.0 * first);
        // 44 rows of a component with weight 0.001 are in 44,000 rows, 8.3 times as many as the first level has.
        assert_eq!(RULES.share_after(first, 0.001), 0.044);
        assert_eq!(RULES.share_after(first, 1e-9), 16.0 * first);
        assert_eq!(RULES.share_after(0.2, 0.1), 1.0);
        let few = Rules { n_rows: 5000.0, ..RULES };
        assert_eq!(few.first_share(), 1.0);
        let simple = Rules { n_components: 2.0, n_free: 5.0, fewest_rows: 2.0, ..RULES };
        assert_eq!(simple.first_share(), 0.002);
    }

    #[test]
    fn what_is_left_of_shrinking_gains_is_the_rest_of_their_series() {
        // −0.8ⁿ: after n = 5, 0.8⁵ is left.
        let likelihoods: Vec<f64> = (0..6).map(|n| -0.8f64.powi(n)).collect();
        assert!((left_to_gain(&likelihoods) - 0.8f64.powi(5)).abs() < 1e-12);
        assert_eq!(left_to_gain(&[-1.0, -2.0, -2.0]), 0.0);
        assert_eq!(left_to_gain(&[-1.0, -0.5]), f64::INFINITY);
        assert!(is_done(&likelihoods, None, 0.33) && !is_done(&likelihoods, None, 0.32));
        // A repair starts another series.
        assert!(!is_done(&likelihoods, Some(4), 0.33));
    }

    #[test]
    fn hope_is_the_gain_of_the_second_half() {
        assert_eq!(hope(&[0.0, 4.0, 6.0, 7.0, 7.5]), 1.5);
        assert_eq!(hope(&[1.0]), f64::INFINITY);
    }
}
