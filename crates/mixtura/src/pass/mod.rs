//! One pass of EM or a related algorithm: posteriors of all rows under a model, and the statistics for the next model.
//!
//! `chunk.rs` processes one chunk: it loads the rows (`group.rs`), finds the posterior of each (`posterior.rs`), turns
//! it into weights or a label according to the [`Assignment`], and adds the row to the statistics.

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

pub use evaluate::Evaluator;
#[cfg(feature = "internals")]
pub(crate) use {
    layout::{Layout, Share},
    prepared::cutoff_exponent,
};
