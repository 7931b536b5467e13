//! Checks `paper`: its output, resuming after an interruption, and missing data.

use std::fs;

use crate::{folder, json, run, succeed};

const SMALL: &str = "paper --only artificial-1e4 --output out";

#[test]
fn the_small_artificial_set_is_evaluated_and_kept() {
    let folder = folder();
    let first = succeed(folder.path(), SMALL);
    // Claims about other data are not tested, which is said once.
    assert!(first.stdout.contains(" claims; the data was not part of this run\n"), "{}", first.stdout);
    assert_eq!(first.stdout.matches("not part of this run").count(), 1, "{}", first.stdout);
    assert!(first.stdout.contains("in a quick run."), "{}", first.stdout);
    let out = folder.path().join("out");
    let found = json(&fs::read_to_string(out.join("findings.json")).unwrap());
    assert_eq!(found["scale"].as_str(), Some("quick"));
    let set = &found["sets"][0];
    assert_eq!((set["name"].as_str(), set["plan"]["rounds"].as_u64()), (Some("artificial-1e4"), Some(50)));
    // Bounds are far above the actual differences, so practically all of them hold.
    let bounds = &set["summary"]["bounds"];
    assert_eq!(bounds["held"], bounds["statements"]);
    assert!(bounds["statements"].as_u64() > Some(10_000));
    let page = fs::read_to_string(out.join("index.html")).unwrap();
    let drawn = |folder: &str| fs::read_dir(out.join(folder)).unwrap().count();
    assert_eq!(drawn("figures"), page.matches("<figure ").count());
    // The paper's figures 3, 7 and 8, at the width of a printed column.
    assert_eq!(drawn("print"), 3);
    let claims = found["claims"].as_array().unwrap();
    assert!(claims.len() >= 30 && claims.iter().any(|claim| claim["verdict"] == "holds"));
    let runs = &set["summary"]["outcomes"]["runs"];
    let n: u64 = ["better", "equal", "worse"].iter().map(|outcome| runs[outcome].as_u64().unwrap()).sum();
    assert_eq!(n, 3 * 5);

    // A stored start is not run again; a missing one is reproduced exactly.
    let start = |number: u32| out.join(format!("starts/artificial-1e4/start-0{number}.json"));
    let likelihoods = |number: u32| json(&fs::read_to_string(start(number)).unwrap())["start"]["sem"].clone();
    let (kept, second) = (fs::metadata(start(1)).unwrap().modified().unwrap(), likelihoods(2));
    fs::remove_file(start(2)).unwrap();
    succeed(folder.path(), SMALL);
    assert_eq!(fs::metadata(start(1)).unwrap().modified().unwrap(), kept);
    assert_eq!(likelihoods(2), second);

    // Starts of another build or class of machine are not mixed in.
    let text = fs::read_to_string(start(1)).unwrap();
    let engine = json(&text)["build"]["engine"].as_str().unwrap().to_owned();
    fs::write(start(1), text.replace(&engine, "0123456789abcdef")).unwrap();
    let ran = succeed(folder.path(), SMALL);
    assert!(ran.stderr.contains("1 kept start of another plan, build or machine: run again"), "{}", ran.stderr);
    assert_eq!(json(&fs::read_to_string(start(1)).unwrap())["build"]["engine"].as_str(), Some(engine.as_str()));
}

#[test]
fn what_is_missing_is_said() {
    let folder = folder();
    // Everything that can be run is run; it fails only if that is nothing.
    let ran = succeed(folder.path(), &format!("{SMALL} --only covertype --data nowhere"));
    assert!(ran.stderr.contains("no covertype.parquet in nowhere; run data/get to download it"), "{}", ran.stderr);
    let ran = run(folder.path(), "paper --only covertype --data nowhere --output none");
    assert_eq!(ran.code, 1, "{}", ran.stdout);
    assert!(
        ran.stderr.contains("no covertype.parquet in nowhere") && ran.stderr.contains("hint: run data/get"),
        "{}",
        ran.stderr
    );
    let ran = run(folder.path(), "paper --only everything --output out");
    assert_eq!(ran.code, 2);
}
