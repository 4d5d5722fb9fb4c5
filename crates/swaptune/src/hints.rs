//! Every command and flag that a text of the program names exists: hints, cures, help, notes, and the guides.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use clap::{Command, CommandFactory, Parser};
use swaptune_core::settings::Settings;

use crate::cli::Cli;

/// Words after `swaptune` that begin a sentence and no command.
const VERBS: &[&str] = &["sets", "runs", "set", "made", "writes", "itself"];
/// Flags of other programs that texts of ours name.
const OTHERS: &[&str] = &["--fail-swap-on", "--kubelet-arg", "--config-dir", "--verify"];
/// Programs that are named with flags of their own.
const PROGRAMS: &[&str] = &[
    "blockdev",
    "ansible-playbook",
    "dracut",
    "sysctl",
    "systemd-tmpfiles",
    "systemctl",
    "findmnt",
    "cryptsetup",
    "fio",
    "mkswap",
    "zramctl",
    "lsblk",
    "journalctl",
    "cargo",
    "swapon",
    "damo",
    "systemd-run",
];

/// A text and where it stands.
struct Text {
    place: String,
    text: String,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn files(folder: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if path.is_dir() {
            if !matches!(name.as_str(), "tests" | "cases") {
                files(&path, ending, found);
            }
        } else if name.ends_with(ending)
            && !matches!(name.as_str(), "tests.rs" | "testing.rs" | "hints.rs")
            && !name.ends_with("_tests.rs")
        {
            found.push(path);
        }
    }
}

/// Literals of all sources but tests, and what becomes help.
fn texts() -> Vec<Text> {
    let mut paths = Vec::new();
    for room in ["core", "tiers", "host", "bench", "swaptune"] {
        files(&root().join("crates").join(room).join("src"), ".rs", &mut paths);
    }
    assert!(paths.len() > 300, "only {} sources", paths.len());
    let mut texts = Vec::new();
    for path in paths {
        let source = fs::read_to_string(&path).unwrap();
        let code = source.split("#[cfg(test)]\nmod tests {").next().unwrap();
        let place = path.display().to_string().split("/../../").last().unwrap().to_owned();
        if place.contains("swaptune/src/cli") {
            let help = code.lines().filter_map(|line| line.trim().strip_prefix("/// "));
            texts.extend(help.map(|line| Text { place: place.clone(), text: line.to_owned() }));
        }
        texts.extend(literals(code).into_iter().map(|text| Text { place: place.clone(), text }));
    }
    texts
}

/// The string literals of a source, escapes resolved.
fn literals(code: &str) -> Vec<String> {
    let letters: Vec<char> = code.chars().collect();
    let (mut found, mut at) = (Vec::new(), 0);
    let get = |at: usize| letters.get(at).copied().unwrap_or('\0');
    while at < letters.len() {
        match (get(at), get(at + 1)) {
            ('/', '/') => at += letters[at..].iter().position(|letter| *letter == '\n').unwrap_or(letters.len() - at),
            ('\'', '\\') => at += 2 + letters[at + 2..].iter().skip(1).position(|letter| *letter == '\'').unwrap_or(0) + 2,
            ('\'', _) if get(at + 2) == '\'' => at += 3,
            ('r', '"' | '#') if !get(at.wrapping_sub(1)).is_alphanumeric() => {
                let hashes = letters[at + 1..].iter().take_while(|letter| **letter == '#').count();
                let start = at + 2 + hashes;
                let end: String = std::iter::once('"').chain(std::iter::repeat_n('#', hashes)).collect();
                let rest: String = letters.get(start..).unwrap_or_default().iter().collect();
                let Some(length) = rest.find(&end).filter(|_| get(start - 1) == '"') else {
                    at += 1;
                    continue;
                };
                found.push(rest[..length].to_owned());
                at = start + rest[..length].chars().count() + 1 + hashes;
            }
            ('"', _) => {
                let (text, next) = literal(&letters, at + 1);
                found.push(text);
                at = next;
            }
            _ => at += 1,
        }
    }
    found
}

/// One literal from after its quote, and where the source goes on.
fn literal(letters: &[char], mut at: usize) -> (String, usize) {
    let mut text = String::new();
    while let Some(letter) = letters.get(at) {
        match (letter, letters.get(at + 1)) {
            ('"', _) => return (text, at + 1),
            ('\\', Some('\n')) => at += 1 + letters[at + 1..].iter().take_while(|letter| letter.is_whitespace()).count(),
            ('\\', Some(escaped)) => {
                text.push(if *escaped == 'n' { '\n' } else { *escaped });
                at += 2;
            }
            (letter, _) => {
                text.push(*letter);
                at += 1;
            }
        }
    }
    (text, at)
}

