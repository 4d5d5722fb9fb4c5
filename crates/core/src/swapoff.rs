//! Whether a swap area can be switched off: what it holds must find room again.
//!
//! swapoff brings every page of the area back into memory, uncompressed. Pages may move on to other areas while that
//! happens, so the room is what is available in RAM plus what is free on other disks, less a margin that keeps the machine
//! alive. Free slots of zram are no room: what goes there stays in RAM. A swapoff without room does not fail at once: it grinds, and the
//! out-of-memory killer ends it.

use crate::units::Bytes;

/// What decides whether pages fit back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwapoffRoom {
    /// Bytes of slots in use in the areas that are switched off, as `/proc/swaps` has them.
    pub used: Bytes,
    /// Free bytes in the areas that stay on and are not in RAM themselves.
    pub elsewhere: Bytes,
    /// `MemAvailable`.
    pub available: Bytes,
    /// `MemTotal`.
    pub total: Bytes,
}

/// Why an area must stay on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "it holds {used}, other disks can take {elsewhere}, and of {available} available memory {margin} must stay free: {missing} too little"
)]
pub struct TooFull {
    /// What the area holds.
    pub used: Bytes,
    /// What other areas that are not in RAM can take.
    pub elsewhere: Bytes,
    /// `MemAvailable`.
    pub available: Bytes,
    /// What must stay free.
    pub margin: Bytes,
    /// How much is missing.
    pub missing: Bytes,
}

impl SwapoffRoom {
    /// What must stay available: 2 % of memory, at least 32 MiB.
    #[must_use]
    pub fn margin(&self) -> Bytes {
        self.total.percent(2).max(Bytes::from_mib(32))
    }

    /// Whether the pages fit back.
    ///
    /// # Errors
    /// [`TooFull`] with the numbers. An area that holds nothing can always go.
    pub fn check(&self) -> Result<(), TooFull> {
        let to_memory = self.used.0.saturating_sub(self.elsewhere.0);
        let room = self.available.0.saturating_sub(self.margin().0);
        if to_memory <= room {
            return Ok(());
        }
        Err(TooFull {
            used: self.used,
            elsewhere: self.elsewhere,
            available: self.available,
            margin: self.margin(),
            missing: Bytes(to_memory - room),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn room(used: u64, elsewhere: u64, available: u64) -> SwapoffRoom {
        let mib = Bytes::from_mib;
        SwapoffRoom { used: mib(used), elsewhere: mib(elsewhere), available: mib(available), total: mib(8192) }
    }

    #[test]
    fn pages_go_to_memory_and_to_other_areas() {
        for (used, elsewhere, available, fits) in
            [(0, 0, 0, true), (100, 0, 1000, true), (900, 0, 1000, false), (900, 200, 1000, true), (5000, 5000, 1, true)]
        {
            assert_eq!(room(used, elsewhere, available).check().is_ok(), fits, "{used} {elsewhere} {available}");
        }
    }

    #[test]
    fn the_refusal_has_the_numbers() {
        let error = room(2048, 512, 1024).check().unwrap_err();
        assert_eq!(
            error.to_string(),
            "it holds 2 GiB, other disks can take 512 MiB, and of 1 GiB available memory 164 MiB must stay free: \
             676 MiB too little"
        );
    }
}
