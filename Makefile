# The verbs of this project. `make help` lists them; each sets up what it needs first.
# Another Python: make check PYTHON=/path/to/python3.13

SHELL := /bin/sh
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

BIN := .venv/bin
PYTEST := $(BIN)/python -m pytest
# Two cores keep four workers busy: much of a test's time is waiting for other processes.
WORKERS ?= 4
ARGS ?=

# Containers often set it. Here hundreds of processes would then compile the same files again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help
help: ## List the verbs
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

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

# Types are checked beside the tests, which one process collects for the first ten seconds.
# In the background it is mypy, because what is started there ignores an interrupt.
define with_types
$(1)/mypy & types=$$!; $(2); tests=$$?; wait $$types && exit $$tests
endef

.PHONY: check
check: style ## All that must pass before a commit: format, lint, types, contracts, tests
	$(call with_types,$(BIN),$(PYTEST) --workers $(WORKERS) $(ARGS))

.PHONY: style
style: .venv/.ready-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports

.PHONY: lint
lint: style ## Format, lint, types and import contracts, without changing a file
	$(BIN)/mypy

.PHONY: format
format: .venv/.ready-dev ## Rewrite files as ruff wants them
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

.PHONY: reference
reference: .venv/.ready-dev ## Rewrite the pages of docs/ that follow from code
	@$(BIN)/python -m infra.architecture
	@$(BIN)/python -m infra.reference

.tools/site/.ready: infra/site/requirements.txt infra/setup.sh
	@echo "Setting up .tools/site"
	@.tools/uv/bin/uv venv --quiet --clear --python $(BIN)/python .tools/site
	@.tools/uv/bin/uv pip install --quiet --python .tools/site/bin/python -r $<
	@touch $@

.PHONY: site
site: .venv/.ready-serve .tools/site/.ready ## Build the searchable site of docs/ into site/, with every link checked
	@$(BIN)/python -m infra.site.build

.PHONY: test
test: .venv/.ready-dev ## The default tests, some minutes on two cores (ARGS="-k recall")
	$(PYTEST) --workers $(WORKERS) $(ARGS)

.PHONY: test-313
test-313: .venv/.ready-dev ## The same types and tests on Python 3.13, which AWS runs
	@python=$$($(BIN)/python -m infra.newer_python) || { \
		printf '\n!!! NOT RUN on Python 3.13: there is none here and none could be fetched\n\n' >&2; exit 0; }; \
	PYTHON=$$python UV_PROJECT_ENVIRONMENT=.tools/venv-3.13 infra/setup.sh dev && \
	echo "$$(.tools/venv-3.13/bin/python --version)" && \
	{ $(call with_types,.tools/venv-3.13/bin,.tools/venv-3.13/bin/python -m pytest \
		--workers $(WORKERS) -p no:cacheprovider $(ARGS)); }

.PHONY: test-oldest
test-oldest: .venv/.ready-dev ## The same tests on the oldest Python that is promised, as an ordinary user
	@infra/test_oldest.sh $(WORKERS) $(ARGS)

.tools/node/.ready: infra/node/package-lock.json infra/node_tools.sh
	@echo "Setting up .tools/node"
	@infra/node_tools.sh
	@touch $@

# For suites that run without npm too: their tests say what they left out.
.PHONY: node-if-possible
node-if-possible:
	@if command -v npm >/dev/null; then $(MAKE) --no-print-directory .tools/node/.ready; else \
		printf '\n!!! NOT RUN: what needs npm, which is not installed\n\n' >&2; fi

SLOW := $(PYTEST) -m slow

.PHONY: conformance
conformance: .venv/.ready-dev .tools/node/.ready ## The official conformance suite and other people's clients
	$(SLOW) tests/end_to_end/conformance tests/end_to_end/clients $(ARGS)

.PHONY: clients
clients: .venv/.ready-dev .tools/node/.ready ## Other people's clients and applications connect, log in and call
	$(SLOW) tests/end_to_end/clients $(ARGS)

.PHONY: template
template: .venv/.ready-dev ## The AWS template and its layers: built, validated, checked
	$(SLOW) tests/infra tests/functions --ignore tests/infra/test_stack.py $(ARGS)

