#!/usr/bin/env python3
"""Checks that the pages and the code say the same where both name the same things: error codes,
warnings, exit codes, options, commands, links of transport, folders, files, tests and identifiers;
that links and anchors between pages lead somewhere; and that pictures show folders that exist.

Pages of decisions tell of their own time: there only links and the form are checked.
"""

import pathlib
import re
import sys
import xml.etree.ElementTree

sys.dont_write_bytecode = True
import docs_facts as facts  # noqa: E402
from docs_pages import CODE_BLOCK, CODE_SPAN, Page, label_boxes  # noqa: E402

ROOT = facts.ROOT
ARCHITECTURE = "docs/architecture.md"
PICTURE = "docs/architecture.svg"
# Named because they are to come; a fault once they are there.
PLANNED = ()
# Other projects' files, options and names.
FOREIGN_FILES = {"_stats.json", "shardindex.json", "tcp_ep.c", "ucp_rkey.c", "jpegint.h"}
FOREIGN_OPTIONS = {"help", "version", "install", "preset", "cflags", "libs", "tool",
                   "toggle-collect", "gtest_filter", "cuda", "nproc-per-node", "data-binary",
                   "build-arg", "cap-drop", "entrypoint", "ipc", "now", "read-only", "rm",
                   "runtime", "security-opt", "ulimit", "user", "array", "requeue"}
FOREIGN_NAMES = re.compile(r"(std|tl)::|(CamelCase|kName)$")
SECTIONS = ("**Status.** ", "**Context.** ", "**Choice.** ", "**Look again** ")

PATH = re.compile(r"^(?:src|tests|apps|bench|cmake|docs|include|fuzz|examples|bindings)/[^\s:]*$")
FILE = re.compile(r"^[\w-]+\.(?:hpp|cpp|cu|cuh|h|c|py|sh|md|json|svg)$")
TEST = re.compile(r"^([A-Z]\w*)\.([A-Z]\w*…|[A-Z]\w*|\*)$")
NAME = re.compile(r"^(?:\w+::)+\w+(?:\(\))?$|^k[A-Z]\w+$|^[A-Z][a-z]+(?:[A-Z][a-z]+)+$")


def differ(where, what, page, code):
    """One fault for each thing that only one of the two names."""
    return ([f"{where}: {what} {name} is in the code, and not on the page"
             for name in sorted(set(code) - set(page))] +
            [f"{where}: {what} {name} is on the page, and not in the code"
             for name in sorted(set(page) - set(code))])


def check_errors(pages):
    page = pages["docs/errors.md"]
    words = facts.status_words()
    rows = page.table("Status codes")
    faults = differ(page.path, "status code", [f"{row[1]} {row[0]}" for row in rows],
                    [f"`{name}` `{word}`" for name, word in words.items()])
    rule = re.search(r"^2\. Status codes name who must act: (.*?)\.", pages[ARCHITECTURE].text,
                     re.M)
    faults += differ(ARCHITECTURE, "status code", CODE_SPAN.findall(rule.group(1)) if rule else [],
                     words.values())
    faults += differ(page.path, "warning", [row[0].strip("`") for row in page.table("Warnings")],
                     facts.warning_words())
    codes = [row[0] for row in page.table("Exit codes of `framewire`")]
    faults += [f"{page.path}: exit code {code} has {codes.count(code)} rows"
               for code in sorted(set(codes)) if codes.count(code) > 1]
    return faults + differ(page.path, "exit code", codes, facts.exit_codes())


def check_options(pages):
    page = pages["docs/options.md"]
    general, _, single = page.text.partition("## Options of single commands")
    row = r"^\| `--([a-z0-9-]+)` \| ([^|]*) \|"
    rows = re.findall(row, general, re.M)
    grammar = facts.resize_options()
    faults = differ(page.path, "option", [name for name, _ in rows], grammar)
    for name, values in rows:
        if grammar.get(name):
            faults += differ(page.path, f"value of --{name}", CODE_SPAN.findall(values),
                             grammar[name])
    commands, own = facts.program()
    known = set(grammar) | own | FOREIGN_OPTIONS | facts.words_of_code()[1]
    faults += [f"{page.path}: does not tell of --{name}, an option of some command"
               for name in sorted(own - set(re.findall(r"`--([a-z0-9-]+)`", single)))]
    run = set()
    for page in pages.values():
        options = set(re.findall(r"(?<![\w-])--([a-z][a-z0-9_-]*)", page.text))
        calls = set(re.findall(r"(?<![\w/.-])framewire ([a-z]+)\b", page.code))
        run |= calls
        if not page.is_decision:
            faults += [f"{page.path}: nothing has an option --{name}"
                       for name in sorted(options - known)]
            faults += [f"{page.path}: there is no command framewire {name}"
                       for name in sorted(calls - commands)]
    return faults + [f"docs: no page shows framewire {name}" for name in sorted(commands - run)]


