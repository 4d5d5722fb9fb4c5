//! Which page compressors the kernel's crypto API has now, can load, or lacks.
//!
//! `/proc/crypto` lists what is registered; what is not registered may still be a module. Modules that exist but cannot
//! be loaded on this machine count as absent.

use swaptune_core::Fact;
use swaptune_core::facts::{Availability, Compressor, KernelFacts};
use swaptune_core::parse::crypto::{self, Algorithm};
use swaptune_core::parse::modules;

use super::kernel::module_folder;
use crate::machine::Machine;

/// Crypto API name, module, build option.
const COMPRESSORS: [(&str, &str, &str); 7] = [
    ("lzo", "lzo", "CONFIG_CRYPTO_LZO"),
    ("lzo-rle", "lzo_rle", "CONFIG_CRYPTO_LZO"),
    ("lz4", "lz4", "CONFIG_CRYPTO_LZ4"),
    ("lz4hc", "lz4hc", "CONFIG_CRYPTO_LZ4HC"),
    ("zstd", "zstd", "CONFIG_CRYPTO_ZSTD"),
    ("deflate", "deflate", "CONFIG_CRYPTO_DEFLATE"),
    ("842", "842", "CONFIG_CRYPTO_842"),
];

/// The modules of the running kernel: loaded, built in, or in a file.
#[derive(Debug)]
pub(super) struct Modules {
    folder: Option<String>,
    loaded: String,
    builtin: String,
    files: String,
    loadable: Fact<bool>,
    config: Fact<std::collections::BTreeMap<String, String>>,
}

impl Modules {
    pub fn of(machine: &Machine, kernel: &KernelFacts) -> Self {
        let folder = kernel.release.value().and_then(|release| module_folder(machine, release));
        let wanted = |path: &str| {
            let module = modules::name(path.split([':', ' ']).next().unwrap_or_default());
            module == "zram" || COMPRESSORS.iter().any(|(_, name, _)| *name == module)
        };
        let list = |name: &str| folder.as_ref().and_then(|folder| machine.read_lines(&format!("{folder}/{name}"), wanted).ok());
        Self {
            loaded: machine.read_lines("/proc/modules", wanted).unwrap_or_default(),
            builtin: list("modules.builtin").unwrap_or_default(),
            files: list("modules.dep").unwrap_or_default(),
            folder,
            loadable: kernel.modules_loadable.clone(),
            config: kernel.config.clone(),
        }
    }

    pub fn is_loaded(&self, module: &str) -> bool {
        modules::loaded(&self.loaded, module)
    }

    /// Where a module is that has not announced itself, and what says so.
    pub fn find(&self, module: &str, option: &str) -> (Availability, String) {
        if let Some(folder) = &self.folder {
            if let Some(path) = modules::find(&self.builtin, module) {
                return (Availability::BuiltIn, format!("{folder}/modules.builtin: {path}"));
            }
            if let Some(path) = modules::find(&self.files, module) {
                return match self.loadable.value() {
                    Some(false) => {
                        (Availability::Absent, format!("{folder}/{path} cannot be loaded: {}", self.loadable.source()))
                    }
                    _ => (Availability::Module, format!("{folder}/{path}")),
                };
            }
        }
        let source = self.config.source();
        let option_value = self.config.value().map(|config| config.get(option).map_or("n", String::as_str));
        match option_value {
            Some("y") => (Availability::BuiltIn, format!("{source}: {option}=y")),
            Some("m") => (Availability::Absent, format!("{source}: {option}=m, but {}", self.why_no_file())),
            Some(_) => (Availability::Absent, format!("{source}: {option} is not set")),
            None => (Availability::Absent, format!("{}; {source}", self.why_no_file())),
        }
    }

    fn why_no_file(&self) -> String {
        match &self.folder {
            Some(folder) => format!("{folder} does not have it"),
            None => "there is no module folder for this kernel".to_owned(),
        }
    }
}

pub(super) fn inspect(machine: &Machine, modules: &Modules) -> Vec<Compressor> {
    let registered = machine.read_text("/proc/crypto").map(|text| crypto::parse(&text)).unwrap_or_default();
    COMPRESSORS
        .iter()
        .map(|(name, module, option)| {
            let (availability, source) = now(&registered, name).unwrap_or_else(|| modules.find(module, option));
            Compressor { name: (*name).to_owned(), availability, source }
        })
        .collect()
}

fn now(registered: &[Algorithm], name: &str) -> Option<(Availability, String)> {
    let found: Vec<&Algorithm> = registered.iter().filter(|algorithm| algorithm.name == name && algorithm.compresses()).collect();
    let first = found.first()?;
    if found.iter().any(|algorithm| algorithm.module == "kernel") {
        return Some((Availability::BuiltIn, format!("/proc/crypto: {name} in the kernel")));
    }
    Some((Availability::Loaded, format!("/proc/crypto: {name} from module {}", first.module)))
}
