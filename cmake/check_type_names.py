#!/usr/bin/env python3
"""Finds two types of one name: classes, structs, unions, enums and aliases at namespace scope in
src/, include/ and apps/, whatever their namespace, keyed by their unqualified names.

A reader who meets a name must not have to ask which of two it is. Aliases with one definition are
one type, and an alias that brings a name in from elsewhere (`using Clock = base::Clock`) is no second
one. Two types may share a name only where one wraps the other; SHARED says which and why.
"""

import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ("include", "src", "apps")
SUFFIXES = ("hpp", "cpp", "h", "cu", "cuh")

# Names that several types may have, each with the reason.
SHARED = {
    "Channel": "the public one wraps transport::core::Channel",
    "Listener": "the public one wraps transport::session::Listener",
    "Completion": "an engine's answer and a transfer's, both public; renaming one breaks callers",
}

NOISE = re.compile(r"""
    R"(?P<mark>[^()\\\s]*)\(.*?\)(?P=mark)" | "(?:[^"\\\n]|\\.)*" | (?<![\w'])'(?:[^'\\\n]|\\.)+'
  | //[^\n]* | /\*.*?\*/ | (?<![^\n])[ \t]*\#(?:[^\n\\]|\\.)*
""", re.VERBOSE | re.DOTALL)
ATTRIBUTE = r"(?:\[\[.*?\]\]\s*|alignas\s*\([^()]*\)\s*|__\w+__(?:\([^()]*\))?\s*|[A-Z][A-Z_]+\s+)*"
DEFINITION = re.compile(
    r"^(?:template\s*<.*>\s*)?(?:typedef\s+)?(?:enum\s+(?:class|struct)|class|struct|union|enum)\s+"
    + ATTRIBUTE + r"(?P<name>[A-Za-z_]\w*)\s*(?P<special><.*>)?\s*(?:final\s*)?(?::[^:].*)?$", re.DOTALL)
ALIAS = re.compile(r"^(?:template\s*<.*>\s*)?using\s+(?P<name>[A-Za-z_]\w*)\s*=(?P<what>.*)$",
                   re.DOTALL)
NAMESPACE = re.compile(r"^(?:inline\s+)?namespace\b|^extern\s+$", re.DOTALL)


def blank(found):
    return re.sub(r"[^\n]", " ", found.group())


def types_of(text):
    """(name, what an alias stands for or "", offset) of each type defined at namespace scope."""
    text = NOISE.sub(blank, text)
    inside = 0  # brackets open that are no namespace's
    begin = 0
    for found in re.finditer(r"[{}();]", text):
        sign, at = found.group(), found.start()
        if sign == "(" or (sign == "{" and inside):
            inside += 1
        elif sign == ")" or (sign == "}" and inside):
            inside = max(inside - 1, 0)
            if not inside and sign == "}":
                begin = at + 1
        elif not inside:
            statement = text[begin:at].lstrip()
            start = at - len(statement)
            if sign == "{" and not NAMESPACE.match(statement):
                inside = 1
                definition = DEFINITION.match(statement.rstrip())
                if definition and not definition.group("special"):
                    yield definition.group("name"), "", start
            elif sign == ";":
                alias = ALIAS.match(statement)
                if alias and not re.search(rf"::{alias.group('name')}\s*$", alias.group("what")):
                    yield alias.group("name"), " ".join(alias.group("what").split()), start
            begin = at + 1


def main():
    places = collections.defaultdict(list)
    for folder in FOLDERS:
        for path in sorted(path for suffix in SUFFIXES
                           for path in (ROOT / folder).rglob(f"*.{suffix}")):
            text = path.read_text(encoding="utf-8")
            for name, alias, offset in types_of(text):
                where = f"{path.relative_to(ROOT)}:{text.count(chr(10), 0, offset) + 1}"
                places[name].append((where, alias or where))
    errors = []
    for name, found in sorted(places.items()):
        types = len({what for _, what in found})
        if types > 1 and name not in SHARED:
            errors += [f"{where}: {types} types are called {name}" for where, _ in found]
        if types == 1 and name in SHARED:
            errors.append(f"cmake/{pathlib.Path(__file__).name}: one type alone is called {name} now")
    errors += [f"cmake/{pathlib.Path(__file__).name}: no type is called {name} any more"
               for name in SHARED if name not in places]
    print("\n".join(errors) if errors else f"{len(places)} names of types, each for one type")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
