# make demo       a hospital searches for its costliest stay, with and without privacy
# make check      formatter, linter, types, direction of imports, and the tests that are not slow: 3 minutes on 2 cores
# make test       the whole test suite, with README, notebooks and a quick reproduction: 12 minutes
# make test ARGS=tests/curator/test_ledger.py    that path alone, or whatever else pytest takes
# make lowest     a part of the tests on the lowest versions that pyproject.toml promises (torch 2.4 brings 5 GB of CUDA)
# make baybe      the tests of BayBE, which has a folder of its own (make test has them as well)
# make mutants    plants bugs into a copy of the package, one at a time, and sees whether the tests notice
# make lint       formatter, linter, type checker, direction of imports
# make docs       the site: guide and reference, in site/
# make reproduce  the paper's tables and figures, and regret against epsilon (four hours)
# make bench      benchmarks of the release, labels, the search and the server, beside other libraries (20 minutes)
#
# Each target sets up what it needs, once, in .venv. It needs Python >= 3.11 and make.
# A GPU build of torch: make TORCH="torch==2.13.0 --index-url ..." (see pytorch.org for the address).

PYTHON ?= python3
TORCH ?= torch==2.13.0
VENV := .venv
BIN := $(VENV)/bin

# One thread a process: with more, small matrices spend their time waiting for each other.
export OMP_NUM_THREADS := 1
export MKL_NUM_THREADS := 1
export OPENBLAS_NUM_THREADS := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1

# A file stays in one process, with what its tests share; tests/conftest.py puts those with slow tests first.
PYTEST := $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

.PHONY: demo check test baybe lowest mutants lint docs reproduce bench notebooks chromium clean

demo: $(VENV)/.runtime
	$(BIN)/botorch-private demo --force $(ARGS)

check: lint
	$(PYTEST) -m "not slow"

ifdef ARGS
test: $(VENV)/.dev chromium
	$(BIN)/python -m pytest $(ARGS)
else
test: $(VENV)/.dev chromium
	$(PYTEST)
	$(MAKE) --no-print-directory baybe notebooks
	rm -rf $(VENV)/reproduction
	$(BIN)/botorch-private reproduce --quick --output $(VENV)/reproduction
endif

# The console is tested in a browser. Where there is none and none can be had, those tests are skipped.
chromium:
	@for name in chromium chromium-browser google-chrome; do command -v $$name >/dev/null && exit 0; done; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  echo "Installing chromium, in which the console is tested"; \
	  { apt-get update && apt-get install --yes --no-install-recommends chromium fonts-liberation; } \
	    </dev/null >/dev/null 2>&1 || echo "It could not be installed: those tests are skipped"; \
	fi

# BayBE and dp-accounting want different versions of attrs: it has a folder beside the other packages.
baybe: $(VENV)/.baybe
	PYTHONPATH=$(VENV)/baybe $(BIN)/python -m pytest tests/hosts/test_baybe.py

notebooks: $(VENV)/.dev
	SMOKE_TEST=1 $(PYTEST) --nbmake --nbmake-timeout=90 -p no:cacheprovider --override-ini testpaths= tutorials

# What touches other libraries most, without the slow tests: those are in `make test`.
# (torch 2.4 warns of `torch.load` in tests that save models.)
lowest: $(VENV)/lowest/.done
	$(VENV)/lowest/bin/python -m pytest -n 2 --dist loadfile -m 'not slow' \
	  -W 'ignore:You are using `torch.load`:FutureWarning' \
	  tests/_base tests/exchange tests/modeler/acquisition tests/modeler/test_modeler.py \
	  tests/modeler/test_modeler_posterior.py tests/modeler/test_save.py \
	  tests/privacy/test_guarantee.py \
	  tests/curator --ignore tests/curator/service/test_kill.py --ignore tests/curator/service/test_schema.py \
	  --ignore tests/curator/service/parts/test_parts_schema.py \
	  tests/report --ignore tests/report/test_report_boundaries.py \
	  tests/whole/test_compatibility.py tests/whole/test_host_contract.py \
	  tests/house/test_lowest_versions.py README.md $(ARGS)

# ARGS: rooms (curator/service) or parts of names; --list shows them.
mutants: $(VENV)/.dev
	$(BIN)/python -m tests.mutants $(ARGS)

lint: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/basedpyright --pythonpath $(BIN)/python
	$(BIN)/lint-imports --no-cache

docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo "Open site/index.html, or, to search as well: $(BIN)/python -m http.server --directory site"

reproduce: $(VENV)/.dev
	$(BIN)/botorch-private reproduce --output benchmarks/paper $(ARGS)

bench: $(VENV)/.bench
	$(BIN)/python benchmarks/release.py
	$(BIN)/python benchmarks/labels.py
	$(BIN)/python benchmarks/speed
	$(BIN)/python benchmarks/service.py
	$(BIN)/python benchmarks/console.py

$(VENV)/.baybe: requirements/baybe.txt $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --no-deps --upgrade --target $(VENV)/baybe -r requirements/baybe.txt
	touch $@

$(VENV)/.docs: requirements/docs.txt $(VENV)/.runtime
	$(BIN)/python -m pip install --quiet -r requirements/docs.txt
	touch $@

$(VENV)/.bench: requirements/bench.txt $(VENV)/.dev
	$(BIN)/python -m pip install --quiet -r requirements/bench.txt
	touch $@

clean:
	rm -rf $(VENV) build dist site *.egg-info

$(VENV)/.base:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "botorch-private needs Python >= 3.11; name one: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet $(TORCH)
	touch $@

$(VENV)/lowest/.done: requirements/lowest.txt pyproject.toml
	$(PYTHON) -m venv $(VENV)/lowest
	$(VENV)/lowest/bin/python -m pip install --quiet --retries 10 -r requirements/lowest.txt
	$(VENV)/lowest/bin/python -m pip install --quiet --no-deps --editable .
	touch $@

$(VENV)/.runtime: requirements/runtime.txt pyproject.toml | $(VENV)/.base
	$(BIN)/python -m pip install --quiet -r requirements/runtime.txt
	$(BIN)/python -m pip install --quiet --no-deps --editable .
	touch $@

$(VENV)/.dev: requirements/dev.txt $(VENV)/.runtime
	$(BIN)/python -m pip install --quiet -r requirements/dev.txt
	touch $@
