# The verbs of this project. `make help` lists them; each sets up what it needs first.
# Another Python: make check PYTHON=/path/to/python3.13

SHELL := /bin/sh
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

BIN := .venv/bin
PYTEST := $(BIN)/python -m pytest
# Two workers: what the smallest runner has; more of them start slower than they help.
WORKERS ?= 2
ARGS ?=

.PHONY: help
help: ## List the verbs
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# A Python named on the command line is looked at every time; otherwise the stamp answers.
SETUP_INPUTS := pyproject.toml uv.lock infra/setup.sh $(if $(PYTHON),FORCE)
.PHONY: FORCE
FORCE:

.venv/.ready-dev: $(SETUP_INPUTS)
	@echo "Setting up .venv for development"
	@PYTHON="$(PYTHON)" infra/setup.sh dev
	@touch .venv/.ready-serve $@

.venv/.ready-serve: $(SETUP_INPUTS)
	@echo "Setting up .venv"
	@PYTHON="$(PYTHON)" infra/setup.sh serve
	@touch $@

.PHONY: setup
setup: .venv/.ready-dev ## Make .venv with everything that development needs
	@echo "Ready: $$($(BIN)/python --version) in .venv"

.PHONY: serve
serve: .venv/.ready-serve ## Run the server on this machine (ARGS="--port 9000")
	@$(BIN)/nacre serve $(ARGS)

.PHONY: check
check: lint test ## All that must pass before a commit: format, lint, types, contracts, tests

.PHONY: lint
lint: .venv/.ready-dev ## Format, lint, types and import contracts, without changing a file
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

.PHONY: format
format: .venv/.ready-dev ## Rewrite files as ruff wants them
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

.PHONY: reference
reference: .venv/.ready-dev ## Rewrite the pages of docs/ that follow from code
	@$(BIN)/python infra/reference.py

.PHONY: test
test: .venv/.ready-dev ## The tests that run in a minute (ARGS="-k recall")
	$(PYTEST) -n $(WORKERS) $(ARGS)