.PHONY: stack
stack: .venv/.ready-dev .tools/node/.ready ## A whole deployment to an emulator on loopback, then calls over HTTP
	$(SLOW) tests/infra/test_stack.py $(ARGS)

.PHONY: browser
browser: .venv/.ready-dev .tools/node/.ready ## Chromium on the owner's pages: walks, and what keeps people out
	$(SLOW) tests/end_to_end/browser $(ARGS)

# The folders of slow tests that other targets run.
OTHER_SUITES := functions fuzz infra project $(addprefix end_to_end/,attacks browser clients conformance faults)
.PHONY: slow
slow: .venv/.ready-dev .tools/site/.ready node-if-possible ## Every other slow test: crashes, long runs, the other stores
	$(SLOW) tests $(foreach part,$(OTHER_SUITES),--ignore tests/$(part)) $(ARGS)
	@# Five says that no law is among the tests that ARGS chose.
	$(PYTEST) -m "hypothesis and not slow and not benchmark" --hypothesis-profile thorough tests $(ARGS) || [ $$? -eq 5 ]

.PHONY: project
project: .venv/.ready-dev node-if-possible ## The project itself: the wheel, each verb in a fresh clone, a sample of make mutate
	$(SLOW) tests/project $(ARGS)

.PHONY: faults
faults: .venv/.ready-dev node-if-possible ## What fails: every test that docs/concepts/faults.md names, with real processes
	$(PYTEST) -m "not benchmark" --workers 2 $$($(BIN)/python -m tests.end_to_end.faults.listed) $(ARGS)

.PHONY: crashes
crashes: .venv/.ready-dev ## Stop patrols of random histories a hundred thousand times (NACRE_CRASHES=1000)
	NACRE_CRASHES=$${NACRE_CRASHES:-100000} $(SLOW) -s tests/being/patrol/test_random_crashes.py $(ARGS)

.PHONY: mutate
mutate: .venv/.ready-dev node-if-possible ## Break each promise on purpose: do its tests notice? (ARGS="003.auth.hashed")
	@$(BIN)/python -m tests.mutate.run $(ARGS)

.PHONY: load
load: .venv/.ready-dev ## Mixed traffic for minutes: speed, memory, nothing lost (ARGS="laptop --seconds 60")
	@$(BIN)/python -m tests.end_to_end.load $(ARGS)

.PHONY: attack
attack: .venv/.ready-dev node-if-possible ## What attackers try, with a table of what came of it; then known weaknesses
	@$(BIN)/python -m tests.end_to_end.attacks.run $(ARGS)
	@$(BIN)/python -m infra.advisories || [ $$? -eq 3 ]

.PHONY: bill
bill: .venv/.ready-dev ## Write the bill of materials (CycloneDX), with the licence of every dependency
	@$(BIN)/python -m infra.bill $(ARGS)

.PHONY: fuzz
fuzz: .venv/.ready-dev ## Give every parser what nobody would send, and hold 100,000 proofs against the engine
	NACRE_FUZZ_RUNS=$${NACRE_FUZZ_RUNS:-200000} NACRE_PROOFS=$${NACRE_PROOFS:-100000} \
		$(SLOW) tests/fuzz tests/firewall/analysis/test_prove.py $(ARGS)

.PHONY: bench
bench: .venv/.ready-dev .tools/node/.ready ## Measure; every figure is a ratio within the same run
	$(PYTEST) -m benchmark -s tests/benchmarks $(ARGS)

.PHONY: build
build: .venv/.ready-dev ## Build the functions and their layers (ARGS="--arch x86_64")
	@$(BIN)/python -m infra.sam build $(ARGS)
	@$(BIN)/python -m infra.bill

.PHONY: dist
dist: .venv/.ready-dev .tools/node/.ready ## Build what a release publishes into dist/ (ARGS="--repository OWNER/NAME")
	@$(BIN)/python -m infra.release.build $(ARGS)

.PHONY: deploy
deploy: build ## Build, then deploy to your AWS account, asking for what it needs
	@$(BIN)/python -m infra.sam deploy $(ARGS)

.PHONY: services
services: .venv/.ready-dev ## Tables, queue, bucket and key on loopback, for `sam local start-api`
	@$(BIN)/python -m infra.services
