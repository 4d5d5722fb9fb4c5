//! A folder as it is, to be compared with itself later.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use libtest_mimic::Failed;

/// Every path of a folder with what it is.
pub type Picture = BTreeMap<PathBuf, String>;

/// Adds what is in the folder `at`, by its path below `root`.
pub fn look(root: &Path, at: &Path, picture: &mut Picture) -> std::io::Result<()> {
    for entry in fs::read_dir(at)?.flatten() {
        let path = entry.path();
        let name = path.strip_prefix(root).unwrap_or(&path).to_owned();
        let kind = entry.file_type()?;
        let what = if kind.is_symlink() {
            format!("link to {}", fs::read_link(&path)?.display())
        } else if kind.is_dir() {
            look(root, &path, picture)?;
            "folder".into()
        } else {
            // Areas are large and sparse; whatever is written to them is written to their first page.
            let mut start = Vec::new();
            fs::File::open(&path)?.take(1 << 20).read_to_end(&mut start)?;
            let metadata = entry.metadata()?;
            format!("{:o} {} {}", metadata.permissions().mode() & 0o7777, metadata.len(), String::from_utf8_lossy(&start))
        };
        picture.insert(name, what);
    }
    Ok(())
}

/// Fails with the first path that differs.
pub fn same(left: &Picture, right: &Picture, when: &str) -> Result<(), Failed> {
    let keys = left.keys().chain(right.keys());
    match keys.into_iter().find(|path| left.get(*path) != right.get(*path)) {
        None => Ok(()),
        Some(path) => {
            let show = |picture: &Picture| picture.get(path).cloned().unwrap_or_else(|| "nothing".into());
            Err(format!("{when}: {} differs\n  before: {}\n  after:  {}", path.display(), show(left), show(right)).into())
        }
    }
}
