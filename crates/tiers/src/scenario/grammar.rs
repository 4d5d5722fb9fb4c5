//! A tiering in one line: `zswap:zstd:30%:shrinker,disk:nvme:8G`.
//!
//! Tiers stand from the fastest to the slowest with commas between them; the words of a tier, in any order after its kind, with
//! colons. A line becomes what a `[[tiering]]` of a file becomes, so that there is one way to build it.

use super::file::{AreaSpec, TieringSpec, ZswapSpec};
use super::{ScenarioError, Size};
use crate::model::CODECS;
use crate::policies::POLICIES;

/// The grammar, for whoever prints help.
pub const GRAMMAR: [(&str, &str); 6] = [
    ("[NAME=]TIER,TIER…", "from the fastest to the slowest: zswap first, then areas in the order in which they are filled"),
    (
        "zswap:COMPRESSOR[:ALLOCATOR][:N%][:POLICY][:accept=N%]",
        "N%: limit of the pool, of RAM [default: zsmalloc, 20%, limit, accept=90%]",
    ),
    (
        "zram:ALGORITHM[:SIZE][:limit=SIZE][:priority=N]",
        "SIZE: 4G, or 50% of RAM [default: half of RAM]; limit: of the RAM that it may take",
    ),
    (
        "disk[:DEVICE][:SIZE][:areas=N][:priority=N]",
        "DEVICE: nvme, ssd, hdd [default: ssd]; ssd#2: another such disk; SIZE: [default: the whole workload]; areas: SIZE in N equal ones",
    ),
    ("none", "no swap at all"),
    (
        "now",
        "the swap of this machine as it is set up, sizes in proportion to RAM; all tierings then have its kernel and vm settings",
    ),
];

const KINDS: [&str; 5] = ["zswap", "zram", "disk", "none", "now"];
/// Kinds that stand alone.
const ALONE: [&str; 2] = ["none", "now"];
const ALLOCATORS: [&str; 3] = ["zsmalloc", "zbud", "z3fold"];
/// Most areas of Linux (`MAX_SWAPFILES` less entries for other uses).
const AREAS: i64 = 23;
/// Priority of the first area where the order alone decides.
const FIRST: i32 = 100;

/// One tier: its kind and what is said of it.
struct TierWords<'a> {
    /// Where it stands, for errors.
    key: String,
    kind: &'a str,
    words: Vec<&'a str>,
}

/// The `[[tiering]]` that a line describes.
pub(super) fn tiering(text: &str) -> Result<TieringSpec, ScenarioError> {
    let (name, tiers) = named(text)?;
    let key = format!("tiering `{name}`");
    let tiers = tiers.split(',').map(|tier| TierWords::read(&key, tier)).collect::<Result<Vec<_>, _>>()?;
    let mut tiering = TieringSpec { name: name.to_owned(), ..TieringSpec::default() };
    if let [TierWords { kind: "none", words, .. }] = tiers.as_slice() {
        return if words.is_empty() { Ok(tiering) } else { Err(ScenarioError::key(key, text, "`none` alone")) };
    }
    let chosen = tiers.iter().any(|tier| tier.words.iter().any(|word| word.starts_with("priority=")));
    let mut order = 0..;
    for (index, tier) in tiers.iter().enumerate() {
        let place = if tier.kind == "zswap" { 0 } else { order.next().unwrap_or(0) };
        // The kernel gives areas without a chosen priority a negative one, each below the one before it.
        let priority = if chosen { -2 - place } else { FIRST - place };
        match tier.kind {
            "zswap" if index == 0 => tiering.zswap = Some(tier.zswap()?),
            "zswap" => {
                return Err(ScenarioError::key(key, "zswap behind another tier", "zswap first: it is in front of all areas"));
            }
            kind if ALONE.contains(&kind) => {
                let with = if tiers.len() > 1 { "beside other tiers" } else { "with words" };
                return Err(ScenarioError::key(key, format!("`{kind}` {with}"), format!("`{kind}` alone, or tiers")));
            }
            "zram" => tiering.swap.push(tier.zram(priority)?),
            _ => tiering.swap.append(&mut tier.disks(priority)?),
        }
    }
    if tiering.swap.is_empty() {
        return Err(ScenarioError::key(key, "zswap alone", format!("an area behind it, for example `{text},disk`")));
    }
    Ok(tiering)
}

