//! The plain assignments of a GRUB defaults file, and everything that makes them uncertain.
//!
//! A line is looked at in full only when it starts outside of quotes, blocks and continuations; a value that goes on behind
//! a backslash is read to its end. Other lines are passed over with just enough of the shell's grammar to know where the next such line is; when one of them sets one of the
//! two variables all the same, the file is refused.

use std::ops::Range;

use super::super::cmdline::CmdlinePiece;
use super::super::{TextLine, lines};
use super::{DEFAULT, GrubError, LINUX};

/// One plain assignment.
#[derive(Clone, Debug)]
pub(super) struct Assignment {
    /// [`LINUX`] or [`DEFAULT`].
    pub variable: &'static str,
    /// Line number, from 1.
    pub line: usize,
    /// True for `+=`.
    pub appends: bool,
    /// The quote around the value.
    pub quote: Option<char>,
    /// The value with escapes resolved; references stand in it as they are written.
    pub value: String,
    /// For every byte of `value` and for its end: where it stands in the file.
    places: Vec<usize>,
    /// References to the two variables, as ranges of `value`.
    references: Vec<(Range<usize>, &'static str)>,
}

impl Assignment {
    /// The value with its references filled in.
    pub fn expand(&self, mut value_of: impl FnMut(&'static str) -> String) -> String {
        let mut out = String::new();
        let mut done = 0;
        for (range, variable) in &self.references {
            out.push_str(&self.value[done..range.start]);
            out.push_str(&value_of(variable));
            done = range.end;
        }
        out.push_str(&self.value[done..]);
        out
    }

    /// True when the value holds what a variable had before.
    pub fn refers_to(&self, variable: &str) -> bool {
        self.references.iter().any(|(_, name)| *name == variable)
    }

    /// Where a range of the value stands in the file.
    pub fn raw(&self, range: Range<usize>) -> Range<usize> {
        self.places[range.start]..self.places[range.end]
    }

    /// A piece of the edited value.
    pub fn text_of<'a>(&'a self, piece: &'a CmdlinePiece) -> &'a str {
        match piece {
            CmdlinePiece::Kept(range) => &self.value[range.clone()],
            CmdlinePiece::New(new) => new,
        }
    }

    /// A range of the value as it is written between double quotes; references stay references.
    pub fn double_quoted(&self, range: Range<usize>) -> String {
        let is_reference = |at: usize| self.references.iter().any(|(range, _)| range.contains(&at));
        let mut out = String::new();
        for (at, c) in self.value[range.clone()].char_indices() {
            if is_reference(range.start + at) {
                out.push(c);
            } else {
                out.push_str(&super::double_quoted(c.encode_utf8(&mut [0; 4])));
            }
        }
        out
    }

    /// An error about this assignment.
    pub fn error(&self, found: &str, hint: &str) -> GrubError {
        error(self.line, self.variable, found, hint)
    }
}

/// True when a value needs no quotes.
pub(super) fn bare_is_safe(value: &str) -> bool {
    value.chars().all(|c| c.is_ascii_alphanumeric() || "._=-,:/@%+".contains(c))
}

/// All assignments of the two variables, in order.
pub(super) fn assignments(text: &str) -> Result<Vec<Assignment>, GrubError> {
    let mut found = Vec::new();
    let mut shell = Shell::default();
    let (mut start, mut done) = (0, 0);
    for line in lines(text) {
        let here = start;
        start += line.content.len() + line.ending.len();
        // Lines that belong to a value which began above.
        if here < done {
            continue;
        }
        let read = if shell.is_plain() { read(text, &line, here)? } else { None };
        match read {
            Some((assignment, end)) => {
                found.push(assignment);
                done = end;
            }
            None => {
                if let Some(variable) = shell.pass(&line) {
                    return Err(error(line.number, variable, &shell.found(line.content), WRITE_PLAINLY));
                }
            }
        }
    }
    match shell.opened {
        Some((line, what)) if !shell.is_plain() => Err(GrubError {
            path: String::new(),
            line,
            found: format!("{what} that is never closed"),
            expected: "a file that a shell can read".to_owned(),
            hint: "close it; `sh -n FILE` shows where a shell gives up".to_owned(),
        }),
        _ => Ok(found),
    }
}

const WRITE_PLAINLY: &str = "write the arguments in one plain line, outside of conditions";

fn error(line: usize, variable: &str, found: &str, hint: &str) -> GrubError {
    let expected = format!("{variable}=\"arguments\" alone on its line");
    GrubError { path: String::new(), line, found: found.to_owned(), expected, hint: hint.to_owned() }
}

/// Reads a line that starts as an assignment of one of the two variables, and where it ends; `None` for any other line.
fn read(text: &str, line: &TextLine, start: usize) -> Result<Option<(Assignment, usize)>, GrubError> {
    let content = line.content;
    let mut rest = content.trim_start_matches([' ', '\t']);
    if let Some(exported) = rest.strip_prefix("export").filter(|rest| rest.starts_with([' ', '\t'])) {
        rest = exported.trim_start_matches([' ', '\t']);
    }
    let name = rest.len() - rest.trim_start_matches(is_name).len();
    let Some(variable) = [LINUX, DEFAULT].into_iter().find(|variable| *variable == &rest[..name]) else { return Ok(None) };
    let (appends, rest) = match (rest[name..].strip_prefix("+="), rest[name..].strip_prefix('=')) {
        (Some(rest), _) => (true, rest),
        (None, Some(rest)) => (false, rest),
        (None, None) => return Ok(None),
    };
    let refuse = |found: &str| error(line.number, variable, found, WRITE_PLAINLY);
    let mut at = start + content.len() - rest.len();
    // The value may begin in the next line.
    while text[at..].strip_prefix("\\\n").is_some_and(|behind| !behind.is_empty()) {
        at += 2;
    }
    let quote = text[at..].chars().next().filter(|c| *c == '"' || *c == '\'');
    at += usize::from(quote.is_some());
    let mut reader = AssignmentReader { text, at, quote, ..AssignmentReader::default() };
    reader.value().map_err(|found| refuse(&found))?;
    reader.end().map_err(refuse)?;
    let AssignmentReader { at, value, places, references, .. } = reader;
    Ok(Some((Assignment { variable, line: line.number, appends, quote, value, places, references }, at)))
}

/// Reads the value of one assignment.
#[derive(Default)]
struct AssignmentReader<'a> {
    text: &'a str,
    at: usize,
    quote: Option<char>,
    value: String,
    places: Vec<usize>,
    references: Vec<(Range<usize>, &'static str)>,
}

impl AssignmentReader<'_> {
    /// Reads up to and with the closing quote, or up to the blank that ends a bare word.
    fn value(&mut self) -> Result<(), String> {
        while let Some(c) = self.rest().chars().next() {
            match (c, self.quote) {
                _ if self.line_ends() => break,
                (c, Some(quote)) if c == quote => {
                    self.places.push(self.at);
                    self.at += 1;
                    return Ok(());
                }
                (' ' | '\t' | ';', None) => break,
                ('"' | '\'', None) => return Err("a value with quotes in the middle".to_owned()),
                ('&' | '|' | '<' | '>' | '(' | ')', None) => return Err(format!("a `{c}` outside of quotes")),
                (c, Some('\'')) => self.take(c, c.len_utf8()),
                ('`', _) => return Err("a command substitution".to_owned()),
                ('\\', _) => self.backslash()?,
                ('$', _) => self.dollar()?,
                (c, _) => self.take(c, c.len_utf8()),
            }
        }
        match self.quote {
            Some(quote) => Err(format!("an opening {quote} without its closing one")),
            None => {
                self.places.push(self.at);
                Ok(())
            }
        }
    }

