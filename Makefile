# The book and its tests, from a fresh clone: Python 3.11 or newer and make are all that is needed.

PYTHON ?= python3
BIN := .venv/bin
ENVIRONMENT := .venv/.complete

NOTEBOOKS := $(wildcard notebooks/*.ipynb)
EXECUTED := $(NOTEBOOKS:notebooks/%=_build/executed/%)
LIBRARY := $(wildcard pcenlib/*.py pcenlib/*.pyi pcenlib/*/*.toml pcenlib/*/*.py)
PAGES := $(wildcard *.md _ext/*.py _static/*) _config.yml _toc.yml references.bib

# Two notebooks run at a time; more threads in each would only get into each other's way.
export OPENBLAS_NUM_THREADS := 1

# Notebooks run in their own folder, from which a relative path would lead elsewhere.
ifneq ($(PCENLIB_DATA),)
export PCENLIB_DATA := $(shell cd "$(PCENLIB_DATA)" && pwd || echo "$(PCENLIB_DATA)")
endif

.PHONY: help
help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*##/\t/' | expand -t 12

.PHONY: book
book: $(ENVIRONMENT)  ## run every notebook and build the book into _build/html
	@$(MAKE) --no-print-directory --jobs=2 --keep-going executed
	@$(MAKE) --no-print-directory _build/html/index.html
	@echo "The book: _build/html/index.html"

.PHONY: test
test: $(ENVIRONMENT)  ## check style and types, and run all tests
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/pytest --numprocesses=2

.PHONY: bench
bench: $(ENVIRONMENT)  ## measure speed and memory against librosa, in one run
	$(BIN)/python benchmarks/bench.py

.PHONY: real-results
real-results: $(ENVIRONMENT)  ## run the experiments on the real recordings in PCENLIB_DATA and store their tables
	$(BIN)/python -m pcenlib.experiments

.PHONY: serve
serve: book  ## show the book at http://127.0.0.1:8000
	$(BIN)/python -m http.server --bind 127.0.0.1 --directory _build/html 8000

.PHONY: clean
clean:  ## remove everything that was built, but for the environment
	rm -rf _build pcenlib.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis

.PHONY: executed
executed: $(EXECUTED)

$(ENVIRONMENT): pyproject.toml constraints.txt tests/peers.txt
	$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Python 3.11 or newer is needed, not " + sys.version)'
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[book,fast,cluster,data,test]'
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --requirement tests/peers.txt
	touch $@

# A book is never older than its notebooks: while one of them runs, and if it fails, there is none.
_build/executed/%.ipynb: notebooks/%.ipynb $(LIBRARY) _ext/execute.py $(ENVIRONMENT)
	@rm -rf _build/html
	@$(BIN)/python _ext/execute.py $< $@

_build/executed/cost-and-scale.ipynb: benchmarks/results.json
_build/executed/03-3-results.ipynb: $(wildcard pcenlib/experiments/data/*.csv)

# Chapters that look at recordings run again when the data home is another one, or holds other files.
REAL := 03-1-data-and-spectrograms 04-1-data-and-spectrograms
REAL += right-whales-and-real-ships re-propagated-nighthawks esc50 the-papers-own-data
$(REAL:%=_build/executed/%.ipynb): _build/data-home $(wildcard pcenlib/experiments/data/*.csv)

# Written anew, when make starts, if it would say something else.
$(shell mkdir -p _build; { echo "$$PCENLIB_DATA"; test -z "$$PCENLIB_DATA" || ls -lR "$$PCENLIB_DATA" | cksum; } \
	> _build/data-home.new; cmp -s _build/data-home.new _build/data-home \
	&& rm _build/data-home.new || mv _build/data-home.new _build/data-home)

_build/html/index.html: $(EXECUTED) $(PAGES)
	@rm -rf _build/html
	@$(BIN)/python _ext/stage.py _build/executed _build/book-src
	@$(BIN)/jupyter-book build --all --quiet -W -n --keep-going _build/book-src
	@mv _build/book-src/_build/html _build/html
