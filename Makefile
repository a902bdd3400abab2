# SPDX-License-Identifier: Apache-2.0

# To get started, use make run and make test; make help lists all targets.

SHELL       := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

VERSION    ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
COMMIT     ?= $(shell git rev-parse -q --verify HEAD 2>/dev/null || echo unknown)
BUILD_TIME ?= $(shell date -u +%Y-%m-%dT%H:%M:%SZ)
LDFLAGS    := -s -w \
	-X example.org/app/internal/app.version=$(VERSION) \
	-X example.org/app/internal/app.commit=$(COMMIT) \
	-X example.org/app/internal/app.buildTime=$(BUILD_TIME)

# Binaries contain no paths of this machine and use no cgo, so all clones share Go's build cache, and so do the program, its tests
# and the linter.
export GOFLAGS     := $(filter-out -trimpath,$(GOFLAGS)) -trimpath
export CGO_ENABLED := 0

GO       ?= go
PACKAGES := ./...
ARGS     ?=

# Pinned tools in separate modules. go tool builds each once and keeps it in Go's build cache.
LINT      := $(GO) tool -modfile=tools/lint/go.mod golangci-lint
GOTESTSUM := $(GO) tool -modfile=tools/test/go.mod gotestsum --format pkgname-and-test-fails --format-hide-empty-pkg

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' Makefile

JAVA_JARS    := internal/plugin/java/jars
JAVA_SOURCES := scripts/build-java $(shell find proto sdk/java examples/plugins/java -type f -not -path '*/target/*')

.PHONY: build
build: $(JAVA_JARS)/.built ## Build bin/app
	@scripts/need go
	$(GO) build -ldflags '$(LDFLAGS)' -o bin/app ./cmd/app

# The jars that bin/app embeds to run Java plugins. Without a JDK there are none, and bin/app reports that when it loads a Java plugin.
$(JAVA_JARS)/.built: $(JAVA_SOURCES)
	scripts/build-java sdk

# The same, and the example plugins.
$(JAVA_JARS)/.packaged: $(JAVA_SOURCES)
	scripts/build-java package

$(JAVA_JARS)/.tested: $(JAVA_JARS)/.packaged
	scripts/build-java test

.PHONY: run
run: build ## Build and start both roles on embedded defaults; ARGS='--set app.x=y' adds flags
	@exec bin/app all $(ARGS)

.PHONY: test
test: setup ## Set up what is needed, then test everything; RACE=1 with the race detector
	@$(MAKE) --no-print-directory -j2 prepared tools/openapi/node_modules
	@$(MAKE) --no-print-directory -j3 unit-go unit-java openapi-lint

# Tests are skipped if what they need is missing: a JDK for Java plugins, Chromium for web pages, PgBouncer, Patroni and etcd, ip for network
# namespaces, and the Git history for the upgrade of a running cluster. The last lines of the output name what is missing.
# APP_TEST_REQUIRE=java,chromium,pgbouncer,patroni,etcd,history makes that an error.
.PHONY: setup
setup: ## Find or install what the tests need
	@scripts/need go $(if $(RACE),cc) curl postgresql node slapd
	@scripts/need --optional jdk maven chromium pgbouncer patroni etcd ip

NODE_MODULES := $(addsuffix /node_modules,test/e2e/client test/e2e/debugger test/e2e/generated test/e2e/provider sdk/js web)

.PHONY: prepared
prepared: $(JAVA_JARS)/.packaged $(NODE_MODULES)

# Maven and npm often wait for the disk and the network, so two of them run in parallel. Maven's tests and the linter of the OpenAPI
# documents need little more than one processor and run in parallel with the Go tests.
.PHONY: unit
unit: ## Run the Go tests on both storage engines, and those of the Java SDK; RACE=1 with the race detector
	@scripts/need node
	@$(MAKE) --no-print-directory -j2 prepared
	@$(MAKE) --no-print-directory -j2 unit-go unit-java

