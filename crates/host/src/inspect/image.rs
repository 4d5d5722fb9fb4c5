//! An image: which kernels are in it, whether its programs run here, and which device it lies on.

use std::cmp::Ordering;
use std::fs;
use std::io::Read;

use swaptune_core::Fact;
use swaptune_core::facts::ImageFacts;
use swaptune_core::parse::mountinfo;

use super::boot::GRUB_CONFIGS;
use crate::machine::Machine;

const MODULE_FOLDERS: [&str; 2] = ["/lib/modules", "/usr/lib/modules"];
/// Machines of ELF headers (elf(5)): number, name as `uname -m` shows it.
const MACHINES: [(u16, &str); 9] = [
    (3, "i386"),
    (8, "mips"),
    (20, "ppc"),
    (21, "ppc64"),
    (22, "s390x"),
    (40, "arm"),
    (62, "x86_64"),
    (183, "aarch64"),
    (243, "riscv64"),
];
/// Capabilities that a root of its own needs (capabilities(7)): chroot, mount, device nodes.
const NEEDED: [(u32, &str); 3] = [(18, "CAP_SYS_CHROOT"), (21, "CAP_SYS_ADMIN"), (27, "CAP_MKNOD")];

/// True for the tree of a machine that does not run: neither this machine, nor what was captured of one.
pub(super) fn is_image(machine: &Machine) -> bool {
    !machine.is_live() && !machine.is_capture() && !machine.exists("/proc/meminfo")
}

pub(super) fn inspect(machine: &Machine) -> Option<ImageFacts> {
    is_image(machine).then(|| ImageFacts {
        kernels: kernels(machine),
        runs_here: runs_here(machine),
        device: device(machine),
        loader_files: GRUB_CONFIGS.into_iter().filter(|path| machine.exists(path)).map(str::to_owned).collect(),
    })
}

/// Releases of the kernels that are installed, the newest first. Module folders of removed kernels do not count where images are found.
pub(super) fn kernels(machine: &Machine) -> Vec<String> {
    let in_boot = machine.list_where("/boot", |name| name.starts_with("vmlinuz-")).unwrap_or_default();
    let mut images: Vec<String> = in_boot.iter().filter_map(|name| name.strip_prefix("vmlinuz-")).map(str::to_owned).collect();
    let folders = MODULE_FOLDERS.iter().filter_map(|folder| machine.list(folder).ok());
    let modules: Vec<String> = folders.flatten().collect();
    images.retain(|release| modules.is_empty() || modules.contains(release));
    let mut found = if images.is_empty() { modules } else { images };
    found.sort_by(|a, b| by_version(b, a));
    found.dedup();
    found
}

/// Numbers by value, so that 6.12.9 comes before 6.12.10.
fn by_version(a: &str, b: &str) -> Ordering {
    parts(a).cmp(&parts(b))
}

fn parts(release: &str) -> Vec<(u64, String)> {
    let mut parts = Vec::new();
    let mut rest = release;
    while !rest.is_empty() {
        let words = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let (word, digits) = rest.split_at(words);
        let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        parts.push((digits[..end].parse().unwrap_or(0), word.to_owned()));
        rest = &digits[end..];
    }
    // What stands in front of a number tells less than the number.
    parts
}

/// The architecture of its shell, when this machine runs such programs and we may give them a root of their own.
fn runs_here(machine: &Machine) -> Fact<String> {
    let shell = "/bin/sh";
    let theirs = match machine.read_bytes(shell, 20) {
        Ok(head) => head,
        Err(error) => return Fact::absent(format!("{error}: nothing can be run in this image")),
    };
    let ours = head_of("/proc/self/exe");
    let Some(name) = architecture(&theirs) else { return Fact::absent(format!("{shell}: not an ELF program")) };
    if architecture(&ours) != Some(name.clone()) {
        let here = architecture(&ours).unwrap_or_else(|| "another".into());
        return Fact::absent(format!("its programs are for {name}, this machine is {here}"));
    }
    if !rustix::process::geteuid().is_root() {
        return Fact::absent("only root may run its programs in a root of their own");
    }
    match lacking() {
        None => Fact::known(name, shell),
        Some(capability) => Fact::absent(format!("this process lacks {capability}, which running its programs needs")),
    }
}

