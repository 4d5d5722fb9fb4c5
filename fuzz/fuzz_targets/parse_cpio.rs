#![no_main]

use libfuzzer_sys::fuzz_target;
use swaptune_core::parse::cpio::{Fed, Scanner};

// The first byte says how long the pieces are: names must not depend on them.
fuzz_target!(|bytes: &[u8]| {
    let Some((length, bytes)) = bytes.split_first() else { return };
    let names = |length: usize| {
        let (mut scanner, mut names) = (Scanner::default(), Vec::new());
        let foreign = bytes.chunks(length).any(|piece| scanner.feed(piece, |name| names.push(name.to_owned())) != Fed::All);
        (names, foreign)
    };
    assert_eq!(names(usize::from(*length).max(1)), names(bytes.len().max(1)));
});
