//! Draws distinct rows uniformly, for the paper's start.

use std::collections::HashSet;

use crate::Error;
use crate::random::{Address, below};
use crate::sweep::{Engine, Source};

/// Number of draws, per requested row, before switching to a list of all distinct rows.
const TRIES: usize = 20;

/// `n` rows with different values, drawn uniformly one after the other.
pub(super) fn distinct_rows(source: &Source<impl Engine>, n: usize, address: Address) -> Result<Vec<f64>, Error> {
    let mut generator = address.item(0);
    let n_rows = source.summary().n_rows;
    let mut seen = HashSet::new();
    let mut centres = Vec::new();
    let mut take = |row: Vec<f64>, weight: f64, centres: &mut Vec<f64>| {
        if weight > 0.0 && seen.insert(row.iter().map(|x| (x + 0.0).to_bits()).collect::<Vec<_>>()) {
            centres.extend(row);
            return true;
        }
        false
    };
    let mut n_taken = 0;
    let drawn: Vec<u64> = (0..TRIES * n).map(|_| below(&mut generator, n_rows) as u64).collect();
    let drawn = source.pick(&drawn)?;
    for row in 0..drawn.n_rows() {
        if n_taken < n {
            n_taken += usize::from(take(drawn.row(row), drawn.weight(row), &mut centres));
        }
    }
    // Most rows are repeats: choose among the distinct rows.
    if n_taken < n {
        let mut distinct = source.distinct(usize::MAX)?;
        while n_taken < n && !distinct.is_empty() {
            let row = distinct.swap_remove(below(&mut generator, distinct.len()));
            let row = source.pick(&[row])?;
            n_taken += usize::from(take(row.row(0), row.weight(0), &mut centres));
        }
    }
    Ok(centres)
}
