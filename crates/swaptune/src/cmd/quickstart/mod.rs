//! `swaptune quickstart`: look, choose, try, prove, keep. Stopped at any point it leaves the machine as it was.

mod prompt;

use serde::Serialize;
use swaptune_bench::predict;
use swaptune_bench::sample::{self, EstimatedPools, MemorySample, SampleError, SampleRequest, USUAL};
use swaptune_core::facts::Facts;
use swaptune_core::forecast::{CandidateForecast, Forecast, Gain};
use swaptune_core::measurement::{Evidence, ResultFigures};
use swaptune_core::plan::{Plan, When};
use swaptune_core::proof::{Proof, Verdict};
use swaptune_core::settings::Settings;
use swaptune_host::counted;
use swaptune_host::inspect::{InspectScope, inspect};
use swaptune_host::journal::{StateDir, pending};
use swaptune_host::processes::ProcessChoice as Processes;
use swaptune_host::prove::{ProofOptions, prove};
use swaptune_host::service;
use swaptune_host::stop::Stop;
use swaptune_host::transaction::{ApplyError, ApplyReport, execute, rollback};

use super::apply::{not_installed, refuse};
use super::change::{kernel, needs_root, options};
use super::plan::{PlanBasis, RecordResolved, for_settings, fresh_seed, outcome};
use super::sample::show;
use super::{Context, temporary};
use crate::cli::{INTERRUPTED, QuickstartArgs, ResultsArgs, WantedArgs, WhenArgs};
use crate::failure::{FINDINGS, Failure, REFUSED, USAGE};
use crate::output::progress::ProgressLine;
use crate::{configuration, output};

/// Pages that are sampled: intervals of a few percent, within seconds.
const PAGES: u64 = 5_000;
/// Seeds of the simulation.
const SEEDS: u32 = 3;

/// Something that can be chosen.
struct Offer {
    /// What it is and how many applications fit with it.
    forecast: CandidateForecast,
    /// What becomes of the running system.
    live: Plan,
    settings: Settings,
    followed: Forecast,
}

/// What came of it, for programs.
#[derive(Serialize)]
struct QuickstartJson<'a> {
    gain: Option<Gain>,
    tried: &'a ApplyReport,
    proof: &'a Proof,
    kept: &'a ApplyReport,
}

/// The whole sitting.
pub fn run(context: &Context, args: &QuickstartArgs) -> Result<u8, Failure> {
    check(context, args)?;
    let stop = Stop::on_signals().map_err(|error| Failure::new(1, format!("signals: {error}")))?;
    let evidence = measure(context)?;
    going_on(&stop)?;
    let facts = inspect(&context.machine, InspectScope::PLAN);
    let forecast = forecast(context, &facts, &evidence)?;
    let offers = offers(context, &facts, &evidence, &forecast)?;
    going_on(&stop)?;
    let Some(first) = offers.first() else { return Err(Failure::new(REFUSED, "there is nothing to choose from")) };
    if first.live.is_empty() {
        output::data(&output::plan::summary(&first.live, None))?;
        return Ok(0);
    }
    let show = |offer: &Offer| output::message(&output::plan::summary(&offer.live, None));
    match offers.as_slice() {
        [only] => show(only),
        several => {
            let rows: Vec<&CandidateForecast> = several.iter().map(|offer| &offer.forecast).collect();
            output::message(&output::quickstart::offers(&forecast, &rows));
        }
    }
    let Some(offer) = choose(&offers, args.yes, &stop)? else {
        output::message("nothing was changed");
        return Ok(0);
    };
    if offers.len() > 1 {
        show(offer);
    }
    let sitting = Sitting { context, stop: &stop, evidence: &evidence, yes: args.yes };
    sitting.carry_out(offer)
}

