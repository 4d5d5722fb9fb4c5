//! No text makes a parser panic, and what is written is read back.
//!
//! The texts are arbitrary bytes, and lines made of the words that the parsers look for: pure noise rarely gets past
//! the first field.

use std::hint::black_box;

use proptest::collection::vec;
use proptest::prelude::*;
use swaptune_core::escape;
use swaptune_core::facts::KernelLogLine;
use swaptune_core::parse::cpio::{Fed, Scanner};
use swaptune_core::parse::*;

/// Words, separators and broken pieces of all formats.
const WORDS: &[&str] = &[
    "/dev/vda3",
    "partition",
    "file",
    "-2",
    "18446744073709551615",
    "99999999999999999999",
    "\\040",
    "\\777",
    "\\",
    "=",
    "\"",
    "'",
    "$",
    "${",
    "$(",
    "`",
    "}",
    ")",
    "#",
    ";",
    "-",
    " - ",
    "--",
    ":",
    ".",
    ",",
    "/",
    "[",
    "]",
    "kB",
    "MemTotal:",
    "some",
    "full",
    "avg10=1.5",
    "total=9",
    "CONFIG_ZSWAP=y",
    "# CONFIG_X is not set",
    "name",
    "driver : x",
    "type : scomp",
    "E:ID_FS_TYPE=swap",
    "zswap.enabled=1",
    "zswap: loaded using pool ",
    "6,1,2,-;",
    "[    1.000000]",
    "vm.swappiness",
    "vm/swappiness",
    "options",
    "append",
    "label",
    "export ",
    "9:name=systemd:/system.slice/x.service",
    "0::/",
    ".scope",
    "00400000-00500000 rw-p 00000000 00:00 0",
    "Rss: 4 kB",
    "Name:\tx",
    "A=",
    "é",
    "\u{0}",
    "\t",
    "\r",
    "\n",
    "\n\n",
];

fn texts() -> impl Strategy<Value = String> {
    let words = vec(prop_oneof![prop::sample::select(WORDS).prop_map(str::to_owned), "[a-z0-9]{0,4}"], 0..40);
    prop_oneof![
        any::<String>(),
        words.prop_map(|words| words.concat()),
        vec(prop::sample::select(WORDS), 0..40).prop_map(|words| words.join(" "))
    ]
}

fn everything(text: &str) {
    let lines = klog::text(text);
    black_box((klog::record(text), klog::concerns_swap(text), klog::zswap_loaded(&lines), klog::zswap_complaints(&lines)));
    black_box((bls::options(text), bls::extlinux_append(text), choice::value(text)));
    black_box((cmdline::parse(text), cmdline::boolean(text), crypto::parse(text), crypttab::parse(text)));
    black_box((escape::unescape(text), kconfig::parse(text), keyed::counts(text), keyed::meminfo(text)));
    black_box((mm_stat::parse(text), modules::find(text, "lz4"), modules::loaded(text, "lz4"), modules::name(text)));
    let mounts = mountinfo::parse(text);
    black_box((mountinfo::holding(&mounts, text), pressure::parse(text), shell::evaluate([text, text])));
    black_box(block_stat::parse(text));
    let member = proc_cgroup::parse(text);
    black_box((
        member.is_in_group(text),
        member.is_in_unit(text),
        maps::parse(text),
        maps::usage(text),
        proc_stat::parse(text),
        proc_status::parse(text),
    ));
    black_box((swaps::parse(text), sysctl::parse(text), udevdb::parse(text), escape::unescape_hex(text)));
}

fn names(pieces: &[&[u8]]) -> (Vec<String>, Fed) {
    let (mut scanner, mut names) = (Scanner::default(), Vec::new());
    for piece in pieces {
        let fed = scanner.feed(piece, |name| names.push(name.to_owned()));
        if fed != Fed::All {
            return (names, fed);
        }
    }
    (names, Fed::All)
}

/// Bytes that are an archive more often than noise is.
fn archives() -> impl Strategy<Value = Vec<u8>> {
    let member = (0..5000u32, 0..40u32, vec(any::<u8>(), 0..60)).prop_map(|(data, name, tail)| {
        let mut out = b"070701".to_vec();
        for field in 0..13 {
            let value = [0, data][usize::from(field == 6)] + [0, name][usize::from(field == 11)];
            out.extend(format!("{value:08X}").bytes());
        }
        out.extend(tail);
        out
    });
    prop_oneof![vec(any::<u8>(), 0..300), vec(member, 0..4).prop_map(|members| members.concat())]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn no_text_makes_a_parser_panic(text in texts()) {
        everything(&text);
    }

    #[test]
    fn no_bytes_make_a_parser_panic(bytes in archives()) {
        black_box((signature::probe(&bytes), names(&[&bytes])));
    }

    #[test]
    fn an_archive_reads_the_same_in_any_pieces(bytes in archives(), cut in any::<prop::sample::Index>()) {
        let (first, second) = bytes.split_at(cut.index(bytes.len() + 1));
        let (whole, fed) = names(&[&bytes]);
        let (pieces, fed_in_pieces) = names(&[first, second]);
        prop_assert_eq!(whole, pieces);
        prop_assert_eq!(fed == Fed::All, fed_in_pieces == Fed::All);
    }

    #[test]
    fn an_escaped_path_is_one_field_and_comes_back(path in any::<String>()) {
        let escaped = escape::escape(&path);
        prop_assert!(!escaped.contains([' ', '\t', '\n']));
        prop_assert_eq!(escape::unescape(&escaped), path);
    }

    #[test]
    fn log_lines_come_back(micros in 0..10_000_000_000_u64, text in "[^\r\n]{0,40}") {
        let line = KernelLogLine { at: format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000), text };
        prop_assert_eq!(klog::text(&klog::render(&line)), [line]);
    }

    #[test]
    fn words_of_a_command_line_are_all_of_it(text in texts()) {
        let words = cmdline::words(&text).concat();
        let squeeze = |text: &str| text.chars().filter(|c| !c.is_ascii_whitespace() && *c != '\x0b').collect::<String>();
        prop_assert_eq!(squeeze(&words), squeeze(&text));
    }
}
