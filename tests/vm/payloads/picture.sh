
# Nothing but a picture of the system, twice in one boot and kept for the next one.
STORE=/var/lib/guest-test
mkdir -p $STORE
expect "system" running "$(systemctl is-system-running --wait)"
file_state > /run/files
live_state > /run/live
if [ -f $STORE/files ]; then
	expect_same "files" $STORE/files /run/files
	expect_same "live state" $STORE/live /run/live
else
	cp /run/files /run/live $STORE
fi
wc -l /run/files /run/live
finish
