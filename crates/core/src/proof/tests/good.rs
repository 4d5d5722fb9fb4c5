//! Kernels that do what they document.

use super::*;

/// What good machines show: kernel, then the movements of the zero, text and random classes, and what follows.
pub(super) struct Good {
    pub(super) machine: Machine,
    pub(super) store: [&'static [(&'static str, i64)]; 3],
    pub(super) load: [&'static [(&'static str, i64)]; 3],
    pub(super) places: [Destination; 3],
    pub(super) incompressible: IncompressiblePages,
    pub(super) ratio: Option<&'static str>,
}

pub(super) fn machines() -> Vec<Good> {
    vec![
        // 5.10: nothing about zswap outside debugfs; the entry stays after a load.
        Good {
            machine: on(v(5, 10), true, DISK),
            store: [
                &[("zswap.stored_pages", NPAGES), ("zswap.same_filled_pages", NPAGES)],
                &[("zswap.stored_pages", NPAGES), ("zswap.pool_total_size", NBYTES / 2)],
                &[("vmstat.pswpout", NPAGES), ("zswap.reject_alloc_fail", NPAGES)],
            ],
            load: [&[], &[], &[("vmstat.pswpin", NPAGES)]],
            places: [Zswap, Zswap, Disk],
            incompressible: IncompressiblePages::WrittenToDisk,
            ratio: Some("2.00"),
        },
        // 6.1: rejects of the compressor are counted nowhere.
        Good {
            machine: on(v(6, 1), true, DISK),
            store: [
                &[
                    ("vmstat.zswpout", NPAGES),
                    ("meminfo.Zswapped", NBYTES),
                    ("zswap.stored_pages", NPAGES),
                    ("zswap.same_filled_pages", NPAGES),
                ],
                &[
                    ("vmstat.zswpout", NPAGES),
                    ("meminfo.Zswapped", NBYTES),
                    ("meminfo.Zswap", NBYTES / 4),
                    ("zswap.stored_pages", NPAGES),
                ],
                &[("vmstat.pswpout", NPAGES)],
            ],
            load: [&[("vmstat.zswpin", NPAGES)], &[("vmstat.zswpin", NPAGES)], &[("vmstat.pswpin", NPAGES)]],
            places: [Zswap, Zswap, Disk],
            incompressible: IncompressiblePages::WrittenToDisk,
            ratio: Some("4.00"),
        },
        Good {
            machine: on(v(6, 12), true, DISK),
            store: [
                &[("vmstat.swpout_zero", NPAGES)],
                &[
                    ("vmstat.zswpout", NPAGES),
                    ("meminfo.Zswapped", NBYTES),
                    ("meminfo.Zswap", NBYTES / 4),
                    ("zswap.stored_pages", NPAGES),
                ],
                &[("vmstat.pswpout", NPAGES), ("zswap.reject_compress_fail", NPAGES)],
            ],
            load: [
                &[("vmstat.swpin_zero", NPAGES)],
                &[("vmstat.zswpin", NPAGES), ("meminfo.Zswapped", -NBYTES)],
                &[("vmstat.pswpin", NPAGES)],
            ],
            places: [ZeroMark, Zswap, Disk],
            incompressible: IncompressiblePages::WrittenToDisk,
            ratio: Some("4.00"),
        },
        Good {
            machine: on(v(6, 18), true, DISK),
            store: [&[("vmstat.swpout_zero", NPAGES)], ZSWAP_TEXT, ZSWAP_RAW],
            load: [&[("vmstat.swpin_zero", NPAGES)], ZSWAP_LOAD, ZSWAP_LOAD],
            places: [ZeroMark, Zswap, Zswap],
            incompressible: IncompressiblePages::StoredRaw,
            ratio: Some("4.00"),
        },
        Good {
            machine: on(v(7, 3), true, DISK),
            store: [&[("vmstat.swpout_zero", NPAGES)], ZSWAP_TEXT, ZSWAP_RAW],
            load: [&[("vmstat.swpin_zero", NPAGES)], ZSWAP_LOAD, ZSWAP_LOAD],
            places: [ZeroMark, Zswap, Zswap],
            incompressible: IncompressiblePages::StoredRaw,
            ratio: Some("4.00"),
        },
        // zswap off: plain disk.
        Good {
            machine: on(v(6, 18), false, DISK),
            store: [&[("vmstat.swpout_zero", NPAGES)], &[("vmstat.pswpout", NPAGES)], &[("vmstat.pswpout", NPAGES)]],
            load: [&[("vmstat.swpin_zero", NPAGES)], &[("vmstat.pswpin", NPAGES)], &[("vmstat.pswpin", NPAGES)]],
            places: [ZeroMark, Disk, Disk],
            incompressible: IncompressiblePages::WrittenToDisk,
            ratio: None,
        },
        // zram: all through the block layer, its own statistics beside it.
        Good {
            machine: on(v(6, 1), false, ZRAM),
            store: [
                &[("vmstat.pswpout", NPAGES), ("zram.zram0.orig_data_size", NBYTES), ("zram.zram0.same_pages", NPAGES)],
                ZRAM_TEXT,
                ZRAM_RAW,
            ],
            load: [&[("vmstat.pswpin", NPAGES)], &[("vmstat.pswpin", NPAGES)], &[("vmstat.pswpin", NPAGES)]],
            places: [Zram, Zram, Zram],
            incompressible: IncompressiblePages::StoredInZram,
            ratio: Some("2.00"),
        },
        Good {
            machine: on(v(6, 18), false, ZRAM),
            store: [&[("vmstat.swpout_zero", NPAGES)], ZRAM_TEXT, ZRAM_RAW],
            load: [&[("vmstat.swpin_zero", NPAGES)], &[("vmstat.pswpin", NPAGES)], &[("vmstat.pswpin", NPAGES)]],
            places: [ZeroMark, Zram, Zram],
            incompressible: IncompressiblePages::StoredInZram,
            ratio: Some("2.00"),
        },
        // zram under zswap: zswap takes all, zram only has its slots.
        Good {
            machine: on(v(6, 18), true, ZRAM),
            store: [&[("vmstat.swpout_zero", NPAGES)], ZSWAP_TEXT, ZSWAP_RAW],
            load: [&[("vmstat.swpin_zero", NPAGES)], &[("vmstat.zswpin", NPAGES)], &[("vmstat.zswpin", NPAGES)]],
            places: [ZeroMark, Zswap, Zswap],
            incompressible: IncompressiblePages::StoredRaw,
            ratio: Some("4.00"),
        },
    ]
}

