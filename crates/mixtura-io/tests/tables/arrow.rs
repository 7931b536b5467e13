//! Checks Arrow files and streams written by pyarrow (with `data/make.py`), and batches of any size.

use std::path::Path;
use std::sync::Arc;

use arrow_array::types::Int8Type;
use arrow_array::{
    Array, ArrayRef, BooleanArray, DictionaryArray, Float32Array, Float64Array, Int16Array, RecordBatch,
};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use mixtura_io::{ReadOptions, TableColumns, TableWriter};

use crate::fixture::{Folder, all_rows, columns, read_path, refusal, shipped, strings};

/// The same table in batches with zstd, in one uncompressed batch, and as a stream with lz4 and a
/// separate dictionary for each batch.
const TYPES: [&str; 3] = ["types.arrow", "plain.arrow", "types.arrows"];

const NUMBERS: [&str; 13] =
    ["f16", "f32", "f64", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "flag", "price"];

fn message(name: &str, options: &ReadOptions) -> (String, Option<String>) {
    let path = shipped(name);
    let error = read_path(&path, options).unwrap_err();
    let folder = format!("{}/", path.parent().unwrap().display());
    (error.to_string().replace(&folder, ""), error.hint())
}

#[test]
fn every_type_of_number_is_read_as_from_parquet() {
    let expected = all_rows(&read_path(&shipped("types.parquet"), &columns(&NUMBERS)).unwrap());
    for name in TYPES {
        let table = read_path(&shipped(name), &columns(&NUMBERS)).unwrap();
        assert_eq!(table.rows.names(), NUMBERS);
        assert_eq!(all_rows(&table), expected, "{name}");
        assert!(table.notices.is_empty());
    }
}

#[test]
fn types_that_parquet_does_not_have_are_read() {
    for name in TYPES {
        let table = read_path(&shipped(name), &columns(&["d32", "d64", "d256", "code", "code32"])).unwrap();
        let expected = [
            [0.0, 0.0, 0.0, 10.0, 0.5],
            [0.1, 0.1, 0.1, 20.0, 0.25],
            [0.2, 0.2, 0.2, 10.0, 0.5],
            [0.3, 0.3, 0.3, 30.0, 0.75],
            [0.4, 0.4, 0.4, 20.0, 0.25],
        ];
        assert_eq!(all_rows(&table), expected, "{name}");
    }
}

#[test]
fn single_precision_stays_single() {
    let is_single =
        |path: &Path, options: &ReadOptions| format!("{:?}", read_path(path, options).unwrap().rows).contains("F32");
    let table = read_path(&shipped("single.feather"), &ReadOptions::default()).unwrap();
    assert_eq!(all_rows(&table), [[0.5, 1.0], [1.5, 2.0], [2.5, 3.0]]);
    assert_eq!(table.rows.names(), ["x", "y"]);
    for (names, expected) in [(&["f32", "f16", "code32"][..], true), (&["f32", "f64"], false), (&["code"], false)] {
        assert_eq!(is_single(&shipped("types.arrow"), &columns(names)), expected, "{names:?}");
    }
}

#[test]
fn labels_may_be_text_or_numbers() {
    for (name, labels, values) in [
        ("text", [1, 0, 1, 2, 0], strings(&["a", "b", "c"])),
        ("large", [1, 0, 1, 2, 0], strings(&["a", "b", "c"])),
        ("view", [2, 0, 2, 1, 0], strings(&["a", "a name longer than others", "b"])),
        ("category", [1, 0, 1, 0, 1], strings(&["x", "y"])),
        ("code", [0, 1, 0, 2, 1], strings(&["10", "20", "30"])),
        ("flag", [1, 0, 1, 0, 1], strings(&["0", "1"])),
    ] {
        for file in TYPES {
            let options = ReadOptions { labels: Some(name.into()), weights: Some("u8".into()), ..columns(&["f64"]) };
            let table = read_path(&shipped(file), &options).unwrap();
            assert_eq!(table.rows.labels(), Some(&labels[..]), "{file} {name}");
            assert_eq!(table.labels.unwrap().values, values);
            assert_eq!(table.rows.weights(), Some(&[0.0, 50.0, 100.0, 150.0, 200.0][..]));
        }
    }
    for (name, kind) in [
        ("time", "Timestamp(µs)"),
        ("fixed", "FixedSizeBinary(3)"),
        ("nothing", "Null"),
        ("struct", "Struct("),
        ("runs", "RunEndEncoded("),
    ] {
        let options = ReadOptions { labels: Some(name.into()), ..columns(&["f64"]) };
        let (words, _) = message("plain.arrow", &options);
        assert!(words.starts_with(&format!("plain.arrow: column {name:?} has type {kind}")), "{words}");
        assert!(words.ends_with(", which is not numeric"), "{words}");
    }
}

