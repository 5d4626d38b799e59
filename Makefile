# `make` prints what there is. Each target installs what it needs into .venv, and nothing else.
VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= python3
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export UV_PYTHON_DOWNLOADS := never

# uv installs in seconds. Without it pip does, and leaves the byte code to Python.
UV := $(shell command -v uv 2> /dev/null)
PIP_INSTALL := $(if $(UV),$(UV) pip install -q --python $(BIN)/python,$(BIN)/python -m pip install -q --no-compile)

# Run a command quietly, but show what it printed if it fails. $(call quiet,command)
quiet = { $(1); } > $(VENV)/log.txt 2>&1 || { cat $(VENV)/log.txt; exit 1; }
# Install the packages of requirements/NAME.txt, whose hashes are checked. $(call install,NAME)
install = $(call quiet,$(PIP_INSTALL) --require-hashes -r requirements/$(1).txt)
# Install the source folders themselves. $(call editable,-e FOLDER ...)
editable = $(call quiet,$(PIP_INSTALL) --no-deps --no-build-isolation $(1))

.PHONY: help demo serve test test-all lint format docs bench accuracy tables soak digests lowest release-check lock clean distclean

help:  ## Print this list.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' Makefile

demo: $(VENV)/run  ## Train, measure and explain on examples, and write a report.
	@mkdir -p demo && $(BIN)/thresher demo --folder demo --force

serve: $(VENV)/run  ## Open the page on which people correct, with an example model.
	@$(BIN)/thresher serve --demo

test: $(VENV)/test $(VENV)/kernels  ## Run the tests that a change needs first, in minutes.
	@THRESHER_TIER=quick $(BIN)/python -m pytest $(PARALLEL) $(PYTEST_FLAGS)

test-all: $(VENV)/dev $(VENV)/kernels  ## Run every test.
	@THRESHER_TIER=full $(BIN)/python -m pytest $(PARALLEL) $(PYTEST_FLAGS)

PARALLEL := -n auto --dist worksteal

lint: $(VENV)/dev  ## Check style, types and imports.
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --check --quiet . || { echo "run: make format"; exit 1; }
	@$(BIN)/mypy --no-error-summary
	@$(call quiet,$(BIN)/lint-imports --no-cache)
	@echo "lint: clean"

format: $(VENV)/dev  ## Format the code.
	@$(BIN)/ruff format --quiet .

docs: $(VENV)/dev  ## Make the documentation a site, in build/site. A warning is an error.
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict && echo "wrote build/site/index.html"

bench: $(VENV)/bench  ## Measure speed; set THRESHER_DATA to a folder with reuters21578.tar.xz for the part on text.
	@$(BIN)/python benchmarks/training.py
	@$(BIN)/python benchmarks/startup.py
	@if [ -n "$$THRESHER_DATA" ]; then \
	  $(BIN)/python benchmarks/speed.py --markdown docs/benchmarks.md && $(BIN)/python benchmarks/bars.py docs/benchmarks.md docs/benchmarks.svg && $(BIN)/python benchmarks/reading.py && $(BIN)/python benchmarks/audit.py; \
	else echo "set THRESHER_DATA to a folder with reuters21578.tar.xz for the benchmarks on text"; fi

accuracy: $(VENV)/bench  ## Measure accuracy, compared with scikit-learn, fastText, Vowpal Wabbit and river; takes about an hour.
	@$(BIN)/python benchmarks/accuracy.py --markdown docs/accuracy.md
	@$(BIN)/python benchmarks/online.py --streams reuters sample

tables: $(VENV)/dev  ## Run the experiments of the paper.
	@$(BIN)/thresher reproduce all --markdown docs/reproduction.md --report reproduction.html --force --no-json

soak: $(VENV)/soak  ## Run faults, fuzzers and attacks with large numbers; takes hours, can be resumed (docs/reliability.md).
	@$(BIN)/python tools/soak.py --markdown docs/reliability.md $(PARTS)

digests: $(VENV)/dev  ## Print digests of models of every kind, which must be the same on every machine and Python.
	@$(BIN)/python tests/digests.py here 2 0

