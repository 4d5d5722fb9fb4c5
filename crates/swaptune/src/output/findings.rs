//! Findings and drift as text.

use swaptune_core::findings::{Found, Severity};

use super::text::wrap;

/// All findings, worst first; `everything` shows those that are only worth knowing too.
pub fn text(found: &[Found], everything: bool) -> String {
    let mut out = String::new();
    for finding in found.iter().filter(|finding| everything || finding.severity != Severity::Info) {
        out += &one(finding);
    }
    out
}

fn one(finding: &Found) -> String {
    let severity = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "info",
    };
    let mut out = format!("\n{severity} {}: {}\n", finding.code, finding.title);
    out += &wrap(&finding.what, 2);
    for exhibit in &finding.evidence {
        out += &wrap(&format!("{}: {}", exhibit.source, exhibit.text), 4);
    }
    out += &wrap(&format!("cure: {}", finding.cure), 2);
    out
}
