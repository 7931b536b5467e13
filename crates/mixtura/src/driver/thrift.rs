//! Decides from round to round whether draws in single precision pay.

use serde::{Deserialize, Serialize};

use crate::pass::Precision;

/// Single precision pays while at most one row in this many has to be drawn again: it saves up to half of a draw, and
/// a row drawn again costs a whole one.
const PER_UNSURE: u64 = 3;
/// Rounds in double precision after the first failure; twice as many after each further one, up to the longest rest.
/// A failed attempt costs about half a round, so at most one round in a hundred is lost once a run has settled.
const FIRST_REST: u64 = 4;
const LONGEST_REST: u64 = 64;

/// Rounds that are drawn in double precision because too many rows were uncertain in single precision.
///
/// Changes only when a round is complete, so that a round that is repeated after an interruption is the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Thrift {
    /// Rounds in double precision still to come.
    rest: u64,
    /// How many there were after the last attempt; 0 if it paid.
    last_rest: u64,
}

impl Thrift {
    /// The precision of the next pass.
    pub(super) fn precision(self, asked: Precision) -> Precision {
        if self.rest > 0 { Precision::Double } else { asked }
    }

    /// Learns from a complete round how many of its rows were drawn again.
    pub(super) fn learn(&mut self, n_unsure: u64, n_rows: u64) {
        if self.rest > 0 {
            self.rest -= 1;
            return;
        }
        let pays = n_unsure <= n_rows / PER_UNSURE;
        self.last_rest = if pays { 0 } else { (2 * self.last_rest).clamp(FIRST_REST, LONGEST_REST) };
        self.rest = self.last_rest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rounds, out of many, that are drawn in single precision.
    fn attempts(is_unsure: impl Fn(u64) -> bool) -> Vec<u64> {
        let mut thrift = Thrift::default();
        let mut attempts = Vec::new();
        for round in 0..300 {
            let is_narrow = thrift.precision(Precision::Certified) == Precision::Certified;
            attempts.extend(is_narrow.then_some(round));
            thrift.learn(if is_narrow && is_unsure(round) { 900 } else { 0 }, 1000);
        }
        attempts
    }

    #[test]
    fn attempts_become_rarer_while_they_fail_and_resume_once_one_succeeds() {
        assert_eq!(attempts(|_| true), [0, 5, 14, 31, 64, 129, 194, 259]);
        let expected: Vec<u64> = [0, 5].into_iter().chain(14..300).collect();
        assert_eq!(attempts(|round| round < 10), expected);
        assert_eq!(attempts(|_| false).len(), 300);
    }

    #[test]
    fn double_precision_stays_double() {
        assert_eq!(Thrift::default().precision(Precision::Double), Precision::Double);
    }
}
