# Everything that a fresh machine needs: `make run` to try secretsvc, `make test` to trust it.

PYTHON ?= python3
LISTEN ?= 127.0.0.1:6543
VENV := .venv
BIN := $(VENV)/bin

# What the shell of whoever runs this has set for another deployment must not reach the development one.
OURS := DATABASE_URL MASTER_KEY_OLD BOOTSTRAP_ADMINS ACCESS_ISSUER ACCESS_AUDIENCE ACCESS_JWKS_URL \
	ACCESS_ALGORITHMS ACCESS_LEEWAY ACCESS_JWKS_COOLDOWN ACCESS_JWKS_CACHE ACCESS_HEADER ACCESS_COOKIE EDGE_CACHE_HEADER \
	SERVICE_TOKENS WORKLOAD_ISSUERS PUBLIC_ORIGIN SECRET_MAX_BYTES ENV_MAX_SECRETS PLAINTEXT_MAX_BYTES BODY_MAX_BYTES RATE_LIMIT \
	RATE_LIMIT_STORAGE WRITE_LIMIT IDENTITY_LIMIT DENIAL_LIMIT LAST_SEEN_RESOLUTION TRUSTED_PROXIES OPERATIONS_LISTEN DRAIN_SECONDS \
	DATABASE_POOL_SIZE DATABASE_TIMEOUT AUDIT_SEAL_SECONDS AUDIT_ORIGIN
# The suite starts many processes: without compiled modules each of them compiles all of them anew.
unexport PYTHONDONTWRITEBYTECODE
DEVELOPMENT := env $(addprefix -u ,$(OURS))

.DEFAULT_GOAL := help
.PHONY: help run demo client test test-all test-long test-plain fuzz faults bench bench-compare screenshots check lint check-types \
	check-architecture check-duplicates format pins dist clean

help: ## show what there is
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 15

# Before the migration, so that nothing says that it serves. `*` is every address, as waitress has it.
CAN_LISTEN := import socket, sys; host, _, port = sys.argv[1].rpartition(":"); \
	family = socket.AF_INET6 if ":" in host else socket.AF_INET; \
	socket.create_server((host.strip("[]*"), int(port)), family=family)

run: $(VENV)/run.done .dev/master-key ## serve on SQLite behind the development proxy; LISTEN=127.0.0.1:7000 for another port
	@$(BIN)/python -c '$(CAN_LISTEN)' '$(LISTEN)' 2>/dev/null || \
		{ echo "cannot listen on $(LISTEN): is it in use? For another port: make run LISTEN=127.0.0.1:7000"; exit 1; }
	@$(DEVELOPMENT) $(BIN)/secretsvc-server migrate development.ini
	@echo "secretsvc serves http://$(LISTEN)/ (choose who you are at http://$(LISTEN)/.devproxy/)"
	@MASTER_KEY="$$(cat .dev/master-key)" exec $(DEVELOPMENT) $(BIN)/pserve -q development.ini listen=$(LISTEN)

demo: $(VENV)/run.done .dev/master-key ## fill the development database with a believable organisation
	@$(DEVELOPMENT) $(BIN)/secretsvc-server migrate development.ini
	@MASTER_KEY="$$(cat .dev/master-key)" $(DEVELOPMENT) $(BIN)/python -W ignore -m demo development.ini

client: client/dist/secretsvc.pyz ## make the command-line client, one file for Python 3.9 or later

client/dist/secretsvc.pyz: $(shell find client/secretsvc_client -name '*.py') client/build_file.py client/build/carried.done
	@$(BIN)/python client/build_file.py $@ client client/build/carried
	@echo "$@ is made: put it where your shell looks for programs, as secretsvc"

client/build/carried.done: client/tomli.txt | $(BIN)/python
	@$(BIN)/python -m pip install --quiet --no-deps --no-compile --require-hashes --only-binary :all: --upgrade \
		--python-version 3.9 --implementation py --abi none --platform any --target client/build/carried -r client/tomli.txt
	@touch $@

# What takes long or wants a browser and balancers, real processes under load and the fuzz, is in `test-all`.
# One worker more than there are cores: some tests wait for clocks and processes.
WORKERS := $(shell $(PYTHON) -c "import os; print((os.cpu_count() or 1) + 1)")

test: $(VENV)/dev.done ## run what guards a rule, on SQLite and on PostgreSQL
	$(BIN)/python -m pytest --numprocesses $(WORKERS) --dist worksteal --brief $(LIGHT) \
		tests/unit tests/architecture tests/domain tests/functional client/tests/quick

# A fifth of the examples of properties, no linters, which are of `make check`; and what other packages bring for
# pytest takes its time in each worker.
LIGHT := --hypothesis-profile=few -m "not linter" -p no:schemathesis -p no:anyio

test-all: $(VENV)/dev.done client/dist/secretsvc.pyz ## run the whole suite, with real processes, attacks, browsers and the fuzz
	$(BIN)/python -m pytest --numprocesses $(MORE_WORKERS) --dist loadfile --no-loadscope-reorder

# With two workers a core, these had nothing to do for a part of the time: much of it waits.
MORE_WORKERS := $(shell $(PYTHON) -c "import os; print(2 * (os.cpu_count() or 1) + 1)")

# All kills, rounds, faults and sizes of which `test-all` has a fixed sample (tests/extent.py), and new examples of
# properties. Name files to run only theirs: make test-long LONG=tests/load/test_kill.py
# (tests/extent.py has no test: its folder registers --long, also for files of client/tests.)
LONG ?=

test-long: $(VENV)/dev.done client/dist/secretsvc.pyz ## run for hours what `test-all` has a sample of
	$(BIN)/python -m pytest --long -m "long or hypothesis" --numprocesses $(WORKERS) --dist loadfile --no-loadscope-reorder \
		$(if $(LONG),tests/extent.py) $(LONG)

