//! Checks that truncated, corrupted and malicious files are rejected cleanly, without a panic or excessive memory.

use std::fs;

use mixtura_io::{ReadOptions, TableColumns, TableWriter};

use crate::fixture::{Folder, columns, read_path, shipped, strings};

/// A small linear congruential generator: which bytes are flipped does not depend on any crate.
struct Flips(u64);

impl Flips {
    fn next(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % below
    }
}

#[test]
fn a_cut_parquet_file_is_refused_wherever_it_is_cut() {
    let folder = Folder::new();
    for name in ["types.parquet", "single.parquet"] {
        let whole = fs::read(shipped(name)).unwrap();
        for n_bytes in (0..whole.len()).step_by(7) {
            let path = folder.write("a.parquet", &whole[..n_bytes]);
            assert!(read_path(&path, &ReadOptions::default()).is_err(), "{name} cut at {n_bytes}");
        }
    }
}

#[test]
fn a_flipped_parquet_file_is_read_or_refused_but_never_panics() {
    let folder = Folder::new();
    let mut flips = Flips(1);
    let with_labels = ReadOptions { labels: Some("text".into()), ..columns(&["f64", "i64", "u8", "flag", "price"]) };
    for (name, options) in [("types.parquet", with_labels), ("holes.parquet", columns(&["x"]))] {
        let whole = fs::read(shipped(name)).unwrap();
        for _ in 0..400 {
            let mut bytes = whole.clone();
            for _ in 0..=flips.next(3) {
                let place = flips.next(bytes.len());
                bytes[place] ^= 1 << flips.next(8);
            }
            let _ = read_path(&folder.write("a.parquet", &bytes), &options);
        }
    }
}

#[test]
fn a_parquet_footer_that_promises_too_many_rows_is_refused() {
    let folder = Folder::new();
    let path = folder.path("a.parquet");
    let mut writer = TableWriter::create(&path, &TableColumns { names: strings(&["x"]), label: None }).unwrap();
    writer.write_rows(&[1.5; 77]).unwrap();
    writer.finish().unwrap();
    // 77 is written in the footer as one zigzag byte, 0x9a 0x01; here it becomes more than 10^12.
    let whole = fs::read(&path).unwrap();
    let footer = whole.len() - 8 - u32::from_le_bytes(whole[whole.len() - 8..][..4].try_into().unwrap()) as usize;
    let lie = [0x9a, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01];
    let mut n_lies = 0;
    for place in footer..whole.len() - 9 {
        if whole[place..].starts_with(&[0x9a, 0x01]) {
            let mut bytes = whole.clone();
            bytes.splice(place..place + 2, lie);
            let length = (bytes.len() - 8 - footer) as u32;
            let end = bytes.len();
            bytes[end - 8..end - 4].copy_from_slice(&length.to_le_bytes());
            // Only the row counts determine the memory; other fields may be ignored.
            if let Err(error) = read_path(&folder.write("a.parquet", &bytes), &ReadOptions::default()) {
                let words = folder.message(&error);
                assert!(words.starts_with("a.parquet: not a valid Parquet file: "), "{words}");
                n_lies += 1;
            }
        }
    }
    assert!(n_lies > 0);
}

const ARROW_FILES: [&str; 4] = ["types.arrow", "plain.arrow", "types.arrows", "single.feather"];

fn all_columns(name: &str) -> ReadOptions {
    if name == "single.feather" {
        return ReadOptions::default();
    }
    let numbers = ["f64", "i64", "u8", "flag", "price", "code"];
    ReadOptions { labels: Some("view".into()), weights: Some("u8".into()), ..columns(&numbers) }
}

#[test]
fn a_cut_arrow_file_is_refused_wherever_it_is_cut() {
    let folder = Folder::new();
    for name in ARROW_FILES {
        let path = folder.write("a.arrow", fs::read(shipped(name)).unwrap());
        assert!(read_path(&path, &all_columns(name)).is_ok());
        let file = fs::File::options().write(true).open(&path).unwrap();
        let mut n_between = 0;
        for n_bytes in (0..file.metadata().unwrap().len()).rev() {
            file.set_len(n_bytes).unwrap();
            match read_path(&path, &all_columns(name)) {
                Err(error) => assert!(folder.message(&error).starts_with("a.arrow: "), "{error}"),
                // A stream may end after any message; a missing end marker is reported.
                Ok(table) => {
                    assert!(table.notices[0].ends_with("rows may be missing"), "{name} cut at {n_bytes}");
                    n_between += 1;
                }
            }
        }
        // From the first batch on the stream has 8 messages: 3 batches and 5 dictionaries.
        assert_eq!(n_between, if name == "types.arrows" { 8 } else { 0 }, "{name}");
    }
}

