//! What encrypted swap would cost here, once that was measured. A plan encrypts nothing by itself; it says what to ask for.

use super::draft::Draft;
use crate::facts::Encryption;
use crate::measurement::{CipherFigures, recommend};

/// A note on areas that are not encrypted, with the cipher that this machine does best.
pub(super) fn note(draft: &mut Draft<'_>) {
    let evidence = draft.request.evidence;
    let Some(ciphers) = evidence.ciphers() else { return };
    let plain = draft.facts().swaps.iter().any(|area| !area.is_zram() && area.encryption.value() == Some(&Encryption::None));
    let made = draft.settings().swap.as_ref().is_some_and(|areas| areas.value.iter().any(|area| area.size.is_some()));
    if !(plain || made) {
        return;
    }
    let rows: Vec<CipherFigures> = ciphers.value.into_iter().cloned().collect();
    let Some(choice) = recommend(&rows, None) else { return };
    let chosen = rows.iter().find(|row| choice.cipher.starts_with(&row.cipher) && row.key_bits == choice.key_bits);
    let cost =
        chosen.zip(evidence.disk_speed(draft.facts().swap_disk().as_deref())).map_or_else(String::new, |(cipher, disk)| {
            let percent = 100.0 * cipher.cost_at(disk.value.bytes_per_second);
            format!(", at most {percent:.0} % of the throughput of {} ({})", disk.value.disk, disk.source)
        });
    let text = format!(
        "what is swapped out stays readable on the disk after power-off; {} with a key of {} bits does {:.0} MiB/s here{cost}",
        choice.cipher, choice.key_bits, choice.mib_s
    );
    draft.note("encryption of swap", text, ciphers.source);
}
