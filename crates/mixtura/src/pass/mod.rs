//! One pass of EM and its relatives: posteriors of all rows under a model, and the statistics for the next model.
//!
//! A chunk goes through `chunk.rs`: its rows are loaded (`group.rs`), the posterior of each is found (`posterior.rs`),
//! becomes weights or a label as the [`Assignment`] says, and is added to statistics.

mod assignment;
mod chunk;
mod deviations;
mod evaluate;
mod group;
mod layout;
mod narrow;
mod near;
mod posterior;
mod prepared;
mod request;
mod split;
mod tally;

pub use assignment::{Assignment, Precision};
pub use deviations::{Deviations, DeviationsPass};
pub(crate) use near::probe;
pub use prepared::PreparedPass;
pub use request::Pass;
pub(crate) use request::centre_of;
pub use tally::Tally;

pub(crate) use evaluate::{Wanted, evaluate_rows};
#[cfg(feature = "internals")]
pub(crate) use {
    layout::{Layout, Share},
    prepared::least_exponent,
};
