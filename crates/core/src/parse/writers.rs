//! Lines outside of sysctl files that set one of our knobs: commands of units and scripts, tmpfiles.d, udev rules, modprobe.d.
//!
//! A script can hide what it writes in a thousand ways. What is understood is what people copy from guides: `echo VALUE > FILE`,
//! `echo VALUE | tee FILE`, `sysctl -w KEY=VALUE`, each with the knob's whole path or key in the line.

use crate::knobs::{self, Knob};
use crate::parse::sysctl::normal_key;

/// One knob that a line sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// Name of the knob.
    pub knob: &'static str,
    /// The value, where the line states it as plain text.
    pub value: Option<String>,
}

/// One command of a unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitCommand {
    /// Line on which it begins, from 1.
    pub line: usize,
    /// The key (`ExecStart`).
    pub key: String,
    /// The command with lines that go on put together; empty where the key is cleared.
    pub text: String,
}

/// The commands that a unit runs when it starts (systemd.service(5)).
#[must_use]
pub fn commands(unit: &str) -> Vec<UnitCommand> {
    let mut all: Vec<UnitCommand> = Vec::new();
    let mut goes_on = false;
    for (index, line) in unit.lines().enumerate() {
        let body = line.trim_end().strip_suffix('\\').unwrap_or(line);
        if goes_on {
            if let Some(last) = all.last_mut() {
                last.text += " ";
                last.text += body.trim();
            }
        } else if let Some((key, value)) = body.split_once('=').filter(|(key, _)| is_start(key.trim())) {
            all.push(UnitCommand { line: index + 1, key: key.trim().to_owned(), text: value.trim().to_owned() });
        } else {
            continue;
        }
        goes_on = line.trim_end().ends_with('\\');
    }
    all
}

fn is_start(key: &str) -> bool {
    matches!(key, "ExecStart" | "ExecStartPre" | "ExecStartPost")
}

/// The script that a command runs: its program, or the first file that it gives a shell.
#[must_use]
pub fn script(command: &str) -> Option<&str> {
    let mut words = command.trim_start_matches(['@', '-', ':', '+', '!']).split_whitespace();
    let program = words.next().filter(|program| program.starts_with('/'))?;
    let name = program.rsplit('/').next().unwrap_or_default();
    if !matches!(name, "sh" | "bash" | "dash" | "ash" | "env") {
        return Some(program);
    }
    words.find(|word| !word.starts_with('-') && !matches!(*word, "sh" | "bash")).filter(|word| word.starts_with('/'))
}

/// What a line of a shell script sets, be it behind a time of cron or a key of a unit.
#[must_use]
pub fn shell(line: &str) -> Vec<Write> {
    if line.trim_start().starts_with('#') {
        return Vec::new();
    }
    let files = plain_knobs().flat_map(|knob| redirections(line, knob));
    files.chain(sysctl_calls(line)).collect()
}

/// What a line of tmpfiles.d(5) sets.
#[must_use]
pub fn tmpfiles(line: &str) -> Vec<Write> {
    let mut words = line.split_whitespace();
    let kind = words.next().filter(|kind| kind.starts_with(['w', 'f', 'F']));
    let knob = words.next().filter(|_| kind.is_some()).and_then(|path| plain_knobs().find(|knob| knob.path == path));
    // Mode, user, group and age come before the argument.
    let value = words.skip(4).collect::<Vec<_>>().join(" ");
    knob.map(|knob| Write { knob: knob.name, value: stated(&value) }).into_iter().collect()
}

/// What a udev rule sets: a sysctl, a setting of a zram device, or what a program that it runs sets.
#[must_use]
pub fn udev(line: &str) -> Vec<Write> {
    let of_zram = line.contains("KERNEL==\"zram");
    let assigned = line.split(',').filter_map(|part| {
        let (key, value) = part.split_once('=')?;
        let value = value.trim().trim_matches('"');
        let inside = |kind: &str| key.trim().strip_prefix(kind)?.strip_suffix('}').map(str::to_owned);
        let name = inside("SYSCTL{").map(|key| normal_key(&key));
        let name = name.or_else(|| inside("ATTR{").filter(|_| of_zram).map(|key| format!("zram.{key}")))?;
        let knob = knobs::find(&name).filter(|_| !value.starts_with('='))?;
        Some(Write { knob: knob.name, value: stated(value) })
    });
    if line.trim_start().starts_with('#') { Vec::new() } else { assigned.chain(shell(line)).collect() }
}

