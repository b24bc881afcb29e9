# `make quickstart` and `make test` do everything. Both set up the virtual environment first.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
# Environments of frameworks that conflict with the others and need no GPU.
OWN_ENVIRONMENTS := lava-dl spikingjelly-cupy jaxpike brainpy-state slax jaxsnn matterhorn-pytorch

# If Python may not write compiled modules, every worker compiles them again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help lock quickstart history coverage natives site test test-all test-slow-in-ci test-gpu fuzz kills types lint setup dev clean

# snnbench and every framework that can share an environment, in .venv.
setup: $(VENV)/.ready

# The targets of this file.
help:
	@awk '/^#/ {text = text substr($$0, 2); next} /^[a-z-]+:/ && text {printf "make %-18s%s\n", substr($$1, 1, length($$1) - 1), text} \
	  !/^[A-Z_]+ [?:]= / {text = ""}' $(firstword $(MAKEFILE_LIST))

# snnbench in the versions of constraints.txt, then the frameworks by the users' own command.
$(VENV)/.ready: constraints.txt pyproject.toml adapters/environments.toml adapters/environments/standard.txt
	$(PYTHON) bench/machine/lacking.py $(VENV)
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet --constraint constraints.txt --editable '.[data,docker,parquet]'
	$(BIN)/snnbench env create standard --here
	touch $@

LOCK = $(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --index-strategy unsafe-best-match \
  --no-annotate --custom-compile-command "make lock" \
  $(foreach each,without overrides,--overrides adapters/environments/$(each).txt)

# Newest versions of all packages, for every Python: constraints.txt and adapters/environments/*.txt.
lock: setup
	$(LOCK) pyproject.toml $(addprefix --extra=,data docker parquet test) adapters/environments/standard.in --output-file constraints.txt
	for each in adapters/environments/*.in; do $(LOCK) $$each --output-file $${each%.in}.txt || exit 1; done

# setup, and the packages that tests need.
dev: $(VENV)/.tests

# Packages for tests and for checks of the code.
$(VENV)/.tests: $(VENV)/.ready
	$(PIP) install --quiet --constraint constraints.txt --editable '.[test]'
	touch $@

# Packages for tests of the GPU kernels. torch for CUDA brings its own Triton.
$(VENV)/.kernels: constraints-kernels.txt $(VENV)/.tests
	$(PIP) install --quiet --no-deps $$(grep -Ev '^(#|triton)' constraints-kernels.txt)
	$(BIN)/python -c 'import triton' 2>/dev/null || $(PIP) install --quiet --no-deps $$(grep '^triton==' constraints-kernels.txt)
	touch $@

# Prove and measure one layer in every framework: results/local/quickstart.
quickstart: setup
	$(BIN)/snnbench run --config configs/quickstart.toml

# Two versions of snnTorch and the changes between them; the older one fails the proof, which is the point.
history: setup
	$(BIN)/snnbench run --config configs/history.toml --create || test $$? = 4

# The table of docs/coverage.md, measured from nothing. After an interruption, run all lines but the first.
coverage: $(VENV)/.tests
	rm -rf results/local/coverage
	$(BIN)/snnbench env create $(OWN_ENVIRONMENTS)
	$(BIN)/snnbench run --config configs/coverage.toml || test $$? = 3
	$(BIN)/snnbench bundle results/local/coverage --by snnbench --out results/coverage.bundle.jsonl
	$(BIN)/python tests/test_readme.py

# The table of docs/natives.md, likewise.
natives: $(VENV)/.tests
	rm -rf results/local/natives
	$(BIN)/snnbench env create $(OWN_ENVIRONMENTS)
	$(BIN)/snnbench run --config configs/natives.toml
	$(BIN)/snnbench bundle results/local/natives --by snnbench --out results/natives.bundle.jsonl
	$(BIN)/python tests/test_readme.py

# The committed sets as a site, build/site/index.html, with a sample report, build/site/sample/report.html.
site: setup
	$(BIN)/snnbench site $(wildcard results/*.bundle.jsonl) --out build/site
	$(BIN)/snnbench report results/example.bundle.jsonl --out build/site/sample

# One process more than there are cores: tests wait for other processes a quarter of their time.
PROCESSES ?= $(shell $(PYTHON) -c "import os; print(os.cpu_count() + 1)")
# All tests of a file run in one process, so that what they share is set up once.
PYTEST = $(BIN)/python -m pytest --numprocesses $(PROCESSES) --dist loadfile
IN_ORDER := --no-loadscope-reorder

# All tests but full matrices, which have representatives here.
test: $(VENV)/.kernels
	$(PYTEST) $(IN_ORDER) -m "not slow"

# All tests, files with the most tests first: the matrix of named networks takes half an hour in one process.
test-all: $(VENV)/.kernels
	$(PYTEST)

# Full matrices that .ci/run adds to `make test`: planted faults, frameworks in the sandbox, compiled frameworks,
# environments, kernels, what a wheel holds, and the documents' commands and examples.
SLOW_IN_CI := $(addprefix tests/proof/test_,wrong_adapters.py wrong_networks.py wrong_steps.py recheck.py large.py equation.py) \
  tests/proof/diagnosis/test_diagnose.py tests/report/page/test_accessibility.py \
  $(addprefix tests/end_to_end/test_,compiler_cache.py delivery.py given.py ranks.py shards.py slurm.py) \
  $(addprefix tests/,cli/test_examine.py cli/test_same.py workloads/test_recipes.py test_commands.py) \
  tests/end_to_end/test_wheel.py::test_the_wheel_has_what_is_no_python \
  $(addprefix tests/,worker adapters/base adapters/ranks api compile environments kernels)
test-slow-in-ci: $(VENV)/.kernels
	$(PYTEST) $(IN_ORDER) -m slow $(SLOW_IN_CI)

# Tests that need a GPU; skipped without one.
test-gpu: $(VENV)/.kernels
	$(BIN)/python -m pytest tests/gpu

# Ten thousand hostile configs, records, events and command lines each, or a PART of them.
SEED ?= 1
PART ?= 1/1
fuzz: $(VENV)/.tests
	PYTHONPATH=tests $(BIN)/python -m support.fuzz --seed $(SEED) --part $(PART)

# Three hundred killed commands, or a PART of them.
kills: $(VENV)/.tests
	PYTHONPATH=tests $(BIN)/python -m support.kills --seed $(SEED) --part $(PART)

# mypy ignores package-dir in pyproject.toml, so the three packages are linked into one tree.
types: $(VENV)/.tests
	rm -rf build/types
	mkdir -p build/types/snnbench
	ln -s $(CURDIR)/bench/* $(CURDIR)/adapters $(CURDIR)/kernels build/types/snnbench/
	$(BIN)/python -m mypy

# Types, style, and the Dockerfile.
lint: types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/hadolint Dockerfile

# Removes everything generated except results.
clean:
	rm -rf $(VENV) build *.egg-info
