//! What the model makes of a plan: a look at what it brings, at other tiers where that is little, and at all alternatives (`--simulate`).

use swaptune_bench::predict::{Alternatives, ForecastDetail, ForecastRequest, PredictError, predict};
use swaptune_core::Bytes;
use swaptune_core::facts::Facts;
use swaptune_core::forecast::Forecast;
use swaptune_core::measurement::Evidence;
use swaptune_core::settings::Settings;
use swaptune_tiers::page_set::PageSet;

use crate::cli::SimulatedArgs;
use crate::failure::{Failure, USAGE};
use crate::output::progress::ProgressLine;

/// What is proposed for a machine.
#[derive(Clone, Copy, Debug)]
pub struct Proposal<'a> {
    /// The machine.
    pub facts: &'a Facts,
    /// What was measured on it.
    pub evidence: &'a Evidence,
    /// What is wanted, resolved.
    pub settings: &'a Settings,
    /// The machine as the plan for that leaves it.
    pub after: &'a Facts,
}

impl Proposal<'_> {
    fn request(&self, application: Option<Bytes>, detail: ForecastDetail) -> ForecastRequest<'_> {
        let Self { facts, evidence, settings, after } = *self;
        ForecastRequest::usual(facts, evidence, settings, after, application, detail)
    }
}

/// What a simulation says of the settings that the rules propose, and of others.
pub fn forecast(proposal: &Proposal<'_>, args: &SimulatedArgs) -> Result<Forecast, Failure> {
    let set = match &args.page_set {
        Some(path) => {
            let name = path.display().to_string();
            let wrong = |error: &dyn std::fmt::Display| {
                let hint = "`sudo swaptune sample --save FILE` writes one";
                Failure::new(USAGE, format!("--page-set {name}: {error}")).hint(hint)
            };
            let text = std::fs::read_to_string(path).map_err(|error| wrong(&error))?;
            Some((PageSet::from_json(&text).map_err(|error| wrong(&error))?, name))
        }
        None => None,
    };
    let page_set = set.as_ref().map(|(set, name)| (set, name.as_str()));
    let detail = ForecastDetail::thorough(args.seeds);
    let request = ForecastRequest { page_set, ..proposal.request(args.app_size, detail) };
    let progress = ProgressLine::start();
    predict(&request, &|done, of| progress.show("simulating alternatives", done, of)).map_err(failure)
}

/// What the settings that the rules propose bring, without alternatives; `None` where the model has no such machine.
pub fn first_look(proposal: &Proposal<'_>) -> Option<Forecast> {
    // An image does not say how it is set up today.
    if proposal.facts.image.is_some() {
        return None;
    }
    let quick = proposal.request(None, ForecastDetail::QUICK);
    predict(&ForecastRequest { alternatives: Alternatives::None, ..quick }, &|_, _| ()).ok()
}

/// A look at other tiers that finds one which is clearly better than what the rules propose, and worth changing to; `None` where none is.
pub fn other_tier(proposal: &Proposal<'_>, first: &Forecast) -> Option<Forecast> {
    // Where many small applications fit it takes a second.
    let progress = ProgressLine::start();
    let quick = proposal.request(None, ForecastDetail::QUICK);
    let request = ForecastRequest { alternatives: Alternatives::Tiers, before: Some(first), ..quick };
    let forecast = predict(&request, &|done, of| progress.show("simulating other tiers", done, of)).ok()?;
    (forecast.preferred().is_some() && forecast.gain()?.is_worth_it()).then_some(forecast)
}

fn failure(error: PredictError) -> Failure {
    let hint = match &error {
        PredictError::NoSizes { .. } => "`swaptune sample --save FILE` keeps the sizes of all usual codecs",
        PredictError::NoSwap => "leave --simulate out",
        PredictError::TooSlow { .. } => "leave --simulate out, or name smaller applications: --app-size 50M",
        PredictError::Machine(_) | PredictError::Run { .. } => {
            "leave --simulate out, or name what the model has: --set zswap.compressor=zstd"
        }
    };
    Failure::new(USAGE, format!("--simulate: {error}")).hint(hint)
}
