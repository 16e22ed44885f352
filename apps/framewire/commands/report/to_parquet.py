# Rows of manifests to one Parquet file. Run by framewire report --parquet: python3 -c THIS FILE
# Standard input: "SHARD\0MANIFEST\0" for each manifest; where MANIFEST is empty its lines follow, and
# after them one that is a NUL. Exit code 0: FILE is whole; else it is as it was.
import sys

# With -c Python looks for modules in the current folder first, which may hold anything.
sys.path = [place for place in sys.path if place]

import contextlib
import fcntl
import json
import os
import secrets
import signal
import stat

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


class Readers:
    """Who may read the table: nobody who may not read each of its manifests."""

    def __init__(self):
        self.mode = 0o666
        self.groups = set()
        self.owners = set()

    def add(self, file):
        facts = os.fstat(file)
        # Under an ACL the group's bits are those of others, too.
        mode = facts.st_mode if not has_acl(file) else without_group(facts.st_mode)
        if (facts.st_mode >> 3) & ~facts.st_mode & 0o7:
            self.groups.add(facts.st_gid)
        self.owners.add(facts.st_uid)
        self.mode &= mode

    def mode_of(self, file, replaced):
        """The mode of the file that is made, which has mode 0600 still."""
        made = os.fstat(file)
        umask = os.umask(0o077)
        os.umask(umask)
        mode = self.mode & ~umask
        if replaced is not None:
            mode &= replaced.st_mode if made.st_gid == replaced.st_gid else without_group(replaced.st_mode)
        # A folder's default ACL gives the group's bits to others.
        if self.groups - {made.st_gid} or has_acl(file):
            mode = without_group(mode)
        # Who has read the manifests may read the table.
        return mode if self.owners <= {made.st_uid} else mode | 0o600


def has_acl(file):
    try:
        return bool(os.getxattr(file, "system.posix_acl_access"))
    except OSError:
        return False


def without_group(mode):
    """With no more for the group than for everybody."""
    return mode & ~(0o070 & ~((mode & 0o007) << 3))


def manifests(pipe, readers):
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
            readers.add(file.fileno())
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
        yield (called, number), row


def batch_of(rows):
    """@param rows  (where it stands, row)"""
    try:
        return pa.RecordBatch.from_pylist([row for _, row in rows], schema=SCHEMA)
    except (ValueError, TypeError, OverflowError, pa.ArrowException):
        for place, row in rows:
            check_types(place, row)
        raise


def check_types(place, row):
    for field in SCHEMA:
        try:
            pa.array([row.get(field.name)], field.type)
        except (ValueError, TypeError, OverflowError, pa.ArrowException) as error:
            raise ValueError("%s: line %d: %s: %s" % (*place, field.name, error))


def write(writer, readers):
    rows, total = [], 0
    for shard, called, lines in manifests(sys.stdin.buffer, readers):
        for row in rows_of(shard, called, lines):
            rows.append(row)
            if len(rows) == BATCH_ROWS:
                writer.write_batch(batch_of(rows))
                total += len(rows)
                rows = []
    if rows:
        writer.write_batch(batch_of(rows))
    return total + len(rows)


MAX_LINKS = 40  # as many as the kernel follows
PROC_ROOT = "/proc"


def find_place(path, stack):
    """(folder, name) that `path` leads to, the folder held open. As the program's other files, through
    links of our own or of root's alone: another user's would have us write where he likes."""
    rest, folder = path, None
    for _ in range(MAX_LINKS):
        parent, name = os.path.split(rest.rstrip("/") or "/")
        if name in ("", ".", ".."):
            raise OSError("%s: is a folder" % path)
        folder = os.open(parent or ".", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
        stack.callback(os.close, folder)
        facts = facts_of(name, folder)
        if facts is None or stat.S_ISREG(facts.st_mode):
            return folder, name
        if not stat.S_ISLNK(facts.st_mode) or facts.st_dev == os.stat(PROC_ROOT).st_dev:
            raise OSError("%s: is no regular file; accepted: a file, or a name that is free" % path)
        if facts.st_uid not in (0, os.geteuid()):
            raise OSError("%s: is a link that user %d owns; accepted: files, and links of one's own or "
                          "of root's" % (path, facts.st_uid))
        rest = os.readlink(name, dir_fd=folder)
    raise OSError("%s: links lead in a circle" % path)


def facts_of(name, folder):
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def write_table(folder, name, temporary):
    """Writes a file of another name, and gives it its own. @return how many rows it has"""
    readers = Readers()
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with open(os.open(temporary, flags, 0o600, dir_fd=folder), "wb") as file:
        # A batch that resumes deletes such files where nobody has locked them.
        with contextlib.suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)
        with parquet.ParquetWriter(file, SCHEMA, compression="zstd") as writer:
            total = write(writer, readers)
        file.flush()
        replaced = facts_of(name, folder)
        if replaced is not None and not stat.S_ISREG(replaced.st_mode):
            raise OSError("%s: is no regular file any more" % name)
        if replaced is not None and readers.mode & 0o004:
            for owner in ((replaced.st_uid, -1), (-1, replaced.st_gid)):
                with contextlib.suppress(OSError):
                    os.fchown(file.fileno(), *owner)
        os.fchmod(file.fileno(), readers.mode_of(file.fileno(), replaced))
        os.fsync(file.fileno())
        os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    return total


def main(path):
    temporary = ".framewire-%s.tmp" % secrets.token_hex(16)
    # A report that fails ends this so, and nothing is to be left of it.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: sys.exit(1))
    with contextlib.ExitStack() as stack:
        try:
            folder, name = find_place(path, stack)
            try:
                total = write_table(folder, name, temporary)
            finally:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(temporary, dir_fd=folder)
        except (OSError, ValueError, OverflowError, pa.ArrowException) as error:
            fail("--parquet: %s" % error, 1)
    sys.stderr.write("framewire: %d rows written to %s\n" % (total, path))


main(sys.argv[1])
