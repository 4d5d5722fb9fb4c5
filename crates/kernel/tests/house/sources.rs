//! The sources that the rules of the house are held against: production code, as tests may look and name as they like.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The checkout.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap()
}

/// Folders of all packages of the workspace.
pub fn crates(root: &Path) -> Vec<PathBuf> {
    let folders = ["crates", "tests"].map(|folder| fs::read_dir(root.join(folder)).unwrap());
    let inner = folders.into_iter().flatten().map(|entry| entry.unwrap().path());
    let mut found: Vec<PathBuf> = inner.chain([root.join("xtask")]).filter(|path| path.join("Cargo.toml").is_file()).collect();
    found.sort();
    found
}

/// Production code by its path below `src`, without comments.
pub fn sources(src: &Path) -> BTreeMap<PathBuf, String> {
    let (mut files, mut tests, mut folders) = (BTreeMap::new(), Vec::new(), vec![src.to_owned()]);
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                tests.extend(test_modules(&path, &text));
                files.insert(path, code(&text));
            }
        }
    }
    let is_test = |path: &Path| tests.iter().any(|test| path.starts_with(test) || path == test.with_extension("rs"));
    let inside = |path: PathBuf| path.strip_prefix(src).unwrap().to_owned();
    files.into_iter().filter(|(path, _)| !is_test(path)).map(|(path, text)| (inside(path), text)).collect()
}

/// The folder in which a file's modules lie.
fn beside(file: &Path) -> PathBuf {
    let is_own_folder = ["mod.rs", "lib.rs", "main.rs"].iter().any(|name| file.ends_with(name));
    if is_own_folder { file.parent().unwrap().to_owned() } else { file.with_extension("") }
}

/// Where the modules of a file lie that are only compiled for tests, without the ending.
fn test_modules(file: &Path, text: &str) -> Vec<PathBuf> {
    let items = text.split("#[cfg(test)]").skip(1).filter_map(|rest| rest.trim_start().split(';').next());
    let of_item = |item: &str| {
        let name = item.rsplit_once("mod ").map(|(_, name)| name).filter(|name| !name.contains(['{', '\n', ' ']))?;
        Some(match item.split_once("path = \"").and_then(|(_, rest)| rest.split_once('"')) {
            Some((path, _)) => file.parent().unwrap().join(path).with_extension(""),
            None => beside(file).join(name),
        })
    };
    items.filter_map(of_item).collect()
}

fn code(text: &str) -> String {
    let production = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
    production.lines().map(|line| line.split("//").next().unwrap()).collect::<Vec<_>>().join("\n")
}
