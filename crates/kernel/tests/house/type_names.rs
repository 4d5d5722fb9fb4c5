//! One word for one thing: a type has a name that no other type of any crate has, so that a search for it finds it and nothing else, and
//! a name in an import, an error or a review says which it is. Packages of tests name as they like.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::sources::{crates, root, sources};

/// Where each name is defined.
type Definitions = BTreeMap<String, Vec<PathBuf>>;

#[test]
fn a_name_is_that_of_one_type() {
    let mut all = Definitions::new();
    for folder in crates(root()).iter().filter(|folder| !folder.starts_with(root().join("tests"))) {
        let src = folder.join("src");
        for (file, text) in sources(&src) {
            let path = src.strip_prefix(root()).unwrap().join(file);
            add(&mut all, &path, &text);
        }
    }
    assert!(all.len() > 500, "only {} types found", all.len());
    assert_eq!(repeated(&all), Vec::<String>::new(), "give each a name that says what sets it apart");
}

#[test]
fn a_repeated_name_is_found_and_printed() {
    let mut all = Definitions::new();
    add(&mut all, Path::new("a.rs"), "pub struct Row;\n    enum Kind {}\ntype Pages = u64;\nimpl X {\n    type Item = u8;\n}\n");
    add(&mut all, Path::new("b.rs"), "pub(super) trait Kinds {\n    type Item;\n}\nstructure(Row);\nmy_struct Row\n");
    assert_eq!(repeated(&all), Vec::<String>::new());
    add(&mut all, Path::new("b.rs"), "mod inner {\n    pub(in crate::b) struct Row<'a>(&'a str);\n}\npub type Kind = u8;\n");
    assert_eq!(repeated(&all), ["Kind (a.rs, b.rs)", "Row (a.rs, b.rs)"]);
}

/// Notes what a file defines. Associated types are no names of their own: they are indented, as aliases are not.
fn add(all: &mut Definitions, file: &Path, text: &str) {
    for line in text.lines() {
        let item = without_visibility(line.trim_start());
        let keywords: &[&str] =
            if line.starts_with(' ') { &["struct ", "enum ", "trait "] } else { &["struct ", "enum ", "trait ", "type "] };
        let Some(rest) = keywords.iter().find_map(|word| item.strip_prefix(word)) else { continue };
        let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        if !name.is_empty() {
            all.entry(name).or_default().push(file.to_owned());
        }
    }
}

/// An item without its `pub` or `pub(…)`.
fn without_visibility(item: &str) -> &str {
    let Some(rest) = item.strip_prefix("pub") else { return item };
    match rest.strip_prefix('(').and_then(|inside| inside.split_once(')')) {
        Some((_, rest)) => rest.trim_start(),
        None => rest.trim_start(),
    }
}

/// Names of more than one type, with their files.
fn repeated(all: &Definitions) -> Vec<String> {
    let twice = all.iter().filter(|(_, files)| files.len() > 1);
    let list = |files: &[PathBuf]| files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>().join(", ");
    twice.map(|(name, files)| format!("{name} ({})", list(files))).collect()
}
