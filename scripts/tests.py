#!/usr/bin/env python3
"""Builds the tests of the workspace as `cargo test --workspace` does, and runs them several test programs at a time.

    scripts/tests.py together    all but the program whose tests measure the machine
    scripts/tests.py alone       that one

Most end-to-end tests wait more than they compute, so two programs at a time take little longer than one. The output of a
program appears when it has ended, and under it how long it took; at the end stand the tests that took longest. When all
are built, makes the file that CHECKS_READY names (scripts/checks.sh). Exit status: 0 if every test passed, 1 if one failed
or cannot be built, 130 after an interrupt.

Not by cargo-nextest, which does this and more: no system has it that has nothing but Rust and git, so that each clean
clone would have to build it before the first test.
"""

import concurrent.futures
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

CARGO = os.environ.get("CARGO", "cargo")
TEST = [CARGO, "test", "--workspace", "--locked"]
# Longest first, so that none is left over at the end.
FIRST = ["it", "bench", "differential"]
ALONE = ["measured"]
# The harness of the standard library tells how long each test took, if it is taken for that of a nightly toolchain.
TIMES = ["-Zunstable-options", "--report-time"]
SHOWN = 10

slowest = []


def main():
    # Tests send these to programs. Where this was started with them ignored, as by nohup or in the background, so
    # would they be.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    which = sys.argv[1:]
    if which not in (["together"], ["alone"]):
        sys.exit(f"scripts/tests.py: expected `together` or `alone`, got `{' '.join(which)}`")
    programs = build()
    if "CHECKS_READY" in os.environ:
        pathlib.Path(os.environ["CHECKS_READY"]).touch()
    if which == ["alone"]:
        passed = all([run(program) for program in programs if program[0] in ALONE])
    else:
        together = sorted((program for program in programs if program[0] not in ALONE), key=order)
        with concurrent.futures.ThreadPoolExecutor(max_workers=len(os.sched_getaffinity(0))) as pool:
            passed = all(list(pool.map(run, together)))
        passed = subprocess.run([*TEST, "--doc", "--no-fail-fast"]).returncode == 0 and passed
    print("\nThe slowest tests:")
    for seconds, name in sorted(slowest, reverse=True)[:SHOWN]:
        print(f"{seconds:7.1f} s  {name}")
    sys.exit(0 if passed else 1)


def build():
    """Returns the test programs: name of the target, path, folder of the crate."""
    command = [*TEST, "--no-run", "--message-format=json-render-diagnostics"]
    built = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if built.returncode != 0:
        sys.exit(1)
    messages = [json.loads(line) for line in built.stdout.splitlines() if line.startswith("{")]
    return [
        (message["target"]["name"], message["executable"], pathlib.Path(message["manifest_path"]).parent)
        for message in messages
        if message["reason"] == "compiler-artifact" and message["profile"]["test"] and message["executable"]
    ]


def order(program):
    name = program[0]
    return FIRST.index(name) if name in FIRST else len(FIRST)


def run(program):
    """Runs a test program in the folder of its crate, and prints its output. Returns whether all its tests passed."""
    name, path, folder = program
    environment = {**os.environ, "CARGO_MANIFEST_DIR": str(folder)}
    timed = {**environment, "RUSTC_BOOTSTRAP": "1"}
    listed = subprocess.run([path, *TIMES, "--list"], env=timed, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    arguments, environment = (TIMES, timed) if listed.returncode == 0 else ([], environment)
    began = time.monotonic()
    with tempfile.TemporaryFile() as output:
        started = subprocess.Popen(
            [path, *arguments], cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
        )
        # The usage of the program and of those that it started and waited for.
        _, status, usage = os.wait4(started.pid, 0)
        started.returncode = code = os.waitstatus_to_exitcode(status)
        took = time.monotonic() - began
        output.seek(0)
        text = output.read().decode(errors="replace")
    if code < 0:
        text += f"test {name} of {folder.name} ... FAILED: ended by signal {-code}\n"
    for test, seconds in re.findall(r"^test (.*) \.\.\. .*<([0-9.]+)s>$", text, re.MULTILINE):
        slowest.append((float(seconds), f"{name} of {folder.name}: {test}"))
    processor = usage.ru_utime + usage.ru_stime
    sys.stdout.write(f"\nRunning {name} of {folder.name}\n{text}took {took:.0f} s, {processor:.0f} s of processor time\n")
    sys.stdout.flush()
    return code == 0


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
