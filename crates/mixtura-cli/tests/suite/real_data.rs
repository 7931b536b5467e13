//! Fits samples of real data: integers, skew, repeated rows, an exactly singular covariance.

use std::fs;

use crate::{folder, json, shipped, succeed};

/// Fits and returns the likelihoods of all rounds and the kinds of events.
fn fit(data: &str, k: u32, algorithm: &str, extra: &str) -> (Vec<f64>, Vec<String>) {
    let folder = folder();
    let path = shipped(data);
    let line = format!(
        "fit {} -k {k} --algorithm {algorithm} --rounds 50 --tolerance 0 --trace t.csv -o m.json {extra}",
        path.display()
    );
    succeed(folder.path(), &line);
    let trace = fs::read_to_string(folder.path().join("t.csv")).unwrap();
    let likelihoods = trace.lines().skip(1).map(|line| line.split(',').nth(1).unwrap().parse().unwrap()).collect();
    let model = json(&fs::read_to_string(folder.path().join("m.json")).unwrap());
    let events = model["fit"]["events"].as_array().unwrap();
    (likelihoods, events.iter().map(|event| event["kind"].as_str().unwrap().to_owned()).collect())
}

#[test]
fn fifty_rounds_stay_finite_and_em_is_monotone() {
    for (data, k, extra) in
        [("covertype.parquet", 10, "--normalize"), ("aloi.parquet", 3, ""), ("aloi.parquet", 20, "--normalize")]
    {
        for algorithm in ["em", "sem", "cem"] {
            let (likelihoods, events) = fit(data, k, algorithm, extra);
            assert_eq!(likelihoods.len(), 51);
            assert!(likelihoods.iter().all(|l| l.is_finite()), "{data} {k} {algorithm}");
            let repaired = events.iter().any(|kind| kind != "clipped");
            if algorithm == "em" && !repaired {
                for pair in likelihoods.windows(2) {
                    assert!(pair[1] >= pair[0] - 1e-9 * pair[0].abs(), "{data} {k}: {} after {}", pair[1], pair[0]);
                }
            }
        }
    }
}

#[test]
fn singular_data_is_held_at_the_floor_and_that_is_recorded() {
    let (_, events) = fit("aloi.parquet", 3, "em", "");
    assert_eq!(events, ["clipped"; 3]);
}
