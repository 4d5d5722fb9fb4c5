//! A tiering in one line: `zswap:zstd:30%:shrinker,disk:nvme:8G`.
//!
//! Tiers stand from the fastest to the slowest with commas between them; the words of a tier, in any order after its kind, with
//! colons. A line becomes the table that a `[[tiering]]` of a file is, so that there is one way to build it.

use toml::{Table, Value};

use super::ScenarioError;
use crate::alloc::PAGE_SIZE;
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
const AREAS: u64 = 23;
/// Priority of the first area where the order alone decides.
const FIRST: i64 = 100;

/// One tier: its kind and what is said of it.
struct Tier<'a> {
    /// Where it stands, for errors.
    key: String,
    kind: &'a str,
    words: Vec<&'a str>,
}

/// The `[[tiering]]` that a line describes.
pub(super) fn tiering(text: &str) -> Result<Table, ScenarioError> {
    let (name, tiers) = named(text)?;
    let key = format!("tiering `{name}`");
    let tiers = tiers.split(',').map(|tier| Tier::read(&key, tier)).collect::<Result<Vec<_>, _>>()?;
    let mut table = Table::from_iter([("name".to_owned(), Value::from(name))]);
    if let [Tier { kind: "none", words, .. }] = tiers.as_slice() {
        return if words.is_empty() { Ok(table) } else { Err(ScenarioError::key(key, text, "`none` alone")) };
    }
    let mut areas = Vec::new();
    let chosen = tiers.iter().any(|tier| tier.words.iter().any(|word| word.starts_with("priority=")));
    let mut order = 0..;
    for (index, tier) in tiers.iter().enumerate() {
        let place = if tier.kind == "zswap" { 0 } else { order.next().unwrap_or(0) };
        // The kernel gives areas without a chosen priority a negative one, each below the one before it.
        let priority = if chosen { -2 - place } else { FIRST - place };
        match tier.kind {
            "zswap" if index == 0 => _ = table.insert("zswap".into(), Value::Table(tier.zswap()?)),
            "zswap" => {
                return Err(ScenarioError::key(key, "zswap behind another tier", "zswap first: it is in front of all areas"));
            }
            kind if ALONE.contains(&kind) => {
                let with = if tiers.len() > 1 { "beside other tiers" } else { "with words" };
                return Err(ScenarioError::key(key, format!("`{kind}` {with}"), format!("`{kind}` alone, or tiers")));
            }
            "zram" => areas.push(tier.zram(priority)?),
            _ => areas.append(&mut tier.disks(priority)?),
        }
    }
    if areas.is_empty() {
        return Err(ScenarioError::key(key, "zswap alone", format!("an area behind it, for example `{text},disk`")));
    }
    table.insert("swap".into(), Value::Array(areas.into_iter().map(Value::Table).collect()));
    Ok(table)
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

impl<'a> Tier<'a> {
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

    /// Puts a value that may stand once.
    fn once(&self, table: &mut Table, name: &str, value: impl Into<Value>) -> Result<(), ScenarioError> {
        match table.insert(name.to_owned(), value.into()) {
            None => Ok(()),
            Some(first) => Err(ScenarioError::key(&*self.key, format!("two of {name}: {first} and another"), "one")),
        }
    }

    /// What stands behind `NAME=`, a number.
    fn number(&self, word: &str, value: &str, range: std::ops::RangeInclusive<i64>) -> Result<i64, ScenarioError> {
        let number = value.trim_end_matches('%').parse().ok().filter(|number| range.contains(number));
        let expected = format!("a whole number from {} to {}", range.start(), range.end());
        number.ok_or_else(|| ScenarioError::key(&*self.key, format!("`{word}`"), expected))
    }

    fn unknown<'n>(&self, word: &str, names: impl IntoIterator<Item = &'n str>) -> ScenarioError {
        ScenarioError::name(&*self.key, word, names)
    }

    fn zswap(&self) -> Result<Table, ScenarioError> {
        let mut table = Table::new();
        for word in &self.words {
            let value = Value::from(*word);
            match word.split_once('=') {
                Some(("accept", percent)) => self.once(&mut table, "accept", self.number(word, percent, 0..=100)?)?,
                None if word.ends_with('%') => self.once(&mut table, "limit", self.number(word, word, 0..=100)?)?,
                None if CODECS.iter().any(|codec| codec.name == *word) => self.once(&mut table, "compressor", value)?,
                None if ALLOCATORS.contains(word) => self.once(&mut table, "allocator", value)?,
                None if POLICIES.iter().any(|policy| policy.name == *word) => self.once(&mut table, "policy", value)?,
                _ => {
                    let names =
                        CODECS.iter().map(|codec| codec.name).chain(ALLOCATORS).chain(POLICIES.iter().map(|policy| policy.name));
                    return Err(self.unknown(word, names.chain(["N%", "accept=N%"])));
                }
            }
        }
        self.needs(table, "compressor")
    }

    fn zram(&self, priority: i64) -> Result<Table, ScenarioError> {
        let mut table = Table::new();
        for word in &self.words {
            match word.split_once('=') {
                Some(("limit", size)) => self.once(&mut table, "mem-limit", size)?,
                Some(("priority", number)) => self.once(&mut table, "priority", self.number(word, number, -1..=32_767)?)?,
                None if is_size(word) => self.once(&mut table, "size", *word)?,
                None if CODECS.iter().any(|codec| codec.name == *word) => self.once(&mut table, "zram", *word)?,
                _ => {
                    let names = CODECS.iter().map(|codec| codec.name);
                    return Err(self.unknown(word, names.chain(["SIZE", "limit=SIZE", "priority=N"])));
                }
            }
        }
        table.entry("priority").or_insert(priority.into());
        self.needs(table, "zram")
    }

    /// Which codec there is no default for: kernels differ, and so do the answers.
    fn needs(&self, table: Table, key: &str) -> Result<Table, ScenarioError> {
        if table.contains_key(key) {
            return Ok(table);
        }
        let names: Vec<&str> = CODECS.iter().map(|codec| codec.name).collect();
        let expected = format!("one of {}, for example {}:zstd", names.join(", "), self.kind);
        Err(ScenarioError::key(&*self.key, "no compressor", expected))
    }

    /// One area, or several of the same size and priority on one disk, which the kernel fills in turns.
    fn disks(&self, priority: i64) -> Result<Vec<Table>, ScenarioError> {
        let (mut table, mut areas) = (Table::new(), None);
        for word in &self.words {
            match word.split_once('=') {
                Some(("priority", number)) => self.once(&mut table, "priority", self.number(word, number, -1..=32_767)?)?,
                Some(("areas", number)) if areas.is_none() => areas = Some(self.number(word, number, 1..=AREAS as i64)?),
                None if is_size(word) => self.once(&mut table, "size", *word)?,
                None => self.once(&mut table, "disk", *word)?,
                Some(_) => return Err(self.unknown(word, ["DEVICE", "SIZE", "areas=N", "priority=N"])),
            }
        }
        table.entry("priority").or_insert(priority.into());
        table.entry("disk").or_insert("ssd".into());
        let areas = areas.unwrap_or(1);
        if let Some(size) = table.get_mut("size") {
            *size = self.part(size, areas)?;
        }
        Ok(vec![table; areas as usize])
    }

    /// A size divided among areas.
    fn part(&self, size: &Value, areas: i64) -> Result<Value, ScenarioError> {
        if areas == 1 {
            return Ok(size.clone());
        }
        Ok(match super::units::size(&self.key, size)? {
            super::units::Size::Pages(pages) => Value::from((pages / areas as u64 * u64::from(PAGE_SIZE)).cast_signed()),
            super::units::Size::Share(share) => Value::from(format!("{}%", share * 100.0 / areas as f64)),
        })
    }
}

/// Devices and algorithms that are known begin with a letter.
fn is_size(word: &str) -> bool {
    word.starts_with(|first: char| first.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn toml(text: &str) -> Table {
        text.parse().unwrap()
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
            ("zswap:zstd:lz4,disk", "zswap: found two of compressor: \"zstd\" and another, expected one"),
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
                if let Ok(table) = tiering(line) {
                    let areas = table.get("swap").and_then(Value::as_array).map_or(0, Vec::len);
                    proptest::prop_assert!(areas > 0 || !table.contains_key("zswap"), "{line}");
                    proptest::prop_assert!(table.get("zswap").is_none_or(|zswap| zswap.get("compressor").is_some()), "{line}");
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
