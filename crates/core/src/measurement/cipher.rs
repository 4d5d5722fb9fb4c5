//! Which cipher for encrypted swap, and what it costs at the speed of a disk.

use super::CipherFigures;

/// An AES-256 that is at most this much slower than AES-128 is taken for nothing.
const FREE: f64 = 0.05;

/// What is recommended, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct CipherChoice {
    /// For crypttab and cryptsetup: `aes-xts-plain64`.
    pub cipher: String,
    /// Key size for `size=`; XTS takes two keys, so 256 is AES-128.
    pub key_bits: u32,
    /// MiB a second in the slower direction.
    pub mib_s: f64,
    /// The reasons, a sentence each.
    pub reasons: Vec<String>,
}

impl CipherFigures {
    /// MiB a second in the slower direction: pages must go out and come back.
    #[must_use]
    pub fn slower_mib_s(&self) -> f64 {
        self.encrypt_mib_s.min(self.decrypt_mib_s)
    }

    /// By how much throughput drops at most on a disk of this speed: when nothing is encrypted while the disk works, a byte
    /// takes the time of both. 0 to 1.
    #[must_use]
    pub fn cost_at(&self, disk_bytes_per_second: f64) -> f64 {
        let cipher = self.slower_mib_s() * (1 << 20) as f64;
        if cipher > 0.0 && disk_bytes_per_second > 0.0 { disk_bytes_per_second / (disk_bytes_per_second + cipher) } else { 0.0 }
    }
}

/// Chooses among what was measured; `None` when nothing that suits swap was.
///
/// `has_aes` says whether the processor has instructions for AES, where that is known.
#[must_use]
pub fn recommend(rows: &[CipherFigures], has_aes: Option<bool>) -> Option<CipherChoice> {
    let find = |cipher: &str, bits: u32| rows.iter().find(|row| row.cipher == cipher && row.key_bits == bits);
    let wide = rows.iter().filter(|row| row.cipher.ends_with("-adiantum")).max_by(faster);
    let xts = (find("aes-xts", 256), find("aes-xts", 512));
    let mut reasons = Vec::new();
    let chosen = match xts {
        (Some(short), Some(long)) => {
            let loss = 1.0 - long.slower_mib_s() / short.slower_mib_s().max(f64::MIN_POSITIVE);
            reasons.push(key_length(loss));
            if loss <= FREE { long } else { short }
        }
        (Some(one), None) | (None, Some(one)) => one,
        (None, None) => wide?,
    };
    let chosen = match wide.filter(|wide| wide.slower_mib_s() > chosen.slower_mib_s()) {
        Some(wide) => {
            let times = wide.slower_mib_s() / chosen.slower_mib_s().max(f64::MIN_POSITIVE);
            reasons = vec![format!("{} is {times:.1} times as fast as {} here", wide.cipher, chosen.cipher)];
            wide
        }
        None => chosen,
    };
    reasons.extend(about_cbc(rows, chosen));
    if has_aes == Some(false) {
        let why =
            "this processor has no instructions for AES: software AES is slow and leaks timing, which Adiantum was made for";
        reasons.push(why.into());
    }
    let cipher = format!("{}-plain64", chosen.cipher);
    Some(CipherChoice { cipher, key_bits: chosen.key_bits, mib_s: chosen.slower_mib_s(), reasons })
}

fn faster(a: &&CipherFigures, b: &&CipherFigures) -> std::cmp::Ordering {
    a.slower_mib_s().total_cmp(&b.slower_mib_s())
}

fn key_length(loss: f64) -> String {
    let percent = 100.0 * loss;
    if loss <= FREE {
        return format!(
            "AES-256 (a key of 512 bits: XTS takes two) costs {:.0} % over AES-128 here, so take it",
            percent.max(0.0)
        );
    }
    format!(
        "AES-256 (a key of 512 bits: XTS takes two) is {percent:.0} % slower here; the key of swap is random at each boot and is \
         stored nowhere, and AES-128 is unbroken"
    )
}

