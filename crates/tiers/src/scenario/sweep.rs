//! One key with one value after another.

use toml::{Table, Value};

use super::ScenarioError;

/// Points of a range for which no step is given.
const POINTS: usize = 9;
/// Most points of a sweep.
const MOST: usize = 10_000;

/// A key and its values.
#[derive(Clone, Debug, PartialEq)]
pub struct Sweep {
    /// The key as a path through the file: `workload.with.percent`, `tiering.NAME.zswap.limit`, `tiering.*.zswap.limit`.
    pub key: String,
    /// Its values.
    pub values: Vec<Value>,
}

impl Sweep {
    /// What `KEY=A..B`, `KEY=A..B:STEP` or `KEY=A,B,C` says.
    ///
    /// # Errors
    /// When it says nothing of the kind.
    pub fn parse(text: &str) -> Result<Self, ScenarioError> {
        let (key, values) =
            text.split_once('=').ok_or_else(|| ScenarioError::key("--sweep", text, "KEY=A..B, KEY=A..B:STEP or KEY=A,B,C"))?;
        Ok(Self { key: key.trim().to_owned(), values: listed(key, values)? })
    }

    /// A key and an array of values, or the text of a range.
    pub(super) fn of(key: &str, values: &Value) -> Result<Self, ScenarioError> {
        let values = match values {
            Value::Array(values) if !values.is_empty() => values.clone(),
            Value::String(text) => listed(key, text)?,
            other => return Err(ScenarioError::key("sweep.values", other, "a list, or a range such as \"75..175:12.5\"")),
        };
        Ok(Self { key: key.to_owned(), values })
    }
}

fn listed(key: &str, text: &str) -> Result<Vec<Value>, ScenarioError> {
    let Some((from, rest)) = text.split_once("..") else {
        return Ok(text.split(',').map(|text| value(key, text)).collect());
    };
    let (to, step) = rest.split_once(':').map_or((rest, None), |(to, step)| (to, Some(step)));
    let bad = || ScenarioError::key(key, text, "A..B or A..B:STEP with numbers, A below B and at most 10000 points");
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|number| number.is_finite()).ok_or_else(bad);
    let (from, to) = (number(from)?, number(to)?);
    let step = step.map_or(Ok((to - from) / (POINTS - 1) as f64), number)?;
    if !(step > 0.0 && from < to && (to - from) / step < MOST as f64) {
        return Err(bad());
    }
    let whole = [from, to, step].iter().all(|number| number.fract() == 0.0);
    let points = ((to - from) / step + 1e-9) as usize + 1;
    Ok((0..points)
        .map(|point| from + point as f64 * step)
        .map(|at| if whole { Value::Integer(at as i64) } else { Value::Float(at) })
        .collect())
}

/// What a text is for a key: a number or a truth if it looks like one. A kernel is no number: 6.1 and 6.10 are two.
pub(super) fn value(key: &str, text: &str) -> Value {
    let text = text.trim();
    if key.rsplit('.').next() == Some("kernel") {
        return Value::String(text.to_owned());
    }
    let whole = text.parse().map(Value::Integer);
    let float = || text.parse().map(Value::Float);
    let truth = || text.parse().map(Value::Boolean);
    whole.or_else(|_| float()).or_else(|_| truth()).unwrap_or_else(|_| Value::String(text.to_owned()))
}

/// Puts a value at the place that a key names. A segment names a key, or the `name` of a member of an array, or with `*` all members
/// that have the rest of the path.
///
/// # Errors
/// When nothing is there and nothing can be put there.
pub(super) fn put(table: &mut Table, key: &str, value: &Value) -> Result<(), ScenarioError> {
    let path: Vec<&str> = key.split('.').collect();
    add_tables(table, &path);
    let places = into_table(table, &path, value);
    if places == 0 {
        let known: Vec<&str> = table.keys().map(String::as_str).collect();
        return Err(ScenarioError::name(key, path[0], known));
    }
    Ok(())
}

