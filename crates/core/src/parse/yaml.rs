//! The values of a YAML (or JSON) text with their keys and lines, as far as configurations of other programs are asked about.

use saphyr_parser::{Event, Parser};

/// One value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    /// Keys from the outermost in; items of a list have the keys of their list.
    pub keys: Vec<String>,
    /// The text, without its quotes.
    pub text: String,
    /// Line number, from 1.
    pub line: usize,
}

impl Value {
    /// True when these are its keys.
    #[must_use]
    pub fn is_at(&self, keys: &[&str]) -> bool {
        self.keys == keys
    }
}

/// Text that is no YAML.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: not valid YAML: {problem}")]
pub struct YamlError {
    /// Line number, from 1.
    pub line: usize,
    /// What the parser says.
    pub problem: String,
}

/// Deeper is no configuration.
const DEPTH: usize = 64;

/// What is open around the next value.
enum OpenNode {
    List,
    Map { key: Option<String> },
}

/// All values of all documents in their order. What an alias stands for is left out.
///
/// # Errors
/// [`YamlError`] with the line where the text stops to be YAML.
pub fn values(text: &str) -> Result<Vec<Value>, YamlError> {
    let mut values = Vec::new();
    let mut open: Vec<OpenNode> = Vec::new();
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| YamlError { line: error.marker().line(), problem: error.info().to_owned() })?;
        let line = span.start.line();
        match event {
            Event::Scalar(text, ..) => scalar(&mut open, &mut values, &text, line),
            Event::Alias(_) => ended(&mut open),
            Event::MappingStart(..) | Event::SequenceStart(..) if open.len() >= DEPTH => {
                return Err(YamlError { line, problem: format!("more than {DEPTH} levels") });
            }
            Event::MappingStart(..) => open.push(OpenNode::Map { key: None }),
            Event::SequenceStart(..) => open.push(OpenNode::List),
            Event::MappingEnd | Event::SequenceEnd => {
                open.pop();
                ended(&mut open);
            }
            _ => {}
        }
    }
    Ok(values)
}

fn scalar(open: &mut [OpenNode], values: &mut Vec<Value>, text: &str, line: usize) {
    if let Some(OpenNode::Map { key: key @ None }) = open.last_mut() {
        *key = Some(text.to_owned());
        return;
    }
    let keys = open.iter().filter_map(|level| if let OpenNode::Map { key } = level { key.clone() } else { None }).collect();
    values.push(Value { keys, text: text.to_owned(), line });
    ended(open);
}

/// A value is whole: a map expects its next key. What is itself a key (`? [a, b]`) becomes one without a name.
fn ended(open: &mut [OpenNode]) {
    if let Some(OpenNode::Map { key }) = open.last_mut() {
        *key = if key.is_some() { None } else { Some(String::new()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Vec<(String, String, usize)> {
        values(text).unwrap().into_iter().map(|value| (value.keys.join("."), value.text, value.line)).collect()
    }

    fn expect(list: &[(&str, &str, usize)]) -> Vec<(String, String, usize)> {
        list.iter().map(|(keys, text, line)| ((*keys).to_owned(), (*text).to_owned(), *line)).collect()
    }

    #[test]
    fn values_have_keys_and_lines() {
        let block = "# comment\na: 1\nb:\n  c: \"x\" # why\n  d:\n  - e\n  - f: g\nh: {i: j, k: [l, m]}\n";
        let want = [("a", "1", 2), ("b.c", "x", 4), ("b.d", "e", 6), ("b.d.f", "g", 7), ("h.i", "j", 8), ("h.k", "l", 8)];
        assert_eq!(all(block)[..6], expect(&want));
        assert_eq!(all("{\n \"a\": {\n  \"b\": false\n }\n}"), expect(&[("a.b", "false", 3)]));
        assert_eq!(all("a: 1\n---\na: 2\n"), expect(&[("a", "1", 1), ("a", "2", 3)]));
        assert_eq!(all("x: &n 5\ny: *n\nz: 6\n"), expect(&[("x", "5", 1), ("z", "6", 3)]));
        assert_eq!(all(""), []);
    }

    #[test]
    fn what_is_no_yaml_is_said_with_its_line() {
        let error = values("a: 1\nb: [c\nd: }\n").unwrap_err();
        assert!(error.line >= 2 && error.to_string().contains("not valid YAML"), "{error}");
        assert!(values(&"[".repeat(100_000)).is_err());
        assert!(values(&"{a: ".repeat(100_000)).is_err());
    }
}
