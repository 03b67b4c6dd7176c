# SPDX-License-Identifier: Apache-2.0
# `make demo` and `make test` are all that a fresh machine with a Swift toolchain needs.

SWIFT ?= swift
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 10
# The Swift runtime is linked in: the binaries need no toolchain where they run.
RELEASE = -c release --static-swift-stdlib

.PHONY: all demo test build-tests soak simulate torture cluster-test cluster-torture cluster-soak fuzz sanitize check docs format dependencies release install deb web-deb web-package-test tarball sbom rpm site deb-test packages-test package-test peers benchmarks clients web web-test install-web clean

all: release

## Shows the program at work: builds a release, runs a session, stops what it started.
demo: release
	./examples/demo.sh

## Runs every test.
test: build-tests
	@SWIFT="$(SWIFT)" ./.ci/tests

build-tests: dependencies
	$(SWIFT) build --build-tests

## Runs 20,000 runs and a flood of 10 GB through the daemon, and DAYS of 50 fires a second: a day takes
## four minutes, and a month (DAYS=30) two hours.
DAYS ?= 1
soak: dependencies
	$(SWIFT) build --build-tests
	TIMERD_SOAK_RUNS=20000 TIMERD_SOAK_FLOOD=10737418240 $(SWIFT) test --skip-build --no-parallel --filter SoakTests
	$(SWIFT) build $(BUILT_OPTIMIZED) --build-tests
	TIMERD_GROWTH_DAYS=$(DAYS) $(SWIFT) test $(BUILT_OPTIMIZED) --skip-build --no-parallel --filter GrowthTests

## Kills daemons at operations of a simulated disk: SEEDS=1000 or SEEDS=5..9, and EVERY=20 short lives at each
## operation; a failure prints how to replay it: SEEDS=7..7, perhaps OPERATION=120 POWER=1; STORY=5000 tells all of it.
## OPTIMIZED=1 builds anew for minutes, and lives through 1.7 times as many a second: for tens of thousands.
SEEDS ?= 1000
BUILT_OPTIMIZED = -c release -Xswiftc -enable-testing --scratch-path .build/optimized
SIMULATE = $(if $(OPTIMIZED),$(BUILT_OPTIMIZED))
simulate: dependencies
	$(SWIFT) build $(SIMULATE) --build-tests
	TIMERD_SIMULATE_SEEDS=$(SEEDS) TIMERD_SIMULATE_EVERY=$(EVERY) TIMERD_SIMULATE_OPERATION=$(OPERATION) \
		TIMERD_SIMULATE_POWER=$(POWER) TIMERD_SIMULATE_STORY=$(STORY) $(SWIFT) test $(SIMULATE) --skip-build --no-parallel --filter CrashTests

## Fuzzes each reader of others' bytes for FUZZ_SECONDS (10); see Fuzz/README.md.
fuzz: dependencies
	@SWIFT="$(SWIFT)" FUZZ_SECONDS="$(FUZZ_SECONDS)" ./Fuzz/run $(TARGETS)

## Runs every test under the thread sanitizer and under the address sanitizer, or under one: SANITIZERS=thread.
SANITIZERS ?= thread address
sanitize: dependencies
	@SWIFT="$(SWIFT)" ./.ci/sanitize $(SANITIZERS)

## The real daemon under every fault, for a quarter of an hour; a seed repeats the dice: make torture SEED=1
torture: dependencies release
	$(SWIFT) build --build-tests
	@TIMERD_TORTURE=1 TIMERD_TORTURE_SEED=$(SEED) TIMERD_PROGRAMS=$(CURDIR)/.build/release \
		SWIFT="$(SWIFT)" ./.ci/torture

## Several nodes on a PostgreSQL of its own, attacked: killed, paused, cut off, failed over, at most five minutes;
## SCENARIOS="killed storm" for some of them, CLUSTER_SEED=1 repeats the dice. As root it does more.
cluster-test: dependencies
	@./.ci/dependencies postgresql libpq5 python3
	$(SWIFT) build --product timerd
	$(SWIFT) build --product timerctl
	$(SWIFT) build --product timerd-runner
	@TIMERD_PROGRAMS=$(CURDIR)/.build/debug ./Tests/Cluster/run $(SCENARIOS) --jobs 2 $(if $(CLUSTER_SEED),--seed $(CLUSTER_SEED))

## The same with a release build, each scenario for CLUSTER_SECONDS (300) or once, whichever is longer.
CLUSTER_SECONDS ?= 300
cluster-torture: release
	@./.ci/dependencies postgresql libpq5 python3
	@TIMERD_PROGRAMS=$(CURDIR)/.build/release ./Tests/Cluster/run $(SCENARIOS) --seconds $(CLUSTER_SECONDS) \
		$(if $(CLUSTER_SEED),--seed $(CLUSTER_SEED))

## An hour of 500 fires a second on three nodes, one of which is killed each minute; SOAK_SECONDS=150 for a look at it.
SOAK_SECONDS ?= 3600
cluster-soak: release
	@./.ci/dependencies postgresql libpq5 python3
	@TIMERD_PROGRAMS=$(CURDIR)/.build/release ./Tests/Cluster/run soak --seconds $(SOAK_SECONDS) \
		$(if $(CLUSTER_SEED),--seed $(CLUSTER_SEED))

