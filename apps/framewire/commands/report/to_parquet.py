# Rows of manifests to one Parquet file. Run by framewire report --parquet: python3 -c THIS FILE
# Standard input: "SHARD\0MANIFEST\0" for each manifest; where MANIFEST is empty its lines follow, and
# after them one that is a NUL. Exit code 0: FILE is whole; else it is as it was.
import sys

# With -c Python looks for modules in the current folder first, which may hold anything.
sys.path = [place for place in sys.path if place]

import json
import os
import signal

BATCH_ROWS = 10_000
NO_PYARROW = 4


def fail(message, code=1):
    sys.stderr.write("framewire: %s\n" % message)
    sys.exit(code)


try:
    import pyarrow as pa
    import pyarrow.parquet as parquet
except ImportError as error:
    fail("--parquet: this Python (%s) has no pyarrow (%s); accepted: one in which `python3 -m pip "
         "install pyarrow` was run, named by FRAMEWIRE_PYTHON. The manifests are JSON lines, which "
         "other programs read as they are" % (sys.executable, error), NO_PYARROW)

SCHEMA = pa.schema([
    ("shard", pa.string()), ("name", pa.string()), ("input", pa.string()), ("output", pa.string()),
    ("status", pa.string()), ("error_class", pa.string()), ("message", pa.string()),
    ("bytes_in", pa.uint64()), ("mtime_ns", pa.int64()), ("bytes_out", pa.uint64()),
    ("hash", pa.string()), ("in_width", pa.int32()), ("in_height", pa.int32()),
    ("out_width", pa.int32()), ("out_height", pa.int32()), ("codec", pa.string()),
    ("original_kept", pa.bool_()),
    ("warnings", pa.list_(pa.struct([("kind", pa.string()), ("message", pa.string()),
                                     ("offset", pa.uint64())]))),
    ("ms", pa.float64()), ("options_hash", pa.string()), ("version", pa.string()),
    ("name_hex", pa.string())])


def word(pipe):
    """Up to the next NUL; None at the end."""
    letters = bytearray()
    while True:
        letter = pipe.read(1)
        if not letter:
            return None
        if letter == b"\0":
            return bytes(letters)
        letters += letter


def lines_up_to_nul(pipe):
    for line in iter(pipe.readline, b"\0\n"):
        if not line:
            raise ValueError("the report has ended early")
        yield line


def manifests(pipe):
    """(shard, what it is called, lines) of each, as they come."""
    while True:
        shard, path = word(pipe), word(pipe)
        if shard is None or path is None:
            return
        shard = os.fsdecode(shard)
        if not path:
            yield shard, "the manifest of " + shard, lines_up_to_nul(pipe)
            continue
        with open(path, "rb") as file:
            yield shard, os.fsdecode(path), file


def rows_of(shard, called, lines):
    for number, line in enumerate(lines, 1):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise ValueError("%s: line %d is no JSON: %s" % (called, number, error))
        if not isinstance(row, dict) or "status" not in row:
            continue
        for side in ("in", "out"):
            size = row.pop(side, None)
            size = size if isinstance(size, dict) else {}
            row[side + "_width"], row[side + "_height"] = size.get("w"), size.get("h")
        # Names that are not UTF-8 are told by name_hex, too.
        row["shard"] = shard.encode("utf-8", "replace").decode()
        yield row


def write(writer):
    rows, total = [], 0
    for shard, called, lines in manifests(sys.stdin.buffer):
        for row in rows_of(shard, called, lines):
            rows.append(row)
            if len(rows) == BATCH_ROWS:
                writer.write_batch(pa.RecordBatch.from_pylist(rows, schema=SCHEMA))
                total += len(rows)
                rows = []
    if rows:
        writer.write_batch(pa.RecordBatch.from_pylist(rows, schema=SCHEMA))
    return total + len(rows)


def main(path):
    temporary = "%s.%d.tmp" % (path, os.getpid())
    # A report that fails ends this so, and nothing is to be left of it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        with parquet.ParquetWriter(temporary, SCHEMA, compression="zstd") as writer:
            total = write(writer)
        with open(temporary, "rb") as file:
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except (OSError, ValueError, OverflowError, pa.ArrowException) as error:
        fail("--parquet: %s" % error, 1)
    finally:
        if os.path.exists(temporary):
            os.unlink(temporary)
    sys.stderr.write("framewire: %d rows written to %s\n" % (total, path))


main(sys.argv[1])
