//! Records how a model was fitted, for its file.

use mixtura::driver::{Event, Fit};
use mixtura::family::Family;
use mixtura::{Algorithm, Criteria, Options};
use serde::{Deserialize, Serialize};

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
    /// Log-likelihood for each unit of weight, in nats, in the data's units; none if the last model was not
    /// evaluated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_log_likelihood: Option<f64>,
    /// The same of the model before the last update, where the last one was not evaluated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lower_bound: Option<f64>,
    /// Rows it was fitted to; not in files of version 0.1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<u64>,
    /// The sum of their weights, where they had any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_weight: Option<f64>,
    /// Free parameters of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub free_parameters: Option<u64>,
    /// Schwarz's criterion on these rows, as [`Criteria`] defines it; lower is better.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bic: Option<f64>,
    /// Akaike's criterion on these rows; lower is better.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aic: Option<f64>,
    /// The likelihood that each restart ended with.
    pub restarts: Vec<f64>,
    /// How many restarts were asked for, where fewer came to an end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restarts_asked: Option<u64>,
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
            mean_log_likelihood: Some(fit.mean_ln_likelihood + ln_volume),
            lower_bound: None,
            rows: None,
            total_weight: None,
            free_parameters: None,
            bic: None,
            aic: None,
            restarts_asked: Some(options.restarts).filter(|&asked| asked > fit.restarts.len() as u64),
            restarts: fit.restarts.iter().map(|likelihood| likelihood + ln_volume).collect(),
            events: fit.events.clone(),
        }
    }
    /// The same record with what the model was fitted to: how many rows, their total weight if they have weights, and
    /// how many free parameters the model has. Gives BIC and AIC, from the likelihood as the record has it by now.
    ///
    /// ```
    /// use mixtura::{Criteria, Options, Rows, Start, fit_rows};
    /// use mixtura_io::FitRecord;
    ///
    /// let rows = Rows::from_slice(&[0.0, 1.0, 5.0, 7.0], 1)?;
    /// let options = Options::default();
    /// let fit = fit_rows(&rows, 1, &Start::default(), &options)?;
    /// let record = FitRecord::new(&fit, &options, 0.0).with_data(4, None, fit.model.n_free_parameters());
    /// assert_eq!((record.rows, record.free_parameters), (Some(4), Some(2)));
    /// assert_eq!(record.bic, Some(Criteria::new(4.0 * fit.mean_ln_likelihood, 2, 4.0).bic));
    /// # Ok::<(), mixtura::Error>(())
    /// ```
    #[must_use]
    pub fn with_data(mut self, n_rows: u64, total_weight: Option<f64>, n_free_parameters: usize) -> Self {
        let weight = total_weight.unwrap_or(n_rows as f64);
        let criteria = self.mean_log_likelihood.map(|mean| Criteria::new(mean * weight, n_free_parameters, weight));
        self.rows = Some(n_rows);
        self.total_weight = total_weight;
        self.free_parameters = Some(n_free_parameters as u64);
        self.bic = criteria.map(|criteria| criteria.bic);
        self.aic = criteria.map(|criteria| criteria.aic);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = r#"{"algorithm":"em","seed":0,"rounds":3,"converged":true,"reason":"tolerance",
        "mean_log_likelihood":-1.5,"restarts":[-1.5],"events":[]}"#;

    #[test]
    fn records_of_version_0_1_are_read_and_stay_as_they_are() {
        let record: FitRecord = serde_json::from_str(OLD).unwrap();
        assert_eq!((record.rows, record.bic, record.restarts_asked), (None, None, None));
        let text = serde_json::to_string(&record).unwrap();
        assert_eq!(text, OLD.split_whitespace().collect::<String>());
    }

    #[test]
    fn weights_count_as_rows_in_the_criteria() {
        let record: FitRecord = serde_json::from_str(OLD).unwrap();
        let weighted = record.clone().with_data(3, Some(8.0), 2);
        assert_eq!((weighted.rows, weighted.total_weight), (Some(3), Some(8.0)));
        assert_eq!((weighted.aic, weighted.bic), (Some(24.0 + 4.0), Some(24.0 + 2.0 * 8.0f64.ln())));
        let read: FitRecord = serde_json::from_str(&serde_json::to_string(&weighted).unwrap()).unwrap();
        assert_eq!(read, weighted);
        let unevaluated = FitRecord { mean_log_likelihood: None, ..record }.with_data(3, None, 2);
        assert_eq!((unevaluated.rows, unevaluated.bic), (Some(3), None));
    }
}
