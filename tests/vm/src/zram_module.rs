//! zram as no kernel of Debian has it: with several compressors (`CONFIG_ZRAM_MULTI_COMP`), built from the kernel's own source against its own
//! headers, in a root of its own with the compiler of its suite. Needs root.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::command::{command, run};
use crate::kernels::Tree;
use crate::{apt, cache};

/// What the build needs beside the packages of the kernel.
const TOOLS: &str = "gcc,make,xz-utils,libelf1t64";

/// The module for this kernel, built once and kept.
pub fn with_several_compressors(tree: &Tree) -> Result<PathBuf> {
    let folder = cache::entry(&format!("modules/zram-multi-comp-{}", tree.release), |target| {
        let work = cache::root()?.join("work");
        fs::create_dir_all(&work)?;
        let root = tempfile::tempdir_in(work)?;
        let root = root.path().join("root");
        make_root(tree, &root)?;
        build(tree, &root)?;
        fs::copy(root.join("build/drivers/block/zram/zram.ko"), target.join("zram.ko"))?;
        Ok(())
    })?;
    Ok(folder.join("zram.ko"))
}

fn make_root(tree: &Tree, root: &Path) -> Result<()> {
    let (suite, release) = (tree.kernel.suite, &tree.release);
    let (major, minor) = tree.version();
    let packages = apt::Tree::open(suite)?;
    let headers = format!("linux-headers-{release}");
    let needed = |name: &String| name.starts_with("linux-headers-") || name.starts_with("linux-kbuild-");
    let mut kernel: Vec<String> = packages.depends(&headers)?.into_iter().filter(needed).collect();
    ensure!(
        !kernel.is_empty(),
        "{suite} has no {headers} any more: remove the kernel from the cache, so that it is fetched anew"
    );
    kernel.extend([headers, format!("linux-source-{major}.{minor}")]);
    let mut mmdebstrap = command("mmdebstrap");
    mmdebstrap.args(["--quiet", "--mode=root", "--variant=minbase", "--format=directory"]).arg(format!("--include={TOOLS}"));
    for option in apt::system_options() {
        mmdebstrap.arg(format!("--aptopt={option}"));
    }
    // Backports are built with the compiler of the release that they are for, and are no suite by themselves.
    let base = suite.strip_suffix("-backports").unwrap_or(suite);
    run(mmdebstrap.arg(base).arg(root).arg(apt::source_line(base)?))?;
    packages.unpack(&kernel, root)
}

fn build(tree: &Tree, root: &Path) -> Result<()> {
    let (major, minor) = tree.version();
    let name = format!("linux-source-{major}.{minor}");
    fs::create_dir_all(root.join("build"))?;
    run(command("tar")
        .arg("-C")
        .arg(root.join("build"))
        .args(["--strip-components=1", "-xJf"])
        .args([root.join(format!("usr/src/{name}.tar.xz")).as_os_str(), format!("{name}/drivers/block/zram").as_ref()]))?;
    // The headers are of a kernel without it, so that the compiler is told as well as make. What BTF needs is not installed.
    // objtool asks /proc for the limits of its stack.
    let mut make = command("unshare");
    make.args(["--mount", "sh", "-ec", "mount -t proc proc \"$0/proc\"; exec chroot \"$0\" make \"$@\""]);
    make.arg(root).arg("-C").arg(format!("/usr/src/linux-headers-{}", tree.release));
    make.args(["M=/build/drivers/block/zram", "CONFIG_ZRAM_MULTI_COMP=y", "KCFLAGS=-DCONFIG_ZRAM_MULTI_COMP=1"]);
    run(make.args(["CONFIG_DEBUG_INFO_BTF_MODULES=", "modules"])).context("build zram with several compressors")?;
    run(command("strip").arg("--strip-debug").arg(root.join("build/drivers/block/zram/zram.ko")))?;
    Ok(())
}
