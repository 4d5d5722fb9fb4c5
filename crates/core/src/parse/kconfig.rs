//! A kernel's build configuration (`/proc/config.gz`, `/boot/config-*`).
//!
//! `# CONFIG_X is not set` says `n`; an option that the file does not mention does not exist in that kernel,
//! and the two must not be confused.

use std::collections::BTreeMap;

/// All options, strings without their quotes.
#[must_use]
pub fn parse(text: &str) -> BTreeMap<String, String> {
    text.lines()
        .filter_map(|line| {
            let (name, value) = match line.strip_prefix("# ") {
                Some(unset) => (unset.strip_suffix(" is not set")?, "n"),
                None => line.split_once('=')?,
            };
            name.starts_with("CONFIG_").then(|| (name.to_owned(), value.trim_matches('"').to_owned()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn set_unset_and_missing_differ() {
        let text = "#\n# Automatically generated file\nCONFIG_ZSWAP=y\n# CONFIG_ZRAM_MULTI_COMP is not set\nCONFIG_CRYPTO_ZSTD=m\n\
                    CONFIG_ZSWAP_COMPRESSOR_DEFAULT=\"lzo\"\n# CONFIG_broken\n";
        let map = parse(text);
        let got: Vec<_> = map.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(
            got,
            [
                ("CONFIG_CRYPTO_ZSTD", "m"),
                ("CONFIG_ZRAM_MULTI_COMP", "n"),
                ("CONFIG_ZSWAP", "y"),
                ("CONFIG_ZSWAP_COMPRESSOR_DEFAULT", "lzo"),
            ]
        );
    }
}
