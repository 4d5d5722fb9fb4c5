//! Files that are there whole or not at all: written beside the name that they are to have, and renamed.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use crate::failure::{Failure, REFUSED};

/// Refuses a file that is there already, unless it is to be replaced. A pipe or a device takes what comes.
pub fn refuse_existing(flag: &str, file: &Path, overwrite: bool) -> Result<(), Failure> {
    if overwrite || is_stream(file) || file.symlink_metadata().is_err() {
        return Ok(());
    }
    let message = format!("{flag} {}: the file is there already", file.display());
    Err(Failure::new(REFUSED, message).hint("name another one, or replace it with --overwrite"))
}

/// What nothing may be renamed over: `/dev/stdout`, `/dev/null`, a named pipe.
fn is_stream(file: &Path) -> bool {
    fs::metadata(file).is_ok_and(|found| !found.is_file() && !found.is_dir())
}

/// A file that is not whole yet; it goes when it is dropped. `None` for a stream, which is written to as it is.
pub struct Partial(Option<PathBuf>);

impl Partial {
    /// Beside the file that it is to become, so that it can be renamed. The number of this process keeps two writers apart.
    pub fn beside(file: &Path) -> io::Result<(Self, BufWriter<File>)> {
        let buffered = |out| BufWriter::with_capacity(1 << 20, out);
        if is_stream(file) {
            return Ok((Self(None), buffered(OpenOptions::new().write(true).open(file)?)));
        }
        let name = file.file_name().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "expected the name of a file"))?;
        let path = file.with_file_name(format!(".{}.{}.partial", name.to_string_lossy(), std::process::id()));
        let out = OpenOptions::new().write(true).create_new(true).open(&path)?;
        Ok((Self(Some(path)), buffered(out)))
    }

    /// Gives it its name once what is buffered is on disk.
    pub fn finished(self, out: BufWriter<File>, file: &Path) -> io::Result<()> {
        let out = out.into_inner().map_err(io::IntoInnerError::into_error)?;
        let Some(partial) = &self.0 else { return Ok(()) };
        out.sync_all()?;
        fs::rename(partial, file)
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        if let Some(partial) = &self.0 {
            // Renamed already is fine.
            let _ = fs::remove_file(partial);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_a_stream_is_written_to() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let write = |path: &Path, text: &str| {
            let (partial, mut out) = Partial::beside(path).unwrap();
            out.write_all(text.as_bytes()).unwrap();
            (partial, out)
        };
        drop(write(&path, "half"));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left of one that was given up");
        let (partial, out) = write(&path, "whole");
        partial.finished(out, &path).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "whole");
        assert!(refuse_existing("--x", &path, false).is_err() && refuse_existing("--x", &path, true).is_ok());
        let link = folder.path().join("null");
        std::os::unix::fs::symlink("/dev/null", &link).unwrap();
        assert!(refuse_existing("--x", &link, false).is_ok());
        let (partial, out) = write(&link, "gone");
        partial.finished(out, &link).unwrap();
        assert!(link.is_symlink() && is_stream(&link), "nothing was renamed over it");
    }
}
