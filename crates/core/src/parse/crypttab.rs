//! crypttab(5): which mappings are set up at boot, and which of them are swap with a key made at each boot.

/// One mapping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CryptMapping {
    /// Name under `/dev/mapper`.
    pub name: String,
    /// The device below.
    pub source: String,
    /// Key file; empty or `none` asks for a passphrase.
    pub key: String,
    /// The fourth field, split at commas.
    pub options: Vec<String>,
}

impl CryptMapping {
    /// True when each boot makes a new key, so that the content does not survive (and hibernation cannot work).
    #[must_use]
    pub fn random_key(&self) -> bool {
        matches!(self.key.as_str(), "/dev/urandom" | "/dev/random" | "/dev/hwrng")
    }
}

/// Reads the file; comments and lines without a device are left out.
#[must_use]
pub fn parse(text: &str) -> Vec<CryptMapping> {
    text.lines()
        .filter(|line| !line.trim_start().starts_with('#'))
        .filter_map(|line| {
            let mut words = line.split_whitespace().map(str::to_owned);
            Some(CryptMapping {
                name: words.next()?,
                source: words.next()?,
                key: words.next().unwrap_or_default(),
                options: words.next().unwrap_or_default().split(',').filter(|o| !o.is_empty()).map(str::to_owned).collect(),
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn swap_with_a_random_key() {
        let text = "# name dev key options\ncryptswap PARTUUID=1-02 /dev/urandom swap,cipher=aes-xts-plain64\nroot UUID=2 none luks\nbad\n";
        let all = parse(text);
        assert_eq!(all.len(), 2);
        assert!(all[0].random_key() && !all[1].random_key());
        assert_eq!(all[0].options, ["swap", "cipher=aes-xts-plain64"]);
    }
}
