#!/usr/bin/env python3
"""Finds constants of one .cpp file that hide a header's from another file.

Builds compile the files of a folder as one. There a constant in an anonymous namespace is found before
one of the same name in the namespace around it, so the file that means the header's gets the other
file's, and the compiler says nothing.
"""

import collections
import pathlib
import re
import sys

from check_type_names import NOISE, blank

ROOT = pathlib.Path(__file__).resolve().parent.parent
SCOPE = re.compile(r"\bnamespace(?P<space>\s[\w:\s]*)?\{|(?P<open>\{)|(?P<close>\})"
                   r"|\bconstexpr\b[^;{}()=]*?\b(?P<name>k[A-Z]\w*)\s*(?:\[[^\]]*\]\s*)?(?=[={])")


def constants_of(path):
    """(name, namespace, whether an anonymous one is around it) of each constant at namespace scope."""
    text = NOISE.sub(blank, path.read_text(encoding="utf-8"))
    spaces = []  # None for brackets that are no namespace's
    for found in SCOPE.finditer(text):
        if found.group("name"):
            if None not in spaces:
                yield found.group("name"), "::".join(filter(None, spaces)), "" in spaces
        elif found.group("close"):
            if spaces:
                spaces.pop()
        else:
            spaces.append(None if found.group("open") else (found.group("space") or "").strip())


def compiled_together(path):
    """The folder whose files may be compiled as one with this one."""
    parts = path.relative_to(ROOT).parts
    return parts[:2] if parts[0] in ("tests", "apps") else parts[:-1]


def main():
    headers = collections.defaultdict(list)
    files = collections.defaultdict(list)
    for folder in ("include", "src", "apps", "tests"):
        for path in sorted((ROOT / folder).rglob("*.[ch]pp")):
            if path.suffix == ".cpp":
                files[compiled_together(path)].append(path)
                continue
            for name, space, hidden in constants_of(path):
                if not hidden:
                    headers[name].append((space, path))
    errors = []
    for group in files.values():
        words = {path: set(re.findall(r"\bk[A-Z]\w*", path.read_text(encoding="utf-8"))) for path in group}
        for path in group:
            for name, space, hidden in constants_of(path):
                others = [other for other in group if other != path and name in words[other]
                          and name not in {mine for mine, _, _ in constants_of(other)}]
                errors += [f"{path.relative_to(ROOT)}: {name} hides that of {header.relative_to(ROOT)} "
                           f"from {others[0].relative_to(ROOT)}"
                           for outer, header in headers[name]
                           if hidden and others and f"{space}::".startswith(f"{outer}::")]
    print("\n".join(errors) if errors else f"{len(headers)} constants of headers, none hidden")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
