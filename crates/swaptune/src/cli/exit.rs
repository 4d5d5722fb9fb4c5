//! Exit codes: the table that help and the reference page are made of.

/// Findings or drift.
pub const FINDINGS: u8 = 1;
/// Usage or configuration error.
pub const USAGE: u8 = 2;
/// Refused for safety; nothing was changed.
pub const REFUSED: u8 = 3;
/// What Ctrl-C ended, as shells have it.
pub const INTERRUPTED: u8 = 130;

/// One code that a command ends with.
#[derive(Clone, Copy, Debug)]
pub struct ExitCode {
    /// The code.
    pub code: u8,
    /// What it means, in a few words.
    pub meaning: &'static str,
    /// When commands end with it, and what then holds for the machine.
    pub when: &'static str,
}

/// Every code. Those of what changes the machine are `ApplyError::exit_code` and `TemporaryError::exit_code` of the host.
pub const EXIT_CODES: &[ExitCode] = &[
    ExitCode {
        code: 0,
        meaning: "done or nothing to do",
        when: "`verify`: nothing is wrong; what is only worth knowing does not count",
    },
    ExitCode {
        code: FINDINGS,
        meaning: "findings or drift",
        when: "`verify`: an error or a warning, a setting that is not as applied, or a proof that did not succeed; `plan --detailed-exitcode`: there is \
               something to do; `rollback`: something was left, and is named; `bench`, `compare`: stopped, or nothing was measured; `daemon status`: \
               none runs; `fleet`: a plan is refused, or one of the files cannot be read; `simulate`: lines are lost. Any command whose output \
               cannot be written",
    },
    ExitCode {
        code: USAGE,
        meaning: "usage or configuration error",
        when: "a flag, key or value that is unknown or out of range, a file that was named and cannot be read (of \
               `fleet`: none of them), a question without a terminal \
               and without `--yes`. Nothing was changed",
    },
    ExitCode {
        code: REFUSED,
        meaning: "refused for safety",
        when: "`plan`, `apply`: the plan may not be carried out, and says why; the machine changed since it was planned; an apply is unfinished, or \
               another one is at work; root is needed. Nothing was changed",
    },
    ExitCode { code: 4, meaning: "failed and rolled back", when: "a step failed, and everything is as before" },
    ExitCode {
        code: 5,
        meaning: "failed and not rolled back",
        when: "a step failed, and taking back did, too: what is left is named; remove the cause and run `swaptune rollback`, which goes on \
               where it stopped",
    },
    ExitCode {
        code: INTERRUPTED,
        meaning: "quickstart was stopped by Ctrl-C",
        when: "`quickstart`: what was tried is taken back, unless you had kept it already",
    },
];

/// Where the documents are that texts name by their path in the source.
const DOCUMENTS: &str =
    "Files named as docs/… and scenarios/… are below /usr/share/doc/swaptune; `make install` has them below /usr/local.";

/// The codes as `--help` has them, three in a line.
pub fn exit_codes_help() -> String {
    let line = |rows: &[ExitCode]| rows.iter().map(|row| format!("{} {}", row.code, row.meaning)).collect::<Vec<_>>().join(" · ");
    format!("Exit codes: {}\n\n{DOCUMENTS}", EXIT_CODES.chunks(3).map(line).collect::<Vec<_>>().join(" ·\n"))
}
