#!/usr/bin/env python3
"""framewire report --parquet: usage: parquet_test.py FRAMEWIRE PICTURE.JPG WORK_DIR [TEST…]

Without pyarrow, only what is said of its absence is tested; the rest says skipped.
"""

import json
import os
import pathlib
import subprocess
import sys
import time
import unittest

import support

support.use_packages()
try:
    import pyarrow.parquet as parquet
except ImportError:
    parquet = None


class Parquet(support.Case):
    def setUp(self):
        super().setUp()
        for i in range(30):
            self.write(f"photos/{i:03}.jpg", self.small_picture(320 + 8 * (i % 5)))
        self.write("photos/bad.jpg", "no JPEG")
        (self.folder / "photos" / os.fsdecode(b"odd\xff.jpg")).write_bytes(self.small_picture(320))
        self.batch("photos", "shards/%04d.tar", "--pack", "64K", "--size", "200x", code=1)

    def python(self, *options):
        """This Python, with its packages or without any."""
        path = self.write("python", f"#!/bin/sh\nexec {sys.executable} {' '.join(options)} \"$@\"\n")
        path.chmod(0o755)
        venv = os.environ.get("FRAMEWIRE_CLUSTERS_VENV")
        if venv and not options:
            return os.path.join(venv, "bin/python")
        return str(path)

    def report(self, python, code):
        return self.run_program("report", "shards", "--json", "--parquet", "rows.parquet", code=code,
                                env={**os.environ, "FRAMEWIRE_PYTHON": python})

    @unittest.skipIf(parquet is None, "pyarrow is not installed")
    def test_it_has_every_row(self):
        out, said = self.report(self.python(), 1)
        self.assertIn("32 rows written to rows.parquet", said)
        self.assertEqual(json.loads(out)["ok"], 31)
        rows = parquet.read_table(self.folder / "rows.parquet").to_pylist()
        expected = [row for path in sorted((self.folder / "shards").glob("*.jsonl"))
                    for row in self.rows(f"shards/{path.name}")[:-1]]
        self.assertEqual(len(rows), 32)
        for row, told in zip(rows, expected):
            for key in ("name", "input", "output", "status", "error_class", "message", "bytes_in",
                        "mtime_ns", "bytes_out", "hash", "codec", "original_kept", "ms", "options_hash"):
                self.assertEqual(row[key], told[key], key)
            self.assertEqual(row["out_width"], told["out"] and told["out"]["w"])
            self.assertEqual(row["name_hex"], told.get("name_hex"))
        self.assertEqual({row["shard"] for row in rows},
                         {path.name for path in (self.folder / "shards").glob("*.tar")})
        self.assertEqual(list(self.folder.glob("rows.parquet*")), [self.folder / "rows.parquet"])

    @unittest.skipIf(parquet is None, "pyarrow is not installed")
    def test_a_damaged_manifest_leaves_the_file_as_it_was(self):
        self.write("rows.parquet", "PAR1 before")
        manifest = self.folder / "shards/0000.tar.jsonl"
        manifest.write_text("{no json\n" + manifest.read_text())
        _, said = self.report(self.python(), 3)
        self.assertIn("0000.tar.jsonl: line 1 is no JSON", said)
        self.assertEqual((self.folder / "rows.parquet").read_text(), "PAR1 before")
        self.assertEqual(len(list(self.folder.glob("rows.parquet*"))), 1)
        self.assertEqual(list(self.folder.glob(".framewire-*")), [])

    @unittest.skipIf(parquet is None, "pyarrow is not installed")
    def test_ended_halfway_it_leaves_nothing(self):
        script = pathlib.Path(__file__).resolve().parents[2] / "apps/framewire/commands/report/to_parquet.py"
        writer = subprocess.Popen([self.python(), "-c", script.read_text(), "rows.parquet"], cwd=self.folder,
                                  stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        while not list(self.folder.glob(".framewire-*.tmp")):
            self.assertIsNone(writer.poll())
            time.sleep(0.005)
        writer.terminate()
        self.assertEqual(writer.wait(60), 1)
        self.assertEqual(list(self.folder.glob(".framewire-*")) + list(self.folder.glob("rows.parquet*")), [])
        writer.stdin.close()
        writer.stderr.close()

    @unittest.skipIf(parquet is None, "pyarrow is not installed")
    def test_rows_of_strangers_are_said(self):
        (self.folder / "shards/0000.tar.jsonl").write_text('{"status": "ok", "in": [1], "out": "x"}\n')
        for row in ('{"status": 7}', '{"status": "ok", "bytes_in": 1e400}', '{"status": "ok", "mtime_ns": '
                    + "9" * 40 + "}", "[" * 100_000):
            manifest = self.folder / "shards/0001.tar.jsonl"
            record = manifest.read_text().splitlines()[-1]
            manifest.write_text(row + "\n" + record + "\n")
            _, said = self.report(self.python(), 3)
            self.assertIn("framewire: --parquet: ", said)
            self.assertNotIn("Traceback", said)
            self.assertEqual(list(self.folder.glob("rows.parquet*")), [])

    @unittest.skipIf(parquet is None, "pyarrow is not installed")
    def test_a_value_of_another_type_is_named(self):
        manifest = self.folder / "shards/0001.tar.jsonl"
        lines = manifest.read_text().splitlines()
        for key, value in (("message", 7), ("bytes_in", "many"), ("bytes_in", -1), ("warnings", [7])):
            row = {**json.loads(lines[1]), key: value}
            manifest.write_text("\n".join([lines[0], json.dumps(row), *lines[2:]]) + "\n")
            _, said = self.report(self.python(), 3)
            self.assertIn(f"0001.tar.jsonl: line 2: {key}: ", said)

    @unittest.skipIf(parquet is None, "pyarrow is not installed")
    def test_links_are_followed_and_those_of_others_refused(self):
        (self.folder / "rows.parquet").symlink_to("elsewhere/table.parquet")
        (self.folder / "elsewhere").mkdir()
        self.report(self.python(), 1)
        self.assertTrue((self.folder / "rows.parquet").is_symlink())
        self.assertEqual(parquet.read_table(self.folder / "elsewhere/table.parquet").num_rows, 32)
        self.assertEqual(os.listdir(self.folder / "elsewhere"), ["table.parquet"])
        if os.geteuid() == 0:
            os.chown(self.folder / "rows.parquet", 12345, 12345, follow_symlinks=False)
            (self.folder / "elsewhere/table.parquet").write_text("PAR1 before")
            _, said = self.report(self.python(), 3)
            self.assertIn("a link that user 12345 owns", said)
            self.assertEqual((self.folder / "elsewhere/table.parquet").read_text(), "PAR1 before")

    @unittest.skipIf(parquet is None, "pyarrow is not installed")
    def test_nobody_can_plant_its_temporary(self):
        """A program in front of Python, with its process id, plants what that would have written through."""
        self.write("victim", "mine")
        plant = self.write("plant", "#!/bin/sh\nln -s victim rows.parquet.$$.tmp\n"
                                    f"exec {self.python()} \"$@\"\n")
        plant.chmod(0o755)
        self.report(str(plant), 1)
        self.assertEqual((self.folder / "victim").read_text(), "mine")
        self.assertFalse((self.folder / "rows.parquet").is_symlink())

    @unittest.skipIf(parquet is None, "pyarrow is not installed")
    def test_nobody_may_read_it_who_may_not_read_the_manifests(self):
        table = self.folder / "rows.parquet"
        mode = lambda: table.stat().st_mode & 0o7777
        manifests = sorted((self.folder / "shards").glob("*.jsonl"))
        for path in manifests:
            path.chmod(0o644)
        mask = os.umask(0o022)
        try:
            self.report(self.python(), 1)
            self.assertEqual(mode(), 0o644)
            table.chmod(0o600)  # what is replaced keeps others out, too
            self.report(self.python(), 1)
            self.assertEqual(mode(), 0o600)
            table.unlink()
            manifests[-1].chmod(0o600)
            self.report(self.python(), 1)
            self.assertEqual(mode(), 0o600)
            table.unlink()
            manifests[-1].chmod(0o644)
            os.umask(0o077)
            self.report(self.python(), 1)
            self.assertEqual(mode(), 0o600)
        finally:
            os.umask(mask)

    def test_what_is_no_regular_file_is_refused_first(self):
        os.mkfifo(self.folder / "rows.parquet")
        _, said = self.report("/nonexistent/python", 2)
        self.assertIn("rows.parquet: is no regular file, and is not replaced; accepted: ", said)
        (self.folder / "rows.parquet").unlink()
        (self.folder / "rows.parquet").mkdir()
        self.assertIn("is no regular file", self.report("/nonexistent/python", 2)[1])

    def test_it_says_what_it_lacks(self):
        _, said = self.report("/nonexistent/python", 3)
        self.assertIn("--parquet needs Python with pyarrow", said)
        _, said = self.report(self.python("-I", "-S"), 3)
        self.assertIn("python3 -m pip install pyarrow", said)
        self.assertFalse((self.folder / "rows.parquet").exists())


if __name__ == "__main__":
    support.main(__doc__)