/// What a line of modprobe.d(5) gives zswap, which counts only where zswap is a module.
#[must_use]
pub fn modprobe(line: &str) -> Vec<Write> {
    let mut words = line.split_whitespace();
    let ours = words.next() == Some("options") && words.next() == Some("zswap");
    let set = words.filter(|_| ours).filter_map(|word| {
        let (name, value) = word.split_once('=')?;
        let knob = knobs::find(&format!("zswap.{}", name.replace('-', "_")))?;
        Some(Write { knob: knob.name, value: stated(value) })
    });
    set.collect()
}

/// Knobs with a path of their own.
fn plain_knobs() -> impl Iterator<Item = &'static Knob> {
    knobs::all().filter(|knob| !knob.is_pattern())
}

/// Every `… > PATH` and `… | tee PATH` of a line.
fn redirections(line: &str, knob: &'static Knob) -> Vec<Write> {
    let whole = |at: usize| {
        let behind = line[at + knob.path.len()..].chars().next();
        !behind.is_some_and(|c| c.is_ascii_alphanumeric() || "_-./*".contains(c))
    };
    let write = |(at, _): (usize, &str)| {
        let before = line[..at].trim_end_matches(['"', '\'', ' ', '\t', '\\']);
        let command = match before.strip_suffix('>') {
            Some(command) => command.trim_end_matches('>'),
            None => {
                let (command, tee) = before.rsplit_once('|')?;
                tee.split_whitespace().any(|word| word == "tee" || word.ends_with("/tee")).then_some(command)?
            }
        };
        Some(Write { knob: knob.name, value: echoed(command) })
    };
    line.match_indices(knob.path).filter(|(at, _)| whole(*at)).filter_map(write).collect()
}

/// What the last `echo` or `printf` of a piece of a line says.
fn echoed(command: &str) -> Option<String> {
    let said = ["echo ", "printf "].iter().filter_map(|word| command.rfind(word).map(|at| at + word.len())).max()?;
    let said = command[said..].trim();
    stated(said.strip_prefix("-n ").unwrap_or(said))
}

/// Every `KEY=VALUE` behind a `sysctl`.
fn sysctl_calls(line: &str) -> Vec<Write> {
    let mut words = line.split([' ', '\t', ';', '&', '|', '"', '\'', '`', '(', ')']).filter(|word| !word.is_empty());
    let called = words.any(|word| word == "sysctl" || word.ends_with("/sysctl"));
    let set = words.filter(|_| called).filter_map(|word| {
        let (key, value) = word.split_once('=')?;
        let key = normal_key(key);
        let knob = plain_knobs().find(|knob| knob.is_sysctl() && knob.name == key)?;
        Some(Write { knob: knob.name, value: stated(value) })
    });
    set.collect()
}