/// A place in a text that names this program: what follows it, whether it must be a command, and where it ends.
struct Mention<'a> {
    words: &'a str,
    strict: bool,
    end: usize,
}

fn mentions(text: &str) -> Vec<Mention<'_>> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices("swaptune ") {
        let before = &text[..at];
        let bare = before.strip_suffix("sudo ").unwrap_or(before);
        let quoted = bare.ends_with('`');
        if !(bare.is_empty() || quoted || bare.ends_with([' ', '\n', '(', '"', '$'])) {
            continue;
        }
        let start = at + "swaptune ".len();
        let ends =
            if quoted { vec!["`"] } else { vec!["\n", "  ", "`", " && ", " || ", " | ", ";", ", ", ": ", ")", " > ", " #"] };
        let rest = &text[start..];
        let length = ends.iter().filter_map(|end| rest.find(end)).min().unwrap_or(rest.len());
        let strict = quoted || bare.is_empty() || before.len() != bare.len();
        found.push(Mention { words: &rest[..length], strict, end: start + length });
    }
    found
}

/// Every long flag of a command and of those above it.
fn flags(command: &Command) -> BTreeSet<String> {
    let longs = command.get_arguments().flat_map(|argument| {
        argument.get_long_and_visible_aliases().unwrap_or_default().into_iter().map(|long| format!("--{long}"))
    });
    longs.chain(["--help".to_owned(), "--version".to_owned()]).collect()
}

fn all_flags(command: &Command) -> BTreeSet<String> {
    flags(command).into_iter().chain(command.get_subcommands().flat_map(all_flags)).collect()
}

/// What is wrong with what follows `swaptune`.
fn wrong(words: &str, strict: bool) -> Option<String> {
    let cli = Cli::command();
    let (mut command, mut known) = (&cli, flags(&cli));
    let (mut set, simulates) = (false, words.split_whitespace().next() == Some("simulate"));
    for (number, word) in words.split_whitespace().enumerate() {
        let word = word.trim_matches(['`', ',', '.', ';', ':', ')', '\'', '"', '…']);
        // What follows is a command of the user's own.
        if word == "--" && command.get_arguments().any(clap::Arg::is_last_set) {
            return None;
        }
        if word.starts_with("--") {
            let name = word.split('=').next().unwrap_or_default();
            if !known.contains(name) {
                return Some(format!("`{}` has no {name}", command.get_name()));
            }
        } else if let Some(below) = command.get_subcommands().find(|below| below.get_name() == word) {
            command = below;
            known.extend(flags(below));
        } else if number == 0 && !VERBS.contains(&word) && (strict || words.contains("--")) && !word.is_empty() {
            return Some(format!("there is no command `{word}`"));
        }
        if set && !simulates && !word.contains(['{', '=']) {
            return Some(format!("--set {word} lacks its value"));
        }
        if set && !simulates && !word.contains('{') && Settings::from_flag(word).is_err() {
            return Some(format!("--set {word} is no setting"));
        }
        set = word == "--set";
    }
    None
}

/// The command whose file this is: its texts speak of its own flags. A file of helpers speaks of the flags of all commands in its folder.
fn of_file(place: &str) -> Option<(Vec<String>, BTreeSet<String>)> {
    let name = place.split_once("swaptune/src/cmd/")?.1.trim_end_matches(".rs").trim_end_matches("/mod");
    let words: Vec<String> = name.split('/').map(str::to_owned).collect();
    let cli = Cli::command();
    let mut command = &cli;
    let (mut path, mut known) = (Vec::new(), flags(command));
    for word in &words {
        let Some(below) = command.get_subcommands().find(|below| below.get_name() == *word) else { break };
        command = below;
        known.extend(flags(command));
        path.push(word.clone());
    }
    if path.len() < words.len() {
        known.extend(all_flags(command));
    }
    (!path.is_empty()).then_some((path, known))
}

