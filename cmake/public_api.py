"""Reads from the public headers, with clang, what they declare: for tests/install/public_symbols.py and
check_abi.sh.

usage: public_api.py INCLUDE > describe.cpp
Writes a file whose debug information describes the whole public API: every struct and class, and the
type of every function. An alias such as Result<T> has its arguments in clang's names, not in GCC's.
"""
import json
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
        self.structs = []     # whole ones of a namespace, with their namespaces
        self.types = {}       # of functions that users may call: namespace and type
        self.namespace = ""   # that is being read
        self.open = set()     # functions that users may call
        self.all = set()      # besides those that only friends may
        self.bodies = set()   # functions that are defined in a header
        self.classes = set()  # as in mangled names: N9framewire6EngineE
        self.keyed = set()    # of them those whose vtable lies in the library

    def read_namespace(self, node, outer=""):
        namespace = f"{outer}::{node['name']}".removeprefix("::")
        for part in node.get("inner", []):
            if part["kind"] == "NamespaceDecl":
                self.read_namespace(part, namespace)
                continue
            self.namespace = namespace
            self.read(part)
            if part["kind"] == "CXXRecordDecl" and part.get("completeDefinition"):
                self.structs.append(f"{namespace}::{part['name']}")

    def read(self, node, reachable=True):
        kind = node["kind"]
        if kind == "CXXRecordDecl" and "inner" in node:
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
            # Without what only a member has behind its parameters.
            plain = re.sub(r"\)( const)?( &&?)?( noexcept)?$", r")\3", node["type"]["qualType"])
            self.types[name] = (self.namespace, plain)
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


def header_names(include):
    return sorted(str(path.relative_to(include)) for path in include.rglob("framewire/**/*.hpp"))


def read_headers(include, includes):
    text = "".join(f"#include <{name}>\n" for name in header_names(include))
    dump = run(shutil.which("clang++"), "-std=c++20", f"-I{include}", *includes, "-fsyntax-only",
               "-x", "c++", "-Xclang", "-ast-dump=json", "-Xclang", "-ast-dump-filter=framewire",
               "-", input=text)
    declared, decoder, at = Declared(), json.JSONDecoder(), 0
    while (at := dump.find("{", at)) != -1:
        node, at = decoder.raw_decode(dump, at)
        declared.read_namespace(node)
    return declared


def describe(declared, names):
    """One function for each class and function, which takes a pointer to it."""
    lines = [f"#include <{name}>" for name in names]
    lines.append('#define SHOWN __attribute__((visibility("default")))')
    for name in sorted(set(declared.structs)):
        lines.append(f"SHOWN void has_{name.replace('::', '_')}({name}*) {{}}")
    for name in sorted(declared.open - declared.bodies):
        namespace, signature = declared.types[name]
        lines.append(f"namespace {namespace} {{ using Type{name} = {signature}; }}")
        lines.append(f"SHOWN void has{name}({namespace}::Type{name}*) {{}}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1])
    print(describe(read_headers(folder, []), header_names(folder)), end="")
