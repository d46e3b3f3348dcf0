# Everything starts here, on a machine with nothing but Python (3.11 to 3.14) and make. Set-up is done when it is needed, into
# .venv, and done again when what it depends on has changed.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.PHONY: help run test test-jit test-nojit test-bounds lint format bench warmup lock clean

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check --no-input
INSTALL := $(PIP) install --require-hashes --only-binary :all:
PYTEST := $(BIN)/python -m pytest
# One process a core; ARGS="-n 0" runs the tests in one, for a debugger.
WORKERS := -n auto --dist worksteal
ARGS ?=

# Each lane keeps its kernels in a directory of its own, keyed by their sources and its setting (kernels/cache.py). One
# directory from outside would mix them up.
unexport NUMBA_CACHE_DIR PYTHONPATH
.NOTPARALLEL:

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: warmup ## Watch lists re-rank live in the terminal; ARGS="--messages 2000" ends by itself
	@$(BIN)/nearcast demo $(ARGS)

test: warmup test-nojit test-bounds test-jit ## The whole suite, after a small part without JIT and with every index checked

test-jit: $(VENV)/.test ## The whole suite; ARGS="-k buffers" for a part of it
	@echo "== tests, kernels compiled =="
	@$(PYTEST) $(WORKERS) $(ARGS)

test-nojit: $(VENV)/.test ## The marked tests as plain Python: for coverage and for debugging
	@echo "== the marked tests, kernels as plain Python =="
	@NUMBA_DISABLE_JIT=1 $(PYTEST) $(WORKERS) -m lanes --hypothesis-profile=lanes $(ARGS)

test-bounds: $(VENV)/.test ## The marked tests with every index of every kernel checked
	@echo "== the marked tests, every array index checked =="
	@NUMBA_BOUNDSCHECK=1 $(PYTEST) -m lanes --hypothesis-profile=lanes $(ARGS)

lint: $(VENV)/.lint ## Style, types, layers
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

format: $(VENV)/.lint ## Lay the code out, and fix what can be fixed by machine
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

bench: warmup ## Measure the engine for about a minute; ARGS="--workload gn ..." for another run
	@$(BIN)/nearcast bench engine $(or $(ARGS),--subscriptions 100k --window 100k --messages 5000)

warmup: $(VENV)/.run ## Compile all kernels once
	@if [ -f src/nearcast/cli.py ]; then $(BIN)/nearcast warmup; fi

lock: ## Pin the dependencies anew (with Python 3.11); ARGS=--upgrade takes the newest versions
	@echo "== installing the lock tool =="
	@python=$$(PYTHON=$${PYTHON:-python3.11} tools/find-python) && $$python -m venv --clear .venv-lock
	@.venv-lock/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/lock.txt
	@.venv-lock/bin/python tools/lock.py $(ARGS)

clean: ## Remove what set-up and the tools have made
	@rm -rf $(VENV) .venv-lock .hypothesis .mypy_cache .pytest_cache .ruff_cache .import_linter_cache build dist
	@find src -name '*.egg-info' -prune -exec rm -rf {} +
	@find src tests tools -name __pycache__ -prune -exec rm -rf {} +

# Set-up: each step leaves a stamp, which is older than its inputs when it has to be done again.

$(VENV)/.made: tools/find-python
	@python=$$(tools/find-python) && echo "== making $(VENV) with $$($$python --version) ==" && $$python -m venv --clear $(VENV)
	@touch $@

$(VENV)/.run: $(VENV)/.made requirements/run.txt pyproject.toml
	@echo "== installing what Nearcast runs on =="
	@$(INSTALL) -r requirements/run.txt
	@$(PIP) install --no-deps --no-build-isolation --no-index -e .
	@touch $@

$(VENV)/.test: $(VENV)/.run requirements/test.txt
	@echo "== installing what the tests need =="
	@$(INSTALL) -r requirements/test.txt
	@touch $@

$(VENV)/.lint: $(VENV)/.test requirements/lint.txt
	@echo "== installing what lint needs =="
	@$(INSTALL) -r requirements/lint.txt
	@touch $@