## The client in Python, from sdist and wheel in clean environments, with the conformance suite; the shop under kill -9.
## With the real daemon where there is a build. The client in Swift passes the same suite, with no case left out.
clients: dependencies
	$(SWIFT) build --product conformance-driver
	./docs/conformance/run --all --limit 60 .build/debug/conformance-driver
	./clients/python/test
	./clients/node/test.sh
	./examples/shop/test --seed 1

## What CI checks beside the tests: format, warnings, tests that would never run, the one way of data.
check: dependencies
	./.ci/check

## Renders the documentation of the libraries into .build/docs.
docs: dependencies
	@SWIFT="$(SWIFT)" ./.ci/docs

## Formats every Swift file in place.
format:
	$(SWIFT) format --in-place --recursive --parallel Package.swift Sources Tests Benchmarks/Package.swift Benchmarks/Sources Fuzz/Package.swift Fuzz/Sources migrations

## The programs, in .build/release. What timerctl and timerd-runner link in, where the system has its archive, no start has to look for; one
## that was linked without an archive is linked again.
release: dependencies
	$(SWIFT) build $(RELEASE) --product timerd
	@mkdir -p .build/archives
	@for name in yaml stdc++; do \
		archive=$$(cc -print-file-name=lib$$name.a); \
		link=.build/archives/lib$$name.a; \
		[ ! -e "$$archive" ] || [ "$$(readlink $$link)" = "$$archive" ] || \
			{ ln -sf "$$archive" $$link && rm -f .build/release/timerctl .build/release/timerd-runner; }; \
	done
	$(SWIFT) build $(RELEASE) --product timerctl
	$(SWIFT) build $(RELEASE) --product timerd-runner

## Builds timerd-web, the page, which has dependencies of its own: Web/.build/release/timerd-web.
web: dependencies
	$(SWIFT) build --package-path Web $(RELEASE) --product timerd-web
	@[ ! -d .build/release ] || ln -sf "$(CURDIR)/Web/.build/release/timerd-web" .build/release/timerd-web

## The page: its tests in Swift, then in a real Chromium, both against the programs of `make build-tests`.
web-test: build-tests
	$(SWIFT) build --package-path Web --build-tests
	TIMERD_PROGRAMS="$(CURDIR)/.build/debug" $(SWIFT) test --package-path Web --skip-build --no-parallel
	TIMERD_PROGRAMS="$(CURDIR)/.build/debug" TIMERD_WEB="$(CURDIR)/Web/.build/debug/timerd-web" ./Web/Tests/browser/run

## Installs the page beside timerctl, with its unit for who wants it on a server.
install-web: web
	@./.ci/dependencies binutils
	PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' ./packaging/install-web

## Programs, units, manual pages and completions.
install: release
	@./.ci/dependencies binutils python3
	PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' ./packaging/install

## What is linked in, with licences: .build/sbom. The packages have it too.
sbom: release
	@./.ci/dependencies binutils python3
	@./packaging/sbom

## For any Linux with glibc, SQLite and PAM: .build/dist/timerd-*.tar.gz with an install.sh, and SHA256SUMS.
tarball: release
	@./.ci/dependencies binutils python3
	@./packaging/tarball

## A package for Fedora, openSUSE and their like: .build/rpm/timerd-*.rpm.
rpm: release
	@./.ci/dependencies binutils python3 rpm
	@./packaging/rpm/make

## The documents as a site that needs no server: .build/site/index.html.
site: release
	@./.ci/dependencies python3 python3-markdown-it tmux mandoc
	@./docs/site/make

## Tries all packages but the .deb, the site and the Ansible role: each made, unpacked, compared. Three minutes.
packages-test: release
	@./.ci/packages

## Installs the .deb in a Debian 12 and a Debian 13, and has a job run there; needs root.
deb-test: release
	@./.ci/dependencies binutils python3 debhelper debootstrap
	@./packaging/test/releases

## A package for Debian: .build/deb/timerd_*.deb.
deb: release
	@./.ci/dependencies debhelper binutils python3
	@./packaging/deb

## The same for the page: .build/deb/timerd-web_*.deb.
web-deb: web
	@./.ci/dependencies debhelper binutils
	@./packaging/deb timerd-web

## Installs both packages on a machine of its own, has timerd-web@ann and nginx serve there, and fetches the page;
## needs root. Two minutes beside the builds, and not in CI, which makes no release of the page.
web-package-test: release web
	@./.ci/dependencies debhelper binutils lintian debootstrap openssl
	@./packaging/test/web

## Tries the package on machines of its own with a real systemd, then has three users go their ways there; needs root.
package-test: release
	@./.ci/dependencies binutils python3 debhelper lintian debootstrap
	@./packaging/test/run
	@./packaging/test/ways

## Runs the programs that docs/comparison.md names, where Debian has them, on the machine that package-test
## has made; needs root.
peers:
	@./.ci/dependencies debootstrap
	@./packaging/test/peers

## Measures; see Benchmarks/README.md.
benchmarks: release
	$(SWIFT) run -c release --package-path Benchmarks timerd-benchmarks

## Installs what the build needs and the machine lacks: the headers of SQLite, PAM and libyaml.
dependencies:
	@./.ci/dependencies

clean:
	$(SWIFT) package clean
