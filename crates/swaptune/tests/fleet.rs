//! `fleet plan` from facts of captured machines, as the program that is shipped reads them.

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode, Output};

use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::Value;

fn main() -> ExitCode {
    let trials = vec![
        Trial::test("machines_that_get_the_same_plan_are_one_group", groups),
        Trial::test("what_was_asked_for_holds_for_all_of_them", asked),
        Trial::test("what_cannot_be_read_is_named_and_the_others_are_planned_for", unread),
        Trial::test("what_is_wrong_for_all_is_an_error", wrong),
        Trial::test("what_machines_hold_is_summed_up", report),
        Trial::test("machines_of_one_name_are_told_apart_by_their_folder", folders),
        Trial::test("names_of_other_machines_do_nothing_to_a_terminal", hostile),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn swaptune(words: &[&str]) -> Result<Output, Failed> {
    Ok(Command::new(env!("CARGO_BIN_EXE_swaptune")).args(words).output()?)
}

/// What a command says of a captured machine, as JSON.
fn said(host: &str, command: &str) -> Result<Value, Failed> {
    let root = format!("{}/../../tests/fixtures/hosts/{host}", env!("CARGO_MANIFEST_DIR"));
    Ok(serde_json::from_slice(&swaptune(&["--root", &root, "--json", command])?.stdout)?)
}

fn facts(host: &str) -> Result<Value, Failed> {
    said(host, "inspect")
}

fn keep(folder: &Path, name: &str, facts: &Value) -> Result<(), Failed> {
    Ok(fs::write(folder.join(format!("{name}.json")), facts.to_string())?)
}

fn is(condition: bool, found: &impl std::fmt::Debug) -> Result<(), Failed> {
    if condition { Ok(()) } else { Err(format!("{found:#?}").into()) }
}

/// A hundred and twenty servers that differ in what does not matter, and one with an older kernel.
fn fleet(folder: &Path) -> Result<(), Failed> {
    let mut server = facts("debian13-6.12")?;
    for number in 0..120 {
        server["knobs"]["vm.swappiness"]["value"] = Value::from((40 + number % 3).to_string());
        keep(folder, &format!("web{number:03}"), &server)?;
    }
    keep(folder, "database", &facts("debian12-6.1")?)
}

fn groups() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    fleet(folder.path())?;
    let name = folder.path().display().to_string();
    let output = swaptune(&["fleet", "plan", &name, "--json"])?;
    let found: Value = serde_json::from_slice(&output.stdout)?;
    is(output.status.code() == Some(0), &found)?;
    let [all, first, second] = [&found["machines"], &found["groups"][0], &found["groups"][1]];
    is(all == 121 && found["groups"].as_array().map(Vec::len) == Some(2), &found)?;
    is(first["machines"] == 120 && first["examples"][0] == "web000", first)?;
    is(second["machines"] == 1 && second["examples"] == serde_json::json!(["database"]), second)?;
    for row in [first, second] {
        is(row["gain"]["planned"]["applications"].as_array().is_some_and(|seeds| !seeds.is_empty()), row)?;
        is(row["what"].as_array().is_some_and(|what| what.iter().any(|line| line == "zram on, priority 100")), row)?;
    }
    let text = String::from_utf8(swaptune(&["fleet", "plan", &name])?.stdout)?;
    is(text.starts_with("121 machines: 2 plans for 121."), &text)?;
    is(text.contains("Outliers, with a plan of fewer than 1 in 100: database (plan 2)"), &text)
}

fn asked() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    keep(folder.path(), "a", &facts("debian13-6.12")?)?;
    keep(folder.path(), "b", &facts("debian12-6.1")?)?;
    let files = ["a.json", "b.json"].map(|name| folder.path().join(name).display().to_string());
    let words = ["fleet", "plan", "--json", "--set", "vm.swappiness=77", &files[0], &files[1]];
    let found: Value = serde_json::from_slice(&swaptune(&words)?.stdout)?;
    let has = |row: &Value| row["what"].as_array().is_some_and(|what| what.iter().any(|line| line == "vm.swappiness = 77"));
    is(found["groups"].as_array().is_some_and(|groups| groups.iter().all(has)), &found)
}

