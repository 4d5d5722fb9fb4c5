//! Sizes as zram-generator.conf(5) writes them: arithmetic on `ram`, the MiB of `MemTotal`.
//!
//! The generator evaluates with fasteval, whose `%` binds tighter than `/`. Names that are not known here (logarithms, trigonometry,
//! variables that a program sets) are told apart from what is no expression: the first is a limit of this reader, the second an error.

/// Parentheses and signs nest no deeper in a file that a person wrote.
const DEEPEST: usize = 64;

/// Why an expression has no value here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExpressionError {
    /// It is no expression.
    #[error("column {column}: found {found}, expected {expected}")]
    Syntax {
        /// Column, from 1.
        column: usize,
        /// What stands there.
        found: String,
        /// What could.
        expected: &'static str,
    },
    /// It uses a name that is not evaluated here.
    #[error("`{0}` is not evaluated here: known are ram, min, max, int, ceil, floor, round and abs")]
    Unknown(String),
    /// It is negative, or no number.
    #[error("it comes to {0}, which is no size")]
    NoSize(String),
}

/// The value in MiB where `ram` is this many MiB.
///
/// # Errors
/// [`ExpressionError`].
pub fn mib(text: &str, ram: f64) -> Result<f64, ExpressionError> {
    let mut reader = ExpressionReader { text, at: 0, ram, depth: 0 };
    let value = reader.sum()?;
    reader.blanks();
    if reader.at < text.len() {
        return Err(reader.wrong("an operator or the end"));
    }
    if value.is_finite() && value >= 0.0 { Ok(value) } else { Err(ExpressionError::NoSize(value.to_string())) }
}

struct ExpressionReader<'a> {
    text: &'a str,
    at: usize,
    ram: f64,
    depth: usize,
}

type Evaluated = Result<f64, ExpressionError>;

impl<'a> ExpressionReader<'a> {
    fn sum(&mut self) -> Evaluated {
        let mut value = self.product()?;
        while let Some(sign) = self.one_of("+-") {
            let right = self.product()?;
            value = if sign == '+' { value + right } else { value - right };
        }
        Ok(value)
    }

    fn product(&mut self) -> Evaluated {
        let mut value = self.rest()?;
        while let Some(sign) = self.one_of("*/") {
            let right = self.rest()?;
            value = if sign == '*' { value * right } else { value / right };
        }
        Ok(value)
    }

    fn rest(&mut self) -> Evaluated {
        let mut value = self.power()?;
        while self.one_of("%").is_some() {
            value %= self.power()?;
        }
        Ok(value)
    }

    /// `^` groups from the right.
    fn power(&mut self) -> Evaluated {
        let base = self.signed()?;
        if self.one_of("^").is_none() {
            return Ok(base);
        }
        let exponent = self.deeper(Self::power)?;
        Ok(base.powf(exponent))
    }

    fn signed(&mut self) -> Evaluated {
        match self.one_of("+-") {
            Some('-') => Ok(-self.deeper(Self::signed)?),
            Some(_) => self.deeper(Self::signed),
            None => self.atom(),
        }
    }

    fn atom(&mut self) -> Evaluated {
        if self.one_of("(").is_some() {
            let value = self.deeper(Self::sum)?;
            return if self.one_of(")").is_some() { Ok(value) } else { Err(self.wrong("`)`")) };
        }
        let number = self.take(|c| c.is_ascii_digit() || c == '.');
        if !number.is_empty() {
            return self.number(number);
        }
        let name = self.take(|c| c.is_alphanumeric() || c == '_');
        match name {
            "" => Err(self.wrong("a number, ram, a function or `(`")),
            "ram" => Ok(self.ram),
            _ => self.function(name),
        }
    }

    /// A number with an SI suffix, as fasteval has them.
    fn number(&mut self, digits: &'a str) -> Evaluated {
        let start = self.at - digits.len();
        let suffix = self.take(char::is_alphabetic);
        let factor = match suffix {
            "" => 1.0,
            "k" | "K" => 1e3,
            "M" => 1e6,
            "G" => 1e9,
            "T" => 1e12,
            _ => return Err(ExpressionError::Unknown(format!("{digits}{suffix}"))),
        };
        digits.parse::<f64>().map(|number| number * factor).map_err(|_| {
            self.at = start;
            self.wrong("a number")
        })
    }

