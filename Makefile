# swaptune: the commands of the project. `make run` and `make test` do all their own set-up on a fresh Debian machine with Rust.

CARGO  ?= cargo
PREFIX ?= /usr/local
BIN     = target/release/swaptune
SECONDS_PER_TARGET ?= 20

.PHONY: run test check unit guests guests-newest validate bench bench-sim bench-watch fuzz fixtures reference dist install uninstall clean

# Builds, then shows what this machine's memory really is and the plan for it. Reads only.
run: $(BIN)
	@$(BIN) status
	@echo
	@$(BIN) plan

$(BIN): FORCE
	@$(CARGO) build --release --quiet --package swaptune
FORCE:

# Everything, virtual machines included. Installs the Debian packages that tests need. A guest that cannot run fails it, unless
# told otherwise: make test SWAPTUNE_VM_REQUIRE=0 (or empty) reports such guests as ignored, by name.
test: SWAPTUNE_VM_REQUIRE ?= 1
test: check unit guests

check:
	@scripts/setup-tests.sh
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --quiet -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --document-private-items --quiet
	$(CARGO) xtask reference --check
	$(CARGO) test --quiet --package swaptune-kernel --test house

unit:
	$(CARGO) test --workspace --exclude swaptune-vm
	$(CARGO) test --package swaptune-vm --lib

# Real kernels and real distributions in QEMU, in software emulation. SWAPTUNE_VM_REQUIRE=1 makes those fail that cannot run.
guests:
	SWAPTUNE_VM_REQUIRE=$(SWAPTUNE_VM_REQUIRE) $(CARGO) test --package swaptune-vm --test guests

# The newest kernels that Debian has; not part of `make test`, for these suites move every day.
guests-newest:
	SWAPTUNE_VM_NEWEST=1 $(CARGO) test --package swaptune-vm --test guests

# The simulator beside this kernel, counter by counter; needs root, takes minutes, asserts nothing: other programs take part in it.
# VALIDATE="--workload zipf --rounds 9" asks for something else.
VALIDATE ?= --rounds 3
validate:
	@$(CARGO) run --release --quiet --package swaptune-validate -- $(VALIDATE)

# Figures with their conditions; asserts nothing.
bench: $(BIN)
	@$(CARGO) xtask bench

# The simulator beside libcachesim from PyPI, installed below target/. BENCH_SIM_ROUNDS=N rounds; ten take about a quarter of an hour.
bench-sim:
	@$(CARGO) run --release --quiet --package xtask -- bench-sim

# `watch` beside node_exporter, atop and below, those of them that are installed, with 500 processes and groups. Needs root, takes 20 minutes.
bench-watch: $(BIN)
	@$(CARGO) xtask bench-watch

# Every parser, for SECONDS_PER_TARGET each. Needs a nightly toolchain; installs cargo-fuzz when it is missing.
fuzz:
	@scripts/fuzz.sh $(SECONDS_PER_TARGET)

# Captures host fixtures anew in real guests.
fixtures:
	$(CARGO) run --quiet --package swaptune-vm --bin capture-hosts -- tests/fixtures/hosts

# Writes the generated pages of docs/reference.
reference:
	$(CARGO) xtask reference

# Static binaries for x86_64 and aarch64, archives, packages for Debian and rpm, a bill of materials and checksums, below target/dist. Needs
# root, for a Debian of its own builds what is for aarch64; takes a quarter of an hour the first time.
dist:
	@scripts/setup-tests.sh
	$(CARGO) xtask dist

# The program, what is made from its command line (man pages and completions), and the documents that its texts name.
install: $(BIN)
	install -D -m 0755 $(BIN) $(DESTDIR)$(PREFIX)/bin/swaptune
	rm -rf target/share
	$(CARGO) xtask man target/share
	find target/share -type f -printf '%P\n' | while read -r file; do \
		install -D -m 0644 target/share/$$file $(DESTDIR)$(PREFIX)/share/$$file || exit; \
	done
	for file in docs/guides/*.md docs/reference/*.md docs/evidence/*.md scenarios/*.toml; do \
		install -D -m 0644 $$file $(DESTDIR)$(PREFIX)/share/doc/swaptune/$$file || exit; \
	done

uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/swaptune $(DESTDIR)$(PREFIX)/share/man/man5/swaptune.5
	rm -f $(DESTDIR)$(PREFIX)/share/man/man8/swaptune.8 $(DESTDIR)$(PREFIX)/share/man/man8/swaptune-*.8
	rm -f $(DESTDIR)$(PREFIX)/share/bash-completion/completions/swaptune
	rm -f $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_swaptune
	rm -f $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/swaptune.fish
	rm -rf $(DESTDIR)$(PREFIX)/share/doc/swaptune

clean:
	$(CARGO) clean
