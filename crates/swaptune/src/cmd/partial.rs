//! Files that are there whole or not at all: written beside the name that they are to have, and renamed.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use crate::failure::{Failure, REFUSED};

/// Refuses a file that is there already, unless it is to be replaced.
pub fn refuse_existing(flag: &str, file: &Path, overwrite: bool) -> Result<(), Failure> {
    if overwrite || file.symlink_metadata().is_err() {
        return Ok(());
    }
    let message = format!("{flag} {}: the file is there already", file.display());
    Err(Failure::new(REFUSED, message).hint("name another one, or replace it with --overwrite"))
}

/// A file that is not whole yet; it goes when it is dropped.
pub struct Partial(PathBuf);

impl Partial {
    /// Beside the file that it is to become, so that it can be renamed. The number of this process keeps two writers apart.
    pub fn beside(file: &Path) -> io::Result<(Self, BufWriter<File>)> {
        let name = file.file_name().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "expected the name of a file"))?;
        let path = file.with_file_name(format!(".{}.{}.partial", name.to_string_lossy(), std::process::id()));
        let out = OpenOptions::new().write(true).create_new(true).open(&path)?;
        Ok((Self(path), BufWriter::with_capacity(1 << 20, out)))
    }

    /// Gives it its name once what is buffered is on disk.
    pub fn finished(self, out: BufWriter<File>, file: &Path) -> io::Result<()> {
        out.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
        fs::rename(&self.0, file)
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        // Renamed already is fine.
        let _ = fs::remove_file(&self.0);
    }
}
