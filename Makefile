# What a user needs:        make gtp        the engine on stdin and stdout (ARGS="--net FILE ..." passes options)
#                          make web        a board in the browser
# What a developer needs:   make test       lint, types and tests; CI runs this and `make training-tests`
# Nothing but GTP may appear on the stdout of `make gtp`: every other command here writes to stderr.

VENV := .venv
BIN := $(VENV)/bin
# The Pythons that setup.cfg names, the newest first.
PYTHONS := $(shell sed -n 's/^.*Python :: \(3\.[0-9][0-9]*\)$$/\1/p' setup.cfg | sort -t . -k 2 -n -r)
SUITABLE := import sys, venv, ensurepip; sys.exit("%d.%d" % sys.version_info[:2] not in "$(PYTHONS)".split())
CANDIDATES := $(PYTHON) python3 $(PYTHONS:%=python%) python
JOBS ?= 2
TORCH ?= torch==2.13.0
# The versions that were tested, not the newest: no new release breaks what worked yesterday.
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
CONTAINER ?= podman
PINS := $(VENV)/pins/bin/uv pip compile --quiet --no-python-downloads --upgrade --no-annotate

MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help
.PHONY: help gtp web web-tests install dev test lint types tests training-tests conformance docs weights wheel gpu-folder container pins format \
        clean

help:
	@echo 'make gtp [ARGS="..."]    play: a GTP engine on stdin and stdout'
	@echo 'make web [ARGS="..."]    play and analyse on a board in the browser'
	@echo 'make install             create $(VENV) with the command nobi in it'
	@echo 'make test                lint, types and tests, as CI runs them'
	@echo 'make lint types tests    one of the three'
	@echo 'make web-tests           the board in the browser, and its picture in docs (needs Chromium, and fonts for CJK)'
	@echo 'make training-tests      install PyTorch too, and run the tests of training: the other half of CI'
	@echo 'make conformance         other programs'"'"' own code against Nobi; it downloads them (ARGS="--visits 20")'
	@echo 'make campaign-NAME       a long check from tests/campaigns (ARGS="..." passes options)'
	@echo 'make weights RUN=folder     embed the network of a training run (ROWS=kata-rows-1024.npz measures it)'
	@echo 'make wheel               dist/: a plain wheel, and one with compiled kernels (NETS="FILE ...": for these networks too)'
	@echo 'make gpu-folder OUT=folder ARGS="-c docs/recipes/gpu.toml ..."   what a leg on another machine needs (ARGS=--help)'
	@echo 'make docs                docs/parameters.md from the declarations'
	@echo 'make container           the image of docs/container/ with podman (CONTAINER=docker: with docker)'
	@echo 'make pins                renew constraints.txt, the versions of packages that all of this installs, and that image'"'"'s'
	@echo 'make format              let ruff rewrite what lint complains of'
	@echo 'make clean               remove $(VENV) and all caches'

gtp: $(VENV)/.installed
	@exec $(BIN)/nobi gtp $(ARGS)

web: $(VENV)/.installed
	@exec $(BIN)/nobi web $(ARGS)

install: $(VENV)/.installed

# The board in a real browser, and its picture in docs/: the last part of CI. Without a browser they are skipped, and
# pytest, which then has run nothing, ends with 5.
web-tests: $(VENV)/.dev
	$(INSTALL) 'playwright>=1.40'
	NOBI_PICTURES=docs $(BIN)/pytest -n $(JOBS) tests/gtp_engine/web/test_browser.py || [ $$? = 5 ]

dev: $(VENV)/.dev

test: lint types tests

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

# The type that mypy infers for two types in one collection depends on the order of hashes: the same for all here.
types: $(VENV)/.dev
	PYTHONHASHSEED=0 $(BIN)/mypy

tests: $(VENV)/.dev
	$(BIN)/pytest -n $(JOBS)

