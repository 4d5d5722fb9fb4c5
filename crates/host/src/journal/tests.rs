use super::*;
use crate::checkpoint::NoFaults;
use swaptune_core::change::Change;
use swaptune_core::plan::When;

fn steps() -> Vec<Step> {
    let change = Change::Knob {
        name: "vm.swappiness".into(),
        path: "/proc/sys/vm/swappiness".into(),
        before: "60".into(),
        after: "100".into(),
        fallbacks: Vec::new(),
    };
    let text = String::new;
    vec![Step { change, when: When::Now, reason: text(), evidence: text(), provenance: text(), risk: text() }]
}

/// A state folder with one finished transaction; its id.
fn one_transaction(state: &StateDir, machine: &Machine) -> String {
    state.create().unwrap();
    let beginning = Beginning {
        kind: TransactionKind::Apply,
        boot: "b".into(),
        profile: "auto",
        summary: "swappiness".into(),
        steps: steps(),
    };
    let mut journal = Journal::create(machine, &NoFaults, state, beginning).unwrap();
    let saved = Saved::Value { value: "60".into(), partner: None };
    journal.add(JournalRecord::Intent { seq: 0, saved }).unwrap();
    let outcome = StepOutcome::Changed { before: "60".into(), after: "100".into() };
    journal.add(JournalRecord::Done { seq: 0, outcome, outputs: Vec::new() }).unwrap();
    journal.add(JournalRecord::End { ending: Ending::Applied }).unwrap();
    journal.transaction().id.clone()
}

fn scratch() -> (tempfile::TempDir, Machine, StateDir) {
    let dir = tempfile::tempdir().unwrap();
    let machine = Machine::at(dir.path());
    let state = StateDir::persistent(&machine);
    (dir, machine, state)
}

#[test]
fn what_is_written_is_read() {
    let (_dir, machine, state) = scratch();
    assert!(history(&state).unwrap().is_empty() && pending(&state).unwrap().is_none());
    let id = one_transaction(&state, &machine);
    let read = transaction(&state, &id).unwrap().unwrap();
    assert_eq!((read.status, read.profile.as_str(), read.steps[0].is_standing()), (TransactionStatus::Applied, "auto", true));
    let row = &history(&state).unwrap()[0];
    assert_eq!((row.changes, row.left, row.summary.as_str()), (1, 0, "swappiness"));
    assert_eq!(newest_applied(&state, TransactionKind::Apply).unwrap().unwrap().id, id);
    assert!(newest_applied(&state, TransactionKind::Service).unwrap().is_none());
}

#[test]
fn an_id_sorts_after_all_that_were_begun_before() {
    let later = |newest: &str, drawn: &str| history::later(Some(newest.to_owned()), drawn.to_owned());
    assert_eq!(history::later(None, "20260102-030405-00ff".into()), "20260102-030405-00ff");
    assert_eq!(later("20260102-030404-ffff", "20260102-030405-0000"), "20260102-030405-0000");
    assert_eq!(later("20260102-030405-b31c", "20260102-030405-73a3"), "20260102-030405-b31d");
    assert_eq!(later("20260102-030405-ffff", "20250102-030405-73a3"), "20260102-030405-ffff0", "the clock was set back");
    for odd in ["zzz", "zzz-12", "zzz-00FF", "zzz-+0ff"] {
        assert!(later(odd, "20260102-030405-0000").as_str() > odd, "{odd}");
    }
    // However many begin in one second, and so with ends in any order.
    let (_dir, machine, state) = scratch();
    let begun: Vec<String> = (0..50).map(|_| one_transaction(&state, &machine)).collect();
    assert_eq!(history(&state).unwrap().into_iter().map(|row| row.id).collect::<Vec<_>>(), begun);
}

#[test]
fn a_journal_cut_anywhere_is_read_up_to_its_last_whole_line() {
    let (_dir, machine, state) = scratch();
    let id = one_transaction(&state, &machine);
    let whole = fs::read(state.journal(&id)).unwrap();
    for length in 0..whole.len() {
        fs::write(state.journal(&id), &whole[..length]).unwrap();
        let lines = whole[..length].iter().filter(|byte| **byte == b'\n').count();
        let read = transaction(&state, &id).unwrap();
        assert_eq!(read.is_some(), lines > 0, "{length}");
        assert_eq!(pending(&state).unwrap().is_some(), lines > 0, "{length}");
        assert_eq!(read.is_some_and(|read| read.steps[0].outcome.is_some()), lines > 2, "{length}");
        if lines > 0 {
            // Going on cuts the torn line off, so that the next one stands alone.
            let mut journal = Journal::open(&machine, &NoFaults, &state, &id).unwrap();
            journal.add(JournalRecord::Resume { time: "t".into(), boot: "c".into() }).unwrap();
            assert_eq!(transaction(&state, &id).unwrap().unwrap().boot, "c");
        }
    }
}

