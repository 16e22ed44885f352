#!/usr/bin/env python3
"""Every feature and hostile file of the corpus through inspect, resize and batch.

usage: sweep.py PROGRAM WORK_DIR SECONDS. Each file must give an output or a typed error within
SECONDS: never a crash, a sanitizer's report, a hang, a huge allocation or a half-written file.
Exits with 77 (skipped) where FRAMEWIRE_CORPUS names no folder.
"""

import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

SIZE = "96x96"
INSPECT_AT_ONCE = 40
MEMORY_MB = 1536
EXPECTED = re.compile(r"\b(invalid_input|unsupported|too_large|deadline)\b")
REPORT = re.compile(r"Sanitizer|runtime error:|terminate called|Assertion")

# A sanitizer's own exit code must not look like "some inputs failed".
ENVIRONMENT = dict(os.environ,
                   ASAN_OPTIONS=f"exitcode=99:max_allocation_size_mb={MEMORY_MB}"
                   ":allocator_may_return_null=0:detect_leaks=1",
                   UBSAN_OPTIONS="exitcode=99:print_stacktrace=1")


def run(arguments, seconds):
    """(exit code or None for a hang, standard output, standard error)"""
    try:
        done = subprocess.run(arguments, capture_output=True, timeout=seconds, env=ENVIRONMENT,
                              check=False, text=True, errors="replace")
        return done.returncode, done.stdout, done.stderr
    except subprocess.TimeoutExpired:
        return None, "", ""


def complaint(code, error):
    """What is wrong with how a command ended, or None."""
    if code is None:
        return "hangs"
    if code not in (0, 1):
        return f"exits with {code}: {error[-2000:]}"
    if REPORT.search(error):
        return error[-4000:]
    return None


def inspect(program, files, seconds):
    code, output, error = run([program, "inspect", "--json", *files], seconds * len(files))
    found = complaint(code, error)
    if found is None and code == 0 and not output.strip():
        found = "says nothing"
    return [f"inspect {files[0]} … {files[-1]}: {found}"] if found else []


def resize(program, file, target, seconds):
    code, _, error = run([program, "resize", str(file), str(target), "--size", SIZE], seconds)
    found = complaint(code, error)
    if found is None and code == 0:
        data = target.read_bytes() if target.exists() else b""
        if not (data.startswith(b"\xff\xd8") and data.endswith(b"\xff\xd9")):
            found = "succeeds without a whole JPEG"
    if found is None and code == 1:
        if not EXPECTED.search(error):
            found = f"fails without a typed error that its bytes explain: {error[-500:]}"
        elif target.exists():
            found = "fails and leaves an output"
    target.unlink(missing_ok=True)
    return [f"resize {file}: {found}"] if found else []


def batch(program, folder, work, files, seconds):
    target = work / "batch"
    manifest = work / "manifest.jsonl"
    code, _, error = run([program, "batch", str(folder), str(target), "--size", SIZE, "--jobs", "2",
                          "--progress", "never", "--manifest", str(manifest)],
                         60 + seconds * len(files))
    found = complaint(code, error)
    if found:
        return [f"batch {folder}: {found}"]
    errors = []
    rows = [json.loads(line) for line in manifest.read_text().splitlines()]
    if len(rows) != len(files):
        errors.append(f"batch {folder}: {len(files)} files, {len(rows)} manifest rows")
    for row in rows:
        if row["status"] != "ok" and not EXPECTED.search(row.get("error_class") or ""):
            errors.append(f"batch {folder}: {row}")
    done = sum(row["status"] == "ok" for row in rows)
    written = sum(path.is_file() for path in target.rglob("*"))
    if done != written:
        errors.append(f"batch {folder}: {done} rows say ok, {written} files were written")
    return errors


def main():
    program, work, seconds = sys.argv[1], pathlib.Path(sys.argv[2]), float(sys.argv[3])
    corpus = os.environ.get("FRAMEWIRE_CORPUS", "")
    if not corpus:
        print("SKIPPED: FRAMEWIRE_CORPUS is unset; it names a folder with features/ and hostile/")
        return 77
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    errors = []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for part in ("features", "hostile"):
            folder = pathlib.Path(corpus) / part
            files = sorted(path for path in folder.rglob("*") if path.is_file())
            if not files:
                errors.append(f"{folder}: no files")
                continue
            shared = work / part
            shared.mkdir()
            runs = [pool.submit(inspect, program, files[i:i + INSPECT_AT_ONCE], seconds)
                    for i in range(0, len(files), INSPECT_AT_ONCE)]
            runs += [pool.submit(resize, program, file, work / f"{part}-{i}.jpg", seconds)
                     for i, file in enumerate(files)]
            errors += [error for run_ in runs for error in run_.result()]
            errors += batch(program, folder, shared, files, seconds)
            print(f"{part}: {len(files)} files")
    left = [path.name for path in work.iterdir() if path.is_file()]
    if left:
        errors.append(f"left behind: {left}")
    print("\n".join(errors) if errors else "every file gave an output or a typed error")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
