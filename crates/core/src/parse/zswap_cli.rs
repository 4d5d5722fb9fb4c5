//! `zswap-cli.conf` of zswap-cli: a section `[zswap]` whose keys are zswap's parameters.

use super::ini;
use crate::knobs::Knob;
use crate::settings::ZswapSettings;

/// The administrator's file, then that of the package; the first one alone counts.
pub const PATHS: [&str; 2] = ["/etc/zswap-cli/zswap-cli.conf", "/usr/share/zswap-cli/zswap-cli.conf"];

/// One parameter that is set.
#[derive(Clone, Debug)]
pub struct ZswapCliValue {
    /// Line, from 1.
    pub line: usize,
    /// Its row of the knob table.
    pub row: &'static Knob,
    /// The value in the form of the table.
    pub value: String,
}

/// What is wrong with a line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct ZswapCliError {
    /// Line, from 1.
    pub line: usize,
    /// One sentence.
    pub problem: String,
}

/// The parameters, one each; a key that comes again replaces the earlier one, and one without a value sets nothing.
///
/// # Errors
/// [`ZswapCliError`] for a key that is no parameter of zswap and for a value out of its range.
pub fn read(text: &str) -> Result<Vec<ZswapCliValue>, ZswapCliError> {
    let sections = ini::sections(text);
    let mut all: Vec<ZswapCliValue> = Vec::new();
    for key in sections.iter().filter(|section| section.name == "zswap").flat_map(|section| &section.keys) {
        let value = key.value.trim_matches('"');
        if value.is_empty() {
            continue;
        }
        let error = |problem: String| ZswapCliError { line: key.line, problem };
        let row = ZswapSettings::rows().find(|row| row.parameter() == key.name);
        let row = row.ok_or_else(|| error(format!("`{}` is no parameter of zswap", key.name)))?;
        let value = row.normalise(value).map_err(|why| error(why.to_string()))?.into_owned();
        all.retain(|set| set.row.name != row.name);
        all.push(ZswapCliValue { line: key.line, row, value });
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_shipped_example_is_read() {
        let text = "[zswap]\nenabled=Y\nsame_filled_pages_enabled=Y\nmax_pool_percent=60\ncompressor=lzo\nzpool=z3fold\n\
                    accept_threshold_percent=90\nnon_same_filled_pages_enabled=Y\nexclusive_loads=Y\nshrinker_enabled=Y\n";
        let read = read(text).unwrap();
        let pool = read.iter().find(|set| set.row.name == "zswap.max_pool_percent").unwrap();
        assert_eq!((read.len(), pool.line, pool.value.as_str()), (9, 4, "60"));
    }

    #[test]
    fn errors_have_their_line() {
        for (text, line, part) in [
            ("[zswap]\nenabeld=1\n", 2, "`enabeld` is no parameter"),
            ("# c\n[zswap]\nmax_pool_percent=200\n", 3, "max_pool_percent"),
            ("[zswap]\nenabled=maybe\n", 2, "maybe"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.line == line && error.problem.contains(part), "{error:?}");
        }
        assert!(read("[other]\nenabeld=1\n[zswap]\nzpool=\n").unwrap().is_empty());
    }

    proptest! {
        #[test]
        fn arbitrary_text_is_safe(text in "(\\[zswap\\]\n|enabled=|compressor=|[YN0-9\n]|\\PC){0,30}") {
            let _ = read(&text);
        }
    }
}
