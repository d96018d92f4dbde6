# `make report` and `make test` are the two commands: each does all its own set-up from a fresh clone
# (virtual environment, dependencies, release build of the native module), and only what has changed since.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

VENV := .venv
BIN := $(VENV)/bin
DEVELOP := $(VENV)/.built $(VENV)/.deps
PYTHON ?=
CAPTURE ?= sample-data/nic-stolen-time
REPORT ?= build/report.html
PYTEST_ARGS ?=
BENCH_ARGS ?=
LAB_ARGS ?=
MUTANTS_ARGS ?=
FUZZ_SECONDS ?= 60
FUZZ_TARGETS ?= perf_data records format trace_dat pages text

NATIVE := $(shell find native -path '*/target' -prune -o -path native/fuzz -prune -o -name '*.rs' -print -o -name 'Cargo.*' -print)
SHELL_SCRIPTS = $(shell grep -lIE '^\#!.*\b(sh|bash|dash)\b|^\# shellcheck shell=sh' .ci/* native/fuzz/run $$(find capture benchmarks sample-data native/tests -type f) 2>/dev/null)

# The interpreter whose version the native module is built for.
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: report
report: $(VENV)/.built ## who stole whose CPU time in CAPTURE (default: the sample): tables here, pictures in build/report.html
	@$(BIN)/netcost stolen $(CAPTURE)
	@echo
	@$(BIN)/netcost ledger $(CAPTURE)
	@echo
	@mkdir -p $(dir $(REPORT))
	@$(BIN)/netcost report $(CAPTURE) -o $(REPORT)

.PHONY: test test-package
test: $(DEVELOP) ## the tests of the crate and of the package that need neither root nor perf
	$(MAKE) --no-print-directory --keep-going --jobs 2 test-package cargo-test

test-package: $(DEVELOP)
	$(BIN)/python .ci/lane.py gate $(PYTEST_ARGS)

# Of answers it prints question, column, from and to; git diff shows what commands print differently.
.PHONY: golden
golden: $(DEVELOP) ## freeze again what answers and commands say, and show what changed
	PYTHONPATH=.:tests $(BIN)/python -m support.transcript --write tests/golden/*.console
	NETCOST_GOLDEN=write $(BIN)/python -m pytest -q -rP -n logical --dist load tests/questions/test_answers.py -k frozen

.PHONY: test-live
test-live: $(DEVELOP) ## those that record or change this host (root, perf, trace-cmd)
	$(BIN)/python .ci/lane.py live $(PYTEST_ARGS)

.PHONY: test-measures
test-measures: $(DEVELOP) ## of those what a load, a scheduler or a clock decides
	$(BIN)/python .ci/lane.py measures $(PYTEST_ARGS)

.PHONY: test-slow
test-slow: $(DEVELOP) ## those of minutes, live or not; build/test-slow.txt keeps when and with what result
	$(BIN)/python .ci/lane.py slow $(PYTEST_ARGS)

.PHONY: test-wheel
test-wheel: $(DEVELOP) ## the wheel in empty environments outside the repository, one of the lowest versions allowed
	.ci/test-wheel $(BIN)

# What a release is made of, in build/wheels: docs/development.md has the procedure.
WHEELS := build/wheels
RELEASE := build/release

.PHONY: wheels wheel-x86_64 wheel-aarch64
wheels: wheel-x86_64 wheel-aarch64 ## a release's wheels in build/wheels, for glibc 2.17 and any Python from 3.11 on
wheel-x86_64 wheel-aarch64: wheel-%: $(RELEASE)/.made
	@.ci/quietly build/logs/wheel-$* "building the wheel for $* (minutes)" .ci/wheel $(RELEASE)/bin $(WHEELS) $*

.PHONY: notice
notice: $(VENV)/.made ## NOTICE, of the crates that the native module links in
	@mkdir -p build
	@$(BIN)/python .ci/notice.py >build/NOTICE && mv build/NOTICE NOTICE

.PHONY: release-check
release-check: $(RELEASE)/.made $(VENV)/.run ## whether a release may be tagged: version, licences, and what is in build/wheels
	@$(RELEASE)/bin/python .ci/release_check.py $(WHEELS)

# With --workspace dependencies keep the features of the build, and are not compiled again.
.PHONY: cargo-test
cargo-test: $(DEVELOP)
	+cargo test --release --quiet --workspace --manifest-path native/Cargo.toml

# A stable toolchain has no sanitizers; the targets bound memory themselves, and check arithmetic.
.PHONY: fuzz
fuzz: export PATH := $(CURDIR)/build/tools/bin:$(PATH)
fuzz: $(VENV)/.deps ## arbitrary bytes for FUZZ_SECONDS in all; what crashes is kept in build/fuzz/crashes
	@command -v c++ >/dev/null || { echo "libFuzzer needs a C++ compiler: apt install g++ (or your distribution's package)" >&2; exit 1; }
	@command -v cargo-fuzz >/dev/null || cargo install --quiet --locked --root build/tools cargo-fuzz@0.13.2
	@PYTHONPATH=tests $(BIN)/python -m support.fuzz_seeds build/fuzz
	@cd native && cargo fuzz build --sanitizer none --target-dir $(CURDIR)/build/fuzz/target
	@native/fuzz/run $(FUZZ_SECONDS) $(FUZZ_TARGETS)

.PHONY: mutants
mutants: $(DEVELOP) ## plant the faults of tests/mutants, and say which test catches each
	$(BIN)/python tests/mutants/run.py $(MUTANTS_ARGS)

.PHONY: bench
bench: $(DEVELOP) ## side by side with perf script and perf kwork, as ratios
	$(BIN)/python -m benchmarks $(BENCH_ARGS)

.PHONY: lint lint-python lint-docstrings lint-rust lint-shell
lint: lint-python lint-docstrings lint-rust lint-shell ## ruff, mypy --strict, import-linter, numpydoc, rustfmt, clippy, shellcheck, tests/lint

lint-python: $(VENV)/.deps
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	PYTHONPATH=. $(BIN)/lint-imports --no-cache

# It asks the package what is public, and so needs it built.
lint-docstrings: $(DEVELOP)
	PYTHONPATH=. $(BIN)/python docs/check_docstrings.py
	PYTHONPATH=.:tests $(BIN)/python -m lint

lint-rust: $(VENV)/.deps
	cargo fmt --check --all --manifest-path native/Cargo.toml
	cargo fmt --check --manifest-path native/fuzz/Cargo.toml
	cargo clippy --release --workspace --all-targets --manifest-path native/Cargo.toml --quiet -- -D warnings

lint-shell: $(VENV)/.deps
	$(BIN)/shellcheck $(SHELL_SCRIPTS)

MACOS := aarch64-apple-darwin

# Nothing is linked, so the C code of zstd need not be compiled either.
.PHONY: check-macos
check-macos: ## check both crates for macOS, where rustup has its std
	@test -d "$$(rustc --print sysroot)/lib/rustlib/$(MACOS)" || { echo "no std of $(MACOS): rustup target add $(MACOS)" >&2; exit 1; }
	env -u PYO3_PYTHON PYO3_NO_PYTHON=1 CC_aarch64_apple_darwin=true AR_aarch64_apple_darwin=true \
		cargo check --workspace --target $(MACOS) --manifest-path native/Cargo.toml

.PHONY: format
format: $(VENV)/.deps ## rewrite the sources as lint wants them
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	cargo fmt --all --manifest-path native/Cargo.toml
	cargo fmt --manifest-path native/fuzz/Cargo.toml

SAMPLES ?=

.PHONY: sample-data
sample-data: $(DEVELOP) ## record the sample bundles again, by the lab (root; SAMPLES="NAME ..." for some)
	sample-data/record $(SAMPLES)

.PHONY: reference
reference: $(DEVELOP) ## docs/questions.md and the stub of `capture.ask`, from the declarations of questions
	$(BIN)/python docs/make_reference.py

.PHONY: docs
docs: $(DEVELOP) ## the documentation as a site that works offline, from build/docs/site/index.html, its links checked
	PYTHONPATH=. $(BIN)/python docs/build_site.py

.PHONY: notebooks
notebooks: $(DEVELOP) ## every notebook from its percent script, and executed, as a page in build/notebooks
	$(BIN)/python notebooks/execute.py notebooks/[0-9]*.py

.PHONY: pictures
pictures: $(DEVELOP) ## draw the README's picture from the sample
	$(BIN)/python docs/images/stolen-time.py sample-data/nic-stolen-time docs/images/stolen-time.png

.PHONY: lab
lab: $(DEVELOP) ## open JupyterLab on the notebooks
	$(BIN)/jupyter lab $(if $(filter 0,$(shell id -u)),--allow-root) --notebook-dir notebooks $(LAB_ARGS)

.PHONY: clean
clean: ## remove what was built; the next target builds it again
	rm -rf $(VENV) build native/target native/fuzz/target netcost_analysis/_native*.so

# What is made half is not made: each stamp comes last.
$(VENV)/.made:
	@command -v cargo >/dev/null || { echo "netcost needs cargo to build its native module: install Rust from https://rustup.rs" >&2; exit 1; }
	@need=$$(sed -n 's/^rust-version = "\(.*\)"/\1/p' native/Cargo.toml); have=$$(cargo --version | cut -d' ' -f2); \
	printf '%s\n' "$$need" "$$have" | sort -CV || { echo "netcost needs cargo $$need or later, this is $$have: rustup update (https://rustup.rs)" >&2; exit 1; }
	@command -v cc >/dev/null || { echo "netcost needs a C compiler to link its native module: apt install gcc (or your distribution's package)" >&2; exit 1; }
	@python=; \
	for candidate in $(PYTHON) python3 python3.14 python3.13 python3.12 python3.11; do \
	    if "$$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then python=$$candidate; break; fi; \
	done; \
	[ -n "$$python" ] || { echo "netcost needs Python 3.11 or later: apt install python3 (or name one: make PYTHON=...)" >&2; exit 1; }; \
	"$$python" -c 'import ensurepip, venv' 2>/dev/null || { echo "netcost needs Python's venv: apt install python3-venv (or your distribution's package)" >&2; exit 1; }; \
	echo "setting up $(VENV) with $$("$$python" --version)"; \
	"$$python" -m venv $(VENV)
	@touch $@

# What `make report` runs and is built with; what the tests need comes with .deps.
$(VENV)/.run: $(VENV)/.made pyproject.toml constraints.txt
	@.ci/quietly build/logs/dependencies "installing what a report needs (a minute)" \
	    $(BIN)/python .ci/install.py build analysis report
	@touch $@

$(VENV)/.deps: $(VENV)/.run
	@.ci/quietly build/logs/development "installing what tests and lint need (minutes)" \
	    $(BIN)/python .ci/install.py dev analysis report fleet lab
	@touch $@

# An environment of its own: its programs and the notebooks' want different versions of jsonschema.
$(RELEASE)/.made: $(VENV)/.made pyproject.toml
	@$(BIN)/python -m venv $(RELEASE)
	@.ci/quietly build/logs/release "installing what a release is made and checked with (minutes)" \
	    env -u PIP_CONSTRAINT $(RELEASE)/bin/python .ci/install.py release
	@touch $@

# Without a group, maturin installs that of development.
$(VENV)/.built: $(VENV)/.run $(NATIVE)
	@.ci/quietly build/logs/native "building the native module (minutes at first, seconds after a change)" \
	    env PIP_QUIET=1 VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/maturin develop --release --group build
	@touch $@
