//! Copies what can be read only once, such as standard input, to a file that can be read again.

use std::fs;
use std::io::{self, Read};

use tempfile::TempPath;

use crate::{Error, Input, input};

/// A table that can be read twice: a file as it is, or a copy of a stream that goes away with this.
///
/// ```
/// use mixtura_io::{Input, Spooled};
///
/// let file = Input::from("data.csv");
/// assert_eq!(Spooled::new(&file)?.input(), &file, "files are not copied");
/// # Ok::<(), mixtura_io::Error>(())
/// ```
#[derive(Debug)]
pub struct Spooled {
    input: Input,
    _copy: Option<TempPath>,
}

impl Spooled {
    /// Copies standard input, or a pipe, to a temporary file; anything else is left where it is.
    pub fn new(input: &Input) -> Result<Self, Error> {
        let failed = |source| Error::Read { file: input.to_string(), source };
        match input {
            Input::Stdin => Self::copy(&mut io::stdin().lock()).map_err(failed),
            Input::Path(path) if fs::metadata(path).is_ok_and(|data| !data.is_file() && !data.is_dir()) => {
                Self::copy(&mut input::open(path)?).map_err(failed)
            }
            Input::Path(_) => Ok(Self { input: input.clone(), _copy: None }),
        }
    }

    /// Where the table can be read, any number of times, as long as this lives.
    pub fn input(&self) -> &Input {
        &self.input
    }

    fn copy(stream: &mut dyn Read) -> io::Result<Self> {
        // Without an extension: what it is shows in its first bytes.
        let mut copy = tempfile::Builder::new().prefix("mixtura-").tempfile()?;
        io::copy(stream, &mut copy)?;
        let copy = copy.into_temp_path();
        Ok(Self { input: Input::Path(copy.to_path_buf()), _copy: Some(copy) })
    }
}
