//! The documents as a book: its summary lists every page once, no link leads nowhere, and findings and keys are those of the program.
//!
//! mdbook would build a site with holes and say nothing of most of them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::{Component, Path, PathBuf};

use swaptune_core::adopt::IMPORTERS;
use swaptune_core::findings::{self, Severity};
use swaptune_core::settings::read_toml;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &Path) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Documents of a folder, as paths below the repository.
fn markdown(folder: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join(folder)).expect(folder).map(|entry| entry.expect("an entry"));
    let mut paths: Vec<PathBuf> = Vec::new();
    for entry in entries {
        let path = Path::new(folder).join(entry.file_name());
        if path.extension().is_some_and(|end| end == "md") {
            paths.push(path);
        } else if folder.starts_with("docs") && entry.path().is_dir() {
            paths.extend(markdown(&path.to_string_lossy()));
        }
    }
    paths.sort();
    paths
}

/// Everything that is written for readers: docs and what lies at the top.
fn documents() -> Vec<PathBuf> {
    let top = markdown("").into_iter();
    let beside = ["tests/vm/README.md", "crates/validate/README.md"].map(PathBuf::from);
    markdown("docs").into_iter().chain(top).chain(beside).collect()
}

/// The text without code, in which brackets mean something else.
fn prose(text: &str) -> String {
    let mut fenced = false;
    let mut prose = String::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            prose.extend(line.split('`').step_by(2));
            prose.push('\n');
        }
    }
    prose
}

/// Targets of links and pictures that lead to a file or a heading of the repository.
fn links(text: &str) -> Vec<String> {
    let prose = prose(text);
    let targets = prose.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next());
    targets.filter(|target| !target.contains("://") && !target.starts_with("mailto:")).map(str::to_owned).collect()
}

/// The anchors of a page's headings, as GitHub and mdBook make them.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut seen: HashMap<String, usize> = HashMap::new();
    let mut fenced = false;
    let mut anchors = BTreeSet::new();
    for line in text.lines() {
        fenced ^= line.trim_start().starts_with("```");
        let title = line.trim_start_matches('#');
        if fenced || title.len() == line.len() || !title.starts_with(' ') {
            continue;
        }
        let name = anchor(title.trim());
        let before = seen.entry(name.clone()).or_default();
        anchors.insert(if *before == 0 { name } else { format!("{name}-{before}") });
        *before += 1;
    }
    anchors
}

fn anchor(title: &str) -> String {
    let kept = title.chars().filter(|letter| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_'));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

/// A path without `..`; nothing where it leaves the repository.
fn plain(path: &Path) -> Option<PathBuf> {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => plain.push(name),
            Component::ParentDir => plain.pop().then_some(())?,
            _ => {}
        }
    }
    Some(plain)
}

/// What is wrong with a link of a page; nothing where it leads somewhere.
fn fault(page: &Path, link: &str) -> Option<String> {
    let (file, heading) = link.split_once('#').unwrap_or((link, ""));
    let beside = page.parent().unwrap_or(Path::new(""));
    let Some(target) = (if file.is_empty() { Some(page.to_owned()) } else { plain(&beside.join(file)) }) else {
        return Some("leaves the repository".into());
    };
    if !root().join(&target).exists() {
        return Some("is not there".into());
    }
    if page.starts_with("docs") && !target.starts_with("docs") {
        return Some("leaves docs, which is all that the site has".into());
    }
    (!heading.is_empty() && !anchors(&read(&target)).contains(heading)).then(|| "has no such heading".into())
}

