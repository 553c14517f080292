# The front door. `make` alone shows what there is.

PYTHON ?= python3
VENV ?= .venv
PROFILE ?= book
SECONDS ?= 600

# Everything is called by its path below this folder, whose own name may hold blanks.
RUN = $(VENV)/bin/python
PIP = $(RUN) -m pip install -qq -c constraints.txt
SNAKEMAKE = $(VENV)/bin/snakemake --profile workflow/profiles/$(PROFILE)
NOTEBOOKS = $(wildcard notebooks/*.ipynb)
INSTALLED = $(VENV)/installed

.DEFAULT_GOAL := help
.PHONY: help install notebooks book pdf keep test fuzz bench lint clean

help: ## show this
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' Makefile
	@echo
	@echo "make book PROFILE=smoke|book|full|paper chooses how much is run (config/profiles.yaml)."
	@echo "make PYTHON=python3.12 ... chooses the Python, 3.11 to 3.13."

install: $(INSTALLED) ## make .venv and install everything into it

# Resemblyzer comes without its dependencies: it asks for webrtcvad, which needs a compiler
# (webrtcvad-wheels does not), and for the obsolete typing.
$(INSTALLED): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' || { \
	  echo "Error: this needs Python 3.11 to 3.13, but $(PYTHON) is $$($(PYTHON) -V 2>&1)."; \
	  echo "Name another one: make PYTHON=python3.12 ..."; exit 1; }
	@$(RUN) -m pip --version > /dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV)
	@echo "Installing into $(VENV) (some minutes the first time) ..."
	@$(PIP) -e '.[speech,words,attack,demo,book,test]'
	@$(PIP) --no-deps Resemblyzer==0.1.4
	@touch $@

notebooks: $(INSTALLED) ## run the notebooks that are not up to date
	@test -d workflow/profiles/$(PROFILE) || { \
	  echo "Error: no profile $(PROFILE); there are: $(notdir $(wildcard workflow/profiles/*))"; exit 1; }
	@$(SNAKEMAKE) --quiet all || { echo "Not all notebooks ran; what ran is kept."; \
	  echo "Snakemake's own account: $(SNAKEMAKE)"; exit 1; }

book: notebooks ## run the notebooks, then build the book; prints its path last
	@$(RUN) workflow/build_book.py $(PROFILE)

pdf: $(INSTALLED) ## print the built book with Chromium: _build/pdf/voiceprivacy.pdf, or PAGE=si_table1
	@$(RUN) workflow/print_book.py $(PAGE)

keep: ## keep the last run's tables in data/reference_runs, with date, commit and machine
	@$(RUN) workflow/keep_results.py $(PROFILE)

test: $(INSTALLED) ## run the tests
	$(RUN) -m pytest

fuzz: $(INSTALLED) ## look for texts that a reader fails on: READER=speakers SECONDS=600
	@$(RUN) -c 'import atheris' 2> /dev/null || $(PIP) -e '.[fuzz]'
	$(RUN) tests/fuzz/readers.py $(READER) $(SECONDS)

bench: $(INSTALLED) ## time the engine side by side with other implementations
	@for script in benchmarks/*.py; do \
	  echo "== $$script"; $(RUN) "$$script" || exit 1; done

lint: $(INSTALLED) ## check the form of code and notebooks
	$(RUN) -m ruff check
	$(RUN) -m ruff format --check
	$(if $(NOTEBOOKS),$(VENV)/bin/nbstripout --keep-id --verify $(NOTEBOOKS))

clean: ## remove what was built, but not .venv
	rm -rf build _build book/_executed book/_generated .snakemake .pytest_cache .ruff_cache
	find . -name __pycache__ -not -path './$(VENV)/*' -prune -exec rm -rf {} +