    fn rest(&self) -> &'_ str {
        &self.text[self.at..]
    }

    fn line_ends(&self) -> bool {
        self.rest().starts_with('\n') || self.rest().starts_with("\r\n")
    }

    /// Only blanks, a semicolon and a remark may follow.
    fn end(&self) -> Result<(), &'static str> {
        let rest = lines(self.rest()).next().map_or("", |line| line.content);
        let behind = rest.trim_start_matches([' ', '\t']);
        let behind = behind.strip_prefix(';').unwrap_or(behind);
        if !rest.is_empty() && !rest.starts_with([' ', '\t', ';']) {
            return Err("a value made of several quoted parts");
        }
        let behind = behind.trim_start_matches([' ', '\t']);
        if behind.is_empty() || behind.starts_with('#') { Ok(()) } else { Err("a command behind the assignment") }
    }

    /// Appends a character that takes `width` bytes of the file.
    fn take(&mut self, c: char, width: usize) {
        self.places.extend(std::iter::repeat_n(self.at, c.len_utf8()));
        self.value.push(c);
        self.at += width;
    }

    fn backslash(&mut self) -> Result<(), String> {
        let behind = &self.text[self.at + 1..];
        match behind.chars().next() {
            // A shell takes both away, wherever they stand.
            Some('\n') if behind.len() > 1 => {
                self.at += 2;
                Ok(())
            }
            None | Some('\n' | '\r') => Err("a line that goes on in the next one".to_owned()),
            Some(c) if self.quote.is_none() || "\"\\$`".contains(c) => {
                self.take(c, 1 + c.len_utf8());
                Ok(())
            }
            // Between double quotes a backslash before any other character is a backslash.
            Some(_) => {
                self.take('\\', 1);
                Ok(())
            }
        }
    }

    fn dollar(&mut self) -> Result<(), String> {
        let rest = &self.text[self.at + 1..];
        let braced = rest.strip_prefix('{');
        let inner = braced.unwrap_or(rest);
        let name = &inner[..inner.len() - inner.trim_start_matches(is_name).len()];
        let closed = braced.is_none() || inner[name.len()..].starts_with('}');
        if let Some(variable) = [LINUX, DEFAULT].into_iter().find(|variable| *variable == name && closed) {
            let length = 1 + name.len() + if braced.is_some() { 2 } else { 0 };
            let from = self.value.len();
            for c in self.text[self.at..self.at + length].chars() {
                self.take(c, 1);
            }
            self.references.push((from..self.value.len(), variable));
            return Ok(());
        }
        match rest.chars().next() {
            Some('(') => Err("a command substitution".to_owned()),
            Some(c) if is_name(c) || "{?!@*#$-".contains(c) => {
                let shown: String = rest.chars().take_while(|c| is_name(*c) || "{}?!@*#$".contains(*c)).collect();
                Err(format!("the variable `${shown}`, whose value is not known here"))
            }
            _ => {
                self.take('$', 1);
                Ok(())
            }
        }
    }
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// As much of a shell's state as is needed to pass over lines.
#[derive(Default)]
struct Shell {
    /// Closing characters of what is open: quotes, substitutions, parentheses.
    open: Vec<char>,
    /// Depth of `if … fi` and the like.
    depth: usize,
    /// The last line ended with a backslash.
    continued: bool,
    /// A here-document began; where it ends is not followed.
    here_document: bool,
    /// Line and name of the outermost thing that is open.
    opened: Option<(usize, &'static str)>,
}

impl Shell {
    fn is_plain(&self) -> bool {
        self.open.is_empty() && self.depth == 0 && !self.continued && !self.here_document
    }