/// What must be so before anything is looked at.
fn check(context: &Context, args: &QuickstartArgs) -> Result<(), Failure> {
    if !context.machine.is_live() {
        return Err(Failure::new(USAGE, "quickstart tries a plan on the running machine").hint("leave --root out"));
    }
    if context.json && !args.yes {
        return Err(Failure::new(USAGE, "--json asks no questions").hint("add --yes: it takes the plan and keeps it"));
    }
    needs_root(context)?;
    temporary::recover(context)?;
    super::history::remind(context)?;
    let state = StateDir::persistent(&context.machine);
    let Some(unfinished) = pending(&state).map_err(ApplyError::from)? else { return Ok(()) };
    let hint = format!("`swaptune apply --resume` finishes it, `swaptune rollback {}` takes it back", unfinished.id);
    Err(Failure::new(REFUSED, format!("apply {} was interrupted", unfinished.id)).hint(hint))
}

fn going_on(stop: &Stop) -> Result<(), Failure> {
    if stop.is_asked() { Err(Failure::new(INTERRUPTED, "stopped; nothing was changed")) } else { Ok(()) }
}

/// A sample of all processes, kept as a result. Too few pages to sample, or none that can be, are no reason to stop: assumed figures take
/// their place.
fn measure(context: &Context) -> Result<Evidence, Failure> {
    let facts = inspect(&context.machine, super::sample::SCOPE);
    let request = SampleRequest {
        choice: Processes::default(),
        pages: PAGES,
        cold_seconds: None,
        seed: sample::fresh_seed(),
        codecs: USUAL.iter().filter_map(|name| name.parse().ok()).collect(),
        by_unit: true,
    };
    let progress = ProgressLine::start();
    let sample = sampled(sample::take(&context.machine, &request, &mut |step| show(&progress, step)))?;
    drop(progress);
    if let Some(figures) = sample.and_then(|sample| sample.figures(&EstimatedPools::of(&facts.kernel))) {
        let command = format!("swaptune sample --all --pages {PAGES}");
        super::bench::recorder(context, &ResultsArgs::default(), &command)?.record(ResultFigures::Sample(figures))?;
    }
    Ok(configuration::evidence(&context.machine, &WantedArgs::default())?.0)
}

/// The sample; `None` where this machine has none to give, which is said.
fn sampled(taken: Result<MemorySample, SampleError>) -> Result<Option<MemorySample>, Failure> {
    match taken {
        Ok(sample) => Ok(Some(sample)),
        Err(
            error @ (SampleError::PageSize(_)
            | SampleError::NoPages { .. }
            | SampleError::NoneMatches(_)
            | SampleError::Forbidden(_)),
        ) => {
            output::message(&format!("without a sample, on assumed figures: {error}"));
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

fn forecast(context: &Context, facts: &Facts, evidence: &Evidence) -> Result<Forecast, Failure> {
    let settings = configuration::resolve(&context.machine, facts, evidence, None, &WantedArgs::default())?;
    let basis = PlanBasis { settings: &settings, evidence, forecast: None, seed: fresh_seed(context) };
    let after = outcome(context, facts, basis, &WhenArgs::default(), RecordResolved(true), &[]).after;
    let detail = predict::ForecastDetail::thorough(SEEDS);
    let request = predict::ForecastRequest::usual(facts, evidence, &settings, &after, None, detail);
    let progress = ProgressLine::start();
    predict::predict(&request, &|done, of| progress.show("simulating alternatives", done, of)).map_err(|error| {
        Failure::new(REFUSED, format!("there is nothing to offer: {error}"))
            .hint("`swaptune plan` shows what the configuration asks for")
    })
}

/// What can be carried out here of what the forecast offers. Where nothing can, the first refusal says why.
fn offers(context: &Context, facts: &Facts, evidence: &Evidence, forecast: &Forecast) -> Result<Vec<Offer>, Failure> {
    let mut refused = None;
    let mut offers = Vec::new();
    for row in forecast.choices() {
        let followed = forecast.clone().choosing(&row.candidate);
        let settings = configuration::resolve(&context.machine, facts, evidence, Some(&followed), &WantedArgs::default())?;
        let basis = PlanBasis { settings: &settings, evidence, forecast: Some(&followed), seed: fresh_seed(context) };
        let plan = |when: &WhenArgs| for_settings(context, facts, basis, when, RecordResolved(true), &[]);
        let (mut live, whole) = (plan(&WhenArgs { now: true, boot: false }), plan(&WhenArgs::default()));
        live.gain = followed.gain();
        match refuse(&whole, "swaptune plan").and_then(|()| not_installed(context, &whole)) {
            Ok(()) => offers.push(Offer { forecast: row.clone(), live, settings, followed }),
            Err(why) => _ = refused.get_or_insert(why),
        }
    }
    match refused {
        Some(why) if offers.is_empty() => Err(why),
        _ => Ok(offers),
    }
}

/// Which of them the user wants to try; `None` for none of them.
fn choose<'a>(offers: &'a [Offer], yes: bool, stop: &Stop) -> Result<Option<&'a Offer>, Failure> {
    if yes {
        return Ok(offers.first());
    }
    let question = match offers.len() {
        1 => "Try it now? [Y/n] ".to_owned(),
        count => format!("Try which now? [1 to {count}, or n for none; 1] "),
    };
    loop {
        let Some(answer) = prompt::ask(&question, stop) else {
            return Err(Failure::new(INTERRUPTED, "stopped; nothing was changed"));
        };
        match pick(&answer, offers.len()) {
            Pick::Offer(place) => return Ok(offers.get(place)),
            Pick::Nothing => return Ok(None),
            Pick::Unclear => output::message(&format!("`{answer}` is none of these")),
        }
    }
}

/// What an answer means.
#[derive(Debug, PartialEq, Eq)]
enum Pick {
    Offer(usize),
    Nothing,
    Unclear,
}

/// Which of the `offers` an answer names.
fn pick(answer: &str, offers: usize) -> Pick {
    match (answer, answer.parse::<usize>()) {
        ("" | "y" | "yes", _) => Pick::Offer(0),
        ("n" | "no" | "q", _) => Pick::Nothing,
        (_, Ok(number)) if (1..=offers).contains(&number) => Pick::Offer(number - 1),
        _ => Pick::Unclear,
    }
}

/// What to do with what is tried.
enum KeepAnswer {
    Always,
    UntilBoot,
    No,
}

struct Sitting<'a> {
    context: &'a Context,
    stop: &'a Stop,
    evidence: &'a Evidence,
    yes: bool,
}

