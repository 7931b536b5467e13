//! Checks bad input: an error with location and hint, exit code 1 or 2, no partial output, no panic.

use std::fs;

use crate::{folder, run, run_with_input, succeed};

/// Runs in a folder with some files; asserts the exit code, parts of the message, and that there are
/// no new files in the folder afterwards.
#[track_caller]
pub(crate) fn refused(files: &[(&str, &str)], line: &str, code: i32, parts: &[&str]) {
    let folder = folder();
    for (name, contents) in files {
        fs::write(folder.path().join(name), contents).unwrap();
    }
    let ran = run(folder.path(), line);
    assert_eq!(ran.code, code, "mixtura {line}\n{}", ran.stderr);
    assert_eq!(ran.stdout, "");
    assert!(ran.stderr.starts_with("error: "), "{}", ran.stderr);
    assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
    for part in parts {
        assert!(ran.stderr.contains(part), "{part:?} is not in\n{}", ran.stderr);
    }
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), files.len(), "{left:?}");
}

const FIT: &str = "fit d.csv -k 1 -o m.json";

#[test]
fn bad_cells_are_refused_with_their_place() {
    let cases = [
        ("x,y\n1,2\n3,nan\n", "d.csv: row 2, line 3, column \"y\": value nan is not finite"),
        ("x,y\n1,2\n-inf,4\n", "row 2, line 3, column \"x\": value -inf is not finite"),
        ("x,y\n1,2\n3,\n", "row 2, line 3, column \"y\": empty cell"),
        ("x,y\n1,2\n3,abc\n", "row 2, line 3, column \"y\": value \"abc\" is not a number"),
        ("x,y\n1,2\n3\n", "row 2, line 3: 1 value, expected 2"),
        ("x,y\n1,2\n3,1e999\n", "row 2, line 3, column \"y\": value 1e999 is too large"),
        ("", "d.csv: the file is empty"),
        ("x,y\n", "d.csv: no data rows"),
    ];
    for (contents, message) in cases {
        refused(&[("d.csv", contents)], FIT, 1, &[message]);
    }
}

#[test]
fn bad_numbers_of_components_are_refused() {
    let data = [("d.csv", "x\n1\n1\n2\n")];
    refused(&data, "fit d.csv -k 0 -o m.json", 2, &["must be at least 1"]);
    refused(&data, "fit d.csv -k -3 -o m.json", 2, &[]);
    refused(&data, "fit d.csv -o m.json", 2, &["-k"]);
    refused(
        &data,
        "fit d.csv -k 3 -o m.json",
        1,
        &["3 components require as many distinct rows, but there are only 2", "hint: "],
    );
}

#[test]
fn bad_weights_are_refused() {
    let fit = "fit d.csv -k 1 --weights w -o m.json";
    refused(&[("d.csv", "x,w\n1,1\n2,-1\n")], fit, 1, &["row 2", "-1"]);
    refused(&[("d.csv", "x,w\n1,1\n2,inf\n")], fit, 1, &["row 2", "inf"]);
    refused(&[("d.csv", "x,w\n1,0\n2,0\n")], fit, 1, &["all row weights are zero"]);
    refused(&[("d.csv", "x,v\n1,0\n2,0\n")], fit, 1, &["no column \"w\"", "hint: "]);
}

#[test]
fn bad_options_are_refused() {
    let data = [("d.csv", "x\n1\n2\n4\n")];
    for option in [
        "--tolerance -1",
        "--tolerance nan",
        "--regularization -1e-9",
        "--ridge inf",
        "--rounds -1",
        "--rounds x",
        "--threads 0",
        "--restarts 0",
        "--algorithm magic",
        "--covariance round",
        "--seed -1",
        "--algorithm em --guard",
        "--algorithm sem --accelerate",
        "--algorithm cem --accelerate",
        "--algorithm saem --accelerate",
        "--result median",
        "--no-such-option",
    ] {
        refused(&data, &format!("fit d.csv -k 1 -o m.json {option}"), 2, &[]);
    }
    refused(&[], "generate -d 0 -k 1 -n 1 -o d.csv", 2, &["must be at least 1"]);
    refused(&[], "generate -d 1 -k 1 -n 1 --separation -2 -o d.csv", 2, &["at least 0"]);
}

const MODEL: &str = r#"{"weights":[0.5,0.5],"means":[[0.0],[4.0]],"covariances":[[[1.0]],[[1.0]]]}"#;

