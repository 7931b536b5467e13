//! Copies input that can be read only once, such as standard input, to a temporary file.

use std::fs::{self, File};
use std::io::{self, Read};

use crate::temporary::Temporary;
use crate::{Error, Input, input};

/// A table that can be read twice: a file, or a copy of a stream that is deleted on drop.
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
    /// A separate folder, so that the copy has a readable name in messages.
    _copy: Option<Temporary>,
}

impl Spooled {
    /// Copies standard input or a pipe to a temporary file; other inputs are used directly.
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

    /// The input to read, any number of times, as long as this value lives.
    pub fn input(&self) -> &Input {
        &self.input
    }

    fn copy(stream: &mut dyn Read) -> io::Result<Self> {
        let folder = Temporary::private_folder()?;
        // No extension: the format is detected from the first bytes.
        let path = folder.path().join("copy of the input");
        let mut copy = File::create(&path)?;
        io::copy(stream, &mut copy)?;
        Ok(Self { input: Input::Path(path), _copy: Some(folder) })
    }
}
