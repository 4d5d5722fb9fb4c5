//! The command that carries out what a plan shows.

use std::path::PathBuf;

use crate::cli::PlanArgs;

/// What to type: the file where there is one, else until the next boot where it has live changes, else as it is.
pub fn command(args: &PlanArgs, live: bool) -> String {
    if let Some(path) = &args.out {
        return format!("sudo swaptune apply --plan {}", path.display());
    }
    let mut words = vec!["sudo swaptune apply".to_owned()];
    let mut flag = |name: &str, value: Option<String>| words.extend(value.map(|value| format!("{name} {value}")));
    let path = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
    flag("--profile", args.wanted.profile.clone());
    flag("--config", path(&args.wanted.config));
    args.wanted.set.iter().for_each(|set| flag("--set", Some(set.clone())));
    args.wipe.iter().for_each(|device| flag("--wipe", Some(device.clone())));
    flag("--page-set", path(&args.simulated.page_set));
    flag("--app-size", args.simulated.app_size.map(|size| size.0.to_string()));
    let switches = [
        ("--adopt", args.wanted.adopt),
        ("--measured", args.wanted.measured),
        ("--no-measured", args.wanted.no_measured),
        ("--simulate", args.simulated.simulate),
        ("--boot", args.when.boot),
        ("--now", live && !args.when.boot),
    ];
    words.extend(switches.iter().filter(|(_, on)| *on).map(|(name, _)| (*name).to_owned()));
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::{Cli, Command};

    #[test]
    fn what_is_to_be_typed_is_understood_and_the_same() {
        let plan = |words: &str| match Cli::parse_from(words.split_whitespace()).command {
            Command::Plan(args) => args,
            other => panic!("{other:?}"),
        };
        let words =
            "--profile auto --set vm.swappiness=100 --wipe /dev/vdb --page-set p.json --app-size 62914560 --measured --simulate";
        let args = plan(&format!("swaptune plan --explain {words}"));
        for (live, last) in [(true, " --now"), (false, "")] {
            let typed = command(&args, live);
            assert_eq!(typed, format!("sudo swaptune apply {words}{last}"));
            let Command::Apply(apply) = Cli::parse_from(typed.split_whitespace().skip(1)).command else { panic!("{typed}") };
            assert_eq!((apply.when.now, apply.wanted.set, apply.wipe), (live, args.wanted.set.clone(), args.wipe.clone()));
        }
        assert_eq!(command(&plan("swaptune plan --adopt"), false), "sudo swaptune apply --adopt");
        assert_eq!(command(&plan("swaptune plan --boot"), true), "sudo swaptune apply --boot");
        assert_eq!(command(&plan("swaptune plan --boot --out p.json"), true), "sudo swaptune apply --plan p.json");
        assert_eq!(command(&plan("swaptune plan --now"), true), "sudo swaptune apply --now");
    }
}