/// The name of the tiering that is the machine as it is; `None` of any other.
pub(super) fn now(text: &str) -> Option<&str> {
    named(text).ok().filter(|(_, tiers)| tiers.trim() == "now").map(|(name, _)| name)
}

/// The name and the tiers. Without a name the line itself is the name.
fn named(text: &str) -> Result<(&str, &str), ScenarioError> {
    let text = text.trim();
    let end = text.find([':', ',']).unwrap_or(text.len());
    let Some(at) = text[..end].find('=') else { return Ok((text, text)) };
    let (name, tiers) = (text[..at].trim(), &text[at + 1..]);
    if name.is_empty() || name.contains(['.', '*']) {
        return Err(ScenarioError::key(
            format!("tiering `{text}`"),
            format!("name `{name}`"),
            "a name without `.` and `*` before `=`",
        ));
    }
    Ok((name, tiers))
}

/// The same line with a policy for its zswap; `None` when it has no zswap, or names a policy itself.
pub(super) fn with_policy(text: &str, policy: &str) -> Option<String> {
    let (name, tiers) = named(text).ok()?;
    let (first, rest) = tiers.split_once(',').map_or((tiers, None), |(first, rest)| (first, Some(rest)));
    let mut words = first.split(':').map(str::trim);
    if words.next() != Some("zswap") || words.any(|word| POLICIES.iter().any(|policy| policy.name == word)) {
        return None;
    }
    let label = if name == tiers.trim() { String::new() } else { format!("{name} {policy}=") };
    let rest = rest.map_or(String::new(), |rest| format!(",{rest}"));
    Some(format!("{label}{first}:{policy}{rest}"))
}

impl<'a> TierWords<'a> {
    fn read(key: &str, text: &'a str) -> Result<Self, ScenarioError> {
        let mut words = text.split(':').map(str::trim);
        let kind = words.next().unwrap_or_default();
        if !KINDS.contains(&kind) {
            return Err(ScenarioError::name(key, kind, KINDS));
        }
        let words: Vec<&str> = words.collect();
        let key = format!("{key}: {kind}");
        if words.contains(&"") {
            return Err(ScenarioError::key(key, "nothing between two colons", "a word after each"));
        }
        Ok(Self { key, kind, words })
    }

    /// Notes a value that may stand once.
    fn once<T>(&self, place: &mut Option<T>, name: &str, value: T) -> Result<(), ScenarioError> {
        match place.replace(value) {
            None => Ok(()),
            Some(_) => Err(ScenarioError::key(&*self.key, format!("two of {name}"), "one")),
        }
    }

    /// What stands behind `NAME=`, a number.
    fn number<T: TryFrom<i64>>(&self, word: &str, value: &str, range: std::ops::RangeInclusive<i64>) -> Result<T, ScenarioError> {
        let number = value.trim_end_matches('%').parse().ok().filter(|number| range.contains(number));
        let expected = format!("a whole number from {} to {}", range.start(), range.end());
        let number = number.and_then(|number| T::try_from(number).ok());
        number.ok_or_else(|| ScenarioError::key(&*self.key, format!("`{word}`"), expected))
    }

