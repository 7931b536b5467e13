//! Fetches single rows: by number, at random, or the first distinct ones.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::{Chunk, Engine, Merge, Prepared, Sweep};
use crate::random::{Address, Generator, Purpose, below, uniform};
use crate::{Error, Rows};

/// Rows read for each distinct row requested, before all rows are read.
const FIRST_LOOK: usize = 4;

/// Rows with the given numbers, in that order, with their weights.
pub(super) fn pick<E: Engine>(engine: &E, rows: &[u64], is_weighted: bool) -> Result<Rows<'static>, Error> {
    let mut sorted = rows.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let Picked { n_columns, parts } = engine.sweep(&Picks { rows: sorted })?;
    let numbers: Vec<u64> = parts.iter().flat_map(|part| &part.numbers).copied().collect();
    let values = parts.iter().map(|part| &part.values[..]).collect::<Vec<_>>().concat();
    let weights = if is_weighted { parts.into_iter().flat_map(|part| part.weights).collect() } else { Vec::new() };
    if numbers == rows {
        // They are in order already.
        let picked = Rows::<'static>::from_vec::<f64>(values, n_columns)?;
        return Ok(if is_weighted { picked.with_picked_weights(weights) } else { picked });
    }
    let place = |row: &u64| numbers.binary_search(row).map_err(|_| Error::NoSuchRow { row: *row });
    let places: Vec<usize> = rows.iter().map(place).collect::<Result<_, _>>()?;
    let values = places.iter().flat_map(|&at| &values[at * n_columns..][..n_columns]).copied().collect();
    let mut picked = Rows::<'static>::from_vec::<f64>(values, n_columns)?;
    if is_weighted {
        picked = picked.with_picked_weights(places.iter().map(|&at| weights[at]).collect());
    }
    Ok(picked)
}

/// The rows whose random number is below `share`, with their weights, in row order; rows of weight 0 are left out.
///
/// The numbers belong to rows, so the rows of a smaller share are among those of a larger one, and no engine picks
/// others.
pub(super) fn share<E: Engine>(engine: &E, share: f64, seed: u64, is_weighted: bool) -> Result<Rows<'static>, Error> {
    let Picked { n_columns, parts } = engine.sweep(&Share { share, seed })?;
    let values = parts.iter().map(|part| &part.values[..]).collect::<Vec<_>>().concat();
    let weights = if is_weighted { parts.into_iter().flat_map(|part| part.weights).collect() } else { Vec::new() };
    let rows = Rows::<'static>::from_vec::<f64>(values, n_columns.max(1))?;
    Ok(if is_weighted { rows.with_picked_weights(weights) } else { rows })
}

/// At most `n` representative rows: every row of positive weight if there are no more than `n` rows. Otherwise one row
/// drawn from each of `n` equal shares of the total weight, in row order, without weights.
pub(super) fn sample<E: Engine>(
    engine: &E,
    n_rows: u64,
    is_weighted: bool,
    n: usize,
    generator: &mut Generator,
) -> Result<Rows<'static>, Error> {
    if n_rows <= n as u64 {
        let all = pick(engine, &(0..n_rows).collect::<Vec<_>>(), is_weighted)?;
        let kept: Vec<usize> = (0..all.n_rows()).filter(|&row| all.weight(row) > 0.0).collect();
        return Ok(if kept.len() == all.n_rows() { all } else { all.gather(&kept) });
    }
    let rows: Vec<u64> = if is_weighted {
        rows_by_weight(engine, n, generator)?
    } else {
        let share = |i: usize| (i as u128 * u128::from(n_rows) / n as u128) as u64;
        (0..n).map(|i| share(i) + below(generator, (share(i + 1) - share(i)) as usize) as u64).collect()
    };
    pick(engine, &rows, false)
}

