//! Small trees for tests.

use std::fs;
use std::os::unix::fs::symlink;

use tempfile::TempDir;

/// A folder with these files; a text that starts with `-> ` makes a link.
pub fn tree(files: &[(&str, &str)]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        match text.strip_prefix("-> ") {
            Some(target) => symlink(target, path).unwrap(),
            None => fs::write(path, text).unwrap(),
        }
    }
    dir
}
