//! A playbook of Ansible's own modules that puts the files of the systemd form in place and has them read: for machines without swaptune.
//!
//! Texts are `!unsafe`, so that Ansible takes no `{{` in them for a template, and quoted as JSON, which YAML reads.

use std::fmt::Write;

use super::systemd::{self, UnitFile};
use super::{Emitted, EmittedFile, EmittedValues, HEADER};

pub(super) fn write(values: &EmittedValues<'_>, emitted: &mut Emitted) {
    let mut inner = Emitted::default();
    let units = systemd::files(values, &mut inner);
    let mut text = format!(
        "{HEADER}---\n- name: Compressed swap as planned for one machine\n  hosts: all\n  become: true\n  gather_facts: false\n  tasks:\n"
    );
    if inner.files.is_empty() {
        emitted.note("the plan leaves no file: there is nothing for a playbook to do");
        return;
    }
    inner.files.iter().for_each(|file| copy(&mut text, file));
    units.iter().for_each(|unit| enable(&mut text, unit, emitted));
    handlers(&mut text, &inner.files);
    emitted.notes.append(&mut inner.notes);
    emitted.file("swaptune.yml", text);
    emitted.note(
        "`ansible-playbook swaptune.yml --check --diff` shows what it would change; it is right for machines like this one only",
    );
}

fn quoted(text: &str) -> String {
    serde_json::Value::String(text.to_owned()).to_string()
}

/// What has a file read at once; the boot reads each by itself.
const READERS: [(&str, &str, &str); 2] = [
    ("/etc/sysctl.d/", "Load the sysctls", "sysctl --load"),
    ("/etc/tmpfiles.d/", "Write the knobs", "systemd-tmpfiles --create"),
];

fn copy(text: &mut String, file: &EmittedFile) {
    let _ = write!(
        text,
        "    - name: Write a file of the plan\n      ansible.builtin.copy:\n        dest: !unsafe {}\n        content: !unsafe {}\n        \
         owner: root\n        group: root\n        mode: \"0644\"\n",
        quoted(&file.path),
        quoted(&file.text)
    );
    if let Some((_, name, _)) = READERS.iter().find(|(folder, ..)| file.path.starts_with(folder)) {
        let _ = writeln!(text, "      notify: {name}");
    }
}

fn enable(text: &mut String, unit: &UnitFile, emitted: &mut Emitted) {
    let _ = write!(
        text,
        "    - name: Enable a swap unit\n      ansible.builtin.systemd_service:\n        name: !unsafe {}\n        daemon_reload: true\n        \
         enabled: true\n",
        quoted(&unit.name)
    );
    match unit.size {
        Some(size) => {
            emitted.note(format!("{} is a file to be made first ({}), then its unit is started", unit.path, size.compact()))
        }
        None => text.push_str("        state: started\n"),
    }
}

fn handlers(text: &mut String, files: &[EmittedFile]) {
    let notified = |(folder, ..): &&(&str, &str, &str)| files.iter().any(|file| file.path.starts_with(folder));
    let mut readers = READERS.iter().filter(notified).peekable();
    if readers.peek().is_some() {
        text.push_str("  handlers:\n");
    }
    for (folder, name, command) in readers {
        let paths = files.iter().filter(|file| file.path.starts_with(folder)).map(|file| file.path.as_str());
        let words = command.split(' ').chain(paths).map(quoted).collect::<Vec<_>>().join(", ");
        let _ = write!(
            text,
            "    - name: {name}\n      ansible.builtin.command:\n        argv: [{words}]\n      changed_when: true\n"
        );
    }
}
