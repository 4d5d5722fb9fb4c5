#![no_main]

use libfuzzer_sys::fuzz_target;
use swaptune_bench::codec::{CODECS, CodecSetting, room};

// The first byte chooses the codec; the rest is compressed and given back, and also taken for compressed data.
fuzz_target!(|data: &[u8]| {
    let Some((choice, data)) = data.split_first() else { return };
    let setting = CodecSetting::of(&CODECS[usize::from(*choice) % CODECS.len()]);
    let mut codec = setting.open(4096).expect("a context");
    let mut page = [0; 4096];
    let _ = codec.decompress(data, &mut page);
    page.fill(0);
    let length = data.len().min(page.len());
    page[..length].copy_from_slice(&data[..length]);
    let mut out = [0; room(4096)];
    let size = codec.compress(&page, &mut out).expect("room for a page");
    let mut back = [1; 4096];
    codec.decompress(&out[..size], &mut back).expect("what was compressed");
    assert_eq!(page, back);
});
