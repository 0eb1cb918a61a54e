# The same commands on every machine and in CI. Only make, git and Python >= 3.11 are assumed.
#   make run     serve the example agents on 127.0.0.1:8080
#   make test    every test, those of the examples included; make test ARGS="-k name" picks
#   make check   format, lint, types, layers
#   make bench   turns per second beside the a2a-sdk's own server
#   make fuzz    bad input to both bindings and the token door, MINUTES=10 each
#   make docs    write the pages that are made of the code
#   make .venv   only the environment that all of these share
# Another Python: make PYTHON=python3.13 …

PYTHON ?= python3
PRINT_VERSION := 'import sys; print("%d.%d" % sys.version_info[:2])'
VERSION := $(shell $(PYTHON) -c $(PRINT_VERSION) 2>/dev/null)

# Installed once per Python version, and again when what is to be installed changes.
STAMP := .venv/installed-$(VERSION)
PROJECTS := $(wildcard pyproject.toml examples/*/pyproject.toml plugins/*/pyproject.toml)

.PHONY: run test check bench fuzz docs .venv

run: $(STAMP)
	.venv/bin/innkeeper serve

test: $(STAMP)
	.venv/bin/pytest $(ARGS)

check: $(STAMP)
	.venv/bin/ruff format --check .
	.venv/bin/ruff check .
	.venv/bin/mypy
	.venv/bin/mypy $(wildcard plugins/*/innkeeper_* examples/*/innkeeper_*.py)
	.venv/bin/lint-imports

bench: $(STAMP)
	.venv/bin/python bench $(ARGS)

MINUTES ?= 10
FUZZ_SECONDS = $(shell expr $(MINUTES) '*' 60)

fuzz: $(STAMP)
	.venv/bin/python -m pip install --quiet --group fuzz
	cd tests/fuzz && ../../.venv/bin/python atheris_token_door.py -max_total_time=$(FUZZ_SECONDS) -print_final_stats=1
	FUZZ_SECONDS=$(FUZZ_SECONDS) .venv/bin/pytest tests/fuzz

docs: $(STAMP)
	.venv/bin/python docs/generate

.venv: $(STAMP)

$(STAMP): $(PROJECTS) Makefile
	@test -n "$(VERSION)" || { echo 'make: $(PYTHON) does not run; name a Python: make PYTHON=python3.11 …' >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo 'make: $(PYTHON) is Python $(VERSION), Innkeeper needs 3.11 or later: make PYTHON=python3.11 …' >&2; exit 1; }
	@for module in venv ensurepip; do $(PYTHON) -c "import $$module" 2>/dev/null \
	  || { echo "make: $(PYTHON) has no module $$module; on Debian and Ubuntu: apt install python$(VERSION)-venv" >&2; exit 1; }; done
	@test "$$(.venv/bin/python -c $(PRINT_VERSION) 2>/dev/null)" = $(VERSION) || { rm -rf .venv && $(PYTHON) -m venv .venv; }
	.venv/bin/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	.venv/bin/python -m pip install --quiet --group dev $(patsubst %,--editable %,$(patsubst ./,.,$(dir $(PROJECTS))))
	@touch $@
