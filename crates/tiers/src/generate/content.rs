//! What pages compress to: a mix of same-filled, compressible and incompressible ones.

use rand::RngExt;
use rand_distr::{Distribution, Normal};
use rand_pcg::Pcg64;

use super::{GeneratorValues, ParameterRow};

/// What a page without any redundancy takes: it does not get smaller.
const PAGE_SIZE: u16 = 4096;

/// Parameters of every generator whose pages have content. The defaults are round numbers near what interpreters and browsers
/// hold, a few percent of same-filled pages and 3 : 1 for the rest; `swaptune sample` says what a machine's own pages are like.
pub(super) const SAME: ParameterRow =
    ParameterRow { name: "same", default: "0.03", min: 0.0, max: 1.0, doc: "share of pages that are filled with one value" };
/// See [`SAME`].
pub(super) const POOR: ParameterRow =
    ParameterRow { name: "poor", default: "0.05", min: 0.0, max: 1.0, doc: "share of pages that do not compress at all" };
/// See [`SAME`].
pub(super) const SIZE: ParameterRow =
    ParameterRow { name: "size", default: "1365", min: 32.0, max: 4095.0, doc: "mean size of the others when compressed, bytes" };

/// Compressed sizes of this many pages.
pub(super) fn sizes(values: &GeneratorValues, pages: u32, random: &mut Pcg64) -> Vec<u16> {
    let (same, poor, mean) = (values.float("same"), values.float("poor"), values.float("size"));
    let spread = Normal::new(mean, mean / 4.0);
    let size = |random: &mut Pcg64| spread.map_or(mean, |spread| spread.sample(random)).clamp(32.0, 4095.0) as u16;
    let page = |random: &mut Pcg64| match random.random::<f64>() {
        share if share < same => 0,
        share if share < same + poor => PAGE_SIZE,
        _ => size(random),
    };
    (0..pages).map(|_| page(random)).collect()
}

#[cfg(test)]
mod tests {
    use crate::generate::generate;

    #[test]
    fn the_mix_is_what_was_asked_for() {
        let trace = generate("hold:pages=20000,same=0.2,poor=0.3,size=1000").unwrap();
        let share = |wanted: u16| trace.sizes().iter().filter(|&&size| size == wanted).count() as f64 / 20_000.0;
        let rest: Vec<f64> =
            trace.sizes().iter().filter(|&&size| size != 0 && size != 4096).map(|&size| f64::from(size)).collect();
        let mean = rest.iter().sum::<f64>() / rest.len() as f64;
        assert!((share(0) - 0.2).abs() < 0.02 && (share(4096) - 0.3).abs() < 0.02 && (mean - 1000.0).abs() < 20.0);
    }
}
