#!/usr/bin/env python3
"""Has clang read the sources of a build, without making code: it refuses some of what GCC takes.

usage: check_clang.py BUILD_DIR [REVISION]. BUILD_DIR holds compile_commands.json. With a revision
only what has changed since is read: sources that differ, and those that include a header that does,
as the last build knows it. A file is skipped when its command, its
text and that of all headers of ours that it includes are those of an earlier clean run. Warnings are
errors, as in the preset `fuzz`, which compiles the library with clang.
"""

import concurrent.futures
import functools
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Warnings and flags of GCC's that clang does not know are no findings.
FLAGS = ["-fsyntax-only", "-Werror", "-Wno-unknown-warning-option",
         "-Wno-unused-command-line-argument", "-fcolor-diagnostics"]


@functools.lru_cache(maxsize=None)
def digest(path):
    try:
        return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()
    except OSError:
        return "gone"


def object_of(entry):
    words = shlex.split(entry["command"])
    return words[words.index("-o") + 1]


def command_of(entry, clang):
    words = [word for word in shlex.split(entry["command"]) if os.path.basename(word) != "ccache"]
    at = words.index("-o")
    del words[at:at + 2]
    return [clang, *(word for word in words[1:] if word not in ("-c", "-Werror")), *FLAGS]


def is_unchanged(stamp):
    try:
        lines = stamp.read_text().splitlines()
    except OSError:
        return False
    return all(digest(path) == known for known, path in (line.split(" ", 1) for line in lines))


def headers_in(dependencies, folder):
    """Paths that a rule for make names; those of the system are left out by -MMD."""
    text = dependencies.read_text().replace("\\\n", " ").split(":", 1)[1]
    names = [name.replace("\\ ", " ") for name in re.findall(r"(?:\\ |\S)+", text)]
    return [os.path.normpath(os.path.join(folder, name)) for name in names]


def changed_since(revision):
    """Absolute paths that differ from the revision, new ones among them."""
    def git(*words):
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True,
                              check=True).stdout.splitlines()
    names = git("diff", "--name-only", revision) + git("ls-files", "-o", "--exclude-standard")
    return {str(ROOT / name) for name in names}


def built_from(build):
    """What each object of the build was made from, by the object's path, as Ninja remembers it."""
    told = subprocess.run(["ninja", "-C", str(build), "-t", "deps"], capture_output=True, text=True,
                          check=False)
    made, current = {}, set()
    for line in told.stdout.splitlines():
        if line.startswith(" "):
            current.add(os.path.normpath(build / line.strip()))
        elif ":" in line:
            current = made.setdefault(line.split(":", 1)[0], set())
    return made


def differing(entries, build, revision):
    changed, made = changed_since(revision), built_from(build)
    return [entry for entry in entries
            if entry["file"] in changed or made.get(object_of(entry), set()) & changed]


def check(entry, clang, stamps):
    command = command_of(entry, clang)
    name = hashlib.sha256("\0".join([entry["directory"], *command]).encode()).hexdigest()
    stamp, dependencies = stamps / name, stamps / (name + ".d")
    if is_unchanged(stamp):
        return entry["file"], "", True
    done = subprocess.run([*command, "-MMD", "-MF", str(dependencies)], cwd=entry["directory"],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return entry["file"], done.stderr, False
    read = headers_in(dependencies, entry["directory"])
    dependencies.unlink()
    stamp.write_text("".join(f"{digest(path)} {path}\n" for path in read))
    return entry["file"], "", True


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    revision = sys.argv[2] if len(sys.argv) > 2 else None
    stamps = ROOT / "build" / "clang"
    stamps.mkdir(parents=True, exist_ok=True)
    entries = json.loads((build / "compile_commands.json").read_text())
    entries = list({entry["file"]: entry for entry in entries
                    if entry["file"].endswith(".cpp")}.values())
    count = len(entries)
    if revision:
        entries = differing(entries, build, revision)
    failures = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for file, text, passed in pool.map(lambda entry: check(entry, "clang++", stamps), entries):
            if not passed:
                failures += 1
                print(f"{os.path.relpath(file, ROOT)}:\n{text}", flush=True)
    print(f"clang: {len(entries)} of {count} files, {failures} with findings")
    return 1 if failures or not count else 0


if __name__ == "__main__":
    sys.exit(main())