fn head_of(path: &str) -> Vec<u8> {
    let mut head = Vec::new();
    // Unreadable is no architecture.
    let _ = fs::File::open(path).and_then(|file| file.take(20).read_to_end(&mut head));
    head
}

/// Machine and word size of an ELF header.
fn architecture(head: &[u8]) -> Option<String> {
    let &[0x7f, b'E', b'L', b'F', class, order, ..] = head else { return None };
    let bytes: [u8; 2] = head.get(18..20)?.try_into().ok()?;
    let number = if order == 2 { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) };
    let name = MACHINES.iter().find(|(known, _)| *known == number).map_or("an unknown architecture", |(_, name)| name);
    let ending = match (order, class, name) {
        (2, ..) if name != "s390x" => " (big-endian)",
        (_, 1, "x86_64") => " (x32)",
        _ => "",
    };
    Some(format!("{name}{ending}"))
}

/// The first capability that is needed and not there.
fn lacking() -> Option<&'static str> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
    let effective = u64::from_str_radix(line.trim(), 16).unwrap_or(0);
    NEEDED.iter().find(|(bit, _)| effective >> bit & 1 == 0).map(|(_, name)| *name)
}

/// The device whose whole file system the root folder is.
fn device(machine: &Machine) -> Fact<String> {
    let root = machine.root().canonicalize().unwrap_or_else(|_| machine.root().to_owned());
    let lines = mountinfo::parse(&fs::read_to_string("/proc/self/mountinfo").unwrap_or_default());
    let shown = root.to_string_lossy();
    let folder =
        || Fact::absent(format!("{shown} is a folder of this machine's file system, not a mounted file system of its own"));
    let Some(line) = lines.iter().rfind(|line| line.at == shown).filter(|line| line.root == "/") else { return folder() };
    let (major, minor) = line.device;
    let name = fs::read_link(format!("/sys/dev/block/{major}:{minor}")).ok();
    match name.and_then(|link| Some(link.file_name()?.to_string_lossy().into_owned())) {
        Some(name) if name.starts_with("dm-") || name.starts_with("md") => {
            Fact::absent(format!("{shown} lies on {name}, which GRUB cannot be told of from here"))
        }
        Some(name) => Fact::known(name, "/proc/self/mountinfo"),
        None => Fact::absent(format!("{shown} lies on no block device ({})", line.filesystem)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::tree;

    #[test]
    fn the_newest_kernel_comes_first_and_removed_ones_do_not_count() {
        let dir = tree(&[
            ("lib/modules/6.1.0-9-amd64/modules.dep", ""),
            ("lib/modules/6.1.0-30-amd64/modules.dep", ""),
            ("lib/modules/6.12.1-amd64/left-over", ""),
            ("boot/vmlinuz-6.1.0-9-amd64", ""),
            ("boot/vmlinuz-6.1.0-30-amd64", ""),
        ]);
        assert_eq!(kernels(&Machine::at(dir.path())), ["6.1.0-30-amd64", "6.1.0-9-amd64"]);
        let dir = tree(&[("usr/lib/modules/6.12.9/x", ""), ("usr/lib/modules/6.12.10/x", "")]);
        assert_eq!(kernels(&Machine::at(dir.path())), ["6.12.10", "6.12.9"]);
    }

    #[test]
    fn an_image_of_another_architecture_does_not_run_here() {
        let header = |machine: u16| [b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0".as_slice(), &machine.to_le_bytes()].concat();
        assert_eq!(architecture(&header(62)).as_deref(), Some("x86_64"));
        let dir = tree(&[]);
        fs::create_dir(dir.path().join("bin")).unwrap();
        let other = if cfg!(target_arch = "riscv64") { 62 } else { 243 };
        fs::write(dir.path().join("bin/sh"), header(other)).unwrap();
        let facts = inspect(&Machine::at(dir.path())).unwrap();
        assert!(facts.runs_here.source().starts_with("its programs are for "), "{:?}", facts.runs_here);
        assert!(facts.device.source().contains("not a mounted file system of its own"), "{:?}", facts.device);
        assert!(inspect(&Machine::at(tree(&[(".swaptune/index.json", "{}")]).path())).is_none(), "a capture is no image");
    }
}
