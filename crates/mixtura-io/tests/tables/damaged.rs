//! Checks that cut, flipped and lying files are refused cleanly: no panic, no memory taken on trust.

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
            // Only the counts of rows decide how much memory is taken; other fields may be ignored.
            if let Err(error) = read_path(&folder.write("a.parquet", &bytes), &ReadOptions::default()) {
                let words = folder.message(&error);
                assert!(words.starts_with("a.parquet: not a sound Parquet file: "), "{words}");
                n_lies += 1;
            }
        }
    }
    assert!(n_lies > 0);
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
