use swaptune_host::machine::Machine;

use super::*;

fn settings(names: &[&str]) -> Vec<CodecSetting> {
    names.iter().map(|name| name.parse().unwrap()).collect()
}

fn pages(content: Content, count: usize) -> BenchPages {
    BenchPages::load(&Machine::live(), &PageSource::Synthetic(content), count, false).unwrap()
}

fn quick(names: &[&str], threads: &[usize]) -> CodecsPlan {
    CodecsPlan { settings: settings(names), threads: threads.to_vec(), scaled: settings(&["lz4"]), time: Duration::ZERO }
}

#[test]
fn the_usual_codecs_are_measured_with_everything_that_a_row_has() {
    let (pages, mut told) = (pages(Content::Text, 100), 0);
    let rows = measure(&quick(USUAL, &[1]), &pages, &Facts::default(), |_, done, of| {
        assert!(done < of);
        told += 1;
    });
    let rows = rows.unwrap();
    assert_eq!((rows.len(), told), (USUAL.len(), USUAL.len() * 6));
    for (row, name) in rows.iter().zip(USUAL) {
        let figures = &row.figures;
        assert_eq!((figures.codec.as_str(), figures.pages, figures.threads), (*name, 100, 1));
        assert!(figures.compress_mb_s.unwrap() > 0.0 && figures.decompress_mb_s.unwrap() > 0.0);
        assert_eq!((figures.compress.unwrap().samples, figures.decompress.unwrap().samples), (100, 100));
        assert_eq!(figures.pages_of, "synthetic text");
        assert_eq!(figures.ratio > 1.4, *name != "memcpy", "{name}: {}", figures.ratio);
        assert_eq!(figures.pools.is_empty(), *name == "memcpy");
    }
}

#[test]
fn the_ratio_is_of_what_the_kernel_would_keep() {
    let ratio = |content, name: &str| {
        let rows = measure(&quick(&[name], &[1]), &pages(content, 50), &Facts::default(), |_, _, _| {}).unwrap();
        rows[0].figures.ratio
    };
    assert_eq!(ratio(Content::Random, "lz4"), 1.0, "a page that grows is kept as it is");
    assert_eq!(ratio(Content::Random, "memcpy"), 1.0);
    assert!((3.8..4.0).contains(&ratio(Content::Compressible, "lz4")));
    assert!(ratio(Content::Zero, "zstd") > 100.0);
}

#[test]
fn threads_share_the_pages_and_change_no_size() {
    // 101 pages do not go evenly into any of these.
    let pages = pages(Content::Text, 101);
    let rows = measure(&quick(&["lz4"], &[1, 2, 3, 8]), &pages, &Facts::default(), |_, _, _| {}).unwrap();
    assert_eq!(rows.iter().map(|row| row.figures.threads).collect::<Vec<_>>(), [1, 2, 3, 8]);
    assert!(rows.iter().all(|row| row.figures.ratio == rows[0].figures.ratio && row.figures.pages == 101));
    let more = measure(&quick(&["lz4"], &[1, 8]), &self::pages(Content::Random, 3), &Facts::default(), |_, _, _| {});
    assert_eq!(more.unwrap().len(), 2, "more threads than pages");
}

#[test]
fn a_page_that_comes_back_different_is_found() {
    let pages = pages(Content::Random, 10);
    let mut buffers = Buffers::new(&pages, 1);
    let mut benches = CodecPass::split(settings(&["memcpy"])[0], &pages, &mut buffers, 1).unwrap();
    let bench = &mut benches[0];
    bench.compress().unwrap();
    assert!(matches!(bench.verify(), Err(BenchError::Changed { page: 0, .. })), "nothing was decompressed yet");
    bench.decompress().unwrap();
    bench.verify().unwrap();
}

#[test]
fn medians_are_of_the_rounds() {
    assert_eq!(Rates::median(&[3.0, 1.0, 2.0]), 2.0);
    assert_eq!(Rates::median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
    assert_eq!(Rates::median(&[]), 0.0);
}

fn row(name: &str, ratio: f64, compress: f64, decompress: f64, here: bool) -> CodecRow {
    let setting: CodecSetting = name.parse().unwrap();
    let availability =
        if here { swaptune_core::facts::Availability::BuiltIn } else { swaptune_core::facts::Availability::Absent };
    let place = CodecPresence { availability, source: "test".into() };
    let in_kernel = InKernel { zswap: Some(place), zram: None };
    let pages = pages(Content::Random, 1);
    let progress = CodecProgress { sizes: vec![4096], ..CodecProgress::new(CodecJob { setting, threads: 1 }) };
    let figures = progress.row(&pages, &Facts::default()).figures;
    let figures = CodecFigures { ratio, compress_mb_s: Some(compress), decompress_mb_s: Some(decompress), ..figures };
    CodecRow { setting, figures, in_kernel }
}

#[test]
fn verdicts_compare_what_can_be_had() {
    let rows = [
        row("memcpy", 1.0, 12_000.0, 12_000.0, false),
        row("lz4", 2.6, 600.0, 3000.0, true),
        row("lz4hc", 3.2, 50.0, 3100.0, false),
        row("zstd:1", 3.4, 200.0, 500.0, true),
        row("zstd", 3.5, 190.0, 510.0, true),
        row("deflate", 3.3, 100.0, 90.0, true),
    ];
    let said: Vec<String> = verdicts(&rows).iter().map(ToString::to_string).collect();
    assert_eq!(said, ["what memory can do", "fastest store", "fastest load", "in between", "smallest", "zstd:1 beats it"]);
    let there = [row("lz4", 2.6, 600.0, 3000.0, true), row("lz4hc", 3.2, 700.0, 3100.0, false)];
    assert_eq!(verdicts(&there)[0], CodecVerdict::Choice { best: vec![] }, "an absent codec outdoes none that is there");
}
