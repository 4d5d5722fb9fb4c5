//! `bench codecs`: what was typed.

use std::path::PathBuf;

use clap::Args;

/// `bench codecs`.
#[derive(Debug, Args)]
pub struct CodecsArgs {
    /// Which pages: `live` (all processes that may be read), a file or folder, or synthetic:CLASS (text, compressible, random, zero)
    #[arg(long, value_name = "SOURCE", default_value = "live")]
    pub pages_of: String,
    /// Number of pages, drawn at random from a larger source
    #[arg(long, value_name = "N", default_value_t = 8192, value_parser = clap::value_parser!(u32).range(1..=4_194_304))]
    pub pages: u32,
    /// Only these codecs, with a level if not the kernel's own: lz4, lz4:17, zstd:1; with --kernel also lzo, lzo-rle, 842
    /// [default: all, at the usual levels]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub codec: Vec<String>,
    /// Also measure on 2, 4, … up to N threads at once [default: one for each processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub threads: Option<u32>,
    /// Measure each codec and direction for at least this long
    #[arg(long, value_name = "S", default_value_t = 1.0)]
    pub seconds: f64,
    /// Say what a compressed pool of this size would hold
    #[arg(long, value_name = "SIZE", default_value = "1G")]
    pub pool: String,
    /// Compress same-filled pages too, which no kernel does
    #[arg(long)]
    pub same_filled: bool,
    /// Also measure this kernel's own codecs: each algorithm of a scratch zram device, each compressor of zswap (root)
    #[arg(long)]
    pub kernel: bool,
    /// Folder of the temporary swap file that zswap needs
    #[arg(long, value_name = "DIR", default_value = "/var/tmp", requires = "kernel")]
    pub dir: PathBuf,
}
