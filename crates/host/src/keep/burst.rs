//! A burst carried out: limits lowered as temporary settings, canaries offered, limits back.

use std::io;
use std::time::Duration;

use swaptune_core::control::{Burst, CanaryPace};
use swaptune_core::knobs;

use super::canary::Canaries;
use crate::temporary::{TemporaryError, TemporarySettings};

/// From one look to the next.
const LOOK: Duration = Duration::from_millis(20);
/// How long a burst may be from the first limit that is lowered to the last that is back. It ends by itself after
/// `pacing_burst_ms`, 10 s at most; the rest is for a machine that is short of everything.
/// A daemon that takes longer is stopped or hangs, and its guardian kills it.
const STUCK: Duration = Duration::from_secs(30);
const LIMIT: &str = "zswap.max_pool_percent";
pub(super) const ACCEPT: &str = "zswap.accept_threshold_percent";

/// Why a burst did not end as it should.
#[derive(Debug, thiserror::Error)]
pub enum BurstError {
    /// A limit could not be set or put back.
    #[error(transparent)]
    Settings(#[from] TemporaryError),
    /// The canaries; limits are back.
    #[error("the canary pages")]
    Canaries(#[from] io::Error),
}

/// What came of a burst.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Why it ended.
    pub why: String,
    /// How many canaries were offered.
    pub canaries: u64,
}

/// Carries out a burst. `goes_on` is asked again and again, after a moment each, with how many canaries went to the disk so far, and says
/// how they are offered next, or why the burst ends. The limits are as before when this returns; a kill, or a stop, leaves them to the
/// guardian of the temporary settings.
///
/// # Errors
/// [`BurstError`]; a limit that another program has set meanwhile is left alone and named.
pub fn carry_out(
    settings: &mut TemporarySettings,
    canaries: &mut dyn Canaries,
    burst: &Burst,
    is_still_full: &mut dyn FnMut() -> bool,
    goes_on: &mut dyn FnMut(u64) -> Result<CanaryPace, String>,
) -> Result<Ended, BurstError> {
    settings.arm_watchdog(STUCK)?;
    let ended = lower_and_offer(settings, canaries, burst, is_still_full, goes_on);
    settings.disarm_watchdog();
    ended
}

fn lower_and_offer(
    settings: &mut TemporarySettings,
    canaries: &mut dyn Canaries,
    burst: &Burst,
    is_still_full: &mut dyn FnMut() -> bool,
    goes_on: &mut dyn FnMut(u64) -> Result<CanaryPace, String>,
) -> Result<Ended, BurstError> {
    let before = settings.mark()?;
    let accept = knobs::find(ACCEPT).ok_or_else(|| io::Error::other("no such knob"))?;
    settings.percentage(accept, burst.accept_percent)?;
    let lowered = settings.mark()?;
    let offered = settings.knob(LIMIT, &burst.limit_percent.to_string()).map_err(BurstError::from).and_then(|()| {
        canaries.go(burst.worker.pace(true))?;
        let (mut offered, writes) = (0, burst.worker.writes_canaries());
        let why = loop {
            std::thread::sleep(LOOK);
            // Those that are written are counted before the look that shall not take them for pages of others.
            offered += if writes { canaries.stop()? } else { 0 };
            match goes_on(offered) {
                Err(why) => break why,
                Ok(pace) if writes => canaries.go(pace)?,
                Ok(_) => {}
            }
        };
        Ok(Ended { why, canaries: offered + canaries.stop()? })
    });
    let back = settings.back_to(lowered);
    // A pool that was full takes no page until it is below the threshold, which one that is broken off is not yet: a store at a threshold
    // of 100 % makes the kernel look again (mm/zswap.c, zswap_check_limits()).
    let forgets = if back.is_ok() && offered.is_ok() && is_still_full() {
        settings.knob(ACCEPT, "100").map_err(BurstError::from).and_then(|()| Ok(canaries.one()?)).map(|()| 1)
    } else {
        Ok(0)
    };
    let back = back.and(settings.back_to(before));
    back?;
    let one_more = forgets?;
    offered.map(|ended| Ended { canaries: ended.canaries + one_more, ..ended })
}