impl Sitting<'_> {
    fn carry_out(&self, offer: &Offer) -> Result<u8, Failure> {
        // From here on every way out but one takes it back: no guardian does.
        self.stop.outlast_signals();
        let tried = self.execute(&offer.live)?;
        let id = tried.id.clone().unwrap_or_default();
        if self.stop.is_asked() {
            return self.not_kept(&id);
        }
        let proof = match self.proved() {
            Ok(proof) => proof,
            Err(error) => return self.back(&id).and(Err(error)),
        };
        match self.keep() {
            KeepAnswer::Always => {
                let kept = self.for_every_boot(offer).inspect_err(|_| output::message(&until_boot(&id)))?;
                let answer = QuickstartJson { gain: offer.live.gain.clone(), tried: &tried, proof: &proof, kept: &kept };
                if self.context.json {
                    output::json_versioned(&answer)?;
                } else {
                    output::data(
                        "Kept for every boot. `swaptune status` shows what it holds, `sudo swaptune rollback` takes it back\n",
                    )?;
                }
            }
            KeepAnswer::UntilBoot => output::data(&(until_boot(&id) + "\n"))?,
            KeepAnswer::No => return self.not_kept(&id),
        }
        Ok(if self.stop.is_asked() { INTERRUPTED } else { 0 })
    }

    /// Takes back what was tried.
    fn not_kept(&self, id: &str) -> Result<u8, Failure> {
        self.back(id)?;
        output::message("taken back: everything is as before");
        Ok(if self.stop.is_asked() { INTERRUPTED } else { 0 })
    }

    fn execute(&self, plan: &Plan) -> Result<ApplyReport, Failure> {
        let kernel = kernel(self.context, plan.steps.iter().any(|step| step.when == When::Now))?;
        let state = StateDir::persistent(&self.context.machine);
        let mut report = execute(&self.context.machine, &*kernel, &state, plan, &options())?;
        let failed = service::start(&self.context.machine, &report);
        report.warnings.extend(failed);
        let by = format!("apply {}", report.id.as_deref().unwrap_or_default());
        report.warnings.extend(counted::keep(&self.context.machine, &*kernel, &by));
        report.warnings.iter().for_each(|warning| output::message(&format!("warning: {warning}")));
        Ok(report)
    }

    /// Canary pages through what was set up.
    fn proved(&self) -> Result<Proof, Failure> {
        let proof = prove(&self.context.machine, &ProofOptions::default()).map_err(|error| Failure::new(FINDINGS, error))?;
        output::message(&output::text::wrap(&format!("Proof: {}", proof.summary), 0));
        if proof.verdict == Verdict::Proved {
            Ok(proof)
        } else {
            Err(Failure::new(FINDINGS, "it is not in effect as planned, and is taken back"))
        }
    }

    fn keep(&self) -> KeepAnswer {
        if self.stop.is_asked() {
            return KeepAnswer::No;
        }
        if self.yes {
            return KeepAnswer::Always;
        }
        loop {
            let Some(answer) = prompt::ask("Keep it? (a)t every boot, (u)ntil the next boot, (n)o, take it back [n] ", self.stop)
            else {
                return KeepAnswer::No;
            };
            match answer.as_str() {
                "a" | "always" => return KeepAnswer::Always,
                "u" | "until" => return KeepAnswer::UntilBoot,
                "" | "n" | "no" => return KeepAnswer::No,
                _ => output::message(&format!("`{answer}` is none of these")),
            }
        }
    }

    fn for_every_boot(&self, offer: &Offer) -> Result<ApplyReport, Failure> {
        let facts = inspect(&self.context.machine, InspectScope::PLAN);
        let seed = fresh_seed(self.context);
        let basis = PlanBasis { settings: &offer.settings, evidence: self.evidence, forecast: Some(&offer.followed), seed };
        let plan = for_settings(self.context, &facts, basis, &WhenArgs::default(), RecordResolved(true), &[]);
        refuse(&plan, "swaptune plan")?;
        self.execute(&plan)
    }

    fn back(&self, id: &str) -> Result<(), Failure> {
        let kernel = kernel(self.context, false)?;
        let state = StateDir::persistent(&self.context.machine);
        let report = rollback(&self.context.machine, &*kernel, &state, id, &options())?;
        let _ = counted::keep(&self.context.machine, &*kernel, &format!("rollback of {id}"));
        match report.left().as_slice() {
            [] => Ok(()),
            left => Err(Failure::new(5, format!("{} could not be taken back", output::text::count(left.len(), "change")))
                .hint(format!("swaptune rollback {id}"))),
        }
    }
}

