//! Checks usability: option names of other programs, columns, missing values, tables, progress.

use std::fs;

use crate::{folder, json, run, run_with_input, succeed};

const SMALL: &str = "generate -d 2 -k 2 -n 600 --separation 3 --seed 5 -o d.csv --model true.json";

#[test]
fn words_from_other_programs_are_answered_with_the_right_option() {
    let folder = folder();
    for (line, ours) in [
        ("fit d.csv -k 2 --n-init 5", "--restarts R"),
        ("fit d.csv -k 2 --max-iter 5", "--rounds N"),
        ("fit d.csv --n-components 5", "-k K"),
        ("fit d.csv -k 2 --tol 1e-3", "--tolerance T"),
        ("fit d.csv -k 2 --reg-covar 1e-6", "--ridge R"),
        ("fit d.csv -k 2 --sep ;", "--delimiter CHARACTER"),
        ("fit d.csv G=4", "-k 4"),
        ("fit d.csv -k 2 --random_state 3", "--seed S"),
        ("score m.json d.csv --sep ;", "--delimiter CHARACTER"),
    ] {
        let ran = run(folder.path(), line);
        assert_eq!(ran.code, 2, "{line}");
        assert!(ran.stderr.contains(&format!("use '{ours}'")), "{line}: {}", ran.stderr);
    }
    // An option that the subcommand does not have is not offered.
    assert!(!run(folder.path(), "show m.json --max-iter 3").stderr.contains("--rounds"));
}

#[test]
fn every_help_has_an_example_and_the_options_of_everywhere() {
    let folder = folder();
    let help = succeed(folder.path(), "--help").stdout;
    let commands = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let names: Vec<&str> =
        commands.lines().filter_map(|line| line.strip_prefix("  ")).filter(|line| !line.starts_with(' ')).collect();
    assert!(names.len() >= 11, "{help}");
    for name in names.iter().map(|line| line.split(' ').next().unwrap()).filter(|name| *name != "help") {
        let help = succeed(folder.path(), &format!("{name} --help")).stdout;
        for part in ["Examples:", "--threads", "--quiet", &format!("mixtura {name}")] {
            assert!(help.contains(part), "{name}: {part}");
        }
    }
}

#[test]
fn the_number_of_components_comes_from_the_initial_model() {
    let folder = folder();
    succeed(folder.path(), SMALL);
    let with = succeed(folder.path(), "fit d.csv -k 2 --init-model true.json -q").stdout;
    assert_eq!(succeed(folder.path(), "fit d.csv --init-model true.json -q").stdout, with);
    assert_eq!(run(folder.path(), "fit d.csv").code, 2);
}

#[test]
fn fit_and_show_report_rows_parameters_and_bic() {
    let folder = folder();
    succeed(folder.path(), SMALL);
    succeed(folder.path(), "fit d.csv -k 2 -o m.json");
    let model = json(&fs::read_to_string(folder.path().join("m.json")).unwrap());
    let score = json(&succeed(folder.path(), "score m.json d.csv").stdout);
    let fit = &model["fit"];
    assert_eq!((fit["rows"].as_u64(), fit["free_parameters"].as_u64()), (Some(600), Some(11)));
    for criterion in ["aic", "bic"] {
        let [kept, scored] = [fit, &score].map(|of| of[criterion].as_f64().unwrap());
        assert!((kept - scored).abs() < 1e-9 * scored.abs(), "{criterion}: {kept} {scored}");
    }
    let shown = succeed(folder.path(), "show m.json").stdout;
    assert!(shown.contains("600 rows, 11 free parameters, BIC "), "{shown}");
}

#[test]
fn wide_models_are_shown_with_columns_as_rows() {
    let folder = folder();
    succeed(folder.path(), "generate -d 27 -k 3 -n 100 -o d.csv --model m.json");
    let shown = succeed(folder.path(), "show m.json").stdout;
    for part in ["component 0", "component 2", "x1 ", "x27 "] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(shown.lines().all(|line| line.chars().count() <= 100), "{shown}");
    let picked = succeed(folder.path(), "show m.json --columns x2..x4,x2?,9").stdout;
    assert!(picked.contains("x3") && picked.contains("x27") && !picked.contains("x12"), "{picked}");
    assert_eq!(run(folder.path(), "show m.json --columns y*").code, 1);
    let matrices = succeed(folder.path(), "show m.json --covariances").stdout;
    assert!(matrices.lines().all(|line| line.chars().count() <= 100), "{matrices}");
}

#[test]
fn sorting_renumbers_the_events_of_components() {
    let folder = folder();
    // The light component consists of repeated rows, so its variance is held at the floor.
    let value = |i: i32| if i < 12 { 50.0 } else { f64::from(i * 37 % 48) / 9.0 };
    let rows: Vec<String> = (0..60).map(|i| value(i).to_string()).collect();
    fs::write(folder.path().join("d.csv"), format!("x\n{}\n", rows.join("\n"))).unwrap();
    let fit = |options: &str| {
        let model = json(&succeed(folder.path(), &format!("fit d.csv -k 2 --algorithm em -q {options}")).stdout);
        let component = model["fit"]["events"].as_array().unwrap().iter().find_map(|event| event["component"].as_u64());
        (model["weights"].clone(), model["means"].clone(), component.unwrap() as usize)
    };
    let ((_, means, told), (weights, sorted, told_sorted)) = (fit(""), fit("--sort"));
    assert!(weights[0].as_f64() > weights[1].as_f64());
    assert_eq!(means[told], sorted[told_sorted]);
    assert_eq!(told_sorted, 1);
}

