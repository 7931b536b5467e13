//! Checks `bounds`: the fields of its contract, its numbers, its errors.

use std::fs;

use serde_json::Value;

use crate::refusals::refused;
use crate::{folder, json, numbers, succeed};

const DATA: &str = "generate -d 2 -k 2 -n 3000 --seed 5 -o d.csv --model m.json";

fn shape(value: &Value) -> Vec<usize> {
    match value {
        Value::Array(entries) => {
            std::iter::once(entries.len()).chain(entries.first().map(shape).into_iter().flatten()).collect()
        }
        _ => Vec::new(),
    }
}

#[test]
fn json_has_the_fields_of_the_contract() {
    let folder = folder();
    succeed(folder.path(), DATA);
    let found = json(&succeed(folder.path(), "bounds d.csv --model m.json --delta 0.01").stdout);
    assert_eq!(found["delta"].as_f64(), Some(0.01));
    for (field, expected) in [
        ("spread", vec![2]),
        ("responsibility", vec![2]),
        ("lambda_weight", vec![2]),
        ("valid", vec![2]),
        ("tau", vec![2, 2]),
        ("rho", vec![2, 2, 2]),
        ("weight_bound", vec![2]),
        ("mean_bound", vec![2, 2]),
        ("covariance_bound", vec![2, 2, 2]),
        ("typical_weight", vec![2]),
        ("typical_mean", vec![2, 2]),
        ("typical_covariance", vec![2, 2, 2]),
        ("weights", vec![2]),
        ("means", vec![2, 2]),
        ("covariances", vec![2, 2, 2]),
    ] {
        assert_eq!(shape(&found[field]), expected, "{field}");
    }
    let (r, lambda) = (numbers(&found["responsibility"]), numbers(&found["lambda_weight"]));
    assert!((r[0] + r[1] - 3000.0).abs() < 1e-9);
    assert!((lambda[0] - (3.0 * 200f64.ln() / r[0]).sqrt()).abs() < 1e-14);
    let weights = numbers(&found["weights"]);
    assert!((numbers(&found["weight_bound"])[1] - lambda[1] * weights[1]).abs() < 1e-15);
    // EM's update is that of a fit.
    succeed(folder.path(), "fit d.csv -k 2 --init-model m.json --algorithm em --rounds 1 --tolerance 0 -o u.json");
    let update = json(&fs::read_to_string(folder.path().join("u.json")).unwrap());
    for field in ["weights", "means", "covariances"] {
        assert_eq!(found[field], update[field], "{field}");
    }
}

#[test]
fn all_at_once_is_wider_and_the_same_on_any_number_of_threads() {
    let folder = folder();
    succeed(folder.path(), DATA);
    let at = |options: &str| json(&succeed(folder.path(), &format!("bounds d.csv --model m.json {options}")).stdout);
    let all = at("--confidence 0.95");
    assert!((all["delta"].as_f64().unwrap() - 0.05 / 12.0).abs() < 1e-15);
    assert!(numbers(&all["mean_bound"][0])[0] > numbers(&at("--delta 0.05")["mean_bound"][0])[0]);
    assert_eq!(at("--threads 1"), at("--threads 3"));
    assert_eq!(at("")["confidence"].as_f64(), Some(0.99));
}

/// Distances of means had the paper's confidence, whatever was asked for.
#[test]
fn distances_of_means_ignored_the_confidence_asked_for() {
    let folder = folder();
    succeed(folder.path(), DATA);
    let at = |options: &str| succeed(folder.path(), &format!("bounds d.csv --model m.json {options}")).stdout;
    let distance = |options: &str| {
        let found = json(&at(options))["euclidean_mean_bound"].clone();
        (found["confidence"].as_f64().unwrap(), numbers(&found["own_units"])[0])
    };
    let (usual, wide) = (distance(""), distance("--confidence 0.9999"));
    assert_eq!((usual.0, wide.0), (0.99, 0.9999));
    assert!(wide.1 > usual.1);
    // A distance combines several bounds, so a probability for each of them does not change it, and the table says so.
    assert_eq!(distance("--delta 0.01"), usual);
    let table = at("--delta 0.01 --format table");
    assert!(table.contains("hold with probability 0.99 as in the paper, whatever --delta"), "{table}");
    assert!(at("--confidence 0.9 --format table").contains("all 2 hold with probability 0.9;"));
}

#[test]
fn a_component_too_light_has_no_bound_at_all() {
    let folder = folder();
    succeed(folder.path(), DATA);
    let mut model = json(&fs::read_to_string(folder.path().join("m.json")).unwrap());
    model["weights"] = json("[0.9999, 0.0001]");
    fs::write(folder.path().join("light.json"), model.to_string()).unwrap();
    let ran = succeed(folder.path(), "bounds d.csv --model light.json --delta 1e-9");
    let found = json(&ran.stdout);
    assert_eq!(found["valid"], json("[true, false]"));
    for field in ["weight_bound", "mean_bound", "covariance_bound"] {
        assert!(found[field][1].is_null() && !found[field][0].is_null(), "{field}");
    }
    assert!(ran.stderr.contains("no bound for component 1"), "{}", ran.stderr);
    let table = succeed(folder.path(), "bounds d.csv --model light.json --delta 1e-9 --format table").stdout;
    assert!(table.contains("none") && !table.contains("NaN"), "{table}");
    let table = succeed(folder.path(), "bounds d.csv --model m.json --within 7 --format table").stdout;
    assert!(table.contains("rows for 7 %"), "{table}");
}

#[test]
fn other_families_have_bounds_on_weights_and_means() {
    let folder = folder();
    succeed(folder.path(), DATA);
    for structure in ["tied", "diagonal", "spherical"] {
        succeed(folder.path(), &format!("fit d.csv -k 2 --covariance {structure} -o s.json"));
        let found = json(&succeed(folder.path(), "bounds d.csv --model s.json").stdout);
        assert!(found["rho"].is_null() && found["covariance_bound"].is_null() && found["typical_covariance"].is_null());
        assert_eq!(shape(&found["mean_bound"]), [2, 2]);
        assert!(!found["covariances"].is_null());
        let table = succeed(folder.path(), "bounds d.csv --model s.json --format table").stdout;
        assert!(!table.contains("Theorem 3"), "{table}");
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    for (options, message) in [
        ("--delta 0", "must be between 0 and 1"),
        ("--confidence 1", "must be between 0 and 1"),
        ("--delta 0.1 --confidence 0.9", "cannot be used with"),
        ("--weights x1", "unweighted rows"),
        ("--within 0", "above 0"),
    ] {
        refused(&[], &format!("bounds d.csv --model m.json {options}"), 2, &[message]);
    }
}
