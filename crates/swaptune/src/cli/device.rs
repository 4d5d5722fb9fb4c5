//! `device`: what was typed.

use clap::{Args, Subcommand, ValueEnum};
use swaptune_core::Bytes;
use swaptune_core::plan::device::DiskShare;

/// `device`.
#[derive(Debug, Args)]
pub struct DeviceArgs {
    /// What to do.
    #[command(subcommand)]
    pub what: DeviceCommand,
}

/// What can be done with a device.
#[derive(Debug, Subcommand)]
pub enum DeviceCommand {
    /// Show what `prepare` would do, with a reason for each step; changes nothing
    #[command(
        after_help = "Examples:\n  swaptune device plan /dev/sdb --encrypt random --optional\n  swaptune device plan /dev/sdb --swap 60% --rest cache\n\nExit code 3: it would be refused, and the output says why."
    )]
    Plan(PrepareArgs),
    /// Make a disk or partition swap: partitioned, encrypted, on, and found by every boot
    #[command(
        after_help = "Examples:\n  sudo swaptune device prepare /dev/sdb --encrypt random --optional     a stick that may be pulled out\n  sudo swaptune device prepare /dev/sdb --swap 60% --rest cache         GPT with two named partitions\n  sudo swaptune device prepare /dev/sdb1 --encrypt luks                 a partition that is there\n\nAll steps are shown first, each is journalled before it is made: `swaptune apply --resume` finishes what was cut short, `swaptune\nrollback` takes it back. A device that carries anything is refused without --wipe; one that is in use is refused in any case.\nHibernation needs a key that stays: --encrypt luks."
    )]
    Prepare(ApplyPrepareArgs),
    /// Take a swap partition or an open mapping into fstab and the configuration, as it is; nothing on it is touched
    #[command(
        after_help = "Examples:\n  sudo swaptune device adopt /dev/sdb1\n  sudo swaptune device adopt /dev/mapper/cryptswap --optional\n  sudo swaptune device adopt /dev/mapper/vault --key-file /root/vault.key   a LUKS volume that nothing opens at boot yet"
    )]
    Adopt(AdoptArgs),
    /// Take a device out: swap off, mapping closed, every line of it gone, its keys destroyed
    #[command(
        after_help = "Examples:\n  sudo swaptune device retire /dev/sdb\n  sudo swaptune device retire /dev/mapper/swap-1a2b3c4d     one that is not there any more\n\nIt is refused while what is swapped out does not fit back. Keys and headers that are destroyed do not come back. What stays is said."
    )]
    Retire(RetireArgs),
}

/// How to encrypt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Encrypt {
    /// Plain dm-crypt, with a key that is made at each boot and is only ever in RAM
    #[default]
    Random,
    /// LUKS2, with a key file that only root can read
    Luks,
    /// In clear text
    None,
}

/// What becomes of the rest of a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Rest {
    /// A second partition, left blank
    Cache,
}

/// `device plan`, and what `device prepare` shares with it.
#[derive(Debug, Args)]
pub struct PrepareArgs {
    /// A disk or a partition, by any name that fstab knows
    pub device: String,
    /// How much of a disk becomes swap, a share or a size [default: all, or 60% with --rest]
    #[arg(long, value_name = "SHARE|SIZE", value_parser = share)]
    pub swap: Option<DiskShare>,
    /// What becomes of the rest of a disk
    #[arg(long)]
    pub rest: Option<Rest>,
    /// How what is swapped out is encrypted
    #[arg(long, value_enum, default_value_t)]
    pub encrypt: Encrypt,
    /// The device may be missing: boot waits at most 10 s for it, and `verify` does not fail
    #[arg(long)]
    pub optional: bool,
    /// Swap priority: higher is used first
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(i32).range(0..=32767))]
    pub priority: i32,
    /// Overwrite the device even if it carries data or a partition table
    #[arg(long)]
    pub wipe: bool,
}

/// `device prepare`.
#[derive(Debug, Args)]
pub struct ApplyPrepareArgs {
    /// What is wanted.
    #[command(flatten)]
    pub wanted: PrepareArgs,
    /// Do not ask
    #[arg(long, short)]
    pub yes: bool,
}

/// `device adopt`.
#[derive(Debug, Args)]
pub struct AdoptArgs {
    /// A swap partition, or an open mapping with swap in it
    pub device: String,
    /// Key file that shall open a LUKS volume at each boot; it is tried first
    #[arg(long, value_name = "FILE")]
    pub key_file: Option<String>,
    /// The device may be missing: boot waits at most 10 s for it, and `verify` does not fail
    #[arg(long)]
    pub optional: bool,
    /// Swap priority: higher is used first
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(i32).range(0..=32767))]
    pub priority: i32,
    /// Do not ask
    #[arg(long, short)]
    pub yes: bool,
}

/// `device retire`.
#[derive(Debug, Args)]
pub struct RetireArgs {
    /// The disk, its partition or its mapping; if it is missing, its name in fstab or crypttab
    pub device: String,
    /// Do not ask
    #[arg(long, short)]
    pub yes: bool,
}

/// `60%` or `4G`.
fn share(text: &str) -> Result<DiskShare, String> {
    let Some(percent) = text.strip_suffix('%') else {
        let size: Bytes = text.parse().map_err(|error: swaptune_core::units::BytesError| error.to_string())?;
        return Ok(DiskShare::Size(size));
    };
    match percent.parse() {
        Ok(percent @ 1..=100) => Ok(DiskShare::Percent(percent)),
        _ => Err("expected a share from 1% to 100%, or a size such as 4G".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_and_sizes() {
        assert_eq!(share("60%"), Ok(DiskShare::Percent(60)));
        assert_eq!(share("4G"), Ok(DiskShare::Size(Bytes::from_gib(4))));
        for wrong in ["0%", "101%", "%", "much", "6 0%"] {
            assert!(share(wrong).is_err(), "{wrong}");
        }
    }
}
