//! The table as text for Prometheus and others.

use std::fmt::Write as _;

use super::{Metric, MetricKind, SampleLook, all};

/// What every name begins with.
const PREFIX: &str = "swaptune_";

/// Which of the two forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exposition {
    /// OpenMetrics 1.0: what is scraped.
    OpenMetrics,
    /// The older text format of Prometheus, in which a counter has its suffix everywhere: what node_exporter reads from files.
    Text,
}

/// One exposition. What is absent has no line of its own: that is how both forms say it.
#[must_use]
pub fn exposition(look: &SampleLook<'_>, form: Exposition) -> String {
    let mut text = String::with_capacity(16 << 10);
    for metric in all() {
        family(&mut text, metric, look, form);
    }
    if form == Exposition::OpenMetrics {
        text.push_str("# EOF\n");
    }
    text
}

fn family(text: &mut String, metric: &Metric, look: &SampleLook<'_>, form: Exposition) {
    let (kind, suffix) = match metric.kind {
        MetricKind::Counter => ("counter", "_total"),
        MetricKind::Gauge => ("gauge", ""),
    };
    let sample = format!("{PREFIX}{}{suffix}", metric.name);
    let name = if form == Exposition::Text { sample.clone() } else { format!("{PREFIX}{}", metric.name) };
    let unit = metric.unit.name();
    let _ = writeln!(text, "# TYPE {name} {kind}");
    if form == Exposition::OpenMetrics && !unit.is_empty() {
        let _ = writeln!(text, "# UNIT {name} {unit}");
    }
    let _ = writeln!(text, "# HELP {name} {}", escaped(metric.help));
    for reading in metric.readings(look) {
        let Some(value) = reading.value.value() else { continue };
        let label = metric.label().map_or_else(String::new, |label| format!("{{{label}=\"{}\"}}", escaped(&reading.label)));
        let _ = writeln!(text, "{sample}{label} {value}");
    }
}

/// The three escapes of the format.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
