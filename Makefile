# Two commands do everything from a fresh clone:
#   make demo   sets up, trains, and shows a certificate and held-out quality
#   make test   sets up and runs lint, types, layers, C++ tests (ASan + UBSan) and Python tests
# They need Python 3.11 or newer, a C++17 compiler, make and the package index.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
NATIVE_SOURCES := $(wildcard native/bindings/* native/include/marginrank/*.hpp) CMakeLists.txt pyproject.toml
# The editable installation maps modules to files, so it is made again when a Python file is added, moved or removed.
MODULE_NAMES := build/module-names
$(shell mkdir -p build; find src -name '*.py' | LC_ALL=C sort > $(MODULE_NAMES).new; \
	cmp -s $(MODULE_NAMES).new $(MODULE_NAMES) && rm $(MODULE_NAMES).new || mv $(MODULE_NAMES).new $(MODULE_NAMES))
# They start processes of their own, so they run alone.
CLUSTER_TESTS := tests/unit/distributed tests/unit/cli/workers/test_dask_commands.py src/marginrank/distributed
NATIVE_BUILD ?= build/native-tests
# Prints how long a part took, and keeps it for the summary of .ci/run.
TIMED := $(BIN)/python tools/timed.py --part

export PATH := $(abspath $(BIN)):$(PATH)

.PHONY: demo test setup lint types layers native-test python-test certificates mutants stub stub-check bench bench-full clean
.PHONY: browser coverage cross docs faults fuzz load portability portability-share sanitize versions

demo: setup
	$(BIN)/python examples/demo.py

test: lint types layers stub-check native-test python-test

setup: $(VENV)/.installed

$(VENV)/.tools: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("marginrank needs Python 3.11 or newer; set PYTHON=python3.12, say") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet "scikit-build-core>=0.11" "nanobind>=2.12" "cmake>=3.25" "ninja>=1.11.1"
	touch $@

$(VENV)/.installed: $(VENV)/.tools $(NATIVE_SOURCES) $(MODULE_NAMES)
	$(BIN)/python -m pip install --quiet --no-build-isolation --editable ".[dev]"
	touch $@

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --builtin-schema custom.github-workflows-require-timeout .github/workflows/*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.citation-file-format CITATION.cff
	$(BIN)/check-jsonschema --builtin-schema vendor.github-issue-forms .github/ISSUE_TEMPLATE/[!c]*.yml

types: setup
	$(TIMED) types $(BIN)/mypy

layers: setup
	$(BIN)/lint-imports

stub: setup
	$(BIN)/python -m nanobind.stubgen -q -m marginrank._native -o src/marginrank/_native.pyi

stub-check: setup
	$(BIN)/python -m nanobind.stubgen -q -m marginrank._native -o build/_native.pyi
	diff -u src/marginrank/_native.pyi build/_native.pyi || { echo "The stub is stale: run 'make stub'."; exit 1; }

native-test: setup
	$(BIN)/cmake -G Ninja -S . -B $(NATIVE_BUILD) -DMARGINRANK_NATIVE_TESTS=ON -DSANITIZE=address,undefined > /dev/null
	$(TIMED) "C++ tests, compiling" $(BIN)/cmake --build $(NATIVE_BUILD)
	UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
		$(TIMED) "C++ tests, running" $(BIN)/ctest --test-dir $(NATIVE_BUILD) --output-on-failure

# Parts with a time of their own; what is not named here runs first, in several processes.
APART := tests/certificates tests/browser tests/fuzz tests/faults
PYTEST := -m pytest -n auto --maxprocesses 4 --dist loadfile
python-test: setup
	$(TIMED) "Python tests" $(BIN)/python $(PYTEST) $(CLUSTER_TESTS:%=--ignore %) $(APART:%=--ignore %)
	set -e; for part in $(APART); do $(TIMED) $$part $(BIN)/python $(PYTEST) $$part; done
	set -e; for part in $(CLUSTER_TESTS); do $(TIMED) $$part $(BIN)/python -m pytest $$part; done

# Ten times the problems that python-test has; CERTIFICATES=5000 for more.
CERTIFICATES ?= 1000
certificates: setup
	MARGINRANK_CERTIFICATES=$(CERTIFICATES) $(BIN)/python -m pytest -n auto --maxprocesses 4 -q tests/certificates

# The numerical tests as on other machines: other BLAS kernels, other vector code, fewer or busier cores.
portability: setup
	$(BIN)/python tools/portability.py

portability-share: setup
	$(TIMED) "portability, a share" $(BIN)/python tools/portability.py --share

# The oldest and the newest dependencies, under every Python that is found.
versions:
	$(PYTHON) tools/versions.py

# What the tests of pages need: Chromium with its driver, from Debian, and axe-core, the accessibility checker, from npm.
# Tests that do not find them are skipped with a message.
AXE := axe-core@4.10.3
browser: setup
	command -v chromium > /dev/null && command -v chromedriver > /dev/null || apt-get install -y chromium chromium-driver
	mkdir -p build/axe
	cd build/axe && npm pack --silent $(AXE) && tar -xzf axe-core-*.tgz package/axe.min.js && rm axe-core-*.tgz

# Memory, threads and files that fail, one call after the other; FAULTS="--only convert --kind write" for some of them.
faults: setup
	$(BIN)/python tests/faults/inject.py $(FAULTS)

# The Python tests with a module that has sanitizers, the C++ tests under ThreadSanitizer; SANITIZE="--only threads" for one.
sanitize: setup
	$(BIN)/python tools/sanitize.py $(SANITIZE)

# Lines and branches of the kernels that the tests run; COVERAGE="--only native" for the C++ tests alone.
coverage: setup
	$(BIN)/python -c 'import gcovr' || $(BIN)/python -m pip install --quiet gcovr
	$(BIN)/python tools/coverage.py $(COVERAGE)

# A thousand fits and ten thousand predictions that must not grow; work at once with the same bits.
load: setup
	MARGINRANK_LOAD=1 $(BIN)/python -m pytest -q tests/load

# All C++ for Linux on aarch64 and macOS on arm64, by Clang from the package ziglang; that CMake refuses Windows.
cross: setup
	$(BIN)/python tools/cross_compile.py $(CROSS)

# The documentation site in build/docs/html: warnings are errors, and every link within it is followed.
docs: setup
	$(BIN)/python -c 'import furo, myst_parser, numpydoc, sphinx' || $(BIN)/python -m pip install --quiet --no-build-isolation --editable ".[docs]"
	$(TIMED) "documentation site" $(BIN)/python tools/docs.py build/docs

# Kernels and readers of files, a minute each; FUZZ_SECONDS=1800 for more, FUZZ=--keep adds to the corpus.
FUZZ_SECONDS ?= 60
fuzz: setup
	$(BIN)/python tools/fuzz.py --seconds $(FUZZ_SECONDS) $(FUZZ)

# Mistakes made on purpose, half an hour of one core; MUTANTS=20 for twenty that a test noticed before.
MUTANTS ?=
mutants: setup
	$(BIN)/python tests/mutants/run_mutants.py $(if $(MUTANTS),--first $(MUTANTS))

# Writes the result files of benchmarks/results and renders README and docs from them: minutes, or hours for all of them.
bench: setup
	$(BIN)/python benchmarks/run.py

bench-full: setup
	$(BIN)/python benchmarks/run.py --full

clean:
	rm -rf build $(VENV)