fn until_boot(id: &str) -> String {
    format!(
        "It stays until the next boot; `sudo swaptune rollback {id}` takes it back, `sudo swaptune apply` keeps the plan for good"
    )
}

#[cfg(test)]
mod tests {
    use swaptune_core::Bytes;
    use swaptune_host::machine::ReadError;

    use super::*;

    #[test]
    fn a_machine_that_cannot_be_sampled_is_planned_on_assumed_figures() {
        let none = [
            SampleError::PageSize(Bytes(16 << 10)),
            SampleError::NoPages { of: "all processes".into() },
            SampleError::NoneMatches("all processes".into()),
            SampleError::Forbidden(9),
        ];
        for error in none {
            assert!(sampled(Err(error)).is_ok_and(|sample| sample.is_none()));
        }
        let unreadable = SampleError::List(ReadError::new("/proc", "an input/output error"));
        assert!(sampled(Err(unreadable)).is_err(), "a failure is one");
    }

    #[test]
    fn an_answer_names_an_offer_or_none() {
        for (answer, means) in [
            ("", Pick::Offer(0)),
            ("yes", Pick::Offer(0)),
            ("2", Pick::Offer(1)),
            ("n", Pick::Nothing),
            ("0", Pick::Unclear),
            ("3", Pick::Unclear),
            ("zram", Pick::Unclear),
        ] {
            assert_eq!(pick(answer, 2), means, "{answer}");
        }
    }
}