#[test]
fn columns_without_numbers_are_never_dropped_in_silence() {
    for name in TYPES {
        let refuse = |options: &ReadOptions| message(name, options);
        let (words, hint) = refuse(&ReadOptions { strict: true, ..ReadOptions::default() });
        assert_eq!(words, format!("{name}: column \"nothing\" has type Null, which is not numeric"));
        let expected = "select numeric columns with --columns: d32, d64, d256, code, code32, f16, f32, f64, i8, i16, i32, i64 and 6 more";
        assert_eq!(hint.unwrap(), expected);
        let words = format!("{name}: column \"text\" has type Utf8, which is not numeric");
        assert_eq!(refuse(&columns(&["f64", "text"])).0, words);
        assert_eq!(refuse(&ReadOptions { weights: Some("text".into()), ..columns(&["f64"]) }).0, words);
        for (column, kind) in [
            ("category", "Dictionary(Int32, Utf8)"),
            ("struct", "Struct("),
            ("runs", "RunEndEncoded("),
            ("dense", "Union("),
            ("list", "List("),
            ("time", "Timestamp(µs)"),
        ] {
            let (words, _) = refuse(&columns(&[column]));
            assert!(words.starts_with(&format!("{name}: column {column:?} has type {kind}")), "{words}");
        }
    }
}

#[test]
fn columns_go_by_name_or_number() {
    let table = read_path(&shipped("holes.arrow"), &columns(&["1"])).unwrap();
    assert_eq!(all_rows(&table), [[1.0], [2.0], [3.0], [4.0]]);
    assert_eq!(table.rows.names(), ["x"]);
    assert_eq!(message("holes.arrow", &columns(&["q"])).0, "holes.arrow: no column \"q\"");
    assert_eq!(message("holes.arrow", &columns(&["x", "1"])).0, "holes.arrow: column \"x\" is selected twice");
}

#[test]
fn bad_cells_are_refused_with_their_place() {
    for name in ["holes.arrow", "packed.arrow"] {
        let message = |options: &ReadOptions| message(name, options).0;
        let words = |words: &str| format!("{name}: {words}");
        assert_eq!(message(&columns(&["x", "y"])), words("row 3, column \"y\": empty cell"));
        assert_eq!(message(&columns(&["x", "z"])), words("row 2, column \"z\": value NaN is not finite"));
        let inexact =
            "row 4, column \"id\": integer 9007199254740993 cannot be represented exactly in double precision";
        assert_eq!(message(&columns(&["x", "id"])), words(inexact));
        for column in ["y", "z"] {
            let options = ReadOptions { weights: Some(column.into()), ..columns(&["x"]) };
            assert!(message(&options).starts_with(&format!("{name}: row ")), "{column}");
        }
        let options = ReadOptions { labels: Some("y".into()), ..columns(&["x"]) };
        assert_eq!(message(&options), words("row 3, column \"y\": empty cell"));
    }
}

