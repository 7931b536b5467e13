//! Reads and writes model files: JSON that preserves every bit.

mod layout;
mod limited;
mod record;

pub use self::record::{FitRecord, Race, RaceLevel};

use std::path::Path;

use mixtura::driver::Fit;
use mixtura::family::Family;
use mixtura::rows::Normalization;
use mixtura::sweep::Summary;
use mixtura::{AnyMixture, Kind, Mixture, Options, Rows, with_family, with_mixture};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Error;

/// Value of the `format` field.
const FORMAT: &str = "mixtura-model";
/// The version of the format that is written, and the newest that can be read.
const VERSION: u32 = 1;

/// A model, its column names, and a record of the fit.
///
/// ```
/// use mixtura::{FullGaussian, Mixture};
/// use mixtura_io::ModelFile;
///
/// let model = Mixture::new(vec![1.0], FullGaussian::new(1, vec![0.1], vec![1.0 / 3.0])?)?;
/// let file = ModelFile { model: model.into(), columns: vec!["x".into()], fit: None };
/// assert_eq!(ModelFile::from_json(&file.to_json(), "m.json")?, file);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct ModelFile {
    /// The model.
    pub model: AnyMixture,
    /// Column names; empty if the columns have none.
    pub columns: Vec<String>,
    /// The record of the fit, if there is one.
    pub fit: Option<FitRecord>,
}

/// The contents of the file except for the parameters; when reading, only the weights are required.
#[derive(Debug, Serialize, Deserialize)]
#[serde(expecting = "a model")]
struct Document {
    format: Option<String>,
    version: Option<u32>,
    family: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    covariance: Option<String>,
    dimension: Option<usize>,
    #[serde(default)]
    columns: Vec<String>,
    weights: Vec<f64>,
    /// The parameters, with the names and shapes defined by the family.
    #[serde(flatten)]
    rest: serde_json::Map<String, Value>,
}

/// The fields that determine whether this version can read the rest.
#[derive(Deserialize)]
#[serde(expecting = "a model")]
struct Preamble {
    format: Option<String>,
    version: Option<u32>,
    family: Option<String>,
    covariance: Option<String>,
}

impl ModelFile {
    /// The file of a fit: the model in the units of the data, even if the rows were normalized for the fit, and a
    /// record of the fit. `summary` is that of the engine.
    ///
    /// ```
    /// use mixtura::sweep::Summary;
    /// use mixtura::{Gmm, Options, Rows};
    /// use mixtura_io::ModelFile;
    ///
    /// let rows = Rows::from_vec(vec![100.0, 200.0, 300.0, 500.0], 1)?.normalized()?;
    /// let options = Options::default();
    /// let fit = Gmm::new(1).options(options.clone()).fit(&rows)?;
    /// let file = ModelFile::of_fit(&fit, &options, &rows, &Summary::of(&rows)?)?;
    /// assert!((file.model.centres()[0] - 275.0).abs() < 1e-9);
    /// assert_eq!(file.fit.and_then(|record| record.rows), Some(4));
    /// # Ok::<(), mixtura::Error>(())
    /// ```
    pub fn of_fit<F: Family>(
        fit: &Fit<F>,
        options: &Options,
        rows: &Rows<'_>,
        summary: &Summary,
    ) -> Result<Self, mixtura::Error>
    where
        AnyMixture: From<Mixture<F>>,
    {
        let mut model = fit.model.clone();
        let mut record = FitRecord::new(fit, options, rows.normalization().map_or(0.0, Normalization::ln_volume));
        if let Some(map) = rows.normalization() {
            let unmapped = model.components.unmapped(map.offset(), map.scale());
            model.components = unmapped.expect("invariant: families that cannot be mapped are not normalized");
            // Converting to the units of the data rounds, so the likelihood is that of the model in the file.
            let likelihood = model.score(&rows.without_normalization())?.mean_ln_likelihood;
            record.mean_log_likelihood = Some(likelihood);
            record.restarts[fit.winner] = likelihood;
        }
        if fit.race.as_ref().is_some_and(|race| race.interrupted_on.is_some()) {
            // So far, the likelihood is that of a sample.
            let likelihood = model.score(&rows.without_normalization())?.mean_ln_likelihood;
            record.mean_log_likelihood = Some(likelihood);
            record.restarts = vec![likelihood];
        }
        let total_weight = rows.weights().map(|_| summary.total_weight);
        let record = record.with_data(rows.n_rows() as u64, total_weight, model.n_free_parameters());
        Ok(Self { model: model.into(), columns: rows.names().to_vec(), fit: Some(record) })
    }

