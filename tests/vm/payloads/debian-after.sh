
# Third boot, with every disk: as if swaptune had never been here.
STORE=/var/lib/guest-test
expect "system" running "$(systemctl is-system-running --wait)"
file_state > /run/files
expect_same "files" $STORE/files /run/files
live_state > /run/live
expect_same "live state" $STORE/live /run/live
finish
