//! What the canary pages said, as text.

use swaptune_core::proof::{ClassProof, Proof};

use super::text::{columns, wrap};

/// Verdict, class by class, problems.
pub fn text(proof: &Proof) -> String {
    let mut out = wrap(&format!("Proof: {}", proof.summary), 0);
    if let Some(impossible) = &proof.impossible {
        return out + &wrap(&format!("{}; {}", impossible.reason, impossible.remedy), 2);
    }
    let mut rows = vec![["CANARY", "PAGES", "STORE p50", "p99", "LOAD p50", "p99"].map(str::to_owned).to_vec()];
    rows.extend(proof.classes.iter().map(row));
    out += &columns(&rows, &[1, 2, 3, 4, 5], 2);
    for class in &proof.classes {
        out += &wrap(&class.text, 2);
    }
    if let Some(ratio) = proof.ratio {
        out += &wrap(&format!("ratio of the text canary {ratio} : 1; that of your own pages is in `swaptune status`"), 2);
    }
    out += &wrap(&format!("{} read back and compared; {}", proof.bytes_checked, counters(proof)), 2);
    for problem in &proof.problems {
        out += &wrap(&format!("{}: {}", problem.code, problem.text), 2);
        out += &wrap(&format!("cure: {}", problem.cure), 4);
    }
    for note in &proof.notes {
        out += &wrap(&format!("note: {note}"), 2);
    }
    out
}

fn row(class: &ClassProof) -> Vec<String> {
    let cell = |quantiles: &Option<swaptune_core::stats::Quantiles>, p99: bool| {
        quantiles.as_ref().map_or_else(|| "–".to_owned(), |q| if p99 { q.p99 } else { q.p50 }.to_string())
    };
    let name = serde_json::to_value(class.class).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default();
    vec![
        name,
        class.pages.to_string(),
        cell(&class.store, false),
        cell(&class.store, true),
        cell(&class.load, false),
        cell(&class.load, true),
    ]
}

fn counters(proof: &Proof) -> String {
    let held = proof.checks.iter().filter(|check| check.holds).count();
    if proof.documented {
        return format!("all {held} counters moved as this kernel documents");
    }
    let wrong: Vec<String> = proof
        .checks
        .iter()
        .filter(|check| !check.holds)
        .map(|check| format!("{} moved by {} ({} expected)", check.counter, check.moved, check.expected))
        .collect();
    format!("{held} of {} counters moved as this kernel documents: {}", proof.checks.len(), wrong.join("; "))
}
