//! Checks written tables and atomic files.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, UInt32Type};
use mixtura_io::{
    AtomicFile, Cells, Error, ReadOptions, TableColumn, TableColumns, TableLayout, TableWriter, same_file, write_file,
};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use crate::fixture::{Folder, all_rows, read_path, strings};

const FORMATS: [&str; 7] = ["a.csv", "a.csv.gz", "a.parquet", "a.arrow", "a.feather", "a.arrows", "a.npy"];

fn names(names: &[&str]) -> TableColumns {
    TableColumns { names: strings(names), label: None }
}

/// Numbers of every size, with signs and exponents spread over the whole range.
fn numbers(n_values: usize) -> Vec<f64> {
    (0..n_values)
        .map(|i| {
            let bits = (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let value = f64::from_bits(bits);
            if value.is_finite() { value } else { i as f64 }
        })
        .collect()
}

#[test]
fn every_format_comes_back_to_the_same_bits() {
    let folder = Folder::new();
    let values = numbers(3 * 30_001);
    for name in FORMATS {
        let path = folder.path(name);
        let mut writer = TableWriter::create(&path, &names(&["x", "y, z", "\"q\""])).unwrap();
        for batch in values.chunks(3 * 1000) {
            writer.write_rows(batch).unwrap();
        }
        assert!(!path.exists());
        writer.finish().unwrap();
        let table = read_path(&path, &ReadOptions::default()).unwrap();
        assert_eq!(table.rows.n_rows(), 30_001);
        if name != "a.npy" {
            assert_eq!(table.rows.names(), ["x", "y, z", "\"q\""], "{name}");
        }
        for (row, expected) in all_rows(&table).iter().zip(values.chunks(3)) {
            assert!(row.iter().zip(expected).all(|(a, b)| a.to_bits() == b.to_bits()), "{name}: {row:?} {expected:?}");
        }
    }
    let mut written = FORMATS;
    written.sort_unstable();
    assert_eq!(folder.names(), written);
}

#[test]
fn labels_are_a_last_column() {
    let folder = Folder::new();
    let columns = TableColumns { names: strings(&["x"]), label: Some("label".into()) };
    for name in FORMATS {
        let mut writer = TableWriter::create(&folder.path(name), &columns).unwrap();
        writer.write_labelled_rows(&[1.5, 2.5], &[3, 0]).unwrap();
        writer.finish().unwrap();
        let label = if name == "a.npy" { "2" } else { "label" };
        let options = ReadOptions { labels: Some(label.into()), ..ReadOptions::default() };
        let table = read_path(&folder.path(name), &options).unwrap();
        assert_eq!(all_rows(&table), [[1.5], [2.5]]);
        assert_eq!(table.rows.labels(), Some(&[1, 0][..]));
        assert_eq!(table.labels.unwrap().values, ["0", "3"]);
    }
}

#[test]
fn labels_alone_are_a_table() {
    let columns = TableColumns { names: Vec::new(), label: Some("label".into()) };
    let mut out = Vec::new();
    let mut writer = TableWriter::csv(&mut out, "standard output", &columns).unwrap();
    writer.write_labelled_rows(&[], &[2, 0]).unwrap();
    writer.finish().unwrap();
    assert_eq!(out, b"label\n2\n0\n");
    let folder = Folder::new();
    let mut writer = TableWriter::create(&folder.path("a.npy"), &columns).unwrap();
    writer.write_labelled_rows(&[], &[2, 0]).unwrap();
    writer.finish().unwrap();
    let bytes = fs::read(folder.path("a.npy")).unwrap();
    assert!(bytes[10..].starts_with(b"{'descr': '<i8', 'fortran_order': False, 'shape': (2,), }"));
    assert_eq!(bytes[128..], [2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
}

/// Labels and probabilities, missing in the second row.
fn write_gaps(path: &Path) {
    let columns = vec![TableColumn::label("label").optional(), TableColumn::number("probability").optional()];
    let mut writer = TableWriter::create(path, TableLayout::new(columns)).unwrap();
    let (labels, probabilities) = ([Some(3), None, Some(0)], [Some(0.5), None, Some(1.0)]);
    writer.write_columns(None, &[Cells::OptionalLabels(&labels), Cells::OptionalNumbers(&probabilities)]).unwrap();
    writer.finish().unwrap();
}

fn check_gaps(batch: &RecordBatch) {
    let (labels, numbers) =
        (batch.column(0).as_primitive::<UInt32Type>(), batch.column(1).as_primitive::<Float64Type>());
    assert_eq!(labels.iter().collect::<Vec<_>>(), [Some(3), None, Some(0)]);
    assert_eq!(numbers.iter().collect::<Vec<_>>(), [Some(0.5), None, Some(1.0)]);
}

#[test]
fn rows_without_an_answer_have_empty_cells_or_nulls() {
    let folder = Folder::new();
    write_gaps(&folder.path("a.csv"));
    assert_eq!(fs::read_to_string(folder.path("a.csv")).unwrap(), "label,probability\n3,0.5\n,\n0,1\n");
    write_gaps(&folder.path("a.csv.zst"));
    let unpacked = zstd::decode_all(File::open(folder.path("a.csv.zst")).unwrap()).unwrap();
    assert_eq!(unpacked, fs::read(folder.path("a.csv")).unwrap());
    write_gaps(&folder.path("a.parquet"));
    let parquet = ParquetRecordBatchReaderBuilder::try_new(File::open(folder.path("a.parquet")).unwrap()).unwrap();
    check_gaps(&parquet.build().unwrap().next().unwrap().unwrap());
    write_gaps(&folder.path("a.arrow"));
    let arrow = arrow_ipc::reader::FileReader::try_new(File::open(folder.path("a.arrow")).unwrap(), None).unwrap();
    arrow.map(Result::unwrap).for_each(|batch| check_gaps(&batch));
    write_gaps(&folder.path("a.npy"));
    let bytes = fs::read(folder.path("a.npy")).unwrap();
    let number = |at: usize| f64::from_le_bytes(bytes[128 + 8 * at..][..8].try_into().unwrap());
    assert_eq!([number(0), number(1), number(4), number(5)], [3.0, 0.5, 0.0, 1.0]);
    assert!(number(2).is_nan() && number(3).is_nan());
}

#[test]
fn a_missing_label_alone_is_neither_a_blank_line_nor_component_0() {
    let layout = || TableLayout::new(vec![TableColumn::label("label").optional()]);
    let folder = Folder::new();
    for name in ["a.csv", "a.npy"] {
        let mut writer = TableWriter::create(&folder.path(name), layout()).unwrap();
        writer.write_columns(None, &[Cells::OptionalLabels(&[Some(2), None])]).unwrap();
        writer.finish().unwrap();
    }
    // Readers would skip a blank line, and all following rows would be off by one.
    assert_eq!(fs::read_to_string(folder.path("a.csv")).unwrap(), "label\n2\n\"\"\n");
    assert_eq!(fs::read(folder.path("a.npy")).unwrap()[136..], (-1i64).to_le_bytes());
}

#[cfg(unix)]
#[test]
fn every_format_can_be_written_to_a_pipe() {
    let folder = Folder::new();
    for name in FORMATS.into_iter().chain(["a.csv.zst"]) {
        let (pipe, plain) = (folder.path(&format!("pipe-{name}")), folder.path(name));
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let write = |path: &Path| {
            let mut writer = TableWriter::create(path, &names(&["x", "y"])).unwrap();
            writer.write_rows(&numbers(2 * 20_000)).unwrap();
            writer.finish().unwrap();
        };
        let received = std::thread::scope(|scope| {
            let reader = scope.spawn(|| fs::read(&pipe).unwrap());
            write(&pipe);
            reader.join().unwrap()
        });
        write(&plain);
        assert!(received == fs::read(&plain).unwrap(), "{name}");
    }
}

#[test]
fn an_npy_file_is_as_numpy_writes_it() {
    let folder = Folder::new();
    let mut writer = TableWriter::create(&folder.path("a.npy"), &names(&["x", "y"])).unwrap();
    writer.write_rows(&[1.5, 2.0]).unwrap();
    writer.finish().unwrap();
    let mut expected = b"\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'fortran_order': False, 'shape': (1, 2), }".to_vec();
    expected.resize(127, b' ');
    expected.push(b'\n');
    expected.extend(b"\x00\x00\x00\x00\x00\x00\xf8?\x00\x00\x00\x00\x00\x00\x00@");
    assert_eq!(fs::read(folder.path("a.npy")).unwrap(), expected);
}

#[test]
fn an_unfinished_table_leaves_nothing_and_changes_nothing() {
    let folder = Folder::new();
    let path = folder.write("a.csv", "old");
    for name in ["a.csv", "b.csv.gz", "c.parquet", "d.npy", "e.arrow", "f.arrows"] {
        let mut writer = TableWriter::create(&folder.path(name), &names(&["x"])).unwrap();
        writer.write_rows(&vec![1.0; 10_000]).unwrap();
        drop(writer);
    }
    assert_eq!(folder.names(), ["a.csv"]);
    assert_eq!(fs::read(path).unwrap(), b"old");
}

#[test]
fn targets_that_cannot_be_written_are_refused_before_any_work() {
    let folder = Folder::new();
    let refuse = |name: &str| folder.message(&AtomicFile::create(&folder.path(name)).unwrap_err());
    assert_eq!(refuse("none/a.csv"), r#"none/a.csv: folder "none" does not exist"#);
    fs::create_dir(folder.path("folder.csv")).unwrap();
    assert_eq!(refuse("folder.csv"), "folder.csv: is a folder, not a file");
    let error = TableWriter::create(&folder.path("a.tsv"), &names(&["x"])).err().unwrap();
    assert_eq!(folder.message(&error), r#"a.tsv: unknown extension ".tsv""#);
    assert_eq!(
        error.hint().unwrap(),
        "supported extensions are .csv, .csv.gz, .csv.zst, .parquet, .arrow, .feather, .arrows and .npy"
    );
    let protected = folder.write("protected.csv", "old");
    let mut permissions = fs::metadata(&protected).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&protected, permissions).unwrap();
    assert_eq!(refuse("protected.csv"), "protected.csv: cannot write: permission denied");
}

#[test]
fn a_plain_name_goes_to_the_current_folder() {
    // Created but not committed: nothing appears.
    assert!(AtomicFile::create(Path::new("mixtura-io-test.csv")).is_ok());
}

#[cfg(unix)]
#[test]
fn a_link_is_written_through() {
    let folder = Folder::new();
    fs::create_dir(folder.path("real")).unwrap();
    let real = folder.write("real/a.json", "old");
    std::os::unix::fs::symlink("real/a.json", folder.path("link.json")).unwrap();
    std::os::unix::fs::symlink("real/new.json", folder.path("dangling.json")).unwrap();
    write_file(&folder.path("link.json"), b"new").unwrap();
    write_file(&folder.path("dangling.json"), b"made").unwrap();
    assert_eq!(fs::read(&real).unwrap(), b"new");
    assert_eq!(fs::read(folder.path("real/new.json")).unwrap(), b"made");
    assert!(fs::symlink_metadata(folder.path("link.json")).unwrap().is_symlink());
    assert!(same_file(&real, &folder.path("link.json")));
    assert!(!same_file(&real, &folder.path("real/new.json")));
    assert!(!same_file(&folder.path("none"), &folder.path("none")));
    std::os::unix::fs::symlink("loop", folder.path("loop")).unwrap();
    assert!(matches!(AtomicFile::create(&folder.path("loop")), Err(Error::Write { .. })));
}

#[cfg(unix)]
#[test]
fn permissions_are_those_of_any_new_file() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let mode = |name: &str| fs::metadata(folder.path(name)).unwrap().permissions().mode() & 0o777;
    File::create(folder.path("usual")).unwrap();
    write_file(&folder.path("ours"), b"x").unwrap();
    assert_eq!(mode("ours"), mode("usual"));
    fs::set_permissions(folder.path("ours"), fs::Permissions::from_mode(0o640)).unwrap();
    write_file(&folder.path("ours"), b"y").unwrap();
    assert_eq!(mode("ours"), 0o640);
}

#[cfg(target_os = "linux")]
#[test]
fn special_files_are_written_directly_and_a_full_disk_is_reported() {
    write_file(Path::new("/dev/null"), b"x").unwrap();
    assert!(!fs::metadata("/dev/null").unwrap().is_file());
    let words = "/dev/full: cannot write: No space left on device (os error 28)";
    assert_eq!(write_file(Path::new("/dev/full"), b"x").unwrap_err().to_string(), words);
    let full = File::options().write(true).open("/dev/full").unwrap();
    let mut writer = TableWriter::csv(full, "standard output", &names(&["x"])).unwrap();
    writer.write_rows(&[1.0]).unwrap();
    assert_eq!(
        writer.finish().unwrap_err().to_string(),
        "standard output: cannot write: No space left on device (os error 28)"
    );
    let full = std::io::BufWriter::new(File::options().write(true).open("/dev/full").unwrap());
    let writer = TableWriter::csv(full, "standard output", &names(&["x"])).unwrap();
    assert!(writer.finish().is_err(), "what a buffer held back is not lost");
    let mut file = AtomicFile::create(Path::new("/dev/full")).unwrap();
    assert!(file.write_all(&vec![0; 100_000]).is_err());
}
