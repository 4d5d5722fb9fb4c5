//! `swaptune knobs`: the table of kernel settings with live values.

use std::collections::BTreeMap;

use serde::Serialize;
use swaptune_core::Fact;
use swaptune_core::facts::Facts;
use swaptune_core::knobs::{self, Effect, Knob};
use swaptune_host::inspect::{InspectScope, inspect};
use swaptune_kernel::Behaviour;
use swaptune_kernel::behaviours::TABLE;

use super::Context;
use crate::cli::KnobsArgs;
use crate::failure::{Failure, USAGE};
use crate::output::{self, text};

/// Prints all rows, one row, or those whose names start alike.
pub fn run(context: &Context, args: &KnobsArgs) -> Result<u8, Failure> {
    let facts = inspect(&context.machine, InspectScope::STATUS);
    if args.behaviours {
        return behaviours(context, &facts);
    }
    let rows = select(args.name.as_deref())?;
    if context.json {
        let rows: Vec<KnobJson> = rows.iter().map(|knob| KnobJson::of(knob, &facts)).collect();
        output::json_versioned(&serde_json::json!({ "knobs": rows }))?;
    } else if let [knob] = rows[..] {
        output::data(&card(knob, &facts))?;
    } else {
        output::data(&table(&rows, &facts))?;
    }
    Ok(0)
}

/// Prints what kernels do by themselves, and whether this one does.
fn behaviours(context: &Context, facts: &Facts) -> Result<u8, Failure> {
    if context.json {
        let row = |row: &Behaviour| {
            serde_json::json!({
                "name": row.name,
                "since": row.since.map(|version| version.to_string()),
                "until": row.until.map(|version| version.to_string()),
                "here": facts.kernel.does(row),
                "about": row.about,
                "source": row.source,
            })
        };
        output::json_versioned(&serde_json::json!({ "behaviours": TABLE.iter().map(row).collect::<Vec<_>>() }))?;
        return Ok(0);
    }
    let version = facts.kernel.version.value().map_or("this kernel".to_owned(), |version| format!("Linux {version}"));
    let mut out = String::new();
    for row in TABLE {
        let here = match facts.kernel.does(row) {
            Some(true) => format!("{version} does"),
            Some(false) => format!("{version} does not"),
            None => "the version of this kernel is not known".to_owned(),
        };
        out += &format!("{} ({}; {here})\n{}", row.name, row.versions(), text::wrap(row.about, 2));
    }
    output::data(&out)?;
    Ok(0)
}

fn select(name: Option<&str>) -> Result<Vec<&'static Knob>, Failure> {
    let Some(name) = name else { return Ok(knobs::all().collect()) };
    if let Some(knob) = knobs::find(name) {
        return Ok(vec![knob]);
    }
    let rows: Vec<_> = knobs::all().filter(|knob| knob.name.starts_with(name)).collect();
    if rows.is_empty() {
        let error = knobs::get(name).err().map_or_else(String::new, |error| error.to_string());
        return Err(Failure::new(USAGE, error).hint("`swaptune knobs` lists all of them"));
    }
    Ok(rows)
}

/// The live value, or a short word for its absence.
fn live(knob: &Knob, facts: &Facts) -> String {
    match facts.knobs.get(knob.name) {
        Some(Fact::Known { value, .. }) => value.clone(),
        _ if knob.is_pattern() => "per device".into(),
        _ => "–".into(),
    }
}

fn lifetime(knob: &Knob) -> String {
    match (knob.since, knob.gone) {
        (None, None) => "always".into(),
        (Some(since), None) => format!("since {since}"),
        (None, Some(gone)) => format!("until {gone}"),
        (Some(since), Some(gone)) => format!("{since} to {gone}"),
    }
}

fn table(rows: &[&Knob], facts: &Facts) -> String {
    let mut cells = vec![["NAME", "LIVE", "DEFAULT", "TAKES", "KERNELS"].map(str::to_owned).to_vec()];
    cells.extend(rows.iter().map(|knob| {
        let takes = knob
            .expected()
            .replace("a whole number from ", "")
            .replace(" to ", "–")
            .replace("a name that the kernel knows", "a name");
        vec![
            knob.name.into(),
            live(knob, facts),
            knob.default.chars().take(28).collect(),
            takes.chars().take(34).collect(),
            lifetime(knob),
        ]
    }));
    text::columns(&cells, &[], 0)
}

/// Everything about one knob.
fn card(knob: &Knob, facts: &Facts) -> String {
    let mut rows: BTreeMap<u8, (&str, String)> = BTreeMap::new();
    rows.insert(0, ("file", knob.path.into()));
    rows.insert(1, ("live", live(knob, facts)));
    rows.insert(2, ("default", knob.default.into()));
    rows.insert(
        3,
        ("takes", if knob.unit.is_empty() { knob.expected() } else { format!("{}, in {}", knob.expected(), knob.unit) }),
    );
    rows.insert(4, ("key", knob.key_text()));
    rows.insert(5, ("kernels", lifetime(knob)));
    let effect = match knob.effect {
        Effect::Live => "at once, without a reboot",
        Effect::BeforeSetup => "only when written before the device or area is set up",
    };
    rows.insert(6, ("effect", effect.into()));
    rows.insert(7, ("source", knob.source.into()));
    if let Some(Fact::Absent { absent }) = facts.knobs.get(knob.name) {
        let version = facts.kernel.version.value();
        let why = version.and_then(|version| knob.why_absent(*version)).unwrap_or_else(|| absent.clone());
        rows.insert(8, ("absent", why));
    }
    if let Some(sources) = facts.sysctl_sources.get(knob.name).filter(|sources| !sources.is_empty()) {
        let list: Vec<String> =
            sources.iter().map(|source| format!("{}:{} = {}", source.path, source.line, source.value)).collect();
        rows.insert(9, ("set by", list.join(", ")));
    }
    let cells: Vec<Vec<String>> = rows.into_values().map(|(key, value)| vec![key.to_owned(), value]).collect();
    format!("{}\n{}{}", knob.name, text::wrap(knob.doc, 2), text::columns(&cells, &[], 2))
}

/// The JSON form of a row.
#[derive(Serialize)]
struct KnobJson<'a> {
    name: &'a str,
    path: &'a str,
    takes: String,
    unit: &'a str,
    default: &'a str,
    since: Option<String>,
    gone: Option<String>,
    replaced_by: &'a str,
    doc: &'a str,
    source: &'a str,
    live: Option<&'a Fact<String>>,
}

impl<'a> KnobJson<'a> {
    fn of(knob: &'a Knob, facts: &'a Facts) -> Self {
        Self {
            name: knob.name,
            path: knob.path,
            takes: knob.expected(),
            unit: knob.unit,
            default: knob.default,
            since: knob.since.map(|version| version.to_string()),
            gone: knob.gone.map(|version| version.to_string()),
            replaced_by: knob.replaced_by,
            doc: knob.doc,
            source: knob.source,
            live: facts.knobs.get(knob.name),
        }
    }
}
