//! `/proc/crypto` (crypto/proc.c): every algorithm that is registered now, in blocks of `key : value` lines.
//!
//! zswap takes its compressors from here. An algorithm that is missing may still be loadable as a module.

/// One registered implementation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Algorithm {
    /// Algorithm (`zstd`).
    pub name: String,
    /// Implementation (`zstd-scomp`).
    pub driver: String,
    /// Module that brought it; `kernel` when it is built in.
    pub module: String,
    /// `compression`, `scomp`, `acomp`, `skcipher`, …
    pub kind: String,
}

impl Algorithm {
    /// True for a compressor.
    #[must_use]
    pub fn compresses(&self) -> bool {
        matches!(self.kind.as_str(), "compression" | "scomp" | "acomp")
    }
}

/// Reads the file.
#[must_use]
pub fn parse(text: &str) -> Vec<Algorithm> {
    text.split("\n\n").filter_map(block).collect()
}

fn block(block: &str) -> Option<Algorithm> {
    let field = |name: &str| {
        block.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            (key.trim() == name).then(|| value.trim().to_owned())
        })
    };
    Some(Algorithm {
        name: field("name")?,
        driver: field("driver").unwrap_or_default(),
        module: field("module").unwrap_or_default(),
        kind: field("type").unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_told_apart() {
        let text = "name         : zstd\ndriver       : zstd-scomp\nmodule       : zstd\npriority     : 0\ntype         : scomp\n\n\
                    name         : xts(aes)\ndriver       : xts-aes-aesni\nmodule       : kernel\ntype         : skcipher\n\n\
                    driver : nameless\n\n";
        let all = parse(text);
        assert_eq!(all.len(), 2);
        assert_eq!((all[0].name.as_str(), all[0].module.as_str()), ("zstd", "zstd"));
        assert!(all[0].compresses() && !all[1].compresses());
    }
}
