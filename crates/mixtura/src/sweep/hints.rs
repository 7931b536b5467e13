//! Remembers which component was last found near each row. Only speed depends on it.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU16, Ordering};

/// Maximum number of rows that get a hint: two bytes each, 32 MB in total.
const MOST_HINTS: usize = 1 << 24;

/// Which component was last found near each row of a piece, if known. Memory is allocated with the first hint.
#[derive(Debug, Default)]
pub struct Hints {
    n_rows: usize,
    components: OnceLock<Vec<AtomicU16>>,
}

impl Hints {
    /// No hints yet, for `n_rows` rows.
    pub fn new(n_rows: usize) -> Self {
        Self { n_rows: n_rows.min(MOST_HINTS), components: OnceLock::new() }
    }

    pub(crate) fn get(&self, row: usize) -> Option<u32> {
        let hint = self.components.get()?.get(row)?.load(Ordering::Relaxed);
        (hint < u16::MAX).then_some(u32::from(hint))
    }

    pub(crate) fn set(&self, row: usize, component: u32) {
        let unknown = || (0..self.n_rows).map(|_| AtomicU16::new(u16::MAX)).collect();
        if let Some(hint) = self.components.get_or_init(unknown).get(row) {
            hint.store(u16::try_from(component).unwrap_or(u16::MAX), Ordering::Relaxed);
        }
    }
}
