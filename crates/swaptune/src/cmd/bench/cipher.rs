//! `swaptune bench cipher`: runs the ciphers, prints the table and what to choose.

use swaptune_bench::cipher::{self, CIPHERS, CipherError};
use swaptune_bench::conditions;
use swaptune_bench::disk::identity;
use swaptune_core::measurement::{CipherFigures, Evidence, ResultFigures, recommend};
use swaptune_host::inspect::{InspectScope, inspect};

use super::{install, needs_live, recorder, store};
use crate::cli::ResultsArgs;
use crate::cmd::Context;
use crate::failure::{FINDINGS, Failure};
use crate::output;
use crate::output::cipher::CipherReport;
use crate::output::progress::ProgressLine;

/// Measures the ciphers that this kernel has, and keeps the results.
pub fn run(context: &Context, results: &ResultsArgs) -> Result<u8, Failure> {
    needs_live(context)?;
    let swap_disk = inspect(&context.machine, InspectScope::STATUS).swap_disk();
    let disk = evidence(context, results)?.disk_speed(swap_disk.as_deref());
    let mut recorder = recorder(context, results, "swaptune bench cipher")?;
    let progress = ProgressLine::start();
    let ciphers = cipher::run(&mut recorder, &mut |done, what| progress.show(what, done as usize, CIPHERS.len()));
    drop(progress);
    let ciphers = ciphers?;
    let figures = ciphers.measured.iter().filter_map(|measurement| match &measurement.figures {
        ResultFigures::Cipher(cipher) => Some(cipher.clone()),
        _ => None,
    });
    let rows: Vec<CipherFigures> = figures.collect();
    let choice = recommend(&rows, cipher::has_aes(&context.machine));
    let report = CipherReport { rows: &rows, unavailable: &ciphers.unavailable, choice: choice.as_ref(), disk: disk.as_ref() };
    if context.json {
        output::json_versioned(&report.json(&ciphers.measured))?;
    } else {
        output::data(&report.text())?;
    }
    Ok(if rows.is_empty() { FINDINGS } else { 0 })
}

/// What was measured on this machine before.
fn evidence(context: &Context, results: &ResultsArgs) -> Result<Evidence, Failure> {
    let machine = conditions::machine_name(&context.machine);
    let kernel = context.machine.read_text("/proc/sys/kernel/osrelease").unwrap_or_default();
    let evidence = Evidence::new(store(context, results).read()?.measurements, &machine, kernel.trim());
    Ok(evidence.of_disks(|name| identity(&context.machine, name)))
}

impl From<CipherError> for Failure {
    fn from(error: CipherError) -> Self {
        let hint = match &error {
            CipherError::Missing => install("cryptsetup", "cryptsetup-bin", "cryptsetup", "cryptsetup"),
            CipherError::NoInterface(_) => {
                "try `modprobe algif_skcipher`; a kernel built without CONFIG_CRYPTO_USER_API_SKCIPHER cannot be measured this way"
                    .into()
            }
            CipherError::Run(_) | CipherError::Failed { .. } | CipherError::Store(_) => String::new(),
        };
        match error {
            CipherError::Store(error) => error.into(),
            error => Self::new(FINDINGS, error).hint(hint),
        }
    }
}
