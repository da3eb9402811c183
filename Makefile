# `make` or `make help` lists the targets.
.DEFAULT_GOAL := help
GO       ?= go
FUZZTIME ?= 30s
VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS  := -s -w -X main.version=$(VERSION)

# SQLite is C put into Go by a machine, two megabytes of it: watching each of
# its loads and stores doubles the time of the suite and can show no race of
# ours. Our code, and the driver's, is watched. `make soak` watches everything.
UNWATCHED := -gcflags=modernc.org/sqlite/lib=-race=false -gcflags=modernc.org/libc=-race=false -gcflags=modernc.org/memory=-race=false

.PHONY: help build run test check fmt vet lint bench peers soak fuzz clean cc

help: ## list the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build ./selvage, a static binary
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o selvage ./cmd/selvage

run: build ## build, and open a chat on the embedded store (reads lines when stdin is no terminal)
	@./selvage chat

test: cc ## run every test with the race detector
	$(GO) test -race $(UNWATCHED) -timeout 20m ./...

check: fmt vet lint test ## what CI runs: format, vet, staticcheck, tests

fmt: ## fail if a file is not gofmt'ed
	@files=$$(git ls-files '*.go' | xargs gofmt -l); [ -z "$$files" ] || { echo "not gofmt'ed:"; echo "$$files"; exit 1; }

vet:
	$(GO) vet ./...

lint: ## staticcheck, at the version pinned in tools/go.mod
	$(GO) tool -modfile=tools/go.mod staticcheck ./...

bench: build ## measure the gates of docs/performance.md beside the raw engine
	$(GO) run ./bench

peers: ## the same conversation on Selvage and on LangGraph.js (needs node 20; installs its packages)
	cd bench/peers/langgraph && npm ci
	$(GO) run ./bench/peers

soak: cc ## the crash and concurrency tests at twenty times their size
	SELVAGE_SOAK=20 $(GO) test -race -timeout 3h -v -run 'Kill|PowerLoss|Processes|Differential|Linear|TestStore' ./...

mutate: ## plant the mistakes of internal/mutate one by one; each must turn a test red (ten minutes)
	$(GO) run ./internal/mutate

fuzz: ## run every fuzz target for FUZZTIME (30s)
	@set -e; for file in $$(git ls-files '*_test.go' | xargs grep -l '^func Fuzz'); do \
	  for target in $$(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' $$file); do \
	    echo "== $$(dirname $$file) $$target"; \
	    $(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) ./$$(dirname $$file); \
	  done; done

clean: ## remove what the targets made
	rm -rf selvage dist bench/results

# The race detector needs a C compiler; nothing that is shipped does.
cc:
	@command -v "$${CC:-cc}" >/dev/null || command -v gcc >/dev/null || { \
	  echo "the race detector needs a C compiler; installing gcc"; \
	  apt-get update -q && apt-get install -y -q --no-install-recommends gcc libc6-dev; }
