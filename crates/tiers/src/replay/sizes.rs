//! Sizes of memory as they are typed: `1000`, `64k`, `10%` of all pages, `1%..100%` or `1k..1M:30` for steps that grow evenly.

/// Steps of a range that does not say how many.
const STEPS: u32 = 10;
/// Most sizes that one list may come to.
const SIZES_MAX: usize = 100_000;

/// A list of sizes.
#[derive(Clone, Debug, PartialEq)]
pub struct Sizes(Vec<SizesItem>);

#[derive(Clone, Copy, Debug, PartialEq)]
enum SizesItem {
    One(MemorySize),
    Range(MemorySize, MemorySize, u32),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum MemorySize {
    Pages(f64),
    Percent(f64),
}

/// Why a text is not a list of sizes.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("found `{found}`, expected {expected}")]
pub struct SizesError {
    found: String,
    expected: &'static str,
}

impl std::str::FromStr for Sizes {
    type Err = SizesError;

    fn from_str(text: &str) -> Result<Self, SizesError> {
        let items: Vec<SizesItem> = text.split(',').map(|item| item.trim().parse()).collect::<Result<_, _>>()?;
        let count: usize =
            items.iter().map(|item| if let SizesItem::Range(_, _, steps) = item { *steps as usize } else { 1 }).sum();
        if count > SIZES_MAX {
            return Err(SizesError { found: text.to_owned(), expected: "at most 100000 sizes" });
        }
        Ok(Self(items))
    }
}

impl std::str::FromStr for SizesItem {
    type Err = SizesError;

    fn from_str(text: &str) -> Result<Self, SizesError> {
        let Some((from, to)) = text.split_once("..") else { return Ok(Self::One(text.parse()?)) };
        let (to, steps) = to.split_once(':').map_or((to, None), |(to, steps)| (to, Some(steps)));
        let steps = steps.map_or(Ok(STEPS), str::parse).ok().filter(|steps| *steps >= 2);
        let steps =
            steps.ok_or_else(|| SizesError { found: text.to_owned(), expected: "at least 2 steps, for example 1%..100%:20" })?;
        Ok(Self::Range(from.parse()?, to.parse()?, steps))
    }
}

impl std::str::FromStr for MemorySize {
    type Err = SizesError;

    fn from_str(text: &str) -> Result<Self, SizesError> {
        let fault = || SizesError {
            found: text.to_owned(),
            expected: "a number of pages, for example 1000, 64k, 1M, or 10% of the trace's pages",
        };
        let (digits, factor) = match text.trim().char_indices().last() {
            Some((at, '%')) => (&text.trim()[..at], None),
            Some((at, 'k' | 'K')) => (&text.trim()[..at], Some(1e3)),
            Some((at, 'M')) => (&text.trim()[..at], Some(1e6)),
            Some((at, 'G')) => (&text.trim()[..at], Some(1e9)),
            _ => (text.trim(), Some(1.0)),
        };
        let value = digits.trim().parse::<f64>().ok().filter(|value| value.is_finite() && *value >= 0.0).ok_or_else(fault)?;
        if value == 0.0 {
            return Err(SizesError { found: text.to_owned(), expected: "more than 0: a memory of no page has no policy" });
        }
        Ok(factor.map_or(Self::Percent(value), |factor| Self::Pages(value * factor)))
    }
}

impl MemorySize {
    /// In pages, at least one.
    fn of(self, pages: u32) -> f64 {
        let size = match self {
            Self::Pages(size) => size,
            Self::Percent(percent) => f64::from(pages) * percent / 100.0,
        };
        size.round().max(1.0)
    }
}

impl Sizes {
    /// The sizes in pages for a trace of this many, ascending, each once.
    #[must_use]
    pub fn of(&self, pages: u32) -> Vec<u32> {
        let mut sizes: Vec<u32> = self.0.iter().flat_map(|item| item.of(pages)).map(|size| size.round() as u32).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }
}

impl SizesItem {
    fn of(&self, pages: u32) -> Vec<f64> {
        match *self {
            Self::One(size) => vec![size.of(pages)],
            Self::Range(from, to, steps) => {
                let (from, to) = (from.of(pages), to.of(pages));
                let growth = (to / from).ln() / f64::from(steps - 1);
                (0..steps).map(|step| from * (growth * f64::from(step)).exp()).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(text: &str, pages: u32) -> Vec<u32> {
        text.parse::<Sizes>().unwrap().of(pages)
    }

    #[test]
    fn lists_shares_and_ranges() {
        assert_eq!(sizes("1000, 2k,1.5M,2G", 7), [1000, 2000, 1_500_000, 2_000_000_000]);
        assert_eq!(sizes("50%,10%,5", 50), [5, 25]);
        assert_eq!(sizes("1,0.001%", 50), [1], "a share of less than a page is one");
        assert_eq!(sizes("1..1000:4", 0), [1, 10, 100, 1000]);
        assert_eq!(sizes("100%..1%:3", 10_000), [100, 1000, 10_000]);
        assert_eq!(sizes("1%..100%", 1_000_000).len(), 10);
    }

    #[test]
    fn no_memory_is_no_size() {
        for text in ["0", "0%", "0.0%", "10%,0", "0%..50%", "0..1k:3"] {
            let error = text.parse::<Sizes>().unwrap_err();
            assert!(error.expected.starts_with("more than 0"), "{text}: {error}");
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, found) in [("", ""), ("ten", "ten"), ("-5", "-5"), ("1..2:1", "1..2:1"), ("1..2:x", "1..2:x"), ("5..", "")] {
            let error = text.parse::<Sizes>().unwrap_err();
            assert_eq!(error.found, found, "{error}");
        }
        assert!("1..2:100000".parse::<Sizes>().is_ok());
        assert_eq!("1..2:100001".parse::<Sizes>().unwrap_err().expected, "at most 100000 sizes");
    }
}
