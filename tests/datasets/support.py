"""What the tests of data sets share: the program, small pictures, shards as Python's tarfile reads them."""

import json
import os
import pathlib
import shutil
import site
import subprocess
import sys
import tarfile
import unittest

SKIPPED = 77


def use_packages():
    """Finds the packages of the environment that FRAMEWIRE_CLUSTERS_VENV names, of this Python's version."""
    venv = os.environ.get("FRAMEWIRE_CLUSTERS_VENV")
    if venv:
        version = "python%d.%d" % sys.version_info[:2]
        site.addsitedir(os.path.join(venv, "lib", version, "site-packages"))


class Case(unittest.TestCase):
    """A folder of its own for each test, and the program on one picture in several sizes."""

    program = ""
    picture = ""
    work = pathlib.Path()

    def setUp(self):
        self.folder = self.work / self.id().rsplit(".", 1)[-1]
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)

    def run_program(self, *arguments, code=0, **options):
        """Runs it in the test's folder. @return what it printed, and what it said"""
        done = subprocess.run([self.program, *map(str, arguments)], capture_output=True, text=True,
                              cwd=self.folder, timeout=120, check=False, **options)
        if code is not None:
            self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout, done.stderr

    def batch(self, *arguments, **options):
        """The summary of a batch."""
        return json.loads(self.run_program("batch", *arguments, "--json", **options)[0])

    @classmethod
    def small_picture(cls, width):
        """The sample, so many pixels wide; made once."""
        path = cls.work / f"picture-{width}.jpg"
        if not path.exists():
            cls.work.mkdir(parents=True, exist_ok=True)
            subprocess.run([cls.program, "resize", cls.picture, path, "--size", f"{width}x"],
                           check=True, capture_output=True)
        return path.read_bytes()

    def write(self, name, content):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def tree(self, name):
        """Contents of all files below a folder, by name."""
        root = self.folder / name
        return {str(path.relative_to(root)): path.read_bytes()
                for path in sorted(root.rglob("*")) if path.is_file()}

    def assert_same(self, found, expected):
        """Contents by name; a difference of bytes is told by names alone."""
        self.assertEqual(sorted(found), sorted(expected))
        self.assertEqual([name for name in found if found[name] != expected[name]], [])

    def members(self, shard):
        """Names and contents of a shard, in order."""
        with tarfile.open(self.folder / shard) as archive:
            return [(member.name, archive.extractfile(member).read()) for member in archive]

    def rows(self, manifest):
        text = (self.folder / manifest).read_text()
        return [json.loads(line) for line in text.splitlines()]


def main(description):
    """Runs the tests of the calling script: usage: SCRIPT FRAMEWIRE PICTURE.JPG WORK_DIR [TEST…]"""
    if len(sys.argv) < 4:
        sys.exit(description)
    Case.program = os.path.abspath(sys.argv[1])
    Case.picture = os.path.abspath(sys.argv[2])
    Case.work = pathlib.Path(sys.argv[3]).resolve()
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]], verbosity=2)
