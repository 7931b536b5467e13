//! Writes NumPy arrays, version 1.0, in C order; the number of rows is filled in at the end.

use std::io::{self, Seek, SeekFrom, Write};

use super::{AtomicFile, Batch, TableColumns};

/// Length of the whole header: a multiple of 64, with room for any shape.
const HEADER_BYTES: usize = 128;

pub(super) struct NpySink {
    file: AtomicFile,
    n_rows: u64,
    /// Labels alone make a one-dimensional array of integers; otherwise the width.
    n_columns: Option<usize>,
}

impl NpySink {
    pub(super) fn new(mut file: AtomicFile, columns: &TableColumns) -> io::Result<Self> {
        let n_columns = columns.names.len() + usize::from(columns.label.is_some());
        let n_columns = (!columns.names.is_empty()).then_some(n_columns);
        file.write_all(&header(0, n_columns))?;
        Ok(Self { file, n_rows: 0, n_columns })
    }

    pub(super) fn write(&mut self, batch: Batch) -> io::Result<()> {
        for row in 0..batch.n_rows {
            let (values, label) = batch.row(row);
            for value in values {
                self.file.write_all(&value.to_le_bytes())?;
            }
            match label {
                Some(label) if self.n_columns.is_some() => self.file.write_all(&f64::from(label).to_le_bytes())?,
                Some(label) => self.file.write_all(&i64::from(label).to_le_bytes())?,
                None => {}
            }
        }
        self.n_rows += batch.n_rows as u64;
        Ok(())
    }

    pub(super) fn finish(mut self) -> io::Result<AtomicFile> {
        self.file.seek(SeekFrom::Start(0))?;
        self.file.write_all(&header(self.n_rows, self.n_columns))?;
        Ok(self.file)
    }
}

fn header(n_rows: u64, n_columns: Option<usize>) -> [u8; HEADER_BYTES] {
    let (descr, shape) = match n_columns {
        Some(n_columns) => ("<f8", format!("({n_rows}, {n_columns})")),
        None => ("<i8", format!("({n_rows},)")),
    };
    let text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    let mut header = [b' '; HEADER_BYTES];
    header[..8].copy_from_slice(b"\x93NUMPY\x01\x00");
    header[8..10].copy_from_slice(&(HEADER_BYTES as u16 - 10).to_le_bytes());
    header[10..10 + text.len()].copy_from_slice(text.as_bytes());
    header[HEADER_BYTES - 1] = b'\n';
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_has_room_for_the_largest_shape() {
        let header = header(u64::MAX, Some(usize::MAX));
        assert_eq!(header[HEADER_BYTES - 1], b'\n');
        assert!(header.windows(2).any(|pair| pair == b"}\n" || pair == b"} "));
    }
}
