//! Writes NumPy arrays, version 1.0, in C order; the number of rows is filled in at the end.

use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};

use super::AtomicFile;
use super::batch::Batch;
use super::layout::TableLayout;

/// Length of the whole header: a multiple of 64, with room for any shape.
const HEADER_BYTES: usize = 128;
/// Marks a missing label in an integer array; component numbers are never negative.
const NO_LABEL: i64 = -1;

pub(super) struct NpySink {
    file: AtomicFile,
    /// Buffers the values until their number is known, if the header cannot be updated later, as in a pipe.
    spool: Option<BufWriter<File>>,
    n_rows: u64,
    /// The number of columns, or `None` for a one-dimensional array of integer labels.
    n_columns: Option<usize>,
}

impl NpySink {
    pub(super) fn new(mut file: AtomicFile, layout: &TableLayout) -> io::Result<Self> {
        let n_columns = (!layout.is_labels_alone()).then_some(layout.columns.len());
        let spool = if file.is_seekable() {
            file.write_all(&header(0, n_columns))?;
            None
        } else {
            Some(BufWriter::new(tempfile::tempfile()?))
        };
        Ok(Self { file, spool, n_rows: 0, n_columns })
    }

    pub(super) fn write(&mut self, batch: &Batch) -> io::Result<()> {
        let Self { file, spool, n_columns, .. } = self;
        let out: &mut dyn Write = match spool {
            Some(spool) => spool,
            None => file,
        };
        for row in 0..batch.n_rows {
            for column in &batch.columns {
                let bytes = match n_columns {
                    Some(_) => column.number(row).unwrap_or(f64::NAN).to_le_bytes(),
                    None => column.label(row).map_or(NO_LABEL, i64::from).to_le_bytes(),
                };
                out.write_all(&bytes)?;
            }
        }
        self.n_rows += batch.n_rows as u64;
        Ok(())
    }

    pub(super) fn finish(mut self) -> io::Result<AtomicFile> {
        let header = header(self.n_rows, self.n_columns);
        if let Some(spool) = self.spool {
            let mut spool = spool.into_inner().map_err(io::IntoInnerError::into_error)?;
            spool.seek(SeekFrom::Start(0))?;
            self.file.write_all(&header)?;
            io::copy(&mut spool, &mut self.file)?;
        } else {
            self.file.seek(SeekFrom::Start(0))?;
            self.file.write_all(&header)?;
        }
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
