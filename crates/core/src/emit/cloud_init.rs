//! User data of cloud-init: what was planned as swaptune's configuration, and its apply.

use super::{Emitted, EmittedValues, HEADER};
use crate::plan::CONFIG_FILE;
use crate::settings::to_toml;

pub(super) fn write(values: &EmittedValues<'_>, emitted: &mut Emitted) {
    let configuration = to_toml(values.settings);
    let content: String =
        configuration.lines().map(|line| if line.is_empty() { "\n".into() } else { format!("      {line}\n") }).collect();
    // cloud-init knows its own by the very first line.
    let text = format!(
        "#cloud-config\n{HEADER}\
         write_files:\n\
         \x20 - path: {CONFIG_FILE}\n\
         \x20   permissions: \"0644\"\n\
         \x20   content: |\n\
         {content}\
         runcmd:\n\
         \x20 - [swaptune, apply, --yes]\n\
         \x20 - [swaptune, verify]\n"
    );
    emitted.file("user-data", text);
    emitted.note("the image must have swaptune: its package, or the file in /usr/local/bin");
}
