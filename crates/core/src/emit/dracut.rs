//! dracut.conf(5): the modules that zswap needs before the root file system is there, and its words where dracut writes the command line.

use super::{Emitted, EmittedValues, HEADER};
use crate::facts::{Availability, Compressor, InitramfsTool};

pub(super) fn write(values: &EmittedValues<'_>, emitted: &mut Emitted) {
    if !values.settings.wants_zswap() {
        emitted.note("the plan does not switch zswap on, and nothing else of it is needed before the root file system is there");
        return;
    }
    let words: Vec<String> = values.zswap.iter().filter_map(word).collect();
    let mut text = HEADER.to_owned();
    let modules = modules(values);
    if !modules.is_empty() {
        let names: Vec<&str> = modules.iter().map(String::as_str).collect();
        let file = InitramfsTool::Dracut.builder().text(&names);
        file.lines().filter(|line| !line.starts_with('#')).for_each(|line| text += &format!("{line}\n"));
    }
    text += &format!("kernel_cmdline+=\" {} \"\n", words.join(" "));
    emitted.file(InitramfsTool::Dracut.builder().file, text);
    emitted.note(
        "kernel_cmdline counts for unified images and for what dracut embeds; another boot loader has arguments of its own",
    );
    emitted.note("`dracut --force` makes the initramfs anew; sysctls and swap areas are in `swaptune emit systemd`");
}

/// The compressor where it is a module, and the allocator where it is one's choice: they must be in the initramfs to be there in time, or the kernel
/// takes others. dracut passes over a module that is built in.
fn modules(values: &EmittedValues<'_>) -> Vec<String> {
    let built_in = |c: &&Compressor, name: &str| c.name == name && c.availability == Availability::BuiltIn;
    let named = values.settings.zswap.compressor().and_then(|names| values.facts.first_usable(&names.value));
    let compressor = named.filter(|name| !values.facts.compressors.iter().any(|c| built_in(&c, name)));
    let allocator = values.zswap.iter().find(|(path, _)| path.ends_with("/zpool")).map(|(_, name)| name.clone());
    compressor.into_iter().flat_map(|name| [name.clone(), format!("{name}_compress")]).chain(allocator).collect()
}

/// A parameter as a word of the command line; a value that would end the quotes of the file, or the word, is none.
fn word((path, value): &(&str, String)) -> Option<String> {
    let name = path.strip_prefix("/sys/module/")?.replace("/parameters/", ".");
    let plain = !value.is_empty() && value.bytes().all(|c| c.is_ascii_alphanumeric() || b"-_.".contains(&c));
    plain.then(|| format!("{name}={value}"))
}