    fn unknown<'n>(&self, word: &str, names: impl IntoIterator<Item = &'n str>) -> ScenarioError {
        ScenarioError::name(&*self.key, word, names)
    }

    fn zswap(&self) -> Result<ZswapSpec, ScenarioError> {
        let (mut zswap, mut compressor) = (ZswapSpec::default(), None);
        for word in &self.words {
            let name = (*word).to_owned();
            match word.split_once('=') {
                Some(("accept", percent)) => self.once(&mut zswap.accept, "accept", self.number(word, percent, 0..=100)?)?,
                None if word.ends_with('%') => self.once(&mut zswap.limit, "limit", self.number(word, word, 0..=100)?)?,
                None if CODECS.iter().any(|codec| codec.name == *word) => self.once(&mut compressor, "compressor", name)?,
                None if ALLOCATORS.contains(word) => self.once(&mut zswap.allocator, "allocator", name)?,
                None if POLICIES.iter().any(|policy| policy.name == *word) => self.once(&mut zswap.policy, "policy", name)?,
                _ => {
                    let names =
                        CODECS.iter().map(|codec| codec.name).chain(ALLOCATORS).chain(POLICIES.iter().map(|policy| policy.name));
                    return Err(self.unknown(word, names.chain(["N%", "accept=N%"])));
                }
            }
        }
        Ok(ZswapSpec { compressor: self.codec(compressor)?, ..zswap })
    }

    fn zram(&self, priority: i32) -> Result<AreaSpec, ScenarioError> {
        let mut area = AreaSpec::default();
        for word in &self.words {
            match word.split_once('=') {
                Some(("limit", size)) => self.once(&mut area.mem_limit, "mem-limit", Size::parse(&self.key, size)?)?,
                Some(("priority", number)) => {
                    self.once(&mut area.priority, "priority", self.number(word, number, -1..=32_767)?)?
                }
                None if is_size(word) => self.once(&mut area.size, "size", Size::parse(&self.key, word)?)?,
                None if CODECS.iter().any(|codec| codec.name == *word) => {
                    self.once(&mut area.zram, "zram", (*word).to_owned())?
                }
                _ => {
                    let names = CODECS.iter().map(|codec| codec.name);
                    return Err(self.unknown(word, names.chain(["SIZE", "limit=SIZE", "priority=N"])));
                }
            }
        }
        let zram = self.codec(area.zram)?;
        Ok(AreaSpec { zram: Some(zram), priority: area.priority.or(Some(priority)), ..area })
    }

    /// Which codec there is no default for: kernels differ, and so do the answers.
    fn codec(&self, codec: Option<String>) -> Result<String, ScenarioError> {
        let names = || CODECS.map(|codec| codec.name).join(", ");
        let expected = || format!("one of {}, for example {}:zstd", names(), self.kind);
        codec.ok_or_else(|| ScenarioError::key(&*self.key, "no compressor", expected()))
    }

    /// One area, or several of the same size and priority on one disk, which the kernel fills in turns.
    fn disks(&self, priority: i32) -> Result<Vec<AreaSpec>, ScenarioError> {
        let (mut area, mut areas) = (AreaSpec::default(), None);
        for word in &self.words {
            match word.split_once('=') {
                Some(("priority", number)) => {
                    self.once(&mut area.priority, "priority", self.number(word, number, -1..=32_767)?)?
                }
                Some(("areas", number)) => self.once(&mut areas, "areas", self.number(word, number, 1..=AREAS)?)?,
                None if is_size(word) => self.once(&mut area.size, "size", Size::parse(&self.key, word)?)?,
                None => self.once(&mut area.disk, "disk", (*word).to_owned())?,
                Some(_) => return Err(self.unknown(word, ["DEVICE", "SIZE", "areas=N", "priority=N"])),
            }
        }
        let areas: u32 = areas.unwrap_or(1);
        area.priority.get_or_insert(priority);
        area.disk.get_or_insert_with(|| "ssd".to_owned());
        area.size = area.size.map(|size| size.part(areas));
        Ok(vec![area; areas as usize])
    }
}

