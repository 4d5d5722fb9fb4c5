//! A file for node_exporter's textfile collector: it must never be seen half written.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

/// Puts `text` into the place of the file: written beside it under a name that the collector does not read, then renamed.
///
/// # Errors
/// What the file system says; the file is as it was then.
pub fn replace(path: &Path, text: &str) -> io::Result<()> {
    let name = path.file_name().ok_or_else(|| io::Error::from(io::ErrorKind::IsADirectory))?;
    let beside = path.with_file_name(format!(".{}.new", name.to_string_lossy()));
    // What a killed run left; a link that waits there under this name is not followed.
    match fs::remove_file(&beside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let written =
        OpenOptions::new().write(true).create_new(true).open(&beside).and_then(|mut file| file.write_all(text.as_bytes()));
    let renamed = written.and_then(|()| fs::rename(&beside, path));
    if renamed.is_err() {
        let _ = fs::remove_file(&beside);
    }
    renamed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_replaced_as_a_whole_and_nothing_is_left_beside_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("swaptune.prom");
        let target = dir.path().join("elsewhere");
        fs::write(&target, "kept").unwrap();
        std::os::unix::fs::symlink(&target, dir.path().join(".swaptune.prom.new")).unwrap();
        replace(&path, "a 1\n").unwrap();
        replace(&path, "a 2\n").unwrap();
        assert_eq!((fs::read_to_string(&path).unwrap(), fs::read_to_string(&target).unwrap()), ("a 2\n".into(), "kept".into()));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
        assert!(replace(&dir.path().join("none/a.prom"), "").is_err());
        assert!(replace(Path::new("/"), "").is_err());
    }
}