#[test]
fn nothing_to_read_is_refused() {
    let plain = ReadOptions::default();
    assert_eq!(message("norows.arrow", &plain).0, "norows.arrow: no data rows");
    for name in ["a.arrow", "a.feather", "a.arrows"] {
        assert_eq!(refusal(name, "", &plain), format!("{name}: the file is empty"));
        let words = format!("{name}: not a valid Arrow file: it does not start like an Arrow file");
        let text = format!("{name}: the file is text, not Arrow as its extension says");
        assert_eq!(refusal(name, "x,y\n1,2\n", &plain), text);
        assert_eq!(refusal(name, b"\xff\xff\xff\xff\0\0\0\0", &plain), words);
    }
    let words = "a.feather: Feather version 1 is not supported; save the table as version 2";
    assert_eq!(refusal("a.feather", b"FEA1\0\0\0\0rest", &plain), words);
}

#[test]
fn the_beginning_tells_a_file_from_a_stream() {
    let folder = Folder::new();
    for (name, other) in [("types.arrow", "a.arrows"), ("types.arrows", "a.arrow")] {
        let path = folder.write(other, std::fs::read(shipped(name)).unwrap());
        assert_eq!(read_path(&path, &columns(&["f64"])).unwrap().rows.n_rows(), 5);
    }
}

#[test]
fn an_odd_end_of_a_stream_is_noticed() {
    let folder = Folder::new();
    let whole = std::fs::read(shipped("types.arrows")).unwrap();
    let path = folder.write("a.arrows", &whole[..whole.len() - 8]);
    let table = read_path(&path, &columns(&["f64"])).unwrap();
    assert_eq!(table.rows.n_rows(), 5);
    let notice = "the stream has no end marker; rows may be missing";
    assert_eq!(table.notices, [format!("{}: {notice}", path.display())]);
    let path = folder.write("a.arrows", [&whole[..], b"more"].concat());
    let table = read_path(&path, &columns(&["f64"])).unwrap();
    assert_eq!(table.rows.n_rows(), 5);
    assert_eq!(table.notices, [format!("{}: ignored 4 bytes after the table", path.display())]);
}

/// A batch of columns of different widths: row `i` is `i / 2`, `i mod 3 = 0`, `-i mod 1000`, `i mod 7`.
fn batch(n_rows: usize) -> RecordBatch {
    let halves = Float64Array::from_iter_values((0..n_rows).map(|i| i as f64 / 2.0));
    let flags: BooleanArray = (0..n_rows).map(|i| Some(i % 3 == 0)).collect();
    let shorts = Int16Array::from_iter_values((0..1000).cycle().take(n_rows).map(|i: i16| -i));
    let keys = (0..7).cycle().take(n_rows);
    let values = Arc::new(Float32Array::from_iter_values((0..7u8).map(f32::from)));
    let keyed = DictionaryArray::<Int8Type>::new(keys.collect::<Vec<i8>>().into(), values);
    let arrays: [(&str, ArrayRef); 4] =
        [("half", Arc::new(halves)), ("flag", Arc::new(flags)), ("short", Arc::new(shorts)), ("key", Arc::new(keyed))];
    RecordBatch::try_from_iter(arrays).unwrap()
}

fn write_batches(path: &Path, batches: &[RecordBatch], codec: Option<CompressionType>) {
    let options = IpcWriteOptions::default().try_with_compression(codec).unwrap();
    let file = std::fs::File::create(path).unwrap();
    let schema = batches[0].schema();
    if path.extension().is_some_and(|extension| extension == "arrows") {
        let mut writer = StreamWriter::try_new_with_options(file, &schema, options).unwrap();
        batches.iter().for_each(|batch| writer.write(batch).unwrap());
        writer.finish().unwrap();
    } else {
        let mut writer = FileWriter::try_new_with_options(file, &schema, options).unwrap();
        batches.iter().for_each(|batch| writer.write(batch).unwrap());
        writer.finish().unwrap();
    }
}

