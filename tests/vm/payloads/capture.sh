
# The files that swaptune reads, copied into a folder: a test fixture of this machine.
[ -f swaptune ] && install -m 755 swaptune /usr/local/bin/swaptune
[ -f /prelude ] && . /prelude
command -v systemctl > /dev/null && systemctl is-system-running --wait
expect_status 0 swaptune inspect --capture /run/capture
bring_out capture /run/capture
finish
