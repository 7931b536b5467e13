//! Reads and writes model files: JSON that reads back to the same bits.

mod layout;

use std::fs;
use std::path::Path;

use mixtura::driver::{Event, Fit};
use mixtura::family::Family;
use mixtura::{Algorithm, FullGaussian, Mixture, Options};
use serde::{Deserialize, Serialize};

use crate::Error;

/// What stands in the `format` field.
const FORMAT: &str = "mixtura-model";
/// The version of the format that is written, and the newest that is read.
const VERSION: u32 = 1;

/// A model, the names of its columns, and how it came about.
///
/// ```
/// use mixtura::{FullGaussian, Mixture};
/// use mixtura_io::ModelFile;
///
/// let model = Mixture::new(vec![1.0], FullGaussian::new(1, vec![0.1], vec![1.0 / 3.0])?)?;
/// let file = ModelFile { model, columns: vec!["x".into()], fit: None };
/// assert_eq!(ModelFile::from_json(&file.to_json(), "m.json")?, file);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct ModelFile {
    /// The model.
    pub model: Mixture<FullGaussian>,
    /// Column names; empty if the columns have none.
    pub columns: Vec<String>,
    /// How it was fitted, if it was.
    pub fit: Option<FitRecord>,
}

/// How a model was fitted. No time, thread count or host: the same fit gives the same record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FitRecord {
    /// The algorithm.
    pub algorithm: Algorithm,
    /// Seed of all draws.
    pub seed: u64,
    /// Rounds of the restart that won.
    pub rounds: u64,
    /// Whether its stopping rule held.
    pub converged: bool,
    /// Why it ended.
    pub reason: String,
    /// Log-likelihood for each unit of weight, in nats, in the data's units.
    pub mean_log_likelihood: f64,
    /// The same for every restart.
    pub restarts: Vec<f64>,
    /// What happened on the way.
    pub events: Vec<Event>,
}

impl FitRecord {
    /// The record of a fit whose rows had been mapped with this logarithm of the volume factor (0
    /// if they were not).
    pub fn new<F: Family>(fit: &Fit<F>, options: &Options, ln_volume: f64) -> Self {
        Self {
            algorithm: options.algorithm,
            seed: options.seed,
            rounds: fit.rounds,
            converged: fit.termination.has_converged(),
            reason: fit.termination.name().into(),
            mean_log_likelihood: fit.mean_ln_likelihood + ln_volume,
            restarts: fit.restarts.iter().map(|likelihood| likelihood + ln_volume).collect(),
            events: fit.events.clone(),
        }
    }
}

/// The file as it stands; when reading, only weights and parameters must be there.
#[derive(Debug, Serialize, Deserialize)]
#[serde(expecting = "a model")]
struct Document {
    format: Option<String>,
    version: Option<u32>,
    family: Option<String>,
    covariance: Option<String>,
    dimension: Option<usize>,
    #[serde(default)]
    columns: Vec<String>,
    weights: Vec<f64>,
    means: Vec<Vec<f64>>,
    covariances: Vec<Vec<Vec<f64>>>,
    /// How it was fitted; what does not look like a record of that is passed over.
    #[serde(skip_serializing_if = "Option::is_none")]
    fit: Option<serde_json::Value>,
}

/// The fields that tell whether this version can read the rest.
#[derive(Deserialize)]
#[serde(expecting = "a model")]
struct Preamble {
    format: Option<String>,
    version: Option<u32>,
    family: Option<String>,
    covariance: Option<String>,
}

impl ModelFile {
    /// Reads a model file and checks that it is a model.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let file = path.display().to_string();
        let bytes = fs::read(path).map_err(|source| Error::Read { file: file.clone(), source })?;
        let not_text = |_| Error::Corrupt { file: file.clone(), format: "model", reason: "it is not text".into() };
        let text = String::from_utf8(bytes).map_err(not_text)?;
        Self::from_json(&text, &file)
    }

    /// Reads a model from JSON; `file` is what messages call it.
    pub fn from_json(text: &str, file: &str) -> Result<Self, Error> {
        let corrupt = |reason: String| Error::Corrupt { file: file.into(), format: "model", reason };
        let preamble: Preamble = serde_json::from_str(text).map_err(|error| corrupt(error.to_string()))?;
        preamble.check().map_err(|reason| Error::Unsupported { file: file.into(), reason })?;
        let document: Document = serde_json::from_str(text).map_err(|error| corrupt(error.to_string()))?;
        document.check_shapes().map_err(corrupt)?;
        let invalid = |source| Error::InvalidModel { file: file.into(), source };
        let n_columns = document.means[0].len();
        let means = document.means.concat();
        let covariances = document.covariances.concat().concat();
        let components = FullGaussian::new(n_columns, means, covariances).map_err(invalid)?;
        let model = Mixture::new(document.weights, components).map_err(invalid)?;
        let fit = document.fit.and_then(|fit| serde_json::from_value(fit).ok());
        Ok(Self { model, columns: document.columns, fit })
    }

    /// The file's text.
    pub fn to_json(&self) -> String {
        let components = &self.model.components;
        let n = components.n_columns();
        let each = 0..self.model.n_components();
        let document = Document {
            format: Some(FORMAT.into()),
            version: Some(VERSION),
            family: Some(FullGaussian::NAME.into()),
            covariance: FullGaussian::STRUCTURE.map(Into::into),
            dimension: Some(n),
            columns: self.columns.clone(),
            weights: self.model.weights.clone(),
            means: each.clone().map(|k| components.mean(k).to_vec()).collect(),
            covariances: each
                .map(|k| components.covariance(k).chunks_exact(n).map(<[f64]>::to_vec).collect())
                .collect(),
            fit: self.fit.as_ref().map(|fit| serde_json::to_value(fit).expect("invariant: a record is plain data")),
        };
        layout::lines(&serde_json::to_value(&document).expect("invariant: a model is finite numbers and text"))
    }
}