    /// Passes over a line; gives the variable that it sets in a way that is not plain.
    fn pass(&mut self, line: &TextLine) -> Option<&'static str> {
        let was_plain = self.is_plain();
        let code = self.scan(line.content);
        if was_plain && !self.is_plain() {
            let what = match (self.open.first(), self.depth, self.continued) {
                (Some('"' | '\''), ..) => "a quote",
                (Some(_), ..) => "a substitution or parenthesis",
                (None, 1.., _) => "a block such as `if`",
                (None, _, true) => "a line that goes on in the next one",
                _ => "a here-document",
            };
            self.opened = Some((line.number, what));
        }
        sets_variable(&line.content[..code])
    }

    /// Says why the line is not plain.
    fn found(&self, content: &str) -> String {
        match self.opened {
            Some((line, what)) if !self.is_plain() => format!("`{}` inside {what} from line {line}", content.trim()),
            _ => format!("`{}`", content.trim()),
        }
    }

    /// Follows quotes and blocks through a line; gives the length of the line without its remark.
    fn scan(&mut self, content: &str) -> usize {
        self.continued = false;
        let mut chars = content.char_indices().peekable();
        let (mut word, mut command) = (String::new(), true);
        while let Some((at, c)) = chars.next() {
            let next = chars.peek().map(|(_, next)| *next);
            if self.open.is_empty() {
                match c {
                    '#' if word.is_empty() => return at,
                    '<' if next == Some('<') => self.here_document = true,
                    _ => {}
                }
                if c.is_whitespace() || ";&|()<>".contains(c) {
                    command = self.word(&word, command) || ";&|()".contains(c);
                    word.clear();
                } else {
                    word.push(c);
                }
            }
            if c == '\\' && self.open.last() != Some(&'\'') {
                self.continued = next.is_none();
                word.extend(chars.next().map(|(_, c)| c));
                continue;
            }
            self.quote(c, next);
            if c == '$' && matches!(next, Some('(' | '{')) {
                chars.next();
            }
        }
        if self.open.is_empty() {
            self.word(&word, command);
        }
        content.len()
    }

    /// Opens and closes quotes and substitutions.
    fn quote(&mut self, c: char, next: Option<char>) {
        let top = self.open.last().copied();
        let in_double = self.open.contains(&'"');
        match (c, top) {
            (c, Some(closing)) if c == closing => {
                self.open.pop();
            }
            (_, Some('\'')) => {}
            ('$', _) if next == Some('(') => self.open.push(')'),
            ('$', _) if next == Some('{') => self.open.push('}'),
            ('`', _) => self.open.push('`'),
            (_, Some('"')) => {}
            ('\'', Some('}')) if in_double => {}
            ('"' | '\'', _) => self.open.push(c),
            ('(', _) => self.open.push(')'),
            _ => {}
        }
    }

    /// Counts blocks; tells whether a command may follow.
    fn word(&mut self, word: &str, command: bool) -> bool {
        if word.is_empty() || !command {
            return command && word.is_empty();
        }
        match word {
            "if" | "while" | "until" | "{" => self.depth += 1,
            "for" | "case" | "select" => {
                self.depth += 1;
                return false;
            }
            "fi" | "done" | "esac" | "}" => {
                self.depth = self.depth.saturating_sub(1);
                return false;
            }
            "then" | "else" | "elif" | "do" | "!" => {}
            _ => return false,
        }
        true
    }
}

/// The variable that a piece of code sets or unsets, wherever it stands.
fn sets_variable(code: &str) -> Option<&'static str> {
    let sets = |variable: &str| {
        code.match_indices(variable).any(|(at, _)| {
            let (before, behind) = (&code[..at], &code[at + variable.len()..]);
            let whole = !before.ends_with(is_name) && !behind.starts_with(is_name);
            let unset = before.trim_end().ends_with("unset") || before.trim_end().ends_with("read");
            whole && (behind.starts_with('=') || behind.starts_with("+=") || unset)
        })
    };
    [LINUX, DEFAULT].into_iter().find(|variable| sets(variable))
}
