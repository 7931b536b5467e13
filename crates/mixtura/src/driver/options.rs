//! Collects what a user may choose about a fit, and checks it once.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::pass::Precision;

/// How posteriors become weights, round after round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Algorithm {
    /// Expectation maximisation: rows belong to components by their posteriors (Dempster et al. 1977).
    Em,
    /// Stochastic EM: rows belong to components drawn from their posteriors (Celeux and Diebolt 1985).
    Sem,
    /// Classification EM: rows belong to their most probable components (Celeux and Govaert 1992).
    Cem,
    /// Stochastic approximation EM (Delyon, Lavielle and Moulines 1999): SEM for the first half of the
    /// rounds, then models of statistics averaged with gains 1, 1/2, 1/3, …
    Saem,
    /// SEM until its noise hides its rise, for at most half of the rounds; then EM from its result.
    #[default]
    Auto,
}

impl fmt::Display for Algorithm {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Em => "EM",
            Self::Sem => "SEM",
            Self::Cem => "CEM",
            Self::Saem => "SAEM",
            Self::Auto => "auto",
        })
    }
}

/// Which of SEM's models is the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum SemResult {
    /// The one that maximises the likelihood of the statistics averaged over the rounds in which the
    /// likelihood was flat; the best if there were none, or if that is better.
    #[default]
    Average,
    /// The one of highest likelihood among all that were visited.
    Best,
    /// The last one.
    Last,
}

/// What a user may choose about a fit.
///
/// ```
/// use mixtura::{Algorithm, Options};
///
/// let options = Options::default().algorithm(Algorithm::Sem).rounds(50);
/// assert!(options.check().is_ok());
/// let wrong = Options::default().tolerance(-1.0);
/// assert_eq!(wrong.check().unwrap_err().to_string(), "tolerance must be a finite number of at least 0, not -1");
/// ```
///
/// Deserializing applies [`Options::check`]; options that are left out have their defaults.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
#[non_exhaustive]
pub struct Options {
    /// The algorithm; default `Auto`.
    pub algorithm: Algorithm,
    /// Which of SEM's models is the answer; default the average.
    pub result: SemResult,
    /// With `Auto`: run EM from the same start as well, and keep the better; default no.
    pub guard: bool,
    /// With EM, alone or as `Auto`'s second part: extrapolate its steps, where that does not lower
    /// the likelihood; default no.
    pub accelerate: bool,
    /// Limit on rounds, at least 0; default 1000.
    pub rounds: u64,
    /// EM and CEM stop when the mean log-likelihood changes by less, in nats a row, SAEM in its
    /// second half when it does so three times running; at least 0, default 1e-6. With 0 every
    /// algorithm runs exactly `rounds` rounds.
    pub tolerance: f64,
    /// Number of starts, at least 1; default 1.
    pub restarts: u64,
    /// Least variance in units of the squared robust column scale, at least 0; default 1e-9, 0 = none.
    pub regularization: f64,
    /// Added to every variance, in the data's squared units, at least 0; default 0.
    pub ridge: f64,
    /// Seed of all random draws; default 0.
    pub seed: u64,
    /// How SEM computes the log-densities that it draws from; default certified single precision,
    /// which draws the same labels.
    pub precision: Precision,
    /// Leave out components that are too far from a row to count, if there are many; default yes. Labels and
    /// likelihoods do not depend on it, sums agree up to rounding.
    pub search: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            algorithm: Algorithm::default(),
            result: SemResult::default(),
            guard: false,
            accelerate: false,
            rounds: 1000,
            tolerance: 1e-6,
            restarts: 1,
            regularization: 1e-9,
            ridge: 0.0,
            seed: 0,
            precision: Precision::default(),
            search: true,
        }
    }
}

/// A method for each option that returns the options with that one changed, and the options as deserialized.
macro_rules! options {
    ($($name:ident: $type:ty,)*) => {
        /// Options with one of them changed.
        impl Options {
            $(
                #[doc = concat!("With another [`", stringify!($name), "`](#structfield.", stringify!($name), ").")]
                #[must_use]
                pub fn $name(self, $name: $type) -> Self {
                    Self { $name, ..self }
                }
            )*
        }

        /// Options as deserialized.
        #[derive(Deserialize)]
        #[serde(rename = "Options", default)]
        struct Unchecked {
            $($name: $type,)*
        }

        impl Default for Unchecked {
            fn default() -> Self {
                let Options { $($name,)* } = Options::default();
                Self { $($name,)* }
            }
        }

        impl TryFrom<Unchecked> for Options {
            type Error = Error;

            fn try_from(Unchecked { $($name,)* }: Unchecked) -> Result<Self, Error> {
                let options = Self { $($name,)* };
                options.check()?;
                Ok(options)
            }
        }
    };
}

options! {
    algorithm: Algorithm,
    result: SemResult,
    guard: bool,
    accelerate: bool,
    rounds: u64,
    tolerance: f64,
    restarts: u64,
    regularization: f64,
    ridge: f64,
    seed: u64,
    precision: Precision,
    search: bool,
}

impl Options {
    /// Refuses values out of range.
    pub fn check(&self) -> Result<(), Error> {
        let numbers = [("tolerance", self.tolerance), ("regularization", self.regularization), ("ridge", self.ridge)];
        for (option, value) in numbers {
            if !(value.is_finite() && value >= 0.0) {
                return Err(Error::Option {
                    option,
                    expected: "a finite number of at least 0",
                    value: value.to_string(),
                });
            }
        }
        if self.restarts == 0 {
            return Err(Error::Option { option: "restarts", expected: "at least 1", value: "0".into() });
        }
        self.check_companions()
    }

    /// Rounds of SAEM's and `auto`'s first part.
    pub(super) fn half(&self) -> u64 {
        self.rounds / 2
    }

    /// Refuses options that the algorithm has no use for.
    fn check_companions(&self) -> Result<(), Error> {
        let is_em = matches!(self.algorithm, Algorithm::Em | Algorithm::Auto);
        let companions = [
            ("guard", self.guard, self.algorithm == Algorithm::Auto, "used with the algorithm auto"),
            ("accelerate", self.accelerate, is_em, "used with the algorithm em or auto"),
        ];
        for (option, is_wanted, is_allowed, expected) in companions {
            if is_wanted && !is_allowed {
                let value = format!("with {}", format!("{:?}", self.algorithm).to_lowercase());
                return Err(Error::Option { option, expected, value });
            }
        }
        Ok(())
    }
}
