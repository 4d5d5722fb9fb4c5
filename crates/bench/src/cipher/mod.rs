//! `bench cipher`: what this kernel's ciphers do, by `cryptsetup benchmark`, which asks the kernel through AF_ALG.
//!
//! Each cipher is measured by a run of its own: the benchmark without arguments spends most of its time on password
//! hashes, which swap with a random key does not use, and leaves Adiantum out.

pub mod output;

use std::io;
use std::process::{Command, Output};

use swaptune_core::measurement::{CipherFigures, Measurement, ResultFigures};
use swaptune_host::child::program;
use swaptune_host::machine::Machine;
use swaptune_host::sys::child::dies_with_us;
use thiserror::Error;
use tracing::info;

use crate::results::{ResultRecorder, StoreError};

/// What is measured: cipher for dm-crypt, bits of its key.
pub const CIPHERS: &[(&str, u32)] = &[
    ("aes-xts-plain64", 256),
    ("aes-xts-plain64", 512),
    ("aes-cbc-plain64", 128),
    ("xchacha12,aes-adiantum-plain64", 256),
    ("xchacha20,aes-adiantum-plain64", 256),
];

/// Ciphers that could not be measured.
#[derive(Debug, Error)]
pub enum CipherError {
    /// cryptsetup is not installed.
    #[error("cryptsetup is not installed")]
    Missing,
    /// The kernel does not lend its ciphers to programs.
    #[error("this kernel does not let programs use its ciphers; cryptsetup says: {0}")]
    NoInterface(String),
    /// cryptsetup cannot be started.
    #[error("cryptsetup cannot be run: {0}")]
    Run(#[from] io::Error),
    /// It failed in another way, or printed something else.
    #[error("cryptsetup benchmark of {cipher} ended with {status}: {words}")]
    Failed {
        /// The cipher.
        cipher: String,
        /// Exit status.
        status: String,
        /// What it said.
        words: String,
    },
    /// The result could not be kept.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What became of one cipher.
#[derive(Clone, Debug, PartialEq)]
enum Tried {
    Measured(CipherFigures),
    /// This kernel has none such, in cryptsetup's words.
    Unavailable(String),
}

/// All ciphers.
#[derive(Debug, Default)]
pub struct Ciphers {
    /// Those that were measured.
    pub measured: Vec<Measurement>,
    /// Those that this kernel lacks, a sentence each.
    pub unavailable: Vec<String>,
}

/// Measures every cipher of the table and records what it finds; `step` is told before each.
///
/// # Errors
/// [`CipherError`]; what was measured before it is recorded.
pub fn run(recorder: &mut ResultRecorder<'_>, step: &mut dyn FnMut(u32, &str)) -> Result<Ciphers, CipherError> {
    let mut ciphers = Ciphers::default();
    for (number, (cipher, bits)) in (0..).zip(CIPHERS) {
        step(number, &format!("{cipher}, {bits} bits"));
        match judge(cipher, &benchmark(cipher, *bits)?)? {
            Tried::Measured(figures) => ciphers.measured.push(recorder.record(ResultFigures::Cipher(figures))?),
            Tried::Unavailable(why) => ciphers.unavailable.push(why),
        }
    }
    Ok(ciphers)
}

/// Whether the processor has instructions for AES: the flag `aes` of x86, the feature `aes` of Arm. `None` where
/// `/proc/cpuinfo` lists neither flags nor features.
#[must_use]
pub fn has_aes(machine: &Machine) -> Option<bool> {
    let text = machine.read_text("/proc/cpuinfo").unwrap_or_default();
    let list = text.lines().find(|line| line.starts_with("flags") || line.starts_with("Features"))?;
    Some(list.split_once(':')?.1.split_whitespace().any(|flag| flag == "aes"))
}

fn benchmark(cipher: &str, bits: u32) -> Result<Output, CipherError> {
    let mut command = Command::new(program("cryptsetup"));
    // Words of messages are matched: they must not be translated.
    command.args(["benchmark", "--cipher", cipher, "--key-size", &bits.to_string()]).env("LC_ALL", "C");
    info!("run {command:?}");
    match dies_with_us(&mut command).output() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(CipherError::Missing),
        output => Ok(output?),
    }
}

fn judge(cipher: &str, output: &Output) -> Result<Tried, CipherError> {
    let (said, complaints) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if let Some(why) = output::no_interface(&complaints) {
        return Err(CipherError::NoInterface(why));
    }
    if let Some(why) = output::unavailable(&complaints) {
        return Ok(Tried::Unavailable(why));
    }
    let row = output::parse(&said).into_iter().next().filter(|_| output.status.success());
    row.map(Tried::Measured).ok_or_else(|| {
        let words = complaints.lines().chain(said.lines()).find(|line| !line.trim().is_empty() && !line.starts_with('#'));
        let words = words.unwrap_or("it printed no result").trim().to_owned();
        CipherError::Failed { cipher: cipher.to_owned(), status: output.status.to_string(), words }
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    use super::*;

    /// cryptsetup 2.6.1 as it was recorded: on Linux 6.12 (Debian) under emulation, and on a 6.18 built without
    /// CONFIG_CRYPTO_USER_API_SKCIPHER.
    macro_rules! recorded {
        ($name:literal) => {
            include_str!(concat!("../../tests/cryptsetup/", $name))
        };
    }

    fn ended(code: i32, stdout: &str, stderr: &str) -> Output {
        Output { status: ExitStatus::from_raw(code << 8), stdout: stdout.into(), stderr: stderr.into() }
    }

    #[test]
    fn one_cipher_gives_one_row() {
        for (text, cipher, key_bits) in [
            (recorded!("aes-xts-256.txt"), "aes-xts", 256),
            (recorded!("aes-xts-512.txt"), "aes-xts", 512),
            (recorded!("adiantum.txt"), "xchacha12,aes-adiantum", 256),
        ] {
            match judge(cipher, &ended(0, text, "")).unwrap() {
                Tried::Measured(row) => assert_eq!((row.cipher.as_str(), row.key_bits), (cipher, key_bits)),
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn what_the_kernel_lacks_is_told_apart() {
        let missing = judge("nosuch", &ended(1, "", recorded!("no-such-cipher.txt"))).unwrap();
        assert_eq!(missing, Tried::Unavailable("Cipher nosuch-xts-plain64 (with 256 bits key) is not available".into()));
        let error = judge("aes-xts", &ended(1, "# Tests\n", recorded!("no-interface.txt"))).unwrap_err();
        assert!(matches!(error, CipherError::NoInterface(_)));
        let words = "Required kernel crypto interface not available. Ensure you have algif_skcipher kernel module loaded";
        assert!(error.to_string().ends_with(words), "{error}");
    }

    #[test]
    fn other_failures_keep_the_words() {
        let error = judge("aes-xts", &ended(1, "# Tests\n", "cryptsetup: Unknown action.\n")).unwrap_err();
        assert!(error.to_string().ends_with("exit status: 1: cryptsetup: Unknown action."), "{error}");
        let nothing = judge("aes-xts", &ended(0, "# Tests\n", "")).unwrap_err();
        assert!(nothing.to_string().ends_with("it printed no result"), "{nothing}");
        let died = judge("aes-xts", &ended(134, recorded!("aes-xts-256.txt"), "Aborted\n"));
        assert!(matches!(died, Err(CipherError::Failed { .. })), "a result of a run that failed is none");
    }

    #[test]
    fn instructions_for_aes_are_seen() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("proc")).unwrap();
        let seen = |text: &str| {
            std::fs::write(root.path().join("proc/cpuinfo"), text).unwrap();
            has_aes(&Machine::at(root.path()))
        };
        assert_eq!(seen("model name\t: x\nflags\t\t: fpu aes avx\n"), Some(true));
        assert_eq!(seen("flags\t\t: fpu vaes avx\n"), Some(false));
        assert_eq!(seen("Features\t: fp asimd aes pmull\n"), Some(true));
        assert_eq!(seen("processor: 0\n"), None);
    }
}
