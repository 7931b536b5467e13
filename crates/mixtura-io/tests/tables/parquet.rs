//! Checks Parquet files written by pyarrow (with `data/make.py`).

use mixtura_io::ReadOptions;

use crate::fixture::{Folder, all_rows, columns, read_path, shipped, strings};

fn message(name: &str, options: &ReadOptions) -> (String, Option<String>) {
    let path = shipped(name);
    let error = read_path(&path, options).unwrap_err();
    let folder = format!("{}/", path.parent().unwrap().display());
    (error.to_string().replace(&folder, ""), error.hint())
}

#[test]
fn every_type_of_number_is_read() {
    let names = ["f16", "f32", "f64", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "flag", "price"];
    let table = read_path(&shipped("types.parquet"), &columns(&names)).unwrap();
    assert_eq!(table.rows.names(), names);
    for (row, values) in all_rows(&table).into_iter().enumerate() {
        let i = row as f64;
        let expected = [
            i / 4.0,
            f64::from((i / 3.0) as f32),
            i / 3.0,
            -i,
            -i * 1000.0,
            -i * 100_000.0,
            -i * 2f64.powi(40),
            i * 50.0,
            i * 10_000.0,
            i * 1e9,
            i * 2f64.powi(50),
            if row % 2 == 0 { 1.0 } else { 0.0 },
            i / 10.0,
        ];
        assert_eq!(values, expected);
    }
}

#[test]
fn single_precision_is_read_as_it_is() {
    let table = read_path(&shipped("single.parquet"), &ReadOptions::default()).unwrap();
    assert_eq!(all_rows(&table), [[0.5, 1.0], [1.5, 2.0], [2.5, 3.0]]);
    assert_eq!(table.rows.names(), ["x", "y"]);
}

#[test]
fn labels_may_be_text_or_numbers() {
    for (name, labels, values) in [
        ("text", [1, 0, 1, 2, 0], strings(&["a", "b", "c"])),
        ("category", [1, 0, 1, 0, 1], strings(&["x", "y"])),
        ("flag", [1, 0, 1, 0, 1], strings(&["0", "1"])),
        ("i8", [4, 3, 2, 1, 0], strings(&["-4", "-3", "-2", "-1", "0"])),
    ] {
        let options = ReadOptions { labels: Some(name.into()), weights: Some("u8".into()), ..columns(&["f64"]) };
        let table = read_path(&shipped("types.parquet"), &options).unwrap();
        assert_eq!(table.rows.labels(), Some(&labels[..]), "{name}");
        assert_eq!(table.labels.unwrap().values, values);
        assert_eq!(table.rows.weights(), Some(&[0.0, 50.0, 100.0, 150.0, 200.0][..]));
    }
    let options = ReadOptions { labels: Some("time".into()), ..columns(&["f64"]) };
    let (words, _) = message("types.parquet", &options);
    assert_eq!(words, "types.parquet: column \"time\" has type Timestamp(µs), which is not numeric");
}

#[test]
fn columns_without_numbers_are_never_dropped_in_silence() {
    let hint =
        "select numeric columns with --columns: f16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64, flag and 1 more";
    let words = "types.parquet: column \"text\" has type Utf8, which is not numeric";
    let strict = ReadOptions { strict: true, ..ReadOptions::default() };
    assert_eq!(message("types.parquet", &strict), (words.to_owned(), Some(hint.to_owned())));
    let table = read_path(&shipped("types.parquet"), &ReadOptions::default()).unwrap();
    assert!(table.notices[0].ends_with(": left out 4 non-numeric columns: text, category, time, list"));
    assert_eq!(message("types.parquet", &columns(&["f64", "text"])).0, words);
    let options = ReadOptions { weights: Some("text".into()), ..columns(&["f64"]) };
    assert_eq!(message("types.parquet", &options).0, words);
    let (words, _) = message("types.parquet", &columns(&["list"]));
    assert!(words.starts_with("types.parquet: column \"list\" has type List("), "{words}");
}

#[test]
fn bad_cells_are_refused_with_their_place() {
    let message = |names: &[&str]| message("holes.parquet", &columns(names)).0;
    assert_eq!(message(&["x", "y"]), "holes.parquet: row 3, column \"y\": empty cell");
    assert_eq!(message(&["x", "z"]), "holes.parquet: row 2, column \"z\": value NaN is not finite");
    assert_eq!(
        message(&["x", "id"]),
        "holes.parquet: row 4, column \"id\": integer 9007199254740993 cannot be represented exactly in double precision"
    );
    assert_eq!(message(&["q"]), "holes.parquet: no column \"q\"");
    let options = ReadOptions { weights: Some("z".into()), ..columns(&["x"]) };
    assert_eq!(
        self::message("holes.parquet", &options).0,
        "holes.parquet: row 2, column \"z\": value NaN is not finite"
    );
}

#[test]
fn nothing_to_read_is_refused() {
    assert_eq!(message("norows.parquet", &ReadOptions::default()).0, "norows.parquet: no data rows");
    let folder = Folder::new();
    let error = read_path(&folder.write("a.parquet", ""), &ReadOptions::default()).unwrap_err();
    assert_eq!(folder.message(&error), "a.parquet: the file is empty");
    let error = read_path(&folder.write("a.parquet", "x,y\n1,2\n"), &ReadOptions::default()).unwrap_err();
    assert_eq!(folder.message(&error), "a.parquet: the file is text, not Parquet as its extension says");
    let error = read_path(&folder.write("a.parquet", b"\0\x01\x02\x03"), &ReadOptions::default()).unwrap_err();
    assert!(folder.message(&error).starts_with("a.parquet: not a valid Parquet file: "));
}
