#!/usr/bin/env bash
# Fuzzes every parser for N seconds each: scripts/fuzz.sh [SECONDS [TARGET ...]]
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-20}
shift || true

if ! cargo +nightly --version >/dev/null 2>&1; then
    echo "fuzz: needs a nightly toolchain: rustup toolchain install nightly" >&2
    exit 1
fi
if ! cargo fuzz --version >/dev/null 2>&1; then
    echo "fuzz: installing cargo-fuzz" >&2
    cargo install --locked --quiet cargo-fuzz
fi

targets=("$@")
if [ ${#targets[@]} -eq 0 ]; then
    mapfile -t targets < <(cargo +nightly fuzz list)
fi
for target in "${targets[@]}"; do
    echo "fuzz: $target for $seconds s"
    cargo +nightly fuzz run --release "$target" -- -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -verbosity=0
done
