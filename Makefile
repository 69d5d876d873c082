# Needs Python 3.10 or later, a Rust toolchain and make; the rest goes into .venv.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
WHEELS := target/wheels
WHEEL = $$(ls $(WHEELS)/mercer-*.whl)

RUST_SOURCES := Cargo.toml Cargo.lock pyproject.toml $(shell find src -name '*.rs')
PYTHON_SOURCES := README.md $(shell find python -type f ! -name '*.pyc' ! -name '*.so')
# The interpreter that PyO3 is compiled for, where cargo is called without maturin.
export PYO3_PYTHON := $(abspath $(BIN)/python)

.DEFAULT_GOAL := help
.PHONY: help demo develop test test-rust test-python test-wheel docs linkcheck spelling bench sweep torture fuzz sanitize deny audit clean
# Two targets at a time only where `test` asks for it: the wheel and the editable build are in each
# other's way.
ifndef TOGETHER
.NOTPARALLEL:
endif

help:
	@echo "make demo     build the release wheel, install it into .venv and run python -m mercer"
	@echo "make test     every check: format, lint, types, Rust and Python tests, the wheel"
	@echo "make bench    cargo bench, then Mercer beside its peers (long)"
	@echo "make sweep    the optimality of every fit over many real data sets (long)"
	@echo "make torture  attacks: fuzzing, forks, threads, Ctrl-C, memory, tampering, leaks (an hour);"
	@echo "              PIECES=\"fuzz forks\" for some, SHARE=0.01 for a hundredth, SEED=7 for others"
	@echo "make fuzz     cargo-fuzz on every reader of bytes, 60 s each"
	@echo "make sanitize the tests of the unsafe parts under the address sanitizer (Linux)"
	@echo "make deny     licences, advisories and duplicates of the dependencies (cargo-deny);"
	@echo "              OFFLINE=1 leaves out advisories, whose database has to be fetched"
	@echo "make audit    advisories by cargo-audit; OFFLINE=1 takes the database that is there"
	@echo "make docs     the site, target/site/index.html; no network"
	@echo "make linkcheck, make spelling   its links and words"
	@echo "make develop  an editable release build in .venv, with all that the tests need"
	@echo "make clean    remove everything that was built"

# --- The environment. The wheel and the editable build replace each other in .venv, so each stamp
# --- takes away the other.

$(VENV)/made:
	$(PYTHON) -m venv $(VENV)
	$(PIP) install "maturin>=1.9.4,<2"
	@touch $@

$(WHEELS)/built: $(VENV)/made $(RUST_SOURCES) $(PYTHON_SOURCES)
	rm -rf $(WHEELS)
	$(BIN)/maturin build --release --locked --out $(WHEELS)
	@touch $@

$(VENV)/wheel: $(WHEELS)/built
	$(PIP) install --force-reinstall --no-deps $(WHEEL)
	$(PIP) install "$(WHEEL)[demo]"
	@rm -f $(VENV)/editable
	@touch $@

$(VENV)/editable: $(VENV)/made $(RUST_SOURCES)
	$(BIN)/maturin develop --release --locked --extras test
	@rm -f $(VENV)/wheel
	@touch $@

# --- The two commands.

demo: $(VENV)/wheel
	$(BIN)/python -m mercer

# Linking the release build keeps one core busy for minutes: the Rust tests have the others.
test: $(VENV)/made
	$(MAKE) --jobs=2 --output-sync=line TOGETHER=1 test-rust develop
	$(MAKE) test-python test-wheel

# --- What they and the others do.

develop: $(VENV)/editable

# Incremental builds cut optimised code into smaller pieces, which doubles the time of a first build.
test-rust: export CARGO_INCREMENTAL := 0
test-rust: $(VENV)/made
	cargo fmt --check
	cargo clippy --locked --no-default-features -- -D warnings
	cargo clippy --locked --all-targets --features python,serde -- -D warnings
	cargo test --locked --no-default-features --features persist,serde
	RUSTDOCFLAGS="-D warnings" cargo doc --locked --no-deps --no-default-features --features persist,serde
	@# Two versions of ndarray would make our arrays and rust-numpy's different types.
	@test "$$(cargo tree --locked --features python --prefix none --format '{p}' \
		| sed -n 's/^ndarray v\([^ ]*\).*/\1/p' | sort -u | wc -l)" -eq 1 \
		|| { echo "not exactly one version of ndarray: see cargo tree --duplicates" >&2; exit 1; }

