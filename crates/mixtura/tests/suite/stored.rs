//! Checks that deserializing refuses what the constructors refuse, with the same message, and keeps the bits of the rest.

use mixtura::driver::Gains;
use mixtura::family::Floor;
use mixtura::generate::Artificial;
use mixtura::matching::Outline;
use mixtura::rows::Normalization;
use mixtura::{
    AnyMixture, DiagonalGaussian, Fitter, FullGaussian, Mixture, Options, Poisson, Rows, Source, SphericalGaussian,
    TiedGaussian,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Asserts that JSON is refused with a message that contains `expected`.
#[track_caller]
fn refuses<T: DeserializeOwned + std::fmt::Debug>(json: &str, expected: &str) {
    let message = serde_json::from_str::<T>(json).unwrap_err().to_string();
    assert!(message.contains(expected), "{message}");
}

/// Asserts that a value is read as it was written, bit for bit.
#[track_caller]
fn keeps<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(value: &T) {
    let json = serde_json::to_string(value).unwrap();
    let read: T = serde_json::from_str(&json).unwrap();
    assert_eq!(&read, value);
    assert_eq!(serde_json::to_string(&read).unwrap(), json);
}

#[test]
fn families_are_checked() {
    refuses::<FullGaussian>(
        r#"{"n_columns": 1, "means": [0], "covariances": [-1]}"#,
        "component 0: covariance not positive definite at pivot 1 (value -1e0)",
    );
    refuses::<FullGaussian>(
        r#"{"n_columns": 2, "means": [0, 0], "covariances": [1, 0.5, 0.4, 1]}"#,
        "component 0: covariance not symmetric at (1, 2): 5e-1 and 4e-1",
    );
    refuses::<FullGaussian>(
        r#"{"n_columns": 2, "means": [0, 0], "covariances": [1, 0, 0]}"#,
        "3 covariance entries for 4 entries of the matrices",
    );
    refuses::<FullGaussian>(r#"{"n_columns": 0, "means": [], "covariances": []}"#, "no columns");
    // JSON has no NaN: it is written as null.
    refuses::<FullGaussian>(r#"{"n_columns": 1, "means": [null], "covariances": [1]}"#, "null");
    refuses::<TiedGaussian>(
        r#"{"n_columns": 1, "means": [0, 1], "covariance": [0]}"#,
        "component 0: covariance not positive definite at pivot 1 (value 0e0)",
    );
    refuses::<TiedGaussian>(
        r#"{"n_columns": 2, "means": [0, 1, 2], "covariance": [1, 0, 0, 1]}"#,
        "3 means do not divide into components of 2 columns",
    );
    refuses::<DiagonalGaussian>(
        r#"{"n_columns": 2, "means": [0, 1], "variances": [1, -2]}"#,
        "component 0: variance -2 is not a positive number",
    );
    refuses::<SphericalGaussian>(
        r#"{"n_columns": 2, "means": [0, 1], "variances": [1, 2]}"#,
        "2 variances for 1 component",
    );
    refuses::<Poisson>(r#"{"n_columns": 1, "rates": [2, -1]}"#, "component 1: rate -1 must be finite and at least 0");
}

#[test]
fn mixtures_are_checked() {
    let with =
        |weights: &str| format!(r#"{{"weights": {weights}, "components": {{"n_columns": 1, "rates": [2, 1]}}}}"#);
    assert!(serde_json::from_str::<Mixture<Poisson>>(&with("[0.25, 0.75]")).is_ok());
    refuses::<Mixture<Poisson>>(&with("[1, 1]"), "component weights must be at least 0 and sum to 1: their sum is 2");
    refuses::<Mixture<Poisson>>(&with("[1]"), "1 weight for 2 components");
    refuses::<Mixture<Poisson>>(&with("[1.5, -0.5]"), "sum to 1: the weight of component 1 is -0.5");
    refuses::<Mixture<Poisson>>(&with("[1, null]"), "null");
}

/// JSON cannot hold NaN, other formats can: here values are deserialized from memory.
#[test]
fn nan_is_refused_in_any_format() {
    use serde::Deserialize;
    use serde::de::IntoDeserializer;
    use serde::de::value::{Error as Refused, MapDeserializer};

    let from = |offset: f64, scale: f64| {
        let fields = [("offset", vec![offset]), ("scale", vec![scale])];
        let map = MapDeserializer::<_, Refused>::new(fields.into_iter());
        Normalization::deserialize(map.into_deserializer())
    };
    assert!(from(0.0, 1.0).is_ok());
    assert_eq!(from(f64::NAN, 1.0).unwrap_err().to_string(), "column 1: offset NaN is not finite");
    assert_eq!(from(0.0, f64::NAN).unwrap_err().to_string(), "column 1: scale NaN is not a positive number");

    let fields = [("decay", f64::NAN), ("offset", 0.0)];
    let gains = Gains::deserialize(MapDeserializer::<_, Refused>::new(fields.into_iter()));
    assert_eq!(gains.unwrap_err().to_string(), "decay must be a number from 0 to 1, not NaN");
}

#[test]
fn what_describes_columns_is_checked() {
    refuses::<Normalization>(r#"{"offset": [0, 0], "scale": [1]}"#, "1 scale for 2 columns");
    refuses::<Normalization>(r#"{"offset": [0, 0], "scale": [1, 0]}"#, "column 2: scale 0 is not a positive number");
    let floor = |deviation: &str, centre: &str| {
        format!(
            r#"{{"smallest_deviation": {deviation}, "ridge": [0], "smallest_rate": [2], "scale": [1],
            "centre": {centre}, "origin": [0]}}"#
        )
    };
    let json = floor("[1e-5]", "[-3]");
    let read: Floor = serde_json::from_str(&json).unwrap();
    assert_eq!((&read.smallest_deviation, &read.smallest_rate), (&vec![1e-5], &vec![2.0]));
    let earlier = json.replace("smallest_deviation", "least").replace("smallest_rate", "least_rate");
    assert_eq!(serde_json::from_str::<Floor>(&earlier).unwrap(), read);
    refuses::<Floor>(&floor("[-1]", "[0]"), "column 1: smallest deviation -1 is not finite and at least 0");
    refuses::<Floor>(&floor("[1]", "[0, 0]"), "2 centres for 1 column");
    refuses::<Outline>(r#"{"n_columns": 0, "centres": [], "spreads": []}"#, "no columns");
    refuses::<Outline>(r#"{"n_columns": 1, "centres": [1, 2], "spreads": [1]}"#, "1 spread for 2 centres");
}

#[test]
fn options_are_checked_and_may_be_left_out() {
    refuses::<Options>(r#"{"tolerance": -1}"#, "tolerance must be a finite number of at least 0, not -1");
    refuses::<Options>(r#"{"restarts": 0}"#, "restarts must be at least 1, not 0");
    refuses::<Options>(r#"{"algorithm": "em", "guard": true}"#, "guard requires the algorithm auto, not em");
    refuses::<Options>(r#"{"toleranse": 1e-3}"#, "unknown field `toleranse`");
    let options: Options = serde_json::from_str(r#"{"algorithm": "sem", "seed": 7}"#).unwrap();
    assert_eq!(options, Options::default().algorithm(mixtura::Algorithm::Sem).seed(7));
    refuses::<Gains>(r#"{"decay": 1.5, "offset": 0}"#, "decay must be a number from 0 to 1, not 1.5");
}

/// Weights of a fit sum to 1 only up to rounding, and covariances are products of a solver.
#[test]
fn fits_of_every_family_are_read_as_they_were_written() {
    let truth = Artificial { n_columns: 5, n_components: 7, ..Artificial::default() }.mixture(3).unwrap();
    let (values, _) = truth.sample(0..3001, 4).unwrap();
    let rows = Rows::from_slice(&values, 5).unwrap();
    keeps(&Fitter::<FullGaussian>::new(7).rounds(20).fit(&rows).unwrap());
    keeps(&Fitter::<TiedGaussian>::new(7).rounds(20).fit(&rows).unwrap());
    keeps(&Fitter::<DiagonalGaussian>::new(7).rounds(20).fit(&rows).unwrap());
    keeps(&Fitter::<SphericalGaussian>::new(7).rounds(20).fit(&rows).unwrap());
    let counts: Vec<f64> = values.iter().map(|x| x.abs().round()).collect();
    keeps(&Fitter::<Poisson>::new(7).rounds(20).fit(&Rows::from_slice(&counts, 5).unwrap()).unwrap());
    let source = Source::of(&rows).unwrap();
    keeps(&Floor::of::<FullGaussian>(source.summary(), 1e-9, 1e-3));
    keeps(&AnyMixture::from(truth.clone()));
    keeps(&Outline::of(&truth.components));
    keeps(rows.clone().normalized().unwrap().normalization().unwrap());
}
