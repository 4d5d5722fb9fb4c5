//! Sizes as they are typed.

use toml::Value;

use super::ScenarioError;

const PAGE: f64 = 4096.0;

/// Pages of a size: `"512M"`, `"1.5G"`, or a number of bytes. Sizes are powers of 1024.
pub(super) fn pages(key: &str, value: &Value) -> Result<u64, ScenarioError> {
    let bytes = bytes(value).filter(|bytes| *bytes >= PAGE || *bytes == 0.0);
    bytes
        .map(|bytes| (bytes / PAGE) as u64)
        .ok_or_else(|| ScenarioError::key(key, value, "a size of at least a page, for example \"512M\" or \"1.5G\""))
}

/// Bytes of a size.
pub(super) fn bytes(value: &Value) -> Option<f64> {
    let bytes = match value {
        Value::Integer(bytes) => *bytes as f64,
        Value::Float(bytes) => *bytes,
        Value::String(text) => typed(text.trim())?,
        _ => return None,
    };
    (bytes.is_finite() && (0.0..1e18).contains(&bytes)).then_some(bytes)
}

fn typed(text: &str) -> Option<f64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor = match text[digits.len()..].trim_end_matches("iB").trim_end_matches('B') {
        "" => 1.0,
        "K" | "k" => 1024.0,
        "M" => 1024.0 * 1024.0,
        "G" => 1024.0 * 1024.0 * 1024.0,
        "T" => 1024.0 * 1024.0 * 1024.0 * 1024.0,
        _ => return None,
    };
    digits.trim().parse::<f64>().ok().map(|number| number * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_people_write_them() {
        let of = |text: &str| pages("ram", &Value::String(text.into()));
        assert_eq!((of("1G").unwrap(), of("1.5 MiB").unwrap(), of("64K").unwrap(), of("8192").unwrap()), (262_144, 384, 16, 2));
        assert_eq!(pages("ram", &Value::Integer(4096)).unwrap(), 1);
        let message = of("1X").unwrap_err().to_string();
        assert_eq!(message, "ram: found \"1X\", expected a size of at least a page, for example \"512M\" or \"1.5G\"");
        assert!(of("-1G").is_err() && of("100").is_err() && of("").is_err() && of("é").is_err());
    }
}