.PHONY: unit-go
unit-go:
	@GO='$(GO)' GOTESTSUM='$(GOTESTSUM)' scripts/unit $(if $(RACE),--race) $(PACKAGES)

# Maven's tests only run again after a change. Without a JDK nothing is packaged, and there is nothing to test.
.PHONY: unit-java
unit-java:
	@test ! -e $(JAVA_JARS)/.packaged || $(MAKE) --no-print-directory $(JAVA_JARS)/.tested

# The inner loop.
.PHONY: test-quick
test-quick: $(JAVA_JARS)/.built sdk/js/node_modules web/node_modules ## Run the fast tests, in under two minutes
	@scripts/need go postgresql
	@GO='$(GO)' GOTESTSUM='$(GOTESTSUM)' scripts/unit --quick $(PACKAGES)

# TEST262 is a copy of https://github.com/tc39/test262. EVERY=10 runs every tenth of its tests.
EVERY ?= 1
.PHONY: conformance
conformance: ## Compare the tests of ECMAScript with and without a debugger (TEST262=folder)
	@test -d "$(TEST262)/harness" || { echo "TEST262 must be a copy of https://github.com/tc39/test262" >&2; exit 1; }
	APP_TEST262=$(abspath $(TEST262)) APP_TEST262_EVERY=$(EVERY) $(GO) test -count=1 -timeout 4h -run TestConformance -v ./internal/plugin/js/inspector

%/node_modules: %/package-lock.json
	@scripts/need node
	cd $(@D) && $(CURDIR)/scripts/with-tools npm ci --silent --no-audit --no-fund --prefer-offline
	@touch $@

.PHONY: web
web: web/node_modules ## Build the web console into internal/console/dist
	cd web && $(CURDIR)/scripts/with-tools npm run build

.PHONY: screenshots
screenshots: web/node_modules ## Take screenshots of every page of the web console into dist/screenshots
	mkdir -p dist/screenshots
	APP_TEST_SCREENSHOTS=$(CURDIR)/dist/screenshots scripts/with-tools $(GO) test -count=1 ./test/e2e -run 'TestConsole$$'

.PHONY: lint
lint: ## Lint the Go code
	$(LINT) run $(PACKAGES)
	$(LINT) fmt --diff

.PHONY: openapi-lint
openapi-lint: build tools/openapi/node_modules ## Lint the OpenAPI documents of both roles
	scripts/with-tools scripts/lint-openapi

# The tests that print a row of the table of faults.
FAULTS = ^Test(Order|TrafficBetweenNodes|ServiceDoesNotAnswer|ThawedService|Once|Delivery|LateDelivery|NATSIsPaused|NATSServerIsLost|MachineVanishes|DatabaseStops|Chaos|RollingUpgrade)$$

.PHONY: campaign
campaign: ## Attack the admin interface, run faulty plugins, race logins and let parts of a cluster fail, for longer than make test does, and print the counts
	APP_CAMPAIGN=long $(GO) test -count=1 -v -timeout 60m ./test/campaign
	APP_CAMPAIGN=long $(GO) test -count=1 -v -timeout 60m -run TestSuite/Corpus ./internal/plugin/js ./internal/plugin/java
	APP_CAMPAIGN=long $(GO) test -count=1 -v -timeout 60m -run TestLoginRaces ./internal/gateway
	APP_CAMPAIGN=long APP_TEST_CHAOS_SECONDS=60 scripts/with-tools $(GO) test -count=1 -v -timeout 60m -run '$(FAULTS)' ./test/fault
	APP_CAMPAIGN=long APP_TEST_KILLS=500 scripts/with-tools $(GO) test -count=1 -v -timeout 120m -run '^TestKills$$' ./test/fault

