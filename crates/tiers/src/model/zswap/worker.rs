//! The worker that writes back: when it runs, and whose entries are next.

/// The worker.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Worker {
    /// Its time while it runs, or when it begins.
    pub(super) clock: Option<u64>,
    pub(super) begun: bool,
    /// It is queued, and the one processor is not free.
    pub(super) held: bool,
    /// It was asked again while it ran: it begins anew at once.
    again: bool,
    pub(super) paused_until: u64,
    failures: u32,
    /// Cgroup whose entries are next (`zswap_next_shrink`).
    cursor: u16,
}

impl Worker {
    /// Whether it has been asked to work and has not ended.
    pub(crate) const fn is_awake(&self) -> bool {
        self.clock.is_some()
    }

    /// Queues it, unless it is queued already (`queue_work`).
    pub(super) const fn queue(&mut self, begin: u64) {
        if self.clock.is_none() {
            self.clock = Some(begin);
            self.failures = 0;
        } else {
            self.again = self.begun;
        }
    }

    /// The processor is free from a time on.
    pub(crate) fn get_turn(&mut self, now: u64) {
        if std::mem::take(&mut self.held) {
            self.clock = self.clock.map(|queued| queued.max(now));
        }
    }

    /// A run has ended. `true` if it was asked for another one meanwhile.
    pub(super) fn begins_anew(&mut self) -> bool {
        self.begun = false;
        self.failures = 0;
        std::mem::take(&mut self.again)
    }

    /// A step without success. Whether it may try again.
    pub(super) const fn fails(&mut self, most: u32) -> bool {
        self.failures += 1;
        self.failures < most
    }

    /// The next of several groups that has entries, of the first `looked_at`.
    pub(super) fn next_group(&mut self, groups: u16, looked_at: u16, has_entries: impl Fn(u16) -> bool) -> Option<u16> {
        for _ in 0..looked_at {
            let group = self.cursor % groups;
            self.cursor = group + 1;
            if has_entries(group) {
                return Some(group);
            }
        }
        None
    }
}

#[cfg(test)]
impl Worker {
    /// Lets the walk begin at this cgroup.
    pub(crate) const fn start_at(&mut self, cgroup: u16) {
        self.cursor = cgroup;
    }
}
