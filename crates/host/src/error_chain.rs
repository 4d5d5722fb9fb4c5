//! An error and what caused it, as one line.

use std::error::Error;

/// The error and its causes, each after a colon. A transparent error repeats the words of its source, which are told once.
#[must_use]
pub fn error_chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let words = cause.to_string();
        if !text.ends_with(&words) {
            text += &format!(": {words}");
        }
        source = cause.source();
    }
    without_code(&text)
}

/// `Invalid argument (os error 22)` → `Invalid argument`: the number says nothing to a reader.
fn without_code(text: &str) -> String {
    match text.split_once(" (os error ") {
        Some((words, rest)) => words.to_owned() + rest.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start_matches(')'),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_are_told_once_and_without_numbers() {
        #[derive(Debug, thiserror::Error)]
        #[error("cannot write{}", if *.twice { ": No space left on device (os error 28)" } else { "" })]
        struct Failed {
            twice: bool,
            source: std::io::Error,
        }
        for twice in [false, true] {
            let failed = Failed { twice, source: std::io::Error::from_raw_os_error(28) };
            assert_eq!(error_chain(&failed), "cannot write: No space left on device");
        }
        assert_eq!(without_code("a (os error 5) b"), "a b");
    }
}
