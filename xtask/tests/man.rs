//! Man pages and completions are whole: one page for each command that help lists, roff and shell that their programs can read.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use swaptune_trials::{TestResult, program, trials};
use tempfile::TempDir;

fn main() -> ExitCode {
    swaptune_trials::run(trials![every_command_has_a_page, the_pages_are_clean_roff, bash_reads_its_completion])
}

/// What is written for a package.
fn share() -> Result<TempDir, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    said(Command::new(env!("CARGO_BIN_EXE_xtask")).arg("man").arg(folder.path()))?;
    Ok(folder)
}

/// Runs it, and gives all that it says.
fn said(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(text) } else { Err(format!("{command:?}: {}: {text}", output.status)) }
}

fn pages(share: &Path) -> Result<Vec<PathBuf>, String> {
    let mut pages = Vec::new();
    for section in ["man5", "man8"] {
        let entries = fs::read_dir(share.join("man").join(section)).map_err(|error| error.to_string())?;
        pages.extend(entries.flatten().map(|entry| entry.path()));
    }
    Ok(pages)
}

/// A page names the pages of the commands below it: each is there.
fn every_command_has_a_page() -> TestResult {
    let share = share()?;
    let pages = pages(share.path())?;
    let mut named = 0;
    for page in &pages {
        let text = fs::read_to_string(page)?;
        for line in text.lines().filter_map(|line| line.strip_prefix("swaptune\\-").filter(|line| line.ends_with("(8)"))) {
            let name = format!("swaptune-{}", line.trim_end_matches("(8)").replace("\\-", "-"));
            named += 1;
            if !share.path().join(format!("man/man8/{name}.8")).exists() {
                return Err(format!("{}: there is no {name}(8)", page.display()).into());
            }
        }
    }
    // The page of the program itself and that of the configuration are named by no other.
    if named + 2 == pages.len() && named > 20 { Ok(()) } else { Err(format!("{named} named of {}", pages.len()).into()) }
}

fn the_pages_are_clean_roff() -> TestResult {
    program("groff", &["--version"])?;
    let share = share()?;
    for page in pages(share.path())? {
        let warnings = said(Command::new("groff").args(["-Kutf8", "-Tutf8", "-man", "-ww", "-z"]).arg(&page))?;
        if !warnings.is_empty() {
            return Err(warnings.into());
        }
    }
    Ok(())
}

fn bash_reads_its_completion() -> TestResult {
    program("bash", &["--version"])?;
    let share = share()?;
    let file = share.path().join("bash-completion/completions/swaptune");
    said(Command::new("bash").arg("-n").arg(&file))?;
    let loaded = said(Command::new("bash").args(["-c", ". \"$1\" && complete -p swaptune", "bash"]).arg(&file))?;
    for name in ["zsh/site-functions/_swaptune", "fish/vendor_completions.d/swaptune.fish"] {
        if !fs::read_to_string(share.path().join(name))?.contains("simulate") {
            return Err(format!("{name} does not know simulate").into());
        }
    }
    if loaded.contains("_swaptune") { Ok(()) } else { Err(loaded.into()) }
}
