//! What a race did: its levels, and how the starts compare.

use serde::{Deserialize, Serialize};

/// The levels of a race, and how its starts compare.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RaceRecord {
    /// The levels that have ended, from few rows to many.
    pub levels: Vec<Level>,
    /// Number of starts that led to the same maximum as the winner, including the winner.
    pub n_agreed: u64,
    /// How often a component of the leader was moved to where it was missed more.
    #[serde(default)]
    pub n_moves: u64,
    /// The best of the starts that led elsewhere; `None` if none did.
    pub runner_up: Option<RunnerUp>,
    /// If the race was stopped: the number of rows that the result's likelihood is of.
    pub interrupted_on: Option<u64>,
}

/// The best start that led to another maximum than the winner.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RunnerUp {
    /// How much lower its mean log-likelihood is, in nats per row.
    pub gap: f64,
    /// Number of rows on which they were compared.
    pub n_rows: u64,
}

/// One level of a race: some starts on a sample of the rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Level {
    /// Number of rows.
    pub n_rows: u64,
    /// The starts on this level, the best first.
    pub entries: Vec<Entry>,
}

/// A start on a level.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Number of the start, from 0.
    pub start: u64,
    /// Rounds of EM.
    pub rounds: u64,
    /// The last mean log-likelihood of the level's rows.
    pub mean_ln_likelihood: f64,
    /// What became of it.
    pub place: Place,
}

/// What becomes of a start after a level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Place {
    /// It goes on.
    On,
    /// It is behind.
    Behind,
    /// It leads to the same maximum as a start that goes on.
    Same,
}

/// The latest news of a race: one start after a round.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Standing {
    /// Number of rows of the level.
    pub n_rows: u64,
    /// Number of starts on the level.
    pub n_starts: usize,
    /// The start, from 0.
    pub start: u64,
    /// Its rounds on the level.
    pub round: u64,
    /// The mean log-likelihood, in nats, of its model on the rows of the level.
    pub mean_ln_likelihood: f64,
}
