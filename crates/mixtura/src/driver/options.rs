//! The options of a fit, and their validation.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::pass::Precision;

/// Largest number of restarts: each needs memory for its state.
const MOST_RESTARTS: u64 = 1_000_000;
/// Number of starts, unless there is only one.
pub(super) const USUAL_RESTARTS: u64 = 8;

/// The algorithm: how posteriors become weights in each round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Algorithm {
    /// Expectation maximization: shares rows among components by their posteriors (Dempster et al. 1977).
    Em,
    /// Stochastic EM: assigns each row to a component drawn from its posterior (Celeux and Diebolt 1985).
    Sem,
    /// Classification EM: assigns each row to its most probable component (Celeux and Govaert 1992).
    Cem,
    /// Stochastic approximation EM (Delyon, Lavielle and Moulines 1999): SEM for the first half of the rounds, then
    /// models of statistics averaged with gains 1, 1/2, 1/3, …
    Saem,
    /// SEM until its noise hides its progress, for at most half of the rounds; then EM from its result.
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

/// Which of SEM's models is the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum SemResult {
    /// The maximum-likelihood model of the statistics averaged over the rounds in which the likelihood was flat; the
    /// best visited model if there were no such rounds or if it is better.
    #[default]
    Average,
    /// The visited model with the highest likelihood.
    Best,
    /// The last model.
    Last,
}

/// The options of a fit: the defaults, changed by a method for each option. (`Options { seed: 7, .. }` does not compile
/// outside of this crate, so that options can be added.)
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
/// Deserializing applies [`Options::check`]; options that are left out have their defaults, and unknown ones are
/// refused.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
#[non_exhaustive]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub struct Options {
    /// The algorithm; default `Auto`.
    pub algorithm: Algorithm,
    /// Which of SEM's models is the result; default the average.
    pub result: SemResult,
    /// With `Auto`: also run EM from the same start, and keep the better result; default no.
    pub guard: bool,
    /// With EM, alone or as the second phase of `Auto`: extrapolate its steps near a maximum, where that does not lower
    /// the likelihood; default no. After a race, `Auto` does so in any case.
    pub accelerate: bool,
    /// Maximum number of rounds, at least 0; default 1000.
    pub rounds: u64,
    /// EM and CEM stop when the mean log-likelihood changes by less than this, in nats per row; SAEM stops in its
    /// second half when this happens three times in a row. At least 0, default 1e-6. With 0, every algorithm runs
    /// exactly `rounds` rounds.
    pub tolerance: f64,
    /// Number of starts, from 1 to a million. By default (`None`) there are 8, or one if there is only one component or
    /// if the start is a given model or given labels, which are the same every time.
    pub restarts: Option<u64>,
    /// Whether several starts race: they compete on samples of the rows that grow, and only the best go on to all rows
    /// ([`RaceRecord`](super::RaceRecord)). If not, every start is run on all rows. Starts from a given model or from labels never
    /// race. Default yes.
    pub race: bool,
    /// Smallest allowed variance in units of the squared robust column scale, at least 0; default 1e-9, 0 = none.
    pub regularization: f64,
    /// Added to every variance, in the data's squared units, at least 0; default 0.
    pub ridge: f64,
    /// Seed of all random draws; default 0.
    pub seed: u64,
    /// How SEM computes the log-densities it draws from; default certified single precision, which draws the same
    /// labels.
    pub precision: Precision,
    /// If there are many components, skip those too far from a row to matter; default yes. Labels and likelihoods do
    /// not depend on it, sums agree up to rounding.
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
            restarts: None,
            race: true,
            regularization: 1e-9,
            ridge: 0.0,
            seed: 0,
            precision: Precision::default(),
            search: true,
        }
    }
}

/// The list of all options, for macros that make something of each; after `as`, what their setters accept.
macro_rules! each_option {
    ($make:ident) => {
        $make! {
            algorithm: Algorithm,
            result: SemResult,
            guard: bool,
            accelerate: bool,
            rounds: u64,
            tolerance: f64,
            restarts: Option<u64> as u64,
            race: bool,
            regularization: f64,
            ridge: f64,
            seed: u64,
            precision: Precision,
            search: bool,
        }
    };
}
pub(crate) use each_option;

/// What the setter of an option accepts: its type, unless another one is given.
macro_rules! accepted {
    ($type:ty) => {
        $type
    };
    ($type:ty as $accepted:ty) => {
        $accepted
    };
}
pub(crate) use accepted;

/// A method for each option that returns the options with that one changed, and the options as deserialized.
macro_rules! options {
    ($($name:ident: $type:ty $(as $accepted:ty)?,)*) => {
        /// Methods that change one option.
        impl Options {
            $(
                #[doc = concat!("With another [`", stringify!($name), "`](#structfield.", stringify!($name), ").")]
                #[must_use]
                #[allow(clippy::useless_conversion)] // only some options accept another type than theirs
                pub fn $name(self, $name: accepted!($type $(as $accepted)?)) -> Self {
                    Self { $name: $name.into(), ..self }
                }
            )*

            /// The first option that differs from those of a saved fit. A fit may continue with another limit on rounds
            /// and another tolerance. The number of restarts is that of the problem, and is compared there.
            pub(super) fn check_against(&self, saved: &Self) -> Result<(), Error> {
                $(if !matches!(stringify!($name), "rounds" | "tolerance" | "restarts") && self.$name != saved.$name {
                    return Err(Error::Differs {
                        what: stringify!($name),
                        expected: lower_case(&saved.$name),
                        of: "saved fit",
                        given: lower_case(&self.$name),
                    });
                })*
                Ok(())
            }
        }

        /// Options as deserialized.
        #[derive(Deserialize)]
        #[serde(rename = "Options", default, deny_unknown_fields)]
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

each_option!(options);

/// A value as options are written.
fn lower_case(value: &impl fmt::Debug) -> String {
    format!("{value:?}").to_lowercase()
}

impl Options {
    /// Checks that all values are in range.
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
        if let Some(restarts) = self.restarts.filter(|restarts| !(1..=MOST_RESTARTS).contains(restarts)) {
            let expected = if restarts == 0 { "at least 1" } else { "at most a million" };
            return Err(Error::Option { option: "restarts", expected, value: restarts.to_string() });
        }
        self.check_companions()
    }

    /// Rounds of the first phase of SAEM and `auto`.
    pub(super) fn half(&self) -> u64 {
        self.rounds / 2
    }

    /// Rejects options that the algorithm does not use.
    fn check_companions(&self) -> Result<(), Error> {
        let is_em = matches!(self.algorithm, Algorithm::Em | Algorithm::Auto);
        let companions = [
            ("guard", self.guard, self.algorithm == Algorithm::Auto, "auto"),
            ("accelerate", self.accelerate, is_em, "em or auto"),
        ];
        for (option, is_wanted, is_allowed, required) in companions {
            if is_wanted && !is_allowed {
                return Err(Error::Companion { option, required, algorithm: lower_case(&self.algorithm) });
            }
        }
        Ok(())
    }
}
