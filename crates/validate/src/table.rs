//! The simulator beside the kernel: tables and CSV.

use std::fmt::Write;

use swaptune_core::Bytes;
use swaptune_core::stats::Nanos;
use swaptune_validate::{Agreement, CaseResult, Compared, METRICS, Pair, ValidationReport};

use swaptune::text;

/// For people.
pub fn tables(report: &ValidationReport) -> String {
    let mut page = format!(
        "Linux {}, control groups {}, {} of RAM for each workload, {}; kernel: median\n\n",
        report.kernel,
        report.cgroup,
        report.limit,
        text::count(report.rounds as usize, "round")
    );
    page += &measured(report);
    page += &text::columns(&cases(report), &[3, 4, 5, 6, 7, 8], 0);
    page.push('\n');
    page += &text::columns(&summary(report), &[1, 2, 3, 4, 5, 6, 7, 8], 0);
    page += &signs(&report.pairs);
    for left_out in &report.left_out {
        page += &text::wrap(&format!("Left out: {}: {}", left_out.case, left_out.why), 0);
    }
    if report.stopped {
        page += "Stopped: only whole rounds are compared.\n";
    }
    page
}

/// What the simulator's clock goes by.
fn measured(report: &ValidationReport) -> String {
    if report.times.is_empty() {
        return String::new();
    }
    let times: Vec<String> = report.times.iter().map(|timed| format!("{} {}", timed.what, timed.time)).collect();
    text::wrap(&format!("Measured meanwhile, of one page or step: {}", times.join("; ")), 0) + "\n"
}

fn cases(report: &ValidationReport) -> Vec<Vec<String>> {
    let head = [
        "WORKLOAD",
        "TIERING",
        "COUNTER",
        "KERNEL",
        "ROUNDS",
        "SIMULATOR",
        "DIFFERENCE",
        "KERNEL'S OWN",
        "BOUND",
        "OF MEDIAN",
        "OF NEAREST",
    ];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for row in &report.rows {
        rows.extend(row.compared.iter().enumerate().map(|(number, compared)| case(row, compared, number == 0)));
    }
    rows
}

fn case(row: &CaseResult, compared: &Compared, is_first: bool) -> Vec<String> {
    let once = |text: &str| if is_first { text.to_owned() } else { String::new() };
    vec![
        once(row.workload),
        once(&row.tiering),
        compared.metric.to_owned(),
        amount(compared.unit, compared.kernel),
        if compared.differs_from_itself() { rounds(compared) } else { String::new() },
        amount(compared.unit, compared.simulator),
        compared.difference.map_or_else(|| "-".into(), percent),
        compared.spread.map_or_else(|| "-".into(), |spread| format!("±{:.1} %", spread * 100.0)),
        compared.bound.map(|bound| format!("{:.0} %", bound * 100.0)).unwrap_or_default(),
        compared.verdict.map_or("", word).to_owned(),
        compared.nearest.map_or("", word).to_owned(),
    ]
}

/// Where the kernel's own rounds are further apart than the simulator may be.
fn rounds(compared: &Compared) -> String {
    let [low, high] = compared.range.map(|end| amount(compared.unit, end));
    format!("{low} to {high}")
}

fn amount(unit: &str, value: f64) -> String {
    match unit {
        "bytes" => Bytes(value as u64).to_string(),
        "ns" => Nanos(value as u64).to_string(),
        _ => format!("{value:.0}"),
    }
}

fn percent(share: f64) -> String {
    format!("{:+.1} %", share * 100.0)
}

fn word(verdict: Agreement) -> &'static str {
    match verdict {
        Agreement::Good => "good",
        Agreement::Within => "within",
        Agreement::Missed => "missed",
    }
}

/// One line for each counter that has a bound, over all cases: by the median of the rounds, and how many miss the nearest round as well.
fn summary(report: &ValidationReport) -> Vec<Vec<String>> {
    let head = ["COUNTER", "BOUND", "CASES", "GOOD", "WITHIN", "MISSED", "MISSED NEAREST", "MEDIAN DIFFERENCE", "KERNEL DIFFERS"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for metric in METRICS.iter().filter(|metric| metric.bound.is_some()) {
        let of: Vec<&Compared> =
            report.rows.iter().flat_map(|row| &row.compared).filter(|row| row.metric == metric.name).collect();
        if of.is_empty() {
            continue;
        }
        let count = |verdict| of.iter().filter(|row| row.verdict == Some(verdict)).count().to_string();
        let mut sizes: Vec<f64> = of.iter().filter_map(|row| row.difference).map(f64::abs).collect();
        sizes.sort_by(f64::total_cmp);
        rows.push(vec![
            metric.name.to_owned(),
            metric.bound.map(|(bound, _)| format!("{:.0} %", bound * 100.0)).unwrap_or_default(),
            of.len().to_string(),
            count(Agreement::Good),
            count(Agreement::Within),
            count(Agreement::Missed),
            of.iter().filter(|row| row.nearest == Some(Agreement::Missed)).count().to_string(),
            sizes.get(sizes.len() / 2).map_or_else(|| "-".into(), |size| format!("{:.1} %", size * 100.0)),
            of.iter().filter(|row| row.differs_from_itself()).count().to_string(),
        ]);
    }
    rows
}

/// How often the simulator has the sign of the kernel, and where it has not.
fn signs(pairs: &[Pair]) -> String {
    if pairs.is_empty() {
        return String::new();
    }
    let wrong: Vec<&Pair> = pairs.iter().filter(|pair| !pair.agrees).collect();
    let mut page = format!(
        "\n{} of {} clear differences between two tierings have the kernel's sign in the simulator\n",
        pairs.len() - wrong.len(),
        pairs.len()
    );
    for pair in wrong {
        let Pair { workload, a, b, metric, kernel, simulator, .. } = pair;
        let _ = writeln!(
            page,
            "  wrong: {workload}, {metric}, {a} by {b}: kernel {:.3} ({:.3} to {:.3}), simulator {simulator:.3}",
            kernel.value, kernel.low, kernel.high
        );
    }
    page
}

/// For programs that read columns: one line for each counter of each case.
pub fn csv(report: &ValidationReport) -> String {
    let mut page =
        "workload,tiering,counter,unit,kernel,kernel_low,kernel_high,simulator,difference,spread,bound,nearest,verdict\n"
            .to_owned();
    for row in &report.rows {
        for compared in &row.compared {
            let Compared { metric, unit, kernel, range: [low, high], simulator, difference, spread, bound, verdict, nearest } =
                compared;
            let optional = |value: Option<f64>| value.map(|value| format!("{value:.4}")).unwrap_or_default();
            let _ = writeln!(
                page,
                "{},\"{}\",{metric},{unit},{kernel:.0},{low:.0},{high:.0},{simulator:.0},{},{},{},{},{}",
                row.workload,
                row.tiering,
                optional(*difference),
                optional(*spread),
                optional(*bound),
                nearest.map_or("", word),
                verdict.map_or("", word)
            );
        }
    }
    page
}