/// Flags that stand outside a command, with the words before them.
fn bare_flags(text: &str) -> Vec<(String, String)> {
    let named: Vec<usize> = mentions(text).iter().map(|mention| mention.end).collect();
    let starts: Vec<usize> = text.match_indices("swaptune ").map(|(at, _)| at).collect();
    let inside = |at: usize| starts.iter().zip(&named).any(|(start, end)| (*start..*end).contains(&at));
    let is_word = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
    let found = text.match_indices("--").filter(|(at, _)| {
        let before = text[..*at].chars().next_back();
        let after = text[at + 2..].chars().next();
        before.is_none_or(|letter| letter.is_whitespace() || "`(\"".contains(letter))
            && after.is_some_and(|letter| letter.is_ascii_lowercase())
    });
    let found = found.filter(|(at, _)| !inside(*at)).map(|(at, _)| {
        let rest = &text[at..];
        let length = rest.find(|letter| !is_word(letter)).unwrap_or(rest.len());
        let before: String = text[..at].chars().rev().take(40).collect::<Vec<_>>().into_iter().rev().collect();
        (rest[..length].trim_end_matches('-').to_owned(), before)
    });
    found.collect()
}

#[test]
fn every_command_that_a_text_names_exists() {
    let (mut faults, mut seen) = (Vec::new(), 0);
    for Text { place, text } in texts() {
        for mention in mentions(&text) {
            seen += 1;
            if let Some(why) = wrong(mention.words, mention.strict) {
                faults.push(format!("{place}: swaptune {}: {why}", mention.words));
            }
        }
    }
    assert!(seen > 150, "only {seen} commands were found");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_flag_that_a_sentence_names_exists() {
    let (all, mut faults, mut seen) = (all_flags(&Cli::command()), Vec::new(), 0);
    for Text { place, text } in texts().into_iter().filter(|text| text.text.contains(char::is_whitespace)) {
        let own = of_file(&place);
        for (flag, before) in bare_flags(&text) {
            seen += 1;
            if OTHERS.contains(&flag.as_str()) || PROGRAMS.iter().any(|program| before.contains(program)) {
                continue;
            }
            let (name, known) = own.as_ref().map_or((String::new(), &all), |(words, known)| (words.join(" "), known));
            if !known.contains(&flag) {
                faults.push(format!("{place}: {text:?}: `swaptune {name}` has no {flag}"));
            }
        }
    }
    assert!(seen > 60, "only {seen} flags were found");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_example_of_help_can_be_typed() {
    fn of(command: &Command, found: &mut Vec<String>) {
        found.extend(
            command.get_after_help().into_iter().flat_map(|help| help.to_string().lines().map(str::to_owned).collect::<Vec<_>>()),
        );
        command.get_subcommands().for_each(|below| of(below, found));
    }
    let mut lines = Vec::new();
    of(&Cli::command(), &mut lines);
    let mut seen = 0;
    for line in lines.iter().filter_map(|line| line.strip_prefix("  ")) {
        let line = line.strip_prefix("sudo ").unwrap_or(line);
        let Some(rest) = line.strip_prefix("swaptune ") else { continue };
        let end = ["  ", " | ", " || ", " > "].iter().filter_map(|end| rest.find(end)).min().unwrap_or(rest.len());
        let words = std::iter::once("swaptune").chain(rest[..end].split_whitespace());
        if let Err(error) = Cli::try_parse_from(words) {
            panic!("{line}: {error}");
        }
        seen += 1;
    }
    assert!(seen > 40, "only {seen} examples");
}

#[test]
fn every_command_of_the_documents_exists() {
    let mut paths = vec![root().join("README.md"), root().join("SAFETY.md")];
    files(&root().join("docs/guides"), ".md", &mut paths);
    let (mut faults, mut seen) = (Vec::new(), 0);
    for path in paths {
        let text = fs::read_to_string(&path).unwrap();
        for mention in text.lines().flat_map(mentions) {
            seen += 1;
            let why = wrong(mention.words, mention.strict && mention.words.contains("--"));
            faults.extend(why.map(|why| format!("{}: swaptune {}: {why}", path.display(), mention.words)));
        }
    }
    assert!(seen > 80, "only {seen} commands were found");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Folders with documents that texts name: the deb, the rpm and `make install` have them.
const DOCUMENTS: [&str; 4] = ["docs/guides/", "docs/reference/", "docs/evidence/", "scenarios/"];

#[test]
fn pages_and_targets_that_a_text_names_exist() {
    let makefile = fs::read_to_string(root().join("Makefile")).unwrap();
    let packages = fs::read_to_string(root().join("crates/swaptune/Cargo.toml")).unwrap();
    let mut faults = Vec::new();
    for Text { place, text } in texts() {
        // swaptune(8) is made from the command line.
        if text.contains("swaptune(5)") && !root().join("docs/man/swaptune.5").exists() {
            faults.push(format!("{place}: there is no page swaptune(5)"));
        }
        for (at, folder) in DOCUMENTS.iter().flat_map(|folder| text.match_indices(folder)) {
            if packages.matches(&format!("../../{folder}*")).count() != 2 || !makefile.contains(&format!(" {folder}*")) {
                faults.push(format!("{place}: no package has {folder}"));
            }
            let name: String =
                text[at..].chars().take_while(|letter| letter.is_ascii_alphanumeric() || "/-.".contains(*letter)).collect();
            let name = name.trim_end_matches('.');
            // An example may name all of a folder.
            if !root().join(name).exists() && name != "scenarios/" {
                faults.push(format!("{place}: there is no {name}"));
            }
        }
        if let Some((_, rest)) = text.split_once("sudo make ") {
            let target: String = rest.chars().take_while(|letter| letter.is_ascii_lowercase() || *letter == '-').collect();
            if !makefile.lines().any(|line| line.starts_with(&format!("{target}:"))) {
                faults.push(format!("{place}: there is no target {target}"));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Terms that texts of the program must find in the glossary.
const TERMS: [&str; 10] = [
    "accept threshold",
    "load",
    "page-cluster",
    "pool limit",
    "refault",
    "same-filled",
    "shrinker",
    "store",
    "write-back",
    "zero map",
];

/// Each term of the glossary is one that the program or a guide uses, and those that newcomers ask for are there.
#[test]
fn the_glossary_has_the_terms_of_the_program() {
    let page = fs::read_to_string(root().join("docs/reference/glossary.md")).unwrap();
    let row = |line: &str| Some(line.strip_prefix("| ")?.split_once(" |")?.0.to_owned()).filter(|term| term != "term");
    let terms: Vec<String> = page.lines().filter_map(row).collect();
    assert!(terms.is_sorted() && terms.len() > 20, "{terms:?}");
    let missing: Vec<&&str> = TERMS.iter().filter(|term| !terms.iter().any(|known| known == *term)).collect();
    assert!(missing.is_empty(), "not in the glossary: {missing:?}");
    let mut guides = Vec::new();
    files(&root().join("docs/guides"), ".md", &mut guides);
    let guides = guides.iter().map(|path| fs::read_to_string(path).unwrap());
    let texts: Vec<String> = texts().into_iter().map(|text| text.text).chain(guides).map(|text| text.to_lowercase()).collect();
    let unused: Vec<&String> = terms.iter().filter(|term| !texts.iter().any(|text| text.contains(term.as_str()))).collect();
    assert!(unused.is_empty(), "in no text of the program and in no guide: {unused:?}");
}

#[test]
fn a_hint_at_what_does_not_exist_is_seen() {
    let faulty = |text: &str| mentions(text).iter().any(|mention| wrong(mention.words, mention.strict).is_some());
    for text in [
        "type `swaptune plan --wipes X`",
        "swaptune frobnicate",
        "`sudo swaptune rollback --boot`",
        "swaptune apply --set zswap.pol=3G",
        "swaptune apply --set vm.swappiness",
    ] {
        assert!(faulty(text), "{text}");
    }
    for text in
        ["swaptune sets it", "`swaptune plan --wipe {path}`", "swaptune apply --set vm.swappiness={}", "what swaptune does"]
    {
        assert!(!faulty(text), "{text}");
    }
    let flag = |text: &str| bare_flags(text).into_iter().map(|(flag, _)| flag).collect::<Vec<_>>();
    assert_eq!(flag("add --boot, or `swaptune plan --wipe X`, not --at-all"), ["--boot", "--at-all"]);
    assert_eq!(literals("// \"no\"\nlet a = \"b \\\n   c\"; 'x' '\"' r#\"d\"e\"#"), ["b c", "d\"e"]);
    let command = |place: &str| of_file(place).map(|(words, _)| words.join(" "));
    assert_eq!(command("crates/swaptune/src/cmd/bench/disk.rs"), Some("bench disk".to_owned()));
    assert_eq!(command("crates/swaptune/src/cmd/simulate/request.rs"), Some("simulate".to_owned()));
    assert_eq!(command("crates/swaptune/src/cmd/change.rs"), None);
}
