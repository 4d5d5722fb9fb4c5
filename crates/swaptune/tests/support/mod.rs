//! Machines as folders: captured hosts, and variants of them that are a base and what differs.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use libtest_mimic::Failed;
use serde::Deserialize;
use tempfile::TempDir;

/// One machine of the fixtures.
#[derive(Clone, Debug)]
pub struct Host {
    /// Name of its folder.
    pub name: String,
    /// Its folder: `expected/` is in it.
    pub folder: PathBuf,
}

/// `variant.toml` of a folder in `tests/fixtures/variants`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Variant {
    /// What this machine is, for whoever reads the folder.
    #[serde(rename = "is")]
    _is: String,
    /// The captured host, or another variant, that it starts from.
    base: String,
    /// Paths that this machine does not have.
    #[serde(default)]
    remove: Vec<String>,
    /// Path → text of files that differ or are new.
    #[serde(default)]
    files: std::collections::BTreeMap<String, String>,
    /// Path → target of links.
    #[serde(default)]
    links: std::collections::BTreeMap<String, String>,
}

fn fixtures(kind: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures").join(kind)
}

/// Captured hosts, then variants, by name.
pub fn hosts() -> Vec<Host> {
    let mut hosts = Vec::new();
    for kind in ["hosts", "variants"] {
        let entries = fs::read_dir(fixtures(kind)).into_iter().flatten().flatten().filter(|entry| entry.path().is_dir());
        let mut folders: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        folders.sort();
        let name = |folder: &Path| folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        hosts.extend(folders.into_iter().map(|folder| Host { name: name(&folder), folder }));
    }
    hosts
}

impl Host {
    /// What a variant is; `None` for a captured host.
    fn variant(&self) -> Result<Option<Variant>, Failed> {
        let path = self.folder.join("variant.toml");
        if !path.exists() {
            return Ok(None);
        }
        Ok(Some(toml::from_str(&fs::read_to_string(&path)?).map_err(|error| format!("{}: {error}", path.display()))?))
    }

    /// The machine that a variant starts from.
    #[allow(dead_code, reason = "each test program that includes this file takes what it needs")]
    pub fn base(&self) -> Result<Option<Self>, Failed> {
        Ok(self.variant()?.map(|variant| Self::named(variant.base)))
    }

    fn named(name: String) -> Self {
        let captured = fixtures("hosts").join(&name);
        Self { folder: if captured.is_dir() { captured } else { fixtures("variants").join(&name) }, name }
    }

    /// A copy of the machine in a folder of its own.
    pub fn copy(&self) -> Result<TempDir, Failed> {
        let Some(variant) = self.variant()? else {
            let dir = tempfile::tempdir()?;
            copy_tree(&self.folder, dir.path())?;
            return Ok(dir);
        };
        let dir = Self::named(variant.base).copy()?;
        let place = |path: &String| dir.path().join(path.trim_start_matches('/'));
        for path in &variant.remove {
            let path = place(path);
            if path.is_dir() && !path.is_symlink() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) }
                .map_err(|error| format!("remove {}: {error}", path.display()))?;
        }
        for (path, text) in &variant.files {
            let path = place(path);
            fs::create_dir_all(path.parent().ok_or("a file has a folder")?)?;
            fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
        }
        for (path, target) in &variant.links {
            let path = place(path);
            fs::create_dir_all(path.parent().ok_or("a link has a folder")?)?;
            symlink(target, path)?;
        }
        Ok(dir)
    }
}

fn copy_tree(from: &Path, to: &Path) -> std::io::Result<()> {
    for entry in fs::read_dir(from)?.flatten().filter(|entry| entry.file_name() != "expected") {
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type()?;
        if kind.is_symlink() {
            symlink(fs::read_link(&path)?, &target)?;
        } else if kind.is_dir() {
            fs::create_dir_all(&target)?;
            copy_tree(&path, &target)?;
        } else {
            fs::copy(&path, &target)?;
        }
    }
    Ok(())
}
