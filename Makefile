# SPDX-License-Identifier: Apache-2.0

# make run and make test are all that a newcomer needs; make help lists the rest.

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

GO       ?= go
LINT     := .tools/golangci-lint
PACKAGES := ./...
ARGS     ?=

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' Makefile

JAVA_JARS    := internal/plugin/java/jars
JAVA_SOURCES := scripts/build-java $(shell find proto sdk/java examples/plugins/java -type f -not -path '*/target/*')

.PHONY: build
build: $(JAVA_JARS)/.built ## Build bin/app
	@scripts/need go
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/app ./cmd/app

# The jars that bin/app embeds to run Java plugins. Without a JDK there are none, and bin/app says so when one is loaded.
$(JAVA_JARS)/.built: $(JAVA_SOURCES)
	scripts/build-java package

# Maven's tests run once for each change; the jars of that run are the ones that are embedded.
$(JAVA_JARS)/.tested: $(JAVA_SOURCES)
	scripts/build-java verify

.PHONY: run
run: build ## Build and start both roles on embedded defaults; ARGS='--set app.x=y' adds flags
	@exec bin/app all $(ARGS)

.PHONY: test
test: setup lint unit openapi-lint ## Set up what is needed, then test everything

.PHONY: setup
setup: ## Find or install what the tests need
	@scripts/need go postgresql chromium node slapd jdk maven

.PHONY: unit
unit: $(JAVA_JARS)/.tested test/e2e/client/node_modules sdk/js/node_modules test/e2e/debugger/node_modules ## Run the Go tests of both storage engines with the race detector
	$(GO) vet $(PACKAGES)
	# Many tests wait for other processes most of the time: three packages keep two processors busy.
	$(GO) test -race -p 3 -timeout 15m $(PACKAGES)

test/e2e/client/node_modules: test/e2e/client/package-lock.json
	@scripts/need node
	cd test/e2e/client && npm ci --silent
	@touch $@

sdk/js/node_modules: sdk/js/package-lock.json
	@scripts/need node
	cd sdk/js && npm ci --silent
	@touch $@

test/e2e/debugger/node_modules: test/e2e/debugger/package-lock.json
	@scripts/need node
	cd test/e2e/debugger && npm ci --silent
	@touch $@

.PHONY: lint
lint: $(LINT) ## Lint the Go code
	$(LINT) run $(PACKAGES)
	$(LINT) fmt --diff

$(LINT): tools/go.mod tools/go.sum
	cd tools && $(GO) build -o ../$(LINT) github.com/golangci/golangci-lint/v2/cmd/golangci-lint

.PHONY: openapi-lint
openapi-lint: build tools/openapi/node_modules ## Lint the OpenAPI documents of both roles
	@scripts/need node
	scripts/lint-openapi

tools/openapi/node_modules: tools/openapi/package-lock.json
	@scripts/need node
	cd tools/openapi && npm ci --silent
	@touch $@

.PHONY: bench
bench: $(JAVA_JARS)/.built ## Run the benchmarks
	$(GO) run ./bench
	$(GO) test -run '^$$' -bench . -benchtime 2s ./internal/...

.PHONY: chaos
chaos: ## Kill gateways and services under clients for a minute
	APP_TEST_CHAOS_SECONDS=60 $(GO) test -count 1 -run TestChaos -v ./test/fault

.PHONY: docs
docs: build ## Write the generated files anew: codes, configuration reference, OpenAPI golden files, types for plugins
	$(GO) generate ./...
	bin/app config doc --format markdown > docs/configuration.md
	UPDATE_GOLDEN=1 $(GO) test ./internal/app -run Golden

.PHONY: clean
clean: ## Remove what was built; data/, log/ and plugins/ stay
	rm -rf bin .tools $(JAVA_JARS)/*.jar $(JAVA_JARS)/.built $(JAVA_JARS)/.tested sdk/java/target sdk/java/*/target examples/plugins/java/*/target tools/openapi/node_modules test/e2e/client/node_modules sdk/js/node_modules test/e2e/debugger/node_modules
