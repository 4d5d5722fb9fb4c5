//! Pages themselves, for a benchmark that must drive codecs and the kernel over them again and again.

use swaptune_host::machine::Machine;
use swaptune_host::processes::{Located, PageReader, Process, ProcessChoice, page_bytes};

use super::{SampleError, Tally, draw, find};

/// A random draw of the pages of some processes, one behind the other, and what was looked at. They are another process's memory:
/// to be forgotten when the benchmark ends, and never written to a file.
///
/// # Errors
/// [`SampleError`] when there is nothing to read.
pub fn contents(machine: &Machine, choice: &ProcessChoice, pages: u64, seed: u64) -> Result<(Vec<u8>, Tally), SampleError> {
    let (found, mut tally) = find(machine, choice, &mut |_| ())?;
    let (processes, located): (Vec<Process>, Vec<Located>) = found.into_iter().unzip();
    let addresses = draw::draw(&located, pages, seed);
    let drawn: usize = addresses.iter().map(Vec::len).sum();
    let (mut reader, mut bytes) = (PageReader::new(), Vec::with_capacity(drawn * page_bytes()));
    for (process, addresses) in processes.iter().zip(&addresses) {
        match reader.read(process.pid, addresses, |page| bytes.extend_from_slice(page.bytes)) {
            Ok(outcome) => {
                tally.vanished_pages += outcome.vanished;
                tally.shared_pages += outcome.shared;
            }
            Err(unseen) => tally.miss(&unseen, process),
        }
    }
    if bytes.is_empty() {
        return Err(SampleError::NoPages { of: choice.to_string() });
    }
    Ok((bytes, tally))
}
