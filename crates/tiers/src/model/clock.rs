//! Virtual time of a machine, in nanoseconds.

/// One process does what the trace says; workers have clocks of their own and catch up with it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Clock {
    /// Time of the process.
    pub(super) now: u64,
    /// Processor time of the kernel for swap, wherever it ran.
    pub(super) system: u64,
    /// That of a worker on the process's own processor, which the process has yet to feel.
    pub(super) stolen: u64,
}

impl Clock {
    /// The process spends time in the kernel.
    #[inline]
    pub(super) const fn spend(&mut self, nanos: u64) {
        self.now += nanos;
        self.system += nanos;
    }
}
