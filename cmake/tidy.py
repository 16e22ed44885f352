#!/usr/bin/env python3
"""Runs clang-tidy over the library and the program, skipping what passed before unchanged.

usage: tidy.py BUILD_DIR [CLANG_TIDY]. BUILD_DIR holds compile_commands.json of a build that compiles
each file by itself (not CMAKE_UNITY_BUILD), and gets notes of what passed. A file is skipped when
its preprocessed text, its command and .clang-tidy are those of an earlier clean run.
"""

import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
CHECKED = ("src/", "apps/", "tests/tools/", "examples/")


def preprocessed(entry):
    """The translation unit without line markers, so that comments alone still count as unchanged."""
    words = shlex.split(entry["command"])
    words = [word for word in words if os.path.basename(word) != "ccache"]
    output = words.index("-o")
    del words[output:output + 2]
    words[words.index("-c")] = "-E"
    return subprocess.run(words + ["-P"], cwd=entry["directory"], capture_output=True,
                          check=True).stdout


def check(entry, tidy, build, stamps, config):
    key = hashlib.sha256(config + entry["command"].encode() + preprocessed(entry)).hexdigest()
    stamp = stamps / key
    if stamp.exists():
        return entry["file"], "", True
    # Options that GCC alone knows are no findings.
    done = subprocess.run([tidy, "-p", str(build), "--quiet", "--warnings-as-errors=*",
                           "--extra-arg=-Wno-unknown-warning-option", entry["file"]],
                          capture_output=True, text=True, check=False)
    if done.returncode == 0:
        stamp.touch()
        return entry["file"], "", True
    noise = re.compile(r"^\d+ warnings? (generated|treated)")
    errors = [line for line in done.stderr.splitlines() if line and not noise.match(line)]
    return entry["file"], done.stdout + "\n".join(errors), False


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    tidy = sys.argv[2] if len(sys.argv) > 2 else "clang-tidy"
    config = (ROOT / ".clang-tidy").read_bytes()
    stamps = build / "passed"
    stamps.mkdir(parents=True, exist_ok=True)
    entries = [entry for entry in json.loads((build / "compile_commands.json").read_text())
               if os.path.relpath(entry["file"], ROOT).startswith(CHECKED)
               and entry["file"].endswith(".cpp")]
    entries = list({entry["file"]: entry for entry in entries}.values())
    failures = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = [pool.submit(check, entry, tidy, build, stamps, config) for entry in entries]
        for run in concurrent.futures.as_completed(runs):
            file, text, passed = run.result()
            if not passed:
                failures += 1
                print(f"{os.path.relpath(file, ROOT)}:\n{text}")
    print(f"clang-tidy: {len(entries)} files, {failures} with findings")
    return 1 if failures or not entries else 0


if __name__ == "__main__":
    sys.exit(main())
