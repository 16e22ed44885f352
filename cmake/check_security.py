#!/usr/bin/env python3
"""Checks that every test that docs/security.md names exists, and that each row of its tables of
attacks names one.

Names stand in backticks: Suite.Test, Suite.Begin… (tests whose names begin so), Suite.* (all of a
suite), and fuzz_NAME for a fuzzer.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
DEFINED = re.compile(r"\bTEST(?:_[FP])?\(\s*(\w+),\s*(\w+)\s*\)")
NAMED = re.compile(r"`([A-Z]\w*)\.(\w*…|\w+|\*)`")
FUZZED = re.compile(r"`fuzz_(\w+)`")
HEADER = "| attempt | answer | test |"


def rows(page: str):
    in_table = False
    for line in page.splitlines():
        if line.startswith(HEADER):
            in_table = True
        elif not line.startswith("|"):
            in_table = False
        elif in_table and not line.startswith("|---"):
            yield line


def exists(suite: str, name: str, tests) -> bool:
    if name.endswith(("…", "*")):
        return any(s == suite and t.startswith(name.rstrip("…*")) for s, t in tests)
    return (suite, name) in tests


def main() -> int:
    tests = {match.groups() for path in (ROOT / "tests").rglob("*.cpp")
             for match in DEFINED.finditer(path.read_text())}
    page = (ROOT / "docs/security.md").read_text()
    faults = [f"names no test: {row}" for row in rows(page)
              if not (NAMED.search(row) or FUZZED.search(row))]
    faults += [f"no test is called {suite}.{name}" for suite, name in NAMED.findall(page)
               if not exists(suite, name, tests)]
    faults += [f"there is no fuzz/fuzz_{name}.cpp" for name in FUZZED.findall(page)
               if not (ROOT / f"fuzz/fuzz_{name}.cpp").exists()]
    if not any(rows(page)):
        faults.append(f"no table begins '{HEADER}'")
    for fault in faults:
        print(f"docs/security.md: {fault}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
