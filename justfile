# Recipes; `./run RECIPE` works on a machine without just.
export PATH := justfile_directory() / ".venv/bin:" + justfile_directory() / "build/boot/bin:" + env("PATH")

# The conformance cases that start an engine
engine_cases := `ls tests/conformance/test_*_flink.py tests/conformance/test_*_spark.py | tr '\n' ' '`

# Everything but them, services and the demo
without_services := "tests --ignore tests/integration --ignore tests/faults --ignore tests/demo " + prepend('--ignore ', engine_cases)

[private]
default:
    @just --list --unsorted

# Fetch and build everything: Python packages, jars, Redis, the sample data, the wheel
setup:
    @scripts/setup.sh

# The whole loop on the Open Bandit sample
demo *args: setup
    @featuredsl demo {{ args }}

# All checks and all tests; the demo, which `./run demo` runs, has a recipe of its own
test: setup lint types arch java
    @pytest tests/unit tests/property tests/golden tests/conformance {{ prepend('--ignore ', engine_cases) }} -m "not slow" --durations 10 -n 2
    @pytest {{ engine_cases }} tests/integration tests/faults -m "not slow" --durations 30

# The demo as a test: to its end, and interrupted
test-demo: setup
    @pytest tests/demo

# What CI runs
ci: test

# Tests without services: unit, property, golden, conformance; or those of the paths that are given
unit *args: setup
    @pytest {{ if args =~ '(^| )tests/' { args } else { without_services + ' ' + args } }}

# Tests against real Kafka, Redis, Flink and Spark
integration *args: setup
    @pytest tests/integration {{ engine_cases }} {{ args }}

# Faults of streaming jobs on real services, all of them, with the table in build/faults.json; then the files of the other
# slow tests, which go on from those before them
faults *args: setup
    @pytest tests/faults {{ args }}
    @pytest $(grep -rl --include '*.py' pytest.mark.slow tests/integration)

# Tests of the Flink connector in Java, against the same golden vectors as the Python codec
java: setup
    @mvn -B -ntp -q -f jobs/flink/connector/pom.xml test

# Style
lint: setup
    @ruff check .
    @ruff format --check --quiet .

# Types
types: setup
    @mypy

# Import directions
arch: setup
    @lint-imports --no-cache

# The wheel that the engines get; prints its path
wheel: setup
    @scripts/wheel.sh

# One benchmark (quick or full)
bench name mode="quick": setup
    @python -m benchmarks {{ name }} {{ mode }}

# Mend style where it can be done automatically
fmt: setup
    @ruff check --fix --quiet .
    @ruff format --quiet .

# Remove everything that was built (the stack must be down)
clean:
    @rm -rf build .venv .featuredsl .mypy_cache .ruff_cache .pytest_cache *.egg-info