#[test]
fn every_link_leads_somewhere() {
    let mut count = 0;
    let mut wrong = Vec::new();
    for page in documents() {
        for link in links(&read(&page)) {
            count += 1;
            wrong.extend(fault(&page, &link).map(|why| format!("{}: {link} {why}", page.display())));
        }
    }
    assert!(count > 150, "{count} links: are they still found?");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_summary_lists_every_page_once() {
    let summary = Path::new("docs/SUMMARY.md");
    let mut listed: BTreeMap<PathBuf, usize> = BTreeMap::new();
    let links = links(&read(summary));
    // mdBook copies the first page to index.html: from a folder its links would lead nowhere there.
    assert_eq!(links.first().map(String::as_str), Some("README.md"));
    for link in links {
        *listed.entry(Path::new("docs").join(link)).or_default() += 1;
    }
    let twice: Vec<_> = listed.iter().filter(|(_, times)| **times > 1).collect();
    assert!(twice.is_empty(), "more than once in {}: {twice:?}", summary.display());
    let pages = markdown("docs").into_iter().filter(|page| page != summary);
    let missing: Vec<_> = pages.filter(|page| !listed.contains_key(page)).collect();
    assert!(missing.is_empty(), "not in {}: {missing:?}", summary.display());
}

/// Words between backticks of the column of findings, in every table that has one.
fn named_findings(text: &str) -> BTreeSet<String> {
    let rows = text.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").nth(1));
    rows.flat_map(|cell| cell.split('`').skip(1).step_by(2)).map(str::to_owned).collect()
}

#[test]
fn troubleshooting_names_findings_that_there_are_and_every_error() {
    let named = named_findings(&read(Path::new("docs/guides/troubleshooting.md")));
    let codes: BTreeSet<&str> = findings::all().map(|row| row.code).collect();
    let unknown: Vec<_> = named.iter().filter(|name| !codes.contains(name.as_str())).collect();
    assert!(unknown.is_empty(), "no findings of `swaptune verify`: {unknown:?}");
    let errors = findings::all().filter(|row| row.severity == Severity::Error);
    let missing: Vec<_> = errors.map(|row| row.code).filter(|code| !named.contains(*code)).collect();
    assert!(missing.is_empty(), "errors without a symptom in troubleshooting.md: {missing:?}");
}

/// Keys that a section of the configuration may have, as the error about one that it may not have lists them.
fn known_keys(section: &str) -> Vec<String> {
    let error = read_toml("x.toml", &format!("{section}\nqqqqqqqqqqqqqqqqqqqqqqqq = 1\n"), None).expect_err("no key");
    let error = error.to_string();
    let (_, known) = error.split_once("known are ").unwrap_or_else(|| panic!("{section}: {error}"));
    known.split(", ").map(str::to_owned).collect()
}

#[test]
fn the_guide_to_the_configuration_names_every_key() {
    let text = read(Path::new("docs/guides/configuration.md")) + &read(Path::new("docs/reference/keep.md"));
    let words: BTreeSet<&str> = text.split(|letter: char| !letter.is_alphanumeric() && letter != '_').collect();
    let sections = ["", "[zswap]", "[[swap]]", "[[zram]]", "[boot]", "[safety]", "[machine]", "[keep]"];
    let all = sections.iter().flat_map(|section| known_keys(section).into_iter().map(move |key| (section, key)));
    // What a profile says about its own values.
    let missing: Vec<_> = all.filter(|(_, key)| key != "remarks" && !words.contains(key.as_str())).collect();
    assert!(missing.is_empty(), "in no document: {missing:?}");
}

#[test]
fn the_guide_to_taking_over_lists_every_importer_in_its_order() {
    let text = read(Path::new("docs/guides/adopt.md"));
    let rows = text.lines().skip_while(|line| !line.starts_with("| importer |")).skip(2).take_while(|line| line.starts_with('|'));
    let told: Vec<(String, String)> = rows
        .map(|row| {
            let cells: Vec<String> = row.split('|').map(|cell| cell.trim().replace('`', "")).collect();
            (cells[1].clone(), cells[2].clone())
        })
        .collect();
    let importers = IMPORTERS.iter().map(|importer| (importer.name.to_owned(), importer.files.to_owned()));
    assert_eq!(told, importers.collect::<Vec<_>>());
}

#[test]
fn the_book_is_made_of_the_folder_docs() {
    let book: toml::Table = read(Path::new("docs/book.toml")).parse().expect("TOML");
    assert_eq!(book["book"]["src"].as_str(), Some("."));
    // Else README.md becomes index.html, and the links to it lead nowhere.
    assert_eq!(book["build"]["use-default-preprocessors"].as_bool(), Some(false));
}

#[test]
fn links_and_headings_are_found_as_readers_see_them() {
    let text = "a [b](c.md) ![d](e.svg) [f](https://g) `[h](i)` [`j`](k.md#l)\n```\n[m](n)\n```\n";
    assert_eq!(links(text), ["c.md", "e.svg", "k.md#l"]);
    let page = "# D7: how far, really\n## Same\n```\n# no\n```\n## Same\n#!/bin/sh\n### `zswap.pool_x`\n";
    assert_eq!(Vec::from_iter(anchors(page)), ["d7-how-far-really", "same", "same-1", "zswappool_x"]);
    let page = Path::new("docs/guides/installing.md");
    assert_eq!(fault(page, "watch.md"), None);
    assert_eq!(fault(page, "#removing"), None);
    assert_eq!(fault(page, "#nothing").as_deref(), Some("has no such heading"));
    assert_eq!(fault(page, "nothing.md").as_deref(), Some("is not there"));
    assert_eq!(fault(page, "../../README.md").as_deref(), Some("leaves docs, which is all that the site has"));
    assert_eq!(fault(page, "../../../x").as_deref(), Some("leaves the repository"));
}
