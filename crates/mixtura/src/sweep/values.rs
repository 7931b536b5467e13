//! Checks that all values are valid for a family.

use std::marker::PhantomData;

use serde::{Deserialize, Serialize};

use super::{Chunk, Engine, Merge, Prepared, Sweep};
use crate::Error;
use crate::family::{Family, check_values};

/// Largest value allowed for a family whose values are not centred.
const LARGEST_VALUE: f64 = 1e290;

/// Rejects rows with values that are invalid for the family.
pub(crate) fn check_rows<F: Family, E: Engine>(engine: &E) -> Result<(), Error> {
    if F::VALUES.is_some() || !F::CENTRED {
        engine.sweep(&Values::<F>::new())?;
    }
    Ok(())
}

/// Rejects uncentred values whose products with logarithms might not be finite.
fn check_size(chunk: &Chunk<'_>) -> Result<(), Error> {
    let mut values = vec![0.0; chunk.rows().n_columns()];
    for row in chunk.range() {
        chunk.rows().row_into(row, &mut values);
        if let Some(column) = values.iter().position(|&value| value > LARGEST_VALUE) {
            return Err(Error::Overflow { column, minimum: values[column], maximum: values[column] });
        }
    }
    Ok(())
}

/// Checks every value.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(bound = "")]
pub(super) struct Values<F>(PhantomData<F>);

impl<F> Values<F> {
    fn new() -> Self {
        Self(PhantomData)
    }
}

/// All values were valid; otherwise the sweep has failed.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Fine;

impl Merge for Fine {
    fn merge(&mut self, _later: &Self) {}
}

impl<F: Family> Sweep for Values<F> {
    const NAME: &'static str = "values";
    type Tally = Fine;
    type Prepared = Self;

    fn prepare(&self) -> Result<Self, Error> {
        Ok(Self::new())
    }
}

impl<F: Family> Prepared for Values<F> {
    type Tally = Fine;
    type Workspace = ();

    fn workspace(&self, _n_blocks: usize) {}

    fn tally(&self) -> Fine {
        Fine
    }

    fn add(&self, chunk: &Chunk<'_>, _workspace: &mut (), _tally: &mut Fine) -> Result<(), Error> {
        check_values::<F>(chunk.rows(), chunk.range()).map_err(|error| match error {
            Error::Value { row, column, value, expected } => {
                Error::Value { row: chunk.row_number(row) as usize, column, value, expected }
            }
            other => other,
        })?;
        if !F::CENTRED {
            check_size(chunk)?;
        }
        Ok(())
    }
}
