"""Compares what the installed headers declare with what the installed library has.

usage: public_symbols.py PREFIX CXX WORK_DIR
Clang reads the headers and says which functions they declare without a body, under the names that the
linker knows. A program that names each of those links with the library and runs: who has declared a
function without FRAMEWIRE_API, or has not defined it, finds its name here. A shared library is asked
the other way round, too: it may show nothing but what the headers declare. 77: there is no clang.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

FUNCTIONS = {"FunctionDecl", "CXXMethodDecl", "CXXConstructorDecl", "CXXDestructorDecl",
             "CXXConversionDecl"}


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command[:3]))} … exited with {done.returncode}:\n{done.stderr}")
    return done.stdout


def has_body(node):
    return any(part["kind"] == "CompoundStmt" for part in node.get("inner", []))


class Declared:
    """What the headers declare in namespace framewire."""

    def __init__(self):
        self.open = set()     # functions that users may call
        self.all = set()      # besides those that only friends may
        self.bodies = set()   # functions that are defined in a header
        self.classes = set()  # as in mangled names: N9framewire6EngineE
        self.keyed = set()    # of them those whose vtable lies in the library

    def read(self, node, reachable=True):
        kind = node["kind"]
        if kind == "NamespaceDecl":
            for part in node.get("inner", []):
                self.read(part)
        elif kind == "CXXRecordDecl" and "inner" in node:
            self.read_class(node, reachable)
        elif kind in FUNCTIONS and not node.get("isImplicit"):
            self.read_function(node, reachable)

    def read_class(self, node, reachable):
        access = "private" if node["tagUsed"] == "class" else "public"
        for part in node["inner"]:
            if part["kind"] == "AccessSpecDecl":
                access = part["access"]
            else:
                self.read(part, reachable and access != "private")

    def read_function(self, node, reachable):
        name = node.get("mangledName")
        if name is None or node.get("explicitlyDeleted") or node.get("pure"):
            return
        scope = re.match(r"_ZNK?(9framewire.*?)(?:[CD]\d)E", name)
        if scope and node["kind"] in ("CXXConstructorDecl", "CXXDestructorDecl"):
            self.classes.add(f"N{scope.group(1)}E")
        if has_body(node) or node.get("explicitlyDefaulted"):
            self.bodies.add(name)
            return
        self.all.add(name)
        if reachable:
            self.open.add(name)
        if node.get("virtual") and node["kind"] == "CXXDestructorDecl":
            self.keyed.add(f"N{scope.group(1)}E")

    def required(self):
        of_classes = {prefix + name for name in self.keyed for prefix in ("_ZTI", "_ZTV")}
        return sorted(self.open - self.bodies | of_classes)

    def allowed(self):
        names = {prefix + name for name in self.classes for prefix in ("_ZTI", "_ZTS", "_ZTV")}
        for name in self.all:
            names.update(re.sub(r"([CD])[012](E)", rf"\g<1>{i}\2", name, count=1) for i in "012")
        return names | self.all


def read_headers(include, includes):
    names = sorted(str(path.relative_to(include)) for path in include.rglob("framewire/**/*.hpp"))
    text = "".join(f"#include <{name}>\n" for name in names)
    dump = run(shutil.which("clang++"), "-std=c++20", f"-I{include}", *includes, "-fsyntax-only",
               "-x", "c++", "-Xclang", "-ast-dump=json", "-Xclang", "-ast-dump-filter=framewire",
               "-", input=text)
    declared, decoder, at = Declared(), json.JSONDecoder(), 0
    while (at := dump.find("{", at)) != -1:
        node, at = decoder.raw_decode(dump, at)
        declared.read(node)
    return declared


def link_and_run(names, compiler, flags, folder):
    """A program that knows where every one of these is."""
    source, program = folder / "every_symbol.cpp", folder / "every_symbol"
    lines = [f'extern "C" const char s{i} __asm__("{name}");' for i, name in enumerate(names)]
    lines += ["const void* volatile found = nullptr;", "int main() {"]
    lines += [f"  found = &s{i};" for i in range(len(names))]
    source.write_text("\n".join([*lines, "  return found == nullptr;", "}", ""]))
    # Position-independent, so that functions of a shared library are found through its table.
    run(compiler, "-std=c++20", "-fPIC", source, *flags, "-pthread", "-o", program)
    run(program)


def main():
    prefix, compiler, folder = pathlib.Path(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3])
    if shutil.which("clang++") is None:
        print("SKIPPED: no clang++, which reads the headers")
        sys.exit(77)
    folder.mkdir(parents=True, exist_ok=True)
    package = next(prefix.rglob("framewire.pc")).parent
    environment = {**os.environ, "PKG_CONFIG_PATH": str(package)}
    flags = run("pkg-config", "--cflags", "--libs", "framewire", env=environment).split()
    declared = read_headers(prefix / "include", [flag for flag in flags if flag.startswith("-I")])
    names = declared.required()
    if len(names) < 60:
        sys.exit(f"the headers declare {len(names)} functions; 60 are the least: was all of them read?")
    libraries = [path for path in prefix.rglob("libframewire.so.*") if not path.is_symlink()]
    os.environ["LD_LIBRARY_PATH"] = str(package.parent)
    link_and_run(names, compiler, flags, folder)
    for library in libraries:
        lines = run("nm", "-D", "--defined-only", "--format=posix", library).splitlines()
        extra = sorted({line.split()[0] for line in lines} - declared.allowed())
        if extra:
            plain = run("c++filt", *extra[:20])
            sys.exit(f"{library} shows {len(extra)} symbols that no header declares:\n{plain}")
    print(f"{len(names)} public symbols, each linked", "and nothing else shown" if libraries else "")


main()