#[test]
fn bad_models_are_refused() {
    let data = ("d.csv", "x,y\n1,2\n2,3\n4,5\n");
    let cases = [
        (MODEL.replace("0.5,0.5", "0.5,0.4"), "sum to 1: their sum is 0.9"),
        (MODEL.replace("0.5,0.5", "1.5,-0.5"), "the weight of component 1 is -0.5"),
        (MODEL.replace("[[[1.0]]", "[[[-1.0]]"), "component 0: covariance not positive definite at pivot 1"),
        (MODEL[..30].to_owned(), "not a valid model file"),
        ("not json".to_owned(), "not a valid model file"),
        (MODEL.replacen('{', r#"{"version":7,"#, 1), "version 7"),
        (MODEL.to_owned(), "the model has 1 columns, but the data have 2"),
    ];
    for (model, message) in &cases {
        let files = [data, ("m.json", model.as_str())];
        refused(&files, "score m.json d.csv", 1, &[message]);
        refused(&files, "predict m.json d.csv -o labels.csv", 1, &[message]);
        refused(&files, "fit d.csv -k 2 --init-model m.json -o out.json", 1, &[message]);
    }
    refused(
        &[("m.json", MODEL), ("d.csv", "x\n1\n2\n4\n7\n")],
        "fit d.csv -k 3 --init-model m.json -o o.json",
        2,
        &["has 2 components, but -k is 3"],
    );
    let infinite = MODEL.replace("4.0", "1e999");
    refused(&[("m.json", &infinite)], "sample m.json -n 3 -o s.csv", 1, &["m.json"]);
}

#[test]
fn bad_files_are_refused() {
    refused(&[], "fit nowhere.csv -k 1 -o m.json", 1, &["nowhere.csv", "No such file"]);
    refused(&[("d.xlsx", "PK\u{3}\u{4}")], "fit d.xlsx -k 1 -o m.json", 1, &["a zip archive, such as .xlsx", "hint: "]);
    for name in ["d.parquet", "d.arrow", "d.npy", "d.csv.gz"] {
        refused(&[(name, "this is something else")], &format!("fit {name} -k 1 -o m.json"), 1, &[name]);
        refused(&[(name, "")], &format!("fit {name} -k 1 -o m.json"), 1, &[name]);
    }
    // A header that claims far more than the file contains.
    let folder = folder();
    let header = "{'descr': '<f8', 'fortran_order': False, 'shape': (100000000000, 1000), }            \n";
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    fs::write(folder.path().join("lying.npy"), bytes).unwrap();
    let ran = run(folder.path(), "fit lying.npy -k 1 -o m.json");
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("lying.npy"), "{}", ran.stderr);
}

#[test]
fn truncated_files_are_refused() {
    let folder = folder();
    succeed(folder.path(), "generate -d 3 -k 2 -n 2000 -o d.parquet");
    succeed(folder.path(), "generate -d 3 -k 2 -n 2000 -o d.arrow");
    succeed(folder.path(), "generate -d 3 -k 2 -n 2000 -o d.npy");
    for name in ["d.parquet", "d.arrow", "d.npy"] {
        let bytes = fs::read(folder.path().join(name)).unwrap();
        for share in [0.001, 0.3, 0.5, 0.999] {
            let cut = format!("cut-{name}");
            fs::write(folder.path().join(&cut), &bytes[..(bytes.len() as f64 * share) as usize]).unwrap();
            let ran = run(folder.path(), &format!("fit {cut} -k 1 -o m.json"));
            assert_eq!(ran.code, 1, "{name} {share}");
            assert!(ran.stderr.starts_with(&format!("error: {cut}")), "{}", ran.stderr);
            assert!(!folder.path().join("m.json").exists());
        }
    }
}

#[test]
fn bad_outputs_are_refused_before_any_work() {
    let data = [("d.csv", "x\n1\n2\n4\n")];
    refused(&data, "fit d.csv -k 1 -o nowhere/m.json", 1, &["nowhere", "does not exist"]);
    refused(&data, "fit d.csv -k 1 -o d.csv", 2, &["output and input are the same file"]);
    refused(&data, "fit d.csv -k 1 -o ./d.csv", 2, &["output and input are the same file"]);
    refused(&data, "fit d.csv -k 1 -o m.json --trace m.json", 2, &["two outputs go to the same file"]);
    refused(&data, "generate -d 1 -k 1 -n 1 -o d.txt", 1, &["unknown extension \".txt\""]);
    let both = [("d.csv", "x\n1\n2\n"), ("m.json", MODEL)];
    refused(&both, "predict m.json d.csv -o m.json", 2, &["output and input are the same file"]);
}

/// Files, a command line, the exit code, a part of the message and one of the hint.
type Case<'a> = (&'a [(&'a str, &'a str)], &'a str, i32, &'a str, &'a str);

#[test]
fn every_refusal_says_what_to_do() {
    let data = ("d.csv", "x,y\n1,2\n2,3\n4,5\n7,1\n");
    let one_column = ("e.csv", "x\n1\n2\n4\n7\n");
    let model = ("m.json", MODEL);
    let named = MODEL.replacen('{', r#"{"columns":["z"],"#, 1);
    let cases: [Case<'_>; 15] = [
        (&[], "fit nowhere.csv -k 1", 1, "nowhere.csv", "check the path"),
        (&[data], "predict nowhere.json d.csv", 1, "nowhere.json", "check the path"),
        (&[], "fit . -k 1", 1, ".: is a folder, not a file", "give the path of a file"),
        (&[data], "fit d.csv -k 1 -o d.csv", 2, "are the same file", "choose another file for the output (-o)"),
        (
            &[one_column, model],
            "fit e.csv -k 3 --init-model m.json",
            2,
            "has 2 components, but -k is 3",
            "leave out -k",
        ),
        (
            &[one_column, model],
            "fit e.csv --init-model m.json --covariance diagonal",
            2,
            "the initial model has full covariances, but --covariance diagonal was given",
            "leave out --covariance",
        ),
        (
            &[one_column, model],
            "fit e.csv --init-model m.json --family poisson",
            2,
            "the initial model is of the family gaussian, but --family poisson was given",
            "leave out --family",
        ),
        (&[data], "fit d.csv -k 3 --labels x", 2, "column x has 4 distinct labels, but -k is 3", "use -k 4, or choose"),
        (
            &[data],
            "fit d.csv -k 1 --guard --algorithm em",
            2,
            "--guard requires",
            "leave out --guard, or use --algorithm auto",
        ),
        (&[data], "fit d.csv -k 5", 1, "there are only 4", "use a -k of at most 4; identical rows count once"),
        (&[data], "fit d.csv -k 1 --exclude *", 1, "all columns were excluded", "exclude fewer columns"),
        (&[data], "fit d.csv -k 1 --columns 7", 1, "no column \"7\"", "positions go from 1 to 2"),
        (
            &[one_column, model],
            "predict e.csv m.json",
            1,
            "e.csv: not a valid model file",
            "the model comes first: m.json e.csv",
        ),
        (
            &[one_column, ("n.json", &named)],
            "predict n.json e.csv",
            1,
            "no column \"z\", which the model needs",
            "the columns are x",
        ),
        (
            &[("w.csv", "x,w\n1,1\n2,-1\n")],
            "fit w.csv -k 1 --weights w",
            1,
            "weight -1 is negative",
            "a weight says how many times a row counts",
        ),
    ];
    for (files, line, code, message, hint) in cases {
        refused(files, line, code, &[message, &format!("hint: {hint}")]);
    }
}

#[test]
fn numbers_below_the_least_are_answered_in_words() {
    let data = [("d.csv", "x\n1\n2\n4\n")];
    refused(&data, "fit d.csv -k 1 --rounds -5", 2, &["is not an integer of at least 0"]);
    refused(&data, "fit d.csv -k 1 --seed -5", 2, &["is not an integer of at least 0"]);
}

#[test]
fn a_file_without_a_subcommand_is_answered_with_fit() {
    refused(&[("d.csv", "x\n1\n")], "d.csv", 2, &["use 'mixtura fit d.csv -k K'"]);
}

#[test]
fn a_value_that_is_not_a_count_is_reported_with_its_column_and_its_row_in_the_file() {
    let data = [("d.csv", "x,y\n1,\n2,3\n4,0.5\n7,1\n")];
    let line = "fit d.csv -k 1 --family poisson --missing skip -q";
    refused(&data, line, 1, &["d.csv: row 3, column \"y\": value 0.5 is not", "hint: leave out that column"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    if !std::path::Path::new("/dev/full").exists() {
        eprintln!("skipped: this system has no /dev/full");
        return;
    }
    let folder = folder();
    fs::write(folder.path().join("m.json"), MODEL).unwrap();
    let line = format!("{} sample m.json -n 100000 > /dev/full", env!("CARGO_BIN_EXE_mixtura"));
    let output = std::process::Command::new("bash").args(["-c", &line]).current_dir(folder.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("No space left on device"));
}

#[test]
fn odd_but_workable_data_is_allowed_with_a_notice() {
    let folder = folder();
    fs::write(folder.path().join("d.csv"), "x,y\n1,7\n2,7\n4,7\n5,7\n").unwrap();
    let ran = succeed(folder.path(), "fit d.csv -k 2 -o m.json");
    assert!(ran.stderr.contains("note: column y is constant (7)"), "{}", ran.stderr);
    fs::write(folder.path().join("e.csv"), "x\n3\n3\n3\n").unwrap();
    let ran = succeed(folder.path(), "fit e.csv -k 1 -o m.json");
    assert!(ran.stderr.contains("note: column x is constant (3)"), "{}", ran.stderr);
    let ran = run_with_input(folder.path(), "fit - -k 1 -o m.json", "1,2\n3,4\n5,7\n");
    assert_eq!(ran.code, 0);
    assert!(ran.stderr.contains("--no-header"), "{}", ran.stderr);
}

#[test]
fn text_under_another_extension_was_called_damaged() {
    let text = "x,y\n1,2\n3,4\n7,5\n";
    for (name, promised) in [("d.parquet", "Parquet"), ("d.arrow", "Arrow"), ("d.feather", "Arrow"), ("d.npy", "NPY")] {
        let message = format!("{name}: the file is text, not {promised} as its extension says");
        let hint = "hint: rename it to .csv if it is a table";
        refused(&[(name, text)], &format!("fit {name} -k 1 -o m.json"), 1, &[&message, hint]);
    }
    for name in ["d.csv.gz", "d.tsv.zst"] {
        let message = format!("{name}: the file is text, not compressed as its extension says");
        let hint = "hint: rename it without .gz or .zst";
        refused(&[(name, text)], &format!("fit {name} -k 1 -o m.json"), 1, &[&message, hint]);
    }
}

#[test]
fn plain_json_was_written_under_a_compressed_name() {
    let data = [("d.csv", "x\n1\n2\n4\n")];
    let cases = [
        ("fit d.csv -k 1 -o m.json.gz", "m.json"),
        ("fit d.csv -k 1 -o m.json --trace t.txt.zst", "t.txt"),
        ("generate -d 1 -k 1 -n 1 -o g.csv --model g.json.gz", "g.json"),
        ("generate -d 1 -k 1 -n 1 -o g.parquet.gz", "g.parquet"),
    ];
    for (line, plain) in cases {
        let hint = format!("hint: write {plain} and compress it afterwards");
        refused(&data, line, 2, &["only CSV tables can be written compressed", &hint]);
    }
    succeed(folder().path(), "generate -d 1 -k 1 -n 1 -o g.csv.gz");
}

#[test]
fn a_backward_range_matched_no_column() {
    let data = [("d.csv", "x1,x2,x3\n1,2,3\n")];
    refused(&data, "fit d.csv -k 1 --columns x3..x1", 1, &["the range \"x3..x1\" is backwards", "hint: use x1..x3"]);
}

#[test]
fn a_model_in_place_of_data_was_read_as_text() {
    let hint = "hint: give the file with the data; mixtura show m.json prints the model";
    for line in ["fit m.json -k 2", "score m.json m.json", "compare m.json -k 2"] {
        refused(&[("m.json", MODEL)], line, 1, &["m.json: this is a model file, not a table of data", hint]);
    }
}

#[test]
fn a_model_without_its_option_is_answered_with_the_option() {
    refused(&[], "bounds points.csv model.json", 2, &["use '--model model.json'"]);
}

#[test]
fn a_mistyped_subcommand_is_answered_with_the_nearest() {
    refused(&[], "fti d.csv -k 3", 2, &["a similar subcommand exists: 'fit'"]);
    refused(&[], "bonuds d.csv", 2, &["a similar subcommand exists: 'bounds'"]);
}

#[test]
fn measurements_as_labels_are_not_answered_with_a_huge_number_of_components() {
    let rows: Vec<String> = (0..500).map(|row| format!("{},{row}.5\n", row % 7)).collect();
    let data = [("d.csv", &*format!("x,y\n{}", rows.concat()))];
    let message = "column y has 500 distinct values in 500 rows: it looks like measurements";
    refused(&data, "fit d.csv -k 3 --labels y", 2, &[message, "hint: choose a column that names the group"]);
}

#[test]
fn weights_that_a_pattern_selected_were_fitted_in_silence() {
    let folder = folder();
    fs::write(folder.path().join("d.csv"), "x1,w\n1,1\n2,1\n4,2\n").unwrap();
    let ran = succeed(folder.path(), "fit d.csv -k 1 --weights w --columns x*,w -o m.json");
    let note = "column \"w\" is used both as row weights and as data; leave it out with --exclude w";
    assert!(ran.stderr.contains(note), "{}", ran.stderr);
    let ran = succeed(folder.path(), "fit d.csv -k 1 --weights w -o m.json");
    assert!(!ran.stderr.contains("used both"), "{}", ran.stderr);
}

#[cfg(target_os = "linux")]
#[test]
fn write_errors_named_temporary_files_and_gave_no_hint() {
    // Nobody may create files there, not even the superuser.
    let folder = std::path::Path::new("/sys/kernel");
    if !folder.is_dir() || fs::write(folder.join("mixtura-test"), "").is_ok() {
        eprintln!("skipped: this system has no folder without permission");
        return;
    }
    let ran = run(folder, "generate -d 1 -k 1 -n 1 -o g.csv");
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.starts_with("error: g.csv: cannot write: Permission denied"), "{}", ran.stderr);
    assert!(!ran.stderr.contains(".mixtura-") && ran.stderr.contains("hint: choose a folder"), "{}", ran.stderr);
}
