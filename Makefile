# make demo       the main job, on embedded data
# make test       the test suite, on all cores
# make lint       the linter, the formatter's check and the type checker
# make test-slow  the tests marked slow
# make test-timed the tests marked timed, which want the machine for themselves
# make coverage   the test suite with the share of lines that it runs; fails below the floor in pyproject.toml
# make bench      the benchmarks, beside the peers they compare with; BENCH_ARGS=--quick chooses how much
# make paper      the paper's figures and numbers into build/paper, with a report; OUTPUT=... chooses the folder
# make proofs     the proofs checked by Coq into build/proofs, with what each theorem assumes
# make docs       the documentation into build/docs, every warning an error; no network is needed
# make format     apply the formatter and the linter's safe fixes
# make lock       renew constraints.txt: versions and hashes of everything that is installed
# make release    source archive, wheels, npm package, documentation and bill of materials into dist; nothing is uploaded
# make clean      remove environments, caches and builds
#
# Each makes the environment it needs, renews it when pyproject.toml or constraints.txt changes, and compiles the
# C sources when they change. Several may run at once.
# PYTHON=... chooses the interpreter (3.11 or newer), PYTEST_ARGS=... goes to pytest.

# Paths are relative throughout, so that the folder's own path may hold spaces.
environment := sh tools/environment.sh
demo_python := .venv-demo/bin/python
test_python := .venv-test/bin/python
bench_python := .venv-bench/bin/python
docs_python := .venv-docs/bin/python
lock_python := .venv-lock/bin/python

# One process more than there are cores (tests/conftest.py): many tests wait. The tests of a file share one, so that what
# they share, like a server, is made once. The order of the files is that of tests/conftest.py.
all_cores := --numprocesses auto
# The cores are busy with tests, whose own linear algebra would only get in their way on several threads. Examples of the
# documentation and benchmarks run as a user's would.
test test-slow coverage: export OPENBLAS_NUM_THREADS = 1
# Tests start hundreds of processes, examples some, which would compile the same sources again and again.
test test-slow coverage docs: export PYTHONDONTWRITEBYTECODE =
lint: export MYPY_NUM_WORKERS = auto

.PHONY: help
help:
	@sed -n 's/^# \(make .*\)/\1/p' Makefile

.PHONY: demo
demo:
	@$(environment) create .venv-demo -e ".[survey]"
	@$(demo_python) -m extremal demo --output build/demo

.PHONY: test
test: test-environment
	$(test_python) -m pytest $(all_cores) --dist loadfile --no-loadscope-reorder $(PYTEST_ARGS)

.PHONY: lint
lint: test-environment
	$(test_python) -m ruff check
	$(test_python) -m ruff format --check
	$(test_python) -m mypy --strict src

# 5 is pytest's status for "no tests collected".
.PHONY: test-slow
test-slow: test-environment
	$(test_python) -m pytest -m "slow and not timed" $(all_cores) --dist worksteal $(PYTEST_ARGS) || [ $$? -eq 5 ]

.PHONY: test-timed
test-timed: test-environment
	$(test_python) -m pytest -m timed $(PYTEST_ARGS)

# Commands, servers and workers that tests start are counted too. The page with every line is build/coverage/index.html.
.PHONY: coverage
coverage: test-environment
	$(test_python) -m pytest $(all_cores) --dist loadfile --cov --cov-report term --cov-report html:build/coverage $(PYTEST_ARGS)

.PHONY: bench
bench:
	@$(environment) create .venv-bench -e ".[bench]"
	$(bench_python) benchmarks/run.py $(BENCH_ARGS)

OUTPUT ?= build/paper
.PHONY: paper
paper: test-environment
	$(test_python) -m extremal reproduce --output "$(OUTPUT)"

.PHONY: proofs
proofs:
	sh proofs/make.sh

# A fresh start each time, so that pages of names that are gone are gone too.
.PHONY: docs
docs:
	@$(environment) create .venv-docs -e ".[docs]"
	rm -rf docs/generated build/docs
	$(docs_python) -m sphinx --jobs auto --fail-on-warning --keep-going --nitpicky --quiet docs build/docs
	@echo "open build/docs/index.html"

.PHONY: format
format: test-environment
	$(test_python) -m ruff check --fix
	$(test_python) -m ruff format

# Extras stay in the list: pip takes the newest release of `coverage[toml]`, which has no hash, if only `coverage` is pinned.
.PHONY: lock
lock:
	@$(environment) create .venv-lock --group lock
	$(lock_python) -m uv pip compile --quiet --upgrade --universal --fork-strategy fewest --python-version 3.11 --no-config \
		--no-strip-extras --all-extras --group build --group lock --group release --generate-hashes --no-emit-package extremal \
		--custom-compile-command "make lock" --output-file constraints.txt pyproject.toml

.PHONY: release
release: docs
	@$(environment) create .venv-release --group build --group release
	sh tools/release.sh

.PHONY: test-environment
test-environment:
	@$(environment) create .venv-test -e ".[test]"

.PHONY: clean
clean:
	rm -rf .venv .venv-demo .venv-test .venv-bench .venv-docs .venv-lock .venv-release .venv*.lock build dist docs/_build docs/generated
	rm -rf .mypy_cache .pytest_cache .ruff_cache .hypothesis
	rm -f src/extremal/_native/*.so src/extremal/_native/*.dylib src/extremal/_native/*.dll
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
