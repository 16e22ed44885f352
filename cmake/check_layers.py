#!/usr/bin/env python3
"""Checks that includes follow the arrows of docs/architecture.md.

Linking enforces them for functions; this enforces them for headers too, keeps third-party headers
in the folders that own them, holds one way to write an include, and finds what the library must not
do: print, exit or grow huge files.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Which folders a folder may include besides itself and the public headers.
BELOW_CODECS = {"base", "jpeg", "transform", "plan", "color", "codec"}
ALLOWED = {
    "base": set(),
    "jpeg": {"base"},
    "transform": {"base"},
    "plan": {"base", "jpeg", "transform"},
    "gpu": {"base"},
    "color": {"base", "jpeg", "transform", "plan"},
    "codec": {"base", "jpeg", "transform", "plan", "color"},
    "codec/reference": BELOW_CODECS,
    "codec/turbo": BELOW_CODECS,
    "codec/cuda": BELOW_CODECS | {"gpu"},
    "codec/nvjpeg": BELOW_CODECS | {"gpu"},
    "engine": BELOW_CODECS | {"gpu", "codec/reference", "codec/turbo", "codec/cuda", "codec/nvjpeg"},
    "batch": {"base", "client", "engine"},
    "ipc": {"base", "transport", "transport/shared"},
    "client": {"base", "ipc", "transport/session", "transport/shared"},
    "service/local": {"base", "ipc", "service/pictures", "transport/shared"},
    "topology": {"base"},
    "transport": {"base"},
    "transport/loopback": {"base", "transport"},
    "transport/peer": {"base", "transport", "transport/shared"},
    "transport/cuda": {"base", "transport", "gpu"},
    "transport/wire": {"base", "transport"},
    "transport/shared": {"base", "transport"},
    "transport/ucx": {"base", "transport"},
    "transport/session": {"base", "transport", "transport/loopback", "transport/peer",
                          "transport/cuda", "transport/wire", "transport/shared", "transport/ucx"},
    "frames": {"base", "transport"},
    "split": BELOW_CODECS | {"codec/turbo", "engine", "transport"},
    "tensor": BELOW_CODECS | {"codec/turbo"},
    "tensor/cuda": BELOW_CODECS | {"codec/turbo", "codec/cuda", "gpu", "tensor"},
    "service/page": set(),
    "inspect": BELOW_CODECS | {"engine"},
    "store": {"base"},
    "dataset": {"base", "batch", "store"},
    "bindings/python": {"base", "jpeg", "inspect"},
    "bindings/python/cuda": {"base", "gpu"},
    "service/url": {"base"},
    "service/source": {"base", "store"},
    "service/systemd": {"base"},
    "service/process": {"base"},
    "service/mps": {"base", "service/process", "topology"},
    "service/pictures": set(),
    "service/workers": {"base", "client", "engine", "ipc", "service/local", "service/pictures",
                        "transport/shared"},
    "service/cache": {"base"},
    "service/http": {"base", "jpeg", "inspect", "service/cache", "service/page",
                     "service/pictures", "service/source", "service/url", "transport/wire"},
    "service/remote": {"base", "ipc", "service/http", "service/local", "service/pictures"},
    "apps/framewire": {"base", "jpeg", "plan", "color", "codec", "engine", "batch", "split",
                       "topology", "transport", "transport/session", "transport/wire", "frames",
                       "inspect", "dataset", "store", "service/http", "service/local", "service/mps", "service/process",
                       "service/pictures", "service/remote",
                       "service/systemd", "service/url", "service/workers"},
}

# Third-party headers and the only folders that may name them; None: any folder.
OWNED_HEADERS = [
    (r"jpeglib\.h|jerror\.h|turbojpeg\.h", {"codec/turbo"}),
    (r"lcms2.*\.h", {"color"}),
    (r"pugixml\.hpp", {"jpeg", "store"}),
    (r"hwy/.*", {"transform", "color", "codec/turbo", "tensor"}),
    (r"CLI/.*|CLI11.*", {"apps/framewire"}),
    (r"nlohmann/.*", {"batch", "dataset", "inspect", "store", "apps/framewire"}),
    (r"boost/.*", {"service/http"}),
    (r"nghttp2/.*", {"service/http"}),
    (r"toml\+\+/.*", {"service/http"}),
    (r"prometheus/.*", {"service/http"}),
    (r"xxhash\.h", {"base", "batch", "dataset", "engine", "transport", "service/cache", "service/http"}),
    (r"openssl/.*", {"dataset", "store", "transport/wire", "service/cache", "service/http",
                     "service/url", "service/workers", "apps/framewire"}),
    (r"seccomp\.h", {"service/workers"}),
    (r"uc[pst]/.*", {"transport/ucx"}),
    (r"curl/.*", {"service/source", "store"}),
    (r"zlib\.h", {"store"}),
    (r"cuda.*|cub/.*|nvml\.h|nvjpeg\.h", {"gpu", "codec/cuda", "codec/nvjpeg",
                                               "tensor/cuda", "transport/cuda", "bindings/python/cuda"}),
    (r"fmt/.*", None),
]

# A batch goes by sources, sinks and manifests: only what implements those over files knows files.
# The program drives it by the public header alone.
BATCH_FILES = ("atomic_file", "file_place", "folder_source", "identity", "input_file",
               "list_source", "location", "manifest", "output_folder", "permissions", "posix_file",
               "temporary_file")
FILE_HEADERS = (r"fcntl\.h|unistd\.h|dirent\.h|stdio\.h|cstdio|filesystem|fstream|sys/.*|linux/.*|"
                r"base/file_descriptor\.hpp|batch/(" + "|".join(BATCH_FILES) + r")\.hpp")

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^">]+)[">]')
STREAMS = re.compile(r"\bstd::(cout|cerr|clog)\b|(?<![\w:])(?:std::)?(?:printf|puts|putchar)\s*\(|"
                     r"\bfprintf\s*\(\s*std(?:out|err)\b|\bfmt::print\s*\(")
EXITS = re.compile(r"(?<![\w:.>])(?:std::)?(?:exit|_Exit|quick_exit|abort|terminate)\s*\(")
MAX_LINES = 500


def folder_of(path):
    """The folder a path below src/ lies in, given relative to src/; None for src/ itself."""
    parts = path.parts[:-1]
    if not parts:
        return None
    if parts[0] in ("codec", "transport", "service", "tensor") and len(parts) > 1:
        return f"{parts[0]}/{parts[1]}"
    return parts[0]


def check_include(folder, name, where, errors):
    if name.startswith("framewire/"):
        return
    target = folder_of(pathlib.Path(name)) if (ROOT / "src" / name).is_file() else None
    if target is not None:
        if target != folder and target not in ALLOWED[folder]:
            errors.append(f"{where}: {folder} may not include {target} ({name}); "
                          f"allowed: {', '.join(sorted(ALLOWED[folder])) or 'nothing'}")
        return
    for pattern, owners in OWNED_HEADERS:
        if re.fullmatch(pattern, name):
            if owners is not None and folder not in owners:
                errors.append(f"{where}: {name} belongs to {', '.join(sorted(owners))} only")
            return


def written_as(path, name):
    """How an include of `name` is to be written in a file, or "" where that cannot be told."""
    for base in (path.parent, ROOT / "src", ROOT / "apps" / "framewire", ROOT / "tests",
                 ROOT / "bindings" / "python", ROOT):
        file = (base / name).resolve()
        if not file.is_file() or not file.is_relative_to(ROOT):
            continue
        for root in (ROOT / "src", ROOT / "apps" / "framewire", ROOT / "include",
                     ROOT / "bindings" / "python", ROOT):
            if file.is_relative_to(root):
                return str(file.relative_to(root))
    return ""


def check_style(path, errors):
    """Every include stands in <>; the project's own by its path below src/, apps/framewire/ or
    include/, and where tests, fuzz targets and benches share something, below the repository."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        found = INCLUDE.match(line)
        if not found:
            continue
        name = found.group(1)
        ours = written_as(path, name)
        if '"' in line.split("//")[0] or (ours and ours != name):
            errors.append(f"{path.relative_to(ROOT)}:{number}: found {line.strip()}; "
                          f"write #include <{ours or 'folder/file.hpp'}>")


