# The book and its tests, from a fresh clone: all you need is make and Python 3.11.2 or newer, with venv.

PYTHON ?= python3
BIN := .venv/bin
ENVIRONMENT := .venv/.complete
NEEDED := Install Python 3.11.2 or newer, or name one: make PYTHON=python3.12
PIP := $(BIN)/pip install --quiet --disable-pip-version-check --no-compile --no-deps

# The longest start first, or one of them would run alone at the end.
LONGEST := $(wildcard notebooks/0?-?-results.ipynb notebooks/what-*.ipynb)
NOTEBOOKS := $(LONGEST) $(filter-out $(LONGEST),$(wildcard notebooks/*.ipynb))
EXECUTED := $(NOTEBOOKS:notebooks/%=_build/executed/%)
LIBRARY := $(shell find pcenlib -type f -not -path '*/__pycache__/*')
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
	$(BIN)/pytest --numprocesses=2 --dist=worksteal

.PHONY: bench
bench: $(ENVIRONMENT)  ## measure speed and memory against librosa, in one run
	$(BIN)/python benchmarks/bench.py

.PHONY: real-results
real-results: $(ENVIRONMENT)  ## run the experiments on the real recordings in PCENLIB_DATA and store their tables
	$(BIN)/python -m pcenlib.experiments

.PHONY: seeds
seeds: $(ENVIRONMENT)  ## run both simulated experiments with forty seeds and store their tables; goes on if interrupted
	$(BIN)/python -m pcenlib.experiments.seeds

.PHONY: serve
serve: book  ## show the book at http://127.0.0.1:8000
	$(BIN)/python -m http.server --bind 127.0.0.1 --directory _build/html 8000

.PHONY: clean
clean:  ## remove everything that was built, but for the environment
	rm -rf _build pcenlib.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis

# Readers get requirements.txt, on Binder and Colab too. make installs the second file, which adds the test tools.
.PHONY: lock
lock:  ## bring the lock files up to date with pyproject.toml; UPGRADE=--upgrade takes the newest versions
	$(PYTHON) -m venv _build/uv
	_build/uv/bin/pip install --quiet --disable-pip-version-check --upgrade uv
	$(COMPILE) --extra book --extra fast --extra cluster --extra data --output-file requirements.txt
	$(COMPILE) --all-extras --group peers --constraint requirements.txt --output-file tests/requirements.txt

COMPILE = _build/uv/bin/uv pip compile --quiet $(UPGRADE) --universal --generate-hashes --python-version 3.11.2 \
	--annotation-style line --custom-compile-command 'make lock' pyproject.toml --group build

SUITE := bookworm
.PHONY: fresh
fresh:  ## run `make book` and `make test` on a bare Debian, made as root with debootstrap; SUITE=trixie for another
	bash .ci/fresh $(SUITE)

.PHONY: executed
executed: $(EXECUTED)

# What an interrupted installation leaves behind has no stamp, and the next run removes it. The lock lists every package
# for every Python, so pip has nothing to resolve (--no-deps) and nothing to build (--only-binary).
$(ENVIRONMENT): pyproject.toml tests/requirements.txt
	@command -v $(PYTHON) > /dev/null || { echo "There is no $(PYTHON) here. $(NEEDED)" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11, 2))' \
		|| { echo "$$($(PYTHON) --version 2>&1) is too old. $(NEEDED)" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2> /dev/null \
		|| { echo "This Python has no venv. Install it (on Debian and Ubuntu: apt install python3-venv)." >&2; exit 1; }
	@test -e $@ || rm -rf .venv
	@rm -f $@
	$(PYTHON) -m venv .venv
	$(PIP) --only-binary :all: --require-hashes --requirement tests/requirements.txt
	$(PIP) --no-build-isolation --editable .
	@touch $@

# A book is never older than its notebooks: while one of them runs, and if it fails, there is none.
_build/executed/%.ipynb: notebooks/%.ipynb _ext/execute.py $(ENVIRONMENT)
	@rm -rf _build/html
	@$(BIN)/python _ext/execute.py $< $@

# A notebook runs again when a file of pcenlib changes that it can depend on. Without an environment there is no need to
# know which: everything runs again once there is one.
ifneq ($(filter executed _build/%,$(MAKECMDGOALS)),)
ifneq ($(wildcard $(ENVIRONMENT)),)
ifneq ($(shell mkdir -p _build; $(BIN)/python _ext/depends.py > _build/depends.mk || echo failed),)
$(error What the notebooks depend on is unknown until this is fixed)
endif
include _build/depends.mk
endif
endif

_build/executed/cost-and-scale.ipynb: benchmarks/results.json

# Chapters that look at recordings run again when the data home is another one, or holds other files.
REAL := 03-1-data-and-spectrograms 04-1-data-and-spectrograms
REAL += right-whales-and-real-ships re-propagated-nighthawks esc50 the-papers-own-data
REAL += false-color
$(REAL:%=_build/executed/%.ipynb): _build/data-home

# Written anew, when make starts, if it would say something else.
$(shell mkdir -p _build; { echo "$$PCENLIB_DATA"; test -z "$$PCENLIB_DATA" || ls -lR "$$PCENLIB_DATA" | cksum; } \
	> _build/data-home.new; cmp -s _build/data-home.new _build/data-home \
	&& rm _build/data-home.new || mv _build/data-home.new _build/data-home)

_build/html/index.html: $(EXECUTED) $(PAGES) $(LIBRARY)
	@rm -rf _build/html
	@$(BIN)/python _ext/stage.py _build/executed _build/book-src
	@$(BIN)/jupyter-book build --all --quiet -W -n --keep-going _build/book-src
	@mv _build/book-src/_build/html _build/html