#[test]
fn what_is_not_understood_is_an_error_with_its_line() {
    let (_dir, machine, state) = scratch();
    let id = one_transaction(&state, &machine);
    let whole = fs::read_to_string(state.journal(&id)).unwrap();
    let lines: Vec<&str> = whole.lines().collect();
    let check = |line: usize, text: &str, words: &str| {
        let mut lines = lines.clone();
        lines[line - 1] = text;
        fs::write(state.journal(&id), lines.join("\n") + "\n").unwrap();
        let error = pending(&state).unwrap_err().to_string();
        assert!(error.contains(&format!("{id}.jsonl, line {line}: ")) && error.contains(words), "{error}");
        assert_eq!(history(&state).unwrap()[0].error.as_deref(), Some(error.as_str()));
    };
    check(2, "", "EOF");
    check(2, "{\"v\":1,\"record\":\"int", "while parsing a string");
    check(2, "\u{0}\u{0}", "expected value");
    check(3, "{\"record\":\"undone\",\"seq\":0}", "missing field `v`");
    check(3, "{\"v\":2,\"record\":\"undone\",\"seq\":0}", "version 2; this program reads version 1");
    check(3, "{\"v\":1,\"record\":\"celebrated\"}", "unknown variant `celebrated`");
    check(3, "{\"v\":1,\"record\":\"undone\",\"seq\":7}", "step 7 of 1");
    check(1, "{\"v\":1,\"record\":\"undone\",\"seq\":0}", "the first line must be `begin`");
    check(4, lines[0], "a second `begin`");
}

#[test]
fn a_journal_under_another_name_is_not_believed() {
    let (_dir, machine, state) = scratch();
    let id = one_transaction(&state, &machine);
    fs::rename(state.journal(&id), state.journal("20200101-000000-0000")).unwrap();
    let error = pending(&state).unwrap_err().to_string();
    assert!(error.contains(&format!("it is the journal of `{id}`")), "{error}");
    for id in ["", "..", "../lock", "a/b", "20200101-000000-0001"] {
        assert!(matches!(transaction(&state, id), Err(JournalError::Unknown { .. })), "{id}");
    }
}

#[test]
fn saved_bytes_are_checked_when_they_come_back() {
    let (_dir, machine, state) = scratch();
    let id = one_transaction(&state, &machine);
    let journal = Journal::open(&machine, &NoFaults, &state, &id).unwrap();
    let blob = journal.save(0, 0, b"bytes").unwrap();
    assert_eq!(state.load(&blob).unwrap(), b"bytes");
    let path = state.blobs().join(&blob.name);
    fs::write(&path, b"bytez").unwrap();
    assert!(state.load(&blob).unwrap_err().to_string().contains("their fingerprint differs"));
    fs::write(&path, b"byte").unwrap();
    assert!(state.load(&blob).unwrap_err().to_string().contains("4 bytes in place of 5"));
    let other = Blob { name: "20200101-000000-0000-0-0".into(), ..blob };
    fs::write(state.blobs().join(&other.name), b"bytes").unwrap();
    state.forget(&id);
    assert!(!path.exists() && state.load(&other).is_ok());
}

/// Lines of version 1 have grown optional fields: without them they are read, and they are not written where they say nothing.
#[test]
fn what_was_added_to_version_1_is_optional() {
    let (_dir, machine, state) = scratch();
    let id = one_transaction(&state, &machine);
    let left = |more: &str| {
        let mut text = fs::read_to_string(state.journal(&id)).unwrap();
        text += &format!("{{\"v\":1,\"record\":\"left\",\"seq\":0,\"found\":\"x\"{more}}}\n");
        let read = parse(&state.journal(&id), text.as_bytes()).unwrap().unwrap();
        (read.steps[0].left.clone(), read.steps[0].set_aside)
    };
    assert_eq!(left(""), (Some("x".into()), false));
    assert_eq!(left(",\"set_aside\":true"), (Some("x".into()), true));
    let plain = JournalRecord::Left { seq: 0, found: "x".into(), set_aside: false };
    assert!(!serde_json::to_string(&plain).unwrap().contains("set_aside"));
    let zram: Saved =
        serde_json::from_str(r#"{"kind":"zram","driver":true,"device":true,"algorithm":null,"state":null}"#).unwrap();
    assert!(matches!(&zram, Saved::Zram { head: None, .. }));
    assert!(!serde_json::to_string(&zram).unwrap().contains("head"));
}

#[test]
fn others_cannot_look_into_the_state_folder() {
    use std::os::unix::fs::PermissionsExt;
    let (_dir, machine, state) = scratch();
    let id = one_transaction(&state, &machine);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(state.path()), mode(&state.blobs()), mode(&state.journal(&id))), (0o700, 0o700, 0o600));
}

use record::Blob;