def check_transport(pages):
    page = pages["docs/transport.md"]
    told = [name for row in page.table("Links") for name in CODE_SPAN.findall(row[0])]
    links, words = facts.links()
    return (differ(page.path, "link", told, links | {"loopback"}) +
            differ("apps/framewire", "word of --link", words, links | {"auto"}))


def tree(page):
    """Paths of the folders that architecture.md lists: a block indented by depth, names with /."""
    start = page.text.find("## Folders")
    blocks = CODE_BLOCK.findall(page.text[start:]) if start >= 0 else []
    block = next((block for block in blocks if re.search(r"^ +src/$", block, re.M)), None)
    if block is None:
        raise facts.Missing(f"{page.path}: no list of folders below '## Folders'")
    paths, open_folders = [], []
    for indent, name in re.findall(r"^( {4,12})([\w/]+)/(?: |$)", block, re.M):
        depth = (len(indent) - 4) // 2
        open_folders[depth:] = [name]
        paths.append("/".join(open_folders))
    return paths


def check_folders(pages, folders):
    def deep(folder):
        top, depth = folder.split("/")[0], folder.count("/")
        return depth <= {"src": 2, "apps": 2, "tests": 1}.get(top, 0) and not top.startswith(".")

    named = set(tree(pages[ARCHITECTURE])) | {"include"}
    faults = [f"{ARCHITECTURE}: there is no folder {name}" for name in sorted(named - folders)]
    faults += [f"{ARCHITECTURE}: {name} is not in the list of folders"
               for name in sorted(filter(deep, folders)) if name not in named]
    labels = [element.get("data-folder") or "".join(element.itertext())
              for element in xml.etree.ElementTree.parse(ROOT / PICTURE).iter()
              if "folder" in element.get("class", "").split()]
    faults += [f"{PICTURE}: there is no folder {name}" for name in labels
               if name not in folders and f"src/{name}" not in folders]
    faults += [f"{PICTURE}: src/{name} is not in the picture"
               for name in sorted(f[4:] for f in folders if f.startswith("src/"))
               if (name.startswith(("codec/", "transport/")) or name not in ("codec",))
               and name.count("/") <= int(name.startswith(("codec/", "transport/")))
               and name not in labels]
    return faults + [f"{name} is there; {ARCHITECTURE} and {__file__} call it planned"
                     for name in PLANNED if name in folders]


def check_names(pages, files, folders):
    """Files, tests and identifiers in backticks."""
    faults = []
    base_names = {pathlib.PurePath(name).name for name in files} | FOREIGN_FILES
    identifiers, _ = facts.words_of_code()
    tests = facts.tests()
    for page in pages.values():
        if page.is_decision:
            continue
        for span in page.spans:
            word = span.split()[0].rstrip("/,;") if span.split() else ""
            test = TEST.match(span)
            if PATH.match(word) and not re.search(r"[A-Z]{4}|…", word):
                beside = f"{pathlib.PurePath(page.path).parent}/{word}"
                if not (word in files or beside in files or word in folders or word in PLANNED or
                        any(ROOT.glob(word)) or f"{word}.cpp" in files or
                        pathlib.PurePath(word).name in FOREIGN_FILES):
                    faults.append(f"{page.path}: there is no {word}")
            elif FILE.match(word):
                if word not in base_names:
                    faults.append(f"{page.path}: no file is called {word}")
            elif test:
                suite, name = test.groups()
                if not any(s == suite and (t.startswith(name.rstrip("…*"))
                                           if name.endswith(("…", "*")) else t == name)
                           for s, t in tests):
                    faults.append(f"{page.path}: no test is called {span}")
            elif NAME.match(span):
                parts = set(span.rstrip("()").split("::"))
                if not FOREIGN_NAMES.match(span) and not any(parts <= one for one in identifiers):
                    faults.append(f"{page.path}: no source names {span}")
    return faults


def check_sources(pages, folders):
    """Pages that sources name."""
    known = set(pages) | folders | {name[:len("docs/decisions/0000")] for name in pages}
    known |= {name.removesuffix(".md") for name in pages}
    return [f"{source}: there is no {page}" for source, page in sorted(facts.pages_named())
            if page not in known and not source.endswith("check_docs.py")]


def check_links(pages, files, folders):
    faults = []
    for page in pages.values():
        for link in page.links():
            if re.match(r"[a-z]+:", link):
                continue
            target, _, anchor = link.partition("#")
            path = page.path
            if target:
                path = (ROOT / page.path).parent.joinpath(target).resolve()
                path = str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else target
            if path not in files and path not in folders:
                faults.append(f"{page.path}: {link} leads nowhere")
            elif anchor and path in pages and anchor not in pages[path].anchors():
                faults.append(f"{page.path}: {path} has no heading for #{anchor}")
    return faults