    fn function(&mut self, name: &str) -> Evaluated {
        let known = ["min", "max", "int", "ceil", "floor", "round", "abs"].contains(&name);
        if !known {
            return Err(ExpressionError::Unknown(name.to_owned()));
        }
        if self.one_of("(").is_none() {
            return Err(self.wrong("`(`"));
        }
        let mut values = vec![self.deeper(Self::sum)?];
        while self.one_of(",").is_some() {
            values.push(self.deeper(Self::sum)?);
        }
        if self.one_of(")").is_none() {
            return Err(self.wrong("`,` or `)`"));
        }
        let first = values.first().copied().unwrap_or_default();
        match (name, values.len()) {
            ("min", _) => Ok(values.into_iter().fold(f64::INFINITY, f64::min)),
            ("max", _) => Ok(values.into_iter().fold(f64::NEG_INFINITY, f64::max)),
            ("int", 1) => Ok(first.trunc()),
            ("ceil", 1) => Ok(first.ceil()),
            ("floor", 1) => Ok(first.floor()),
            ("round", 1) => Ok(first.round()),
            ("abs", 1) => Ok(first.abs()),
            _ => Err(self.wrong("one value in the parentheses")),
        }
    }

    fn deeper(&mut self, read: impl Fn(&mut Self) -> Evaluated) -> Evaluated {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.wrong("fewer parentheses"));
        }
        let value = read(self);
        self.depth -= 1;
        value
    }

    fn blanks(&mut self) {
        let left = &self.text[self.at..];
        self.at += left.len() - left.trim_start().len();
    }

    fn one_of(&mut self, signs: &str) -> Option<char> {
        self.blanks();
        let sign = self.text[self.at..].chars().next().filter(|c| signs.contains(*c))?;
        self.at += sign.len_utf8();
        Some(sign)
    }

    fn take(&mut self, belongs: impl Fn(char) -> bool) -> &'a str {
        self.blanks();
        let left = &self.text[self.at..];
        let end = left.find(|c| !belongs(c)).unwrap_or(left.len());
        self.at += end;
        &left[..end]
    }

    fn wrong(&self, expected: &'static str) -> ExpressionError {
        let found = self.text[self.at..].chars().next().map_or_else(|| "the end".to_owned(), |c| format!("`{c}`"));
        let column = self.text[..self.at].chars().count() + 1;
        ExpressionError::Syntax { column, found, expected }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn sizes_of_the_manual_and_of_distributions() {
        for (text, expect) in [
            ("min(ram / 2, 4096)", 4000.0),
            ("ram", 8000.0),
            ("min(min(ram, 4096) + max(ram - 4096, 0) / 2, 32 * 1024)", 6048.0),
            ("ram*1.5", 12000.0),
            ("2^3^2", 512.0),
            ("-2 + 3", 1.0),
            ("10 / 7 % 4", 10.0 / 3.0),
            ("20 - 5 - 5", 10.0),
            ("ceil(ram/3)", 2667.0),
            ("4k", 4000.0),
            (" 256 ", 256.0),
        ] {
            assert_eq!(mib(text, 8000.0), Ok(expect), "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_said_with_its_column() {
        for (text, expect) in [
            ("ram / ", "column 7: found the end, expected a number, ram, a function or `(`"),
            ("min(ram, 4096", "column 14: found the end, expected `,` or `)`"),
            ("ram 2", "column 5: found `2`, expected an operator or the end"),
            ("1.2.3", "column 1: found `1`, expected a number"),
            ("log(ram)", "`log` is not evaluated here: known are ram, min, max, int, ceil, floor, round and abs"),
            ("2 - 3", "it comes to -1, which is no size"),
            ("1 / 0", "it comes to inf, which is no size"),
            ("50%", "column 4: found the end, expected a number, ram, a function or `(`"),
        ] {
            assert_eq!(mib(text, 1000.0).unwrap_err().to_string(), expect, "{text}");
        }
        assert!(mib(&"(".repeat(10_000), 1.0).is_err());
    }

    proptest! {
        #[test]
        fn arbitrary_text_is_safe(text in "(ram|min\\(|\\)|,|[-+*/%^ 0-9.]|\\PC){0,40}") {
            if let Ok(value) = mib(&text, 1000.0) {
                prop_assert!(value >= 0.0 && value.is_finite());
            }
        }
    }
}