def check_batch(path, errors):
    """No file of the batch itself opens one; the program's command includes none of them."""
    place = path.relative_to(ROOT).as_posix()
    if place.startswith("src/batch/") and path.stem not in BATCH_FILES:
        foreign, instead = FILE_HEADERS, "go by Source, Sink and Manifest"
    elif place.startswith("apps/framewire/commands/batch/"):
        foreign, instead = "batch/.*", "include <framewire/batch.hpp>"
    else:
        return
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        found = INCLUDE.match(line)
        if found and re.fullmatch(foreign, found.group(1)):
            errors.append(f"{place}:{number}: found {found.group(1)}; {instead}")


def check_names(errors):
    """The program's folders and the library's are told apart by their names alone."""
    for folder in (ROOT / "apps" / "framewire").iterdir():
        if folder.is_dir() and (ROOT / "src" / folder.name).is_dir():
            errors.append(f"{folder.relative_to(ROOT)}: src/{folder.name} has that name; "
                          f"<{folder.name}/…> would mean either")


def check_file(path, folder, errors):
    lines = path.read_text(encoding="utf-8").splitlines()
    where = path.relative_to(ROOT)
    if len(lines) > MAX_LINES:
        errors.append(f"{where}: {len(lines)} lines; split it below {MAX_LINES}")
    for number, line in enumerate(lines, 1):
        found = INCLUDE.match(line)
        if found:
            check_include(folder, found.group(1), f"{where}:{number}", errors)
        if folder.startswith("apps/") or line.lstrip().startswith("//"):
            continue
        code = line.split("//")[0]
        if STREAMS.search(code):
            errors.append(f"{where}:{number}: the library never prints")
        if EXITS.search(code):
            errors.append(f"{where}:{number}: the library never exits or aborts")


