"""Compares what the installed headers declare with what the installed library has.

usage: public_symbols.py PREFIX CXX WORK_DIR
Clang reads the headers and says which functions they declare without a body, under the names that the
linker knows. A program that names each of those links with the library and runs: who has declared a
function without FRAMEWIRE_API, or has not defined it, finds its name here. A shared library is asked
the other way round, too: it may show nothing but what the headers declare. 77: there is no clang.
"""
import os
import pathlib
import shutil
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "cmake"))
from public_api import read_headers, run  # noqa: E402

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
