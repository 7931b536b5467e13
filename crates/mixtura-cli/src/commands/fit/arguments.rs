//! Defines the options of `mixtura fit` and rejects invalid combinations.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use mixtura::driver::SemResult;
use mixtura::pass::Precision;
use mixtura::{Algorithm, Kind, Options};
use mixtura_io::ModelFile;

use crate::arguments::{Format, Init, at_least_one, not_negative, whole};
use crate::data::DataArguments;
use crate::failure::Usage;
use crate::output;
use crate::table::counted;

/// Fit a mixture model to data
#[derive(Debug, Args)]
#[command(allow_negative_numbers = true)]
#[command(after_help = "Examples:\n  mixtura fit data.csv -k 5 -o model.json\n  \
    mixtura fit data.parquet -k 10 --columns 'x*' --restarts 20 -o model.json\n  \
    mixtura fit counts.csv -k 3 --family poisson --missing skip\n  \
    zcat data.csv.gz | mixtura fit - -k 5 --covariance diagonal > model.json")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag that can be typed")]
pub(crate) struct FitArguments {
    #[command(flatten)]
    pub(super) data: DataArguments,

    /// Number of components [default with --init-model: that of the initial model]
    #[arg(short = 'k', value_name = "K", value_parser = at_least_one, required_unless_present = "init_model")]
    pub(super) n_components: Option<usize>,

    /// Algorithm on all rows
    #[arg(long, value_enum, default_value_t = AlgorithmName::Auto)]
    pub(super) algorithm: AlgorithmName,

    /// Which of SEM's models to return
    #[arg(long, value_enum, default_value_t = ResultName::Average)]
    pub(super) result: ResultName,

    /// With auto: also run EM from the same start, and keep the better result
    #[arg(long)]
    pub(super) guard: bool,

    /// With em or auto: extrapolate EM's steps near a maximum (auto does so after a race)
    #[arg(long)]
    pub(super) accelerate: bool,

    /// Covariance type [default: that of the initial model, else full]
    #[arg(long, value_enum)]
    pub(super) covariance: Option<Covariance>,

    /// Distribution of the components [default: that of the initial model, else gaussian]
    #[arg(long, value_enum)]
    pub(super) family: Option<FamilyName>,

    /// Maximum number of rounds
    #[arg(long, value_name = "N", default_value = "1000", value_parser = whole)]
    pub(super) rounds: u64,

    /// Stop when the log-likelihood per row changes by less than this, in nats; 0 = run all rounds
    #[arg(long, value_name = "T", default_value = "1e-6", value_parser = not_negative)]
    pub(super) tolerance: f64,

    /// Random seed
    #[arg(long, value_name = "S", default_value = "0", value_parser = whole)]
    pub(super) seed: u64,

    /// Precision of the densities that SEM draws from; both give the same labels
    #[arg(long, value_enum, default_value_t = PrecisionName::Certified)]
    pub(super) precision: PrecisionName,

    /// How the fit is initialized
    #[arg(long, value_enum, default_value_t = Init::KmeansPlusPlus, help_heading = "Start")]
    pub(super) init: Init,

    /// Start from the model in this file
    #[arg(long, value_name = "FILE", conflicts_with_all = ["init", "labels"], help_heading = "Start")]
    pub(super) init_model: Option<PathBuf>,

    /// Start from the groups given by the labels in this column
    #[arg(long, value_name = "COLUMN", conflicts_with = "init", help_heading = "Start")]
    pub(super) labels: Option<String>,

    /// Number of starts; the best result is kept [default: 8; 1 with --init-model, --labels or -k 1]
    #[arg(long, value_name = "R", value_parser = at_least_one, help_heading = "Start")]
    pub(super) restarts: Option<usize>,

    /// Whether starts race: they compete on growing samples of the rows, and the best go on to all rows
    #[arg(long, value_enum, default_value_t = RaceName::On, help_heading = "Start")]
    pub(super) race: RaceName,

    /// Column that contains the row weights
    #[arg(long, value_name = "COLUMN", help_heading = "Data")]
    pub(super) weights: Option<String>,

    /// Scale each column to [0, 1] for the fit; the model is in the units of the data
    #[arg(long, help_heading = "Data")]
    pub(super) normalize: bool,

    /// Variance floor, in units of the squared robust scale of each column; 0 = none
    #[arg(long, value_name = "E", default_value = "1e-9", value_parser = not_negative, help_heading = "Degenerate components")]
    pub(super) regularization: f64,

    /// Constant added to every variance, in the squared units of the data
    #[arg(long, value_name = "R", default_value = "0", value_parser = not_negative, help_heading = "Degenerate components")]
    pub(super) ridge: f64,

    /// Write the model to this file
    #[arg(short, long, value_name = "MODEL", help_heading = "Output")]
    pub(super) output: Option<PathBuf>,

    /// Write the log-likelihood, time and number of repairs of every round to this CSV file
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(super) trace: Option<PathBuf>,

    /// Print the model as JSON or as a table [default: a table on a terminal, else JSON]
    #[arg(long, value_enum, help_heading = "Output")]
    pub(super) format: Option<Format>,

