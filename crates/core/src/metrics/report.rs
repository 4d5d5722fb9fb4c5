//! The table as JSON: one object a sample, with a source or the reason of its absence at each value.

use serde_json::{Map, Number, Value, json};

use super::{Metric, Reading, SampleLook, all};
use crate::fact::Fact;

/// Version of this form; raised when a field changes its meaning.
const SCHEMA: u32 = 1;

/// Everything that the table says of a look, the processes that have most in swap, and the daemon.
#[must_use]
pub fn report(look: &SampleLook<'_>) -> Value {
    let metrics: Map<String, Value> = all().map(|metric| (metric.name.to_owned(), values(metric, look))).collect();
    let processes = match &look.now.processes {
        Fact::Known { value, .. } => json!(value),
        Fact::Absent { absent } => json!({ "absent": absent }),
    };
    let units = match &look.now.units {
        Fact::Known { source, .. } => json!({ "source": source }),
        Fact::Absent { absent } => json!({ "absent": absent }),
    };
    let daemon = match &look.now.daemon {
        Fact::Known { value, .. } => json!(value),
        Fact::Absent { absent } => json!({ "absent": absent }),
    };
    json!({
        "schema": SCHEMA,
        "unix_ms": look.now.unix_ms,
        "seconds": look.seconds().map(number),
        "metrics": metrics,
        "units": units,
        "processes": processes,
        "daemon": daemon,
    })
}

fn values(metric: &Metric, look: &SampleLook<'_>) -> Value {
    let readings = metric.readings(look);
    match metric.label() {
        None => readings.first().map_or(Value::Null, value),
        Some(_) => readings.iter().map(|reading| (reading.label.clone(), value(reading))).collect::<Map<_, _>>().into(),
    }
}

fn value(reading: &Reading) -> Value {
    let mut object = match &reading.value {
        Fact::Known { value, source } => json!({ "value": number(*value), "source": source }),
        Fact::Absent { absent } => json!({ "absent": absent }),
    };
    if let (Some(rate), Some(object)) = (&reading.per_second, object.as_object_mut().filter(|_| reading.value.is_known())) {
        let rate = rate.value().map_or(Value::Null, |rate| number(*rate));
        object.insert("per_second".to_owned(), rate);
    }
    object
}

/// A whole number is written as one: a size is no 4096.0.
fn number(value: f64) -> Value {
    /// Beyond this a double does not hold every whole number.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() <= EXACT {
        return Value::from(value as i64);
    }
    Number::from_f64(value).map_or(Value::Null, Value::Number)
}
