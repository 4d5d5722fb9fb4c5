//! Who else sets our knobs at boot: units that start, tmpfiles.d, udev rules, modprobe.d, rc.local and cron.
//!
//! A file is kept by a capture only when it sets a knob, and then only the lines that do, each at its place.

use std::collections::BTreeMap;
use std::io::Read;

use swaptune_core::facts::{KnobWriter, WriterKind};
use swaptune_core::parse::writers::{self, Write};

use crate::machine::Machine;

/// Where units lie, the first one wins (systemd.unit(5)).
const UNITS: [&str; 4] =
    ["/etc/systemd/system", "/run/systemd/system", "/usr/local/lib/systemd/system", "/usr/lib/systemd/system"];
/// Folders of line-wise files, the first one wins for each name; with their ending, kind and reader.
const FOLDERS: [(&[&str], &str, WriterKind, ReadLine); 4] = [
    (&["/etc/tmpfiles.d", "/run/tmpfiles.d", "/usr/lib/tmpfiles.d"], ".conf", WriterKind::Tmpfiles, writers::tmpfiles),
    (&["/etc/udev/rules.d", "/run/udev/rules.d", "/usr/lib/udev/rules.d"], ".rules", WriterKind::Udev, writers::udev),
    (&["/etc/modprobe.d", "/run/modprobe.d", "/usr/lib/modprobe.d"], ".conf", WriterKind::Modprobe, writers::modprobe),
    (&["/etc/cron.d"], "", WriterKind::Cron, writers::shell),
];
/// Single files.
const FILES: [(&str, WriterKind); 5] = [
    ("/etc/rc.local", WriterKind::RcLocal),
    ("/etc/rc.d/rc.local", WriterKind::RcLocal),
    ("/etc/crontab", WriterKind::Cron),
    ("/var/spool/cron/crontabs/root", WriterKind::Cron),
    ("/var/spool/cron/root", WriterKind::Cron),
];
/// No unit or script that sets a knob is longer.
const LONGEST: u64 = 64 << 10;

type ReadLine = fn(&str) -> Vec<Write>;

pub(super) fn inspect(machine: &Machine) -> Vec<KnobWriter> {
    let units = enabled(machine).into_iter().flat_map(|unit| of_unit(machine, &unit));
    let folders = FOLDERS.iter().flat_map(|(folders, ending, kind, read)| {
        let files = by_name(machine, folders, ending, *read).into_iter();
        files.flat_map(move |path| of_lines(machine, &path, *kind, *read))
    });
    let files = FILES.iter().flat_map(|(path, kind)| of_lines(machine, path, *kind, writers::shell));
    units.chain(folders).chain(files).filter(|writer| !writer.path.contains("swaptune")).collect()
}

/// The files of some folders, where a name in an earlier folder hides the same name in a later one.
fn by_name(machine: &Machine, folders: &[&str], ending: &str, read: ReadLine) -> Vec<String> {
    let mut names: BTreeMap<String, String> = BTreeMap::new();
    for (index, folder) in folders.iter().enumerate() {
        // What hides another file counts although it sets nothing.
        let matters = |name: &str| {
            let hides = || folders[index + 1..].iter().any(|later| sets(machine, &format!("{later}/{name}"), read));
            name.ends_with(ending) && (sets(machine, &format!("{folder}/{name}"), read) || hides())
        };
        for name in machine.list_where(folder, matters).unwrap_or_default() {
            let path = format!("{folder}/{name}");
            names.entry(name).or_insert(path);
        }
    }
    names.into_values().collect()
}

fn sets(machine: &Machine, path: &str, read: ReadLine) -> bool {
    peek(machine, path).lines().any(|line| !read(line).is_empty())
}

/// A text that a capture need not keep; empty when it cannot be read.
fn peek(machine: &Machine, path: &str) -> String {
    let mut bytes = Vec::new();
    let read = machine.open_unrecorded(path).map(|file| file.take(LONGEST).read_to_end(&mut bytes));
    if read.is_ok() { String::from_utf8_lossy(&bytes).into_owned() } else { String::new() }
}

/// The text with only the lines that matter, each at its place; that is what a capture keeps.
fn kept(machine: &Machine, path: &str, matters: impl Fn(&str) -> bool) -> String {
    let text = peek(machine, path);
    if !text.lines().any(&matters) {
        return String::new();
    }
    let kept: String = text.lines().map(|line| if matters(line) { format!("{line}\n") } else { "\n".to_owned() }).collect();
    machine.keep_instead(path, || kept.clone().into_bytes());
    kept
}