    /// The same model with its components sorted by weight, heaviest first; events are renumbered accordingly.
    #[must_use]
    pub fn sorted_by_weight(mut self) -> Self {
        let weights = self.model.weights();
        let mut order: Vec<usize> = (0..weights.len()).collect();
        order.sort_by(|&a, &b| weights[b].total_cmp(&weights[a]));
        let mut place = vec![0; order.len()];
        order.iter().enumerate().for_each(|(new, &old)| place[old] = new);
        self.model = with_mixture!(&self.model, model => model.sorted_by_weight().into());
        let events = self.fit.iter_mut().flat_map(|fit| &mut fit.events);
        for component in events.filter_map(|event| event.component.as_mut()) {
            *component = place[*component];
        }
        self
    }

    /// Reads and validates a model file, or standard input for `-`.
    ///
    /// Stops at the first byte that cannot be part of a model file, so that an endless device or a large file of
    /// another kind is rejected immediately.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let file = if path.as_os_str() == "-" { "standard input".to_owned() } else { path.display().to_string() };
        let (preamble, text) = limited::read(path, &file)?;
        Self::from_parts(&preamble, &text, &file)
    }

    /// Reads a model from JSON; `file` is its name in messages.
    pub fn from_json(text: &str, file: &str) -> Result<Self, Error> {
        let corrupt = |reason: String| Error::Corrupt { file: file.into(), format: "model", reason };
        let preamble: Preamble = serde_json::from_str(text).map_err(|error| corrupt(error.to_string()))?;
        Self::from_parts(&preamble, text, file)
    }

    fn from_parts(preamble: &Preamble, text: &str, file: &str) -> Result<Self, Error> {
        let corrupt = |reason: String| Error::Corrupt { file: file.into(), format: "model", reason };
        preamble.check().map_err(|reason| Error::Unsupported { file: file.into(), reason })?;
        let mut document: Document = serde_json::from_str(text).map_err(|error| corrupt(error.to_string()))?;
        let invalid = |source| Error::InvalidModel { file: file.into(), source };
        let weights = std::mem::take(&mut document.weights);
        let n_components = weights.len();
        let model = with_family!(preamble.kind().map_err(|reason| Error::Unsupported { file: file.into(), reason })?, F => {
            let n_columns = document.n_columns(n_components, F::shapes(n_components, 0)[0].0).map_err(corrupt)?;
            let read = |(name, shape): (&str, Vec<usize>)| document.parameter(name, &shape);
            let parameters = F::shapes(n_components, n_columns).into_iter().map(read).collect::<Result<_, _>>();
            let components = F::from_parameters(n_columns, parameters.map_err(corrupt)?).map_err(invalid)?;
            AnyMixture::from(Mixture::new(weights, components).map_err(invalid)?)
        });
        // The record of the fit; anything that does not parse as one is ignored.
        let fit = document.rest.remove("fit").and_then(|fit| serde_json::from_value(fit).ok());
        Ok(Self { model, columns: document.columns, fit })
    }

    /// The file's text.
    pub fn to_json(&self) -> String {
        let kind = self.model.kind();
        let mut rest = with_mixture!(&self.model, model => parameters(&model.components));
        if let Some(fit) = &self.fit {
            rest.insert("fit".into(), serde_json::to_value(fit).expect("invariant: a record is plain data"));
        }
        let document = Document {
            format: Some(FORMAT.into()),
            version: Some(VERSION),
            family: Some(kind.family().into()),
            covariance: kind.structure().map(Into::into),
            dimension: Some(self.model.n_columns()),
            columns: self.columns.clone(),
            weights: self.model.weights().to_vec(),
            rest,
        };
        layout::lines(&serde_json::to_value(&document).expect("invariant: a model is finite numbers and text"))
    }
}

/// The parameters by name, nested according to their shapes.
fn parameters<F: Family>(components: &F) -> serde_json::Map<String, Value> {
    let shapes = F::shapes(components.n_components(), components.n_columns());
    let named = shapes.into_iter().zip(components.parameters());
    named.map(|((name, shape), values)| (name.to_owned(), nested(values, &shape))).collect()
}

