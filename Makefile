# What one can do here. Each command sets up what it needs; only Python 3.11 or newer must be there.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
DATA ?= ../shared/data

.PHONY: help demo test test-lowest unit lint types bench bench-kernels bench-scale bench-auto bench-report bench-baselines bench-paper pictures screens docs constraints clean

help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*##/\t/' | expand -t 16

demo: $(VENV)/.base  ## make a series as a CSV and cluster it; leaves demo/report.html, labels and the model
	@mkdir -p demo
	$(BIN)/mcgta synth series --rows 1500 --clusters 3 --features 5 --seed 1 --set segment_lengths=20,60 --set separation=1.5 -o demo/readings.csv --force
	$(BIN)/mcgta cluster demo/readings.csv --report demo/report.html --force

test: lint types unit docs  ## lint, types, every test, doctests included, and the documents with every page of the gallery

unit: $(VENV)/.develop
	tools/chromium.sh
	$(BIN)/python -m pytest -n auto --maxprocesses 4 --dist worksteal -m "not alone"
	$(BIN)/python -m pytest -m alone

test-lowest: $(VENV)-lowest/.develop  ## the tests with the lowest versions that pyproject.toml allows
	SCIPY_ARRAY_API=1 $(VENV)-lowest/bin/python -m pytest -n auto --maxprocesses 4 --dist worksteal -m "not alone" -W ignore::DeprecationWarning -W ignore::FutureWarning

lint: $(VENV)/.develop  ## style
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.develop
	$(BIN)/mypy

bench: $(VENV)/.develop  ## benchmarks; DATA=folder with the benchmark files
	$(BIN)/python benchmarks/pavement.py --data $(DATA)

bench-kernels: $(VENV)/.bench  ## speed of the kernels; prints it and writes docs/benchmarks/kernels.json
	$(BIN)/python benchmarks/kernels.py --data $(DATA)

bench-scale: $(VENV)/.bench  ## time and memory of large fits; prints them and writes docs/benchmarks/scale.json
	$(BIN)/python benchmarks/scale.py --data $(DATA)

bench-auto: $(VENV)/.develop $(VENV)-peers  ## what a fit without settings finds, beside other methods; prints it and writes docs/benchmarks/auto.json
	PEERS=$(VENV)-peers $(BIN)/python benchmarks/auto.py --data $(DATA)

bench-report: $(VENV)/.develop  ## size and draw times of reports, and a file of a million rows from command to report
	$(BIN)/python benchmarks/report.py

bench-baselines: $(VENV)/.develop  ## speed of the baselines that are written here against packages; prints it
	$(BIN)/python benchmarks/baselines.py

bench-paper: $(VENV)/.develop  ## the paper's tables and figures, in docs/benchmarks/paper; goes on where it was, FRESH=1 begins anew
	$(if $(FRESH),rm -f docs/benchmarks/paper/results.jsonl docs/benchmarks/paper/environment.json)
	MCGTA_DATA=$(DATA) PYTHONPATH=benchmarks $(BIN)/python -m paper dissimilarity covariance clusterer hinge range --out docs/benchmarks/paper --seconds 300
	MCGTA_DATA=$(DATA) PYTHONPATH=benchmarks $(BIN)/python -m paper baselines runtime curves --out docs/benchmarks/paper --seconds 100

pictures: $(VENV)/.docs  ## the pictures of README and documents, in docs/images
	$(BIN)/python docs/pictures.py
	$(BIN)/python docs/plot_pictures.py
	$(BIN)/python docs/walk.py

screens: $(VENV)/.develop  ## the screens in README and documents, as the commands print them now
	$(BIN)/python docs/screens.py

docs: $(VENV)/.docs  ## HTML documents in docs/_build/html, without warnings or network; runs the scripts of the gallery
	$(BIN)/sphinx-build -q -W -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

constraints: $(VENV)/.develop $(VENV)/.docs $(VENV)/.bench  ## write constraints.txt anew from the versions in the environment
	$(BIN)/python -m pip freeze --exclude-editable --exclude mcgta --exclude pip --exclude setuptools > constraints.txt

clean:  ## remove the environment and everything made
	find src -name '*.nb[ci]' -delete
	rm -rf $(VENV) $(VENV)-lowest $(VENV)-peers demo docs/_build docs/_generated build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit("mcgta needs Python 3.11 or newer, this is " + sys.version.split()[0] if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.base: $(VENV)/bin/python pyproject.toml constraints.txt
	$(PIP) install --constraint constraints.txt --editable .
	@touch $@

$(VENV)/.plot: $(VENV)/bin/python pyproject.toml constraints.txt
	$(PIP) install --constraint constraints.txt --editable '.[plot]'
	@touch $@

$(VENV)/.develop: $(VENV)/bin/python pyproject.toml constraints.txt
	$(PIP) install --constraint constraints.txt --editable '.[test,lint,docs]'
	@touch $@ $(VENV)/.base $(VENV)/.plot $(VENV)/.docs

$(VENV)-lowest/.develop: pyproject.toml tools/lowest.py
	$(PYTHON) -m venv $(VENV)-lowest
	$(PYTHON) tools/lowest.py pyproject.toml > $(VENV)-lowest/lowest.txt
	$(VENV)-lowest/bin/python -m pip --disable-pip-version-check --quiet install --constraint $(VENV)-lowest/lowest.txt --editable '.[test]'
	@touch $@

$(VENV)-peers: benchmarks/peers/requirements.txt
	$(PYTHON) -m venv $@
	-$@/bin/python -m pip --disable-pip-version-check --quiet install --requirement $<
	@touch $@

$(VENV)/.docs: $(VENV)/bin/python pyproject.toml constraints.txt
	$(PIP) install --constraint constraints.txt --editable '.[docs]'
	@touch $@

$(VENV)/.bench: $(VENV)/bin/python pyproject.toml constraints.txt
	$(PIP) install --constraint constraints.txt --editable '.[bench]'
	@touch $@