# Old packages warn of what has become old since, and print tables otherwise than the pages have them.
lowest:  ## Run the tests with the oldest packages that pyproject.toml allows, in an environment of their own.
	@$(PYTHON) -m venv --clear build/lowest && build/lowest/bin/python -m pip install -q uv
	@build/lowest/bin/uv pip install -q --python build/lowest/bin/python --resolution lowest-direct -e '.[all]' -e ./reproduction
	@build/lowest/bin/uv pip install -q --python build/lowest/bin/python --group test-all -e '.[all]'
	@THRESHER_TIER=full build/lowest/bin/python -m pytest -n 2 -W default::DeprecationWarning -W default::PendingDeprecationWarning \
	  --deselect tests/cli/test_commands.py::test_the_commands_of_the_documents_print_what_stands_there \
	  --deselect tests/documents/test_documents.py::test_what_the_code_knows_stands_in_the_pages $(PYTEST_FLAGS)

release-check: $(VENV)/release  ## Build the wheels in dist/, and try each extra by itself and the steps of the Dockerfile.
	@rm -rf dist
	@$(call quiet,$(BIN)/python -m build --outdir dist && $(BIN)/python -m build --outdir dist reproduction)
	@$(BIN)/python -m twine check --strict dist/*
	@THRESHER_EXTRAS=all THRESHER_TIER=full $(BIN)/python -m pytest tests/packaging/test_packaging.py tests/packaging/test_container.py tests/packaging/test_installed.py

# What is pinned stays unless LOCK_FLAGS=--upgrade.
COMPILE = $(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-annotate --no-header $(LOCK_FLAGS)
lock: $(VENV)/bin/python  ## Pin what pyproject.toml asks for, with hashes, for every Python and platform.
	@$(BIN)/python -m pip install -q uv
	@$(COMPILE) pyproject.toml --all-extras --group dev -o requirements/dev.txt
	@$(COMPILE) pyproject.toml --extra serve -c requirements/dev.txt -o requirements/serve.txt
	@$(COMPILE) pyproject.toml --extra serve --extra report --group build -c requirements/dev.txt -o requirements/run.txt
	@$(COMPILE) pyproject.toml --all-extras --group build --group test -c requirements/dev.txt -o requirements/test.txt
	@for group in bench soak release; do $(COMPILE) --group $$group -c requirements/dev.txt -o requirements/$$group.txt || exit 1; done

# A virtual environment of our own; where the venv module is missing, virtualenv, and where both are, a line that says what to do.
$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "thresher needs Python 3.11 or newer (make PYTHON=python3.12 ...)"; exit 1; }
	@if [ -n "$(UV)" ]; then $(UV) venv -q --python $(PYTHON) --seed $(VENV); \
	  elif $(PYTHON) -c 'import venv, ensurepip' 2>/dev/null; then $(PYTHON) -m venv $(VENV); \
	  elif $(PYTHON) -c 'import virtualenv' 2>/dev/null; then $(PYTHON) -m virtualenv --quiet $(VENV); \
	  else echo "python3 -m venv is missing: install it with 'apt-get install python3-venv', or 'pip install virtualenv', and try again"; exit 1; fi

# What was installed for which need. Each adds to the same environment.
$(VENV)/run $(VENV)/test $(VENV)/dev: $(VENV)/%: $(VENV)/bin/python requirements/%.txt
	@$(BIN)/python -c 'import sys; assert sys.prefix != sys.base_prefix' || { echo "$(VENV) is not a whole environment: run 'make distclean' and try again"; exit 1; }
	@echo "installing what \`make $(or $(firstword $(MAKECMDGOALS)),$*)\` needs into $(VENV) ..."
	@$(call install,$*)
	@$(call editable,-e . $(if $(filter-out run,$*),-e ./reproduction))
	@touch $@

$(VENV)/bench $(VENV)/soak $(VENV)/release: $(VENV)/%: $(VENV)/dev requirements/%.txt
	@$(call install,$*)
	@touch $@

# Two workers would compile the same kernels at the same time.
$(VENV)/kernels: $(wildcard src/thresher/kernels/*.py)
	@$(BIN)/thresher warm-up --quiet > $(VENV)/log.txt 2>&1 || { cat $(VENV)/log.txt; exit 1; }
	@touch $@

clean:  ## Delete what was built, but not .venv.
	rm -rf dist build .hypothesis .mypy_cache .ruff_cache
	find . -name __pycache__ -type d -not -path './$(VENV)/*' -prune -exec rm -rf {} +

distclean: clean  ## Delete .venv too.
	rm -rf $(VENV)
