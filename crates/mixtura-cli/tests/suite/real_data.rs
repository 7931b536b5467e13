//! Fits samples of real data: integers, skew, repeated rows, an exactly singular covariance.

use std::fs;

use crate::{folder, json, shipped, succeed};

/// Fits and returns the likelihoods of all rounds and the events.
fn fit(data: &str, k: u32, algorithm: &str, extra: &str) -> (Vec<f64>, Vec<serde_json::Value>) {
    let folder = folder();
    let path = shipped(data);
    let line = format!(
        "fit {} -k {k} --algorithm {algorithm} --restarts 1 --rounds 50 --tolerance 0 --trace t.csv -o m.json {extra}",
        path.display()
    );
    succeed(folder.path(), &line);
    let trace = fs::read_to_string(folder.path().join("t.csv")).unwrap();
    let likelihoods = trace.lines().skip(1).map(|line| line.split(',').nth(1).unwrap().parse().unwrap()).collect();
    let model = json(&fs::read_to_string(folder.path().join("m.json")).unwrap());
    (likelihoods, model["fit"]["events"].as_array().unwrap().clone())
}

#[test]
fn fifty_rounds_stay_finite_and_em_is_monotone() {
    for (data, k, extra) in [
        ("covertype.parquet", 10, "--normalize"),
        ("aloi.parquet", 3, ""),
        ("aloi.parquet", 20, ""),
        ("aloi.parquet", 20, "--normalize"),
    ] {
        for algorithm in ["em", "em --accelerate", "sem", "cem", "saem", "auto --accelerate"] {
            let (likelihoods, events) = fit(data, k, algorithm, extra);
            assert_eq!(likelihoods.len(), 51);
            assert!(likelihoods.iter().all(|l| l.is_finite()), "{data} {k} {algorithm}");
            if algorithm.starts_with("em") {
                for (round, pair) in (1..).zip(likelihoods.windows(2)) {
                    // Only rounds in which a repair may have happened are exempt, not the whole fit.
                    let repaired = events.iter().any(|event| {
                        let rounds = event["first"].as_u64().unwrap()..=event["last"].as_u64().unwrap();
                        event["kind"] != "clipped" && rounds.contains(&round)
                    });
                    let rises = pair[1] >= pair[0] - 1e-9 * pair[0].abs();
                    assert!(repaired || rises, "{data} {k}, round {round}: {} after {}", pair[1], pair[0]);
                }
            }
        }
    }
}

#[test]
fn singular_data_is_held_at_the_floor_and_that_is_recorded() {
    let (_, events) = fit("aloi.parquet", 3, "em", "");
    let mut kinds: Vec<&str> = events.iter().map(|event| event["kind"].as_str().unwrap()).collect();
    kinds.sort_unstable();
    // Every row has the same sum, so no covariance ever has full rank. One component is small as well.
    assert_eq!(kinds, ["clipped", "clipped", "clipped", "few-rows", "on-floor", "on-floor", "on-floor"]);
}