/// A value that stands there as it is; `None` for what only a shell knows.
fn stated(value: &str) -> Option<String> {
    let plain = value.trim().trim_matches(['"', '\'']).trim();
    (!plain.is_empty() && !plain.contains(['$', '`', '%', ';', '&', '|'])).then(|| plain.to_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn set(writes: Vec<Write>) -> Vec<(&'static str, Option<String>)> {
        writes.into_iter().map(|write| (write.knob, write.value)).collect()
    }

    fn one(knob: &'static str, value: &str) -> Vec<(&'static str, Option<String>)> {
        vec![(knob, (!value.is_empty()).then(|| value.to_owned()))]
    }

    #[test]
    fn lines_of_guides() {
        const THP: &str = "/sys/kernel/mm/transparent_hugepage/enabled";
        for (line, knob, value) in [
            (format!("ExecStart=/bin/sh -c 'echo madvise > {THP}'"), "transparent_hugepage.enabled", "madvise"),
            (format!("@reboot root echo never | sudo tee {THP}"), "transparent_hugepage.enabled", "never"),
            (format!("echo \"never\" >>{THP} # c"), "transparent_hugepage.enabled", "never"),
            (format!("cat /x > {THP}"), "transparent_hugepage.enabled", ""),
            (format!("echo $A > \"{THP}\""), "transparent_hugepage.enabled", ""),
            ("echo -n 1 > /sys/module/zswap/parameters/enabled".into(), "zswap.enabled", "1"),
            ("printf 10 >/proc/sys/vm/swappiness; true".into(), "vm.swappiness", "10"),
            ("ExecStart=/sbin/sysctl -q -w vm.swappiness=10".into(), "vm.swappiness", "10"),
            ("sh -c \"sysctl vm/page-cluster=3\"".into(), "vm.page-cluster", "3"),
        ] {
            assert_eq!(set(shell(&line)), one(knob, value), "{line}");
        }
    }

    #[test]
    fn lines_that_only_look() {
        for line in [
            "cat /sys/kernel/mm/transparent_hugepage/enabled",
            "# echo never > /sys/kernel/mm/transparent_hugepage/enabled",
            "echo x > /sys/kernel/mm/transparent_hugepage/enabled_old",
            "test -w /proc/sys/vm/swappiness && echo yes > /tmp/x",
            "ls /proc/sys/vm/swappiness | grep x",
            "sysctl vm.swappiness",
            "vm.swappiness=10",
            "sysctl -w net.ipv4.ip_forward=1",
            "",
        ] {
            assert!(shell(line).is_empty(), "{line}");
        }
    }

    #[test]
    fn other_kinds_of_files() {
        let line = "w! /sys/module/zswap/parameters/max_pool_percent - - - - 30";
        assert_eq!(set(tmpfiles(line)), one("zswap.max_pool_percent", "30"));
        assert!(tmpfiles("r /proc/sys/vm/swappiness - - - - 30").is_empty() && tmpfiles("w").is_empty());
        assert_eq!(set(udev("ACTION==\"add\", SYSCTL{vm/swappiness}=\"10\"")), one("vm.swappiness", "10"));
        let zram = "KERNEL==\"zram0\", ATTR{disksize}==\"0\", ATTR{disksize}=\"2G\", TAG+=\"systemd\"";
        assert_eq!(set(udev(zram)), one("zram.disksize", "2G"));
        assert_eq!(set(udev("RUN+=\"/bin/sh -c 'echo 0 > /proc/sys/vm/page-cluster'\"")), one("vm.page-cluster", "0"));
        assert!(udev("KERNEL==\"sda\", ATTR{disksize}=\"2G\"").is_empty());
        let both = modprobe("options zswap enabled=1 max-pool-percent=40");
        assert_eq!(set(both), [("zswap.enabled", Some("1".into())), ("zswap.max_pool_percent", Some("40".into()))]);
        assert!(modprobe("options zram num_devices=2").is_empty() && modprobe("# options zswap enabled=1").is_empty());
    }

    #[test]
    fn commands_of_a_unit() {
        let unit =
            "[Service]\nExecStartPre=-/bin/true\nExecStart=/bin/sh -c \\\n  'echo 1' \\\n  x\nExecStop=/bin/no\nExecStart=\n";
        let all: Vec<_> = commands(unit).into_iter().map(|c| (c.line, c.key, c.text)).collect();
        let command = |line, key: &str, text: &str| (line, key.to_owned(), text.to_owned());
        let expect = [
            command(2, "ExecStartPre", "-/bin/true"),
            command(3, "ExecStart", "/bin/sh -c 'echo 1' x"),
            command(7, "ExecStart", ""),
        ];
        assert_eq!(all, expect);
        for (text, expect) in [
            ("/usr/local/bin/thp.sh now", Some("/usr/local/bin/thp.sh")),
            ("-/bin/bash -e /opt/a.sh", Some("/opt/a.sh")),
            ("/usr/bin/env bash /opt/a.sh", Some("/opt/a.sh")),
            ("/bin/sh -c 'echo 1'", None),
            ("sysctl -w a=b", None),
        ] {
            assert_eq!(script(text), expect, "{text}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_text_is_safe(text in "(?s)(.|/proc/sys/vm/swappiness|echo |> |sysctl ){0,30}") {
            for command in commands(&text) {
                let _ = script(&command.text);
            }
            let _ = (shell(&text), tmpfiles(&text), udev(&text), modprobe(&text));
        }
    }
}
