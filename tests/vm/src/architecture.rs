//! THE table of processors that a guest can have.

/// A kind of processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Architecture {
    /// As Debian calls it.
    pub debian: &'static str,
    /// What emulates a whole machine of it.
    pub emulator: &'static str,
    /// Machine and processor, as the emulator calls them.
    pub machine: [&'static str; 4],
    /// Words of the kernel's command line that only it has.
    pub words: &'static str,
    /// How the script's output leaves the guest, beside the console.
    pub output: Output,
}

/// The device that takes what the script says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// A second serial port.
    Serial,
    /// A virtio console: the machine has one serial port.
    Virtio,
}

/// What this project's machines have.
pub const AMD64: Architecture = Architecture {
    debian: "amd64",
    emulator: "qemu-system-x86_64",
    machine: ["-M", "q35", "-cpu", "max"],
    words: "console=ttyS0 mitigations=off tsc=reliable no_timer_check",
    output: Output::Serial,
};

/// Its pointers are not signed: the emulator would spend half of its time on that.
pub const ARM64: Architecture = Architecture {
    debian: "arm64",
    emulator: "qemu-system-aarch64",
    machine: ["-M", "virt", "-cpu", "max,pauth=off"],
    words: "console=ttyAMA0",
    output: Output::Virtio,
};
