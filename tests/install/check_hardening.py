"""Reads an installed program, libraries and objects for what cmake/FramewireHardening.cmake asks for.

usage: check_hardening.py PREFIX CXX plain|hardened|cuda
Every object of ours carries notes on control flow. A linked file has them where all that it was
linked from has: not with Debian 12's crt1.o and crti.o, nor, of a build with CUDA ("cuda"), with
NVIDIA's libcudart_static.a. For the former a program of one line, built the same way, is the measure.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

faults = []


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def expect(condition, where, what):
    if not condition:
        faults.append(f"{where}: {what}")


def features(path):
    """What the notes of a file say of control flow: {"IBT", "SHSTK"} or {"BTI", "PAC"}."""
    found = re.findall(r"(?:x86|AArch64) feature: (.*)", run("readelf", "-n", path))
    return {word for line in found for word in line.split(", ")}


def linked_features(compiler, flag, shared):
    """The features that a linked file has here where every object of ours has them."""
    with tempfile.TemporaryDirectory() as folder:
        source, out = f"{folder}/one.cpp", f"{folder}/one"
        pathlib.Path(source).write_text("int main() {}\n")
        run(compiler, flag, "-fPIC", *(["-shared"] if shared else ["-pie"]), source, "-o", out)
        return features(out)


def is_written_once(path):
    """Full RELRO: a segment to protect, and nothing left to bind after it is protected."""
    segments, dynamic = run("readelf", "-lW", path), run("readelf", "-dW", path)
    expect("GNU_RELRO" in segments, path, "no GNU_RELRO segment (-z relro)")
    expect("BIND_NOW" in dynamic, path, "functions are bound late (-z now)")
    stack = re.search(r"GNU_STACK.*", segments)
    expect(stack and "E" not in stack.group().split()[-2], path,
           "the stack is executable (-z noexecstack)")


def calls_checks(path):
    symbols = run("readelf", "-sW", path)
    expect("__stack_chk_fail" in symbols, path, "no stack protector")
    fortified = set(re.findall(r"__(\w+)_chk\b", symbols)) - {"longjmp"}
    expect(fortified, path, "no fortified function (_FORTIFY_SOURCE)")


def probes_stack(path):
    """-fstack-clash-protection touches each page of a large frame: orq $0, (%rsp)."""
    expect(b"\x48\x83\x0c\x24\x00" in pathlib.Path(path).read_bytes(), path,
           "no page of a large stack frame is probed (-fstack-clash-protection)")


def check_linked(path, compiler, flag, shared):
    expect("DYN" in run("readelf", "-hW", path), path, "not position independent")
    is_written_once(path)
    calls_checks(path)
    if flag:
        missing = linked_features(compiler, flag, shared) - features(path)
        expect(not missing, path, f"no note of {', '.join(sorted(missing))}")


def functions(path):
    """Offsets in the file of the functions of ours that others can call."""
    sections = {}
    for line in run("readelf", "-SW", path).splitlines():
        row = re.match(r"\s*\[ *(\d+)\] \S+\s+PROGBITS\s+(\w+) (\w+)", line)
        if row:
            sections[row.group(1)] = int(row.group(3), 16) - int(row.group(2), 16)
    for line in run("readelf", "-sW", path).splitlines():
        row = re.match(r"\s*\d+: (\w+)\s+\d+ FUNC\s+(?:GLOBAL|WEAK)\s+\w+\s+(\d+) (\w+)", line)
        if row and "9framewire" in row.group(3) and row.group(2) in sections:
            yield int(row.group(1), 16) + sections[row.group(2)], row.group(3)


def check_landings(path):
    """Whoever jumps to a function may land on its first instruction: ENDBR64, F3 0F 1E FA."""
    data = pathlib.Path(path).read_bytes()
    found = list(functions(path))
    expect(len(found) > 20, path, f"has {len(found)} functions of ours; 20 are the least")
    bare = [name for offset, name in found if data[offset:offset + 4] != b"\xf3\x0f\x1e\xfa"]
    expect(not bare, path, f"{len(bare)} functions without ENDBR64, such as {bare[:1]}")


def check_objects(archive, wanted):
    """Each object of a static library: whoever links it loses what one of them lacks."""
    text = run("readelf", "-nW", archive)
    objects = re.split(r"^File: ", text, flags=re.M)[1:]
    expect(len(objects) > 20, archive, f"has {len(objects)} objects")
    for notes in objects:
        missing = [word for word in wanted if word not in notes]
        expect(not missing, notes.splitlines()[0], f"no note of {', '.join(missing)}")
    calls_checks(archive)


def check_no_leak(prefix):
    """Flags are ours: who links the library has their own."""
    for path in [*prefix.rglob("*.cmake"), *prefix.rglob("*.pc")]:
        for flag in ("relro", "FORTIFY", "stack-", "-fcf-", "branch-protection"):
            expect(flag not in path.read_text(), path, f"hands on a flag of ours, {flag}")


def main():
    prefix, compiler, hardened = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3] != "plain"
    machine = run("uname", "-m").strip()
    flag, wanted = {
        "x86_64": ("-fcf-protection=full", ["IBT", "SHSTK"]),
        "aarch64": ("-mbranch-protection=standard", ["BTI", "PAC"]),
    }.get(machine, (None, []))
    if sys.argv[3] == "cuda":
        flag = None
    check_no_leak(prefix)
    program = str(prefix / "bin/framewire")
    archives = [str(path) for path in prefix.rglob("libframewire.a")]
    libraries = [str(path) for path in prefix.rglob("libframewire.so.*") if not path.is_symlink()]
    expect(archives or libraries, prefix, "no library")
    if hardened:
        expect("INTERP" in run("readelf", "-lW", program), program, "no interpreter: not a program")
        check_linked(program, compiler, flag, shared=False)
        for library in libraries:
            check_linked(library, compiler, flag, shared=True)
        for archive in archives:
            check_objects(archive, wanted)
        if machine == "x86_64":
            for path in [program, *libraries]:
                check_landings(path)
                probes_stack(path)
    if faults:
        sys.exit("\n".join(faults[:20]) + f"\n{len(faults)} faults")
    print("hardened" if hardened else "not hardened, as this build was asked", *archives,
          *libraries, program)


main()