def check_public(path, errors):
    """Installed headers may name only the standard library, tl::expected and one another."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        found = INCLUDE.match(line)
        if not found:
            continue
        name = found.group(1)
        if name.startswith("framewire/") or name == "tl/expected.hpp" or re.fullmatch("[a-z_0-9]+",
                                                                                     name):
            continue
        errors.append(f"{path.relative_to(ROOT)}:{number}: {name} is not for a public header")


def main():
    errors = []
    files = 0
    for suffix in ("hpp", "cpp", "h", "cu", "cuh"):
        for path in sorted((ROOT / "src").rglob(f"*.{suffix}")):
            folder = folder_of(path.relative_to(ROOT / "src"))
            if folder not in ALLOWED:
                errors.append(f"{path.relative_to(ROOT)}: its folder has no arrows in {__file__}")
                continue
            files += 1
            check_file(path, folder, errors)
            check_batch(path, errors)
        for path in sorted((ROOT / "apps" / "framewire").rglob(f"*.{suffix}")):
            files += 1
            check_file(path, "apps/framewire", errors)
            check_batch(path, errors)
        for path in sorted((ROOT / "bindings" / "python" / "extension").rglob(f"*.{suffix}")):
            files += 1
            of_cuda = "/cuda" if path.parent.name == "cuda" else ""
            check_file(path, "bindings/python" + of_cuda, errors)
    for path in sorted((ROOT / "include").rglob("*.hpp")):
        files += 1
        check_public(path, errors)
    for folder in ("src", "apps", "include", "tests", "fuzz", "bench", "examples",
                   "bindings/python/extension"):
        for suffix in ("hpp", "cpp", "h", "cu", "cuh"):
            for path in sorted((ROOT / folder).rglob(f"*.{suffix}")):
                # The emulation's stand for CUDA's own headers, which name one another alone.
                if "emulation/include" not in path.as_posix():
                    check_style(path, errors)
    check_names(errors)
    print("\n".join(errors) if errors else f"{files} files follow the arrows")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
