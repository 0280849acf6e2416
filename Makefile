# Every verb works from a fresh clone with Python 3.11 or newer and nothing else installed.
PYTHON ?= python3
# Two processes, each file in one of them, in the order of tests/conftest.py. PYTEST_ARGS= for a single process.
PYTEST_ARGS ?= -n 2 --dist loadfile --no-loadscope-reorder
# Tests of equations, bounds, networks, files and house rules: no training, no simulator, no child process that imports JAX.
FAST := $(addprefix tests/,test_architecture.py test_agent.py test_damaged_agents.py test_docs.py test_files.py test_plugins.py test_schedules.py test_schema.py test_threat.py test_threat_model.py interop) \
	$(wildcard tests/methods/test_[glr]*.py) $(addprefix tests/attacks/test_,budget.py by_hand.py guided.py imitation.py) \
	$(addprefix tests/bounds/test_,action_sets.py ball.py oracle.py relaxation.py search.py soundness.py) \
	$(addprefix tests/evaluation/test_,flags.py seeds.py statistics.py suites.py) \
	$(addprefix tests/mechanisms/test_,by_hand.py car.py equations_page.py q_reg.py replay.py state_adversarial.py theorem.py) \
	$(addprefix tests/report/test_,drawing.py groups.py tables.py) tests/reproduce/test_plan.py \
	$(addprefix tests/training/test_,gae.py replay_buffer.py source_commit.py)
# The tested version. Where an index offers its CPU build (2.13.0+cpu), pip prefers that to the one with gigabytes of CUDA.
TORCH := torch==2.13.0

TIER ?= whole

PIP = .venv/bin/python -m pip install --quiet --disable-pip-version-check
# Only files whose hashes are in the lists of requirements/, which name every package: nothing else is resolved.
HASHED = $(PIP) --require-hashes --no-deps -r requirements/
RUN = .venv/bin/python -m

.DEFAULT_GOAL := help
.PHONY: help setup oracle demo test test-fast coverage check lint bench tables docs docs-serve format lock clean

help:  ## list the verbs
	@grep -hE '^[a-z-]+:.*##' Makefile | sed -E 's/^([a-z-]+):.*## */\1|/' | awk -F'|' '{ printf "make %-10s %s\n", $$1, $$2 }'

setup: .venv/.setup  ## install wocar and its developer tools into .venv, from the hashed files of requirements/setup.txt

oracle: .venv/.oracle  ## add what tests and benchmark compare with or run on: PyTorch, Stable-Baselines3, Ray

demo: .venv/.setup  ## a small PPO agent and a robust one of the zoo, attacked by fast-v2, on one page; minutes
	$(RUN) wocar.cli.demo

test: .venv/.oracle  ## run all tests
	$(RUN) pytest $(PYTEST_ARGS)

test-fast: .venv/.setup  ## run the unit tests, in a minute or so
	$(RUN) pytest $(PYTEST_ARGS) $(FAST)

coverage: .venv/.oracle  ## run all tests and show which lines of wocar they ran
	$(RUN) pytest $(PYTEST_ARGS) --cov --cov-report=term:skip-covered

lint: .venv/.setup  ## lint, format check, types
	$(RUN) ruff check
	$(RUN) ruff format --check
	$(RUN) mypy

check: lint test  ## what a change must pass: lint, format check, types, all tests

bench: .venv/.oracle  ## measure the speed ratios; TIER=quick takes two minutes
	$(RUN) wocar.bench --tier $(TIER)

tables: .venv/.setup  ## write the generated tables, outputs and picture of README.md and docs/ anew
	.venv/bin/python scripts/tables.py
	.venv/bin/python scripts/method_tables.py
	.venv/bin/python scripts/scatter.py
	.venv/bin/python scripts/what_works_table.py --write
	.venv/bin/python scripts/matrix.py
	.venv/bin/python scripts/suites_table.py
	.venv/bin/python scripts/budget_table.py

docs: .venv/.docs  ## build the documentation into site/; a broken link is an error
	NO_MKDOCS_2_WARNING=1 $(RUN) mkdocs build --strict --quiet

docs-serve: .venv/.docs  ## show the documentation while it is written
	NO_MKDOCS_2_WARNING=1 $(RUN) mkdocs serve

format: .venv/.setup  ## apply ruff's fixes and format
	$(RUN) ruff check --fix
	$(RUN) ruff format

lock:  ## resolve the newest allowed versions in a fresh environment and record them; then run make check
	rm -rf .cache/lock
	$(PYTHON) -m venv .cache/lock
	.cache/lock/bin/pip install --quiet $(TORCH)
	.cache/lock/bin/pip install --quiet '.[dev,docs,envpool,onnx,sb3,ray]'
	.cache/lock/bin/python -c 'import platform as p; print("# make lock, Python", p.python_version(), p.system(), p.machine())' > .cache/lock.txt
	.cache/lock/bin/pip freeze --all --exclude pip --exclude wocar >> .cache/lock.txt
	sed 's/+cpu$$//' .cache/lock.txt > requirements/lock.txt
	.cache/lock/bin/python scripts/lock.py
	rm -rf .cache/lock .cache/lock.txt

clean:  ## remove caches and builds, keep .venv and results
	rm -rf .cache .hypothesis build dist site
	find src tests -name __pycache__ -prune -exec rm -rf {} +

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "wocar needs Python 3.11 or newer: make PYTHON=python3.11 setup")'
	$(PYTHON) -m venv .venv

.venv/.setup: pyproject.toml requirements/setup.txt | .venv/bin/python
	$(HASHED)setup.txt
	$(PIP) --no-deps --no-build-isolation -e .
	touch $@

# PyTorch goes first and alone: Stable-Baselines3 then finds its requirement met and fetches no other build. It is the one
# file without a hash: each index has builds of its own of one version (CPU, CUDA, ROCm), and a list of the hashes of some
# would refuse the others. It is compared with in tests; set-up and wocar itself do not use it.
.venv/.oracle: .venv/.setup
	$(PIP) -c requirements/lock.txt $(TORCH)
	$(HASHED)oracle.txt
	touch $@

.venv/.docs: .venv/.setup requirements/docs.txt
	$(HASHED)docs.txt
	touch $@