/// Numbers as nested lists of a given shape; null if they are not finite.
pub(crate) fn nested(values: &[f64], shape: &[usize]) -> Value {
    match shape {
        [] => Value::from(values[0]),
        [n, inner @ ..] => {
            Value::Array(values.chunks_exact(values.len() / n).map(|part| nested(part, inner)).collect())
        }
    }
}

/// Appends the numbers of nested lists of a given shape; the error says what is wrong and where.
fn flatten(value: &Value, shape: &[usize], place: &Place, out: &mut Vec<f64>) -> Result<(), String> {
    let [n, inner @ ..] = shape else {
        out.push(value.as_f64().ok_or_else(|| format!("{place} is not a number"))?);
        return Ok(());
    };
    let values = value.as_array().ok_or_else(|| format!("{place} is not a list of {n}"))?;
    if values.len() != *n {
        return Err(format!("{place} has {} entries, not {n}", values.len()));
    }
    let mut entries = values.iter().enumerate();
    entries.try_for_each(|(index, value)| flatten(value, inner, &Place::Entry { of: place, index }, out))
}

/// A position in a parameter; formatted only for error messages.
enum Place<'a> {
    Whole(&'a str),
    Entry { of: &'a Place<'a>, index: usize },
}

impl std::fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Whole(name) => f.write_str(name),
            Self::Entry { of, index } => write!(f, "{of}[{index}]"),
        }
    }
}

impl Preamble {
    fn check(&self) -> Result<(), String> {
        if let Some(format) = self.format.as_deref().filter(|&format| format != FORMAT) {
            return Err(format!("format is {format:?}, not {FORMAT:?}"));
        }
        if let Some(version) = self.version.filter(|&version| !(1..=VERSION).contains(&version)) {
            return Err(format!("model files of version {version} are not supported, only up to version {VERSION}"));
        }
        self.kind().map(drop)
    }

    /// The family; by default Gaussian with full covariances.
    fn kind(&self) -> Result<Kind, String> {
        let family = self.family.as_deref().unwrap_or(Kind::Full.family());
        if !Kind::ALL.iter().any(|kind| kind.family() == family) {
            return Err(format!("unknown family {family:?}"));
        }
        let full = || Kind::Full.structure().unwrap_or_default();
        let covariance = self.covariance.as_deref().unwrap_or_else(full);
        Kind::named(family, covariance).ok_or_else(|| format!("unknown covariance type {covariance:?}"))
    }
}

impl Document {
    /// The number of columns, from the first parameter, which has one row per component.
    fn n_columns(&self, n_components: usize, name: &str) -> Result<usize, String> {
        let first = self.rest.get(name).ok_or_else(|| format!("missing field `{name}`"))?.as_array();
        let n_columns = first.and_then(|rows| rows.first()?.as_array().map(Vec::len)).unwrap_or(0);
        if n_components == 0 || n_columns == 0 {
            return Err("no components or no columns".into());
        }
        if let Some(dimension) = self.dimension.filter(|&dimension| dimension != n_columns) {
            return Err(format!("dimension is {dimension}, but {name} have {n_columns} numbers"));
        }
        if !self.columns.is_empty() && self.columns.len() != n_columns {
            return Err(format!("{} column names for {n_columns} columns", self.columns.len()));
        }
        Ok(n_columns)
    }

    fn parameter(&self, name: &str, shape: &[usize]) -> Result<Vec<f64>, String> {
        let value = self.rest.get(name).ok_or_else(|| format!("missing field `{name}`"))?;
        let mut values = Vec::with_capacity(shape.iter().product());
        flatten(value, shape, &Place::Whole(name), &mut values)?;
        Ok(values)
    }
}

#[cfg(test)]
mod tests {
    use mixtura::FullGaussian;

    use super::*;

    const TEXT: &str = r#"{"weights":[0.25,0.75],"means":[[0.1],[2.0]],"covariances":[[[1.0]],[[0.3]]]}"#;

    fn refusal(text: &str) -> String {
        ModelFile::from_json(text, "m.json").unwrap_err().to_string()
    }

    #[test]
    fn weights_and_parameters_are_enough() {
        let file = ModelFile::from_json(TEXT, "m.json").unwrap();
        assert_eq!(file.model.weights(), [0.25, 0.75]);
        assert!(file.columns.is_empty() && file.fit.is_none());
    }