    /// Sort the components by weight, heaviest first [default: in the order of the start]
    #[arg(long, help_heading = "Output")]
    pub(super) sort: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum AlgorithmName {
    /// Expectation maximization
    Em,
    /// Stochastic EM
    Sem,
    /// Classification EM
    Cem,
    /// Stochastic approximation EM: SEM, then averaged statistics
    Saem,
    /// SEM as long as it makes progress, then EM; after a race, EM
    Auto,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum ResultName {
    /// The model of the statistics averaged over the final flat phase, or the best model if that is better
    Average,
    /// The model with the highest likelihood
    Best,
    /// The last model
    Last,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum PrecisionName {
    /// Single precision where it provably gives the same draw, else double
    Certified,
    /// Double precision throughout
    Double,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum RaceName {
    /// Starts race
    On,
    /// Every start is run on all rows
    Off,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum Covariance {
    /// One matrix per component
    Full,
    /// One matrix for all components
    Tied,
    /// One variance per column and component
    Diagonal,
    /// One variance per component
    Spherical,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum FamilyName {
    /// Real numbers with normal distributions
    Gaussian,
    /// Counts with independent Poisson distributions in each column
    Poisson,
}

impl FitArguments {
    pub(super) fn options(&self) -> Options {
        let options = Options::default()
            .algorithm(match self.algorithm {
                AlgorithmName::Em => Algorithm::Em,
                AlgorithmName::Sem => Algorithm::Sem,
                AlgorithmName::Cem => Algorithm::Cem,
                AlgorithmName::Saem => Algorithm::Saem,
                AlgorithmName::Auto => Algorithm::Auto,
            })
            .guard(self.guard)
            .accelerate(self.accelerate)
            .result(match self.result {
                ResultName::Average => SemResult::Average,
                ResultName::Best => SemResult::Best,
                ResultName::Last => SemResult::Last,
            })
            .rounds(self.rounds)
            .tolerance(self.tolerance)
            .race(matches!(self.race, RaceName::On))
            .regularization(self.regularization)
            .ridge(self.ridge)
            .seed(self.seed)
            .precision(match self.precision {
                PrecisionName::Certified => Precision::Certified,
                PrecisionName::Double => Precision::Double,
            });
        match self.restarts {
            Some(restarts) => options.restarts(restarts as u64),
            None => options,
        }
    }

    /// Rejects options that do not apply to the chosen algorithm.
    pub(super) fn check_companions(&self) -> anyhow::Result<()> {
        let is_standard = |path: &PathBuf| output::is_standard(path);
        if self.trace.as_ref().is_some_and(is_standard) && self.output.as_ref().is_none_or(is_standard) {
            return Err(Usage::new("--trace -: standard output is already used for the model; give a file name").into());
        }
        let is_auto = matches!(self.algorithm, AlgorithmName::Auto);
        if self.guard && !is_auto {
            let hint = "leave out --guard, or use --algorithm auto";
            return Err(Usage::hinted("--guard requires --algorithm auto", hint).into());
        }
        if self.accelerate && !is_auto && !matches!(self.algorithm, AlgorithmName::Em) {
            let hint = "leave out --accelerate, or use --algorithm em or auto";
            return Err(Usage::hinted("--accelerate requires --algorithm em or auto", hint).into());
        }
        Ok(())
    }

    /// The requested number of components, or that of the initial model.
    pub(super) fn n_components(&self, start: Option<&ModelFile>) -> anyhow::Result<usize> {
        match (self.n_components, start.map(|file| file.model.n_components())) {
            (Some(asked), Some(given)) if asked != given => {
                let message = format!("the initial model has {}, but -k is {asked}", counted(given, "component"));
                Err(Usage::hinted(message, "leave out -k").into())
            }
            (asked, given) => Ok(asked.or(given).expect("invariant: one of them was required")),
        }
    }

    /// The requested family, or that of the initial model.
    pub(super) fn kind(&self, start: Option<&ModelFile>) -> anyhow::Result<Kind> {
        let given = start.map(|file| file.model.kind());
        let asked = match (self.family, self.covariance) {
            (None, None) => given.unwrap_or(Kind::Full),
            (Some(FamilyName::Poisson), None) => Kind::Poisson,
            (Some(FamilyName::Poisson), Some(_)) => {
                let message = "--covariance applies only to Gaussian components, not to --family poisson";
                return Err(Usage::hinted(message, "leave out --covariance").into());
            }
            (Some(FamilyName::Gaussian), None) => given.filter(|kind| kind.structure().is_some()).unwrap_or(Kind::Full),
            (_, Some(Covariance::Full)) => Kind::Full,
            (_, Some(Covariance::Tied)) => Kind::Tied,
            (_, Some(Covariance::Diagonal)) => Kind::Diagonal,
            (_, Some(Covariance::Spherical)) => Kind::Spherical,
        };
        if let Some(given) = given.filter(|&given| given != asked) {
            return Err(other_kind(given, asked).into());
        }
        let why_not = match asked {
            Kind::Poisson => "counts scaled to [0, 1] are no longer counts",
            Kind::Spherical => "one variance cannot fit columns that are scaled differently; try --covariance diagonal",
            Kind::Full | Kind::Tied | Kind::Diagonal => return Ok(asked),
        };
        if self.normalize {
            let message = format!("--normalize cannot be used with this family: {why_not}");
            return Err(Usage::hinted(message, "leave out --normalize").into());
        }
        Ok(asked)
    }
}

/// The initial model is of another family, or has other covariances, than the command line says.
fn other_kind(given: Kind, asked: Kind) -> Usage {
    match (given.structure(), asked.structure()) {
        (Some(given), Some(asked)) => Usage::hinted(
            format!("the initial model has {given} covariances, but --covariance {asked} was given"),
            "leave out --covariance",
        ),
        (_, structure) => {
            let option = if structure.is_some() { "a Gaussian family" } else { "--family poisson" };
            let message = format!("the initial model is of the family {}, but {option} was given", given.family());
            Usage::hinted(message, "leave out --family and --covariance")
        }
    }
}