fn unread() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    keep(folder.path(), "good", &facts("debian13-6.12")?)?;
    fs::write(folder.path().join("torn.json"), "{\"schema\":")?;
    keep(folder.path(), "old", &serde_json::json!({ "schema": 0 }))?;
    let output = swaptune(&["fleet", "plan", "--json", &folder.path().display().to_string()])?;
    let found: Value = serde_json::from_slice(&output.stdout)?;
    is(output.status.code() == Some(1) && found["groups"][0]["machines"] == 1, &found)?;
    let files: Vec<String> = found["unread"].as_array().into_iter().flatten().map(|unread| unread["file"].to_string()).collect();
    is(files.len() == 2 && files[0].contains("old.json") && files[1].contains("torn.json"), &files)
}

fn wrong() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let name = folder.path().display().to_string();
    let told = |words: &[&str], told: &str| -> Result<(), Failed> {
        let output = swaptune(&[&["fleet", "plan", &name], words].concat())?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        is(output.status.code() == Some(2) && said.contains(told), &said)
    };
    told(&[], "no file NAME.json in this folder")?;
    keep(folder.path(), "a", &facts("debian13-6.12")?)?;
    told(&["--profile", "fastest"], "fastest")?;
    told(&["--set", "vm.swapiness=1"], "vm.swappiness")?;
    told(&["/nowhere"], "/nowhere")
}

fn report() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let mut status = said("debian13-6.12", "status")?;
    for number in 0..3_u64 {
        // What a pool holds, made up: a captured machine was idle.
        status["zswap"]["value"]["ram"] = serde_json::json!({ "value": 10_485_760 * number, "source": "test" });
        status["zswap"]["value"]["original"] = serde_json::json!({ "value": 31_457_280 * number, "source": "test" });
        keep(folder.path(), &format!("web{number}"), &status)?;
    }
    fs::write(folder.path().join("torn.json"), "{")?;
    let (name, page) = (folder.path().display().to_string(), folder.path().join("fleet.html"));
    let words = ["fleet", "report", &name, "--html", page.to_str().ok_or("path")?];
    let output = swaptune(&words)?;
    let text = String::from_utf8(output.stdout)?;
    is(output.status.code() == Some(1) && text.starts_with("3 machines with 2.8 GiB of RAM"), &text)?;
    is(
        text.contains("pools of 30 MiB hold 90 MiB, so 60 MiB more fit (3.00 : 1)") && text.contains("torn.json: no status"),
        &text,
    )?;
    let rows: Vec<&str> = text.lines().filter(|line| line.trim_start().starts_with("web")).collect();
    is(rows.len() == 2 && rows[0].contains("web2") && rows[1].contains("web1"), &text)?;
    let page = fs::read_to_string(page)?;
    is(page.contains("<svg") && page.contains("web2") && !page.contains("http"), &page)?;
    let json: Value = serde_json::from_slice(&swaptune(&["fleet", "report", &name, "--json"])?.stdout)?;
    is(json["machines"] == 3 && json["most"][0]["name"] == "web2", &json)
}

fn folders() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let mut paths = Vec::new();
    for site in ["berlin", "oslo"] {
        let path = folder.path().join(site);
        fs::create_dir(&path)?;
        keep(&path, "web", &facts("debian13-6.12")?)?;
        paths.push(path.display().to_string());
    }
    keep(folder.path(), "database", &facts("debian13-6.12")?)?;
    let database = folder.path().join("database.json").display().to_string();
    let output = swaptune(&["fleet", "plan", &paths[0], &paths[1], &database, "--json"])?;
    let found: Value = serde_json::from_slice(&output.stdout)?;
    let mut names: Vec<String> = found["groups"][0]["examples"].as_array().into_iter().flatten().map(Value::to_string).collect();
    names.sort_unstable();
    let expected = |path: &String| format!("\"{path}/web\"");
    is(names == [expected(&paths[0]), expected(&paths[1]), "\"database\"".to_owned()], &names)
}

/// A name of a file, and a kind of container, that would set the title of a terminal.
fn hostile() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let mut container = facts("debian13-6.12")?;
    let kind = serde_json::json!({ "kind": "\u{1b}]0;mine\u{7}\u{9b}31m" });
    container["system"]["container"] = serde_json::json!({ "value": kind, "source": "t" });
    keep(folder.path(), "\u{1b}]0;mine\u{7}", &container)?;
    let output = swaptune(&["fleet", "plan", &folder.path().display().to_string()])?;
    let said = String::from_utf8([output.stdout, output.stderr].concat())?;
    let acts = |c: char| c.is_control() && c != '\n' && c != '\t';
    is(!said.contains(acts) && said.contains("\\x1b]0;mine\\x07"), &said)
}
