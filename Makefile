# make lab          opens JupyterLab on the quickstart
# make demo         does the same without a screen and prints the report
# make test         checks everything
# make test-agents  checks the coding agents that make test does not start
# make bench        measures
# make clean        removes what the others made

SHELL := /bin/bash
VENV := .venv
BIN := $(VENV)/bin
SOURCES := pyproject.toml $(shell find labextension -path labextension/node_modules -prune \
	-o -path labextension/lib -prune -o -type f -print 2>/dev/null)

.PHONY: lab demo test test-agents bench clean

lab: $(VENV)/.lab
	@$(BIN)/jupyter lab $$([ $$(id -u) = 0 ] && echo --allow-root) notebooks/quickstart.ipynb

demo: $(VENV)/.lab
	@$(BIN)/kandev-nb demo

test: $(VENV)/.test
	@.ci/system-packages
	.ci/checks $(BIN)

test-agents: $(VENV)/.test
	$(BIN)/python -m pytest -q -m rest_agent tests/agents/rest

bench: $(VENV)/.test
	$(BIN)/python -m tests.benchmarks

clean:
	rm -rf $(VENV) .venv-* build dist kandev_nb/static kandev_nb/labextension \
		labextension/lib labextension/node_modules tests/typescript/node_modules tests/artifacts \
		.mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.lab: $(SOURCES)
	@.ci/environment $(VENV) lab
	@touch $@

$(VENV)/.test: $(SOURCES)
	@.ci/environment $(VENV) test
	@touch $@ $(VENV)/.lab
