//! Man pages and shell completions, made from the command line where they are installed or packaged.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{Command, CommandFactory};
use clap_complete::Shell;

use crate::cli::Cli;

/// The page that is written by hand: the configuration.
const CONFIGURATION: &str = include_str!("../../docs/man/swaptune.5");
/// Where a share folder keeps the completions of each shell.
const COMPLETIONS: [(Shell, &str); 3] = [
    (Shell::Bash, "bash-completion/completions/swaptune"),
    (Shell::Zsh, "zsh/site-functions/_swaptune"),
    (Shell::Fish, "fish/vendor_completions.d/swaptune.fish"),
];

/// Writes all of them below a folder that is laid out as /usr/share is.
pub fn write(share: &Path) -> anyhow::Result<()> {
    let mut files = vec![(PathBuf::from("man/man5/swaptune.5"), CONFIGURATION.as_bytes().to_vec())];
    page("swaptune", Cli::command(), &mut files)?;
    for (shell, path) in COMPLETIONS {
        let mut bytes = Vec::new();
        clap_complete::generate(shell, &mut Cli::command(), "swaptune", &mut bytes);
        files.push((path.into(), bytes));
    }
    for (path, bytes) in files {
        let path = share.join(path);
        fs::create_dir_all(path.parent().context("a file has a folder")?)?;
        fs::write(&path, bytes).with_context(|| path.display().to_string())?;
    }
    Ok(())
}

/// The page of one command, and those of the commands below it.
fn page(name: &str, command: Command, files: &mut Vec<(PathBuf, Vec<u8>)>) -> anyhow::Result<()> {
    let mut bytes = Vec::new();
    let page = command.clone().name(name.to_owned()).disable_help_subcommand(true);
    // No date: a build that is repeated makes the same page.
    clap_mangen::Man::new(page).section("8").manual("System administration").render(&mut bytes)?;
    files.push((format!("man/man8/{name}.8").into(), bytes));
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        self::page(&format!("{name}-{}", below.get_name()), below.clone(), files)?;
    }
    Ok(())
}