#[test]
fn a_flipped_arrow_file_is_read_or_refused_but_never_panics() {
    let folder = Folder::new();
    let mut flips = Flips(3);
    for name in ARROW_FILES {
        let whole = fs::read(shipped(name)).unwrap();
        for _ in 0..1000 {
            let mut bytes = whole.clone();
            for _ in 0..=flips.next(3) {
                let place = flips.next(bytes.len());
                bytes[place] ^= 1 << flips.next(8);
            }
            if let Err(error) = read_path(&folder.write("a.arrow", &bytes), &all_columns(name)) {
                assert!(!error.to_string().contains('\n'), "{error}");
            }
        }
    }
}

/// Replaces a number wherever it occurs at a multiple of 8 bytes; returns how often.
fn replace_number(bytes: &mut [u8], old: i64, new: i64) -> usize {
    let (words, _) = bytes.as_chunks_mut::<8>();
    let found = words.iter_mut().filter(|word| **word == old.to_le_bytes());
    found.map(|word| *word = new.to_le_bytes()).count()
}

#[test]
fn an_arrow_batch_that_promises_too_much_is_refused() {
    let folder = Folder::new();
    for name in ["a.arrow", "a.arrows"] {
        let path = folder.path(name);
        let mut writer = TableWriter::create(&path, &TableColumns { names: strings(&["x"]), label: None }).unwrap();
        writer.write_rows(&[1.5; 77]).unwrap();
        writer.finish().unwrap();
        let mut bytes = fs::read(&path).unwrap();
        // The batch and its column both say how many rows they have.
        assert_eq!(replace_number(&mut bytes, 77, 1 << 40), 2);
        let error = read_path(&folder.write(name, &bytes), &ReadOptions::default()).unwrap_err();
        let words = "not a valid Arrow file: column \"x\" of a batch is too short for 1099511627776 rows";
        assert_eq!(folder.message(&error), format!("{name}: {words}"));
        assert_eq!(replace_number(&mut bytes, 1 << 40, -1), 2);
        let error = read_path(&folder.write(name, &bytes), &ReadOptions::default()).unwrap_err();
        assert_eq!(folder.message(&error), format!("{name}: not a valid Arrow file: a batch claims to have -1 rows"));
    }
    // The size of 4 compressed doubles, 32 bytes, is changed to more than any memory.
    let whole = fs::read(shipped("packed.arrow")).unwrap();
    for promise in [1 << 50, i64::MAX, -2, 33] {
        let mut bytes = whole.clone();
        assert!(replace_number(&mut bytes, 32, promise) > 0);
        let error = read_path(&folder.write("a.arrow", &bytes), &columns(&["x"])).unwrap_err();
        let words = folder.message(&error);
        assert!(words.starts_with("a.arrow: not a valid Arrow file: "), "{words}");
        assert_eq!(words.contains("a compressed buffer claims to contain"), promise > 33, "{words}");
    }
}

#[test]
fn an_arrow_footer_may_not_name_one_batch_many_times() {
    let folder = Folder::new();
    let path = folder.path("a.arrow");
    let mut writer = TableWriter::create(&path, &TableColumns { names: strings(&["x"]), label: None }).unwrap();
    writer.write_rows(&vec![1.5; (1 << 14) + 1]).unwrap();
    writer.finish().unwrap();
    let mut bytes = fs::read(&path).unwrap();
    let tail = bytes.len() - 10;
    let footer = tail - u32::from_le_bytes(bytes[tail..][..4].try_into().unwrap()) as usize;
    let blocks = arrow_ipc::root_as_footer(&bytes[footer..tail]).unwrap().recordBatches().unwrap();
    let (large, small) = (blocks.get(0).offset(), blocks.get(1).offset());
    assert_eq!(replace_number(&mut bytes, small, large), 1);
    let error = read_path(&folder.write("a.arrow", &bytes), &ReadOptions::default()).unwrap_err();
    let words = "a.arrow: not a valid Arrow file: its footer lists more messages than fit into the file";
    assert_eq!(folder.message(&error), words);
}

#[test]
fn a_cut_npy_file_is_refused_and_a_flipped_one_never_panics() {
    let folder = Folder::new();
    let path = folder.path("a.npy");
    let columns = TableColumns { names: strings(&["x", "y"]), label: None };
    let mut writer = TableWriter::create(&path, &columns).unwrap();
    writer.write_rows(&[1.5, -2.5, 3.0, 4.0]).unwrap();
    writer.finish().unwrap();
    let whole = fs::read(&path).unwrap();
    for n_bytes in 0..whole.len() {
        let path = folder.write("a.npy", &whole[..n_bytes]);
        assert!(read_path(&path, &ReadOptions::default()).is_err(), "cut at {n_bytes}");
    }
    let mut flips = Flips(2);
    for _ in 0..2000 {
        let mut bytes = whole.clone();
        let place = flips.next(bytes.len());
        bytes[place] ^= 1 << flips.next(8);
        let _ = read_path(&folder.write("a.npy", &bytes), &ReadOptions::default());
    }
}
