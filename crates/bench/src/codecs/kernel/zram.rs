//! A scratch zram device: pages are written and read past the page cache, so that the kernel compresses and decompresses them in
//! this very thread.

use std::fs::File;
use std::os::unix::fs::{FileExt, OpenOptionsExt};

use rustix::fs::OFlags;
use swaptune_core::Bytes;
use swaptune_core::parse::mm_stat;
use swaptune_host::sys::OwnRegion;

use super::{CodecTurn, KernelBench, KernelError, timed};

/// Bytes of one write or read: a device of RAM takes them page by page in any case.
const CHUNK: usize = 1 << 20;

impl KernelBench<'_> {
    /// Writes all pages to a new device, reads its counters, reads them all back.
    pub(super) fn zram(&mut self, algorithm: &str) -> Result<CodecTurn, KernelError> {
        let path = self.temporary.zram(algorithm, Bytes(self.source.bytes_len() as u64), None)?;
        let failed = |source| KernelError::io(path.clone(), source);
        let direct = i32::try_from(OFlags::DIRECT.bits()).unwrap_or_default();
        let device = File::options().read(true).write(true).custom_flags(direct).open(&path).map_err(failed)?;
        let (store, ()) = timed(|| {
            let mut chunks = self.source.bytes().chunks(CHUNK).zip((0..).step_by(CHUNK));
            chunks.try_for_each(|(chunk, at)| device.write_all_at(chunk, at)).map_err(failed)
        })?;
        let text = self.machine.read_text(&format!("/sys/block/{}/mm_stat", path.trim_start_matches("/dev/")))?;
        let unreadable = || KernelError::Counters { what: path.clone(), why: format!("mm_stat is `{}`", text.trim()) };
        let stat = mm_stat::parse(&text).ok_or_else(unreadable)?;
        let mut back = OwnRegion::new(self.source.bytes_len()).map_err(failed)?;
        // Touched before, so that no page fault is counted.
        back.bytes_mut().fill(0xaa);
        let (load, ()) = timed(|| {
            let mut chunks = back.bytes_mut().chunks_mut(CHUNK).zip((0..).step_by(CHUNK));
            chunks.try_for_each(|(chunk, at)| device.read_exact_at(chunk, at)).map_err(failed)
        })?;
        self.same(&path, self.source.bytes(), &back)?;
        let original = Bytes(stat.orig_data_size.0 - stat.same_pages * self.page_size as u64);
        let bytes = self.source.bytes_len() as u64;
        Ok(CodecTurn { bytes, store, load, original, used: stat.mem_used_total, compressed: Some(stat.compr_data_size) })
    }

    /// Looks whether every page is as it was.
    pub(super) fn same(&self, what: &str, pages: &[u8], back: &OwnRegion) -> Result<(), KernelError> {
        let mut pairs = pages.chunks(self.page_size).zip(back.bytes().chunks(self.page_size));
        match pairs.position(|(page, back)| page != back) {
            None => Ok(()),
            Some(page) => Err(KernelError::Changed { what: what.to_owned(), page }),
        }
    }
}
