//! A package tree of its own, so that nothing is installed on the host.
//!
//! One tree per suite: a folder with its own sources, lists, cache and an empty
//! package database, named to apt by `APT_CONFIG`. Only the mirror, the keyring
//! and the proxy settings are the system's. With one suite per tree the
//! candidate of a package is the candidate of that suite, and no pinning is needed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::architecture::AMD64;
use crate::cache;
use crate::command::{command, run};

const DEFAULT_MIRROR: &str = "http://deb.debian.org/debian";
const KEYRINGS: [&str; 2] = ["/usr/share/keyrings/debian-archive-keyring.gpg", "/usr/share/keyrings/debian-archive-keyring.pgp"];
/// Suites without a release of their own: their Release files are re-signed
/// rarely enough that a mirror may carry one past its date.
const ROLLING: [&str; 3] = ["sid", "forky", "experimental"];

/// The context of an error that comes from the network or the mirror, not from this code.
#[derive(Debug)]
pub struct Unreachable(pub String);

impl std::fmt::Display for Unreachable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "could not fetch {} from the mirror", self.0)
    }
}

/// The package lists of one suite.
pub struct Tree {
    folder: PathBuf,
}

impl Tree {
    /// Opens the tree of a suite and refreshes its lists (once per process is enough for a test run).
    pub fn open(suite: &str) -> Result<Self> {
        Self::open_for(suite, AMD64.debian)
    }

    /// The same for another architecture.
    pub fn open_for(suite: &str, architecture: &str) -> Result<Self> {
        let name = if architecture == AMD64.debian { suite.to_owned() } else { format!("{suite}-{architecture}") };
        let tree = Self { folder: cache::root()?.join("apt").join(&name) };
        let _lock = cache::Lock::take(&format!("apt-{name}"))?;
        tree.write_configuration(suite, architecture)?;
        // Without the error mode a mirror that does not answer is only a warning.
        let mode = ["-o", "APT::Update::Error-Mode=any"];
        run(tree.apt("apt-get").args(["update", "-q"]).args(mode))
            .with_context(|| Unreachable(format!("the package lists of {suite}")))?;
        Ok(tree)
    }

    /// Names of packages that start with `prefix` and end with `suffix`, newest version first.
    pub fn names(&self, prefix: &str, suffix: &str) -> Result<Vec<String>> {
        let all = run(self.apt("apt-cache").args(["pkgnames", prefix]))?;
        let mut names: Vec<String> = all.lines().filter(|name| name.ends_with(suffix)).map(str::to_owned).collect();
        names.sort_by_key(|name| std::cmp::Reverse(numbers(name)));
        Ok(names)
    }

    /// The direct dependencies of a package, alternatives included.
    pub fn depends(&self, package: &str) -> Result<Vec<String>> {
        let text = run(self.apt("apt-cache").args([
            "depends",
            "--no-recommends",
            "--no-suggests",
            "--no-conflicts",
            "--no-breaks",
            "--no-replaces",
            "--no-enhances",
            package,
        ]))?;
        Ok(text.lines().filter_map(|line| line.split_once("Depends: ")).map(|(_, name)| name.trim().to_owned()).collect())
    }

    /// Whether the package can be fetched: split kernels leave images behind whose modules are gone.
    pub fn has_candidate(&self, package: &str) -> Result<bool> {
        let text = run(self.apt("apt-cache").args(["policy", package]))?;
        Ok(text.lines().filter_map(|line| line.trim().strip_prefix("Candidate: ")).any(|version| version != "(none)"))
    }

    /// Fetches the packages and unpacks them all into `target`.
    pub fn unpack(&self, packages: &[String], target: &Path) -> Result<()> {
        let download = tempfile::tempdir_in(&self.folder)?;
        run(self.apt("apt-get").args(["download", "-q"]).args(packages).current_dir(download.path()))
            .with_context(|| Unreachable(packages.join(", ")))?;
        for deb in fs::read_dir(download.path())? {
            run(command("dpkg-deb").arg("-x").arg(deb?.path()).arg(target))?;
        }
        Ok(())
    }

    fn apt(&self, program: &str) -> Command {
        let mut apt = command(program);
        apt.env("APT_CONFIG", self.folder.join("apt.conf"));
        apt
    }

