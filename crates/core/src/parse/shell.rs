//! Assignments in shell-like files: `/etc/default/*`, os-release, `initramfs.conf`.
//!
//! Only assignments are understood; commands, conditions and functions are passed over. That is enough to know what a
//! file sets, not to change it: editors are in `edit`.

use std::collections::BTreeMap;

/// No value of a configuration file is longer.
const LONGEST_VALUE: usize = 1 << 20;

/// The variables after all texts were read in this order, `$NAME` and `${NAME}` filled in.
///
/// A command substitution cannot be evaluated and stays as it was written.
#[must_use]
pub fn evaluate<'a>(texts: impl IntoIterator<Item = &'a str>) -> BTreeMap<String, String> {
    let mut variables: BTreeMap<String, String> = BTreeMap::new();
    for text in texts {
        for assignment in assignments(text) {
            let mut value = String::new();
            for piece in &assignment.pieces {
                let text = match piece {
                    ShellPiece::Text(text) | ShellPiece::Command(text) => text.as_str(),
                    ShellPiece::Variable(name) => variables.get(name).map_or("", String::as_str),
                };
                // A file that doubles its own variable again and again must not eat the memory.
                if value.len() + text.len() <= LONGEST_VALUE {
                    value.push_str(text);
                }
            }
            variables.insert(assignment.name, value);
        }
    }
    variables
}

/// The value of one variable of one text.
#[must_use]
pub fn get(text: &str, name: &str) -> Option<String> {
    evaluate([text]).remove(name)
}

/// One `NAME=value`.
struct ShellAssignment {
    name: String,
    pieces: Vec<ShellPiece>,
}

enum ShellPiece {
    Text(String),
    Variable(String),
    Command(String),
}

fn assignments(text: &str) -> Vec<ShellAssignment> {
    let mut lexer = Lexer { text: text.as_bytes(), at: 0 };
    let mut all = Vec::new();
    while lexer.at < text.len() {
        lexer.statement(&mut all);
    }
    all
}

struct Lexer<'a> {
    text: &'a [u8],
    at: usize,
}

impl Lexer<'_> {
    /// Reads one simple command; its assignments count unless a command follows them on the same line.
    fn statement(&mut self, all: &mut Vec<ShellAssignment>) {
        let mut found = Vec::new();
        self.skip_blanks();
        if self.rest().starts_with(b"export ") || self.rest().starts_with(b"export\t") {
            self.at += 7;
            self.skip_blanks();
        }
        while let Some(assignment) = self.assignment() {
            found.push(assignment);
            self.skip_blanks();
        }
        match self.peek() {
            None | Some(b'\n' | b';' | b'#' | b'&' | b'|' | b'}') => all.append(&mut found),
            Some(_) => {}
        }
        self.skip_command();
    }

    fn assignment(&mut self) -> Option<ShellAssignment> {
        let rest = self.rest();
        let length = rest.iter().take_while(|c| c.is_ascii_alphanumeric() || **c == b'_').count();
        if length == 0 || rest[0].is_ascii_digit() || rest.get(length) != Some(&b'=') {
            return None;
        }
        let name = self.slice(self.at, self.at + length);
        self.at += length + 1;
        Some(ShellAssignment { name, pieces: self.value() })
    }

    fn value(&mut self) -> Vec<ShellPiece> {
        let mut pieces = Vec::new();
        while let Some(c) = self.peek() {
            match c {
                b' ' | b'\t' | b'\r' | b'\n' | b';' | b'&' | b'|' | b'(' | b')' | b'<' | b'>' => break,
                b'\'' => {
                    let end = self.find(self.at + 1, b'\'');
                    pieces.push(ShellPiece::Text(self.slice(self.at + 1, end)));
                    self.at = (end + 1).min(self.text.len());
                }
                b'"' => {
                    self.at += 1;
                    self.double_quoted(&mut pieces);
                }
                b'\\' => self.escaped(&mut pieces),
                b'$' | b'`' => self.substitution(&mut pieces),
                _ => self.plain(&mut pieces, b" \t\r\n;&|()<>'\"\\$`"),
            }
        }
        pieces
    }

    fn double_quoted(&mut self, pieces: &mut Vec<ShellPiece>) {
        while let Some(c) = self.peek() {
            match c {
                b'"' => {
                    self.at += 1;
                    return;
                }
                b'\\' if self.text.get(self.at + 1).is_some_and(|next| b"$`\"\\\n".contains(next)) => self.escaped(pieces),
                b'\\' => {
                    pieces.push(ShellPiece::Text("\\".to_owned()));
                    self.at += 1;
                }
                b'$' | b'`' => self.substitution(pieces),
                _ => self.plain(pieces, b"\"\\$`"),
            }
        }
    }

    /// A backslash and what it protects; a protected newline vanishes.
    fn escaped(&mut self, pieces: &mut Vec<ShellPiece>) {
        let start = self.at + 1;
        let width = self.text.get(start).map_or(0, |first| char_width(*first));
        let end = (start + width).min(self.text.len());
        if self.text.get(start) != Some(&b'\n') {
            pieces.push(ShellPiece::Text(self.slice(start, end)));
        }
        self.at = end;
    }

    fn substitution(&mut self, pieces: &mut Vec<ShellPiece>) {
        let start = self.at;
        if self.text[start] == b'`' {
            let end = self.find(start + 1, b'`');
            self.at = (end + 1).min(self.text.len());
            pieces.push(ShellPiece::Command(self.slice(start, self.at)));
            return;
        }
        match self.text.get(start + 1) {
            Some(b'{') => {
                let end = self.find(start, b'}');
                let name = self.slice(start + 2, end);
                self.at = (end + 1).min(self.text.len());
                let plain = name.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_');
                pieces.push(if plain { ShellPiece::Variable(name) } else { ShellPiece::Command(self.slice(start, self.at)) });
            }
            Some(b'(') => {
                self.at = self.matching_parenthesis(start + 1);
                pieces.push(ShellPiece::Command(self.slice(start, self.at)));
            }
            Some(c) if c.is_ascii_alphabetic() || *c == b'_' => {
                let length = self.text[start + 1..].iter().take_while(|c| c.is_ascii_alphanumeric() || **c == b'_').count();
                self.at = start + 1 + length;
                pieces.push(ShellPiece::Variable(self.slice(start + 1, self.at)));
            }
            _ => {
                self.at += 1;
                pieces.push(ShellPiece::Text("$".to_owned()));
            }
        }
    }

    fn plain(&mut self, pieces: &mut Vec<ShellPiece>, ends: &[u8]) {
        let start = self.at;
        self.at += self.rest().iter().take_while(|c| !ends.contains(c)).count();
        pieces.push(ShellPiece::Text(self.slice(start, self.at)));
    }

    /// Passes over the rest of a command up to its newline or semicolon; quotes may hide both.
    fn skip_command(&mut self) {
        if self.peek() == Some(b'#') {
            self.at = self.find(self.at, b'\n');
        }
        let mut ignored = Vec::new();
        while let Some(c) = self.peek() {
            match c {
                b'\n' | b';' => {
                    self.at += 1;
                    return;
                }
                b'\'' => self.at = (self.find(self.at + 1, b'\'') + 1).min(self.text.len()),
                b'"' => {
                    self.at += 1;
                    self.double_quoted(&mut ignored);
                }
                b'\\' => self.at = (self.at + 2).min(self.text.len()),
                _ => self.at += 1,
            }
        }
    }

    fn matching_parenthesis(&self, open: usize) -> usize {
        let mut depth = 0;
        for (index, c) in self.text[open..].iter().enumerate() {
            match c {
                b'(' => depth += 1,
                b')' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return open + index + 1;
            }
        }
        self.text.len()
    }

    fn skip_blanks(&mut self) {
        self.at += self.rest().iter().take_while(|c| matches!(c, b' ' | b'\t' | b'\r')).count();
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn rest(&self) -> &[u8] {
        &self.text[self.at..]
    }

    fn find(&self, from: usize, wanted: u8) -> usize {
        let from = from.min(self.text.len());
        self.text[from..].iter().position(|c| *c == wanted).map_or(self.text.len(), |index| from + index)
    }

    fn slice(&self, from: usize, to: usize) -> String {
        String::from_utf8_lossy(self.text.get(from..to).unwrap_or_default()).into_owned()
    }
}

