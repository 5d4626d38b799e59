# make demo, make test, make lint, make bench, make accuracy, make tables, make docs, make soak,
# make lowest, make release-check, make lock: each sets the environment up by itself.
VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= python3
export PIP_DISABLE_PIP_VERSION_CHECK := 1

# Install the packages of requirements/NAME.txt, whose hashes are checked. $(call install,NAME)
install = $(BIN)/python -m pip install -q --require-hashes -r requirements/$(1).txt > $(VENV)/$(1).txt 2>&1 || { cat $(VENV)/$(1).txt; exit 1; }

.PHONY: demo test lint bench accuracy tables docs soak digests lowest release-check lock clean

demo: $(VENV)/installed
	@mkdir -p demo && $(BIN)/thresher demo --folder demo --force

test: $(VENV)/installed
	@$(BIN)/python -m pytest -n 2 $(PYTEST_FLAGS)

lint: $(VENV)/installed
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --check --quiet . || { echo "run: $(BIN)/ruff format ."; exit 1; }
	@$(BIN)/mypy --no-error-summary
	@$(BIN)/lint-imports --no-cache > $(VENV)/imports.txt || { cat $(VENV)/imports.txt; exit 1; }
	@echo "lint: clean"

bench: $(VENV)/installed
	@$(BIN)/python benchmarks/training.py
	@$(BIN)/python benchmarks/startup.py
	@if [ -n "$$THRESHER_DATA" ]; then \
	  $(call install,bench); \
	  $(BIN)/python benchmarks/speed.py --markdown docs/benchmarks.md && $(BIN)/python benchmarks/bars.py docs/benchmarks.md docs/benchmarks.svg && $(BIN)/python benchmarks/reading.py && $(BIN)/python benchmarks/audit.py; \
	else echo "set THRESHER_DATA to a folder with reuters21578.tar.xz for the benchmarks on text"; fi

# Beside scikit-learn, fastText, Vowpal Wabbit and river; takes about an hour.
accuracy: $(VENV)/installed
	@$(call install,bench)
	@$(BIN)/python benchmarks/accuracy.py --markdown docs/accuracy.md
	@$(BIN)/python benchmarks/online.py --streams reuters sample

# The documentation as a site, in build/site; a warning is an error.
docs: $(VENV)/installed
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict && echo "wrote build/site/index.html"

tables: $(VENV)/installed
	@$(BIN)/thresher reproduce all --markdown docs/reproduction.md --report reproduction.html --force --no-json

# Faults, fuzzers and attacks with large numbers, in parts that can be resumed; takes hours (docs/reliability.md).
soak: $(VENV)/installed
	@$(call install,soak)
	@$(BIN)/python tools/soak.py --markdown docs/reliability.md $(PARTS)

# Digests of models of every kind, which must be the same on every machine and Python.
digests: $(VENV)/installed
	@$(BIN)/python tests/digests.py here 2 0

# The tests with the oldest packages that pyproject.toml allows, in an environment of their own; those warn of what has
# become old since, and print tables otherwise than the pages have them.
lowest:
	@$(PYTHON) -m venv --clear build/lowest && build/lowest/bin/python -m pip install -q uv
	@build/lowest/bin/uv pip install -q --python build/lowest/bin/python --resolution lowest-direct -e '.[all]' -e ./reproduction
	@build/lowest/bin/uv pip install -q --python build/lowest/bin/python --group test -e '.[all]'
	@build/lowest/bin/python -m pytest -n 2 -W default::DeprecationWarning -W default::PendingDeprecationWarning \
	  --deselect tests/cli/test_commands.py::test_the_commands_of_the_documents_print_what_stands_there \
	  --deselect tests/documents/test_documents.py::test_what_the_code_knows_stands_in_the_pages $(PYTEST_FLAGS)

# What must hold before a release: the wheel and sdist in dist/, each extra installed by itself, the steps of the Dockerfile.
release-check: $(VENV)/installed
	@$(call install,release)
	@rm -rf dist && $(BIN)/python -m build --outdir dist > $(VENV)/build.txt 2>&1 || { cat $(VENV)/build.txt; exit 1; }
	@$(BIN)/python -m build --outdir dist reproduction > $(VENV)/build.txt 2>&1 || { cat $(VENV)/build.txt; exit 1; }
	@$(BIN)/python -m twine check --strict dist/*
	@THRESHER_EXTRAS=all $(BIN)/python -m pytest tests/packaging/test_packaging.py tests/packaging/test_container.py tests/packaging/test_installed.py

# Pin what pyproject.toml asks for, with hashes, for every Python and platform. What is pinned stays unless LOCK_FLAGS=--upgrade.
COMPILE = $(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-annotate --no-header $(LOCK_FLAGS)
lock: $(VENV)/bin/python
	@$(BIN)/python -m pip install -q uv
	@$(COMPILE) pyproject.toml --all-extras --group dev -o requirements/dev.txt
	@$(COMPILE) pyproject.toml --extra serve -c requirements/dev.txt -o requirements/run.txt
	@for group in bench soak release; do $(COMPILE) --group $$group -c requirements/dev.txt -o requirements/$$group.txt || exit 1; done

# A virtual environment of our own; where the venv module is missing, virtualenv, and where both are, a line that says what to do.
$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "thresher needs Python 3.11 or newer (make PYTHON=python3.12 ...)"; exit 1; }
	@if $(PYTHON) -c 'import venv, ensurepip' 2>/dev/null; then $(PYTHON) -m venv $(VENV); \
	  elif $(PYTHON) -c 'import virtualenv' 2>/dev/null; then $(PYTHON) -m virtualenv --quiet $(VENV); \
	  else echo "python3 -m venv is missing: install it with 'apt-get install python3-venv', or 'pip install virtualenv', and try again"; exit 1; fi

$(VENV)/installed: $(VENV)/bin/python pyproject.toml reproduction/pyproject.toml requirements/dev.txt
	@$(BIN)/python -c 'import sys, pip; assert sys.prefix != sys.base_prefix' || { echo "$(VENV) is not a whole environment: run 'make clean' and try again"; exit 1; }
	@echo "setting up $(VENV) ..."
	@$(call install,dev)
	@$(BIN)/python -m pip install -q --no-deps --no-build-isolation -e . -e ./reproduction > $(VENV)/editable.txt 2>&1 || { cat $(VENV)/editable.txt; exit 1; }
	@touch $@

clean:
	rm -rf $(VENV) dist build .hypothesis .mypy_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