/// Numbers of the rows at `n` positions of the cumulative weight, one in each of `n` equal shares.
fn rows_by_weight<E: Engine>(engine: &E, n: usize, generator: &mut Generator) -> Result<Vec<u64>, Error> {
    let ChunkWeights(weights) = engine.sweep(&WeighChunks {})?;
    let total: f64 = weights.iter().sum();
    let last_positive = weights.iter().rposition(|&weight| weight > 0.0).unwrap_or(0);
    let (mut chunk, mut before) = (0, 0.0);
    let place = |i: usize| {
        let target = (i as f64 + uniform(generator)) / n as f64 * total;
        while chunk < last_positive && before + weights[chunk] <= target {
            before += weights[chunk];
            chunk += 1;
        }
        (chunk as u64, target - before)
    };
    let places = (0..n).map(place).collect();
    Ok(engine.sweep(&ByWeight { places })?.0)
}

/// The first rows of positive weight that differ from all previous rows, at most `limit`.
pub(super) fn distinct<E: Engine>(engine: &E, n_rows: u64, limit: usize) -> Result<Vec<u64>, Error> {
    let n_looked_at = (FIRST_LOOK as u64).saturating_mul(limit as u64);
    if n_looked_at < n_rows {
        let found = engine.sweep(&Distinct { limit, end: n_looked_at })?;
        if found.numbers.len() == limit {
            return Ok(found.numbers);
        }
    }
    Ok(engine.sweep(&Distinct { limit, end: n_rows })?.numbers)
}

/// Copies rows.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Picks {
    /// Row numbers in ascending order.
    rows: Vec<u64>,
}

/// Copies the rows whose random number is below a share.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Share {
    share: f64,
    seed: u64,
}

/// Rows and their numbers, in ascending order.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Picked {
    n_columns: usize,
    /// One for each chunk that has any, so that they can be merged without copying rows.
    parts: Vec<Part>,
}

/// Rows of a chunk, and their numbers.
#[derive(Debug, Default, Clone, Serialize, Deserialize)]
struct Part {
    numbers: Vec<u64>,
    values: Vec<f64>,
    weights: Vec<f64>,
}

impl Merge for Picked {
    fn merge(&mut self, later: &Self) {
        self.absorb(&mut Self { n_columns: later.n_columns, parts: later.parts.clone() });
    }

    fn absorb(&mut self, later: &mut Self) {
        // Rows of another width are refused by the summary.
        self.n_columns = if self.parts.is_empty() { later.n_columns } else { self.n_columns };
        self.parts.append(&mut later.parts);
    }
}

/// A sweep that needs only rows: no preparation and no workspace.
macro_rules! plain_sweep {
    ($sweep:ty, $tally:ty, $name:literal) => {
        impl Sweep for $sweep {
            const NAME: &'static str = $name;
            type Tally = $tally;
            type Prepared = Self;

            fn prepare(&self) -> Result<Self, Error> {
                Ok(self.clone())
            }
        }

        impl Prepared for $sweep {
            type Tally = $tally;
            type Workspace = ();

            fn workspace(&self, _n_blocks: usize) {}

            fn tally(&self) -> $tally {
                <$tally>::default()
            }

            fn add(&self, chunk: &Chunk<'_>, _workspace: &mut (), tally: &mut $tally) -> Result<(), Error> {
                self.look(chunk, tally);
                Ok(())
            }
        }
    };
}

plain_sweep!(Picks, Picked, "picks");
plain_sweep!(Share, Picked, "share");
plain_sweep!(WeighChunks, ChunkWeights, "chunk-weights");
plain_sweep!(ByWeight, RowNumbers, "by-weight");
plain_sweep!(Distinct, Differing, "distinct");

impl Picks {
    fn look(&self, chunk: &Chunk<'_>, tally: &mut Picked) {
        let range = chunk.range();
        let place_of = |row: usize| self.rows.partition_point(|&number| number < chunk.row_number(row));
        tally.copy(chunk, self.rows[place_of(range.start)..place_of(range.end)].to_vec());
    }
}

impl Share {
    fn look(&self, chunk: &Chunk<'_>, tally: &mut Picked) {
        let (rows, range) = (chunk.rows(), chunk.range());
        let mut numbers = vec![0.0; range.len()];
        let address = Address { seed: self.seed, restart: 0, round: 0, purpose: Purpose::Race };
        address.uniforms_into(chunk.row_number(range.start), &mut numbers);
        let picked = range.zip(numbers).filter(|&(row, number)| number < self.share && rows.weight(row) > 0.0);
        tally.copy(chunk, picked.map(|(row, _)| chunk.row_number(row)).collect());
    }
}

