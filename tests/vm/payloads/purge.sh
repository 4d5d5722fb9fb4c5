
# purge_package [PATTERN]: the package goes, with all that it has applied; live settings that match the pattern are not compared.
purge_package() {
	expect_status 0 env DEBIAN_FRONTEND=noninteractive dpkg --purge swaptune
	cp /run/last-output /run/purged
	remains=$(find / -xdev -iname '*swaptune*' -not -path '/run/*' -not -path '/mnt/*' -not -path '/var/lib/guest-test/*' | sort)
	expect "files after purge" "" "$remains"
	sync
	file_state > /run/files
	expect_same "files after purge" $STORE/files /run/files
	live_state | grep -v "${1:-^\$}" > /run/live
	grep -v "${1:-^\$}" $STORE/live > /run/live-wanted
	expect_same "live state after purge" /run/live-wanted /run/live
}
