
# From nothing to a configuration in one sitting; then what was kept and what was tried before it are taken back.
install -m 755 swaptune /usr/local/bin/swaptune
systemctl is-system-running --wait
# An application beside the few small ones of an idle system: without, what fits is counted in hundreds, which takes emulation minutes.
install -m 755 guest-tool /usr/local/bin/guest-tool
guest-tool hold 96 c > /run/holder &
holder=$!
wait_for ready
file_state > /run/files-before
live_state > /run/live-before
expect_status 0 swaptune quickstart --yes
expect_line "it was proved" "Proof: " /run/last-output
expect "service" enabled "$(systemctl is-enabled swaptune)"
expect_status 0 swaptune verify --prove
expect_line "pages went through what compresses" "as planned: .*text pages in \(zram\|zswap\)" /run/last-output
expect_status 0 swaptune status
expect_line "what it brought is told" "^Since apply" /run/last-output
expect_status 0 swaptune plan
# Whichever of the choices the simulation prefers on this machine, plan does not propose another that holds less.
expect_line "nothing is left to do" "^Nothing" /run/last-output
for what in kept tried; do
	expect_status 0 swaptune rollback --yes
done
file_state > /run/files
expect_same "files after rollback" /run/files-before /run/files
live_state > /run/live
expect_same "live state after rollback" /run/live-before /run/live
kill $holder
finish