fn of_lines(machine: &Machine, path: &str, kind: WriterKind, read: ReadLine) -> Vec<KnobWriter> {
    let text = kept(machine, path, |line| !read(line).is_empty());
    let line = |(index, line): (usize, &str)| -> Vec<KnobWriter> {
        read(line).into_iter().map(|write| writer(write, path, index + 1, kind, path)).collect()
    };
    text.lines().enumerate().flat_map(line).collect()
}

fn writer(write: Write, path: &str, line: usize, kind: WriterKind, by: &str) -> KnobWriter {
    KnobWriter { knob: write.knob.to_owned(), value: write.value, path: path.to_owned(), line, kind, by: by.to_owned() }
}

/// Services that something starts at boot, by name. A timer, path or socket starts the service of its name.
fn enabled(machine: &Machine) -> Vec<String> {
    let mut found = Vec::new();
    for base in UNITS {
        let folders =
            machine.list_where(base, |name| name.ends_with(".wants") || name.ends_with(".requires")).unwrap_or_default();
        for folder in folders.iter().map(|name| format!("{base}/{name}")) {
            let matters = |name: &str| service(name).is_some_and(|unit| !of_unit(machine, &unit).is_empty());
            found.extend(machine.list_where(&folder, matters).unwrap_or_default().iter().filter_map(|name| service(name)));
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

fn service(name: &str) -> Option<String> {
    let (base, ending) = name.rsplit_once('.')?;
    matches!(ending, "service" | "timer" | "path" | "socket").then(|| format!("{base}.service"))
}

/// What a unit sets when it starts, in its own commands and in the scripts that they run.
fn of_unit(machine: &Machine, unit: &str) -> Vec<KnobWriter> {
    if unit.starts_with("swaptune") {
        return Vec::new();
    }
    let mut commands: Vec<(String, writers::UnitCommand)> = Vec::new();
    let texts = texts(machine, unit);
    for path in &texts {
        for command in writers::commands(&peek(machine, path)) {
            // An empty one takes back what stood before it.
            match command.text.is_empty() {
                true => commands.retain(|(_, earlier)| earlier.key != command.key),
                false => commands.push((path.clone(), command)),
            }
        }
    }
    let mut all = Vec::new();
    for (path, command) in commands {
        let writes = writers::shell(&command.text);
        let scripts = writers::script(&command.text).map(|script| of_script(machine, script, unit)).unwrap_or_default();
        all.extend(writes.into_iter().map(|write| writer(write, &path, command.line, WriterKind::Unit, unit)));
        all.extend(scripts);
    }
    if !all.is_empty() {
        texts.iter().for_each(|path| drop(kept(machine, path, belongs_to_a_command)));
    }
    all
}

/// Lines of a unit with a command, those that go on with one, and headers, by which a capture has the file at all.
fn belongs_to_a_command(line: &str) -> bool {
    line.starts_with("Exec") || line.starts_with([' ', '\t', '['])
}

fn of_script(machine: &Machine, path: &str, unit: &str) -> Vec<KnobWriter> {
    if !peek(machine, path).starts_with("#!") {
        return Vec::new();
    }
    let text = kept(machine, path, |line| line.starts_with("#!") || !writers::shell(line).is_empty());
    let line = |(index, line): (usize, &str)| -> Vec<KnobWriter> {
        writers::shell(line).into_iter().map(|write| writer(write, path, index + 1, WriterKind::Unit, unit)).collect()
    };
    text.lines().enumerate().flat_map(line).collect()
}

/// The file of a unit and its drop-ins in their order; nothing for a unit that is masked.
fn texts(machine: &Machine, unit: &str) -> Vec<String> {
    let template = unit.split_once('@').map(|(base, _)| format!("{base}@.service"));
    let names: Vec<String> = std::iter::once(unit.to_owned()).chain(template).collect();
    let paths = || names.iter().flat_map(|name| UNITS.iter().map(move |base| format!("{base}/{name}")));
    let Some(main) = paths().find(|path| machine.link(path).is_ok() || !peek(machine, path).is_empty()) else {
        return Vec::new();
    };
    if machine.link(&main).is_ok_and(|target| target == "/dev/null") {
        return Vec::new();
    }
    let mut dropins: BTreeMap<String, String> = BTreeMap::new();
    for folder in paths().map(|path| format!("{path}.d")) {
        let name = |path: &String| path.rsplit('/').next().unwrap_or_default().to_owned();
        // An empty listing of a folder that is not there costs a capture nothing.
        for path in machine.files_in(&folder, ".conf") {
            dropins.entry(name(&path)).or_insert(path);
        }
    }
    std::iter::once(main).chain(dropins.into_values()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::capture;
    use crate::testing::tree;

    const THP: &str = "/sys/kernel/mm/transparent_hugepage/enabled";

    fn check(files: &[(&str, &str)], expect: &[&str]) {
        let shown = |machine: &Machine| -> Vec<String> {
            let show = |w: KnobWriter| format!("{}={} {}:{} {}", w.knob, w.value.unwrap_or("?".into()), w.path, w.line, w.by);
            inspect(machine).into_iter().map(show).collect()
        };
        let dir = tree(files);
        let machine = Machine::at(dir.path());
        assert_eq!(shown(&machine), expect);
        let copy = tempfile::tempdir().unwrap();
        capture(&machine, copy.path()).unwrap();
        assert_eq!(shown(&Machine::at(copy.path())), expect, "from a capture");
    }

    #[test]
    fn the_unit_of_the_guide() {
        let unit =
            format!("[Unit]\nDescription=x\n[Service]\nEnvironment=A=geheim\nExecStart=/bin/sh -c 'echo madvise > {THP}'\n");
        let unit = ("etc/systemd/system/thp-config.service", unit.as_str());
        let wants = ("etc/systemd/system/multi-user.target.wants/thp-config.service", "-> ../thp-config.service");
        let found = "transparent_hugepage.enabled=madvise /etc/systemd/system/thp-config.service:5 thp-config.service";
        check(&[unit], &[]);
        check(&[unit, wants], &[found]);
        let empty = ("etc/systemd/system/thp-config.service.d/x.conf", "[Service]\nExecStart=\n");
        check(&[unit, wants, empty], &[]);
        let never = "[Service]\nExecStart=\nExecStart=/usr/local/bin/thp.sh\n";
        let script = format!("#!/bin/sh\n# a script\necho never | tee {THP}\n");
        check(
            &[unit, wants, ("etc/systemd/system/thp-config.service.d/x.conf", never), ("usr/local/bin/thp.sh", &script)],
            &["transparent_hugepage.enabled=never /usr/local/bin/thp.sh:3 thp-config.service"],
        );
        let dir = tree(&[unit, wants]);
        let copy = tempfile::tempdir().unwrap();
        capture(&Machine::at(dir.path()), copy.path()).unwrap();
        let text = std::fs::read_to_string(copy.path().join("etc/systemd/system/thp-config.service")).unwrap();
        assert!(!text.contains("geheim") && text.contains("ExecStart"), "{text}");
    }

    #[test]
    fn timers_templates_and_masks() {
        let unit = ("usr/lib/systemd/system/a@.service", "[Service]\nExecStart=sysctl -w vm.swappiness=1\n");
        let timer = ("etc/systemd/system/timers.target.wants/a@x.timer", "-> /usr/lib/systemd/system/a@.timer");
        check(&[unit, timer], &["vm.swappiness=1 /usr/lib/systemd/system/a@.service:2 a@x.service"]);
        check(&[unit, timer, ("etc/systemd/system/a@.service", "-> /dev/null")], &[]);
    }

    #[test]
    fn other_places() {
        let thp = format!("x\n@reboot root echo never > {THP}\n");
        check(
            &[
                ("etc/tmpfiles.d/zswap.conf", "# c\nw /sys/module/zswap/parameters/enabled - - - - 1\n"),
                ("usr/lib/tmpfiles.d/zswap.conf", "w /sys/module/zswap/parameters/enabled - - - - 0\n"),
                ("usr/lib/tmpfiles.d/page.conf", "w /proc/sys/vm/page-cluster - - - - 0\n"),
                ("etc/tmpfiles.d/page.conf", "# hidden\n"),
                ("etc/tmpfiles.d/50-swaptune.conf", "w /sys/module/zswap/parameters/enabled - - - - 1\n"),
                ("usr/lib/udev/rules.d/30-zram.rules", "KERNEL==\"zram0\", ATTR{comp_algorithm}=\"lz4\"\n"),
                ("etc/modprobe.d/zswap.conf", "options zswap enabled=1\n"),
                ("etc/cron.d/thp", &thp),
                ("etc/rc.local", "#!/bin/sh\nsysctl -w vm.swappiness=7\nexit 0\n"),
            ],
            &[
                "zswap.enabled=1 /etc/tmpfiles.d/zswap.conf:2 /etc/tmpfiles.d/zswap.conf",
                "zram.comp_algorithm=lz4 /usr/lib/udev/rules.d/30-zram.rules:1 /usr/lib/udev/rules.d/30-zram.rules",
                "zswap.enabled=1 /etc/modprobe.d/zswap.conf:1 /etc/modprobe.d/zswap.conf",
                "transparent_hugepage.enabled=never /etc/cron.d/thp:2 /etc/cron.d/thp",
                "vm.swappiness=7 /etc/rc.local:2 /etc/rc.local",
            ],
        );
    }
}
