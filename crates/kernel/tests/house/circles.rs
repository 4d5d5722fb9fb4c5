//! Modules of one crate import in one direction: a circle means that none of its members can be read, tested or moved alone.
//!
//! The graph has the files and folders directly below `src` as its nodes. An edge is a path that begins with `crate::` or `super::`,
//! in a `use` or in the code. Tests do not count, they may look where they like; neither does the root of a crate, which names all.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};

use crate::sources::{crates, root, sources};

/// Crates that still have a circle. Each is to be taken apart; the test fails for a crate that is listed and has none any more.
const STILL_CIRCULAR: &[&str] = &[];

/// Which modules a module imports, and one file that does.
type Graph = BTreeMap<String, BTreeMap<String, PathBuf>>;

#[test]
fn modules_of_a_crate_import_in_one_direction() {
    let root = root();
    let mut wrong = Vec::new();
    for folder in crates(root) {
        let name = folder.strip_prefix(root).unwrap().display().to_string();
        match (circle(&graph(&folder.join("src"))), STILL_CIRCULAR.contains(&name.as_str())) {
            (Some(circle), false) => wrong.push(format!("{name}: {circle}")),
            (None, true) => wrong.push(format!("{name}: no circle any more, take it off STILL_CIRCULAR")),
            _ => {}
        }
    }
    assert!(wrong.is_empty(), "circles of imports:\n{}", wrong.join("\n"));
}

#[test]
fn a_circle_is_found_and_printed() {
    let dir = std::env::temp_dir().join(format!("swaptune-circles-{}", std::process::id()));
    let write = |name: &str, text: &str| {
        let path = dir.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("lib.rs", "mod a;\nmod b;\nmod c;\npub use c::{Size as Length, d::Deep};\n");
    write("a.rs", "use crate::{b::{self, X}, c};\n");
    write("b/mod.rs", "mod deep;\n// use crate::a;\n#[cfg(test)]\nmod tests {\n    use crate::a;\n}\n");
    write("b/deep.rs", "use super::X;\nuse super::super::Length;\n");
    write("c.rs", "#[cfg(test)]\nmod tests;\n");
    write("c/tests.rs", "use crate::b;\n");
    assert_eq!(circle(&graph(&dir)), None);
    write("c.rs", "fn f() -> crate::a::A {}\n#[cfg(test)]\nmod tests;\n");
    assert_eq!(circle(&graph(&dir)).unwrap(), "a → c → a (a.rs, c.rs)");
    write("a.rs", "use crate::b;\n");
    assert_eq!(circle(&graph(&dir)).unwrap(), "a → b → c → a (a.rs, b/deep.rs, c.rs)");
    fs::remove_dir_all(dir).unwrap();
}

/// The imports between the modules directly below a `src`.
fn graph(src: &Path) -> Graph {
    let files = sources(src);
    let modules: BTreeSet<String> = files.keys().filter_map(|file| module(file).into_iter().next()).collect();
    let names: BTreeMap<String, String> =
        ["lib.rs", "main.rs"].iter().filter_map(|root| files.get(Path::new(root))).flat_map(|text| reexported(text)).collect();
    let mut graph = Graph::new();
    for (file, text) in &files {
        let path = module(file);
        let Some(from) = path.first() else { continue };
        for name in imported(text, path.len()) {
            let to = if modules.contains(&name) { Some(&name) } else { names.get(&name) };
            if let Some(to) = to.filter(|to| modules.contains(*to) && *to != from) {
                graph.entry(from.clone()).or_default().entry(to.clone()).or_insert_with(|| file.clone());
            }
        }
    }
    graph
}

/// `a/b.rs` and `a/b/mod.rs` are `a`, `b`; the root of a crate is nothing.
fn module(file: &Path) -> Vec<String> {
    let mut path: Vec<String> = file.with_extension("").iter().map(|part| part.to_string_lossy().into_owned()).collect();
    if path.last().is_some_and(|last| last == "mod") || path == ["lib"] || path == ["main"] || path[0] == "bin" {
        path.pop();
    }
    path
}

/// Names at the root of the crate that a file `depth` modules deep mentions.
fn imported(text: &str, depth: usize) -> Vec<String> {
    let mut names = Vec::new();
    let is_whole = |at: usize| !text[..at].ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | ':'));
    for (at, word) in text.match_indices("crate::").filter(|(at, _)| is_whole(*at)) {
        names.extend(heads(&text[at + word.len()..]));
    }
    for (at, _) in text.match_indices("super::").filter(|(at, _)| is_whole(*at)) {
        let mut rest = &text[at..];
        let mut up = 0;
        while let Some(next) = rest.strip_prefix("super::") {
            (rest, up) = (next, up + 1);
        }
        if up >= depth {
            names.extend(heads(rest));
        }
    }
    names
}

/// The first names of `a::b`, or of each part of `{a::b, c}`.
fn heads(text: &str) -> Vec<String> {
    let head = |part: &str| part.trim().split(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap_or("").to_owned();
    let Some(group) = text.strip_prefix('{') else { return vec![head(text)] };
    let (mut depth, mut found, mut start) = (0, Vec::new(), 0);
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                found.push(head(&group[start..at]));
                start = at + 1;
                if c == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
    found
}

/// What the root of a crate gives another name to: `pub use units::Bytes`.
fn reexported(root: &str) -> Vec<(String, String)> {
    let uses = root.split("use ").skip(1).filter_map(|item| item.split_once(';')?.0.split_once("::"));
    let names = |module: &str, names: &str| -> Vec<(String, String)> {
        let words = names.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty());
        words.map(|word| (word.to_owned(), module.to_owned())).collect()
    };
    uses.flat_map(|(module, rest)| names(module.trim(), rest)).collect()
}

/// The shortest circle, as it is read: `a → b → a (files)`.
fn circle(graph: &Graph) -> Option<String> {
    let circles = graph.keys().filter_map(|start| back_to(graph, start));
    let shortest = circles.min_by_key(Vec::len)?;
    let files: Vec<String> = shortest.windows(2).map(|edge| graph[edge[0]][edge[1]].display().to_string()).collect();
    Some(format!("{} ({})", shortest.join(" → "), files.join(", ")))
}

/// The shortest way from a module to itself.
fn back_to<'a>(graph: &'a Graph, start: &'a str) -> Option<Vec<&'a str>> {
    let (mut seen, mut ways) = (BTreeSet::new(), VecDeque::from([vec![start]]));
    while let Some(way) = ways.pop_front() {
        for next in graph.get(*way.last()?).into_iter().flat_map(BTreeMap::keys) {
            let longer = [way.as_slice(), &[next.as_str()]].concat();
            if next == start {
                return Some(longer);
            }
            if seen.insert(next.as_str()) {
                ways.push_back(longer);
            }
        }
    }
    None
}
