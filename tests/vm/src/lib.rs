//! Real kernels and real distributions for the tests of swaptune.
//!
//! Two runners boot guests in QEMU under software emulation, so neither KVM nor
//! a privileged container is needed. [`guest`] boots one kernel with a busybox
//! and one script in a few seconds; [`full`] boots a whole Debian through its
//! own GRUB, as often as a test wants, on the same disk image. Everything that
//! is fetched or built on the way is kept in a cache folder ([`cache`]).

pub mod apt;
pub mod architecture;
pub mod cache;
pub mod command;
pub mod debian;
pub mod full;
pub mod guest;
pub mod hosts;
pub mod image;
pub mod initramfs;
pub mod kernels;
pub mod mounted;
pub mod outcome;
pub mod package;
pub mod payload;
pub mod qemu;
pub mod reachable;
pub mod swaptune;
pub mod toolchain;
pub mod zram_module;
