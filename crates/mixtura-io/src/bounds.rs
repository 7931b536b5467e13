//! The JSON output of `mixtura bounds`: how far one update of SEM can be from EM's.

use mixtura::family::Family;
use mixtura::sweep::Engine;
use mixtura::theory::{Bounds, Demand, Proximity, least_weight};
use mixtura::{Error, Mixture, Rows, Source};
use serde_json::{Map, Value, json};

use crate::model::nested;

/// The confidence of the paper's bounds on the distances of all means.
const PAPER_CONFIDENCE: f64 = 0.99;

/// The requested confidence of the bounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Certainty {
    /// Probability with which each individual bound may fail.
    Each(f64),
    /// Probability with which all bounds hold simultaneously.
    All(f64),
}

impl Default for Certainty {
    fn default() -> Self {
        Self::All(PAPER_CONFIDENCE)
    }
}

impl Certainty {
    /// The confidence that the paper's bounds on the distances of all means hold simultaneously: the one that was
    /// requested, or with a probability for individual bounds, of which a distance combines several, the paper's 0.99.
    pub fn of_distances(self) -> f64 {
        match self {
            Self::Each(_) => PAPER_CONFIDENCE,
            Self::All(confidence) => confidence,
        }
    }
}

/// Measured quantities and the resulting bounds.
#[derive(Debug, Clone)]
pub struct BoundsReport<F: Family> {
    /// The quantities of data and model that the theorems use.
    pub proximity: Proximity<F>,
    /// The bounds.
    pub bounds: Bounds,
    /// The requested confidence.
    pub certainty: Certainty,
    /// The paper's bound on the distance of means, in the units of the data and with columns scaled to [0, 1].
    pub distance: [Vec<f64>; 2],
    /// The percentage for which the number of rows was requested.
    pub within: f64,
    /// The number of rows needed to be within that percentage.
    pub demand: Demand,
}

impl<F: Family> BoundsReport<F> {
    /// Computes the bounds for a model and rows, in two passes; `within` is the percentage for the number of rows.
    pub fn measure(model: &Mixture<F>, rows: &Rows<'_>, certainty: Certainty, within: f64) -> Result<Self, Error> {
        Self::measure_source(model, &Source::of(rows)?, certainty, within)
    }

    /// The same for all rows behind an engine, which may be stopped.
    pub fn measure_source<E: Engine>(
        model: &Mixture<F>,
        source: &Source<E>,
        certainty: Certainty,
        within: f64,
    ) -> Result<Self, Error> {
        let proximity = Proximity::measure(source, model)?;
        let delta = match certainty {
            Certainty::Each(delta) => delta,
            Certainty::All(confidence) => proximity.delta_for_all(confidence)?,
        };
        let distance_confidence = certainty.of_distances();
        let own = vec![1.0; proximity.n_columns()];
        Ok(Self {
            bounds: proximity.bounds(delta)?,
            certainty,
            distance: [
                proximity.euclidean_mean_bounds(distance_confidence, &own)?,
                proximity.euclidean_mean_bounds(distance_confidence, &proximity.spread)?,
            ],
            within,
            demand: proximity.demand(within / 100.0, delta)?,
            proximity,
        })
    }

    /// The confidence that all bounds hold simultaneously, if that was requested.
    pub fn confidence(&self) -> Option<f64> {
        match self.certainty {
            Certainty::All(confidence) => Some(confidence),
            Certainty::Each(_) => None,
        }
    }

    /// The documented fields, followed by additional ones.
    pub fn to_json(&self) -> Value {
        let Self { proximity, bounds, .. } = self;
        let (k, d) = (proximity.n_components(), proximity.n_columns());
        let mut fields = Map::new();
        let mut put = |name: &str, value: Value| fields.insert(name.into(), value);
        // A component without a valid bound has nulls throughout.
        let bound = |values: &[f64], shape: &[usize]| {
            let mut all = nested(values, shape);
            for (entry, valid) in all.as_array_mut().into_iter().flatten().zip(&bounds.valid) {
                if !valid {
                    *entry = Value::Null;
                }
            }
            all
        };
        let optional = |values: Option<&Vec<f64>>| values.map_or(Value::Null, |values| nested(values, &[k, d, d]));
        put("delta", Value::from(bounds.delta));
        put("confidence", self.confidence().map_or(Value::Null, Value::from));
        put("rows", json!(proximity.n_rows));
        put("spread", nested(&proximity.spread, &[d]));
        put("responsibility", nested(&proximity.responsibility, &[k]));
        put("lambda_weight", nested(&bounds.lambda_weight, &[k]));
        put("valid", json!(bounds.valid));
        put("tau", nested(&proximity.tau, &[k, d]));
        put("rho", optional(proximity.rho.as_ref()));
        put("weight_bound", bound(&bounds.weight, &[k]));
        put("mean_bound", bound(&bounds.mean, &[k, d]));
        put("covariance_bound", bounds.covariance.as_ref().map_or(Value::Null, |values| bound(values, &[k, d, d])));
        let typical = proximity.typical();
        put("typical_weight", nested(&typical.weight, &[k]));
        put("typical_mean", nested(&typical.mean, &[k, d]));
        put("typical_covariance", optional(typical.covariance.as_ref()));
        put("weights", nested(&proximity.update.weights, &[k]));
        for ((name, shape), parameters) in F::shapes(k, d).iter().zip(proximity.update.components.parameters()) {
            // Full covariances are written unmodified, even if they are singular.
            let raw = proximity.covariances.as_ref().filter(|_| *name == "covariances");
            put(name, nested(raw.map_or(parameters, Vec::as_slice), shape));
        }
        put("mean_log_likelihood", Value::from(proximity.mean_ln_likelihood));
        put("lambda_mean", nested(&proximity.lambda_mean(bounds.delta), &[k, d]));
        put(
            "lambda_covariance",
            proximity.lambda_covariance(bounds.delta).as_ref().map_or(Value::Null, |l| nested(l, &[k, d, d])),
        );
        put(
            "euclidean_mean_bound",
            json!({
                "confidence": self.certainty.of_distances(),
                "own_units": nested(&self.distance[0], &[k]),
                "columns_mapped_to_unit_interval": nested(&self.distance[1], &[k]),
                "largest_possible_when_mapped": Value::from((d as f64).sqrt()),
            }),
        );
        put(
            "least_weight",
            json!({"lambda_weight": 0.5, "weight": Value::from(least_weight(proximity.n_rows, bounds.delta, 0.5))}),
        );
        put(
            "rows_needed",
            json!({
                "within": Value::from(self.within / 100.0),
                "weight": nested(&self.demand.weight, &[k]),
                "mean": nested(&self.demand.mean, &[k]),
            }),
        );
        Value::Object(fields)
    }
}
