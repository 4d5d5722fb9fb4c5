//! Journals that older versions wrote are read for ever: what they did must be taken back by newer ones.
//!
//! `tests/journals/v1/` holds one journal of each kind of ending. When the form of a line changes, its version is raised
//! and these files stay as they are. To add one: apply the rich plan of `fixture/` and copy what it wrote.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

mod fixture;

use std::fs;
use std::path::Path;

use fixture::*;
use swaptune_core::change::Change;
use swaptune_host::journal::{
    JournalError, Saved, StateDir, StepOutcome, Transaction, TransactionKind, TransactionStatus, fingerprint, history, parse,
    pending, transaction,
};

fn old() -> (tempfile::TempDir, StateDir) {
    let dir = scratch();
    let state = StateDir::at(dir.path());
    fs::create_dir(state.journals()).unwrap();
    for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/journals/v1")).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, state.journals().join(path.file_name().unwrap())).unwrap();
    }
    (dir, state)
}

#[test]
fn every_ending_of_version_1_is_read() {
    let (_dir, state) = old();
    let rows = history(&state).unwrap();
    let statuses: Vec<_> = rows.iter().map(|row| row.status.unwrap_or_else(|| panic!("{row:?}"))).collect();
    use TransactionStatus::{Applied, Reverted, RolledBack, Undoing, Unfinished};
    assert_eq!(statuses, [Applied, RolledBack, Reverted, Unfinished, Undoing]);
    assert!(pending(&state).unwrap().is_some());
}

#[test]
fn every_kind_of_saved_state_of_version_1_is_read() {
    let (_dir, state) = old();
    let id = &history(&state).unwrap()[0].id;
    let applied = transaction(&state, id).unwrap().unwrap();
    assert_eq!((applied.kind, applied.profile.as_str(), applied.steps.len()), (TransactionKind::Apply, "test", 29));
    let saved: Vec<&Saved> = applied.steps.iter().filter_map(|step| step.saved.as_ref()).collect();
    assert_eq!(saved[0], &Saved::Value { value: "lzo".into(), partner: None });
    for kind in ["Value", "Ranges", "Area", "SwapFile", "Zram", "File", "Link", "Outputs", "Device", "Key", "Mapping"] {
        assert!(saved.iter().any(|saved| format!("{saved:?}").starts_with(kind)), "{kind}");
    }
    let skipped = applied.steps.iter().filter(|step| matches!(step.outcome, Some(StepOutcome::Skipped { .. })));
    assert_eq!(skipped.count(), 1);
    assert!(applied.steps.iter().any(|step| !step.outputs.is_empty()));
}

fn documented(name: &str, text: &str) -> Result<Option<Transaction>, JournalError> {
    parse(Path::new(name), text.as_bytes())
}

#[test]
fn the_journal_of_the_page_about_journals_is_read_as_it_says() {
    let page = page();
    let example = page.split("```jsonl\n").nth(1).unwrap().split("```").next().unwrap();
    let read = documented("example", example).unwrap().unwrap();
    assert_eq!((read.status, read.steps.len(), read.undo_asked), (TransactionStatus::RolledBack, 2, true));
    assert!(read.steps.iter().all(|step| step.saved.is_some() && step.undone));
    let Change::File { before: Some(text), .. } = &read.steps[1].step.change else { panic!("{:?}", read.steps[1]) };
    let Some(Saved::File { file: Some(file), .. }) = &read.steps[1].saved else { panic!("{:?}", read.steps[1]) };
    assert_eq!((text.len() as u64, fingerprint(text.as_bytes())), (file.blob.length, file.blob.print.clone()));

    let torn = documented("torn", &example[..example.len() - 10]).unwrap().unwrap();
    assert_eq!(torn.status, TransactionStatus::Undoing, "a line without its end tells nothing");
    assert_eq!(documented("begun", &example[..100]).unwrap(), None, "nothing was changed before the first line was whole");
    let newer = documented("newer", &example.replacen("\"v\":1", "\"v\":2", 1)).unwrap_err();
    assert_eq!(newer.to_string(), "newer, line 1: version 2; this program reads version 1");
    assert!(page.contains("`version 2; this program reads version 1`"));
    let more = documented("more", &example.replace("\"seq\":0", "\"unheard\":[],\"seq\":0")).unwrap().unwrap();
    assert_eq!(more.steps, read.steps, "a field that is not known is passed over");
    assert!(documented("other", &example.replace("\"undone\"", "\"unheard\"")).is_err());
}

#[test]
fn the_page_about_journals_names_every_word_of_them() {
    let page = page();
    let (_dir, state) = old();
    for row in history(&state).unwrap() {
        let text = fs::read_to_string(state.journal(&row.id)).unwrap();
        for key in ["record", "kind", "is", "when", "ending"] {
            let key_and_quote = format!("\"{key}\":\"");
            let words = text.split(&key_and_quote).skip(1).filter_map(|rest| rest.split('"').next());
            words.for_each(|word| assert!(page.contains(&format!("`{word}`")), "{key}: {word}"));
        }
    }
}

fn page() -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/journal.md")).unwrap()
}

/// What is written today has the same endings. `SWAPTUNE_ACCEPT=1` keeps it, for when the form of the lines has changed.
#[test]
fn journals_of_today_are_read_alike() {
    if std::env::var_os("SWAPTUNE_ACCEPT").is_some() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/journals/v1");
        fs::create_dir_all(&folder).unwrap();
        return write_journals(&folder);
    }
    let (dir, old) = old();
    let today = StateDir::at(dir.path().join("today"));
    fs::create_dir_all(today.journals()).unwrap();
    write_journals(&today.journals());
    let endings = |state: &StateDir| history(state).unwrap().into_iter().map(|row| (row.status, row.changes)).collect::<Vec<_>>();
    assert_eq!(endings(&today), endings(&old));
}

/// One journal of each kind of ending.
fn write_journals(folder: &Path) {
    use swaptune_host::transaction::{ApplyOptions, execute, rollback};
    let keep = |fixture: &Fixture, number: u32, lines: usize| {
        let id = history(&fixture.state()).unwrap().pop().unwrap().id;
        let text = fs::read_to_string(fixture.state().journal(&id)).unwrap();
        let new = format!("20261121-00000{number}-0000");
        let lines = text.split_inclusive('\n').take(lines).collect::<String>().replace(&id, &new);
        fs::write(folder.join(format!("{new}.jsonl")), lines).unwrap();
    };
    let apply = |fixture: &Fixture, plan| {
        execute(&fixture.machine(), &fixture.kernel(), &fixture.state(), &plan, &ApplyOptions::default())
    };
    let fixture = Fixture::new();
    let id = apply(&fixture, rich_plan()).unwrap().id.unwrap();
    keep(&fixture, 1, usize::MAX);
    keep(&fixture, 4, 21);
    rollback(&fixture.machine(), &fixture.kernel(), &fixture.state(), &id, &ApplyOptions::default()).unwrap();
    keep(&fixture, 2, usize::MAX);
    let all = fs::read_to_string(fixture.state().journal(&id)).unwrap().lines().count();
    keep(&fixture, 5, all - 4);
    let fixture = Fixture::new();
    let changes = vec![
        knob("vm.swappiness", "/proc/sys/vm/swappiness", "60", "100"),
        knob("transparent_hugepage.enabled", "/sys/kernel/mm/transparent_hugepage/enabled", "always", "often"),
    ];
    apply(&fixture, plan(changes)).unwrap_err();
    keep(&fixture, 3, usize::MAX);
}
