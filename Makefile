# SPDX-License-Identifier: Apache-2.0
# The usual verbs; Meson does the work.  `make` alone builds and installs
# nothing: the program runs in place, from build/.

BUILD ?= build

.PHONY: all demo test bench fuzz install check clean deps

all: $(BUILD)/build.ninja
	ninja -C $(BUILD) programs

$(BUILD)/build.ninja:
	meson setup $(BUILD)

# Installs what a verb needs, saying what and why (Debian, root or sudo).
deps:
	tools/deps build

demo:
	tools/deps build demo
	$(MAKE) all
	demo/run

test:
	tools/deps build test
	$(MAKE) all
	test/run

bench:
	tools/deps build bench
	$(MAKE) all
	bench/run

fuzz:
	tools/deps build fuzz
	fuzz/run

# Static analysis and the rules that the project sets itself.
check:
	tools/deps build check
	tools/check

install: all
	meson install -C $(BUILD)

clean:
	rm -rf $(BUILD) build-*
