# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_swaptune_global_optspecs
    string join \n json root= h/help V/version
end

function __fish_swaptune_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_swaptune_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_swaptune_using_subcommand
    set -l cmd (__fish_swaptune_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c swaptune -n "__fish_swaptune_needs_command" -l root -d 'Work on the machine below DIR (an image, a captured folder) instead of this one' -r -F
complete -c swaptune -n "__fish_swaptune_needs_command" -l json -d 'Print JSON for programs instead of text for people'
complete -c swaptune -n "__fish_swaptune_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c swaptune -n "__fish_swaptune_needs_command" -s V -l version -d 'Print version'
complete -c swaptune -n "__fish_swaptune_needs_command" -f -a "inspect" -d 'Show what this machine is: every fact with its source, or why it is absent'
complete -c swaptune -n "__fish_swaptune_needs_command" -f -a "status" -d 'Show what memory really is: applications, compressed pool, swap, capacity'
complete -c swaptune -n "__fish_swaptune_needs_command" -f -a "knobs" -d 'List every kernel setting that swaptune knows, with its live value'
complete -c swaptune -n "__fish_swaptune_needs_command" -f -a "plan" -d 'Show what would change, from what to what, when, and why; changes nothing'
complete -c swaptune -n "__fish_swaptune_needs_command" -f -a "apply" -d 'Carry the plan out: journalled, checked, reversible'
complete -c swaptune -n "__fish_swaptune_needs_command" -f -a "verify" -d 'Check that what was applied is in effect, and what else is wrong'
complete -c swaptune -n "__fish_swaptune_needs_command" -f -a "rollback" -d 'Undo an apply: files, live values, swap areas and boot entries'
complete -c swaptune -n "__fish_swaptune_needs_command" -f -a "history" -d 'List the applies and rollbacks of this machine'
complete -c swaptune -n "__fish_swaptune_needs_command" -f -a "sample" -d 'Show how well the pages of the running processes compress, and which of them are cold'
complete -c swaptune -n "__fish_swaptune_needs_command" -f -a "bench" -d 'Measure what this machine\'s codecs, disks, ciphers and swap paths really do'
complete -c swaptune -n "__fish_swaptune_needs_command" -f -a "simulate" -d 'Ask a model: which tiering is best for a workload, how many applications fit, what a trace misses'
complete -c swaptune -n "__fish_swaptune_needs_command" -f -a "service" -d 'Switch the applied configuration on or off; called by swaptune.service'
complete -c swaptune -n "__fish_swaptune_needs_command" -f -a "scratch_guardian" -d 'Put temporary settings back when the benchmark that made them is killed; started by the benchmark itself'
complete -c swaptune -n "__fish_swaptune_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c swaptune -n "__fish_swaptune_using_subcommand inspect" -l capture -d 'Copy just the files that were read into DIR: a test fixture, or an attachment to a bug report' -r -F
complete -c swaptune -n "__fish_swaptune_using_subcommand inspect" -l root -d 'Work on the machine below DIR (an image, a captured folder) instead of this one' -r -F
complete -c swaptune -n "__fish_swaptune_using_subcommand inspect" -l json -d 'Print JSON for programs instead of text for people'
complete -c swaptune -n "__fish_swaptune_using_subcommand inspect" -s h -l help -d 'Print help'
complete -c swaptune -n "__fish_swaptune_using_subcommand status" -l root -d 'Work on the machine below DIR (an image, a captured folder) instead of this one' -r -F
complete -c swaptune -n "__fish_swaptune_using_subcommand status" -l json -d 'Print JSON for programs instead of text for people'
complete -c swaptune -n "__fish_swaptune_using_subcommand status" -s h -l help -d 'Print help'
complete -c swaptune -n "__fish_swaptune_using_subcommand knobs" -l root -d 'Work on the machine below DIR (an image, a captured folder) instead of this one' -r -F
complete -c swaptune -n "__fish_swaptune_using_subcommand knobs" -l behaviours -d 'List what kernels do by themselves, since and until when, and whether this one does'
complete -c swaptune -n "__fish_swaptune_using_subcommand knobs" -l json -d 'Print JSON for programs instead of text for people'
complete -c swaptune -n "__fish_swaptune_using_subcommand knobs" -s h -l help -d 'Print help'
complete -c swaptune -n "__fish_swaptune_using_subcommand plan" -l profile -d 'Start from this profile: auto, idle-guide or off [default: as configured, else auto]' -r
complete -c swaptune -n "__fish_swaptune_using_subcommand plan" -l config -d 'Read this file instead of /etc/swaptune/config.toml and config.d/*.toml' -r -F
complete -c swaptune -n "__fish_swaptune_using_subcommand plan" -l set -d 'Set one value over everything else, for example vm.swappiness=100, zswap.pool=3G or safety.kubelet=allow' -r
complete -c swaptune -n "__fish_swaptune_using_subcommand plan" -l page-set -d 'Simulate pages with the sizes in FILE, of `swaptune sample --save` [default: shares and ratios of the newest sample]' -r -F
complete -c swaptune -n "__fish_swaptune_using_subcommand plan" -l app-size -d 'Simulate applications of this size, kept within 1/64 and 1/16 of RAM [default: the mean process of the newest sample]' -r
complete -c swaptune -n "__fish_swaptune_using_subcommand plan" -l seeds -d 'Simulate with so many seeds: their range is the uncertainty' -r
complete -c swaptune -n "__fish_swaptune_using_subcommand plan" -l wipe -d 'Plan as if mkswap were allowed on DEVICE whatever it carries now; `swaptune apply --wipe` does it' -r
complete -c swaptune -n "__fish_swaptune_using_subcommand plan" -l root -d 'Work on the machine below DIR (an image, a captured folder) instead of this one' -r -F
complete -c swaptune -n "__fish_swaptune_using_subcommand plan" -l measured -d 'Rest on what was measured on this machine, and fail when nothing was [default: if something was]'
complete -c swaptune -n "__fish_swaptune_using_subcommand plan" -l no-measured -d 'Rest on assumed figures only'
complete -c swaptune -n "__fish_swaptune_using_subcommand plan" -l now -d 'Only the running system; live settings go with a reboot, a swap file it made stays until `swaptune rollback`'
complete -c swaptune -n "__fish_swaptune_using_subcommand plan" -l boot -d 'Only what takes effect at the next boot'
complete -c swaptune -n "__fish_swaptune_using_subcommand plan" -l simulate -d 'First simulate what this machine could be set up as: how many idle applications fit with each candidate. What is clearly better than the rules is followed, and either is cited. Takes seconds; reads only'
complete -c swaptune -n "__fish_swaptune_using_subcommand plan" -l explain -d 'Show the evidence and origin of each line, and the files as differences'
complete -c swaptune -n "__fish_swaptune_using_subcommand plan" -l json -d 'Print JSON for programs instead of text for people'
complete -c swaptune -n "__fish_swaptune_using_subcommand plan" -s h -l help -d 'Print help'
complete -c swaptune -n "__fish_swaptune_using_subcommand apply" -l profile -d 'Start from this profile: auto, idle-guide or off [default: as configured, else auto]' -r
complete -c swaptune -n "__fish_swaptune_using_subcommand apply" -l config -d 'Read this file instead of /etc/swaptune/config.toml and config.d/*.toml' -r -F
complete -c swaptune -n "__fish_swaptune_using_subcommand apply" -l set -d 'Set one value over everything else, for example vm.swappiness=100, zswap.pool=3G or safety.kubelet=allow' -r
complete -c swaptune -n "__fish_swaptune_using_subcommand apply" -l page-set -d 'Simulate pages with the sizes in FILE, of `swaptune sample --save` [default: shares and ratios of the newest sample]' -r -F
complete -c swaptune -n "__fish_swaptune_using_subcommand apply" -l app-size -d 'Simulate applications of this size, kept within 1/64 and 1/16 of RAM [default: the mean process of the newest sample]' -r
complete -c swaptune -n "__fish_swaptune_using_subcommand apply" -l seeds -d 'Simulate with so many seeds: their range is the uncertainty' -r
complete -c swaptune -n "__fish_swaptune_using_subcommand apply" -l wipe -d 'Allow swap on the device or file PATH whatever it holds now' -r
complete -c swaptune -n "__fish_swaptune_using_subcommand apply" -l root -d 'Work on the machine below DIR (an image, a captured folder) instead of this one' -r -F
complete -c swaptune -n "__fish_swaptune_using_subcommand apply" -l measured -d 'Rest on what was measured on this machine, and fail when nothing was [default: if something was]'
complete -c swaptune -n "__fish_swaptune_using_subcommand apply" -l no-measured -d 'Rest on assumed figures only'
complete -c swaptune -n "__fish_swaptune_using_subcommand apply" -l now -d 'Only the running system; live settings go with a reboot, a swap file it made stays until `swaptune rollback`'
complete -c swaptune -n "__fish_swaptune_using_subcommand apply" -l boot -d 'Only what takes effect at the next boot'
complete -c swaptune -n "__fish_swaptune_using_subcommand apply" -l simulate -d 'First simulate what this machine could be set up as: how many idle applications fit with each candidate. What is clearly better than the rules is followed, and either is cited. Takes seconds; reads only'
complete -c swaptune -n "__fish_swaptune_using_subcommand apply" -s y -l yes -d 'Do not ask'
complete -c swaptune -n "__fish_swaptune_using_subcommand apply" -l resume -d 'Finish an apply that was interrupted'
complete -c swaptune -n "__fish_swaptune_using_subcommand apply" -l json -d 'Print JSON for programs instead of text for people'
complete -c swaptune -n "__fish_swaptune_using_subcommand apply" -s h -l help -d 'Print help'
complete -c swaptune -n "__fish_swaptune_using_subcommand verify" -l profile -d 'Start from this profile: auto, idle-guide or off [default: as configured, else auto]' -r
complete -c swaptune -n "__fish_swaptune_using_subcommand verify" -l config -d 'Read this file instead of /etc/swaptune/config.toml and config.d/*.toml' -r -F
complete -c swaptune -n "__fish_swaptune_using_subcommand verify" -l set -d 'Set one value over everything else, for example vm.swappiness=100, zswap.pool=3G or safety.kubelet=allow' -r
complete -c swaptune -n "__fish_swaptune_using_subcommand verify" -l root -d 'Work on the machine below DIR (an image, a captured folder) instead of this one' -r -F
complete -c swaptune -n "__fish_swaptune_using_subcommand verify" -l measured -d 'Rest on what was measured on this machine, and fail when nothing was [default: if something was]'
complete -c swaptune -n "__fish_swaptune_using_subcommand verify" -l no-measured -d 'Rest on assumed figures only'
complete -c swaptune -n "__fish_swaptune_using_subcommand verify" -l prove -d 'Push a few MiB of known pages through the kernel\'s swap and read where they went'
complete -c swaptune -n "__fish_swaptune_using_subcommand verify" -l json -d 'Print JSON for programs instead of text for people'
complete -c swaptune -n "__fish_swaptune_using_subcommand verify" -s h -l help -d 'Print help'
complete -c swaptune -n "__fish_swaptune_using_subcommand rollback" -l skip -d 'Leave the step with this number as it is and take back the rest; numbers as an error or `history` shows them' -r
complete -c swaptune -n "__fish_swaptune_using_subcommand rollback" -l root -d 'Work on the machine below DIR (an image, a captured folder) instead of this one' -r -F
complete -c swaptune -n "__fish_swaptune_using_subcommand rollback" -s y -l yes -d 'Do not ask'
complete -c swaptune -n "__fish_swaptune_using_subcommand rollback" -l json -d 'Print JSON for programs instead of text for people'
complete -c swaptune -n "__fish_swaptune_using_subcommand rollback" -s h -l help -d 'Print help'
complete -c swaptune -n "__fish_swaptune_using_subcommand history" -l root -d 'Work on the machine below DIR (an image, a captured folder) instead of this one' -r -F
complete -c swaptune -n "__fish_swaptune_using_subcommand history" -l json -d 'Print JSON for programs instead of text for people'
complete -c swaptune -n "__fish_swaptune_using_subcommand history" -s h -l help -d 'Print help'
complete -c swaptune -n "__fish_swaptune_using_subcommand sample" -l results -d 'Keep results in FILE [default: /var/lib/swaptune/measurements.jsonl, or below ~/.local/state without root]' -r -F
complete -c swaptune -n "__fish_swaptune_using_subcommand sample" -l pid -d 'Only these processes' -r
complete -c swaptune -n "__fish_swaptune_using_subcommand sample" -l unit -d 'Only the processes of this systemd unit (nginx means nginx.service; user@1000 is everything of that user)' -r
complete -c swaptune -n "__fish_swaptune_using_subcommand sample" -l cgroup -d 'Only the processes in this control group and below it' -r
complete -c swaptune -n "__fish_swaptune_using_subcommand sample" -l pages -d 'How many pages to draw' -r
complete -c swaptune -n "__fish_swaptune_using_subcommand sample" -l cold -d 'Also watch for SECONDS which pages are touched (root). Without idle page tracking in the kernel this clears the accessed marks of the processes, which for a while misleads reclaim: it takes all of their pages for unused' -r
complete -c swaptune -n "__fish_swaptune_using_subcommand sample" -l codec -d 'Only these codecs, with a level if not the kernel\'s own [default: lz4, lz4hc, zstd, zstd:1, deflate]' -r
complete -c swaptune -n "__fish_swaptune_using_subcommand sample" -l by -d 'One line a unit or a process [default: a unit where all processes are meant]' -r -f -a "unit\t'A systemd unit, where a process belongs to one'
process\t'A process'"
complete -c swaptune -n "__fish_swaptune_using_subcommand sample" -l save -d 'Keep the sizes and classes of all sampled pages in FILE, never what they hold' -r -F
complete -c swaptune -n "__fish_swaptune_using_subcommand sample" -l seed -d 'Draw the same pages again as long as processes do not change' -r
complete -c swaptune -n "__fish_swaptune_using_subcommand sample" -l record -d 'Instead of sampling, record which pages are used, as a trace for `swaptune simulate replay --trace FILE`: each page that was used between two looks is one access, in the order of processes and addresses; how often and in which order is not known. Each look clears the accessed marks of the processes, which for a while misleads reclaim, and their soft-dirty marks, by which CRIU tracks memory. Without idle page tracking in the kernel only the number of touched pages of each mapping is seen, and which they are is assumed: the summary says of how many accesses. Ctrl-C ends it early with a whole FILE' -r -F
complete -c swaptune -n "__fish_swaptune_using_subcommand sample" -l interval -d 'Time from one look of --record to the next: 500ms, 2s, 1m' -r
complete -c swaptune -n "__fish_swaptune_using_subcommand sample" -l for -d 'How long to record: 30s, 10m, 2h' -r
complete -c swaptune -n "__fish_swaptune_using_subcommand sample" -l root -d 'Work on the machine below DIR (an image, a captured folder) instead of this one' -r -F
complete -c swaptune -n "__fish_swaptune_using_subcommand sample" -l no-save -d 'Do not keep results'
complete -c swaptune -n "__fish_swaptune_using_subcommand sample" -l all -d 'All processes [default when none are named]'
complete -c swaptune -n "__fish_swaptune_using_subcommand sample" -l overwrite -d 'Let --record replace a FILE that is there'
complete -c swaptune -n "__fish_swaptune_using_subcommand sample" -l json -d 'Print JSON for programs instead of text for people'
complete -c swaptune -n "__fish_swaptune_using_subcommand sample" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and not __fish_seen_subcommand_from codecs disk cipher memory memory-helper swap list show help" -l results -d 'Keep results in FILE [default: /var/lib/swaptune/measurements.jsonl, or below ~/.local/state without root]' -r -F
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and not __fish_seen_subcommand_from codecs disk cipher memory memory-helper swap list show help" -l root -d 'Work on the machine below DIR (an image, a captured folder) instead of this one' -r -F
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and not __fish_seen_subcommand_from codecs disk cipher memory memory-helper swap list show help" -l no-save -d 'Do not keep results'
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and not __fish_seen_subcommand_from codecs disk cipher memory memory-helper swap list show help" -l json -d 'Print JSON for programs instead of text for people'
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and not __fish_seen_subcommand_from codecs disk cipher memory memory-helper swap list show help" -s h -l help -d 'Print help'
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and not __fish_seen_subcommand_from codecs disk cipher memory memory-helper swap list show help" -f -a "codecs" -d 'Compress pages with every codec: speed, ratio, what a pool would hold, which of them this kernel has'
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and not __fish_seen_subcommand_from codecs disk cipher memory memory-helper swap list show help" -f -a "disk" -d 'Measure a disk under the loads that swapping makes, with fio'
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and not __fish_seen_subcommand_from codecs disk cipher memory memory-helper swap list show help" -f -a "cipher" -d 'Measure this kernel\'s ciphers with cryptsetup, and say which suits swap'
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and not __fish_seen_subcommand_from codecs disk cipher memory memory-helper swap list show help" -f -a "memory" -d 'Measure how fast memory is accessed, in RAM and under pressure'
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and not __fish_seen_subcommand_from codecs disk cipher memory memory-helper swap list show help" -f -a "memory-helper" -d 'Access or hold memory for `bench memory`'
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and not __fish_seen_subcommand_from codecs disk cipher memory memory-helper swap list show help" -f -a "swap" -d 'Measure the kernel\'s own swap path: what a page costs on its way out and back, in zswap, zram and on a disk'
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and not __fish_seen_subcommand_from codecs disk cipher memory memory-helper swap list show help" -f -a "list" -d 'List the runs whose results are kept'
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and not __fish_seen_subcommand_from codecs disk cipher memory memory-helper swap list show help" -f -a "show" -d 'Show all results of a run, with their conditions'
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and not __fish_seen_subcommand_from codecs disk cipher memory memory-helper swap list show help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from codecs" -l pages-of -d 'Which pages: `live` (all processes that may be read), a file or folder, or synthetic:CLASS (text, compressible, random, zero)' -r
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from codecs" -l pages -d 'How many pages; of a larger source a random choice' -r
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from codecs" -l codec -d 'Only these codecs, with a level if not the kernel\'s own: lz4, lz4:17, zstd:1; with --kernel also lzo, lzo-rle, 842 [default: all, at the usual levels]' -r
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from codecs" -l threads -d 'Also measure on 2, 4, … up to N threads at once [default: one for each processor]' -r
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from codecs" -l seconds -d 'Measure each codec and direction for at least this long' -r
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from codecs" -l pool -d 'Say what a compressed pool of this size would hold' -r
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from codecs" -l dir -d 'Make the swap file that zswap needs in this folder; deleted in the end' -r -F
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from codecs" -l results -d 'Keep results in FILE [default: /var/lib/swaptune/measurements.jsonl, or below ~/.local/state without root]' -r -F
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from codecs" -l root -d 'Work on the machine below DIR (an image, a captured folder) instead of this one' -r -F
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from codecs" -l same-filled -d 'Compress same-filled pages too, which no kernel does'
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from codecs" -l kernel -d 'Also drive this kernel\'s own codecs: each algorithm of a scratch zram device, each compressor of zswap; needs root'
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from codecs" -l no-save -d 'Do not keep results'
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from codecs" -l json -d 'Print JSON for programs instead of text for people'
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from codecs" -s h -l help -d 'Print help'
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from disk" -l dir -d 'Measure a scratch file in DIR; several times for several disks [default: where a swap file is, else /var/tmp]' -r -F
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from disk" -l device -d 'Measure DEVICE, which must be an unused swap area: its header stays, what it held does not' -r
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from disk" -l wipe -d 'Measure DEVICE whatever it holds, and destroy that; refused while it is in use' -r
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from disk" -l areas -d 'Compare one area with N on the same disk; 1 compares nothing' -r
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from disk" -l jobs -d 'Numbers of jobs at once' -r
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from disk" -l seconds -d 'Length of one round of one point' -r
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from disk" -l rounds -d 'Rounds of each point; what is compared runs in turn' -r
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from disk" -l size -d 'What a load is spread over; scratch files take up to twice as much' -r
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from disk" -l p99 -d 'The longest that 99 of 100 reads may take' -r
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from disk" -l results -d 'Keep results in FILE [default: /var/lib/swaptune/measurements.jsonl, or below ~/.local/state without root]' -r -F
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from disk" -l root -d 'Work on the machine below DIR (an image, a captured folder) instead of this one' -r -F
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from disk" -l no-save -d 'Do not keep results'
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from disk" -l json -d 'Print JSON for programs instead of text for people'
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from disk" -s h -l help -d 'Print help'
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from cipher" -l results -d 'Keep results in FILE [default: /var/lib/swaptune/measurements.jsonl, or below ~/.local/state without root]' -r -F
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from cipher" -l root -d 'Work on the machine below DIR (an image, a captured folder) instead of this one' -r -F
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from cipher" -l no-save -d 'Do not keep results'
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from cipher" -l json -d 'Print JSON for programs instead of text for people'
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from cipher" -s h -l help -d 'Print help'
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from memory" -l size -d 'Size of the memory that is accessed [default: twice the limit, else 1G or a quarter of what is free]' -r
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from memory" -l data -d 'Contents of its pages: high (random bytes), low (i mod 8), zero' -r -f -a "high\t'Random bytes'
low\t'`i mod 8`'
zero\t'Zero bytes'"
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from memory" -l order -d 'Orders of access: sequential, random' -r -f -a "sequential\t'One after the other'
random\t'At random'"
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from memory" -l block -d '1 for byte by byte; larger ones are blocks, accessed word by word' -r
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from memory" -l threads -d 'Numbers of threads' -r
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from memory" -l limit -d 'Measure each pattern also in a control group with so much RAM; the rest is swapped' -r
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from memory" -l hog -d 'Measure each pattern also while another process holds so much RAM [default: 95 % of what is available]' -r
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from memory" -l seconds -d 'How long each pattern is accessed' -r
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from memory" -l swap -d 'Make swap for as long as it runs: zswap:COMPRESSOR, zswap:COMPRESSOR/ZPOOL, zram:ALGORITHM, disk' -r
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from memory" -l swap-dir -d 'Where a temporary swap file lies' -r -F
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from memory" -l results -d 'Keep results in FILE [default: /var/lib/swaptune/measurements.jsonl, or below ~/.local/state without root]' -r -F
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from memory" -l root -d 'Work on the machine below DIR (an image, a captured folder) instead of this one' -r -F
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from memory" -l write -d 'Write instead of read'
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from memory" -l no-save -d 'Do not keep results'
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from memory" -l json -d 'Print JSON for programs instead of text for people'
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from memory" -s h -l help -d 'Print help'
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from memory-helper" -l results -d 'Keep results in FILE [default: /var/lib/swaptune/measurements.jsonl, or below ~/.local/state without root]' -r -F
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from memory-helper" -l root -d 'Work on the machine below DIR (an image, a captured folder) instead of this one' -r -F
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from memory-helper" -l no-save -d 'Do not keep results'
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from memory-helper" -l json -d 'Print JSON for programs instead of text for people'
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from memory-helper" -s h -l help -d 'Print help'
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from swap" -l tier -d 'Only these tiers' -r -f -a "zswap\t'The pool of zswap'
zram\t'A zram device'
disk\t'A swap file or area, straight and by way of zswap'
all\t'All of them'"
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from swap" -l compressor -d 'Only these compressors, for zswap and zram [default: all that this kernel has]' -r
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from swap" -l class -d 'What is in the pages [default: what suits each tier]' -r -f -a "text\t'Words and small numbers, as application memory'
random\t'Random bytes, which do not compress'
same\t'One word over and over'
zero\t'Zero bytes'"
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from swap" -l pages -d 'Pages of each thread, for tiers in memory' -r
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from swap" -l disk-pages -d 'Pages of each thread, for tiers on a disk' -r
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from swap" -l threads -d 'Numbers of threads, each on pages of its own [default: 1 and one for each processor]' -r
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from swap" -l page-cluster -d 'Values of vm.page-cluster [default: 0, and 1 to 3 for the disk and one compressor]' -r
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from swap" -l areas -d 'Numbers of swap files on the disk [default: 1 and 8]' -r
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from swap" -l dir -d 'Make swap files in this folder: its disk is measured' -r -F
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from swap" -l device -d 'Use this swap area, which must not be in use, instead of swap files' -r -F
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from swap" -l rounds -d 'How often everything is measured, in changing order' -r
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from swap" -l results -d 'Keep results in FILE [default: /var/lib/swaptune/measurements.jsonl, or below ~/.local/state without root]' -r -F
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from swap" -l root -d 'Work on the machine below DIR (an image, a captured folder) instead of this one' -r -F
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from swap" -l quick -d 'One round of few pages: a look, no figures to rest on'
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from swap" -l no-save -d 'Do not keep results'
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from swap" -l json -d 'Print JSON for programs instead of text for people'
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from swap" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from list" -l results -d 'Keep results in FILE [default: /var/lib/swaptune/measurements.jsonl, or below ~/.local/state without root]' -r -F
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from list" -l root -d 'Work on the machine below DIR (an image, a captured folder) instead of this one' -r -F
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from list" -l no-save -d 'Do not keep results'
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from list" -l json -d 'Print JSON for programs instead of text for people'
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from show" -l results -d 'Keep results in FILE [default: /var/lib/swaptune/measurements.jsonl, or below ~/.local/state without root]' -r -F
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from show" -l root -d 'Work on the machine below DIR (an image, a captured folder) instead of this one' -r -F
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from show" -l no-save -d 'Do not keep results'
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from show" -l json -d 'Print JSON for programs instead of text for people'
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help'
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from help" -f -a "codecs" -d 'Compress pages with every codec: speed, ratio, what a pool would hold, which of them this kernel has'
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from help" -f -a "disk" -d 'Measure a disk under the loads that swapping makes, with fio'
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from help" -f -a "cipher" -d 'Measure this kernel\'s ciphers with cryptsetup, and say which suits swap'
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from help" -f -a "memory" -d 'Measure how fast memory is accessed, in RAM and under pressure'
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from help" -f -a "memory-helper" -d 'Access or hold memory for `bench memory`'
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from help" -f -a "swap" -d 'Measure the kernel\'s own swap path: what a page costs on its way out and back, in zswap, zram and on a disk'
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from help" -f -a "list" -d 'List the runs whose results are kept'
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from help" -f -a "show" -d 'Show all results of a run, with their conditions'
complete -c swaptune -n "__fish_swaptune_using_subcommand bench; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c swaptune -n "__fish_swaptune_using_subcommand simulate; and not __fish_seen_subcommand_from run fit replay convert list help" -l root -d 'Work on the machine below DIR (an image, a captured folder) instead of this one' -r -F
complete -c swaptune -n "__fish_swaptune_using_subcommand simulate; and not __fish_seen_subcommand_from run fit replay convert list help" -l json -d 'Print JSON for programs instead of text for people'
complete -c swaptune -n "__fish_swaptune_using_subcommand simulate; and not __fish_seen_subcommand_from run fit replay convert list help" -s h -l help -d 'Print help'
complete -c swaptune -n "__fish_swaptune_using_subcommand simulate; and not __fish_seen_subcommand_from run fit replay convert list help" -f -a "run" -d 'Run a workload on several tierings of RAM, pool and disk: time, stalls, faults, disk traffic'
complete -c swaptune -n "__fish_swaptune_using_subcommand simulate; and not __fish_seen_subcommand_from run fit replay convert list help" -f -a "fit" -d 'Find how many idle applications fit before their wakes take too long, for each tiering'
complete -c swaptune -n "__fish_swaptune_using_subcommand simulate; and not __fish_seen_subcommand_from run fit replay convert list help" -f -a "replay" -d 'Count exactly what a trace misses under lru, fifo and clock, for several sizes of memory'
complete -c swaptune -n "__fish_swaptune_using_subcommand simulate; and not __fish_seen_subcommand_from run fit replay convert list help" -f -a "convert" -d 'Write a trace, read or generated, in another format'
complete -c swaptune -n "__fish_swaptune_using_subcommand simulate; and not __fish_seen_subcommand_from run fit replay convert list help" -f -a "list" -d 'List how tierings are written, policies, devices, codecs, metrics, generators with their parameters, and formats'
complete -c swaptune -n "__fish_swaptune_using_subcommand simulate; and not __fish_seen_subcommand_from run fit replay convert list help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c swaptune -n "__fish_swaptune_using_subcommand simulate; and __fish_seen_subcommand_from run" -l trace -d 'Read the accesses from FILE, zstd-compressed or not: a recording of `swaptune sample`, of perf or of damo, CSV, libCacheSim\'s records; `-` is standard input' -r -F
complete -c swaptune -n "__fish_swaptune_using_subcommand simulate; and __fish_seen_subcommand_from run" -l generate -d 'Generate the accesses, for example zipf:pages=100k,events=2M,seed=7; `swaptune simulate list` shows all generators' -r
complete -c swaptune -n "__fish_swaptune_using_subcommand simulate; and __fish_seen_subcommand_from run" -l format -d 'Format of the trace: swaptune, text, oracle-general, perf or damo [default: what its first bytes tell]' -r
complete -c swaptune -n "__fish_swaptune_using_subcommand simulate; and __fish_seen_subcommand_from run" -l columns -d 'Fields of a line of text, for example time_us=1,page=3,op=4 [default: the names in its first line]' -r
complete -c swaptune -n "__fish_swaptune_using_subcommand simulate; and __fish_seen_subcommand_from run" -l ram -d 'RAM of the machine: 4G, 50% of the workload\'s pages, or this: what this machine has [default: 25%, 50% and 75%]' -r
complete -c swaptune -n "__fish_swaptune_using_subcommand simulate; and __fish_seen_subcommand_from run" -l tiering -d 'Run this tiering, from its fastest tier to its slowest: zswap:zstd:30%,disk:nvme:8G; now: as this machine is set up. Repeat it to compare several [default: disk, zram before disk, zswap before disk, the same with the shrinker]' -r
complete -c swaptune -n "__fish_swaptune_using_subcommand simulate; and __fish_seen_subcommand_from run" -l write-back -d 'Run every tiering with zswap once for each of these write-back policies: limit, shrinker, …' -r
complete -c swaptune -n "__fish_swaptune_using_subcommand simulate; and __fish_seen_subcommand_from run" -l set -d 'Give a key of the scenario another value: scale=8, machine.kernel=6.12, tiering.*.zswap.limit=30' -r
complete -c swaptune -n "__fish_swaptune_using_subcommand simulate; and __fish_seen_subcommand_from run" -l page-set -d 'Take compressed sizes of pages from FILE, written by `swaptune sample --save FILE`' -r -F
complete -c swaptune -n "__fish_swaptune_using_subcommand simulate; and __fish_seen_subcommand_from run" -l threads -d 'Threads to work on [default: one for each processor]' -r
complete -c swaptune -n "__fish_swaptune_using_subcommand simulate; and __fish_seen_subcommand_from run" -l sweep -d 'Run with several values of a key instead of the scenario\'s own sweep: A..B (nine), A..B:STEP, or A,B,C' -r
complete -c swaptune -n "__fish_swaptune_using_subcommand simulate; and __fish_seen_subcommand_from run" -l report -d 'Columns of the table; `swaptune simulate list` shows all metrics [default: the scenario\'s, else those that can differ]' -r
complete -c swaptune -n "__fish_swaptune_using_subcommand simulate; and __fish_seen_subcommand_from run" -l write-scenario -d 'Run nothing; write the scenario that the flags make to FILE, which ends in .toml' -r -F
complete -c swaptune -n "__fish_swaptune_using_subcommand simulate; and __fish_seen_subcommand_from run" -l root -d 'Work on the machine below DIR (an image, a captured folder) instead of this one' -r -F
complete -c swaptune -n "__fish_swaptune_using_subcommand simulate; and __fish_seen_subcommand_from run" -l measured -d 'Take times of codecs, of the swap path and of disks from the results of this machine, and cite the run of each'
complete -c swaptune -n "__fish_swaptune_using_subcommand simulate; and __fish_seen_subcommand_from run" -l csv -d 'Print comma-separated values'
complete -c swaptune -n "__fish_swaptune_using_subcommand simulate; and __fish_seen_subcommand_from run" -l json -d 'Print JSON for programs instead of text for people'
complete -c swaptune -n "__fish_swaptune_using_subcommand simulate; and __fish_seen_subcommand_from run" -s h -l help -d 'Print help'
complete -c swaptune -n "__fish_swaptune_using_subcommand simulate; and __fish_seen_subcommand_from fit" -l within -d 'Longest time that 99 % of the wakes may take' -r
complete -c swaptune -n "__fish_swaptune_using_subcommand simulate; and __fish_seen_subcommand_from fit" -l generate -d 'Generate these applications [default: idle:pages=25k,seconds=900,wake=120, 100 MB each]' -r
complete -c swaptune -n "__fish_swaptune_using_subcommand simulate; and __fish_seen_subcommand_from fit" -l ram -d 'RAM of the machine: 4G, or this: what this machine has [default: 4G]' -r
complete -c swaptune -n "__fish_swaptune_using_subcommand simulate; and __fish_seen_subcommand_from fit" -l tiering -d 'Run this tiering, from its fastest tier to its slowest: zswap:zstd:30%,disk:nvme:8G; now: as this machine is set up. Repeat it to compare several [default: disk, zram before disk, zswap before disk, the same with the shrinker]' -r
complete -c swaptune -n "__fish_swaptune_using_subcommand simulate; and __fish_seen_subcommand_from fit" -l write-back -d 'Run every tiering with zswap once for each of these write-back policies: limit, shrinker, …' -r
complete -c swaptune -n "__fish_swaptune_using_subcommand simulate; and __fish_seen_subcommand_from fit" -l set -d 'Give a key of the scenario another value: scale=8, machine.kernel=6.12, tiering.*.zswap.limit=30' -r
complete -c swaptune -n "__fish_swaptune_using_subcommand simulate; and __fish_seen_subcommand_from fit" -l page-set -d 'Take compressed sizes of pages from FILE, written by `swaptune sample --save FILE`' -r -F
complete -c swaptune -n "__fish_swaptune_using_subcommand simulate; and __fish_seen_subcommand_from fit" -l threads -d 'Threads to work on [default: one for each processor]' -r
complete -c swaptune -n "__fish_swaptune_using_subcommand simulate; and __fish_seen_subcommand_from fit" -l root -d 'Work on the machine below DIR (an image, a captured folder) instead of this one' -r -F
complete -c swaptune -n "__fish_swaptune_using_subcommand simulate; and __fish_seen_subcommand_from fit" -l measured -d 'Take times of codecs, of the swap path and of disks from the results of this machine, and cite the run of each'
complete -c swaptune -n "__fish_swaptune_using_subcommand simulate; and __fish_seen_subcommand_from fit" -l csv -d 'Print comma-separated values'
complete -c swaptune -n "__fish_swaptune_using_subcommand simulate; and __fish_seen_subcommand_from fit" -l json -d 'Print JSON for programs instead of text for people'
complete -c swaptune -n "__fish_swaptune_using_subcommand simulate; and __fish_seen_subcommand_from fit" -s h -l help -d 'Print help'
complete -c swaptune -n "__fish_swaptune_using_subcommand simulate; and __fish_seen_subcommand_from replay" -l trace -d 'Read the accesses from FILE, zstd-compressed or not: a recording of `swaptune sample`, of perf or of damo, CSV, libCacheSim\'s records; `-` is standard input' -r -F
complete -c swaptune -n "__fish_swaptune_using_subcommand simulate; and __fish_seen_subcommand_from replay" -l generate -d 'Generate the accesses, for example zipf:pages=100k,events=2M,seed=7; `swaptune simulate list` shows all generators' -r
complete -c swaptune -n "__fish_swaptune_using_subcommand simulate; and __fish_seen_subcommand_from replay" -l format -d 'Format of the trace: swaptune, text, oracle-general, perf or damo [default: what its first bytes tell]' -r
complete -c swaptune -n "__fish_swaptune_using_subcommand simulate; and __fish_seen_subcommand_from replay" -l columns -d 'Fields of a line of text, for example time_us=1,page=3,op=4 [default: the names in its first line]' -r
complete -c swaptune -n "__fish_swaptune_using_subcommand simulate; and __fish_seen_subcommand_from replay" -l policy -d 'Evict by these policies: lru, fifo, clock [default: all]' -r
complete -c swaptune -n "__fish_swaptune_using_subcommand simulate; and __fish_seen_subcommand_from replay" -l size -d 'Sizes of memory: pages (1000, 64k), percent of the trace\'s pages (10%), or a range with a number of steps (1%..100%:20)' -r
complete -c swaptune -n "__fish_swaptune_using_subcommand simulate; and __fish_seen_subcommand_from replay" -l curve -d 'The miss-ratio curve of lru: all sizes for the price of a few; sampled looks at a part of the pages only' -r -f -a "exact\t'Every access counts'
sampled\t'A sample of the pages'"
complete -c swaptune -n "__fish_swaptune_using_subcommand simulate; and __fish_seen_subcommand_from replay" -l rate -d 'Share of the pages that a sampled curve looks at, the same for all sizes [default: more for small sizes, all below 20000 pages]. With 0.01 small sizes are off by up to two points' -r
complete -c swaptune -n "__fish_swaptune_using_subcommand simulate; and __fish_seen_subcommand_from replay" -l threads -d 'Threads to work on [default: one for each processor]' -r
complete -c swaptune -n "__fish_swaptune_using_subcommand simulate; and __fish_seen_subcommand_from replay" -l root -d 'Work on the machine below DIR (an image, a captured folder) instead of this one' -r -F
complete -c swaptune -n "__fish_swaptune_using_subcommand simulate; and __fish_seen_subcommand_from replay" -l csv -d 'Print comma-separated values'
complete -c swaptune -n "__fish_swaptune_using_subcommand simulate; and __fish_seen_subcommand_from replay" -l json -d 'Print JSON for programs instead of text for people'
complete -c swaptune -n "__fish_swaptune_using_subcommand simulate; and __fish_seen_subcommand_from replay" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c swaptune -n "__fish_swaptune_using_subcommand simulate; and __fish_seen_subcommand_from convert" -l trace -d 'Read the accesses from FILE, zstd-compressed or not: a recording of `swaptune sample`, of perf or of damo, CSV, libCacheSim\'s records; `-` is standard input' -r -F
complete -c swaptune -n "__fish_swaptune_using_subcommand simulate; and __fish_seen_subcommand_from convert" -l generate -d 'Generate the accesses, for example zipf:pages=100k,events=2M,seed=7; `swaptune simulate list` shows all generators' -r
complete -c swaptune -n "__fish_swaptune_using_subcommand simulate; and __fish_seen_subcommand_from convert" -l format -d 'Format of the trace: swaptune, text, oracle-general, perf or damo [default: what its first bytes tell]' -r
complete -c swaptune -n "__fish_swaptune_using_subcommand simulate; and __fish_seen_subcommand_from convert" -l columns -d 'Fields of a line of text, for example time_us=1,page=3,op=4 [default: the names in its first line]' -r
complete -c swaptune -n "__fish_swaptune_using_subcommand simulate; and __fish_seen_subcommand_from convert" -l output -d 'Write it to FILE, in the format of its ending: .swtrace, .csv or .oracleGeneral' -r -F
complete -c swaptune -n "__fish_swaptune_using_subcommand simulate; and __fish_seen_subcommand_from convert" -l root -d 'Work on the machine below DIR (an image, a captured folder) instead of this one' -r -F
complete -c swaptune -n "__fish_swaptune_using_subcommand simulate; and __fish_seen_subcommand_from convert" -l json -d 'Print JSON for programs instead of text for people'
complete -c swaptune -n "__fish_swaptune_using_subcommand simulate; and __fish_seen_subcommand_from convert" -s h -l help -d 'Print help'
complete -c swaptune -n "__fish_swaptune_using_subcommand simulate; and __fish_seen_subcommand_from list" -l root -d 'Work on the machine below DIR (an image, a captured folder) instead of this one' -r -F
complete -c swaptune -n "__fish_swaptune_using_subcommand simulate; and __fish_seen_subcommand_from list" -l json -d 'Print JSON for programs instead of text for people'
complete -c swaptune -n "__fish_swaptune_using_subcommand simulate; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c swaptune -n "__fish_swaptune_using_subcommand simulate; and __fish_seen_subcommand_from help" -f -a "run" -d 'Run a workload on several tierings of RAM, pool and disk: time, stalls, faults, disk traffic'
complete -c swaptune -n "__fish_swaptune_using_subcommand simulate; and __fish_seen_subcommand_from help" -f -a "fit" -d 'Find how many idle applications fit before their wakes take too long, for each tiering'
complete -c swaptune -n "__fish_swaptune_using_subcommand simulate; and __fish_seen_subcommand_from help" -f -a "replay" -d 'Count exactly what a trace misses under lru, fifo and clock, for several sizes of memory'
complete -c swaptune -n "__fish_swaptune_using_subcommand simulate; and __fish_seen_subcommand_from help" -f -a "convert" -d 'Write a trace, read or generated, in another format'
complete -c swaptune -n "__fish_swaptune_using_subcommand simulate; and __fish_seen_subcommand_from help" -f -a "list" -d 'List how tierings are written, policies, devices, codecs, metrics, generators with their parameters, and formats'
complete -c swaptune -n "__fish_swaptune_using_subcommand simulate; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c swaptune -n "__fish_swaptune_using_subcommand service" -l root -d 'Work on the machine below DIR (an image, a captured folder) instead of this one' -r -F
complete -c swaptune -n "__fish_swaptune_using_subcommand service" -l json -d 'Print JSON for programs instead of text for people'
complete -c swaptune -n "__fish_swaptune_using_subcommand service" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c swaptune -n "__fish_swaptune_using_subcommand scratch_guardian" -l root -d 'Work on the machine below DIR (an image, a captured folder) instead of this one' -r -F
complete -c swaptune -n "__fish_swaptune_using_subcommand scratch_guardian" -l json -d 'Print JSON for programs instead of text for people'
complete -c swaptune -n "__fish_swaptune_using_subcommand scratch_guardian" -s h -l help -d 'Print help'
complete -c swaptune -n "__fish_swaptune_using_subcommand help; and not __fish_seen_subcommand_from inspect status knobs plan apply verify rollback history sample bench simulate service scratch_guardian help" -f -a "inspect" -d 'Show what this machine is: every fact with its source, or why it is absent'
complete -c swaptune -n "__fish_swaptune_using_subcommand help; and not __fish_seen_subcommand_from inspect status knobs plan apply verify rollback history sample bench simulate service scratch_guardian help" -f -a "status" -d 'Show what memory really is: applications, compressed pool, swap, capacity'
complete -c swaptune -n "__fish_swaptune_using_subcommand help; and not __fish_seen_subcommand_from inspect status knobs plan apply verify rollback history sample bench simulate service scratch_guardian help" -f -a "knobs" -d 'List every kernel setting that swaptune knows, with its live value'
complete -c swaptune -n "__fish_swaptune_using_subcommand help; and not __fish_seen_subcommand_from inspect status knobs plan apply verify rollback history sample bench simulate service scratch_guardian help" -f -a "plan" -d 'Show what would change, from what to what, when, and why; changes nothing'
complete -c swaptune -n "__fish_swaptune_using_subcommand help; and not __fish_seen_subcommand_from inspect status knobs plan apply verify rollback history sample bench simulate service scratch_guardian help" -f -a "apply" -d 'Carry the plan out: journalled, checked, reversible'
complete -c swaptune -n "__fish_swaptune_using_subcommand help; and not __fish_seen_subcommand_from inspect status knobs plan apply verify rollback history sample bench simulate service scratch_guardian help" -f -a "verify" -d 'Check that what was applied is in effect, and what else is wrong'
complete -c swaptune -n "__fish_swaptune_using_subcommand help; and not __fish_seen_subcommand_from inspect status knobs plan apply verify rollback history sample bench simulate service scratch_guardian help" -f -a "rollback" -d 'Undo an apply: files, live values, swap areas and boot entries'
complete -c swaptune -n "__fish_swaptune_using_subcommand help; and not __fish_seen_subcommand_from inspect status knobs plan apply verify rollback history sample bench simulate service scratch_guardian help" -f -a "history" -d 'List the applies and rollbacks of this machine'
complete -c swaptune -n "__fish_swaptune_using_subcommand help; and not __fish_seen_subcommand_from inspect status knobs plan apply verify rollback history sample bench simulate service scratch_guardian help" -f -a "sample" -d 'Show how well the pages of the running processes compress, and which of them are cold'
complete -c swaptune -n "__fish_swaptune_using_subcommand help; and not __fish_seen_subcommand_from inspect status knobs plan apply verify rollback history sample bench simulate service scratch_guardian help" -f -a "bench" -d 'Measure what this machine\'s codecs, disks, ciphers and swap paths really do'
complete -c swaptune -n "__fish_swaptune_using_subcommand help; and not __fish_seen_subcommand_from inspect status knobs plan apply verify rollback history sample bench simulate service scratch_guardian help" -f -a "simulate" -d 'Ask a model: which tiering is best for a workload, how many applications fit, what a trace misses'
complete -c swaptune -n "__fish_swaptune_using_subcommand help; and not __fish_seen_subcommand_from inspect status knobs plan apply verify rollback history sample bench simulate service scratch_guardian help" -f -a "service" -d 'Switch the applied configuration on or off; called by swaptune.service'
complete -c swaptune -n "__fish_swaptune_using_subcommand help; and not __fish_seen_subcommand_from inspect status knobs plan apply verify rollback history sample bench simulate service scratch_guardian help" -f -a "scratch_guardian" -d 'Put temporary settings back when the benchmark that made them is killed; started by the benchmark itself'
complete -c swaptune -n "__fish_swaptune_using_subcommand help; and not __fish_seen_subcommand_from inspect status knobs plan apply verify rollback history sample bench simulate service scratch_guardian help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c swaptune -n "__fish_swaptune_using_subcommand help; and __fish_seen_subcommand_from bench" -f -a "codecs" -d 'Compress pages with every codec: speed, ratio, what a pool would hold, which of them this kernel has'
complete -c swaptune -n "__fish_swaptune_using_subcommand help; and __fish_seen_subcommand_from bench" -f -a "disk" -d 'Measure a disk under the loads that swapping makes, with fio'
complete -c swaptune -n "__fish_swaptune_using_subcommand help; and __fish_seen_subcommand_from bench" -f -a "cipher" -d 'Measure this kernel\'s ciphers with cryptsetup, and say which suits swap'
complete -c swaptune -n "__fish_swaptune_using_subcommand help; and __fish_seen_subcommand_from bench" -f -a "memory" -d 'Measure how fast memory is accessed, in RAM and under pressure'
complete -c swaptune -n "__fish_swaptune_using_subcommand help; and __fish_seen_subcommand_from bench" -f -a "memory-helper" -d 'Access or hold memory for `bench memory`'
complete -c swaptune -n "__fish_swaptune_using_subcommand help; and __fish_seen_subcommand_from bench" -f -a "swap" -d 'Measure the kernel\'s own swap path: what a page costs on its way out and back, in zswap, zram and on a disk'
complete -c swaptune -n "__fish_swaptune_using_subcommand help; and __fish_seen_subcommand_from bench" -f -a "list" -d 'List the runs whose results are kept'
complete -c swaptune -n "__fish_swaptune_using_subcommand help; and __fish_seen_subcommand_from bench" -f -a "show" -d 'Show all results of a run, with their conditions'
complete -c swaptune -n "__fish_swaptune_using_subcommand help; and __fish_seen_subcommand_from simulate" -f -a "run" -d 'Run a workload on several tierings of RAM, pool and disk: time, stalls, faults, disk traffic'
complete -c swaptune -n "__fish_swaptune_using_subcommand help; and __fish_seen_subcommand_from simulate" -f -a "fit" -d 'Find how many idle applications fit before their wakes take too long, for each tiering'
complete -c swaptune -n "__fish_swaptune_using_subcommand help; and __fish_seen_subcommand_from simulate" -f -a "replay" -d 'Count exactly what a trace misses under lru, fifo and clock, for several sizes of memory'
complete -c swaptune -n "__fish_swaptune_using_subcommand help; and __fish_seen_subcommand_from simulate" -f -a "convert" -d 'Write a trace, read or generated, in another format'
complete -c swaptune -n "__fish_swaptune_using_subcommand help; and __fish_seen_subcommand_from simulate" -f -a "list" -d 'List how tierings are written, policies, devices, codecs, metrics, generators with their parameters, and formats'
