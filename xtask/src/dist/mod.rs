//! What a release is made of: static binaries, archives, packages, checksums, and what is in them.
//!
//! `cargo xtask dist` makes all of it below target/dist; `cargo xtask dist deb` the Debian package of this machine's kind of processor
//! alone, which the guests install. Both print the files they made.

mod architecture;
mod tools;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};

use rustix::fs::{FlockOperation, flock};

use architecture::{ARCHITECTURES, Architecture};
use tools::Tool;

use crate::man;

/// Where everything goes.
const FOLDER: &str = "target/dist";
/// Laid out as the packages want it; filled for one architecture after the other.
const STAGE: &str = "target/dist/stage";
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// As in `crates/swaptune/Cargo.toml`.
const MAINTAINER: &str = "The swaptune authors <maintainers@swaptune.invalid>";

/// All files of a release.
pub fn run() -> anyhow::Result<()> {
    let _alone = alone()?;
    let mut files = Vec::new();
    for architecture in &ARCHITECTURES {
        stage(architecture)?;
        files.extend([archive(architecture)?, deb(architecture, 1)?, rpm(architecture)?]);
    }
    files.push(bill_of_materials()?);
    files.push(checksums(&files)?);
    files.iter().for_each(|file| println!("{}", file.display()));
    Ok(())
}

/// The Debian package for x86_64 alone, of this revision.
pub fn run_deb(revision: u32) -> anyhow::Result<()> {
    let [architecture, ..] = &ARCHITECTURES;
    let _alone = alone()?;
    stage(architecture)?;
    println!("{}", deb(architecture, revision)?.display());
    Ok(())
}

/// Waits until no other run fills the stage; it may as long as the file is open.
fn alone() -> anyhow::Result<File> {
    fs::create_dir_all(FOLDER)?;
    let lock = File::create(Path::new(FOLDER).join(".lock"))?;
    flock(&lock, FlockOperation::LockExclusive)?;
    Ok(lock)
}

/// Documents that texts of the program name, by folder and ending; the packages list the same.
const DOCUMENTS: [(&str, &str); 4] =
    [("docs/guides", "md"), ("docs/reference", "md"), ("docs/evidence", "md"), ("scenarios", "toml")];

fn documents(from: &Path, ending: &str, to: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == ending) {
            fs::copy(&path, to.join(path.file_name().unwrap_or_default()))?;
        }
    }
    Ok(())
}

/// The program, its man pages and completions, and the documents.
fn stage(architecture: &Architecture) -> anyhow::Result<()> {
    let stage = Path::new(STAGE);
    if stage.exists() {
        fs::remove_dir_all(stage)?;
    }
    fs::create_dir_all(stage.join("bin"))?;
    architecture.build(&stage.join("bin/swaptune"))?;
    let doc = stage.join("share/doc/swaptune");
    fs::create_dir_all(&doc)?;
    for license in ["LICENSE-APACHE", "LICENSE-MIT"] {
        fs::copy(license, doc.join(license))?;
    }
    for (folder, ending) in DOCUMENTS {
        documents(Path::new(folder), ending, &doc.join(folder))?;
    }
    man::write(&stage.join("share"))
}

/// The stage as it is, for systems without either kind of package.
fn archive(architecture: &Architecture) -> anyhow::Result<PathBuf> {
    let name = format!("swaptune-{VERSION}-{}-linux", architecture.name);
    let file = Path::new(FOLDER).join(format!("{name}.tar.xz"));
    let mut tar = Command::new("tar");
    // The same input makes the same bytes.
    tar.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mtime=@0"]);
    tar.args(["-cJf"]).arg(&file).arg(format!("--transform=s,^\\.,{name},")).args(["-C", STAGE, "."]);
    succeed(&mut tar)?;
    Ok(file)
}

fn deb(architecture: &Architecture, revision: u32) -> anyhow::Result<PathBuf> {
    fs::write(Path::new(STAGE).join("changelog"), debian_changelog(revision))?;
    let file = Path::new(FOLDER).join(format!("swaptune_{VERSION}-{revision}_{}.deb", architecture.debian));
    let mut deb = Command::new(Tool::DEB.program()?);
    // Stripped already, by the strip of that architecture.
    deb.args(["--no-build", "--no-strip", "--package", "swaptune", "--target", architecture.target]);
    deb.args(["--deb-revision", &revision.to_string(), "--output"]).arg(&file);
    // It prints the name as well.
    succeed(deb.arg("--quiet").stdout(Stdio::null()))?;
    Ok(file)
}

/// As deb-changelog(5) wants it. Our own changelog is what there is to read.
fn debian_changelog(revision: u32) -> String {
    format!(
        "swaptune ({VERSION}-{revision}) unstable; urgency=medium\n\n  * What is new is in CHANGELOG.md beside this file.\n\n \
         -- {MAINTAINER}  Thu, 01 Jan 1970 00:00:00 +0000\n"
    )
}

fn rpm(architecture: &Architecture) -> anyhow::Result<PathBuf> {
    let file = Path::new(FOLDER).join(format!("swaptune-{VERSION}-1.{}.rpm", architecture.name));
    let mut rpm = Command::new(Tool::RPM.program()?);
    rpm.args(["--package", "crates/swaptune", "--target", architecture.target, "--auto-req", "disabled", "--output"]).arg(&file);
    succeed(&mut rpm)?;
    Ok(file)
}

/// Every crate in the program with version and licence, in CycloneDX's form.
fn bill_of_materials() -> anyhow::Result<PathBuf> {
    let name = "swaptune.cdx";
    let mut sbom = Command::new(Tool::BILL.program()?);
    sbom.args(["cyclonedx", "--manifest-path", "crates/swaptune/Cargo.toml", "--format", "json", "--no-build-deps"]);
    sbom.args(["--target", ARCHITECTURES[0].target, "--override-filename", name]);
    succeed(&mut sbom)?;
    let written = format!("{name}.json");
    let text = fs::read_to_string(Path::new("crates/swaptune").join(&written))?;
    // It writes one beside the manifest of each member of the workspace.
    let members = ["crates", "tests", "."].iter().map(fs::read_dir).collect::<Result<Vec<_>, _>>()?;
    for member in members.into_iter().flatten() {
        let other = member?.path().join(&written);
        if other.exists() {
            fs::remove_file(other)?;
        }
    }
    let file = Path::new(FOLDER).join(format!("swaptune-{VERSION}.cdx.json"));
    // The same sources make the same bill wherever they lie.
    let here = std::env::current_dir()?;
    fs::write(&file, text.replace(&here.display().to_string(), "."))?;
    Ok(file)
}

/// As `sha256sum --check` reads them.
fn checksums(files: &[PathBuf]) -> anyhow::Result<PathBuf> {
    let sums = Path::new(FOLDER).join("SHA256SUMS");
    let names = files.iter().filter_map(|file| file.file_name());
    succeed(Command::new("sha256sum").current_dir(FOLDER).args(names).stdout(File::create(&sums)?))?;
    Ok(sums)
}

/// Runs a command to its end.
fn succeed(command: &mut Command) -> anyhow::Result<()> {
    let status = command.status().with_context(|| format!("start {command:?}"))?;
    ensure!(status.success(), "{command:?} ended with {status}");
    Ok(())
}
