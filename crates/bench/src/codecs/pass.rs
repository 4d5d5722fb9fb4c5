//! One codec over all pages: untimed passes, whose time is taken as a whole, and passes that time each page.

use std::time::Instant;

use swaptune_core::stats::{Nanos, Quantiles};

use super::BenchError;
use super::choice::shuffled;
use super::pages::BenchPages;
use crate::codec::{CodecSetting, PageCodec, room};

/// Memory for compressed pages, which lie one behind the other as in a real pool (gaps between them cost time), and for what is
/// made of them again. All of it is touched once, so that no pass pays for page faults.
#[derive(Debug)]
pub struct Buffers {
    packed: Vec<u8>,
    ends: Vec<usize>,
    back: Vec<u8>,
}

impl Buffers {
    /// For these pages, on up to this many threads.
    #[must_use]
    pub fn new(pages: &BenchPages, threads: usize) -> Self {
        let (count, size) = (pages.count(), pages.page_size());
        let packed = packed_size(count, size) + threads * room(size);
        Self { packed: vec![0xaa; packed], ends: vec![0; count], back: vec![0xaa; count * size] }
    }
}

/// Most bytes that these pages take: no codec makes a page longer by a sixteenth and 64 bytes.
fn packed_size(pages: usize, page_size: usize) -> usize {
    pages * (page_size + page_size / 16 + 64) + room(page_size)
}

/// One codec on the pages of one thread.
pub struct CodecPass<'a> {
    setting: CodecSetting,
    codec: Box<dyn PageCodec>,
    page_size: usize,
    input: &'a [u8],
    packed: &'a mut [u8],
    ends: &'a mut [usize],
    back: &'a mut [u8],
}

impl<'a> CodecPass<'a> {
    /// One for each thread, each with its share of the pages; fewer when there are fewer pages.
    ///
    /// # Errors
    /// [`BenchError::Codec`] when the library gives no context.
    pub fn split(
        setting: CodecSetting,
        pages: &'a BenchPages,
        buffers: &'a mut Buffers,
        threads: usize,
    ) -> Result<Vec<Self>, BenchError> {
        let page_size = pages.page_size();
        let share = pages.count().div_ceil(threads.max(1));
        let input = pages.bytes().chunks(share * page_size);
        let packed = buffers.packed.chunks_mut(packed_size(share, page_size));
        let (ends, back) = (buffers.ends.chunks_mut(share), buffers.back.chunks_mut(share * page_size));
        let parts = input.zip(packed).zip(ends.zip(back));
        let bench = |((input, packed), (ends, back))| {
            let codec = setting.open(page_size)?;
            Ok(Self { setting, codec, page_size, input, packed, ends, back })
        };
        parts.map(bench).collect()
    }

