//! A node of Kubernetes: nothing brings swap to it that its kubelet does not allow, unless the administrator answers for it.

use super::draft::Draft;
use crate::change::Change;
use crate::facts::Kubelet;

const SOURCE: &str = "Kubernetes documentation, Swap memory management: by default the kubelet does not start on a node with swap on; \
                      memorySwap.swapBehavior decides whether pods may use it, NoSwap unless written";
const FSTAB: &str = "/etc/fstab";

/// Refuses what brings swap, and takes it out of the plan: the boot service makes what is left of a refused plan.
pub(super) fn guard(draft: &mut Draft<'_>) {
    let facts = draft.facts();
    let objections: Vec<(&Kubelet, String)> =
        facts.system.kubelets.iter().filter_map(|kubelet| Some((kubelet, kubelet.objection()?))).collect();
    if objections.is_empty() || !draft.steps().iter().any(|step| brings_swap(&step.change)) {
        return;
    }
    for (kubelet, objection) in &objections {
        let what = format!("{} runs on this machine ({}), and {objection}", kubelet.name, kubelet.evidence);
        match &draft.settings().safety.kubelet {
            Some(rule) if draft.settings().allows_kubelet() => {
                draft.note("kubelet", format!("{what}; {} allows swap all the same", rule.provenance), SOURCE);
            }
            _ => draft.refuse("swap on a node of Kubernetes", what, hint(kubelet)),
        }
    }
    if !draft.settings().allows_kubelet() {
        draft.drop_changes(moves_swap);
    }
}

fn hint(kubelet: &Kubelet) -> String {
    let file = match kubelet.name.as_str() {
        "k3s" | "rke2" => format!("a file that kubelet-arg: config=FILE in {} names", kubelet.config),
        "microk8s" => format!("a file that --config in {} names", kubelet.config),
        _ => kubelet.config.clone(),
    };
    format!(
        "write failSwapOn: false and memorySwap.swapBehavior: {} in {file}, and restart it; or answer for it: \
         --set safety.kubelet=allow, or kubelet = \"allow\" under [safety]",
        Kubelet::LIMITED_SWAP
    )
}

/// Areas and zram that come up, now or at boot, and zswap, which starts to use those that are up.
fn brings_swap(change: &Change) -> bool {
    match change {
        Change::Swap { after: None, .. }
        | Change::Zram { after: None, .. }
        | Change::SwapFile { after: None, .. }
        | Change::SwapHeader { after: None, .. }
        | Change::Module { .. } => false,
        Change::Knob { after, .. } => after == "Y" && moves_swap(change),
        _ => moves_swap(change),
    }
}

/// What concerns swap areas and zswap's switch. Knobs of reclaim are none of the kubelet's business.
fn moves_swap(change: &Change) -> bool {
    match change {
        Change::Swap { .. }
        | Change::Zram { .. }
        | Change::SwapFile { .. }
        | Change::SwapHeader { .. }
        | Change::Module { .. } => true,
        Change::Knob { name, .. } => name == "zswap.enabled",
        Change::File { path, .. } => path == FSTAB,
        _ => false,
    }
}
