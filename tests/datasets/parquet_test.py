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

    @unittest.skipIf(parquet is None, "pyarrow is not installed")
    def test_ended_halfway_it_leaves_nothing(self):
        script = pathlib.Path(__file__).resolve().parents[2] / "apps/framewire/commands/report/to_parquet.py"
        writer = subprocess.Popen([self.python(), "-c", script.read_text(), "rows.parquet"], cwd=self.folder,
                                  stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        while not list(self.folder.glob("rows.parquet*")):
            self.assertIsNone(writer.poll())
            time.sleep(0.005)
        writer.terminate()
        self.assertEqual(writer.wait(60), 1)
        self.assertEqual(list(self.folder.glob("rows.parquet*")), [])
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

    def test_it_says_what_it_lacks(self):
        _, said = self.report("/nonexistent/python", 3)
        self.assertIn("--parquet needs Python with pyarrow", said)
        _, said = self.report(self.python("-I", "-S"), 3)
        self.assertIn("python3 -m pip install pyarrow", said)
        self.assertFalse((self.folder / "rows.parquet").exists())


if __name__ == "__main__":
    support.main(__doc__)