impl Picked {
    /// Copies the rows of a chunk with these numbers.
    fn copy(&mut self, chunk: &Chunk<'_>, numbers: Vec<u64>) {
        let (rows, range) = (chunk.rows(), chunk.range());
        self.n_columns = rows.n_columns();
        if numbers.is_empty() {
            return;
        }
        let mut values = vec![0.0; numbers.len() * rows.n_columns()];
        let row_of = |number: &u64| range.start + (number - chunk.row_number(range.start)) as usize;
        for (number, values) in numbers.iter().zip(values.chunks_exact_mut(rows.n_columns())) {
            rows.row_into(row_of(number), values);
        }
        let weights = numbers.iter().map(|number| rows.weight(row_of(number))).collect();
        self.parts.push(Part { numbers, values, weights });
    }
}

/// Sums the row weights of every chunk.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct WeighChunks {}

/// The total weight of each chunk.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct ChunkWeights(Vec<f64>);

impl Merge for ChunkWeights {
    fn merge(&mut self, later: &Self) {
        self.0.extend(&later.0);
    }
}

impl WeighChunks {
    #[expect(clippy::unused_self, reason = "all plain sweeps process chunks with the same signature")]
    fn look(&self, chunk: &Chunk<'_>, tally: &mut ChunkWeights) {
        tally.0.push(chunk.range().map(|row| chunk.rows().weight(row)).sum());
    }
}

/// Finds rows by cumulative weight.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ByWeight {
    /// Chunks in ascending order, each with a cumulative weight within the chunk: the first row to exceed it is found.
    places: Vec<(u64, f64)>,
}

/// Numbers of rows.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct RowNumbers(Vec<u64>);

impl Merge for RowNumbers {
    fn merge(&mut self, later: &Self) {
        self.0.extend(&later.0);
    }
}

impl ByWeight {
    fn look(&self, chunk: &Chunk<'_>, tally: &mut RowNumbers) {
        let first = self.places.partition_point(|&(number, _)| number < chunk.number());
        let (rows, range) = (chunk.rows(), chunk.range());
        // Rounding may leave a target past the last row of positive weight.
        let last = range.clone().rfind(|&row| rows.weight(row) > 0.0).unwrap_or(range.start);
        let (mut row, mut reached) = (range.start, rows.weight(range.start));
        for &(_, target) in self.places[first..].iter().take_while(|&&(number, _)| number == chunk.number()) {
            while reached <= target && row < last {
                row += 1;
                reached += rows.weight(row);
            }
            tally.0.push(chunk.row_number(row));
        }
    }
}

/// Finds rows that differ from all previous rows.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Distinct {
    limit: usize,
    /// Only rows before this one are read.
    end: u64,
}

/// Rows that differ from each other, in ascending order.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Differing {
    limit: usize,
    numbers: Vec<u64>,
    /// The bits of their values.
    rows: Vec<Vec<u64>>,
}

impl Differing {
    fn extend(&mut self, later: impl Iterator<Item = (u64, Vec<u64>)>) {
        let mut seen: HashSet<Vec<u64>> = self.rows.iter().cloned().collect();
        for (number, row) in later {
            if self.numbers.len() >= self.limit {
                return;
            }
            if seen.insert(row.clone()) {
                self.numbers.push(number);
                self.rows.push(row);
            }
        }
    }
}

impl Merge for Differing {
    fn merge(&mut self, later: &Self) {
        self.limit = later.limit;
        self.extend(later.numbers.iter().copied().zip(later.rows.iter().cloned()));
    }
}

