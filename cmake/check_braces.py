#!/usr/bin/env python3
"""Holds one style of braces: a body of if, else, for or while that does not stand on the line of its
head has braces.

    check_braces.py [--fix] [FOLDER…]

Names each place that breaks the rule, or with --fix puts the braces in; clang-format then does the
rest.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ("include", "src", "apps", "tests", "fuzz", "bench", "examples")
SUFFIXES = ("hpp", "cpp", "h", "cu", "cuh")

TOKEN = re.compile(r"""
    (?P<skip>\s+ | //[^\n]* | /\*.*?\*/ | (?<![^\n])[ \t]*\#(?:[^\n\\]|\\.)*)
  | (?P<text>R"(?P<mark>[^()\\\s]*)\(.*?\)(?P=mark)" | "(?:[^"\\\n]|\\.)*" | (?<![\w'])'(?:[^'\\\n]|\\.)+')
  | (?P<word>[A-Za-z_]\w* | \d(?:[\w.]|'\w|(?<=[eEpP])[+-])*)
  | (?P<sign>.)
""", re.VERBOSE | re.DOTALL)
OPEN = {"(": ")", "[": "]", "{": "}"}


class Source:
    """The tokens of a file, as (text, begin, end), and where bodies lack braces."""

    def __init__(self, text):
        self.text = text
        self.tokens = [(found.group(), found.start(), found.end())
                       for found in TOKEN.finditer(text) if found.lastgroup != "skip"]
        self.bare = []  # (end of the head, end of the body)

    def token(self, at):
        return self.tokens[at][0] if at < len(self.tokens) else ""

    def past_group(self, at):
        """The index behind the bracket that closes the one at `at`."""
        depth = 0
        while at < len(self.tokens):
            if self.token(at) in OPEN:
                depth += 1
            elif self.token(at) in OPEN.values():
                depth -= 1
                if depth == 0:
                    return at + 1
            at += 1
        return at

    def past_simple(self, at):
        """The index behind a statement without a head of its own."""
        if self.token(at) == "{":
            return self.past_group(at)
        while at < len(self.tokens) and self.token(at) != ";":
            at = self.past_group(at) if self.token(at) in OPEN else at + 1
        return at + 1

    def past_head(self, at):
        """The index behind `if (…)`, `for (…)`, `while (…)` or `else`."""
        word = self.token(at)
        at += 1
        if word == "if" and self.token(at) in ("constexpr", "consteval"):
            at += 1
        if word != "else" and self.token(at) == "(":
            at = self.past_group(at)
        while self.token(at) == "[" and self.token(at + 1) == "[":
            at = self.past_group(at)
        return at

    def past_statement(self, at):
        word = self.token(at)
        if word in ("if", "for", "while"):
            at = self.past_statement(self.past_head(at))
            if word == "if" and self.token(at) == "else":
                at = self.past_statement(at + 1)
            return at
        if word == "do":
            return self.past_simple(self.past_statement(at + 1))
        if word in ("switch", "try"):
            while self.token(at) != "{":
                at += 1
            at = self.past_group(at)
            while word == "try" and self.token(at) == "catch":
                at = self.past_group(self.past_group(at + 1))
            return at
        return self.past_simple(at)

    def find_bare(self):
        ends_of_do = set()
        for at, (word, _, _) in enumerate(self.tokens):
            if word == "do":
                ends_of_do.add(self.past_statement(at + 1))
            if word not in ("if", "else", "for", "while") or at in ends_of_do:
                continue
            if word == "else" and self.token(at + 1) == "if":
                continue
            body = self.past_head(at)
            if self.token(body) in ("{", ";", ""):
                continue
            head_end = self.tokens[body - 1][2]
            if "\n" in self.text[head_end:self.tokens[body][1]]:
                self.bare.append((head_end, self.tokens[self.past_statement(body) - 1][2]))
        return self.bare

    def with_braces(self):
        """The text with braces around bare bodies; comments behind a body stay behind it."""
        inserts = []
        for head_end, body_end in self.bare:
            line_end = self.text.find("\n", body_end)
            rest = self.text[body_end:line_end]
            if rest.strip().startswith("//"):
                body_end = line_end
            inserts += [(head_end, 0, " {"), (body_end, 1, "\n}")]
        text = self.text
        for at, _, piece in sorted(inserts, reverse=True):
            text = text[:at] + piece + text[at:]
        return text


def main():
    arguments = sys.argv[1:]
    fix = "--fix" in arguments
    folders = [word for word in arguments if word != "--fix"] or FOLDERS
    places = 0
    files = 0
    for folder in folders:
        for path in sorted(path for suffix in SUFFIXES
                           for path in (ROOT / folder).rglob(f"*.{suffix}")):
            files += 1
            source = Source(path.read_text(encoding="utf-8"))
            bare = source.find_bare()
            places += len(bare)
            if fix and bare:
                path.write_text(source.with_braces(), encoding="utf-8")
            for head_end, _ in bare if not fix else []:
                line = source.text.count("\n", 0, head_end) + 1
                print(f"{path.relative_to(ROOT)}:{line}: the body on the next line lacks braces")
    if fix:
        print(f"{places} bodies got braces")
    elif places == 0:
        print(f"{files} files have braces where they belong")
    return 1 if places and not fix else 0


if __name__ == "__main__":
    sys.exit(main())
