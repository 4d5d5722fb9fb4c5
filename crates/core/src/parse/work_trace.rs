//! What one function did as a work of the kernel's workqueues: lines of the trace events `workqueue_queue_work`,
//! `workqueue_execute_start` and `workqueue_execute_end` in a file `trace` of tracefs (Documentation/trace/events.rst).
//!
//! A line is `task-pid [cpu] flags seconds.micros: event: fields`. Events of other works, and what cannot be read, are left out: a
//! ring that has been overwritten begins anywhere.

/// When a function ran, in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Runs {
    /// From the request to the run, for requests that found it at rest.
    pub waits: Vec<u64>,
    /// How long each run took.
    pub lengths: Vec<u64>,
}

/// What happened to the work.
enum Event {
    Queued,
    Started,
    Ended,
}

/// Reads a trace. A request that is made while the work runs is left out of the waits: it begins when that run ends.
#[must_use]
pub fn parse(text: &str, function: &str) -> Runs {
    let mut runs = Runs::default();
    let (mut asked, mut began) = (None, None);
    for (at, event) in text.lines().filter_map(|line| moment(line, function)) {
        match event {
            Event::Queued if began.is_none() => asked = asked.or(Some(at)),
            Event::Queued => {}
            Event::Started => {
                runs.waits.extend(asked.take().map(|asked| at.saturating_sub(asked)));
                began = Some(at);
            }
            Event::Ended => runs.lengths.extend(began.take().map(|began: u64| at.saturating_sub(began))),
        }
    }
    runs
}

/// Time and event of a line about this function.
fn moment(line: &str, function: &str) -> Option<(u64, Event)> {
    let (before, rest) = line.split_once(": workqueue_")?;
    let (event, fields) = rest.split_once(": ")?;
    let event = match event {
        "queue_work" => Event::Queued,
        "execute_start" => Event::Started,
        "execute_end" => Event::Ended,
        _ => return None,
    };
    // `function=NAME` where it is queued, `function NAME` where it runs.
    let (_, name) = fields.split_once("function")?;
    let is_it = name.split([' ', '=']).find(|word| !word.is_empty()) == Some(function);
    let (seconds, micros) = before.split_whitespace().last()?.split_once('.')?;
    let (seconds, micros): (u64, u64) = (seconds.parse().ok()?, micros.parse().ok()?);
    let at = seconds.checked_mul(1_000_000)?.checked_add(micros)?.checked_mul(1000)?;
    is_it.then_some((at, event))
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

    #[test]
    fn requests_at_rest_have_a_wait_and_whole_runs_a_length() {
        let expected = Runs { waits: vec![65_000, 30_000], lengths: vec![74_000, 46_000] };
        assert_eq!(parse(TRACE, "shrink_worker"), expected);
        assert_eq!(parse(TRACE, "vmstat_update"), Runs { waits: vec![], lengths: vec![1000] });
        assert_eq!(parse(TRACE, "shrink"), Runs::default(), "a name is a whole word");
    }

    #[test]
    fn a_ring_that_was_overwritten_begins_anywhere() {
        let (_, late) = TRACE.split_once("24734.541451").unwrap();
        assert_eq!(parse(late, "shrink_worker"), Runs { waits: vec![30_000], lengths: vec![46_000] });
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
