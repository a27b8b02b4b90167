# Clueline. `make help` lists the targets; settings are environment variables, CLUELINE_*.

VENV := .venv
PY   := $(VENV)/bin/python

# Libraries that Clueline is compared with. Separate, because torch alone is larger than all the rest.
BENCH_VENV := .venv-bench
BENCH_PY   := $(BENCH_VENV)/bin/python

# Written last, so that a half-made environment is never mistaken for a finished one.
RUNTIME := $(VENV)/.runtime
DEV     := $(VENV)/.dev
BENCH   := $(BENCH_VENV)/.bench

# For two cores: a third worker uses the time that the others spend waiting for servers and the browser.
PYTEST_ARGS ?= -n 3 --dist worksteal

.DEFAULT_GOAL := help
.PHONY: help install dev hooks serve check format test test-slow test-hostile test-long walk test-cluster soak test-libraries calibrate-ourselves bench bench-quick bench-load bench-metrics lock clean audit

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' Makefile

install: $(RUNTIME) ## make .venv from requirements.lock

dev: $(DEV) ## make .venv with what checks and tests need, too

hooks: $(DEV) ## run the checks before each commit
	@$(PY) -m pre_commit install

serve: install ## run the dashboard
	@$(VENV)/bin/clueline serve

check: $(DEV) ## lint, check formatting and types
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy

format: $(DEV) ## reformat the code and fix what ruff can fix
	$(PY) -m ruff check --fix-only --quiet .
	$(PY) -m ruff format .

# Python may write compiled files even if the environment forbids it, because tests start hundreds of processes.
test: check ## check, then run all tests (PYTEST_ARGS=... to choose)
	@without=; scripts/get-chromium $(PY) || without=--ignore=tests/browser; \
	PYTHONDONTWRITEBYTECODE= $(PY) -m pytest $$without -o faulthandler_timeout=600 -o faulthandler_exit_on_timeout=true $(PYTEST_ARGS)

test-slow: $(DEV) ## simulate what intervals and tests promise, and set every key of every view (minutes)
	$(PY) -m pytest -m slow $(PYTEST_ARGS) tests/statistics tests/dashboard/registry

test-hostile: $(DEV) ## try every hostile file, and thousands of requests that name what is private; make test tries some (minutes)
	$(PY) -m pytest -m slow $(PYTEST_ARGS) tests/data/readers tests/dashboard/access

test-long: $(DEV) ## try thirty times as many random examples in the tests of data, queries and dashboard (an hour)
	HYPOTHESIS_PROFILE=long $(PY) -m pytest $(PYTEST_ARGS) tests/data tests/queries tests/dashboard

walk: $(DEV) ## set every control of every page, reload, open elsewhere, go back; axe and the keyboard on every page (minutes)
	@scripts/get-chromium $(PY)
	$(PY) -m pytest -m walk $(PYTEST_ARGS) tests/browser

test-cluster: $(DEV) ## test stores in PostgreSQL and S3, and several hosts, on servers that it starts and stops (minutes)
	@scripts/get-servers
	$(PY) -m pytest -m cluster $(PYTEST_ARGS) tests/cluster

soak: $(DEV) ## kill, crowd, fill disks and send hostile files (minutes); write benchmarks/uploads-soak.md
	@$(PY) -m benchmarks.uploads_soak $(SOAK_ARGS)

test-libraries: $(BENCH) ## compare metrics with netcal and torchmetrics, in .venv-bench
	$(BENCH_PY) -m pytest tests/queries/metrics/test_torch_libraries.py

calibrate-ourselves: $(DEV) ## simulate how often conclusions are wrong (hours; BENCH_ARGS="--studies ..." for some) and write benchmarks/inference.md
	@$(PY) -m benchmarks.inference $(BENCH_ARGS)

bench: $(DEV) ## time each page and its JSON by the size of the store (BENCH_ARGS=...) and write benchmarks/pages.md
	@$(PY) -m benchmarks.pages $(BENCH_ARGS)

bench-quick: $(DEV) ## fail if a ratio of processor times gets worse by more than 30 % (BENCH_ARGS=--keep stores new ones)
	@$(PY) -m benchmarks.quick $(BENCH_ARGS)

bench-load: $(BENCH) ## let fifty analysts look while others upload, for 15 minutes (BENCH_ARGS=...); write benchmarks/load.md
	@$(BENCH_PY) -m benchmarks.load $(BENCH_ARGS)

bench-metrics: $(BENCH) ## time each metric over 10 million responses (BENCH_ARGS=...) and write benchmarks/metrics.md
	@$(BENCH_PY) -m benchmarks.metrics $(BENCH_ARGS)

lock: $(RUNTIME) ## rewrite the locks from pyproject.toml (UPGRADE=1: newest versions)
	@$(PY) -m pip install --quiet --disable-pip-version-check uv
	@$(COMPILE) -o requirements.lock pyproject.toml
	@$(COMPILE) -o requirements-build.lock -c requirements.lock --group build
	@$(COMPILE) -o requirements-dev.lock -c requirements.lock -c requirements-build.lock --group dev
	@$(COMPILE) -o requirements-bench.lock -c requirements.lock -c requirements-dev.lock --group bench
	@$(COMPILE) --no-config -o requirements-torch.lock -c requirements.lock -c requirements-bench.lock --group torch

sbom: $(DEV) ## write sbom.json: what Clueline is made of, as CycloneDX, from requirements.lock
	@$(PY) scripts/write-sbom requirements.lock sbom.json

audit: ## list locked packages with known vulnerabilities, where a source of advisories can be reached
	@scripts/audit-dependencies requirements.lock

clean: ## remove .venv, .venv-bench and caches (keeps the store)
	rm -rf $(VENV) $(BENCH_VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +

# One set of versions for all Python versions and platforms, without this machine's index or paths.
COMPILE = $(PY) -m uv pip compile --quiet --universal --python-version 3.11 --fork-strategy fewest \
	--generate-hashes \
	--custom-compile-command 'make lock' $(if $(UPGRADE),--upgrade)

# A path, or the reason why there is none. $(error) prints the reason in one line, before anything is made.
BASE_PYTHON = $(shell PYTHON='$(PYTHON)' scripts/find-python 2>&1)
check_python = $(if $(filter /%,$(firstword $(BASE_PYTHON))),,$(error $(BASE_PYTHON)))

# In editable mode: the folders stay where they are.
install_package = $(1) -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .

$(RUNTIME): requirements.lock requirements-build.lock
	$(check_python)
	@rm -rf $(VENV)
	@'$(BASE_PYTHON)' -m venv $(VENV)
	@scripts/pip-install $(PY) requirements.lock
	@scripts/pip-install $(PY) requirements-build.lock
	@$(call install_package,$(PY))
	@touch $@

$(DEV): $(RUNTIME) requirements-dev.lock
	@scripts/pip-install $(PY) requirements-dev.lock
	@touch $@

$(BENCH): requirements.lock requirements-bench.lock requirements-torch.lock
	$(check_python)
	@rm -rf $(BENCH_VENV)
	@'$(BASE_PYTHON)' -m venv $(BENCH_VENV)
	@scripts/pip-install $(BENCH_PY) requirements.lock
	@scripts/pip-install $(BENCH_PY) requirements-bench.lock --no-deps # torch comes next
	@scripts/install-torch $(BENCH_PY) requirements-torch.lock
	@$(call install_package,$(BENCH_PY))
	@touch $@