impl Preamble {
    fn check(&self) -> Result<(), String> {
        if let Some(format) = self.format.as_deref().filter(|&format| format != FORMAT) {
            return Err(format!("format is {format:?}, not {FORMAT:?}"));
        }
        if let Some(version) = self.version.filter(|&version| !(1..=VERSION).contains(&version)) {
            return Err(format!("model files of version {version} are not known, only up to {VERSION}"));
        }
        if let Some(family) = self.family.as_deref().filter(|&family| family != FullGaussian::NAME) {
            return Err(format!("family {family:?} is not known"));
        }
        if let Some(covariance) = self.covariance.as_deref().filter(|&name| Some(name) != FullGaussian::STRUCTURE) {
            return Err(format!("covariance structure {covariance:?} is not known"));
        }
        Ok(())
    }
}

impl Document {
    fn check_shapes(&self) -> Result<(), String> {
        let n_components = self.weights.len();
        let n_columns = self.means.first().map_or(0, Vec::len);
        if n_components == 0 || n_columns == 0 {
            return Err("no components or no columns".into());
        }
        for (what, n_found) in [("means", self.means.len()), ("covariances", self.covariances.len())] {
            if n_found != n_components {
                return Err(format!("{n_found} {what} for {n_components} weights"));
            }
        }
        if let Some(dimension) = self.dimension.filter(|&dimension| dimension != n_columns) {
            return Err(format!("dimension is {dimension}, but means have {n_columns} numbers"));
        }
        if !self.columns.is_empty() && self.columns.len() != n_columns {
            return Err(format!("{} column names for {n_columns} columns", self.columns.len()));
        }
        for (k, (mean, covariance)) in self.means.iter().zip(&self.covariances).enumerate() {
            let is_square = covariance.len() == n_columns && covariance.iter().all(|row| row.len() == n_columns);
            if mean.len() != n_columns || !is_square {
                return Err(format!("component {k}: mean or covariance is not of dimension {n_columns}"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"{"weights":[0.25,0.75],"means":[[0.1],[2.0]],"covariances":[[[1.0]],[[0.3]]]}"#;

    fn refusal(text: &str) -> String {
        ModelFile::from_json(text, "m.json").unwrap_err().to_string()
    }

    #[test]
    fn weights_and_parameters_are_enough() {
        let file = ModelFile::from_json(TEXT, "m.json").unwrap();
        assert_eq!(file.model.weights, [0.25, 0.75]);
        assert!(file.columns.is_empty() && file.fit.is_none());
    }

    #[test]
    fn floats_read_back_to_the_same_bits() {
        let values =
            [0.1 + 0.2, 1e-308, 1.0 / 3.0, f64::MAX / 3.0, 5e-324_f64.max(f64::MIN_POSITIVE), 123_456_789.123_456_79];
        let components = FullGaussian::new(1, values.to_vec(), vec![1.0 / 7.0; 6]).unwrap();
        let model = Mixture::new(vec![1.0 / 6.0; 6], components).unwrap();
        let file = ModelFile { model, columns: vec!["a \"quoted\" name".into()], fit: None };
        assert_eq!(ModelFile::from_json(&file.to_json(), "m.json").unwrap(), file);
    }

    #[test]
    fn what_is_wrong_with_a_model_is_said() {
        assert_eq!(refusal("{"), "m.json: not a sound model file: EOF while parsing an object at line 1 column 1");
        assert!(refusal(&TEXT[..40]).starts_with("m.json: not a sound model file: EOF while parsing"));
        assert!(refusal("{\"means\":[]}").contains("missing field `weights`"));
        let version = TEXT.replacen('{', r#"{"version":2,"#, 1);
        assert_eq!(refusal(&version), "m.json: model files of version 2 are not known, only up to 1");
        let format = TEXT.replacen('{', r#"{"format":"other","#, 1);
        assert_eq!(refusal(&format), r#"m.json: format is "other", not "mixtura-model""#);
        let family = TEXT.replacen('{', r#"{"family":"gamma","#, 1);
        assert_eq!(refusal(&family), r#"m.json: family "gamma" is not known"#);
        let dimension = TEXT.replacen('{', r#"{"dimension":1000000000000,"#, 1);
        assert_eq!(
            refusal(&dimension),
            "m.json: not a sound model file: dimension is 1000000000000, but means have 1 numbers"
        );
        let sum = TEXT.replace("0.75", "0.7");
        assert_eq!(refusal(&sum), "m.json: component weights must be at least 0 and sum to 1: their sum is 0.95");
        let negative = TEXT.replace("[[0.3]]", "[[-0.3]]");
        assert_eq!(
            refusal(&negative),
            "m.json: component 1: covariance not positive definite at pivot 1 (value -3e-1)"
        );
        let ragged = TEXT.replace("[2.0]", "[2.0,1.0]");
        assert_eq!(
            refusal(&ragged),
            "m.json: not a sound model file: component 1: mean or covariance is not of dimension 1"
        );
    }
}