#[test]
fn batches_may_have_any_size() {
    let folder = Folder::new();
    let whole = batch(40_003);
    for (name, n_at_once) in [("a.arrow", 40_003), ("b.arrow", 1003), ("c.arrow", 16_384), ("d.arrows", 16_385)] {
        for codec in [None, Some(CompressionType::LZ4_FRAME), Some(CompressionType::ZSTD)] {
            let path = folder.path(name);
            let mut batches = vec![whole.slice(0, 0)];
            batches.extend(
                (0..whole.num_rows())
                    .step_by(n_at_once)
                    .map(|first| whole.slice(first, n_at_once.min(whole.num_rows() - first))),
            );
            write_batches(&path, &batches, codec);
            let options = ReadOptions {
                labels: Some("key".into()),
                weights: Some("flag".into()),
                ..columns(&["short", "half", "key"])
            };
            let table = read_path(&path, &options).unwrap();
            assert_eq!(table.rows.n_rows(), 40_003, "{name} {codec:?}");
            let (weights, labels) = (table.rows.weights().unwrap(), table.rows.labels().unwrap());
            for (i, row) in all_rows(&table).iter().enumerate() {
                assert_eq!(row[..], [-((i % 1000) as f64), i as f64 / 2.0, (i % 7) as f64], "{name} {codec:?}");
                assert_eq!((weights[i], labels[i]), (f64::from(u8::from(i % 3 == 0)), (i % 7) as u32));
            }
        }
    }
}

#[test]
fn an_empty_cell_far_into_a_batch_is_found() {
    let folder = Folder::new();
    let path = folder.path("a.arrow");
    let place_of = |empty: ArrayRef| {
        let whole = RecordBatch::try_from_iter_with_nullable([("x", empty, true)]).unwrap();
        for codec in [None, Some(CompressionType::ZSTD)] {
            write_batches(&path, &[whole.slice(0, 10), whole.slice(10, 39_990)], codec);
            let error = read_path(&path, &ReadOptions::default()).unwrap_err();
            assert_eq!(folder.message(&error), "a.arrow: row 30001, column \"x\": empty cell");
        }
    };
    let numbers: Float64Array = (0..40_000).map(|i| (i != 30_000).then_some(1.0)).collect();
    place_of(Arc::new(numbers));
    // In a dictionary column, a cell may be null because its key is null or because the value is.
    let values: ArrayRef = Arc::new(Float64Array::from(vec![Some(1.0), None]));
    let keys = |i: i32| if i == 30_000 { None } else { Some(0) };
    place_of(Arc::new(DictionaryArray::<Int8Type>::new((0..40_000).map(keys).collect(), values.clone())));
    let keys = |i: i32| i8::from(i == 30_000);
    place_of(Arc::new(DictionaryArray::<Int8Type>::new((0..40_000).map(keys).collect::<Vec<_>>().into(), values)));
}

#[test]
fn what_is_written_has_batches_and_types_that_others_expect() {
    let folder = Folder::new();
    let columns = TableColumns { names: strings(&["x", "y"]), label: Some("label".into()) };
    let n_rows = 20_000;
    for name in ["a.arrow", "a.feather", "a.arrows"] {
        let path = folder.path(name);
        let mut writer = TableWriter::create(&path, &columns).unwrap();
        writer.write_labelled_rows(&vec![0.5; 2 * n_rows], &vec![7; n_rows]).unwrap();
        writer.finish().unwrap();
        let file = std::fs::File::open(&path).unwrap();
        let batches: Vec<RecordBatch> = if name == "a.arrows" {
            arrow_ipc::reader::StreamReader::try_new(file, None).unwrap().map(Result::unwrap).collect()
        } else {
            arrow_ipc::reader::FileReader::try_new(file, None).unwrap().map(Result::unwrap).collect()
        };
        assert_eq!(batches.iter().map(RecordBatch::num_rows).collect::<Vec<_>>(), [16_384, 3616]);
        let kinds: Vec<String> = batches[0]
            .schema()
            .fields()
            .iter()
            .map(|field| format!("{} {}", field.name(), field.data_type()))
            .collect();
        assert_eq!(kinds, ["x Float64", "y Float64", "label UInt32"]);
        assert_eq!(batches[1].column(2).null_count(), 0);
    }
}
