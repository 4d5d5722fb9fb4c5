//! `--root IMAGE` as a user types it, with the program that is shipped: plan, apply, history, resume, rollback, and what is refused.
//!
//! An apply that is cut short needs a process that kills itself: that one is this test, started again with the double of
//! `tests/double`. What it leaves is finished by the real program.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitCode, Output};

use libtest_mimic::{Arguments, Failed, Trial};
use swaptune_double::{KILL_AT, debian_image};
use tempfile::TempDir;

#[path = "support/picture.rs"]
mod picture;

use picture::{Picture, look, same};

/// Set for the process that is killed.
const PLAYS: &str = "SWAPTUNE_CIRCLE_PLAYS";
const SWAP: &str = "UUID=5a5a none swap sw 0 0\n";
const CONFIG: &str = "[boot]\nkernel_arguments = true\ninitramfs = true\n";

fn main() -> ExitCode {
    if std::env::var_os(PLAYS).is_some() {
        swaptune_double::install();
        return swaptune::main();
    }
    let trials = vec![
        Trial::test("apply_and_rollback_are_the_identity", || circle(SWAP)),
        Trial::test("and_without_a_swap_line_too", || circle("")),
        Trial::test("what_was_reviewed_is_what_is_applied", reviewed),
        Trial::test("killed_anywhere_it_is_finished_or_taken_back", killed),
        Trial::test("live_changes_are_refused", live),
        Trial::test("an_empty_folder_is_no_machine", empty),
        Trial::test("another_file_system_is_no_machine", no_machine),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

struct Image(TempDir);

impl Image {
    fn new(swap_line: &str) -> Result<Self, Failed> {
        let dir = tempfile::tempdir()?;
        debian_image(dir.path(), swap_line)?;
        fs::create_dir_all(dir.path().join("etc/swaptune"))?;
        fs::create_dir_all(dir.path().join("var/lib"))?;
        fs::write(dir.path().join("etc/swaptune/config.toml"), CONFIG)?;
        Ok(Self(dir))
    }

    fn command(&self, program: &Path, words: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.arg("--root").arg(self.0.path()).args(words);
        command
    }

    fn run(&self, words: &[&str]) -> Result<Output, Failed> {
        Ok(self.command(Path::new(env!("CARGO_BIN_EXE_swaptune")), words).output()?)
    }

    fn expect(&self, words: &[&str], code: i32) -> Result<String, Failed> {
        let output = self.run(words)?;
        let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        let ended = output.status;
        if ended.code() == Some(code) { Ok(text) } else { Err(format!("{words:?} ended with {ended}: {text}").into()) }
    }

    /// Everything but swaptune's own records.
    fn picture(&self) -> Result<Picture, Failed> {
        let mut picture = Picture::new();
        look(self.0.path(), self.0.path(), &mut picture)?;
        picture.retain(|path, _| !path.starts_with("var/lib/swaptune"));
        Ok(picture)
    }
}

fn has(text: &str, words: &str) -> Result<(), Failed> {
    if text.contains(words) { Ok(()) } else { Err(format!("no `{words}` in:\n{text}").into()) }
}

/// A plan in a file is carried out on the machine that it was made for, as it was then; nothing else is.
fn reviewed() -> Result<(), Failed> {
    let image = Image::new(SWAP)?;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("plan.json");
    let apply = ["apply", "--yes", "--plan", file.to_str().ok_or("path")?];
    let refused = |code, words: &str| -> Result<(), Failed> {
        let before = image.picture()?;
        has(&flat(&image.expect(&apply, code)?), words)?;
        same(&before, &image.picture()?, words)
    };
    refused(2, "No such file")?;
    fs::write(&file, "{}")?;
    refused(2, "this is no plan: missing field")?;
    image.expect(&["plan", "--boot", "--detailed-exitcode", "--out", apply[3]], 1)?;
    let fstab = image.0.path().join("etc/fstab");
    let was = fs::read_to_string(&fstab)?;
    fs::write(&fstab, was.clone() + "# one more line\n")?;
    refused(3, "the machine has changed since: where it was to edit /etc/fstab, it would now be another change")?;
    fs::write(&fstab, &was)?;
    // What is wanted now does not matter: the file says what was reviewed.
    let config = image.0.path().join("etc/swaptune/config.toml");
    fs::write(&config, "profile = \"off\"\n")?;
    image.expect(&apply, 0)?;
    refused(0, "Nothing to do")?;
    fs::write(&config, CONFIG)?;
    image.expect(&["plan", "--boot", "--detailed-exitcode"], 0)?;
    image.expect(&["rollback", "--yes"], 0)?;
    fs::write(image.0.path().join("etc/machine-id"), "00112233445566778899aabbccddeeff\n")?;
    refused(3, "it was made on another machine")
}

/// Text in one line: what is printed is wrapped.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn circle(swap_line: &str) -> Result<(), Failed> {
    let image = Image::new(swap_line)?;
    let before = image.picture()?;
    let plan = flat(&image.expect(&["plan", "--explain"], 0)?);
    has(&plan, "planned for Linux 6.12.9-amd64, the newest of 2")?;
    same(&before, &image.picture()?, "a plan")?;
    let applied = flat(&image.expect(&["apply", "--boot", "--yes"], 0)?);
    has(&applied, &format!("`swaptune --root {} rollback", image.0.path().display()))?;
    let after = image.picture()?;
    for generated in ["boot/grub/grub.cfg", "boot/initrd.img-6.12.9-amd64"] {
        if before.get(Path::new(generated)) != after.get(Path::new(generated)) {
            return Err(format!("{generated}: {:?}", after.get(Path::new(generated))).into());
        }
    }
    if !swap_line.is_empty() {
        has(&plan, "Run `update-grub` on the machine once it runs")?;
        has(&after[Path::new("etc/default/grub.d/99-swaptune.cfg")], "zswap.enabled=1")?;
    }
    let journals = fs::read_dir(image.0.path().join("var/lib/swaptune"))?.count();
    if journals == 0 {
        return Err("no journal in the image".into());
    }
    has(&image.expect(&["plan"], 0)?, "Nothing to do")?;
    has(&image.expect(&["history"], 0)?, "applied")?;
    let verified = image.run(&["verify"])?;
    let verified = String::from_utf8_lossy(&verified.stdout).into_owned();
    has(&verified, "In effect: every line of what was applied")?;
    image.expect(&["rollback", "--yes"], 0)?;
    has(&image.expect(&["history"], 0)?, "rolled back")?;
    same(&before, &image.picture()?, "apply and rollback")
}

fn killed() -> Result<(), Failed> {
    for number in 1..500 {
        let image = Image::new(SWAP)?;
        let before = image.picture()?;
        let mut command = image.command(&std::env::current_exe()?, &["apply", "--boot", "--yes"]);
        let killed = command.env(PLAYS, "1").env(KILL_AT, number.to_string()).output()?.status.signal() == Some(9);
        if !killed {
            return if number > 20 { Ok(()) } else { Err(format!("only {number} checkpoints").into()) };
        }
        let again = image.run(&["apply", "--boot", "--yes"])?;
        // Before its first record nothing was done, and the second apply is the first.
        if again.status.code() == Some(3) {
            let text = String::from_utf8_lossy(&again.stderr).into_owned();
            has(&text, &format!("`swaptune --root {} apply --resume`", image.0.path().display()))?;
            if number % 2 == 1 {
                image.expect(&["apply", "--resume", "--yes"], 0)?;
                has(&image.expect(&["plan"], 0)?, "Nothing to do")?;
            }
        }
        image.expect(&["rollback", "--yes"], 0)?;
        same(&before, &image.picture()?, &format!("killed at {number}"))?;
    }
    Err("the apply never got through".into())
}

fn live() -> Result<(), Failed> {
    let image = Image::new(SWAP)?;
    let before = image.picture()?;
    for words in
        [&["apply", "--now", "--yes"][..], &["plan", "--now"], &["service", "start"], &["verify", "--prove"], &["status"]]
    {
        let text = image.expect(words, 3)?;
        has(&flat(&text), "running ")?;
    }
    same(&before, &image.picture()?, "what was refused")
}

/// Every command that takes `--root`.
const COMMANDS: [&[&str]; 13] = [
    &["inspect"],
    &["status"],
    &["knobs"],
    &["plan"],
    &["apply", "--yes"],
    &["apply", "--boot", "--yes"],
    &["apply", "--resume", "--yes"],
    &["verify"],
    &["rollback", "--yes"],
    &["history"],
    &["service", "start"],
    &["simulate", "list"],
    &["bench", "list"],
];

fn empty() -> Result<(), Failed> {
    let image = Image(tempfile::tempdir()?);
    for words in COMMANDS {
        let text = flat(&image.expect(words, 2)?);
        has(&text, "an empty folder: none of /etc/os-release, ")?;
        has(&text, "hint: mount the image first")?;
        if text.contains("Findings") || fs::read_dir(image.0.path())?.count() != 0 {
            return Err(format!("{words:?}: {text}").into());
        }
    }
    Ok(())
}

/// A partition of data, or of boot files only.
fn no_machine() -> Result<(), Failed> {
    let image = Image(tempfile::tempdir()?);
    fs::create_dir_all(image.0.path().join("lost+found"))?;
    fs::create_dir_all(image.0.path().join("EFI/debian"))?;
    for words in COMMANDS {
        has(&flat(&image.expect(words, 2)?), "no machine: none of /etc/os-release, ")?;
    }
    Ok(())
}
