# The front door: `make help` lists what there is. Each recipe is a plain command that can be typed by hand.

CARGO   ?= cargo
PREFIX  ?= /usr/local
DESTDIR ?=

bindir      = $(DESTDIR)$(PREFIX)/bin
man1dir     = $(DESTDIR)$(PREFIX)/share/man/man1
bashcompdir = $(DESTDIR)$(PREFIX)/share/bash-completion/completions
zshcompdir  = $(DESTDIR)$(PREFIX)/share/zsh/site-functions
fishcompdir = $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d

release_binary = $(or $(CARGO_TARGET_DIR),target)/release/httperf

# The checks of `make test`, in this order. Those joined by `+` run at the same time.
CHECKS = bootstrap format tests+python+lints+docs measured licences advisories fuzz-minute

# Targets are made one after another, in the order in which they are listed.
.NOTPARALLEL:
.DEFAULT_GOAL := build
.PHONY: help build demo packages test test-long bootstrap format lints tests measured python docs oldest-rust semver generated licences advisories \
        fuzz-minute bench-smoke instructions bench fuzz oracle generate pictures site check-site fmt install uninstall clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 14

build: ## install what is missing, and build the release binary
	CARGO='$(CARGO)' scripts/bootstrap.sh build
	$(CARGO) build --release --locked -p httperf

demo: ## install what is missing, build, and run a first load test against the built-in server
	scripts/demo.sh

packages: ## build every package of the current commit, as a snapshot, into target/dist (some 40 minutes)
	scripts/release-tools.sh
	$(CARGO) xtask release --snapshot

test: ## run every check, also after one that fails; a table at the end says what came of each
	@scripts/checks.sh $(CHECKS)

test-long: bootstrap ## check what takes too long for every change: three hours or so
	scripts/bootstrap.sh long
	scripts/control-plane.sh
	scripts/sid-tree.sh
	scripts/quiche-server.sh
	PROPTEST_CASES=50000 $(CARGO) test --release --locked -p httperf-pages --test it -- books
	COMPARISONS=100 $(CARGO) test --release --locked -p httperf-pages --test it -- compare::
	MUTATION_STEP=1 $(CARGO) test --release --locked -p httperf-pages --test it -- mutations
	HTTPERF_HOSTILE=4000 $(CARGO) test --locked -p httperf-engine --test it -- http3
	HTTPERF_BOOKS=2000 $(CARGO) test --release --locked -p httperf --test it -- books
	HTTPERF_LONG=1 $(CARGO) test --workspace --locked --test measured
	HTTPERF_LONG=1 $(CARGO) test --workspace --locked --test launchers
	HTTPERF_LONG=1 $(CARGO) test --workspace --locked --test it -- grpc model_servers autobahn thousands_of_handshakes
	HTTPERF_LONG=1 $(CARGO) test --workspace --locked --test http3_servers
	scripts/python.sh long
	DOCUMENT_EDITS=20000 $(CARGO) test --release --locked -p httperf-testkit --lib documents
	DATAGRAM_INPUTS=20000 $(CARGO) test --locked -p httperf-testkit --lib fuzz::quic
	$(CARGO) run --release --locked -p httperf-bench -- instructions --check
	scripts/macos.sh
	scripts/try-crates.sh
	scripts/semver.sh
	$(MAKE) check-site
	scripts/release-tools.sh
	$(CARGO) xtask release --snapshot
	scripts/try-packages.sh
	scripts/try-reproducible.sh

bootstrap: ## install what the tests need
	scripts/bootstrap.sh test
	scripts/tools.sh

format: ## check that the code is formatted
	$(CARGO) fmt --all --check

lints: ## run clippy, warnings are errors
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings

# Most end-to-end tests wait more than they compute.
tests measured: export RUST_TEST_THREADS ?= $(shell expr 2 '*' $$(nproc))
tests: ## run the tests, all of them even if some fail, but for those of `measured`
	CARGO='$(CARGO)' scripts/tests.py together

measured: ## run the tests that measure the machine, which is to do nothing else
	CARGO='$(CARGO)' scripts/tests.py alone

python: ## check the Python package, with the debug binary, if PyPI is within reach
	scripts/python.sh

docs: ## build the API documentation, warnings are errors
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --locked

oldest-rust: ## check that the program builds with the oldest Rust that Cargo.toml promises, which rustup gets
	version=$$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml) && rustup toolchain install --profile minimal $$version && \
	    CARGO_TARGET_DIR=$${CARGO_TARGET_DIR:-target}/oldest cargo +$$version check --locked -p httperf

semver: ## check that the library keeps its interface since the newest release
	scripts/semver.sh