test-python: $(VENV)/editable
	$(BIN)/ruff check python tests benches examples docs
	$(BIN)/ruff format --check python tests benches examples docs
	$(BIN)/mypy --strict
	$(BIN)/mypy --strict --explicit-package-bases tests/torture
	@# A user's script and a user's mistakes, by what the installed package tells type checkers.
	$(BIN)/mypy --strict --config-file= tests/typing/user.py tests/typing/mistakes.py
	$(BIN)/basedpyright --pythonpath $(BIN)/python --project tests/typing
	$(BIN)/python -m mypy.stubtest --allowlist tests/stubtest-allowlist.txt mercer._core
	MPLBACKEND=Agg $(BIN)/python -m pytest --numprocesses 2 --dist worksteal

# The wheel itself, unpacked beside .venv: abi3, and complete enough to run the demonstration.
test-wheel: $(VENV)/editable $(WHEELS)/built
	ls $(WHEELS)/mercer-*-cp310-abi3-*.whl
	rm -rf target/unpacked
	$(PIP) install --quiet --no-deps --target target/unpacked $(WHEEL)
	cd target/unpacked && PYTHONPATH=. $(abspath $(BIN))/python -m mercer --no-plot

# --- The site. Link-time optimisation would double the time of a first build, and pages need none.

SITE := target/site
RUSTDOC := target/doc
QUICKLY := CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16
$(VENV)/docs: $(VENV)/made $(RUST_SOURCES)
	$(if $(wildcard $(VENV)/editable),,$(QUICKLY)) $(BIN)/maturin develop --release --locked --extras docs,dask,onnx
	@rm -f $(VENV)/wheel
	@touch $@

docs: $(VENV)/docs
	MPLBACKEND=Agg $(BIN)/sphinx-build --fail-on-warning --keep-going -b html docs $(SITE)
	cargo doc --locked --no-deps --no-default-features --features persist,serde
	rm -rf $(SITE)/rust && cp -r $(RUSTDOC) $(SITE)/rust
	$(BIN)/python docs/links.py $(SITE)

linkcheck:
	$(BIN)/python docs/links.py $(SITE)

spelling: $(VENV)/docs
	$(BIN)/python docs/spelling.py

bench: $(VENV)/wheel
	cargo bench --locked --no-default-features
	cargo run --locked --release --manifest-path benches/peers/Cargo.toml
	$(PIP) install "$(WHEEL)[bench]"
	$(BIN)/python benches/compare.py --json target/compare.json --chart target/compare.png
	$(BIN)/python benches/compare.py --check
	$(BIN)/python benches/scaling.py --json target/scaling.json --chart target/scaling.png
	$(BIN)/python benches/hard.py --timeout 60 --json target/hard.json --chart target/hard.png

sweep: $(VENV)/wheel
	$(BIN)/python benches/sweep.py

# What came of it is printed as a table; the exit status says whether anything failed.
PIECES ?=
SHARE ?= 1
SEED ?= 0
torture: $(VENV)/editable
	$(BIN)/python -m tests.torture --share $(SHARE) --seed $(SEED) $(PIECES)

# Sanitizers are options of the nightly compiler. RUSTC_BOOTSTRAP lets a stable one, which comes with
# their libraries, take them: for these two targets only, nothing that is shipped is built so.
FUZZ_SECONDS ?= 60
fuzz: export RUSTC_BOOTSTRAP := 1
fuzz:
	cd fuzz && for target in $$(cargo fuzz list); do \
		cargo fuzz run $$target -- -max_total_time=$(FUZZ_SECONDS) || exit 1; done

# The vectorised loops, the slabs of the cache, the sparse rows of linear machines, the readers of bytes,
# and what runs all of them.
HOST = $$(rustc -vV | sed -n 's/^host: //p')
SANITIZED = --locked --no-default-features --target $(HOST) --target-dir target/sanitize
sanitize: export RUSTC_BOOTSTRAP := 1
sanitize:
	RUSTFLAGS="-Zsanitizer=address" cargo test $(SANITIZED) --lib
	RUSTFLAGS="-Zsanitizer=address" cargo test $(SANITIZED) --test all -- \
		cache:: data:: hostile_bytes:: linear:: smo::

OFFLINE ?=
deny:
	cargo deny $(if $(OFFLINE),--offline) --locked check $(if $(OFFLINE),licenses bans sources)

audit:
	cargo audit --deny warnings $(if $(OFFLINE),--no-fetch --stale --no-yanked)

clean:
	rm -rf $(VENV) target dist .mypy_cache .pytest_cache .ruff_cache .hypothesis mercer-demo.png
	rm -f python/mercer/_core*.so python/mercer/_core*.pyd
	find python tests benches examples -name __pycache__ -type d -prune -exec rm -rf {} +
