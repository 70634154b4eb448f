# The one index of commands. `make demo` and `make test` do all the set-up on a fresh machine with
# Python 3.10+, a C compiler and Rust.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CARGO ?= cargo
# Tests that measure this machine run alone; those that mostly sleep, as users at terminals do, in fours, long files
# whose tests stay together first; the others share its cores.
SLEEPY := $(patsubst %,tests/recorder/test_%.py,metrics live subreapers nvml prometheus doctor) \
    tests/laws/test_linux.py tests/terminals $(patsubst %,tests/recorder/test_%.py,people record unit few_files)
ALONE := tests/recorder tests/analyses/attention/test_health_live.py
export PIP_QUIET := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# pip takes this 0 as "do not compile": compileall does it later, while the crates are compiled.
export PIP_NO_COMPILE := 0
# Without it, every process of the tests compiles again what it imports, and pytest rewrites the assertions of 350 files.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help packages demo test check thorough fuzz soak attack bench coverage validate verdicts lint audit docs gallery build static format golden lock licences clean

help: ## List the targets
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 10

demo: build ## Play users on this machine, record it, and write a report (three minutes)
	$(BIN)/thinktime demo -o demo --force

# One more than cores: tests wait for the programs that they start.
WORKERS := $(shell echo $$(($$(nproc 2>/dev/null || echo 2) + 1)))
# Logs are synced to what holds them, and tests write thousands: in memory where there are 4 GB of room for them.
SCRATCH := $(shell df --output=avail /dev/shm 2>/dev/null | awk 'END { print ($$1 > 4e6) ? "/dev/shm" : "/tmp" }')
test: build static test-tools ## Run the tests, but for those of `make thorough`
	TMPDIR=$(SCRATCH) CARGO='$(CARGO)' sh scripts/test-crates
	$(BIN)/pytest $(ALONE) $(SLEEPY:%=--ignore=%)
	@# While these sleep: what every worker of the last would do at the same time, if no file had been compiled yet.
	nice -n 19 $(BIN)/pytest -p no:cacheprovider --collect-only --quiet >$(VENV)/collected & collected=$$!; \
	    $(BIN)/pytest --numprocesses 4 --dist loadfile --no-loadscope-reorder $(SLEEPY) || exit; \
	    wait $$collected || { cat $(VENV)/collected; exit 1; }
	TMPDIR=$(SCRATCH) $(BIN)/pytest --numprocesses $(WORKERS) --dist loadfile $(ALONE:%=--ignore=%) $(SLEEPY:%=--ignore=%)

# SINCE=main compares with another state than the last commit.
check: build ## Lint what changed and run the tests nearest to it, in about a minute
	$(BIN)/python scripts/check.py $(SINCE:%=--since %)

thorough: build static test-tools ## Run the tests that `make test` leaves out because they take long
	THINKTIME_THOROUGH=1 CARGO='$(CARGO)' sh scripts/test-crates log
	$(BIN)/pytest $(ALONE) $(SLEEPY) -m thorough
	$(BIN)/pytest --numprocesses auto --dist worksteal -m thorough $(ALONE:%=--ignore=%) $(SLEEPY:%=--ignore=%)
	FUZZ_EFFORT=2 $(BIN)/pytest --numprocesses auto --dist worksteal tests/sources/test_sar_fuzz.py

# Ten minutes a target unless FUZZ_SECONDS or FUZZ_RUNS say otherwise; FUZZ_TARGETS chooses. See scripts/fuzz.py.
fuzz: build ## Feed random and damaged input to everything that reads files of others
	@CARGO='$(CARGO)' $(BIN)/python scripts/fuzz.py

# As root; the log of the year is made by a clock that the test sets.
SOAK_MINUTES ?= 60
soak: build static ## Record a year of simulated time, then SOAK_MINUTES with faults; needs root and namespaces
	THINKTIME_SOAK_DAYS=365 $(CARGO) test --release --quiet -p thinktime-recorder --lib recording::soak -- --nocapture
	$(BIN)/python scripts/soak.py $(SOAK_MINUTES)

attack: build ## Simulate extreme settings and open damaged logs, thousands, each in a process of its own (two hours)
	$(BIN)/python tests/attack/simulators.py
	$(BIN)/python tests/attack/logs.py

bench: build $(VENV)/bench-installed ## Print the cost of the fast parts, as ratios to a reference in the same run
	$(BIN)/python benches/run.py

# Half an hour on two cores; what is cut off goes on with the next call. COVERAGE takes options: `--kind NAME`, `--on ADDRESS`.
coverage: export OPENBLAS_NUM_THREADS = 1
coverage: build ## Measure how often every kind of interval holds, and write docs/background/coverage.md
	PYTHONPATH=benches $(BIN)/python -m interval_coverage --write $(COVERAGE)

# VALIDATE takes options: `--quick` tries the script in two minutes. What is cut off goes on with the next call.
validate: build ## Play users, predict more of them and fewer CPUs, and write how good that was (40 minutes, quiet machine)
	$(BIN)/python scripts/validate.py $(VALIDATE)
	$(BIN)/python scripts/validate_services.py

# On a cluster: UPDATE='--on tcp://scheduler:8786'.
verdicts: build ## Run all studies at full length and compare their verdicts; UPDATE=--update rewrites them
	$(BIN)/python -m thinktime.studies.verdict $(UPDATE)