generated: ## check that generated files are up to date
	$(CARGO) xtask generate --check

licences: ## check licences and sources of the dependencies
	scripts/licences.sh

advisories: ## check the dependencies against known advisories, if the database can be had
	scripts/advisories.sh

# Without quic_datagrams, which finds an overflow in quinn-proto (docs/internals/quic.md).
fuzz-minute: ## fuzz what comes from peers, files and other ranks for a minute, if the tools are there
	scripts/fuzz.sh --if-possible --seconds 12 http1_reply
	scripts/fuzz.sh --if-possible --seconds 10 http2_reply
	scripts/fuzz.sh --if-possible --seconds 6 hpack
	scripts/fuzz.sh --if-possible --seconds 6 http3_frames
	scripts/fuzz.sh --if-possible --seconds 6 qpack
	scripts/fuzz.sh --if-possible --seconds 6 event_stream
	scripts/fuzz.sh --if-possible --seconds 6 websocket
	scripts/fuzz.sh --if-possible --seconds 6 grpc
	scripts/fuzz.sh --if-possible --seconds 6 descriptors
	scripts/fuzz.sh --if-possible --seconds 6 targets_file
	scripts/fuzz.sh --if-possible --seconds 6 hurl_file
	scripts/fuzz.sh --if-possible --seconds 6 workload_file
	scripts/fuzz.sh --if-possible --seconds 12 tls_handshake
	scripts/fuzz.sh --if-possible --seconds 8 documents
	scripts/fuzz.sh --if-possible --seconds 6 access_log
	scripts/fuzz.sh --if-possible --seconds 6 fleet_meeting

bench-smoke: ## run every bench for a moment, to see that it works
	$(CARGO) test --workspace --locked --test bench

# Those of the dev build are among the tests.
instructions: ## check that calls of the release build take no more instructions than recorded, if valgrind is there
	$(CARGO) run --release --locked -p httperf-bench -- instructions --check

bench: ## measure: all tables of bench/README.md (BENCH_ARGS, say --save)
	$(CARGO) run --release --locked -p httperf-bench -- all $(BENCH_ARGS)

fuzz: ## fuzz the reply parser until stopped
	scripts/fuzz.sh

# Not part of the workspace, nor of `make test`: hurl_core needs libxml2 (apt install libxml2-dev clang).
oracle: ## compare our parser for Hurl files with that of Hurl
	cd crates/hurl/oracle && $(CARGO) test --locked

generate: ## write the generated files anew
	$(CARGO) xtask generate
	$(CARGO) build --locked -p httperf
	HTTPERF=$(or $(CARGO_TARGET_DIR),target)/debug/httperf python3 python/generate.py

pictures: ## draw the pictures of README and guides anew, from real runs on this machine (some minutes)
	$(CARGO) xtask pictures

# Into target/site, below CARGO_TARGET_DIR if that is set. Its pictures are drawn by the program from the saved results.
site: ## make the site of the documents (target/site/index.html), which works without a network
	scripts/site-tools.sh
	$(CARGO) xtask site

check-site: site ## check every link of the site, and look at every page in a browser at two widths
	scripts/check-site.py

fmt: ## format the code
	$(CARGO) fmt --all

# Built only if it is not there: `make && sudo make install` must not need cargo under sudo.
$(release_binary):
	CARGO='$(CARGO)' scripts/bootstrap.sh build
	$(CARGO) build --release --locked -p httperf

install: $(release_binary) ## copy binary, man pages and completions below PREFIX (/usr/local); honours DESTDIR
	install -D -m 755 $(release_binary) $(bindir)/httperf
	ln -sf httperf $(bindir)/idleconn
	install -D -m 644 docs/man/httperf.1 $(man1dir)/httperf.1
	install -D -m 644 docs/man/idleconn.1 $(man1dir)/idleconn.1
	mkdir -p $(bashcompdir) $(zshcompdir) $(fishcompdir)
	$(release_binary) completions bash >$(bashcompdir)/httperf
	$(release_binary) completions zsh >$(zshcompdir)/_httperf
	$(release_binary) completions fish >$(fishcompdir)/httperf.fish
	chmod 644 $(bashcompdir)/httperf $(zshcompdir)/_httperf $(fishcompdir)/httperf.fish

uninstall: ## remove what install copied
	rm -f $(bindir)/httperf $(bindir)/idleconn $(man1dir)/httperf.1 $(man1dir)/idleconn.1 $(bashcompdir)/httperf \
	      $(zshcompdir)/_httperf $(fishcompdir)/httperf.fish

clean: ## remove what was built
	$(CARGO) clean