#[test]
fn columns_without_numbers_are_left_out_and_said() {
    let folder = folder();
    let text = "name,x,date,y\nann,1,2026-01-01,2\nbob,2,2026-01-02,7\ncid,4,2026-01-03,5\ndee,9,2026-01-04,1\n";
    fs::write(folder.path().join("d.csv"), text).unwrap();
    let ran = succeed(folder.path(), "fit d.csv -k 1 -o m.json");
    assert!(ran.stderr.contains("name") && ran.stderr.contains("date"), "{}", ran.stderr);
    let model = json(&fs::read_to_string(folder.path().join("m.json")).unwrap());
    assert_eq!(model["columns"], json(r#"["x", "y"]"#));
    assert_eq!(run(folder.path(), "fit d.csv -k 1 --strict").code, 1);
    let model = json(&succeed(folder.path(), "fit d.csv -k 1 --exclude x -q").stdout);
    assert_eq!(model["columns"], json(r#"["y"]"#));
}

#[test]
fn rows_with_missing_cells_get_empty_labels() {
    let folder = folder();
    succeed(folder.path(), SMALL);
    let text = "x1,x2\n1,2\n,3\n4,NA\n5,6\n";
    fs::write(folder.path().join("holes.csv"), text).unwrap();
    let ran = run(folder.path(), "predict true.json holes.csv");
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("--missing skip"), "{}", ran.stderr);
    let ran = succeed(folder.path(), "predict true.json holes.csv --missing skip");
    let labels: Vec<&str> = ran.stdout.lines().collect();
    // Quoted, because readers skip blank lines.
    assert_eq!((labels.len(), labels[2], labels[3]), (5, "\"\"", "\"\""), "{labels:?}");
    assert!(ran.stderr.contains("2 of 4 rows"), "{}", ran.stderr);
    let whole = run_with_input(folder.path(), "predict true.json -", "x1,x2\n1,2\n5,6\n").stdout;
    assert_eq!([labels[0], labels[1], labels[4]], whole.lines().collect::<Vec<_>>()[..]);
    let proba = succeed(folder.path(), "predict true.json holes.csv --missing skip --proba").stdout;
    assert_eq!(proba.lines().nth(2), Some(","));
    let fitted = json(&succeed(folder.path(), "fit holes.csv -k 1 --missing skip -q").stdout);
    assert_eq!(fitted["fit"]["rows"].as_u64(), Some(2));
}

#[test]
fn predict_keeps_the_columns_of_the_data() {
    let folder = folder();
    succeed(folder.path(), SMALL);
    let text = "id,x2,note,x1\n007,1.50,\"a, b\",-2\n008,2,plain,3.0\n";
    fs::write(folder.path().join("k.csv"), text).unwrap();
    let kept = succeed(folder.path(), "predict true.json k.csv --keep -q").stdout;
    let lines: Vec<&str> = kept.lines().collect();
    assert_eq!(lines[0], "id,x2,note,x1,label,probability,log_density");
    assert!(lines[1].starts_with("007,1.50,\"a, b\",-2,"), "{kept}");
    let density = succeed(folder.path(), "score true.json k.csv --per-row -q").stdout;
    let log_density = density.lines().nth(1).unwrap().split(',').next().unwrap();
    assert_eq!(lines[1].rsplit(',').next().unwrap(), log_density);
    let labels = succeed(folder.path(), "predict true.json k.csv -q").stdout;
    assert_eq!(lines[1].rsplit(',').nth(2).unwrap(), labels.lines().nth(1).unwrap());
    for format in ["parquet", "arrow", "csv.gz", "csv.zst"] {
        succeed(folder.path(), &format!("predict true.json k.csv --keep -q -o kept.{format}"));
        // The output can be read and scored again.
        let again = succeed(folder.path(), &format!("score true.json kept.{format} --per-row -q")).stdout;
        assert_eq!(again, density, "{format}");
    }
    let piped = run_with_input(folder.path(), "predict true.json - --keep -q", text);
    assert_eq!(piped.stdout, kept, "{}", piped.stderr);
}

#[test]
fn a_tail_probability_says_how_unusual_a_row_is() {
    let folder = folder();
    let model = r#"{"weights":[1.0],"means":[[0.0]],"covariances":[[[1.0]]]}"#;
    fs::write(folder.path().join("m.json"), model).unwrap();
    let ran = run_with_input(folder.path(), "score m.json - --per-row", "x\n0\n1.959964\n-1.959964\n50\n");
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(lines[0], "log_density,tail_probability", "{}", ran.stderr);
    let tails: Vec<f64> = lines[1..].iter().map(|line| line.split(',').nth(1).unwrap().parse().unwrap()).collect();
    // Of 10^5 standard normal draws: five standard errors of a share of 0.05 are 0.0035.
    assert!((tails[1] - 0.05).abs() < 0.0035 && tails[1] == tails[2], "{tails:?}");
    assert!(tails[0] > 0.999 && tails[3] == 0.0, "{tails:?}");
}
