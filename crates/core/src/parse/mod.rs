//! Readers of the texts that a kernel and a distribution write: text or bytes in, a type out.
//!
//! Texts of the kernel are read leniently: a line that this tool does not understand is left out, because a later
//! kernel may have added it, and no parser ever fails on one. What is meant to be changed is edited in `edit`.

pub mod block_stat;
pub mod bls;
pub mod choice;
pub mod cmdline;
pub mod cpio;
pub mod crypto;
pub mod crypttab;
pub mod expression;
pub mod gpt;
pub mod grub_cfg;
pub mod ini;
pub mod kconfig;
pub mod keyed;
pub mod klog;
pub mod kubelet;
pub mod loader_roots;
pub mod maps;
pub mod mm_stat;
pub mod modules;
pub mod mountinfo;
pub mod pressure;
pub mod proc_cgroup;
pub mod proc_stat;
pub mod proc_status;
pub mod rpi_swap;
pub mod shell;
pub mod signature;
pub mod swaps;
pub mod sysctl;
pub mod udevdb;
pub mod work_trace;
pub mod writers;
pub mod yaml;
pub mod zoneinfo;
pub mod zram_generator;
pub mod zramswap;
pub mod zswap_cli;
