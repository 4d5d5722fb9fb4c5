//! A distribution that makes the files of `/etc` from a configuration of its own: what is edited there is lost, or cannot be edited at all.

use super::draft::{Draft, PlanRequest};
use crate::facts::Facts;

const SOURCE: &str = "NixOS manual: /etc is made from configuration.nix by nixos-rebuild";
const HINT: &str = "`swaptune emit nixos > swaptune.nix`, add it to `imports`, `nixos-rebuild switch`";

/// What may be planned there: only what is live.
pub(super) fn narrowed<'a>(request: &PlanRequest<'a>) -> PlanRequest<'a> {
    PlanRequest { boot: request.boot && !is_nixos(request.facts), ..request.clone() }
}

/// Says what makes the plan last, or refuses one that would only last.
pub(super) fn note(draft: &mut Draft<'_>, asked: &PlanRequest<'_>) {
    if !asked.boot || !is_nixos(draft.facts()) {
        return;
    }
    let why = "NixOS makes the files of /etc from its own configuration, and an edit would be lost";
    if asked.now {
        draft.note("boot", format!("this lasts until the next boot: {why}. To keep it: {HINT}"), SOURCE);
    } else {
        draft.refuse("what lasts beyond a boot", why, HINT);
    }
}

fn is_nixos(facts: &Facts) -> bool {
    facts.system.os_id.value().is_some_and(|id| id == "nixos")
}
