//! What `bench cipher` measured, as a table and sentences.

use serde_json::{Value, json};
use swaptune_core::measurement::{CipherChoice, CipherFigures, DiskSpeed, MeasuredAnswer, Measurement};

use super::text::{columns, wrap};

/// What was measured, and what follows.
#[derive(Debug)]
pub struct CipherReport<'a> {
    /// A row for each cipher and key size.
    pub rows: &'a [CipherFigures],
    /// Ciphers that this kernel lacks.
    pub unavailable: &'a [String],
    /// What is recommended.
    pub choice: Option<&'a CipherChoice>,
    /// The disk below the swap areas, where `bench disk` measured them.
    pub disk: Option<&'a MeasuredAnswer<DiskSpeed>>,
}

impl CipherReport<'_> {
    /// Table and sentences.
    pub fn text(&self) -> String {
        let mut out = self.table();
        for why in self.unavailable {
            out += &wrap(&format!("{why} in this kernel"), 2);
        }
        let Some(choice) = self.choice else {
            return out + &wrap("none of the ciphers that suit swap could be measured, so none is recommended", 0);
        };
        out += &wrap(&format!("\nrecommended: {} with a key of {} bits", choice.cipher, choice.key_bits), 0);
        for reason in &choice.reasons {
            out += &wrap(reason, 2);
        }
        out + &wrap(&self.cost(choice), 2)
    }

    fn table(&self) -> String {
        let head = ["CIPHER", "KEY BITS", "ENCRYPT MiB/s", "DECRYPT MiB/s", "SLOWS THE DISK BY"].map(str::to_owned);
        let mut cells = vec![head.to_vec()];
        cells.extend(self.rows.iter().map(|row| {
            let cost = self
                .disk
                .map_or_else(|| "–".into(), |disk| format!("< {:.1} %", 100.0 * row.cost_at(disk.value.bytes_per_second)));
            let speed = |speed: f64| format!("{speed:.0}");
            vec![row.cipher.clone(), row.key_bits.to_string(), speed(row.encrypt_mib_s), speed(row.decrypt_mib_s), cost]
        }));
        columns(&cells, &[1, 2, 3, 4], 2)
    }

    /// What encryption costs at the speed of the disk.
    fn cost(&self, choice: &CipherChoice) -> String {
        let Some(disk) = self.disk else {
            return "what that costs depends on the disk: run `sudo swaptune bench disk`, then `sudo swaptune bench cipher`"
                .into();
        };
        let row = self.rows.iter().find(|row| choice.cipher.starts_with(&row.cipher) && row.key_bits == choice.key_bits);
        let cost = 100.0 * row.map_or(0.0, |row| row.cost_at(disk.value.bytes_per_second));
        format!(
            "{} did {:.0} MB/s ({}), this cipher does {:.0} MB/s on one processor: throughput drops by less than {cost:.1} %, and \
             only if the processor encrypts nothing while the disk works",
            disk.value.disk,
            disk.value.bytes_per_second / 1e6,
            disk.source,
            choice.mib_s * 1.048_576,
        )
    }

    /// The same for programs.
    pub fn json(&self, measured: &[Measurement]) -> Value {
        let choice = self.choice.map(|choice| {
            json!({
                "cipher": choice.cipher, "key_bits": choice.key_bits, "mib_s": choice.mib_s, "reasons": choice.reasons,
            })
        });
        let disk = self.disk.map(
            |disk| json!({ "name": disk.value.disk, "bytes_per_second": disk.value.bytes_per_second, "source": disk.source }),
        );
        json!({ "measurements": measured, "unavailable": self.unavailable, "recommended": choice, "disk": disk })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use swaptune_core::measurement::recommend;

    fn rows() -> Vec<CipherFigures> {
        let row = |cipher: &str, key_bits, encrypt_mib_s, decrypt_mib_s| CipherFigures {
            cipher: cipher.into(),
            key_bits,
            encrypt_mib_s,
            decrypt_mib_s,
        };
        // The figures of an article on encrypted swap, and no others.
        vec![row("aes-cbc", 128, 1168.0, 3615.0), row("aes-xts", 256, 2946.0, 2956.0)]
    }

    #[test]
    fn the_cost_is_told_at_the_speed_of_the_disk() {
        let speed = DiskSpeed { disk: "vda".into(), bytes_per_second: 300e6 };
        let (rows, disk) = (rows(), MeasuredAnswer { value: speed, source: "run x".into() });
        let choice = recommend(&rows, Some(true));
        let report = CipherReport { rows: &rows, unavailable: &[], choice: choice.as_ref(), disk: Some(&disk) };
        let text = report.text();
        assert!(text.contains("recommended: aes-xts-plain64 with a key of 256 bits"), "{text}");
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(
            "vda did 300 MB/s (run x), this cipher does 3089 MB/s on one processor: throughput drops by less than 8.9 %"
        ));
        assert_eq!(report.json(&[])["recommended"]["key_bits"], 256);
    }

    #[test]
    fn without_a_disk_or_a_cipher_it_says_so() {
        let rows = rows();
        let choice = recommend(&rows, None);
        let text = CipherReport { rows: &rows, unavailable: &[], choice: choice.as_ref(), disk: None }.text();
        assert!(text.contains("swaptune bench disk"), "{text}");
        let lacking = ["Cipher x is not available".to_owned()];
        let none = CipherReport { rows: &[], unavailable: &lacking, choice: None, disk: None }.text();
        assert!(none.contains("Cipher x is not available in this kernel") && none.contains("none is recommended"), "{none}");
    }
}
