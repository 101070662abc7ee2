# Two commands for a newcomer: make demo, make test. Both set up .venv on first use and nothing else.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check -q

CXX_SOURCES := CMakeLists.txt pyproject.toml $(wildcard cpp/*/*.hpp cpp/*/*/*.hpp cpp/*/*.cpp)

.PHONY: demo test test-all test-portable lint format bench docs clean

demo: $(VENV)/installed
	$(BIN)/python examples/gyroscope_on_a_cable.py demo

test: $(VENV)/developed
	$(BIN)/python -m pytest -n auto --dist worksteal

test-all: $(VENV)/developed
	$(BIN)/python -m pytest -n auto --dist worksteal -m "slow or not slow"

# Other instruction sets, BLAS kernels, versions, users, languages: half an hour
test-portable: $(VENV)/developed
	$(BIN)/python tools/test_portable.py

lint: $(VENV)/developed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run --Werror $(filter cpp/%,$(CXX_SOURCES))

format: $(VENV)/developed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(filter cpp/%,$(CXX_SOURCES))

# The peers it compares with are optional: .venv/bin/pip install -e '.[bench]'
bench: $(VENV)/developed
	$(BIN)/python benchmarks/attitude.py
	$(BIN)/python benchmarks/rigid.py
	$(BIN)/python benchmarks/rods.py
	$(BIN)/python benchmarks/elements.py
	$(BIN)/python benchmarks/mechanisms.py
	$(BIN)/python benchmarks/statics.py
	$(BIN)/python benchmarks/variational.py
	$(BIN)/python benchmarks/studies.py

docs: $(VENV)/developed
	$(BIN)/python -m sphinx -W -q -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

clean:
	rm -rf $(VENV) build demo docs/_build docs/api src/gyrod/_core.pyi

$(VENV)/created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "gyrod needs Python 3.11 or newer: make PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"], "cmake", "ninja", sep="\n")' > $(VENV)/requirements.txt
	$(PIP) install -r $(VENV)/requirements.txt
	@touch $@

# Editable: Python is read from src/; the C++ is rebuilt when it changes. The stub is copied beside the source
# because the type checker does not look into the installed half of an editable package.
$(VENV)/installed: $(VENV)/created $(CXX_SOURCES)
	PATH="$(abspath $(BIN)):$$PATH" $(PIP) install --no-build-isolation -e '.[plot]'
	cp $$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("platlib"))')/gyrod/_core.pyi src/gyrod/
	@touch $@

$(VENV)/developed: $(VENV)/installed
	PATH="$(abspath $(BIN)):$$PATH" $(PIP) install --no-build-isolation -e '.[dev]'
	@touch $@