    /// Bytes of a pass.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.input.len()
    }

    /// Compresses each page once.
    ///
    /// # Errors
    /// [`BenchError::NoRoom`] when a page grows beyond all bounds.
    pub fn compress(&mut self) -> Result<(), BenchError> {
        let (room, mut at) = (room(self.page_size), 0);
        for ((page, end), number) in self.input.chunks_exact(self.page_size).zip(self.ends.iter_mut()).zip(0..) {
            let out = self.packed.get_mut(at..at + room);
            let size = out.and_then(|out| self.codec.compress(page, out));
            at += size.ok_or(BenchError::NoRoom { setting: self.setting, page: number })?;
            *end = at;
        }
        Ok(())
    }

    /// Compressed size of each page, as [`Self::compress`] left them.
    pub fn sizes(&self) -> impl Iterator<Item = usize> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        self.ends.iter().zip(starts).map(|(end, start)| end - start)
    }

    /// Decompresses each page once.
    ///
    /// # Errors
    /// [`BenchError::Codec`] when the library does not know its own data.
    pub fn decompress(&mut self) -> Result<(), BenchError> {
        let mut start = 0;
        for (page, end) in self.back.chunks_exact_mut(self.page_size).zip(self.ends.iter()) {
            self.codec.decompress(&self.packed[start..*end], page)?;
            start = *end;
        }
        Ok(())
    }

    /// Looks whether every page came back as it was.
    ///
    /// # Errors
    /// [`BenchError::Changed`] for the first that did not.
    pub fn verify(&self) -> Result<(), BenchError> {
        if self.back == self.input {
            return Ok(());
        }
        let mut pairs = self.back.chunks_exact(self.page_size).zip(self.input.chunks_exact(self.page_size));
        let page = pairs.position(|(back, page)| back != page).unwrap_or_default();
        Err(BenchError::Changed { setting: self.setting, page: page as u64 })
    }

    /// Time of each page, in an order that no prefetcher knows, less what the clock itself takes.
    ///
    /// Leaves everything compressed and decompressed. One clock read a page: the end of one is the start of the next.
    ///
    /// # Errors
    /// As [`Self::compress`] and [`Self::decompress`].
    pub fn latencies(&mut self) -> Result<(Option<Quantiles>, Option<Quantiles>), BenchError> {
        let (overhead, mut nanos) = (clock_overhead(), Vec::with_capacity(self.ends.len()));
        let order = shuffled(self.ends.len());
        let mut laps = Laps::start(&mut nanos);
        self.compress_each(&order, || laps.lap())?;
        let compress = Quantiles::of(&mut nanos, overhead);
        self.compress()?;
        let mut laps = Laps::start(&mut nanos);
        self.decompress_each(&order, || laps.lap())?;
        Ok((compress, Quantiles::of(&mut nanos, overhead)))
    }

    /// Compresses each page in this order, all into one buffer, as the kernel does before it copies; calls `after` each.
    ///
    /// # Errors
    /// As [`Self::compress`].
    pub fn compress_each(&mut self, order: &[u32], mut after: impl FnMut()) -> Result<(), BenchError> {
        let out = &mut self.packed[..room(self.page_size)];
        for &number in order {
            let start = number as usize * self.page_size;
            let size = self.codec.compress(&self.input[start..start + self.page_size], out);
            size.ok_or(BenchError::NoRoom { setting: self.setting, page: u64::from(number) })?;
            after();
        }
        Ok(())
    }

    /// Decompresses each page in this order, after [`Self::compress`]; calls `after` each.
    ///
    /// # Errors
    /// As [`Self::decompress`].
    pub fn decompress_each(&mut self, order: &[u32], mut after: impl FnMut()) -> Result<(), BenchError> {
        for &number in order {
            let number = number as usize;
            let start = if number == 0 { 0 } else { self.ends[number - 1] };
            let page = &mut self.back[number * self.page_size..][..self.page_size];
            self.codec.decompress(&self.packed[start..self.ends[number]], page)?;
            after();
        }
        Ok(())
    }
}

/// Nanoseconds from one call to the next.
pub struct Laps<'a> {
    last: Instant,
    nanos: &'a mut Vec<u64>,
}

impl<'a> Laps<'a> {
    /// Forgets what is in `nanos`, and starts now.
    pub fn start(nanos: &'a mut Vec<u64>) -> Self {
        nanos.clear();
        Self { last: Instant::now(), nanos }
    }

    /// Keeps the time since the last call.
    pub fn lap(&mut self) {
        let now = Instant::now();
        self.nanos.push(u64::try_from((now - self.last).as_nanos()).unwrap_or(u64::MAX));
        self.last = now;
    }
}

/// What [`Laps::lap`] takes, which each time of a page contains: the median of many.
#[must_use]
pub fn clock_overhead() -> Nanos {
    let mut nanos = Vec::with_capacity(4096);
    let mut laps = Laps::start(&mut nanos);
    (0..4096).for_each(|_| laps.lap());
    Quantiles::of(&mut nanos, Nanos(0)).map_or(Nanos(0), |quantiles| quantiles.p50)
}
