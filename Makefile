# Needs only make and Python 3.11 or newer: every target sets up .venv by itself.
#
#   make run                        a first answer
#   make test PYTEST_ARGS="-k krr"  some of the tests
#   make test PYTHON=python3.12     with a chosen interpreter (when .venv is created)

PYTHON ?= python3
PYTEST_ARGS ?=

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check

# Stamps remember what is installed; a change of pyproject.toml installs again.
CREATED := $(VENV)/.stamp-created
CORE := $(VENV)/.stamp-core
DEV := $(VENV)/.stamp-dev

.DEFAULT_GOAL := help
.PHONY: help run explore test heavy check coverage lint bench mutation paper docs format clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' Makefile

# A first answer, and what older analyses say. Each command is shown, then run.
EXAMPLE_EPSILON := epsilon "krr(k=10, epsilon0=2)" -n 10000 --delta 1e-6
EXAMPLE_COMPARE := compare "krr(k=10, epsilon0=2)" -n 10000 --delta 1e-6
show = printf '\n$$ shuffledp %s\n' '$(1)' && $(BIN)/shuffledp $(1)

define NEXT

Where to go next:
  $(BIN)/shuffledp --help    all questions, and options that explain themselves
  docs/get-started.md           from here to a sentence for a privacy review
  docs/choosing.md              how little noise is safe, and how many users are enough
  docs/verification.md          why you may trust these numbers
endef
export NEXT

run: $(CORE) ## show a first answer, and how far older bounds are from it
	@$(call show,$(EXAMPLE_EPSILON))
	@$(call show,$(EXAMPLE_COMPARE))
	@echo "$$NEXT"

explore: $(DEV) ## open the local page in a browser (Ctrl-C ends it)
	@$(BIN)/shuffledp explore

# Two workers, one thread each: more only makes them wait for each other.
test heavy check: export OPENBLAS_NUM_THREADS = 1
test heavy check: export OMP_NUM_THREADS = 1
PYTEST := $(BIN)/python -m pytest -n auto --maxprocesses 2

test: $(DEV) ## run the tests (PYTEST_ARGS is passed on)
	$(PYTEST) $(PYTEST_ARGS)

heavy: $(DEV) ## run the tests that `make test` leaves out, but for the long studies
	$(PYTEST) --rest $(PYTEST_ARGS)

check: $(DEV) ## run both with all examples, and look at coverage
	$(PYTEST) --heavy --cov --cov-report=
	@$(MAKE) --no-print-directory coverage

# Of what `--cov` has seen; each of these parts must have 95% of its lines.
COVERED := decomposition engine bounds accounting mechanisms certificates

coverage: $(DEV) ## which lines the last run with PYTEST_ARGS="--cov --cov-report=" has reached
	@code=0; for part in $(COVERED); do \
	  echo "line coverage of $$part"; \
	  $(BIN)/coverage report --include="src/shuffledp/$$part/*" --fail-under=95 || code=1; \
	done; exit $$code

lint: $(DEV) ## check style, format and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(DEV) ## measure speed
	$(BIN)/python benchmarks/run.py
	$(BIN)/python benchmarks/corners.py
	$(BIN)/python benchmarks/tightness.py
	$(BIN)/python benchmarks/collection.py
	$(BIN)/python benchmarks/study.py
	$(BIN)/python benchmarks/cluster.py
	$(BIN)/python benchmarks/page.py
	$(BIN)/python benchmarks/libraries.py

mutation: export OPENBLAS_NUM_THREADS = 1
mutation: export OMP_NUM_THREADS = 1
mutation: $(DEV) ## check that the tests notice mistakes in the formulas
	$(BIN)/python mutation/run.py

paper: $(DEV) ## compute the paper's figures, tables and claims again, into paper/out
	$(BIN)/python paper/reproduce.py --out paper/out

docs: $(DEV) ## build the documentation into docs/_build/html
	$(BIN)/sphinx-build -q -W --keep-going -b html docs docs/_build/html

format: $(DEV) ## rewrite the sources in the agreed format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean: ## remove everything that can be made again, .venv included
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .benchmarks
	rm -rf .coverage .coverage.* coverage.xml htmlcov docs/_build paper/out
	find src tests paper benchmarks mutation docs -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

$(CREATED):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  version=$$($(PYTHON) -V 2>&1) || version="not a working interpreter"; \
	  echo "shuffledp needs Python 3.11 or newer, but '$(PYTHON)' is $$version." >&2; \
	  echo "Name another one, for example: make $(MAKECMDGOALS) PYTHON=python3.12" >&2; \
	  exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(CORE): $(CREATED) pyproject.toml
	$(PIP) install --quiet --editable .
	@touch $@

# The development install contains the core one, so it renews that stamp as well.
$(DEV): $(CREATED) pyproject.toml
	$(PIP) install --quiet --editable '.[dev]'
	@touch $(CORE) $@
