//! One look as text: every row of the table with its value, its rate, or a dash and the reason.

use swaptune_core::metrics::{Metric, MetricUnit, ProcessUse, Reading, SampleLook, all};
use swaptune_core::{Bytes, Fact};

use crate::daemon::decision;

/// The most processes that are listed.
const PROCESSES: usize = 10;

/// A line for each value, for each of the processes that have most in swap, and for each of the daemon's last decisions.
#[must_use]
pub fn once(look: &SampleLook<'_>) -> String {
    let mut rows: Vec<[String; 3]> =
        all().flat_map(|metric| metric.readings(look).into_iter().map(|reading| line(metric, &reading))).collect();
    if let Fact::Absent { absent } = &look.now.units {
        rows.push(["units".to_owned(), "-".to_owned(), absent.clone()]);
    }
    match &look.now.processes {
        Fact::Known { value, .. } => rows.extend(value.iter().take(PROCESSES).map(process)),
        Fact::Absent { absent } => rows.push(["processes".to_owned(), "-".to_owned(), absent.clone()]),
    }
    if let Fact::Known { value: report, .. } = &look.now.daemon {
        rows.extend(
            report
                .log
                .iter()
                .map(|entry| decision(report, entry))
                .map(|(ago, what)| [format!("daemon_decision[{ago}]"), String::new(), what]),
        );
    }
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let (names, values) = (width(0), width(1));
    rows.iter()
        .map(|[name, value, rest]| format!("{name:<names$}  {value:>values$}  {rest}").trim_end().to_owned() + "\n")
        .collect()
}

fn process(process: &ProcessUse) -> [String; 3] {
    [format!("process_swap_bytes[{} {}]", process.pid, process.name), process.swap.to_string(), String::new()]
}

fn line(metric: &Metric, reading: &Reading) -> [String; 3] {
    let name = if reading.label.is_empty() { metric.name.to_owned() } else { format!("{}[{}]", metric.name, reading.label) };
    match (&reading.value, &reading.per_second) {
        (Fact::Absent { absent }, _) => [name, "-".to_owned(), absent.clone()],
        (Fact::Known { value, .. }, None) => [name, shown(*value, metric.unit), String::new()],
        (Fact::Known { value, .. }, Some(rate)) => {
            [name, shown(*value, metric.unit), rate.value().map_or_else(String::new, |rate| self::rate(*rate, metric.unit))]
        }
    }
}

/// A value with its unit, as short as it is exact enough: `1.5 GiB`, `3.04`, `0.2 ms`.
#[must_use]
pub fn shown(value: f64, unit: MetricUnit) -> String {
    match unit {
        MetricUnit::Bytes if value < 0.0 => format!("-{}", Bytes(-value as u64)),
        MetricUnit::Bytes => Bytes(value as u64).to_string(),
        MetricUnit::Seconds if value < 0.000_999_5 => format!("{:.0} us", value * 1e6),
        MetricUnit::Seconds if value < 0.9995 => format!("{:.1} ms", value * 1e3),
        MetricUnit::Seconds => format!("{value:.1} s"),
        MetricUnit::Ratio => format!("{value:.2}"),
        MetricUnit::None => format!("{value:.0}"),
    }
}

/// A rate: `1.5 MiB/s`, `12 /s`; time by time is a share of it.
#[must_use]
pub fn rate(value: f64, unit: MetricUnit) -> String {
    match unit {
        MetricUnit::Seconds => format!("{:.1} %", value * 100.0),
        MetricUnit::None if value > 0.0 && value < 10.0 => format!("{value:.1} /s"),
        MetricUnit::None => format!("{value:.0} /s"),
        _ => format!("{}/s", shown(value, unit)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use swaptune_core::metrics::Sample;

    #[test]
    fn values_have_units() {
        for (value, unit, expect) in [
            (1_610_612_736.0, MetricUnit::Bytes, "1.5 GiB"),
            (-4096.0, MetricUnit::Bytes, "-4 KiB"),
            (0.000_21, MetricUnit::Seconds, "210 us"),
            (0.0031, MetricUnit::Seconds, "3.1 ms"),
            (12.0, MetricUnit::Seconds, "12.0 s"),
            (3.042, MetricUnit::Ratio, "3.04"),
            (7.0, MetricUnit::None, "7"),
        ] {
            assert_eq!(shown(value, unit), expect);
        }
        assert_eq!(rate(0.125, MetricUnit::Seconds), "12.5 %");
        assert_eq!(rate(2_097_152.0, MetricUnit::Bytes), "2 MiB/s");
        assert_eq!(rate(0.5, MetricUnit::None), "0.5 /s");
    }

    #[test]
    fn what_is_absent_is_a_dash_with_its_reason() {
        let text = once(&SampleLook::new(&Sample::default(), None));
        let line = text.lines().find(|line| line.starts_with("zswap_pool_bytes ")).unwrap();
        assert!(line.contains(" -  not looked for"), "{line}");
    }
}
