#!/bin/sh
# Installs the Debian packages that the tests need. Safe to run again: it
# does nothing, quickly, when all of them are there. Needs root only to install.
set -eu

# What each package is for; keep this list to what tests really call.
#   qemu-system-x86 seabios     the machines
#   busybox-static cpio         the minimal guest's initramfs
#   kmod xz-utils zstd          modules of Debian's kernels
#   mmdebstrap fdisk e2fsprogs  a whole Debian and its disk image
#   dosfstools mtools ovmf      the same for EFI firmware
#   debian-archive-keyring      the signatures on both
#   qemu-user-static qemu-system-arm
#                               swaptune built for other processors
#   lintian                     the Debian package
#   util-linux                  flock, setpriv, mkswap, unshare
#   gcc libc6-dev               static linking of swaptune for the guests
#   fio mount                   bench disk, and losetup for a device of its own
#   cryptsetup-bin              bench cipher
#   nix-bin                     evaluates the module that emit writes for NixOS
#   groff-base                  the man pages that make install writes
#   prometheus                  promtool, which checks metrics and alerts (its
#                               service, which nothing here uses, comes with it)
#   python3-venv                ansible-core and Ray, which run what is in contrib
#   openssh-client              ansible's way into guests
#   chromium-headless-shell     the browser that reads reports (--html)
#   fonts-dejavu-core           what it writes with
PACKAGES="qemu-system-x86 seabios busybox-static cpio kmod xz-utils zstd
mmdebstrap fdisk e2fsprogs dosfstools mtools ovmf debian-archive-keyring
qemu-user-static qemu-system-arm lintian
util-linux gcc libc6-dev fio mount cryptsetup-bin groff-base nix-bin prometheus
python3-venv openssh-client chromium-headless-shell fonts-dejavu-core"

say() { echo "setup-tests: $*"; }

if ! command -v dpkg-query > /dev/null || ! command -v apt-get > /dev/null; then
	say "this is no Debian-like system (no dpkg or apt-get)." >&2
	say "tests whose programs are missing will be reported as ignored, by name." >&2
	say "they need what Debian has in: $(echo $PACKAGES)" >&2
	exit 0
fi

is_installed() {
	dpkg-query -W -f '${db:Status-Status}\n' "$1" 2> /dev/null | grep -qx installed
}

missing=
for package in $PACKAGES; do
	is_installed "$package" || missing="$missing $package"
done

# What Debian does not have in the version that is wanted: a folder of its own below target, from PyPI. Without the network the tests that
# need it are ignored by name.
#   ansible-core                runs the role of contrib (70 MB on the disk)
#   ray                         runs its sweep (285 MB on the disk)
tools() {
	folder=target/tools/$1
	shift
	[ -x "$folder/done" ] && return
	say "installing $* into $folder"
	if python3 -m venv "$folder" && "$folder/bin/pip" install -q --disable-pip-version-check "$@"; then
		ln -sf bin/python "$folder/done"
	else
		say "$* could not be installed: the tests that need it are ignored" >&2
	fi
}

from_pypi() {
	cd "$(dirname "$0")/.."
	tools ansible 'ansible-core>=2.15,<2.20'
	tools ray 'ray>=2.50,<3'
}

if [ -z "$missing" ]; then
	say "all packages for the tests are installed"
	from_pypi
	exit 0
fi

say "missing:$missing"
if [ "$(id -u)" -ne 0 ]; then
	say "not root: run this as root, or install them with" >&2
	say "    apt-get install --no-install-recommends$missing" >&2
	exit 1
fi

export DEBIAN_FRONTEND=noninteractive
# Another apt run on the same machine is waited for instead of failed on.
apt() { apt-get -q -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 "$@"; }

apt update
# shellcheck disable=SC2086 # a list of words
apt install -y --no-install-recommends $missing
say "installed:$missing"
from_pypi
