# Every target works on its own on a fresh clone. uv is used if it is there, venv and pip otherwise
# (`lock` needs uv).
VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= python3
STAMP := $(VENV)/.installed

.PHONY: install demo test lint docs dist bench lock clean

install: $(STAMP)

$(STAMP): pyproject.toml requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "recombine needs Python 3.11 or newer; name one with PYTHON=..."; exit 1; }
	@if command -v uv >/dev/null 2>&1; then \
		uv venv -q --allow-existing --python $(PYTHON) $(VENV) \
		&& uv pip install -q --python $(BIN)/python -r requirements.lock \
		&& uv pip install -q --python $(BIN)/python --no-deps -e . ; \
	else \
		$(PYTHON) -m venv $(VENV) \
		&& $(BIN)/python -m pip install -q --disable-pip-version-check -r requirements.lock \
		&& $(BIN)/python -m pip install -q --disable-pip-version-check --no-deps -e . ; \
	fi
	@touch $@

demo: $(STAMP)
	$(BIN)/recombine run neural-race/xor neural-race/routing neural-race/sharing-schemes \
		neural-race/race neural-race/zero-shot neural-race/initialization
	$(BIN)/recombine report

test: $(STAMP)
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

lint: $(STAMP)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

docs: $(STAMP)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "docs: open site/index.html"

# The wheel and the source archive, in dist/.
dist: $(STAMP)
	$(BIN)/python -m build --outdir dist

bench: $(STAMP)
	$(BIN)/python benchmarks/neural_race.py
	$(BIN)/python benchmarks/meta_learning.py
	$(BIN)/python benchmarks/kernel_directions.py
	$(BIN)/python benchmarks/sequence_classifiers.py
	$(BIN)/python benchmarks/encoder_decoder.py
	$(BIN)/python benchmarks/dnc.py
	$(BIN)/python benchmarks/sparse_experts.py
	$(BIN)/python benchmarks/lab.py
	$(BIN)/python benchmarks/split_reports.py
	$(BIN)/python benchmarks/weight_masks.py

# Writes requirements.lock anew from the ranges in pyproject.toml; all extras but `bench` and
# `text`.
lock:
	uv pip compile -q --universal --python-version 3.11 --extra data --extra dev --extra docs \
		--no-annotate --no-header --generate-hashes --no-emit-index-url --no-emit-find-links \
		pyproject.toml -o requirements.lock

clean:
	rm -rf $(VENV) site dist
