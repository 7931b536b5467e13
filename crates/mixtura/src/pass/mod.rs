//! Sweeps all rows once under a model: the only code that touches rows.

mod assignment;
mod deviations;
mod engine;
mod evaluate;
mod layout;
mod near;
mod order;
mod tally;
mod threads;
mod worker;

pub use assignment::{Assignment, Precision};
pub use deviations::{Deviations, DeviationsPass};
pub use engine::{Engine, Pass, Source};
pub use tally::Tally;
pub use threads::Threads;

pub(crate) use evaluate::{Wanted, evaluate_rows};
pub(crate) use order::{all_or_none, merge_in_order};
#[cfg(feature = "internals")]
pub(crate) use {
    layout::{Layout, Share},
    worker::least_exponent,
};
