//! What `cryptsetup benchmark` prints.

use swaptune_core::measurement::CipherFigures;

/// The ciphers of the table; password hashes, comments and ciphers without a result (`N/A`) are left out.
#[must_use]
pub fn parse(text: &str) -> Vec<CipherFigures> {
    text.lines().filter_map(row).collect()
}

/// `        aes-xts        256b      2946.1 MiB/s      2956.3 MiB/s`.
fn row(line: &str) -> Option<CipherFigures> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [cipher, bits, encrypt, "MiB/s", decrypt, "MiB/s"] = words[..] else { return None };
    let speed = |word: &str| word.parse::<f64>().ok().filter(|speed| speed.is_finite() && *speed > 0.0);
    Some(CipherFigures {
        cipher: cipher.to_owned(),
        key_bits: bits.strip_suffix('b')?.parse().ok()?,
        encrypt_mib_s: speed(encrypt)?,
        decrypt_mib_s: speed(decrypt)?,
    })
}

/// The sentences that say that the kernel's ciphers cannot be had at all.
#[must_use]
pub fn no_interface(complaints: &str) -> Option<String> {
    let about = |line: &&str| line.contains("kernel crypto interface") || line.contains("kernel module loaded");
    let words: Vec<&str> = complaints.lines().map(str::trim).filter(about).collect();
    (!words.is_empty()).then(|| words.join(" ").trim_end_matches('.').to_owned())
}

/// The sentence that says that this kernel lacks one cipher.
#[must_use]
pub fn unavailable(complaints: &str) -> Option<String> {
    let line = complaints.lines().map(str::trim).find(|line| line.starts_with("Cipher ") && line.contains("is not available"))?;
    Some(line.trim_end_matches('.').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// cryptsetup 2.6.1 on Linux 6.12 (Debian) under emulation, all of what it prints without arguments.
    const FULL: &str = include_str!("../../tests/cryptsetup/full.txt");

    #[test]
    fn the_table_is_read_and_all_else_left_out() {
        let rows = parse(FULL);
        let named: Vec<(&str, u32)> = rows.iter().map(|row| (row.cipher.as_str(), row.key_bits)).collect();
        assert_eq!(named[0], ("aes-cbc", 128), "{named:?}");
        for expect in [("aes-xts", 256), ("aes-xts", 512), ("aes-cbc", 256)] {
            assert!(named.contains(&expect), "{expect:?} in {named:?}");
        }
        assert!(rows.iter().all(|row| row.encrypt_mib_s > 0.0 && row.decrypt_mib_s > 0.0));
        assert_eq!(rows.len(), FULL.lines().filter(|line| line.contains("MiB/s")).count());
    }

    #[test]
    fn a_line_without_a_result_is_no_row() {
        for line in [
            "    serpent-cbc        128b               N/A               N/A",
            "PBKDF2-sha1      1608245 iterations per second for 256-bit key",
            "aes-xts 256b 1.0 MiB/s",
            "aes-xts 256 1.0 MiB/s 1.0 MiB/s",
            "aes-xts 256b nan MiB/s inf MiB/s",
            "aes-xts 256b -1 MiB/s 0 MiB/s",
            "",
        ] {
            assert_eq!(parse(line), [], "{line}");
        }
        let row = &parse("        aes-xts        256b      2946.1 MiB/s      2956.3 MiB/s")[0];
        assert_eq!((row.encrypt_mib_s, row.decrypt_mib_s), (2946.1, 2956.3));
    }
}