    #[test]
    fn floats_read_back_to_the_same_bits() {
        let values =
            [0.1 + 0.2, 1e-308, 1.0 / 3.0, f64::MAX / 3.0, 5e-324_f64.max(f64::MIN_POSITIVE), 123_456_789.123_456_79];
        let components = FullGaussian::new(1, values.to_vec(), vec![1.0 / 7.0; 6]).unwrap();
        let model = Mixture::new(vec![1.0 / 6.0; 6], components).unwrap();
        let file = ModelFile { model: model.into(), columns: vec!["a \"quoted\" name".into()], fit: None };
        assert_eq!(ModelFile::from_json(&file.to_json(), "m.json").unwrap(), file);
    }

    #[test]
    fn every_family_has_its_shapes_and_reads_back() {
        let head = r#""weights":[0.25,0.75],"means":[[0.1,1.0],[2.0,3.0]]"#;
        for (names, parameters) in [
            (r#""covariance":"tied""#, r#""covariances":[[2.0,0.5],[0.5,1.0]]"#),
            (r#""covariance":"diagonal""#, r#""covariances":[[2.0,0.5],[0.5,1.0]]"#),
            (r#""covariance":"spherical""#, r#""covariances":[2.0,0.5]"#),
            (r#""family":"gaussian""#, r#""covariances":[[[2.0,0.5],[0.5,1.0]],[[1.0,0.0],[0.0,1.0]]]"#),
            (r#""family":"poisson""#, r#""rates":[[2.0,0.5],[0.0,1.0]]"#),
        ] {
            let file = ModelFile::from_json(&format!("{{{names},{head},{parameters}}}"), "m.json").unwrap();
            let text = file.to_json();
            assert_eq!(ModelFile::from_json(&text, "m.json").unwrap(), file);
            let dense: String = text.chars().filter(|c| !c.is_whitespace()).collect();
            assert!(dense.contains(names) && dense.contains(parameters), "{dense}");
        }
        let wrong = format!(r#"{{"covariance":"spherical",{head},"covariances":[[2.0,0.5],[0.5,1.0]]}}"#);
        assert_eq!(refusal(&wrong), "m.json: not a valid model file: covariances[0] is not a number");
        let wrong = format!(r#"{{"covariance":"tied",{head},"covariances":[2.0,0.5]}}"#);
        assert_eq!(refusal(&wrong), "m.json: not a valid model file: covariances[0] is not a list of 2");
        let wrong = format!(r#"{{"covariance":"banded",{head},"covariances":[2.0,0.5]}}"#);
        assert_eq!(refusal(&wrong), r#"m.json: unknown covariance type "banded""#);
        let wrong = r#"{"family":"poisson","weights":[1.0],"rates":[[-2.0]]}"#;
        assert_eq!(refusal(wrong), "m.json: component 0: rate -2 must be finite and at least 0");
    }

    #[test]
    fn what_is_wrong_with_a_model_is_said() {
        assert_eq!(refusal("{"), "m.json: not a valid model file: EOF while parsing an object at line 1 column 1");
        assert!(refusal(&TEXT[..40]).starts_with("m.json: not a valid model file: EOF while parsing"));
        assert!(refusal("{\"means\":[]}").contains("missing field `weights`"));
        let version = TEXT.replacen('{', r#"{"version":2,"#, 1);
        assert_eq!(refusal(&version), "m.json: model files of version 2 are not supported, only up to version 1");
        let format = TEXT.replacen('{', r#"{"format":"other","#, 1);
        assert_eq!(refusal(&format), r#"m.json: format is "other", not "mixtura-model""#);
        let family = TEXT.replacen('{', r#"{"family":"gamma","#, 1);
        assert_eq!(refusal(&family), r#"m.json: unknown family "gamma""#);
        let dimension = TEXT.replacen('{', r#"{"dimension":1000000000000,"#, 1);
        assert_eq!(
            refusal(&dimension),
            "m.json: not a valid model file: dimension is 1000000000000, but means have 1 numbers"
        );
        let sum = TEXT.replace("0.75", "0.7");
        assert_eq!(refusal(&sum), "m.json: component weights must be at least 0 and sum to 1: their sum is 0.95");
        let negative = TEXT.replace("[[0.3]]", "[[-0.3]]");
        assert_eq!(
            refusal(&negative),
            "m.json: component 1: covariance not positive definite at pivot 1 (value -3e-1)"
        );
        let ragged = TEXT.replace("[2.0]", "[2.0,1.0]");
        assert_eq!(refusal(&ragged), "m.json: not a valid model file: means[1] has 2 entries, not 1");
    }
}
