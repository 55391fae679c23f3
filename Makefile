# Each target does its own set-up: on a fresh machine with Python >=3.11,<3.14 and make, any may come first.
.DEFAULT_GOAL := help
.NOTPARALLEL:
MAKEFLAGS += --no-print-directory

PYTHON_IN_VENV := .venv/bin/python
PYTEST := $(PYTHON_IN_VENV) -m pytest
HISTORIES_LONG ?= 20000
ROUNDS ?= 500

.PHONY: help setup run test test-pure test-all test-faults test-streams test-connect test-kafka test-lakes test-cluster test-clients test-gateway test-console test-oracles lint types check bench-bulk bench-kernel bench-broker bench-broker-large bench-pipeline bench-gateway bench-explain bench-versus lock wheel test-wheel clean

help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-18s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

setup: ## make .venv with the locked dependencies and conjoin itself, compiled where a C compiler is
	@scripts/setup $(if $(filter setup wheel bench-%,$(MAKECMDGOALS)),--compile)

run: setup ## correlate the order-to-cash example on Spark, in this machine
	@$(PYTHON_IN_VENV) -m examples.order_to_cash

test: setup ## run the tests: those with Spark in one session, the others beside them
	@scripts/test

test-pure: setup ## what is compiled, on the source as it is
	@CONJOIN_PURE=1 $(PYTEST) -m "not spark" -n 2 tests/kernel tests/conformance tests/oracle tests/runtime tests/testing

test-all: ## the same with many more generated histories, all stories on Spark, and the targets below
	@HISTORIES=$(HISTORIES_LONG) SPARK_STORIES=all STORIES=500 $(MAKE) test
	@$(MAKE) test-pure
	@$(MAKE) test-faults
	@$(MAKE) test-streams ROUNDS=20
	@for part in connect kafka lakes cluster clients gateway console wheel; do $(MAKE) test-$$part || exit 1; done

test-faults: setup ## kill writers in the middle of their commits, in ROUNDS=500 rounds
	@ROUNDS=$(ROUNDS) $(PYTEST) tests/faults -n 2

test-streams: ROUNDS = 20
test-streams: setup ## kill -9 the driver of a stream, in ROUNDS=20 rounds, and count what arrived
	@ROUNDS=$(ROUNDS) $(PYTEST) tests/streams

test-connect: setup ## run on Spark Connect, against a server of its own
	@$(PYTEST) tests/pipeline/test_connect.py

test-kafka: setup ## ingest from a real Kafka broker (fetched from Maven)
	@scripts/setup-kafka
	@$(PYTEST) tests/kafka

test-lakes: setup ## read and write Delta and Iceberg tables with their own connectors (fetched from Maven)
	@scripts/setup-lakes
	@$(PYTEST) tests/lakes

test-cluster: setup ## a standalone Spark cluster on PostgreSQL, one worker of it killed
	@$(PYTEST) tests/cluster

test-clients: setup ## the clients of Zeebe and Camunda 8, unchanged, against conjoin serve (fetched from their registries)
	@scripts/setup-clients
	@$(PYTEST) tests/clients

test-gateway: ROUNDS = 50
test-gateway: SECONDS = 60
test-gateway: setup ## attack a server for SECONDS=60, and kill -9 it under load in ROUNDS=50 rounds
	@ROUNDS=$(ROUNDS) SECONDS=$(SECONDS) $(PYTEST) tests/gateway/robust

test-console: setup ## the console in a real Chromium (installs Debian's)
	@scripts/setup-chromium
	@$(PYTEST) tests/console

test-oracles: setup ## compare FEEL and the refusals of models with the npm packages of the field (installs Node)
	@scripts/setup-oracles
	@$(PYTEST) tests/oracles

lint: setup ## check style and formatting
	@$(PYTHON_IN_VENV) -m ruff check .
	@$(PYTHON_IN_VENV) -m ruff format --check .

types: setup ## check types (strict for the kernel)
	@$(PYTHON_IN_VENV) -m mypy

check: lint types ## lint and types

bench-bulk: setup ## measure correlate against bare Spark joins
	@$(PYTHON_IN_VENV) -m benchmarks.bulk --write

bench-kernel: setup ## measure the engine in memory: publish, correlate, advance
	@$(PYTHON_IN_VENV) -m benchmarks.kernel --write

bench-broker: setup ## measure the durable broker against the home-made solution (needs PostgreSQL: scripts/setup-postgres)
	@$(PYTHON_IN_VENV) -m benchmarks.broker --write
	@$(PYTHON_IN_VENV) -m benchmarks.broker.hot --write

bench-pipeline: setup ## measure the pipeline on Spark: into a store against the broker alone, and streaming correlate
	@$(PYTHON_IN_VENV) -m benchmarks.pipeline --write

bench-broker-large: setup ## the cost of a message with 100,000 and with 10,000,000 open instances, on SQLite
	@$(PYTHON_IN_VENV) -m benchmarks.broker.growth

bench-gateway: setup ## measure the server: publishing by 50 clients, bulk, latency, memory, start
	@$(PYTHON_IN_VENV) -m benchmarks.gateway

bench-explain: setup ## plant mistakes with a known cause, and count how often it is named first
	@$(PYTHON_IN_VENV) -m benchmarks.explain --million --write
	@$(PYTHON_IN_VENV) -m benchmarks.explain.kept

bench-versus: setup ## tell the same story to Conjoin and to a Zeebe broker (fetched from Maven)
	@scripts/setup-zeebe
	@$(PYTHON_IN_VENV) -m benchmarks.versus

# Options about indexes are the user's, and none is written down.
lock: setup ## resolve the dependencies anew into requirements.lock
	@UV_PYTHON_DOWNLOADS=never UV_CUSTOM_COMPILE_COMMAND="make lock" .venv/bin/uv pip compile --quiet \
	    --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links \
	    --extra all --group dev --upgrade --output-file requirements.lock pyproject.toml

wheel: setup ## build dist/conjoin-*.whl: compiled for this Python where a C compiler is, and for any Python
	@$(PYTHON_IN_VENV) -m build --wheel --no-isolation --outdir dist .
	@CONJOIN_PURE=1 $(PYTHON_IN_VENV) -m build --wheel --no-isolation --outdir dist .

test-wheel: setup ## install the wheel into an empty environment and use it there
	@scripts/test-wheel

clean: ## remove what was made here, .venv included
	@rm -rf .venv build dist output spark-warehouse metastore_db derby.log
	@rm -rf .hypothesis .mypy_cache .pytest_cache .ruff_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
