//! What one function did as a work of the kernel's workqueues: lines of the trace events `workqueue_queue_work`,
//! `workqueue_execute_start` and `workqueue_execute_end` in a file `trace` of tracefs (Documentation/trace/events.rst).
//!
//! A line is `task-pid [cpu] flags seconds.micros: event: fields`. Events of other works, and what cannot be read, are left out: a
//! ring that has been overwritten begins anywhere.

/// One run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkRun {
    /// How long it took, in nanoseconds.
    pub length: u64,
    /// Whether it had another processor than who asked for it last, who could go on meanwhile.
    pub beside: bool,
}

/// When a function ran.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Runs {
    /// From the request to the run, for requests that found it at rest, in nanoseconds.
    pub waits: Vec<u64>,
    /// Each run that is whole.
    pub runs: Vec<WorkRun>,
}

/// What happened to the work.
enum WorkEvent {
    Queued,
    Started,
    Ended,
}

/// Reads a trace. A request that is made while the work runs is left out of the waits: it begins when that run ends.
#[must_use]
pub fn parse(text: &str, function: &str) -> Runs {
    let mut seen = Runs::default();
    let (mut asked, mut asked_on, mut began) = (None, None, None);
    for WorkLine { at, on, event } in text.lines().filter_map(|line| moment(line, function)) {
        match event {
            WorkEvent::Queued => {
                asked = asked.or(Some(at)).filter(|_| began.is_none());
                asked_on = Some(on);
            }
            WorkEvent::Started => {
                seen.waits.extend(asked.take().map(|asked| at.saturating_sub(asked)));
                began = Some((at, asked_on.is_none_or(|asked_on| asked_on != on)));
            }
            WorkEvent::Ended => {
                let run = |(began, beside)| WorkRun { length: at.saturating_sub(began), beside };
                seen.runs.extend(began.take().map(run));
            }
        }
    }
    seen
}

/// A line: nanoseconds, processor, event.
struct WorkLine<'a> {
    at: u64,
    on: &'a str,
    event: WorkEvent,
}

/// What a line says of this function.
fn moment<'a>(line: &'a str, function: &str) -> Option<WorkLine<'a>> {
    let (before, rest) = line.split_once(": workqueue_")?;
    let (event, fields) = rest.split_once(": ")?;
    let event = match event {
        "queue_work" => WorkEvent::Queued,
        "execute_start" => WorkEvent::Started,
        "execute_end" => WorkEvent::Ended,
        _ => return None,
    };
    // `function=NAME` where it is queued, `function NAME` where it runs.
    let (_, name) = fields.split_once("function")?;
    let is_it = name.split([' ', '=']).find(|word| !word.is_empty()) == Some(function);
    // A process may have spaces in its name, and brackets.
    let mut last = before.split_whitespace().rev();
    let (seconds, micros) = last.next()?.split_once('.')?;
    let on = last.nth(1)?;
    let (seconds, micros): (u64, u64) = (seconds.parse().ok()?, micros.parse().ok()?);
    let at = seconds.checked_mul(1_000_000)?.checked_add(micros)?.checked_mul(1000)?;
    is_it.then_some(WorkLine { at, on, event })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Linux 6.18: a request that finds the worker at rest, two while it runs, and another work between them.
    const TRACE: &str = "\
# tracer: nop
#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION
             exe-21463   [000] d..1. 24734.541375: workqueue_queue_work: work struct=000000001aa44910 function=shrink_worker workqueue=zswap-shrink req_cpu=256 cpu=-1
    kworker/1:2-77      [001] ..... 24734.541390: workqueue_execute_start: work struct 0000000099b5fc67: function vmstat_update
    kworker/1:2-77      [001] ..... 24734.541391: workqueue_execute_end: work struct 0000000099b5fc67: function vmstat_update
    kworker/u8:3-32406   [001] ..... 24734.541440: workqueue_execute_start: work struct 000000001aa44910: function shrink_worker
             exe-21463   [000] d..1. 24734.541451: workqueue_queue_work: work struct=000000001aa44910 function=shrink_worker workqueue=zswap-shrink req_cpu=256 cpu=-1
    kworker/u8:3-32406   [001] ..... 24734.541514: workqueue_execute_end: work struct 000000001aa44910: function shrink_worker
    kworker/u8:3-32406   [001] ..... 24734.541515: workqueue_execute_start: work struct 000000001aa44910: function shrink_worker
    kworker/u8:3-32406   [001] ..... 24734.541561: workqueue_execute_end: work struct 000000001aa44910: function shrink_worker
             exe-21463   [000] d..1. 24734.545000: workqueue_queue_work: work struct=000000001aa44910 function=shrink_worker workqueue=zswap-shrink req_cpu=256 cpu=-1
    kworker/u8:3-32406   [001] ..... 24734.545030: workqueue_execute_start: work struct 000000001aa44910: function shrink_worker
";

    fn beside(lengths: &[u64]) -> Vec<WorkRun> {
        lengths.iter().map(|length| WorkRun { length: *length, beside: true }).collect()
    }

    #[test]
    fn requests_at_rest_have_a_wait_and_whole_runs_a_length() {
        let expected = Runs { waits: vec![65_000, 30_000], runs: beside(&[74_000, 46_000]) };
        assert_eq!(parse(TRACE, "shrink_worker"), expected);
        assert_eq!(parse(TRACE, "vmstat_update"), Runs { waits: vec![], runs: beside(&[1000]) });
        assert_eq!(parse(TRACE, "shrink"), Runs::default(), "a name is a whole word");
    }

    #[test]
    fn who_asks_waits_where_it_runs_on_the_same_processor() {
        let alone = TRACE.replace("[001]", "[000]");
        let expected = [74_000, 46_000].map(|length| WorkRun { length, beside: false });
        assert_eq!(parse(&alone, "shrink_worker").runs, expected);
    }

    #[test]
    fn a_ring_that_was_overwritten_begins_anywhere() {
        let (_, late) = TRACE.split_once("24734.541451").unwrap();
        assert_eq!(parse(late, "shrink_worker"), Runs { waits: vec![30_000], runs: beside(&[46_000]) });
        for line in [
            "",
            ": workqueue_queue_work: function=f",
            "9.9.9: workqueue_queue_work: function=f",
            "a 1.x: workqueue_execute_end: function f",
        ] {
            assert_eq!(parse(line, "f"), Runs::default(), "{line}");
        }
        assert_eq!(parse("99999999999999999999.1: workqueue_queue_work: function=f", "f"), Runs::default());
    }
}