const ZSWAP_TEXT: &[(&str, i64)] =
    &[("vmstat.zswpout", NPAGES), ("meminfo.Zswapped", NBYTES), ("meminfo.Zswap", NBYTES / 4), ("zswap.stored_pages", NPAGES)];
const ZSWAP_RAW: &[(&str, i64)] = &[
    ("vmstat.zswpout", NPAGES),
    ("meminfo.Zswapped", NBYTES),
    ("meminfo.Zswap", NBYTES),
    ("zswap.stored_pages", NPAGES),
    ("zswap.stored_incompressible_pages", NPAGES),
];
pub(super) const ZSWAP_LOAD: &[(&str, i64)] = &[("vmstat.zswpin", NPAGES), ("meminfo.Zswapped", -NBYTES)];
const ZRAM_TEXT: &[(&str, i64)] =
    &[("vmstat.pswpout", NPAGES), ("zram.zram0.orig_data_size", NBYTES), ("zram.zram0.mem_used_total", NBYTES / 2)];
const ZRAM_RAW: &[(&str, i64)] =
    &[("vmstat.pswpout", NPAGES), ("zram.zram0.orig_data_size", NBYTES), ("zram.zram0.huge_pages", NPAGES)];

#[test]
fn good_machines_are_proved_on_every_kernel() {
    for good in machines() {
        let classes = CanaryClass::PROVED.iter().enumerate();
        let classes = classes.map(|(i, class)| good.machine.class(*class, good.store[i], good.load[i])).collect();
        let proof = judge(&good.machine.observe(classes));
        let name = format!("{} zswap {} on {}", good.machine.version, good.machine.zswap, good.machine.area);
        assert_eq!(proof.verdict, Verdict::Proved, "{name}: {proof:#?}");
        assert_eq!(places(&proof), good.places, "{name}");
        assert_eq!(codes(&proof), Vec::<&str>::new(), "{name}: {:#?}", proof.problems);
        assert!(proof.documented && !proof.checks.is_empty(), "{name}");
        assert_eq!(proof.incompressible, Some(good.incompressible), "{name}");
        assert_eq!(proof.ratio.map(|ratio| ratio.to_string()).as_deref(), good.ratio, "{name}");
        assert_eq!(proof.bytes_checked, Bytes(3 * N * PAGE), "{name}");
    }
}