impl Distinct {
    fn look(&self, chunk: &Chunk<'_>, tally: &mut Differing) {
        tally.limit = self.limit;
        let rows = chunk.rows();
        let counts = |&row: &usize| chunk.row_number(row) < self.end && rows.weight(row) > 0.0;
        // Adding 0 turns −0 into 0.
        let bits = |row: usize| rows.row(row).iter().map(|x| (x + 0.0).to_bits()).collect();
        tally.extend(chunk.range().filter(counts).map(|row| (chunk.row_number(row), bits(row))));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Source;

    #[test]
    fn a_sample_has_one_row_from_each_share() {
        let values: Vec<f64> = (0..5000).map(f64::from).collect();
        let address = Address { seed: 1, restart: 0, round: 0, purpose: Purpose::Sample };
        let rows = Rows::from_slice(&values, 1).unwrap();
        let sample = Source::of(&rows).unwrap().sample(500, &mut address.item(0)).unwrap();
        for i in 0..500 {
            assert!((10 * i..10 * i + 10).contains(&(sample.row(i)[0] as usize)));
        }
        let weights: Vec<f64> = (0..5000).map(|i| if i % 500 == 7 { 1.0 } else { 0.0 }).collect();
        let rows = rows.with_weights(weights).unwrap();
        let sample = Source::of(&rows).unwrap().sample(10, &mut address.item(0)).unwrap();
        assert_eq!(
            (0..10).map(|i| sample.row(i)[0]).collect::<Vec<_>>(),
            (0..10).map(|i| f64::from(500 * i + 7)).collect::<Vec<_>>()
        );
    }

    #[test]
    fn shares_are_nested_and_about_as_large_as_asked() {
        let values: Vec<f64> = (0..20_000).map(f64::from).collect();
        let weights: Vec<f64> = (0..20_000).map(|n| f64::from(n % 4)).collect();
        let rows = Rows::from_slice(&values, 1).unwrap();
        let weighted = rows.clone().with_weights(weights).unwrap();
        let (plain, weighted) = (Source::of(&rows).unwrap(), Source::of(&weighted).unwrap());
        let numbers = |rows: &Rows<'_>| -> Vec<u32> { (0..rows.n_rows()).map(|n| rows.row(n)[0] as u32).collect() };
        let [small, large] = [0.01, 0.2].map(|share| numbers(&plain.share(share, 5).unwrap()));
        // Five standard deviations of a binomial distribution.
        assert!((200.0 - small.len() as f64).abs() < 71.0 && (4000.0 - large.len() as f64).abs() < 283.0);
        assert!(small.iter().all(|row| large.binary_search(row).is_ok()));
        let of_weight = weighted.share(0.2, 5).unwrap();
        assert_eq!(numbers(&of_weight), large.iter().copied().filter(|row| row % 4 > 0).collect::<Vec<_>>());
        assert_eq!(of_weight.weights().unwrap()[0], of_weight.row(0)[0] % 4.0);
        assert_ne!(numbers(&plain.share(0.01, 6).unwrap()), small);
    }

    #[test]
    fn rows_are_picked_in_the_requested_order_with_repeats() {
        let values: Vec<f64> = (0..6000).map(f64::from).collect();
        let rows = Rows::from_slice(&values, 2).unwrap().with_weights(vec![0.5; 3000]).unwrap();
        let picked = Source::of(&rows).unwrap().pick(&[2999, 0, 2999, 1500]).unwrap();
        assert_eq!((0..4).map(|row| picked.row(row)[0]).collect::<Vec<_>>(), [5998.0, 0.0, 5998.0, 3000.0]);
        assert_eq!(picked.weights(), Some(&[0.5; 4][..]));
    }

    #[test]
    fn distinct_rows_are_first_occurrences_of_positive_weight() {
        // Values 0, 1, …, 9 in runs of 500; rows with value 3 have weight 0; −0 equals 0.
        let values: Vec<f64> = (0..5000).map(|n| if n == 0 { -0.0 } else { f64::from(n / 500) }).collect();
        let weights = values.iter().map(|&x| if x == 3.0 { 0.0 } else { 1.0 }).collect::<Vec<_>>();
        let rows = Rows::from_slice(&values, 1).unwrap().with_weights(weights).unwrap();
        let source = Source::of(&rows).unwrap();
        assert_eq!(source.distinct(usize::MAX).unwrap(), [0, 500, 1000, 2000, 2500, 3000, 3500, 4000, 4500]);
        assert_eq!(source.distinct(3).unwrap(), [0, 500, 1000]);
        assert_eq!(source.distinct(1).unwrap(), [0]);
    }
}