    fn write_configuration(&self, suite: &str, architecture: &str) -> Result<()> {
        let folder = self.folder.display();
        for sub in ["etc/parts", "etc/preferences", "lists/partial", "archives/partial"] {
            fs::create_dir_all(self.folder.join(sub))?;
        }
        fs::write(self.folder.join("status"), "")?;
        fs::write(self.folder.join("etc/sources.list"), source_line(suite)? + "\n")?;
        let text = format!(
            "Dir::Etc \"{folder}/etc\";\n\
             Dir::Etc::main \"/dev/null\";\n\
             Dir::Etc::sourceparts \"/dev/null\";\n\
             Dir::Etc::parts \"{folder}/etc/parts\";\n\
             Dir::Etc::preferencesparts \"{folder}/etc/preferences\";\n\
             Dir::Etc::sourcelist \"{folder}/etc/sources.list\";\n\
             Dir::State \"{folder}\";\n\
             Dir::State::lists \"{folder}/lists\";\n\
             Dir::State::status \"{folder}/status\";\n\
             Dir::Cache \"{folder}\";\n\
             Dir::Cache::archives \"{folder}/archives/\";\n\
             APT::Architecture \"{architecture}\";\n\
             APT::Architectures \"{architecture}\";\n\
             APT::Sandbox::User \"root\";\n\
             Acquire::Languages \"none\";\n\
             {}",
            system_options().join("\n")
        );
        fs::write(self.folder.join("apt.conf"), text)?;
        Ok(())
    }
}

/// The one-line source of a Debian suite with the system's mirror and keyring.
pub fn source_line(suite: &str) -> Result<String> {
    let keyring = KEYRINGS
        .into_iter()
        .find(|file| Path::new(file).exists())
        .context("the package debian-archive-keyring is not installed")?;
    let check = if ROLLING.contains(&suite) { " check-valid-until=no" } else { "" };
    Ok(format!("deb [signed-by={keyring}{check}] {} {suite} main", mirror(&system_sources())))
}

/// Proxy and date settings of the system's apt, which a machine may need to reach its mirror.
pub fn system_options() -> Vec<String> {
    let dump = run(command("apt-config").arg("dump")).unwrap_or_default();
    let wanted =
        ["Acquire::http::", "Acquire::https::", "Acquire::Check-Valid-Until ", "Acquire::Check-Date ", "Acquire::Retries "];
    dump.lines().filter(|line| wanted.iter().any(|start| line.starts_with(start))).map(str::to_owned).collect()
}

/// The first Debian archive named in the given source files.
fn mirror(sources: &str) -> String {
    let is_debian = |word: &&str| word.contains("://") && word.trim_end_matches('/').ends_with("/debian");
    sources
        .lines()
        .map(str::trim)
        .filter(|line| line.starts_with("deb ") || line.starts_with("URIs:"))
        .flat_map(str::split_whitespace)
        .find(is_debian)
        .unwrap_or(DEFAULT_MIRROR)
        .trim_end_matches('/')
        .to_owned()
}

fn system_sources() -> String {
    let folder = Path::new("/etc/apt/sources.list.d");
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder).map(|entries| entries.flatten().map(|entry| entry.path()).collect()).unwrap_or_default();
    files.sort();
    files.insert(0, "/etc/apt/sources.list".into());
    files.iter().filter_map(|file| fs::read_to_string(file).ok()).collect::<Vec<_>>().join("\n")
}

/// The numbers in a name, for sorting 6.18.15 after 6.18.9.
fn numbers(name: &str) -> Vec<u64> {
    name.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mirror_is_the_first_debian_archive() {
        let check = |sources: &str, expected: &str| assert_eq!(mirror(sources), expected);
        check("", DEFAULT_MIRROR);
        check("# deb http://off.example/debian sid main", DEFAULT_MIRROR);
        check(
            "deb https://other.example/repo stable main\ndeb [arch=amd64] http://a.example/debian/ sid main",
            "http://a.example/debian",
        );
        check("Types: deb\nURIs: http://b.example/debian-security http://b.example/debian\n", "http://b.example/debian");
        check("deb http://archive.example/ubuntu noble main", DEFAULT_MIRROR);
    }

    #[test]
    fn versions_sort_by_number() {
        assert!(numbers("linux-image-6.18.15+deb13") > numbers("linux-image-6.18.9+deb13"));
    }
}
