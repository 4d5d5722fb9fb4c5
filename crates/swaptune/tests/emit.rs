//! What `swaptune emit` writes is read back by the readers of those programs, for every captured host: each format says the same.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, ExitCode, Output};

use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::Value;
use swaptune_core::change::Change;
use swaptune_core::emit::{Emitted, FORMATS};
use swaptune_core::knobs;
use swaptune_core::parse::{cmdline, sysctl, yaml, zram_generator};
use swaptune_core::plan::{APPLIED_FILE, Plan, When};
use swaptune_core::settings::{Settings, read_toml};
use swaptune_trials::{needing, program};

mod support;

use support::{Host, hosts};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let mut trials = vec![Trial::test("what_is_there_is_not_written_over", not_over)];
    for host in hosts() {
        let of = |test: fn(&Host) -> Result<(), Failed>| {
            let host = host.clone();
            move || test(&host)
        };
        trials.push(Trial::test(format!("{}::cloud_init_is_the_plan_again", host.name), of(cloud_init)));
        trials.push(Trial::test(format!("{}::it_is_what_plan_chooses", host.name), of(as_planned)));
        trials.push(Trial::test(format!("{}::what_is_left_out_is_told", host.name), of(told)));
        trials.push(Trial::test(format!("{}::systemd_files_say_the_same", host.name), of(systemd)));
        trials.push(Trial::test(format!("{}::ansible_writes_the_files_of_systemd", host.name), of(ansible)));
        trials.push(Trial::test(format!("{}::dracut_says_the_same", host.name), of(dracut)));
        trials.push(Trial::test(format!("{}::zram_generator_says_the_same", host.name), of(zram)));
        trials.push(needing(
            format!("{}::nixos_evaluates_to_the_same", host.name),
            || program("nix-instantiate", &["--version"]),
            of(nixos),
        ));
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn swaptune(words: &[&str], root: &Path) -> Result<Output, Failed> {
    Ok(Command::new(env!("CARGO_BIN_EXE_swaptune")).args(words).arg("--root").arg(root).output()?)
}

/// What is written in a format by the rules alone, which takes no simulation; `None` where the plan is refused, and for that alone.
fn emitted(format: &str, more: &[&str], root: &Path) -> Result<Option<Emitted>, Failed> {
    written(format, &[&["--profile", "auto"], more].concat(), root)
}

fn written(format: &str, more: &[&str], root: &Path) -> Result<Option<Emitted>, Failed> {
    let output = swaptune(&[&["emit", format, "--json"], more].concat(), root)?;
    if output.status.success() {
        return Ok(Some(serde_json::from_slice(&output.stdout)?));
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let planned = swaptune(&["plan", "--profile", "auto"], root)?;
    let no_zram = said.contains("no zram device") && format == "zram-generator";
    let no_zswap = said.contains("does not switch zswap on") && format == "dracut";
    let no_files = said.contains("the plan leaves no file") && format == "ansible";
    if planned.status.code() == Some(3) || no_zram || no_zswap || no_files {
        return if output.status.code() == Some(3) { Ok(None) } else { Err(format!("{:?}: {said}", output.status).into()) };
    }
    Err(format!("emit {format}: {said}").into())
}

/// The settings in what cloud-init would write.
fn wanted(more: &[&str], root: &Path) -> Result<Option<(String, Settings)>, Failed> {
    emitted("cloud-init", more, root)?.map(|emitted| configured(&emitted)).transpose()
}

fn configured(emitted: &Emitted) -> Result<(String, Settings), Failed> {
    let [file] = emitted.files.as_slice() else { return Err("cloud-init takes one file".into()) };
    is(file.text.starts_with("#cloud-config\n"), || "cloud-init knows it by its first line".into())?;
    let values = yaml::values(&file.text)?;
    let value = |keys: &[&str]| values.iter().find(|value| value.is_at(keys)).map(|value| value.text.clone());
    is(value(&["write_files", "path"]).as_deref() == Some("/etc/swaptune/config.toml"), || file.text.clone())?;
    let content = value(&["write_files", "content"]).ok_or("no content")?;
    let settings = read_toml("content", &content, None)?;
    Ok((content, settings))
}

fn is(right: bool, text: impl FnOnce() -> String) -> Result<(), Failed> {
    if right { Ok(()) } else { Err(text().into()) }
}

/// The configuration that is written there asks for just what it was written from.
fn cloud_init(host: &Host) -> Result<(), Failed> {
    let root = host.copy()?;
    let Some((content, _)) = wanted(&[], root.path())? else { return Ok(()) };
    let folder = tempfile::tempdir()?;
    let config = folder.path().join("config.toml");
    std::fs::write(&config, &content)?;
    let config = config.to_str().ok_or("the path is UTF-8")?;
    let (again, _) = wanted(&["--config", config], root.path())?.ok_or("refused from its own configuration")?;
    let values =
        |text: &str| text.lines().map(|line| line.split(" # ").next().unwrap_or_default().to_owned()).collect::<Vec<_>>();
    is(values(&content) == values(&again), || format!("{content}\nbecomes\n{again}"))
}

/// What `plan` shows; `None` where it proposes no change, or what was applied already.
fn planned(root: &Path) -> Result<Option<Plan>, Failed> {
    let plan: Plan = serde_json::from_slice(&swaptune(&["plan", "--json"], root)?.stdout)?;
    Ok(Some(plan).filter(|plan| plan.refusals.is_empty() && plan.held_back == 0))
}

/// The settings that `plan` writes down for the boot are those that are emitted, comments apart.
fn as_planned(host: &Host) -> Result<(), Failed> {
    let root = host.copy()?;
    let Some(plan) = planned(root.path())? else { return Ok(()) };
    let recorded = plan.steps.iter().find_map(|step| match &step.change {
        Change::File { path, after, .. } if path == APPLIED_FILE => after.clone(),
        _ => None,
    });
    let Some(recorded) = recorded else { return Ok(()) };
    let (content, _) = configured(&written("cloud-init", &[], root.path())?.ok_or("planned, and not emitted")?)?;
    let values = |text: &str| {
        let lines = text.lines().map(|line| line.split(" # ").next().unwrap_or_default().to_owned());
        lines.filter(|line| !(line.is_empty() || line.starts_with('#'))).collect::<Vec<_>>()
    };
    is(values(&content) == values(&recorded), || format!("emitted {content}\nplanned {recorded}"))
}

/// Each manager that the plan silences and each file of others that it edits is in the notes of a form that swaptune does not apply.
fn told(host: &Host) -> Result<(), Failed> {
    let root = host.copy()?;
    let Some(plan) = planned(root.path())? else { return Ok(()) };
    let Some(emitted) = written("systemd", &[], root.path())? else { return Ok(()) };
    let has_zram = emitted.files.iter().any(|file| file.path.contains("zram-generator"));
    for step in plan.steps.iter().filter(|step| step.when == When::Boot) {
        let target = step.change.target();
        let name = match &step.change {
            Change::Link { after, .. } if after.as_deref() == Some("/dev/null") => target.rsplit('/').next().unwrap_or_default(),
            Change::File { .. } if target.contains("/zram-generator.conf.d/") && !has_zram => target,
            Change::File { before: Some(_), .. } if !(target.contains("swaptune") || target == "/etc/fstab") => target,
            _ => continue,
        };
        is(emitted.notes.iter().any(|note| note.contains(name)), || format!("{name} is not in {:#?}", emitted.notes))?;
    }
    Ok(())
}

/// Sysctls and lines of tmpfiles.d that the settings come to, as far as this kernel has them.
fn systemd(host: &Host) -> Result<(), Failed> {
    let root = host.copy()?;
    let Some(emitted) = emitted("systemd", &[], root.path())? else { return Ok(()) };
    let (_, settings) = wanted(&[], root.path())?.ok_or("cloud-init is refused, systemd is not")?;
    let sysctls = sysctls(&emitted);
    for (name, setting) in &settings.knobs {
        let row = knobs::find(name).ok_or("a knob of the table")?;
        let is_said = emitted.notes.iter().any(|note| note.starts_with(name.as_str()));
        let found = match row.is_sysctl() {
            true => sysctls.get(name).cloned(),
            false => tmpfiles(&emitted).into_iter().find(|(path, _)| path == row.path).map(|(_, value)| value),
        };
        is(is_said || found.as_deref() == Some(&row.spelling(&setting.value)), || {
            format!("{name} is {found:?} in {emitted:#?}")
        })?;
    }
    let areas = settings.swap.iter().flat_map(|list| &list.value).count();
    let units = emitted.files.iter().filter(|file| file.path.ends_with(".swap")).count();
    let left_out = emitted.notes.iter().filter(|note| note.contains("a swap unit needs")).count();
    is(units + left_out == areas, || format!("{units} units of {areas} areas"))?;
    let zswap: Vec<_> = tmpfiles(&emitted).into_iter().filter(|(path, _)| path.contains("/zswap/")).collect();
    let enabled = zswap.iter().position(|(path, _)| path.ends_with("/enabled"));
    is(enabled.is_none_or(|place| place + 1 == zswap.len()), || format!("enabled is written before others: {zswap:?}"))
}

fn sysctls(emitted: &Emitted) -> BTreeMap<String, String> {
    let files = emitted.files.iter().filter(|file| file.path.starts_with("/etc/sysctl.d/"));
    files.flat_map(|file| sysctl::parse(&file.text)).map(|setting| (setting.key, setting.value)).collect()
}

/// Path and argument of each line: `w PATH MODE USER GROUP AGE ARGUMENT`.
fn tmpfiles(emitted: &Emitted) -> Vec<(String, String)> {
    let files = emitted.files.iter().filter(|file| file.path.starts_with("/etc/tmpfiles.d/"));
    let lines = files.flat_map(|file| file.text.lines()).filter(|line| !line.starts_with('#'));
    lines.filter_map(rule).collect()
}

fn rule(line: &str) -> Option<(String, String)> {
    let (path, argument) = line.strip_prefix("w ")?.split_once(" - - - - ")?;
    Some((path.to_owned(), argument.replace("%%", "%")))
}

/// The same files, with what is in them, and a unit enabled for each area.
fn ansible(host: &Host) -> Result<(), Failed> {
    let root = host.copy()?;
    let Some(emitted) = emitted("ansible", &[], root.path())? else { return Ok(()) };
    let files = self::emitted("systemd", &[], root.path())?.unwrap_or_default().files;
    let [playbook] = emitted.files.as_slice() else { return Err("a playbook is one file".into()) };
    let values = yaml::values(&playbook.text)?;
    let at = |keys: [&'static str; 3]| values.iter().filter(move |value| value.is_at(&keys)).map(|value| value.text.clone());
    let found: Vec<_> =
        at(["tasks", "ansible.builtin.copy", "dest"]).zip(at(["tasks", "ansible.builtin.copy", "content"])).collect();
    let expected: Vec<_> = files.iter().map(|file| (file.path.clone(), file.text.clone())).collect();
    is(found == expected, || format!("{found:?} for {expected:?}"))?;
    let enabled: Vec<_> = at(["tasks", "ansible.builtin.systemd_service", "name"]).collect();
    let units: Vec<_> = files.iter().filter_map(|file| file.path.strip_prefix("/etc/systemd/system/")).collect();
    is(enabled == units, || format!("{enabled:?} for {units:?}"))?;
    let notified: Vec<_> = values.iter().filter(|value| value.is_at(&["tasks", "notify"])).map(|value| &value.text).collect();
    let handlers: Vec<_> = values.iter().filter(|value| value.is_at(&["handlers", "name"])).map(|value| &value.text).collect();
    is(notified == handlers, || format!("{notified:?} are told, {handlers:?} listen"))
}

/// Assignments that dracut adds to, and in them the words of the kernel that tmpfiles.d has as lines.
fn dracut(host: &Host) -> Result<(), Failed> {
    let root = host.copy()?;
    let Some(emitted) = emitted("dracut", &[], root.path())? else { return Ok(()) };
    let files = self::emitted("systemd", &[], root.path())?.unwrap_or_default();
    let [file] = emitted.files.as_slice() else { return Err("dracut takes one file".into()) };
    let added = |name: &str| {
        let line = file.text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix("+=\""));
        line.and_then(|line| line.strip_suffix('"')).map(str::to_owned)
    };
    let line = added("kernel_cmdline").ok_or("no kernel_cmdline")?;
    let words: Vec<_> = cmdline::parse(&line).into_iter().map(|word| (word.name, word.value.unwrap_or_default())).collect();
    let lines = tmpfiles(&files).into_iter().filter(|(path, _)| path.contains("/module/zswap/"));
    let expected: Vec<_> =
        lines.map(|(path, value)| (path["/sys/module/".len()..].replace("/parameters/", "."), value)).collect();
    is(words == expected, || format!("{words:?} for {expected:?}"))?;
    let drivers = added("add_drivers").unwrap_or_default();
    let compressor = words.iter().find(|(name, _)| name == "zswap.compressor").map(|(_, value)| value.clone());
    let named = compressor.is_none_or(|name| drivers.is_empty() || drivers.split_whitespace().any(|driver| driver == name));
    is(named, || format!("{drivers:?} are not of {line:?}"))
}

fn zram(host: &Host) -> Result<(), Failed> {
    let root = host.copy()?;
    let Some((_, settings)) = wanted(&[], root.path())? else { return Ok(()) };
    let wanted: Vec<_> = settings.zram.iter().flat_map(|list| &list.value).collect();
    let Some(emitted) = emitted("zram-generator", &[], root.path())? else {
        return is(wanted.is_empty(), || format!("nothing is written for {wanted:?}"));
    };
    let files: Vec<(&str, &str)> = emitted.files.iter().map(|file| (file.path.as_str(), file.text.as_str())).collect();
    let devices = zram_generator::devices(&files);
    is(devices.len() == wanted.len(), || format!("{devices:#?} for {wanted:?}"))?;
    for (device, wanted) in devices.iter().zip(wanted) {
        let key = |name: &str| device.keys.get(name).map(|key| key.value.clone()).unwrap_or_default();
        is(key("zram-size") == wanted.size.mib().to_string(), || format!("{device:#?} for {wanted:?}"))?;
        is(wanted.algorithm.contains(&key("compression-algorithm")), || format!("{device:#?} for {wanted:?}"))?;
        is(key("swap-priority") == wanted.priority.to_string(), || format!("{device:#?} for {wanted:?}"))?;
    }
    Ok(())
}

/// The language's own evaluator: the same sysctls and rules as in systemd's files, and the areas of the plan.
fn nixos(host: &Host) -> Result<(), Failed> {
    let root = host.copy()?;
    let Some(emitted) = emitted("nixos", &[], root.path())? else { return Ok(()) };
    let files = self::emitted("systemd", &[], root.path())?.unwrap_or_default();
    let (_, settings) = wanted(&[], root.path())?.ok_or("cloud-init is refused, nixos is not")?;
    let module = root.path().join("swaptune.nix");
    std::fs::write(&module, &emitted.files.first().ok_or("a file")?.text)?;
    let expression = format!("(import {} {{}})", module.display());
    // A store that holds nothing: evaluation of a module needs none.
    let mut nix = Command::new("nix-instantiate");
    nix.args(["--eval", "--strict", "--json", "--store", "dummy://", "-E", &expression]).env("HOME", root.path());
    let output = nix.output()?;
    is(output.status.success(), || String::from_utf8_lossy(&output.stderr).into_owned())?;
    let value: Value = serde_json::from_slice(&output.stdout)?;
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let sysctl = value["boot"]["kernel"]["sysctl"].as_object().into_iter().flatten();
    let found: BTreeMap<String, String> = sysctl.map(|(name, value)| (name.clone(), text(value))).collect();
    is(found == sysctls(&files), || format!("{found:?}"))?;
    let rules = value["systemd"]["tmpfiles"]["rules"].as_array().into_iter().flatten();
    let found: Vec<_> = rules.filter_map(|line| rule(line.as_str()?)).collect();
    is(found == tmpfiles(&files), || format!("{found:?}"))?;
    let devices: Vec<i64> =
        value["swapDevices"].as_array().into_iter().flatten().filter_map(|area| area["priority"].as_i64()).collect();
    let areas: Vec<i64> = settings.swap.iter().flat_map(|list| &list.value).map(|area| i64::from(area.priority)).collect();
    is(devices == areas, || format!("{devices:?} for {areas:?}"))?;
    let zram = settings.zram.iter().flat_map(|list| &list.value).next().map(|zram| zram.size.0);
    is(value["zramSwap"]["memoryMax"].as_u64() == zram, || format!("{value:#} for {zram:?}"))
}

/// All is looked at before anything is written, and each format is known by its name alone.
fn not_over() -> Result<(), Failed> {
    let host = hosts().into_iter().find(|host| host.name == "debian13-6.12").ok_or("the host is there")?;
    let (root, folder) = (host.copy()?, tempfile::tempdir()?);
    let out = folder.path().to_str().ok_or("the path is UTF-8")?;
    // As systemd-escape(1) writes /dev/disk/by-partuuid/5eaf00d0-0000-4000-8000-000000000011.
    let name = r"dev-disk-by\x2dpartuuid-5eaf00d0\x2d0000\x2d4000\x2d8000\x2d000000000011.swap";
    let unit = folder.path().join("etc/systemd/system").join(name);
    std::fs::create_dir_all(unit.parent().ok_or("a folder")?)?;
    std::fs::write(&unit, "mine")?;
    let refused = swaptune(&["emit", "systemd", "--out", out], root.path())?;
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    is(refused.status.code() == Some(2) && said.contains(&format!("{name} is there already")), || said)?;
    is(std::fs::read(&unit)? == b"mine" && !folder.path().join("etc/sysctl.d").exists(), || "something was written".into())?;
    std::fs::remove_file(&unit)?;
    let written = swaptune(&["emit", "systemd", "--out", out], root.path())?;
    is(written.status.success() && unit.exists(), || String::from_utf8_lossy(&written.stderr).into_owned())?;
    let unknown = swaptune(&["emit", "ansibel"], root.path())?;
    let said = String::from_utf8_lossy(&unknown.stderr).into_owned();
    is(unknown.status.code() == Some(2) && FORMATS.iter().all(|format| said.contains(format.name)), || said)
}
