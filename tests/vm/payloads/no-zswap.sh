
# A kernel that is built without zswap: the plan offers something else and says why.
expect "zswap" absent "$([ -d $ZSWAP ] && echo present || echo absent)"
quiet_status 0 swaptune inspect
expect_line "inspect says that zswap is missing" "zswap.*\(absent\|not\|no \|without\)" /run/last-output
expect_status 0 swaptune status
expect_line "status says that there is none" "zswap: none" /run/last-output
for profile in auto idle-guide; do
	expect_status 0 swaptune plan --explain --profile $profile
	expect_line "$profile: the plan speaks of zswap" "zswap" /run/last-output
	expect_line "$profile: the plan offers zram or swap" "zram\|swap " /run/last-output
done
live_state > /run/before
expect_status 0 swaptune apply --now --yes --profile auto
expect_line "there is swap now" "^/" /proc/swaps
expect_status 0 swaptune rollback --yes
live_state > /run/after
expect_same "live state after rollback" /run/before /run/after
finish
