//! Small trees for tests.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use tempfile::TempDir;

/// A folder with these files; a text that starts with `-> ` makes a link.
pub fn tree(files: &[(&str, &str)]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (path, text) in files {
        write(dir.path(), path, text);
    }
    dir
}

/// Puts a file below a folder, with the folders that it lies in; the same for links.
pub fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path.trim_start_matches('/'));
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    match text.strip_prefix("-> ") {
        Some(target) => symlink(target, path).unwrap(),
        None => fs::write(path, text).unwrap(),
    }
}
