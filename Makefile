# The commands people run. Each installs what it needs itself and can be run again.
# Needs beforehand: Rust, Python 3, Node.js with npm; root or sudo for the Debian packages of `make test` and of
# `make acceptance`.

SHELL := /bin/bash
.PHONY: demo test bench acceptance golden engine build release

# A month of simulated nodes through the real collector and service, then live. Ctrl-C ends it and cleans up.
demo: engine release
	target/release/slicemeter-demo

# Everything that CI checks: format, lints, unit, property and end-to-end tests.
test: engine build
	tests/run.sh

# The figures that the project promises, from real input and scenarios of known truth; writes target/acceptance.json.
acceptance: engine release
	tests/setup.sh
	target/release/slicemeter-acceptance

# The figures of speed and size, beside a peer where there is one; writes target/bench.json.
bench: engine release
	tests/bench/setup.sh
	target/release/slicemeter-bench

# Golden files anew; read the diff before you commit it.
golden: engine build
	UPDATE_GOLDEN=1 cargo test --workspace

engine:
	@deploy/install-engine.sh >/dev/null

# Binaries first: a test runner alone doesn't rebuild them.
build:
	cargo build --workspace

release:
	cargo build --release --workspace
