# Two commands do everything: `make quickstart` and `make test`. Both set up the virtual environment first.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
# Of frameworks that cannot live beside the others, those for which a CPU is enough.
OWN_ENVIRONMENTS := lava-dl spikingjelly-cupy jaxpike brainpy-state slax jaxsnn matterhorn-pytorch

# Where a machine forbids Python to keep compiled modules, every worker would compile them anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help quickstart history coverage natives site test test-all test-slow-in-ci test-gpu fuzz kills types lint setup dev clean

# snnbench and every framework that lives beside the others, in .venv.
setup: $(VENV)/.ready

# What can be made.
help:
	@awk '/^#/ {text = text substr($$0, 2); next} /^[a-z-]+:/ && text {printf "make %-18s%s\n", substr($$1, 1, length($$1) - 1), text} \
	  !/^[A-Z_]+ [?:]= / {text = ""}' $(firstword $(MAKEFILE_LIST))

# snnbench in the versions of constraints.txt; then the frameworks, by the command that users have for it.
$(VENV)/.ready: constraints.txt pyproject.toml adapters/environments.toml
	$(PYTHON) -c 'import sys; ok = (3, 11) <= sys.version_info < (3, 13); sys.exit(0 if ok else "snnbench needs Python 3.11 or 3.12: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet --constraint constraints.txt --editable '.[data,docker,parquet,report]'
	$(BIN)/snnbench env create standard --here
	touch $@

# The same, and what tests need.
dev: $(VENV)/.tests

# What tests and checks of the code need on top.
$(VENV)/.tests: $(VENV)/.ready
	$(PIP) install --quiet --constraint constraints.txt --editable '.[test]'
	touch $@

# What the tests of the GPU kernels need on top. torch for CUDA has brought its own Triton.
$(VENV)/.kernels: constraints-kernels.txt $(VENV)/.tests
	$(PIP) install --quiet --no-deps $$(grep -Ev '^(#|triton)' constraints-kernels.txt)
	$(BIN)/python -c 'import triton' 2>/dev/null || $(PIP) install --quiet --no-deps $$(grep '^triton==' constraints-kernels.txt)
	touch $@

# Prove and measure one layer in every framework: results/local/quickstart.
quickstart: setup
	$(BIN)/snnbench run --config configs/quickstart.toml

# Two versions of snnTorch and what changed between them: a proof that fails is what this shows.
history: setup
	$(BIN)/snnbench run --config configs/history.toml --create || test $$? = 4

# docs/coverage.md's table of what is proved, from nothing. Interrupted, its lines but the first go on where they were.
coverage: $(VENV)/.tests
	rm -rf results/coverage
	$(BIN)/snnbench env create $(OWN_ENVIRONMENTS)
	$(BIN)/snnbench run --config configs/coverage.toml --out results/coverage || test $$? = 3
	$(BIN)/python tests/test_readme.py

# docs/natives.md's table of native neurons, likewise.
natives: $(VENV)/.tests
	rm -rf results/natives
	$(BIN)/snnbench env create $(OWN_ENVIRONMENTS)
	$(BIN)/snnbench run --config configs/natives.toml --out results/natives
	$(BIN)/python tests/test_readme.py

# The committed sets as a site, build/site/index.html, with a sample report, build/site/sample/report.html.
site: setup
	rm -rf build/bundles
	for set in $(patsubst results/%/records,%,$(wildcard results/*/records)); do \
	  $(BIN)/snnbench bundle results/$$set --by snnbench --out build/bundles/$$set.bundle.jsonl || exit 1; done
	$(BIN)/snnbench site build/bundles --out build/site
	$(BIN)/snnbench report results/example --out build/site/sample

PYTEST := $(BIN)/python -m pytest --numprocesses auto --dist worksteal

# All but full matrices, of which representatives are in it.
test: $(VENV)/.kernels
	$(PYTEST) -m "not slow"

# Everything.
test-all: $(VENV)/.kernels
	$(PYTEST)

# Of the full matrices, those that .ci/run runs after `make test`: frameworks in the sandbox, compiled frameworks, kernels.
SLOW_IN_CI := tests/worker tests/adapters/base tests/adapters/ranks tests/compile tests/kernels
test-slow-in-ci: $(VENV)/.kernels
	$(PYTEST) -m slow $(SLOW_IN_CI)

# What needs a GPU; skipped where there is none.
test-gpu: $(VENV)/.kernels
	$(BIN)/python -m pytest tests/gpu

# Ten thousand hostile configs, records, events and command lines each, or a part of them.
SEED ?= 1
PART ?= 1/1
fuzz: $(VENV)/.tests
	PYTHONPATH=tests $(BIN)/python -m support.fuzz --seed $(SEED) --part $(PART)

# Three hundred commands that are killed, or a part of them.
kills: $(VENV)/.tests
	PYTHONPATH=tests $(BIN)/python -m support.kills --seed $(SEED) --part $(PART)

# mypy does not see pyproject.toml's package-dir: the three packages are laid out for it as one tree.
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

# Away with all that is made; results stay.
clean:
	rm -rf $(VENV) build *.egg-info