test-plain: $(VENV)/dev.done ## run the tests of the database without its fast path (secretsvc/db/fast)
	$(BIN)/python -m pytest --plain --numprocesses $(WORKERS) --dist worksteal tests/domain $(PLAIN)

PLAIN := $(addprefix tests/functional/test_,statements.py access_statements.py conditional.py equal_work.py rows_read.py \
	tracing.py denials.py batch.py secret_values.py import_export.py rename.py rollback_and_versions.py secret_audit.py \
	last_admin.py states.py revisions.py comparing.py copying.py copying_access.py restoring.py)

# Some 15 minutes on two cores; more examples take longer.
FUZZ_EXAMPLES ?= 60

fuzz: $(VENV)/dev.done ## ask the API whatever its description allows, and more
	FUZZ_EXAMPLES=$(FUZZ_EXAMPLES) $(BIN)/python -m pytest -s tests/fuzz

# Some 20 minutes. FAULTS="frozen failover" runs those rows whose names hold one of the words.
faults: $(VENV)/dev.done ## break what the service stands on, one after the other, and judge what clients saw
	PYTHONPATH=tests $(BIN)/python -W ignore -m faults $(FAULTS)

# Each benchmark that compares with a floor or a goal puts its table there, for `make bench-compare`.
RESULTS ?= bench.json
BEFORE ?= before.json

bench: $(VENV)/dev.done ## measure against the floor of the same run; never part of the suite
	@for script in operations copying served clients writers memory growth states audit_pages search exposure snapshot machines sealing pruning start; do \
		$(BIN)/python -W ignore benchmarks/$$script.py --json $(RESULTS); done
	@for script in absent_or_invisible denied_often rekey shares pages sizes cores waits keystrokes; do $(BIN)/python -W ignore benchmarks/$$script.py; done

bench-compare: $(VENV)/dev.done ## two runs beside each other: BEFORE=before.json RESULTS=after.json
	@$(BIN)/python benchmarks/compare.py $(BEFORE) $(RESULTS)

screenshots: $(VENV)/dev.done ## take the README's pictures of the demo, with Chromium
	@$(DEVELOPMENT) $(BIN)/python -W ignore -m demo.screenshots docs/images

check: lint check-types check-architecture check-duplicates ## format, lint, types, architecture, duplicates

lint: $(VENV)/dev.done
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

check-types: $(VENV)/dev.done
	$(BIN)/mypy

# One of the tests reads the cache of mypy.
check-architecture: check-types
	$(BIN)/lint-imports --no-cache
	$(BIN)/python -m pytest -q tests/architecture

check-duplicates: $(VENV)/dev.done
	$(BIN)/pylint --jobs=1 secretsvc client/secretsvc_client

format: $(VENV)/dev.done ## format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

pins: $(VENV)/dev.done ## renew the exact versions in constraints/
	$(BIN)/pip-compile $(PIN) --output-file constraints/run.txt $(PINNED)
	$(BIN)/pip-compile $(PIN) --extra test --extra check -c constraints/run.txt --output-file constraints/dev.txt $(PINNED) constraints/redis.in
	$(BIN)/pip-compile $(PIN) -c constraints/dev.txt --output-file constraints/redis.txt constraints/redis.in
	sed -i -e 's/^legacy-cgi==[^ ]*/& ; python_version >= "3.13"/' \
		-e 's/^async-timeout==[^ ]*/& ; python_full_version < "3.11.3"/' constraints/*.txt

PINNED := setup.cfg constraints/later.in
PIN := --quiet --upgrade --generate-hashes --allow-unsafe --strip-extras --no-header --no-annotate \
	--no-emit-index-url --no-emit-find-links --no-emit-trusted-host

# The time of every file in the wheel, so that a build of the same commit makes the same bytes. Without a repository: 1980,
# the first year that a zip file can contain.
BUILD_TIME = $(or $(SOURCE_DATE_EPOCH),$(shell git log -1 --format=%ct 2>/dev/null),315532800)

# What a build before this one has left would go into the wheel.
dist: $(VENV)/run.done ## make the wheel, the list to install it by, with exact versions and hashes, and its bill of materials
	@rm -rf build dist
	umask 022 && SOURCE_DATE_EPOCH=$(BUILD_TIME) \
		$(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .
	@cd dist && { cat ../constraints/run.txt; echo "--find-links ."; \
		ls *.whl | sed -E 's/^([^-]+)-([^-]+)-.*/\1==\2 \\/'; sha256sum *.whl | sed -E 's/ .*//; s/^/    --hash=sha256:/'; \
		} > requirements.txt && cp ../constraints/redis.txt .
	@$(BIN)/python constraints/bill.py dist

clean: ## remove what make made, but not the development database
	rm -rf $(VENV) build dist client/build client/dist *.egg-info client/*.egg-info

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "secretsvc needs Python 3.11 or later; name one with make PYTHON=/path/to/python3.11"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
		echo "this Python cannot make virtual environments; on Debian: apt install python3-venv"; exit 1; }

$(VENV)/run.done: constraints/run.txt setup.cfg pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --require-hashes -r constraints/run.txt
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/dev.done: constraints/dev.txt $(VENV)/run.done
	$(BIN)/python -m pip install --quiet --require-hashes -r constraints/dev.txt
	@touch $@

.dev/master-key: | $(VENV)/run.done
	@mkdir -p .dev && chmod 700 .dev
	@umask 077 && $(BIN)/python -c 'from secretsvc.kernel.crypto import generate_master_key as key; print(key())' > $@.new
	@mv $@.new $@