/// Devices and algorithms that are known begin with a letter.
fn is_size(word: &str) -> bool {
    word.starts_with(|first: char| first.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn toml(text: &str) -> TieringSpec {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn a_line_is_what_the_same_tiering_of_a_file_is() {
        for (line, file) in [
            ("none", "name = 'none'"),
            ("disk", "name = 'disk'\nswap = [{ disk = 'ssd', priority = 100 }]"),
            (
                "zswap:zstd,disk:nvme:8G",
                "name = 'zswap:zstd,disk:nvme:8G'\nzswap = { compressor = 'zstd' }\nswap = [{ disk = 'nvme', size = '8G', priority = 100 }]",
            ),
            (
                " mine = zswap:shrinker:35%:zbud:lz4:accept=80% , zram:lzo-rle:50%:limit=1G ",
                "name = 'mine'\nzswap = { policy = 'shrinker', limit = 35, allocator = 'zbud', compressor = 'lz4', accept = 80 }\n\
                 swap = [{ zram = 'lzo-rle', size = '50%', mem-limit = '1G', priority = 100 }]",
            ),
            (
                "zram:lz4:priority=5,disk:hdd",
                "name = 'zram:lz4:priority=5,disk:hdd'\nswap = [{ zram = 'lz4', priority = 5 }, { disk = 'hdd', priority = -3 }]",
            ),
            (
                "two=disk:this:8G:areas=2",
                "name = 'two'\nswap = [{ disk = 'this', size = 4294967296, priority = 100 }, { disk = 'this', size = 4294967296, priority = 100 }]",
            ),
            (
                "two=disk:50%:areas=2",
                "name = 'two'\nswap = [{ disk = 'ssd', size = '25%', priority = 100 }, { disk = 'ssd', size = '25%', priority = 100 }]",
            ),
        ] {
            assert_eq!(tiering(line).unwrap(), toml(file), "{line}");
        }
    }

    #[test]
    fn what_is_wrong_teaches_the_grammar() {
        for (line, says) in [
            ("", "tiering ``: found ``, expected one of zswap, zram, disk, none, now"),
            ("zswp:zstd,disk", "found `zswp`, expected one of zswap, zram, disk, none, now"),
            ("zswap:zstd", "found zswap alone, expected an area behind it, for example `zswap:zstd,disk`"),
            (
                "zswap,disk",
                "zswap: found no compressor, expected one of lz4, lz4hc, lzo, lzo-rle, zstd, deflate, for example zswap:zstd",
            ),
            ("disk,zswap:zstd", "found zswap behind another tier, expected zswap first"),
            ("none,disk", "found `none` beside other tiers"),
            ("none:8G", "expected `none` alone"),
            ("zswap:zstd:zsmaloc,disk", "zswap: found `zsmaloc`, expected one of lz4,"),
            ("zswap:zstd:lz4,disk", "zswap: found two of compressor, expected one"),
            ("zswap:zstd:120%,disk", "zswap: found `120%`, expected a whole number from 0 to 100"),
            ("zram:4G", "zram: found no compressor"),
            (
                "zram:lz4:prio=3",
                "zram: found `prio=3`, expected one of lz4, lz4hc, lzo, lzo-rle, zstd, deflate, SIZE, limit=SIZE, priority=N",
            ),
            ("disk::8G", "disk: found nothing between two colons"),
            ("disk:areas=99", "disk: found `areas=99`, expected a whole number from 1 to 23"),
            ("disk:8X:areas=2", "disk: found \"8X\", expected a size"),
            ("disk:ssd:nvme", "disk: found two of disk"),
            ("=disk", "found name ``, expected a name without"),
            ("a.b=disk", "found name `a.b`"),
        ] {
            let message = tiering(line).unwrap_err().to_string();
            assert!(message.contains(says), "{line}: {message}\nshould contain: {says}");
        }
    }

    proptest::proptest! {
        /// Whatever is typed is understood or refused; nothing that is understood lacks an area or a codec.
        #[test]
        fn nothing_typed_is_a_panic(words in proptest::collection::vec(0..WORDS.len(), 0..9), free in ".{0,12}") {
            let line: String = words.iter().map(|word| WORDS[*word]).chain([free.as_str()]).collect();
            for line in [line.as_str(), line.trim_end_matches(&free)] {
                if let Ok(tiering) = tiering(line) {
                    proptest::prop_assert!(!tiering.swap.is_empty() || tiering.zswap.is_none(), "{line}");
                    proptest::prop_assert!(tiering.zswap.is_none_or(|zswap| !zswap.compressor.is_empty()), "{line}");
                }
                let _ = with_policy(line, "shrinker");
            }
        }
    }

    const WORDS: [&str; 21] = [
        "zswap",
        "zram",
        "disk",
        "none",
        ":",
        ",",
        "=",
        ":zstd",
        ":lz4",
        ":zbud",
        ":30%",
        ":shrinker",
        ":accept=80%",
        ":8G",
        ":50%",
        ":limit=1G",
        ":priority=5",
        ":areas=4",
        ":nvme",
        ":this#2",
        "name=",
    ];

    #[test]
    fn a_policy_goes_to_zswap_that_has_none() {
        assert_eq!(with_policy("zswap:zstd,disk", "shrinker").as_deref(), Some("zswap:zstd:shrinker,disk"));
        assert_eq!(with_policy("a=zswap:zstd,disk", "shrinker").as_deref(), Some("a shrinker=zswap:zstd:shrinker,disk"));
        assert_eq!(with_policy("zswap:zstd:limit,disk", "shrinker"), None);
        assert_eq!(with_policy("disk", "shrinker"), None);
    }
}
