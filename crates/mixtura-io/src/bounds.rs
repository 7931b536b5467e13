//! States how far one update of SEM can be from EM's, as JSON: the file of `mixtura bounds`.

use mixtura::family::Family;
use mixtura::pass::{Engine, Threads};
use mixtura::theory::{Bounds, Demand, Proximity, least_weight};
use mixtura::{Error, Mixture, Rows};
use serde_json::{Map, Value, json};

use crate::model::nested;

/// How sure the statements are to be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Certainty {
    /// Each by itself may fail with this probability.
    Each(f64),
    /// All hold at once with this probability.
    All(f64),
}

impl Default for Certainty {
    fn default() -> Self {
        Self::All(0.99)
    }
}

/// What was measured and stated.
#[derive(Debug, Clone)]
pub struct BoundsReport<F: Family> {
    /// What the theorems take from data and model.
    pub proximity: Proximity<F>,
    /// What they state.
    pub bounds: Bounds,
    /// How sure that is.
    pub certainty: Certainty,
    /// The paper's distance of means, in the data's units and with columns mapped to [0, 1].
    pub distance: [Vec<f64>; 2],
    /// The per cent that were asked about…
    pub within: f64,
    /// …and the rows it takes.
    pub demand: Demand,
}

impl<F: Family> BoundsReport<F> {
    /// Confidence of the paper's bound on the distance between means.
    pub const PAPER_CONFIDENCE: f64 = 0.99;

    /// Measures a model's update on rows, in two sweeps; `within` is the per cent that rows are asked for.
    pub fn measure(model: &Mixture<F>, rows: &Rows<'_>, certainty: Certainty, within: f64) -> Result<Self, Error> {
        Self::measure_with(model, &Threads::new(rows)?, certainty, within)
    }

    /// The same for all rows of an engine, which may be stopped.
    pub fn measure_with<E: Engine<F>>(
        model: &Mixture<F>,
        engine: &E,
        certainty: Certainty,
        within: f64,
    ) -> Result<Self, Error> {
        let proximity = Proximity::measure(engine, model)?;
        let delta = match certainty {
            Certainty::Each(delta) => delta,
            Certainty::All(confidence) => proximity.delta_for_all(confidence)?,
        };
        let own = vec![1.0; proximity.n_columns()];
        Ok(Self {
            bounds: proximity.bounds(delta)?,
            certainty,
            distance: [
                proximity.euclidean_mean_bounds(Self::PAPER_CONFIDENCE, &own)?,
                proximity.euclidean_mean_bounds(Self::PAPER_CONFIDENCE, &proximity.spread)?,
            ],
            within,
            demand: proximity.demand(within / 100.0, delta)?,
            proximity,
        })
    }

    /// With which all statements hold, if that was asked for.
    pub fn confidence(&self) -> Option<f64> {
        match self.certainty {
            Certainty::All(confidence) => Some(confidence),
            Certainty::Each(_) => None,
        }
    }

    /// The fields of the contract, and after them what else is known.
    pub fn to_json(&self) -> Value {
        let Self { proximity, bounds, .. } = self;
        let (k, d) = (proximity.n_components(), proximity.n_columns());
        let mut fields = Map::new();
        let mut put = |name: &str, value: Value| fields.insert(name.into(), value);
        // A component without a bound has none at all.
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
            // Full covariances as they are, even where singular.
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
                "confidence": Self::PAPER_CONFIDENCE,
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
