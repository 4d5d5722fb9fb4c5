//! What encrypted swap would cost here, once that was measured. A plan encrypts nothing by itself; it says what to ask for.

use super::draft::Draft;
use crate::facts::Encryption;
use crate::measurement::CipherFigures;

/// A note on areas that are not encrypted, with the cipher that this machine does best.
pub(super) fn note(draft: &mut Draft<'_>) {
    let Some(ciphers) = draft.request.evidence.ciphers() else { return };
    let plain = draft.facts().swaps.iter().any(|area| !area.is_zram() && area.encryption.value() == Some(&Encryption::None));
    let made = draft.settings().swap.as_ref().is_some_and(|areas| areas.value.iter().any(|area| area.size.is_some()));
    if !(plain || made) {
        return;
    }
    let Some(best) = best(&ciphers.value) else { return };
    let speed = best.encrypt_mib_s.min(best.decrypt_mib_s);
    let text = format!(
        "what is swapped out stays readable on the disk after power-off; of the ciphers for disks {} with a key of {} bits is the \
         fastest here, {speed:.0} MiB/s",
        best.cipher, best.key_bits
    );
    draft.note("encryption of swap", text, ciphers.source);
}

/// The fastest cipher that dm-crypt can use on a swap device safely: XTS, or Adiantum, which is made for processors without AES.
/// The slower direction counts: pages go out and come back.
fn best<'a>(ciphers: &[&'a CipherFigures]) -> Option<&'a CipherFigures> {
    let fit = |cipher: &&&CipherFigures| cipher.cipher.ends_with("-xts") || cipher.cipher.contains("adiantum");
    let speed = |cipher: &CipherFigures| cipher.encrypt_mib_s.min(cipher.decrypt_mib_s);
    ciphers.iter().filter(fit).max_by(|a, b| speed(a).total_cmp(&speed(b))).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slower_direction_of_a_cipher_that_suits_disks_decides() {
        let cipher = |cipher: &str, key_bits, encrypt_mib_s, decrypt_mib_s| CipherFigures {
            cipher: cipher.into(),
            key_bits,
            encrypt_mib_s,
            decrypt_mib_s,
        };
        // The figures of seed row E2: CBC decrypts fastest and is not for disks.
        let rows = [
            cipher("aes-xts", 256, 2946.0, 2956.0),
            cipher("aes-xts", 512, 2450.0, 2460.0),
            cipher("aes-cbc", 256, 1168.0, 3615.0),
        ];
        let rows: Vec<&CipherFigures> = rows.iter().collect();
        assert_eq!(best(&rows).map(|cipher| cipher.key_bits), Some(256));
        assert_eq!(best(&rows[2..]), None);
    }
}
