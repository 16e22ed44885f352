"""What the code names and the pages of docs/ name too, read from the sources for check_docs.py.

Each function returns what it has found, and raises Missing where it finds nothing: a source that
was moved or written anew must not turn a check off.
"""

import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCES = (".hpp", ".cpp", ".cu", ".cuh", ".h")


class Missing(Exception):
    """A source in which something was looked for does not have it."""


def read(path) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def files():
    """Every file that belongs to the repository, new ones included, by its path."""
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"],
                            cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return {name for name in listed.splitlines() if (ROOT / name).is_file()}


def folders(names):
    """Every folder that holds such a file, however deep."""
    return {str(parent) for name in names for parent in pathlib.PurePath(name).parents
            if str(parent) != "."}


def found(pattern, path, flags=0):
    hits = re.findall(pattern, read(path), flags)
    if not hits:
        raise Missing(f"{path}: found nothing like {pattern}")
    return hits


def file_with(pattern, folder):
    for path in sorted((ROOT / folder).rglob("*.?pp")):
        if re.search(pattern, path.read_text(encoding="utf-8")):
            return str(path.relative_to(ROOT))
    raise Missing(f"{folder}: no file has {pattern}")


def enumerators(name, folder):
    """The enumerators of an enum, in order, with their values where they are given."""
    path = file_with(rf"enum (?:class )?{name}\b", folder)
    body = found(rf"enum (?:class )?{name}\b[^{{]*\{{(.*?)\}};", path, re.S)[0]
    body = re.sub(r"//[^\n]*", "", body)
    return re.findall(r"(k\w+)\s*(?:=\s*(\d+))?", body)


def status_words():
    """Enumerator of each status code and its word."""
    words = dict(found(r"case StatusCode::(k\w+):\s*return \"(\w+)\";", "src/base/status.cpp"))
    return {name: words.get(name, "") for name, _ in enumerators("StatusCode", "include")}


def exit_codes():
    return [value for _, value in enumerators("ExitCode", "apps")]


def warning_words():
    words = dict(found(r"case WarningKind::(k\w+):\s*return \"(\w+)\";", "src/base/status.cpp"))
    return {words.get(name, f"no word for {name}") for name, _ in enumerators("WarningKind", "include")}


def resize_options():
    """Each option of the grammar and the words it takes, if it is one of a few."""
    table = "src/base/options_table.cpp"
    words = {name: re.findall(r'"([^"]*)"', body)
             for name, body in found(r"constexpr Text (k\w+Words)\[\] = \{([^}]*)\}", table)}
    rows = found(r'^ *\{"([a-z-]+)", "[^"]*", (k\w+|\{\}), ', table, re.M)
    return {name: words.get(kind, []) for name, kind in rows}


def program():
    """The names of the program's commands, and of all options that are some commands' own."""
    commands, options = set(), set()
    for path in (ROOT / "apps/framewire").rglob("*.?pp"):
        text = path.read_text(encoding="utf-8")
        if "OptionSpec" not in text:
            continue
        commands |= set(re.findall(r'\bCommand\{\s*"([a-z]+)"', text))
        options |= set(re.findall(r'(?<!Command)\{\s*"([a-z][a-z-]*)",\s*"[^"]*",', text))
        options |= set(re.findall(r'\bOptionSpec k\w+\{\s*"([a-z][a-z-]*)"', text))
    options |= set(found(r'(?:^ *\{\{|_ROW\()"([a-z][a-z0-9-]*)",', "src/service/http/settings.cpp", re.M))
    if not commands or not options:
        raise Missing("apps/framewire: found no table of commands and their options")
    return commands, options


def links():
    """The names of the transport's links, and the words that --link takes."""
    names = found(r'inline constexpr const char\* k\w+Link = "([a-z-]+)";',
                  "include/framewire/transport.hpp")
    text = read(file_with(r'\{"link", "NAME"', "apps/framewire"))
    return set(names), set(re.search(r'\{"link", "NAME", "([^"]*)"', text).group(1).split("|"))


def words_of_code():
    """The identifiers of each source, and every --option that what lies in a bench/ takes, and what
    Python's ray.py does."""
    identifiers, options = [], set()
    for folder in ("include", "src", "apps", "tests", "bench", "fuzz", "examples", "cmake",
                   "bindings"):
        for path in (ROOT / folder).rglob("*"):
            if not path.is_file() or path.suffix not in SOURCES + (".py", ".sh", ".txt", ".cmake"):
                continue
            text = path.read_text(encoding="utf-8")
            identifiers.append(set(re.findall(r"[A-Za-z_]\w+", text)))
            if folder == "bench" or "bench" in path.parts or path.name == "ray.py":
                options |= set(re.findall(r"(?<![\w-])--([a-z][a-z0-9-]*)", text))
    return identifiers, options


def pages_named():
    """(source, page) wherever a source, a script or a setting names a page or a decision."""
    name = re.compile(r"\bdocs/(?:decisions/\d{4}[\w-]*|[\w/-]+)(?:\.md)?\b")
    return {(path, match) for path in files() if not path.startswith("docs/")
            and pathlib.PurePath(path).suffix in SOURCES + (".py", ".txt", ".cmake", ".sh", "")
            for match in name.findall((ROOT / path).read_text(encoding="utf-8", errors="ignore"))}


def tests():
    """(suite, test) of every test there is."""
    defined = re.compile(r"\bTEST(?:_[FP])?\(\s*(\w+),\s*(\w+)\s*\)")
    return {match.groups() for path in (ROOT / "tests").rglob("*.cpp")
            for match in defined.finditer(path.read_text(encoding="utf-8"))}
