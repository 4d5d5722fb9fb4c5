//! Boot entries as lines of `key value`: the Boot Loader Specification's `*.conf`, and extlinux.conf.
//!
//! `options` may come several times and is then joined (Boot Loader Specification, type 1). extlinux writes the
//! arguments after `append`, once per label; the label that `default` names is the one that boots.

/// The joined `options` of one Boot Loader Specification entry; none when it has none.
#[must_use]
pub fn options(text: &str) -> Option<String> {
    let all: Vec<&str> = values(text, "options").collect();
    (!all.is_empty()).then(|| all.join(" "))
}

/// The first value of a key in such a file.
#[must_use]
pub fn first<'a>(text: &'a str, key: &'a str) -> Option<&'a str> {
    values(text, key).next()
}

/// The arguments of extlinux.conf for the default label, or for the first label when none is named.
#[must_use]
pub fn extlinux_append(text: &str) -> Option<String> {
    let default = values(text, "default").next();
    let mut label = None;
    let mut fallback = None;
    for (key, value) in pairs(text) {
        if key.eq_ignore_ascii_case("label") {
            label = Some(value);
        } else if key.eq_ignore_ascii_case("append") {
            if label.is_some() && label == default {
                return Some(value.to_owned());
            }
            fallback.get_or_insert(value);
        }
    }
    fallback.map(str::to_owned)
}

fn values<'a>(text: &'a str, wanted: &'a str) -> impl Iterator<Item = &'a str> {
    pairs(text).filter(move |(key, _)| key.eq_ignore_ascii_case(wanted)).map(|(_, value)| value)
}

fn pairs(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.lines().map(str::trim).filter(|line| !line.starts_with('#')).filter_map(|line| {
        let (key, value) = line.split_once(char::is_whitespace)?;
        Some((key, value.trim()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_an_entry_are_joined() {
        let text = "title Debian\nversion 6.12\nlinux /linux\n# options no\noptions root=UUID=1 ro\noptions\tquiet\n";
        assert_eq!(options(text).as_deref(), Some("root=UUID=1 ro quiet"));
        assert_eq!(first(text, "version"), Some("6.12"));
        assert_eq!(options("title x\n"), None);
    }

    #[test]
    fn extlinux_takes_the_default_label() {
        let text = "default l1\nLABEL l0\n  append ro single\nlabel l1\n\tlinux /vmlinuz\n\tAPPEND root=/dev/vda1 ro quiet\n";
        assert_eq!(extlinux_append(text).as_deref(), Some("root=/dev/vda1 ro quiet"));
        assert_eq!(extlinux_append("label a\nappend x y").as_deref(), Some("x y"));
        assert_eq!(extlinux_append(""), None);
    }
}
