//! A sample as a page: the ratio first, then each process, what sizes pages have, and how they were drawn.

use std::collections::BTreeMap;

use swaptune_core::Bytes;
use swaptune_core::measurement::{Estimate, Measurement, SampledCodec};
use swaptune_core::profiles::auto::compressor;
use swaptune_tiers::page_set::PageClass;

use super::table::{codecs, groups, percent, says_something};
use super::{SampleBasis, SampleReport};
use crate::output::measurement::conditions;
use crate::output::report::{Bar, HtmlPage, STEPS, bars, colour, stacks};

/// Sizes of a page, from best to worst, each with its colour; a page of one word has none.
const SIZES: [(&str, &str); 6] = [
    ("zero or same-filled", STEPS[0]),
    ("up to a quarter of a page", STEPS[1]),
    ("up to a half", STEPS[2]),
    ("up to three quarters", STEPS[3]),
    ("less than a page", STEPS[4]),
    ("incompressible", STEPS[5]),
];

/// The page.
pub fn html(report: &SampleReport, basis: &SampleBasis<'_>, measurement: &Measurement) -> String {
    let of = &report.figures.of;
    let mut page = HtmlPage::begin(&format!("swaptune sample: {of}"), &format!("How well the pages of {of} compress"));
    if let Some((codec, why)) = chosen(report, basis) {
        page.verdict(&verdict(report, codec, why));
        page.paragraph(&format!("Advice: {}", report.advice));
        each(&mut page, report, &codec.codec);
    }
    sizes(&mut page, report, basis);
    page.heading("Codecs");
    table(&mut page, &codecs(report));
    page.paragraph(
        "In brackets: 95 % confidence intervals. Ratios leave same-filled pages out; pools count them as this kernel does.",
    );
    page.heading("Conditions");
    let drawn = format!("{} of {} pages drawn, seed {}", report.figures.sampled, report.figures.present, report.seed);
    page.block(&format!("{}  {drawn}", conditions(measurement)));
    page.end()
}

/// The compressor that swap goes through here: zswap's, else that of the first zram device.
fn in_use(basis: &SampleBasis<'_>) -> Option<String> {
    let zswap = basis.facts.zswap.value().filter(|zswap| zswap.enabled).and_then(|zswap| zswap.parameter("compressor"));
    let zram = || basis.facts.zram.devices.iter().find_map(|device| device.algorithm.value().cloned());
    zswap.map(str::to_owned).or_else(zram)
}

/// What the verdict is about, and why: the codec in use, else the one that is advised, else the densest that was sampled.
fn chosen<'a>(report: &'a SampleReport, basis: &SampleBasis<'_>) -> Option<(&'a SampledCodec, &'static str)> {
    let codecs = &report.figures.codecs;
    let named = |name: Option<String>| codecs.iter().find(|codec| Some(&codec.codec) == name.as_ref());
    let advised = || compressor(basis.facts, basis.evidence).map(|advice| advice.codec);
    let densest = || codecs.iter().max_by(|a, b| a.ratio.value.total_cmp(&b.ratio.value));
    named(in_use(basis))
        .map(|codec| (codec, "in use here"))
        .or_else(|| named(advised()).map(|codec| (codec, "as advised")))
        .or_else(|| densest().map(|codec| (codec, "the densest of those sampled")))
}

fn verdict(report: &SampleReport, codec: &SampledCodec, why: &str) -> String {
    let Estimate { value, low, high } = codec.ratio;
    format!(
        "With {}, {why}, a page takes 1/{value:.2} of its size (95 %: 1/{low:.2} to 1/{high:.2}); {} are same-filled, {} incompressible.",
        codec.codec,
        percent(&report.figures.same_filled),
        percent(&codec.incompressible)
    )
}

/// A bar for each process or unit, and the table of them.
fn each(page: &mut HtmlPage, report: &SampleReport, codec: &str) {
    let bar = |line: &super::UnitLine| {
        let of_line = line.numbers.as_ref().and_then(|numbers| numbers.codecs.iter().find(|known| known.codec == codec));
        let ratio = of_line.filter(says_something).map(|known| known.ratio);
        Bar {
            name: format!("{} · {}", Bytes(line.present * report.page_size), line.name),
            value: ratio.map(|ratio| ratio.value),
            range: ratio.map(|ratio| (ratio.low, ratio.high)),
            says: ratio.map_or_else(|| "too few pages".into(), |ratio| format!("{:.2}", ratio.value)),
            colour: colour(0),
        }
    };
    let title = format!("Ratio with {codec} of each, with the memory it has in RAM; the stroke is the 95 % interval");
    page.heading(&title);
    page.picture(&bars(&title, &report.groups.iter().map(bar).collect::<Vec<_>>()));
    table(page, &groups(report));
}

fn table(page: &mut HtmlPage, rows: &[Vec<String>]) {
    if let Some((head, rows)) = rows.split_first() {
        page.table(&head.iter().map(String::as_str).collect::<Vec<_>>(), rows);
    }
}

/// What sizes pages have with each codec.
fn sizes(page: &mut HtmlPage, report: &SampleReport, basis: &SampleBasis<'_>) {
    let set = &basis.sample.set;
    let shares = |(codec, sizes): (&String, &Vec<u16>)| {
        (codec.clone(), shares(&set.class, sizes, set.page_size, basis.pools.whole_page_from()))
    };
    let rows: BTreeMap<String, Vec<f64>> = set.sizes.iter().map(shares).collect();
    let order = report.figures.codecs.iter().map(|codec| &codec.codec);
    let rows: Vec<(String, Vec<f64>)> = order.filter_map(|name| Some((name.clone(), rows.get(name)?.clone()))).collect();
    let title = "Compressed sizes: share of the pages, %";
    page.heading(title);
    page.key(SIZES.iter().map(|(name, colour)| (*colour, *name)));
    page.picture(&stacks(title, &SIZES, &rows, true));
    let head: Vec<&str> = std::iter::once("").chain(SIZES.iter().map(|(name, _)| *name)).collect();
    let cells = |(name, shares): &(String, Vec<f64>)| {
        std::iter::once(name.clone()).chain(shares.iter().map(|share| format!("{share:.1} %"))).collect()
    };
    page.table(&head, &rows.iter().map(cells).collect::<Vec<_>>());
}

/// Percent of the pages in each of [`SIZES`].
fn shares(class: &[PageClass], sizes: &[u16], page: u16, whole: u16) -> Vec<f64> {
    let mut counts = [0_u32; SIZES.len()];
    for (class, size) in class.iter().zip(sizes) {
        let quarters = u32::from(*size).saturating_mul(4);
        let place = match class {
            PageClass::Zero | PageClass::SameFilled => 0,
            PageClass::Data if *size >= whole => 5,
            PageClass::Data => quarters.div_ceil(u32::from(page)).clamp(1, 4) as usize,
        };
        counts[place] += 1;
    }
    let all = f64::from(counts.iter().sum::<u32>().max(1));
    counts.iter().map(|count| f64::from(*count) * 100.0 / all).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_page_has_one_size() {
        let class = [vec![PageClass::Zero, PageClass::SameFilled], vec![PageClass::Data; 8]].concat();
        let sizes = [0, 30, 20, 1024, 1025, 2048, 3072, 3073, 3300, 4096];
        assert_eq!(shares(&class, &sizes, 4096, 3264), [20.0, 20.0, 20.0, 10.0, 10.0, 20.0]);
        assert_eq!(shares(&[], &[], 4096, 3264), [0.0; 6]);
    }
}
