# Two commands for a newcomer: make demo, make test. Both set up .venv on first use and nothing else; tools/build.py
# does it, and nothing where all is up to date.
PYTHON ?= python3
BIN    := .venv/bin
BUILD  := @$(PYTHON) tools/build.py
CXX_SOURCES = $(shell find cpp -name '*.[ch]pp')

# Byte code is kept whatever the shell says: tests start hundreds of interpreters, and each would compile gyrod anew.
export PYTHONDONTWRITEBYTECODE :=
# As many workers as cores, each with one thread of BLAS.
PYTEST := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist worksteal

.PHONY: demo test test-all test-portable campaign matrix sanitize lint format bench budgets docs wheel clean

demo:
	$(BUILD) plot
	$(BIN)/python examples/gyroscope_on_a_cable.py demo

test:
	$(BUILD) dev
	$(PYTEST)

test-all:
	$(BUILD) dev
	$(PYTEST) -m "slow or not slow" --hypothesis-profile=thorough

# Other instruction sets, BLAS kernels, versions, users, languages: half an hour
test-portable:
	$(BUILD) dev
	$(BIN)/python tools/test_portable.py

# Thousands of damaged models and wrong calls, each of which must end in a result or a sentence; N = how many
campaign:
	$(BUILD) dev
	$(BIN)/python tools/campaign.py $(N)

# Every system in every formulation, by every method, for every task: writes docs/matrix.md
matrix:
	$(BUILD) dev
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python tools/matrix.py

# The core's C++ programs under AddressSanitizer and UndefinedBehaviorSanitizer
sanitize:
	$(BUILD) dev
	$(BIN)/python tools/sanitize.py

lint:
	$(BUILD) dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run --Werror $(CXX_SOURCES)
	MYPY_NUM_WORKERS=auto $(BIN)/mypy

format:
	$(BUILD) dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(CXX_SOURCES)

# The peers it compares with are optional: .venv/bin/pip install -e '.[bench]'
bench:
	$(BUILD) dev
	$(BIN)/python benchmarks/kernels.py
	$(BIN)/python benchmarks/attitude.py
	$(BIN)/python benchmarks/rigid.py
	$(BIN)/python benchmarks/rods.py
	$(BIN)/python benchmarks/elements.py
	$(BIN)/python benchmarks/mechanisms.py
	$(BIN)/python benchmarks/scaling.py
	$(BIN)/python benchmarks/statics.py
	$(BIN)/python benchmarks/variational.py
	$(BIN)/python benchmarks/studies.py
	$(BIN)/python benchmarks/contact.py
	$(BIN)/python benchmarks/geometry.py
	$(BIN)/python benchmarks/cables.py

# What building and starting cost, in a clean clone of HEAD, against tools/budgets.json
budgets:
	@$(PYTHON) tools/budgets.py

docs:
	$(BUILD) docs
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python docs/gallery.py pages
	$(BIN)/python -m sphinx -W -q -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

# Both instruction sets, for machines that the builder does not know
wheel:
	$(BUILD) wheel

clean:
	rm -rf .venv build dist demo docs/_build docs/_pages src/gyrod/_core.pyi