fn char_width(first: u8) -> usize {
    match first {
        0xf0.. => 4,
        0xe0.. => 3,
        0xc0.. => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, name: &str, expect: Option<&str>) {
        assert_eq!(get(text, name).as_deref(), expect, "{name} in {text}");
    }

    #[test]
    fn os_release_and_defaults() {
        let text =
            "# comment 'unbalanced\nPRETTY_NAME=\"Debian GNU/Linux 13 (trixie)\"\nID=debian\n export A='x y' B=2 # c\nEMPTY=\n";
        check(text, "PRETTY_NAME", Some("Debian GNU/Linux 13 (trixie)"));
        check(text, "ID", Some("debian"));
        check(text, "A", Some("x y"));
        check(text, "B", Some("2"));
        check(text, "EMPTY", Some(""));
        check(text, "NONE", None);
    }

    #[test]
    fn quoting_as_the_shell_does_it() {
        check("A=a\"b c\"'d $e'\\ f", "A", Some("ab cd $e f"));
        check("A=\"q \\\"in\\\" \\\\ \\x \\\nnext\"", "A", Some("q \"in\" \\ \\x next"));
        check("A=1\nA=\"$A 2 ${A}3\"", "A", Some("1 2 13"));
        check(
            "A=`( . /etc/os-release; echo ${NAME} )`\nB=$(echo \"x)\")\nC=5",
            "A",
            Some("`( . /etc/os-release; echo ${NAME} )`"),
        );
        check("A=${B:-x}", "A", Some("${B:-x}"));
        check("A=\"open", "A", Some("open"));
    }

    #[test]
    fn commands_are_passed_over() {
        check("LANG=C ls\nif [ -f x ]; then\n  B=2\nfi\necho \"C=3\nC=4\"\n", "LANG", None);
        check("if [ -f x ]; then\n  B=2\nfi\n", "B", Some("2"));
        check("echo \"\nC=4\n\"\nD=1", "C", None);
        check("echo \"\nC=4\n\"\nD=1", "D", Some("1"));
        check("1A=2\nA-B=2\n", "A", None);
    }

    #[test]
    fn several_files_in_order() {
        let variables = evaluate(["A=\"quiet\"\n", "A=\"$A splash\"\n"]);
        assert_eq!(variables["A"], "quiet splash");
    }
}