# What `make test` skips where PyTorch is missing: the files that ask for it.
training-tests: $(VENV)/.train
	$(BIN)/pytest -n $(JOBS) tests/training

# What our clients say and how they read the answers, then their own code: from the registries, each in a folder of its
# own, or from checkouts (ARGS="--sources FOLDER"). A table counts the cases, and says what was skipped and why.
conformance: $(VENV)/.dev
	$(BIN)/python -m tests.conformance $(ARGS)

# A long check that is no part of the tests, e.g. make campaign-rules ARGS="--moves 1000000".
campaign-%: $(VENV)/.dev
	$(BIN)/python -m tests.campaigns.$* $(ARGS)

docs: $(VENV)/.installed
	@$(BIN)/nobi config --markdown > docs/parameters.md

# RUN is a folder of `nobi train`, or of anything else that left a student.bin.gz there.
weights: $(VENV)/.installed
	@$(BIN)/python -m training.run.embed "$(RUN)" $(ROWS)

# Two wheels in dist/: a plain one, and one with kernels for this Python, this numba, and x86-64 processors with AVX2 or
# AVX-512. NETS names files of networks whose kernels are wanted too.
wheel: $(VENV)/.installed
	@rm -rf build dist/nobi-*.whl
	@$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist . >&2
	@echo "nobi: compiling kernels; this takes some minutes" >&2
	@$(BIN)/python -m gtp_engine.tools.wheel dist/*-py3-none-any.whl $(NETS)

# All that a leg on a machine with a GPU and PyTorch needs, in a new folder: docs/training.md.
gpu-folder: $(VENV)/.installed
	@$(BIN)/python -m training.run.pack $(OUT) $(ARGS)

# Only what is committed goes into the image.
container:
	git archive HEAD | $(CONTAINER) build --file docs/container/Containerfile --tag nobi -

# For every Python and system first; then, of these versions, what the Python of the image's Debian needs. PyTorch is
# in none of them, because its version follows from the GPU: TORCH has the one that is tested.
pins: $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --target $(VENV)/pins --upgrade uv </dev/null >&2
	UV_CUSTOM_COMPILE_COMMAND='make pins' $(PINS) --universal --python-version $(lastword $(PYTHONS)) \
	    --extra dev --extra review --extra cluster --output-file constraints.txt setup.cfg
	echo setuptools | $(PINS) --generate-hashes --no-header --constraint constraints.txt --python-version 3.13 \
	    --python-platform linux --output-file docs/container/requirements.txt setup.cfg -

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) .venv-arm64 .venv-x86 build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@for python in $(CANDIDATES); do \
	    if "$$python" -c '$(SUITABLE)' </dev/null >/dev/null 2>&1; then \
	        echo "nobi: creating $(VENV) with $$("$$python" --version)" >&2; \
	        exec "$$python" -m venv $(VENV) </dev/null >&2; \
	    fi; \
	done; \
	echo "nobi: no Python $(lastword $(PYTHONS)) to $(firstword $(PYTHONS)) with the venv module found (Debian: apt install python3-venv); name one with make PYTHON=..." >&2; \
	exit 1

$(VENV)/.installed: setup.cfg pyproject.toml constraints.txt | $(BIN)/python
	@echo "nobi: installing into $(VENV), once; this takes a minute or two" >&2
	@$(INSTALL) --editable . </dev/null >&2
	@touch $@

$(VENV)/.dev: $(VENV)/.installed
	@echo "nobi: installing the developers' tools" >&2
	@$(INSTALL) --editable '.[dev,cluster]' </dev/null >&2
	@touch $@

# The build of PyTorch for CPUs is enough, and two gigabytes smaller than the one for GPUs. Where pip does not prefer it
# anyway, PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu makes it do so.
$(VENV)/.train: $(VENV)/.dev
	@echo "nobi: installing PyTorch; this takes some minutes" >&2
	@$(INSTALL) --editable '.[train]' $(TORCH) </dev/null >&2
	@touch $@