lint: build ## Check style, types, layering, and the stub of the native module
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(CARGO) fmt --all -- --check
	@$(MAKE) --no-print-directory --jobs=2 --output-sync lint-types lint-rust

# Network: cargo-deny, pip-audit and the databases that they ask. Status 3: a database could not be asked.
audit: $(VENV)/audit-installed ## Check licences, sources and known vulnerabilities of what thinktime is built from
	$(BIN)/python scripts/audit.py $(VENV)/audit/bin/cargo-deny $(VENV)/audit/bin/pip-audit

docs: build $(VENV)/docs-installed ## Build the documentation into docs/_build
	$(BIN)/python docs/gallery.py
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build
	$(BIN)/python docs/links.py docs/_build

gallery: build $(VENV)/docs-installed ## Make the pages of the studies too, at full length, for make docs (ten minutes)
	$(BIN)/python docs/gallery.py --all

build: $(VENV)/installed ## Build thinktime into .venv
	$(BIN)/maturin develop --release --quiet --skip-install

static: $(VENV)/installed ## Build the recorder as a static binary that needs no Python
	$(CARGO) rustc --release --quiet -p thinktime-recorder --bin thinktime-recorder -- -C target-feature=+crt-static
	@install -D -m 755 target/release/thinktime-recorder target/static/thinktime-recorder

# Network: zig, cargo-zigbuild, cargo-deb, cargo-generate-rpm, cargo-cyclonedx, and the standard library of each target.
packages: static $(VENV)/packages-installed ## Build wheels, source distribution, .deb, .rpm, bills of materials, checksums
	$(VENV)/packages/bin/python scripts/packages.py $(PACKAGES)

format: build ## Format all code as `make lint` expects it
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .
	$(CARGO) fmt --all

golden: build ## Rewrite the golden files and the table of commands; read the diff before you commit it
	$(BIN)/python -m thinktime.cli.program.declared
	$(BIN)/pytest -q tests --update-golden

lock: $(VENV)/audit-installed ## Pin the Python packages that thinktime needs, with the checksums of their files
	$(VENV)/audit/bin/uv pip compile pyproject.toml --universal --python-version 3.10 --generate-hashes --quiet --no-header \
	    --output-file packaging/requirements.lock $(UPGRADE)
	$(VENV)/audit/bin/uv pip compile pyproject.toml --extra cluster --constraint packaging/requirements.lock --universal \
	    --python-version 3.10 --generate-hashes --quiet --no-header --output-file packaging/requirements-cluster.lock $(UPGRADE)

licences: $(VENV)/installed ## Write the licences of the crates that the programs contain
	$(BIN)/python scripts/third_party_licences.py THIRD-PARTY-LICENSES.txt

clean: ## Remove everything that was built
	rm -rf $(VENV) target demo docs/_build

# Where a tool cannot be installed, the benchmark runs without it.
$(VENV)/bench-installed: pyproject.toml $(VENV)/installed
	-$(BIN)/python -m pip install --group bench && touch $@

# Each uses little more than one core.
.PHONY: lint-types lint-rust
lint-types:
	$(BIN)/mypy
	$(BIN)/stubtest --mypy-config-file .config/stubtest.ini thinktime._native
lint-rust:
	$(CARGO) clippy --release --workspace --all-targets --quiet -- -D warnings -D clippy::undocumented_unsafe_blocks
	@! $(CARGO) hakari --version >/dev/null 2>&1 || $(CARGO) hakari verify

.PHONY: test-tools
test-tools:
	@sh scripts/install-test-tools

# Once for each state of pyproject.toml: the environment, what it needs, and thinktime itself (editable).
$(VENV)/installed: pyproject.toml scripts/check-toolchain
	@PYTHON='$(PYTHON)' CARGO='$(CARGO)' sh scripts/check-toolchain
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --upgrade 'pip>=25.1'
	@# pip downloads and uses one core: the crates are compiled at the same time. What thinktime needs is installed here
	@# too, since maturin would do so when everything is compiled.
	$(CARGO) build --release --quiet & sed -n '/^dependencies/,/^]/s/^ *"\(.*\)",$$/\1/p' pyproject.toml | \
	    $(BIN)/python -m pip install --group dev --requirement /dev/stdin && wait
	@# Linking and the largest crate use one core. The tests of other packages are never imported.
	@$(BIN)/python -m compileall -qq -x '/tests?/' $(VENV)/lib & $(BIN)/maturin develop --release --quiet && wait
	@touch $@

$(VENV)/packages-installed: $(VENV)/installed
	test -x $(VENV)/packages/bin/python || $(PYTHON) -m venv $(VENV)/packages
	$(VENV)/packages/bin/python -m pip install --quiet 'maturin>=1.9,<2' ziglang cargo-zigbuild wheel cyclonedx-bom
	$(CARGO) install --quiet --locked --root $(VENV)/packages cargo-deb cargo-generate-rpm cargo-cyclonedx
	@touch $@

# In an environment of their own: nothing that thinktime runs with comes from there.
$(VENV)/audit-installed: $(VENV)/installed
	$(BIN)/python -m venv $(VENV)/audit
	$(VENV)/audit/bin/python -m pip install pip-audit uv
	$(CARGO) install --quiet --locked --root $(VENV)/audit cargo-deny
	@touch $@

$(VENV)/docs-installed: pyproject.toml $(VENV)/installed
	$(BIN)/python -m pip install --group docs
	@touch $@