/// Why not the mode that sometimes decrypts fastest.
fn about_cbc(rows: &[CipherFigures], chosen: &CipherFigures) -> Option<String> {
    let cbc = rows.iter().find(|row| row.cipher == "aes-cbc")?;
    let tempting = cbc.decrypt_mib_s > chosen.decrypt_mib_s;
    tempting.then(|| {
        let share = 100.0 * cbc.encrypt_mib_s / chosen.encrypt_mib_s.max(f64::MIN_POSITIVE);
        format!("aes-cbc decrypts faster but encrypts one block after the other, at {share:.0} % of this speed")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(cipher: &str, key_bits: u32, encrypt_mib_s: f64, decrypt_mib_s: f64) -> CipherFigures {
        CipherFigures { cipher: cipher.into(), key_bits, encrypt_mib_s, decrypt_mib_s }
    }

    /// The figures of the article, and nothing else.
    #[test]
    fn the_article_gets_its_choice() {
        let rows = [row("aes-cbc", 128, 1168.0, 3615.0), row("aes-xts", 256, 2946.0, 2956.0)];
        let choice = recommend(&rows, Some(true)).unwrap();
        assert_eq!((choice.cipher.as_str(), choice.key_bits, choice.mib_s), ("aes-xts-plain64", 256, 2946.0));
        let cbc = choice.reasons.iter().find(|reason| reason.contains("aes-cbc decrypts faster"));
        assert!(cbc.is_some_and(|reason| reason.contains("40 %")), "{choice:?}");
    }

    /// The article has no figure for the longer key, only that it is 15 to 20 % slower: at both ends the shorter one is taken.
    #[test]
    fn a_key_that_costs_what_the_article_says_is_not_taken() {
        for (slower, says) in [(0.15, "15 % slower"), (0.20, "20 % slower")] {
            let long = |speed: f64| speed * (1.0 - slower);
            let rows = [row("aes-xts", 256, 2946.0, 2956.0), row("aes-xts", 512, long(2946.0), long(2956.0))];
            let choice = recommend(&rows, Some(true)).unwrap();
            assert_eq!(choice.key_bits, 256);
            assert!(choice.reasons[0].contains(says), "{choice:?}");
        }
    }

    #[test]
    fn a_longer_key_that_costs_nothing_is_taken() {
        let rows = [row("aes-xts", 256, 1000.0, 1000.0), row("aes-xts", 512, 980.0, 990.0)];
        let choice = recommend(&rows, None).unwrap();
        assert_eq!(choice.key_bits, 512);
        assert!(choice.reasons[0].contains("costs 2 %"));
    }

    #[test]
    fn without_instructions_for_aes_adiantum_wins() {
        let rows = [
            row("aes-xts", 256, 80.0, 85.0),
            row("aes-xts", 512, 60.0, 62.0),
            row("xchacha12,aes-adiantum", 256, 400.0, 390.0),
            row("xchacha20,aes-adiantum", 256, 300.0, 290.0),
        ];
        let choice = recommend(&rows, Some(false)).unwrap();
        assert_eq!((choice.cipher.as_str(), choice.key_bits), ("xchacha12,aes-adiantum-plain64", 256));
        assert!(choice.reasons[0].contains("4.9 times as fast as aes-xts"), "{choice:?}");
        assert!(choice.reasons[1].contains("no instructions for AES"));
    }

    #[test]
    fn with_few_rows_there_is_still_a_choice_or_none() {
        assert_eq!(recommend(&[row("aes-xts", 512, 1.0, 1.0)], None).unwrap().key_bits, 512);
        assert_eq!(recommend(&[row("xchacha12,aes-adiantum", 256, 1.0, 1.0)], None).unwrap().key_bits, 256);
        assert_eq!(recommend(&[row("aes-cbc", 128, 1.0, 1.0)], None), None, "CBC is not for swap");
        assert_eq!(recommend(&[], None), None);
    }

    #[test]
    fn what_it_costs_depends_on_the_disk() {
        let fast = row("aes-xts", 256, 2900.0, 2900.0);
        let cost = fast.cost_at(300e6);
        assert!((cost - 300e6 / (300e6 + 2900.0 * 1_048_576.0)).abs() < 1e-12 && cost < 0.1, "{cost}");
        assert!(fast.cost_at(3e9) > 0.49);
        assert_eq!(row("x", 1, 0.0, 1.0).cost_at(1.0), 0.0);
    }
}
