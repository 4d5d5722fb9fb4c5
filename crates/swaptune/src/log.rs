//! What is done, line by line on standard error: `-v`, or `RUST_LOG` in the form of tracing-subscriber. Without either nothing is set
//! up, and an event costs one comparison.

use std::env;
use std::io::{self, IsTerminal};

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::time::uptime;

use crate::failure::{Failure, USAGE};

const VARIABLE: &str = "RUST_LOG";

/// Shows events from now on. Fails when `RUST_LOG` cannot be understood.
pub fn start(verbose: u8) -> Result<(), Failure> {
    let variable = env::var(VARIABLE).unwrap_or_default();
    let Some(directives) = directives(&variable, verbose) else { return Ok(()) };
    let wrong = |error| Failure::new(USAGE, format!("{VARIABLE}={directives}: {error}")).hint("for example RUST_LOG=debug");
    let filter = EnvFilter::try_new(directives).map_err(wrong)?;
    let colour = io::stderr().is_terminal() && env::var_os("NO_COLOR").is_none_or(|set| set.is_empty());
    let lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr).with_ansi(colour);
    // It fails only where a test has set up its own.
    let _ = lines.with_timer(uptime()).try_init();
    Ok(())
}

/// The variable decides where both are given: it can say more.
fn directives(variable: &str, verbose: u8) -> Option<&str> {
    match (variable, verbose) {
        ("", 0) => None,
        ("", 1) => Some("info"),
        ("", 2) => Some("debug"),
        ("", _) => Some("trace"),
        (directives, _) => Some(directives),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_decides_where_both_are_given() {
        for (variable, verbose, expect) in [
            ("", 0, None),
            ("", 1, Some("info")),
            ("", 9, Some("trace")),
            ("warn", 2, Some("warn")),
            ("a=debug", 0, Some("a=debug")),
        ] {
            assert_eq!(directives(variable, verbose), expect);
        }
    }
}
