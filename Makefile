# Narrows. `make help` lists what there is; `make demo` is the one to start with.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

VENV := .venv
BIN := $(VENV)/bin
SAY = @printf '\n== %s\n'

# Cargo, maturin and PyO3 shall all see one interpreter, or each would rebuild what another built.
export VIRTUAL_ENV := $(CURDIR)/$(VENV)
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python
export PATH := $(CURDIR)/$(BIN):$(PATH)
export PIP_DISABLE_PIP_VERSION_CHECK := 1
unexport PYTHONPATH PYTHONHOME

# The program of virtual machines: static, so that a guest needs nothing else.
TRIPLE := $(shell rustc -vV 2> /dev/null | sed -n 's/^host: //p')
GUEST := python/narrows/guest/narrows-guest

# The laboratory's page, built by Vite.
PAGE := python/narrows/laboratory/index.html
PAGE_SOURCES := $(shell find web -name node_modules -prune -o -type f -print) $(wildcard scenarios/*.toml scenarios/traces/*)

# The documentation site: its assembled sources, and its pages.
SITE := target/site

RUST_SOURCES := Cargo.toml Cargo.lock $(shell find crates -name '*.rs' -o -name Cargo.toml)

.PHONY: help setup demo test lint bench mutants docs clean

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

setup: $(VENV)/.extension $(GUEST) $(PAGE) ## install everything into .venv and build the engine (repeat at will: does only what is missing)
	$(SAY) 'Narrows is set up: $(BIN)/narrows --help'

$(VENV)/.python:
	$(SAY) 'Setup 1 of 3: looking for a C compiler, Rust and Python, and making $(VENV)'
	@.ci/system $(VENV)
	@touch $@

$(VENV)/.packages: pyproject.toml $(VENV)/.python
	$(SAY) 'Setup 2 of 3: installing Python packages into $(VENV) (about 200 MB the first time)'
	@.ci/packages $(BIN)/python
	@touch $@

$(VENV)/.extension: $(RUST_SOURCES) $(VENV)/.packages
	$(SAY) 'Setup 3 of 3: building the engine (Rust, optimised) and installing narrows into $(VENV)'
	@PIP_QUIET=1 $(BIN)/maturin develop --release --locked
	@touch $@

$(GUEST): $(RUST_SOURCES) tools/lockstep/lockstep.c $(VENV)/.python
	$(SAY) 'Setup, besides: building the program of virtual machines (Rust, static)'
	@.ci/guest '$(TRIPLE)' $(dir $@)

$(PAGE): $(PAGE_SOURCES)
	$(SAY) 'Setup, besides: building the page of the laboratory (npm packages: 300 MB the first time)'
	@.ci/page

demo: setup ## reproduce the ACNS paper: published figures beside measured ones, as a page in results/acns
	$(SAY) 'Reproducing ACNS: every experiment with and without the scheme, over 20 seeds'
	@$(BIN)/narrows reproduce acns -o results/acns
	$(SAY) 'The page: file://$(CURDIR)/results/acns/report.html'

test: setup ## format, lint, types and all tests, Rust and Python; stops at the first failure
	@.ci/test all

lint: setup ## only the checks of form: formats, lints, types, crate edges
	@.ci/test lint

bench: setup ## packets per CPU second, ours and those of the simulators that are here, into bench/results; BENCH='--only W1'
	$(SAY) 'Benchmark: a few minutes, ten with all peers; best on an otherwise idle machine'
	@$(BIN)/python -m bench $(BENCH)

mutants: ## which changes to congestion control, recovery and queues no test notices; hours, or a sample: MUTANTS='--shard 0/20'
	$(SAY) 'Mutation tests: what no test notices is listed in target/mutants.out/missed.txt'
	@cargo mutants --version > /dev/null 2>&1 || { echo 'cargo-mutants is missing: cargo install --locked cargo-mutants' >&2; exit 1; }
	@cargo mutants $(MUTANTS)

$(VENV)/.docs: pyproject.toml $(VENV)/.packages
	$(SAY) 'Setup of the site: installing its generator into $(VENV)'
	@.ci/packages $(BIN)/python docs
	@touch $@

docs: setup $(VENV)/.docs ## the documentation as a site: pages, Python and Rust API, executed notebooks, a gallery
	$(SAY) 'Site 1 of 4: the Rust API'
	@RUSTDOCFLAGS='-D warnings' cargo doc --quiet --locked --workspace --no-deps
	$(SAY) 'Site 2 of 4: documents, and notebooks executed'
	@$(BIN)/python tools/site/assemble.py $(SITE)/docs
	$(SAY) 'Site 3 of 4: pages of the gallery, made by the commands that it names'
	@$(BIN)/python tools/site/gallery.py $(SITE)/docs/gallery
	$(SAY) 'Site 4 of 4: the site'
	@$(BIN)/zensical build --clean --config-file mkdocs.yml
	@cp -R target/doc $(SITE)/html/rust
	$(SAY) 'The site: file://$(CURDIR)/$(SITE)/html/index.html'

clean: ## remove what the other commands made, results/ excepted
	rm -rf $(VENV) target dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find python -name '*.so' -delete