/// Figures stand in tables that a file need not have: `costs`, `codec.NAME` and `device.NAME`.
fn add_tables(mut table: &mut Table, path: &[&str]) {
    let depth = match path {
        ["costs", _] => 1,
        ["codec" | "device", name, _] if *name != "*" => 2,
        _ => 0,
    };
    for segment in &path[..depth] {
        let inner = table.entry(*segment).or_insert_with(|| Value::Table(Table::new()));
        let Value::Table(inner) = inner else { return };
        table = inner;
    }
}

fn into_table(table: &mut Table, path: &[&str], value: &Value) -> usize {
    match path {
        [] | [""] => 0,
        [last] => {
            table.insert((*last).to_owned(), value.clone());
            1
        }
        [first, rest @ ..] => table.get_mut(*first).map_or(0, |inner| into_value(inner, rest, value)),
    }
}

fn into_value(inner: &mut Value, path: &[&str], value: &Value) -> usize {
    match inner {
        Value::Table(table) => into_table(table, path, value),
        Value::Array(members) => {
            let named = |member: &Value, index: usize| {
                path[0] == "*" || path[0] == index.to_string() || member.get("name").and_then(Value::as_str) == Some(path[0])
            };
            let chosen = members.iter_mut().enumerate().filter(|(index, member)| named(member, *index));
            chosen.map(|(_, member)| into_value(member, &path[1..], value)).sum()
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_and_lists_are_read() {
        let values = |text: &str| Sweep::parse(text).unwrap().values;
        assert_eq!(values("a.b=1..9").len(), 9);
        assert_eq!(values("a=1..9:4"), [Value::Integer(1), Value::Integer(5), Value::Integer(9)]);
        assert_eq!(values("a=0..1:0.5"), [Value::Float(0.0), Value::Float(0.5), Value::Float(1.0)]);
        assert_eq!(values("a=75..175").len(), 9);
        assert_eq!(values("a=1G, 2.5,zbud"), [Value::String("1G".into()), Value::Float(2.5), Value::String("zbud".into())]);
        assert_eq!(values("machine.kernel=6.1,6.10"), [Value::String("6.1".into()), Value::String("6.10".into())]);
        for bad in ["a", "a=5..1", "a=1..2:0", "a=1..2:-1", "a=x..2", "a=0..1:0.00001"] {
            assert!(Sweep::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn tables_of_figures_are_made_where_a_file_has_none() {
        let mut table: Table = "[device.mine]\niops=1".parse().unwrap();
        for key in ["costs.swap-in-ns", "codec.zstd.decompress-ns", "device.ssd.iops", "device.mine.iops"] {
            put(&mut table, key, &Value::Integer(7)).unwrap();
        }
        let expected = "costs={swap-in-ns=7}\ncodec.zstd.decompress-ns=7\ndevice={mine={iops=7},ssd={iops=7}}";
        assert_eq!(table, expected.parse::<Table>().unwrap());
        assert!(put(&mut table, "codec.*.compress-ns", &Value::Integer(7)).is_err());
    }

    #[test]
    fn a_key_reaches_into_named_members_and_all() {
        let text = "[[tiering]]\nname='a'\nzswap={limit=1}\n[[tiering]]\nname='b'\n[[tiering]]\nname='c'\nzswap={limit=1}";
        let limits = |key: &str| {
            let mut table: Table = text.parse().unwrap();
            put(&mut table, key, &Value::Integer(7)).map(|()| {
                let members = table["tiering"].as_array().unwrap();
                members
                    .iter()
                    .map(|member| member.get("zswap").map(|zswap| zswap["limit"].as_integer().unwrap()))
                    .collect::<Vec<_>>()
            })
        };
        assert_eq!(limits("tiering.a.zswap.limit").unwrap(), [Some(7), None, Some(1)]);
        assert_eq!(limits("tiering.*.zswap.limit").unwrap(), [Some(7), None, Some(7)]);
        let error = limits("machin.ram").unwrap_err().to_string();
        assert_eq!(error, "machin.ram: found `machin`, expected one of tiering");
        assert!(limits("tiering.x.zswap.limit").is_err() && limits("tierings.a.zswap.limit").is_err());
    }
}
