//! `capture-hosts OUTDIR [HOST…]`: writes fixtures of real machines, one folder each.
//!
//! Without names all known machines are captured, one after the other.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use swaptune_vm::hosts::{HOSTS, Host};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((folder, names)) = arguments.split_first() else {
        eprintln!("usage: capture-hosts OUTDIR [HOST...]\nhosts:");
        for host in HOSTS {
            eprintln!("  {}", host.name);
        }
        return ExitCode::from(2);
    };
    let mut failed = false;
    for result in selected(names) {
        if let Err(error) = result.and_then(|host| capture(host, Path::new(folder))) {
            eprintln!("{error:#}");
            failed = true;
        }
    }
    ExitCode::from(u8::from(failed))
}

fn selected(names: &[String]) -> Vec<Result<Host>> {
    if names.is_empty() {
        return HOSTS.into_iter().map(Ok).collect();
    }
    names.iter().map(|name| Host::named(name)).collect()
}

fn capture(host: Host, folder: &Path) -> Result<()> {
    let target = folder.join(host.name);
    host.capture(&target)?;
    println!("{}", target.display());
    Ok(())
}
