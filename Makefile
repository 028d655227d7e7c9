# The tools that checks use, at fixed versions.
GOFUMPT     = go run mvdan.cc/gofumpt@v0.12.0
STATICCHECK = go run honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOVULNCHECK = go run golang.org/x/vuln/cmd/govulncheck@v1.9.0

# How long each fuzz target runs, how many cases each property gets, and how
# often guards, upstreams and databases are ended.
FUZZTIME ?= 20s
CHECKS   ?= 20000
ROUNDS   ?= 1000

NPM = .cache/npm

.PHONY: run test bench soak lint vuln fuzz npm needed mutants

run: ## serve the built-in examples
	go run ./cmd/remit serve

test: needed npm ## everything that must hold, under the race detector
	go vet ./...
	go test -race -timeout 40m ./...
	cd bench && go vet ./... && go test ./...

bench: ## figures beside SQLite, jq and a page's own fetch, and the cost of recovery.Do
	@command -v jq >/dev/null || { echo "jq is missing: install it (Debian: apt-get install jq)"; exit 1; }
	go test -run '^$$' -bench . -benchmem ./recovery
	cd bench && go run . && go run ./judge && go run ./page && go run ./guard

lint: ## formatting and static analysis
	@unformatted=$$($(GOFUMPT) -l .); test -z "$$unformatted" || { echo "not formatted by gofumpt: $$unformatted"; exit 1; }
	go vet ./...
	$(STATICCHECK) ./...

vuln: ## known vulnerabilities; needs the Go vulnerability database
	$(GOVULNCHECK) ./...

fuzz: ## every fuzz target for FUZZTIME
	@for package in $$(go list ./...); do \
		for target in $$(go test -list '^Fuzz' $$package | grep '^Fuzz'); do \
			echo "$$package $$target"; \
			go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$package || exit 1; \
		done; \
	done

soak: fuzz ## what takes long: fuzzing, CHECKS cases a property, and ROUNDS rounds of writes whose guards, upstreams and databases end
	@mkdir -p .cache; log=$$PWD/.cache/soak.log; for folder in $$(grep -rl --include='*_test.go' 'pgregory.net/rapid' . | xargs -n1 dirname | sort -u); do \
		echo "$$folder"; \
		(cd $$folder && go test -timeout 80m -rapid.checks=$(CHECKS) -v . > $$log) || { grep -vE '^(=== |--- PASS)' $$log; exit 1; }; \
		grep -E 'passed [0-9]+ tests|^ok' $$log; \
	done
	@log=$$PWD/.cache/soak.log; REMIT_ROUNDS=$(ROUNDS) go test -timeout 5h -v -run '^TestGuardSoak$$' ./cmd/remit > $$log || { grep -vE '^(=== |--- PASS)' $$log; exit 1; }; \
		grep -E 'guard_soak|^ok' $$log

GREMLINS = go run github.com/go-gremlins/gremlins/cmd/gremlins@v0.6.0

mutants: ## mutants that no test finds; about two hours on two idle cores
	@mkdir -p .cache
	@for package in record recovery catalogue oracle; do \
		$(GREMLINS) unleash --dry-run ./$$package > /dev/null || exit 1; \
		$(GREMLINS) unleash --workers 2 --timeout-coefficient 300 --output .cache/mutants.$$package.json ./$$package || exit 1; \
	done

needed: # what the tests run besides Go; root on Debian gets it installed
	@for program in python3 curl chromium; do \
		command -v $$program >/dev/null && continue; \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
			apt-get update -qq && apt-get install -y -qq $$program >/dev/null && continue; \
		fi; \
		echo "$$program is missing: install it (Debian: apt-get install $$program)"; exit 1; \
	done
	@ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null || { \
		[ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -qq && apt-get install -y -qq postgresql >/dev/null; } || { \
		echo "PostgreSQL (initdb) is missing: install it (Debian: apt-get install postgresql)"; exit 1; }

# What tests run on Node.js: clients that are not ours, and the TypeScript
# compiler. They need Node.js 22, which comes as a package too.
npm: $(NPM)/node_modules/.package-lock.json

$(NPM)/node_modules/.package-lock.json: package.json
	@command -v npm >/dev/null || { echo "npm is missing: install Node.js with npm (Debian: apt-get install npm)"; exit 1; }
	mkdir -p $(NPM) && cp $< $(NPM)/package.json
	cd $(NPM) && npm install --no-audit --no-fund --loglevel=error
	touch $@
