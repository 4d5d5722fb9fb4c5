//! `bench` and its benchmarks: what was typed.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use swaptune_core::Bytes;

mod codecs;
mod density;
mod memory;
mod swap;

pub use codecs::*;
pub use density::*;
pub use memory::*;
pub use swap::*;

/// `bench`.
#[derive(Debug, Args)]
pub struct BenchArgs {
    /// Where results are kept.
    #[command(flatten)]
    pub results: ResultsArgs,
    /// What to measure.
    #[command(subcommand)]
    pub what: BenchCommand,
}

/// Where results are kept.
#[derive(Debug, Clone, Default, Args)]
pub struct ResultsArgs {
    /// Keep results in FILE [default: /var/lib/swaptune/measurements.jsonl, or below ~/.local/state without root]
    #[arg(long, global = true, value_name = "FILE")]
    pub results: Option<PathBuf>,
    /// Do not keep results
    #[arg(long, global = true, conflicts_with = "results")]
    pub no_save: bool,
}

/// The benchmarks, and what became of them.
#[derive(Debug, Subcommand)]
pub enum BenchCommand {
    /// Compress pages with every codec: speed, ratio, what a pool would hold, which of them this kernel has
    #[command(
        after_help = "Examples:\n  sudo swaptune bench codecs                                 pages of everything that runs\n  sudo swaptune bench codecs --kernel                        and this kernel's own codecs\n  swaptune bench codecs --pages-of /usr/lib\n  swaptune bench codecs --pages-of dump.bin --codec lz4,lz4:17,zstd:1,zstd --seconds 5\n  swaptune bench codecs --pages-of synthetic:random --threads 1\n\nMB are 10⁶ bytes of original data for each second of processor time of one thread. Every page is compared with its original. LZO is only measured with --kernel: no library has LZO-RLE. zram, zswap and a swap file are set up for that and put back, also on Ctrl-C and when this is killed."
    )]
    Codecs(CodecsArgs),
    /// Measure a disk under the loads that swapping makes, with fio
    #[command(
        after_help = "Examples:\n  sudo swaptune bench disk                                 a scratch file where swap is, else in /var/tmp\n  swaptune bench disk --dir ~ --size 4G --seconds 10       longer, over more of the disk\n  sudo swaptune bench disk --dir /mnt/a --dir /mnt/b       two disks, each alone and both together\n  sudo swaptune bench disk --device /dev/vdb2              a swap partition that is off\n\nNothing that holds data is written to. Scratch files have no name and are gone when this ends, however it ends. The sweet spot is the most operations a second with 99 % of reads within --p99."
    )]
    Disk(super::DiskArgs),
    /// Measure this kernel's ciphers with cryptsetup, and say which suits swap
    #[command(
        after_help = "Needs no root, but only what was measured with sudo counts for `sudo swaptune device prepare`. With results of `bench disk` it also says what encryption costs at the speed of this disk.\n\nExamples:\n  sudo swaptune bench cipher\n  swaptune bench cipher --json | jq .recommended"
    )]
    Cipher,
    /// Measure how fast memory is accessed, in RAM and under pressure
    #[command(
        after_help = "Examples:\n  swaptune bench memory                                          byte by byte in RAM, as a start\n  sudo swaptune bench memory --limit 256M                        512 MiB in 256 MiB: what swapping costs here\n  sudo swaptune bench memory --limit 256M --swap zswap:lzo       with zswap and a swap file for as long as it runs\n  sudo swaptune bench memory --limit 256M --swap disk            the same without zswap\n  swaptune bench memory --block 4K,1M,1G --size 4G --data zero   blocks, as sysbench has them\n  swaptune bench memory --threads 1,2,4,8 --data high\n  sudo swaptune bench memory --hog --size 4G                     beside a process that holds 95 % of what is available\n  sudo swaptune bench memory --size 64G --seconds 60             more than there is RAM: the machine itself swaps\n\nAn access is one load or store of a byte, or of a word within a block. Random accesses do not wait for each other. Zero pages flatter every compressed swap; see docs/guides/memory-under-pressure.md."
    )]
    Memory(MemoryArgs),
    /// Access or hold memory for `bench memory`
    #[command(hide = true)]
    MemoryHelper(MemoryHelperArgs),
    /// Measure the kernel's own swap path: what a page costs on its way out and back, in zswap, zram and on a disk
    #[command(
        after_help = "Examples:\n  sudo swaptune bench swap --quick\n  sudo swaptune bench swap --tier zswap --compressor lzo,zstd --rounds 9\n  sudo swaptune bench swap --tier disk --dir /home --page-cluster 0,3\n  sudo swaptune bench swap --tier disk --device /dev/vdb2\n\nTemporary swap files, zswap and zram are put back, also on Ctrl-C and when this is killed. Areas in use are never touched. The kernel's counters show where pages went; a measurement whose pages went elsewhere gives no figure."
    )]
    Swap(SwapArgs),
    /// Measure how many idle services fit into a small machine, with this configuration and with others
    #[command(after_help = density::examples())]
    Density(DensityArgs),
    /// Become a service of `bench density` that dies with it
    #[command(hide = true)]
    Tethered(TetheredArgs),
    /// Become a built-in workload of `compare`
    #[command(hide = true)]
    Workload(WorkloadArgs),
    /// List the runs whose results are kept
    List,
    /// Show all results of a run, with their conditions
    Show(ShowArgs),
}

/// `bench show`.
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// The run, as `bench list` shows it, or the start of its name [default: the newest]
    pub run: Option<String>,
}

/// `bench workload`.
#[derive(Debug, Args)]
pub struct WorkloadArgs {
    /// Row of the table.
    pub name: String,
    /// Memory that it works on.
    #[arg(long)]
    pub size: Bytes,
    /// What is drawn is drawn from this number.
    #[arg(long)]
    pub seed: u64,
    /// Where it may write.
    #[arg(long)]
    pub dir: PathBuf,
}

/// `bench tethered`.
#[derive(Debug, Args)]
pub struct TetheredArgs {
    /// What it becomes finds nothing on standard input.
    #[arg(long)]
    pub no_input: bool,
    /// The process that started it.
    pub parent: u32,
    /// What it becomes, once that process has written a byte to its standard input.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    pub command: Vec<OsString>,
}
