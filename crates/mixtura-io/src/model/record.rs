//! The record of a fit that is stored in a model file.

use mixtura::driver::{Event, Fit, Level, RaceRecord};
use mixtura::family::Family;
use mixtura::{Algorithm, Criteria, Options};
use serde::{Deserialize, Serialize};

/// The record of a fit. It contains no time, thread count or host name: the same fit gives the same record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FitRecord {
    /// The algorithm.
    pub algorithm: Algorithm,
    /// Random seed.
    pub seed: u64,
    /// Number of rounds of the best restart.
    pub rounds: u64,
    /// Whether it converged.
    pub converged: bool,
    /// Why it stopped.
    pub reason: String,
    /// Log-likelihood per unit of row weight, in nats, in the units of the data; `None` if the last model was
    /// not evaluated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_log_likelihood: Option<f64>,
    /// The same for the model before the last update, if the last model was not evaluated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lower_bound: Option<f64>,
    /// Number of rows; missing in files written by version 0.1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<u64>,
    /// Sum of the row weights, if there were any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_weight: Option<f64>,
    /// Number of free parameters of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub free_parameters: Option<u64>,
    /// Bayesian information criterion on these rows, as defined by [`Criteria`]; lower is better.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bic: Option<f64>,
    /// Akaike information criterion on these rows; lower is better.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aic: Option<f64>,
    /// Final log-likelihood of each restart; after a race, of those that went on to all rows.
    pub restarts: Vec<f64>,
    /// Number of starts, if there are fewer in `restarts`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restarts_asked: Option<u64>,
    /// Events during the fit.
    pub events: Vec<Event>,
    /// How the starts raced, if they did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub race: Option<Race>,
}

/// How the starts of a fit raced.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Race {
    /// Number of starts that led to the maximum of the result.
    pub agreed: u64,
    /// How often a component was moved to where it was missed more.
    pub moves: u64,
    /// How much lower the best of the other starts was, in nats per row; `None` if all agreed.
    pub gap: Option<f64>,
    /// Number of rows on which that start was compared.
    pub gap_rows: Option<u64>,
    /// If the race was interrupted: the number of rows on which it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interrupted_on: Option<u64>,
    /// The levels, from few rows to many.
    pub levels: Vec<RaceLevel>,
}

/// A level of a race: starts on a sample of the rows, the best first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RaceLevel {
    /// Number of rows.
    pub rows: u64,
    /// Numbers of the starts, from 0.
    pub starts: Vec<u64>,
    /// Rounds of EM of each start.
    pub rounds: Vec<u64>,
    /// Log-likelihood of each start, per unit of the rows' weight.
    pub mean_log_likelihoods: Vec<f64>,
}

impl Race {
    fn new(record: &RaceRecord, ln_volume: f64) -> Self {
        let level = |level: &Level| RaceLevel {
            rows: level.n_rows,
            starts: level.entries.iter().map(|entry| entry.start).collect(),
            rounds: level.entries.iter().map(|entry| entry.rounds).collect(),
            mean_log_likelihoods: level.entries.iter().map(|entry| entry.mean_ln_likelihood + ln_volume).collect(),
        };
        Self {
            agreed: record.n_agreed,
            moves: record.n_moves,
            gap: record.runner_up.map(|other| other.gap),
            gap_rows: record.runner_up.map(|other| other.n_rows),
            interrupted_on: record.interrupted_on,
            levels: record.levels.iter().map(level).collect(),
        }
    }
}

impl FitRecord {
    /// The record of a fit; `ln_volume` is the logarithm of the volume factor of the normalization, 0
    /// without one.
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
            restarts_asked: Some(fit.restarts_asked).filter(|&asked| asked > fit.restarts.len() as u64),
            restarts: fit.restarts.iter().map(|likelihood| likelihood + ln_volume).collect(),
            events: fit.events.clone(),
            race: fit.race.as_ref().map(|record| Race::new(record, ln_volume)),
        }
    }

    /// Adds the number of rows, their total weight if they have weights, and the number of free parameters of the
    /// model. Computes AIC and BIC from the log-likelihood in the record.
    ///
    /// ```
    /// use mixtura::{Criteria, Gmm, Options, Rows};
    /// use mixtura_io::FitRecord;
    ///
    /// let rows = Rows::from_slice(&[0.0, 1.0, 5.0, 7.0], 1)?;
    /// let options = Options::default();
    /// let fit = Gmm::new(1).options(options.clone()).fit(&rows)?;
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