def check_indexes(pages, files):
    """Every page is led to from the index of its folder, every report of a figure from a page."""
    faults = []
    for index in filter(re.compile(r"docs/(.*/)?README\.md$").match, pages):
        folder = pathlib.PurePath(index).parent
        linked = {str((folder / link.partition("#")[0])) for link in pages[index].links()}
        faults += [f"{index}: does not lead to {name}" for name in sorted(pages)
                   if pathlib.PurePath(name).parent == folder and name != index
                   and name not in linked]
    linked = {str(pathlib.PurePath(page.path).parent.joinpath(link)) for page in pages.values()
              for link in page.links()}
    linked = {str((ROOT / name).resolve().relative_to(ROOT)) for name in linked
              if (ROOT / name).resolve().is_relative_to(ROOT)}
    return faults + [f"docs: no page shows {name}" for name in sorted(files)
                     if re.match(r"docs/.*\.(svg|json)$", name) and name not in linked]


def check_decisions(pages):
    index = pages["docs/decisions/README.md"]
    rows = {row[0]: row for row in index.table("Decisions")}
    faults, numbers = [], set()
    for path, page in sorted(pages.items()):
        if not page.is_decision:
            continue
        number = pathlib.PurePath(path).name[:4]
        numbers.add(int(number))
        title = re.match(r"# (\d{4}): (.+)\n", page.text)
        status = re.search(r"^\*\*Status\.\*\* (.+)\. \d+ \w+ \d{4}\.$", page.text, re.M)
        faults += [f"{path}: has no {name.strip()}" for name in SECTIONS
                   if f"\n{name}" not in page.text]
        row = rows.pop(f"[{number}]({pathlib.PurePath(path).name})", None)
        if not title or title.group(1) != number:
            faults.append(f"{path}: does not begin with '# {number}: '")
        elif row is None:
            faults.append(f"{index.path}: has no row for {number}")
        elif status:
            told = re.sub(r"\[(\d{4})\]\([^)]*\)", r"\1", status.group(1))
            faults += [f"{index.path}: {number}: found '{a}', on the page '{b}'"
                       for a, b in ((row[1], title.group(2)), (row[2], told)) if a != b]
    faults += [f"{index.path}: no page for the row {name}" for name in rows]
    explained = {int(n) for n in re.findall(r"\b0\d{3}\b", index.prose.split("**Numbers.**")[-1])}
    missing = set(range(1, max(numbers, default=0))) - numbers
    return faults + [f"{index.path}: does not say why there is no {number:04}"
                     for number in sorted(missing - explained)]


def check_glossary(pages):
    page = pages["docs/glossary.md"]
    terms = re.findall(r"^\| \*\*(.+?)\*\* \|", page.text, re.M)
    if not terms:
        return [f"{page.path}: no row begins with a word in bold"]
    words = [word.strip().lower() for term in terms for word in term.split(",")]
    return [f"{page.path}: {word} has {words.count(word)} meanings"
            for word in sorted(set(words)) if words.count(word) > 1]


def check_pictures(files):
    """Pictures that are not plots: well-formed, and no label over another."""
    faults = []
    for name in sorted(files):
        if not re.match(r"docs/[^/]*\.svg$", name):
            continue
        try:
            labels = list(label_boxes(xml.etree.ElementTree.parse(ROOT / name)))
        except xml.etree.ElementTree.ParseError as error:
            faults.append(f"{name}: {error}")
            continue
        for i, (text, left, right, y, size) in enumerate(labels):
            faults += [f"{name}: '{text}' and '{other}' lie over each other"
                       for other, l, r, at, s in labels[i + 1:]
                       if left < r and l < right and abs(y - at) < 0.8 * min(size, s)]
    return faults


def main():
    files = facts.files()
    folders = facts.folders(files)
    pages = {name: Page(name) for name in files
             if name.endswith(".md") and name != "CHANGELOG.md"}
    faults = []
    for check in (lambda: check_errors(pages), lambda: check_options(pages),
                  lambda: check_transport(pages), lambda: check_pictures(files),
                  lambda: check_folders(pages, folders),
                  lambda: check_names(pages, files, folders),
                  lambda: check_sources(pages, folders),
                  lambda: check_links(pages, files, folders),
                  lambda: check_indexes(pages, files), lambda: check_decisions(pages),
                  lambda: check_glossary(pages)):
        try:
            faults += check()
        except (facts.Missing, KeyError, xml.etree.ElementTree.ParseError) as error:
            faults.append(str(error))
    print("\n".join(faults) if faults else f"{len(pages)} pages say what the code says")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
