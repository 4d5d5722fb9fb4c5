//! Which pages of a sample are touched while we wait.

use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use serde::Serialize;
use swaptune_host::machine::Machine;
use swaptune_host::processes::cold::{BITMAP, Fate, IdlePages, clear_marks, touched};
use swaptune_tiers::page_set::{PageSet, Touch, WatchedPages};

use super::{ReadPages, SampleStep};

/// How coldness was seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ColdWatch {
    /// For how long pages were watched.
    pub seconds: u64,
    /// `page_idle`: the pages of the sample; `clear_refs`: all anonymous mappings of the processes.
    pub method: &'static str,
    /// Why the better way was not taken; empty when it was.
    pub instead: String,
    /// What could not be watched to the end: pages (`page_idle`) or processes (`clear_refs`).
    pub unwatched: u64,
}

/// What this kernel has to see coldness with, in words.
#[must_use]
pub fn watching(machine: &Machine) -> String {
    let idle = if machine.exists(BITMAP) { "idle page tracking" } else { "clear_refs (no idle page tracking)" };
    let damon = if machine.exists("/sys/kernel/mm/damon/admin") { "; DAMON is there too and is not used" } else { "" };
    format!("{idle}{damon}")
}

/// Watches the pages of a sample, or the processes that they are of.
pub(super) fn watch(
    set: &mut PageSet,
    read: &[ReadPages],
    group_of: &[u32],
    seconds: u64,
    on: &mut dyn FnMut(SampleStep),
) -> ColdWatch {
    set.origin.cold_seconds = Some(seconds);
    match idle_pages(read, seconds, on) {
        Ok(touch) => {
            let unwatched = touch.iter().filter(|touch| **touch == Touch::Unknown).count() as u64;
            set.touch = Some(touch);
            ColdWatch { seconds, method: "page_idle", instead: String::new(), unwatched }
        }
        Err(error) => {
            let unwatched = clear_refs(set, read, group_of, seconds, on);
            let instead = match error.kind() {
                std::io::ErrorKind::NotFound => "this kernel has no idle page tracking (CONFIG_IDLE_PAGE_TRACKING)".into(),
                _ => format!("{BITMAP}: {error}"),
            };
            ColdWatch { seconds, method: "clear_refs", instead, unwatched }
        }
    }
}

fn wait(seconds: u64, on: &mut dyn FnMut(SampleStep)) {
    for done in 0..seconds {
        on(SampleStep::Watching { done, of: seconds });
        sleep(Duration::from_secs(1));
    }
}

fn idle_pages(read: &[ReadPages], seconds: u64, on: &mut dyn FnMut(SampleStep)) -> std::io::Result<Vec<Touch>> {
    let mut idle = IdlePages::open(Path::new(BITMAP))?;
    for pages in read {
        idle.mark(pages.pid, &pages.addresses)?;
    }
    wait(seconds, on);
    let touch = |fate| match fate {
        Fate::Touched => Touch::Touched,
        Fate::Cold => Touch::Cold,
        Fate::Unknown => Touch::Unknown,
    };
    Ok(idle.fates()?.into_iter().map(touch).collect())
}

/// Watches whole processes; returns how many could not be.
fn clear_refs(set: &mut PageSet, read: &[ReadPages], group_of: &[u32], seconds: u64, on: &mut dyn FnMut(SampleStep)) -> u64 {
    let mut watched: Vec<(u32, u32)> = read.iter().map(|pages| pages.pid).zip(group_of.iter().copied()).collect();
    let all = watched.len();
    watched.retain(|(pid, _)| clear_marks(*pid).is_ok());
    wait(seconds, on);
    let mut seen = 0;
    for (pid, group) in watched {
        let (Ok(pages), Some(group)) = (touched(pid), set.groups.get_mut(group as usize)) else { continue };
        let watched = group.watched.get_or_insert_with(WatchedPages::default);
        watched.pages += pages.pages;
        watched.cold += pages.pages - pages.touched;
        seen += 1;
    }
    (all - seen) as u64
}