.PHONY: bench
bench: $(JAVA_JARS)/.built ## Run the benchmarks
	$(GO) run ./bench
	$(GO) test -run '^$$' -bench . -benchtime 2s ./internal/...
	scripts/with-tools $(GO) test -run '^$$' -bench Console -benchtime 1x ./test/e2e

.PHONY: bench-growth
bench-growth: $(JAVA_JARS)/.built ## Measure how cost grows, in 20 minutes, and draw docs/images/growth-*.svg
	@scripts/need go postgresql
	scripts/with-tools $(GO) run ./bench -only growth -duration 2s -charts docs/images

# make test compares the counts, too. ARGS=-renew rewrites the baseline.
.PHONY: bench-check
bench-check: $(JAVA_JARS)/.built ## Compare the server's costs with bench/baseline.json
	@scripts/need go postgresql
	scripts/with-tools $(GO) run ./bench -check bench/baseline.json -duration 2s -rounds 5 $(ARGS)

# NAKAMA, TINODE, TINODE_DB and POCKETBASE are programs; docs/benchmarks.md explains how to build them. Programs that are not given are left out.
.PHONY: bench-peers
bench-peers: $(JAVA_JARS)/.built ## Compare with other servers, in 20 minutes (NAKAMA= TINODE= TINODE_DB= POCKETBASE=)
	@scripts/need go postgresql
	scripts/with-tools $(GO) run ./bench/peers $(if $(NAKAMA),-nakama $(NAKAMA)) $(if $(TINODE),-tinode $(TINODE)) $(if $(TINODE_DB),-tinode-db $(TINODE_DB)) $(if $(POCKETBASE),-pocketbase $(POCKETBASE)) $(ARGS)

.PHONY: chaos
chaos: ## Kill gateways and services for a minute while clients use them
	APP_TEST_CHAOS_SECONDS=60 $(GO) test -count 1 -run TestChaos -v ./test/fault

# RELEASE is the Debian release, MIRROR its package mirror, JDK a JDK of this machine to mount into the bare system.
.PHONY: fresh
fresh: ## Run make run and make test in a bare Debian, as root
	@scripts/need go debootstrap
	scripts/fresh source

.PHONY: fresh-release
fresh-release: ## Install the output of make release, and run the steps of the container image, in a bare Debian, as root
	@scripts/need debootstrap
	scripts/fresh release
	scripts/fresh image

# Only releases and the website contain the Javadoc, because it takes longer to build than all other jars.
$(JAVA_JARS)/app-plugin-api-javadoc.jar: $(JAVA_JARS)/.built
	scripts/build-java javadoc

.PHONY: site
site: $(JAVA_JARS)/app-plugin-api-javadoc.jar ## Write the documentation as web pages into dist/site
	rm -rf dist/site
	$(GO) run ./cmd/app docs dist/site

.PHONY: docs
docs: build ## Regenerate files: codes, configuration reference, OpenAPI golden files, types for plugins
	$(GO) generate ./...
	bin/app config doc --format markdown > docs/configuration.md
	UPDATE_GOLDEN=1 $(GO) test ./internal/app ./internal/wire ./test/protocol -run Golden

.PHONY: clean
clean: ## Remove build output; keep data/, log/, plugins/ and the cache of tools
	rm -rf bin .tools $(JAVA_JARS)/*.jar $(JAVA_JARS)/.built $(JAVA_JARS)/.packaged $(JAVA_JARS)/.tested sdk/java/target sdk/java/*/target examples/plugins/java/*/target tools/openapi/node_modules $(NODE_MODULES)

# The time of the commit makes builds reproducible.
.PHONY: release
release: $(JAVA_JARS)/app-plugin-api-javadoc.jar build ## Build archives, packages, SBOM and checksums into dist/; TARGETS=linux/amd64 builds fewer
	$(GO) run ./deploy/release -version '$(VERSION)' -commit '$(COMMIT)' -time "$$(git log -1 --format=%cI)" -targets '$(TARGETS)'
