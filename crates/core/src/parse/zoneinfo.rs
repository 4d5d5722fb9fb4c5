//! `/proc/zoneinfo`: free pages that no counter of free memory has.

/// Pages on the free lists of processors (`count` of each `pagesets` entry). The kernel keeps what was freed there for the next allocation of the same
/// processor (mm/page_alloc.c, `free_unref_page`), and since 6.7 up to an eighth of a zone; `MemFree` and `MemAvailable` leave it out.
#[must_use]
pub fn pages_of_processors(text: &str) -> u64 {
    let count = |line: &str| line.trim().strip_prefix("count:")?.trim().parse::<u64>().ok();
    text.lines().filter_map(count).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_processors_of_all_zones_count() {
        let text = "Node 0, zone    DMA32\n  pages free     771722\n        min      2116\n  pagesets\n    cpu: 0\n              count:    1439\n              \
                    high:     1444\n              high_min: 1444\n  vm stats threshold: 24\n    cpu: 1\n              count:    112\n\
                    Node 0, zone   Normal\n    cpu: 0\n              count: 9401\n              count: x\n  node_unreclaimable:  0\n";
        assert_eq!(pages_of_processors(text), 1439 + 112 + 9401);
        assert_eq!(pages_of_processors(""), 0);
    }
}
