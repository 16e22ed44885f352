#!/usr/bin/env python3
"""The scripts that measure GPUs, on the CPU.

usage: gpu_scripts_test.py FRAMEWIRE PICTURE.JPG WORK_DIR [TEST…]

What they measure is not looked at, only what they do with it, and with a program that fails.
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import unittest
import xml.etree.ElementTree

BENCH = pathlib.Path(__file__).resolve().parents[2] / "bench"
sys.dont_write_bytecode = True
sys.path.insert(0, str(BENCH))
import gpu_bench  # noqa: E402
import line_plot  # noqa: E402

SVG = "{http://www.w3.org/2000/svg}"
# Inputs that are made quickly; the windows are short, and the median is one of two.
QUICK = ("--codec", "turbo", "--seconds", "0.1", "--input-size", "96x64", "--size", "48x32",
         "--files", "100", "--mix-count", "3", "--gpus", "1,2")
# A program that passes everything on, unless a word of its command line is the one it fails at.
FAKE = """#!{python}
import os, sys, time
if any({word!r} in one for one in sys.argv[1:]) and "bench" in sys.argv:
    open({pid!r}, "w").write(str(os.getpid()))
    if {hangs}:
        time.sleep(600)
    print("framewire: cannot do this", file=sys.stderr)
    sys.exit(3)
os.execv({program!r}, [{program!r}, *sys.argv[1:]])
"""


class Scripts(unittest.TestCase):
    program = picture = work = None

    def setUp(self):
        self.folder = self.work / self.id().rsplit(".", 1)[-1]
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self.photos = self.folder / "photos"
        self.photos.mkdir()
        shutil.copy(self.picture, self.photos / "a.jpg")

    def command(self, script, *words):
        return [sys.executable, "-B", str(BENCH / script), *map(str, words)]

    def run_script(self, script, *words, status=0):
        ran = subprocess.run(self.command(script, *words), capture_output=True, text=True,
                             timeout=240, check=False)
        self.assertEqual(ran.returncode, status, ran.stderr)
        return ran

    def fake(self, word, hangs=False):
        """A program that fails, or hangs, where its command line has the word."""
        path = self.folder / "fake"
        path.write_text(FAKE.format(python=sys.executable, word=word, hangs=hangs,
                                    program=str(self.program), pid=str(self.folder / "pid")))
        path.chmod(0o755)
        return path

    def gpus(self, *words, program=None, status=0):
        report = self.folder / "gpus.json"
        ran = self.run_script("gpus.py", program or self.program, self.photos, "--work",
                              self.folder / "work", "--json", report, *QUICK, *words, status=status)
        return ran, json.loads(report.read_text())

    def test_every_row_is_measured_for_every_count(self):
        ran, report = self.gpus("--repeat", "2")
        names = ["alike", "varied", "mix", "mix-baseline", "tenth", "progressive"]
        self.assertEqual([(row["row"], row["gpus"]) for row in report["rows"]],
                         [(name, count) for name in names for count in (1, 2)])
        self.assertEqual(report["failed"], [])
        for row in report["rows"]:
            rate = row["images_per_second"]
            found = sorted(turn["images_per_second"] for turn in row["turns"])
            self.assertEqual(len(found), 2)
            self.assertEqual([rate["min"], rate["max"]], found)
            self.assertAlmostEqual(rate["median"], sum(found) / 2)
            self.assertIn(row["row"], ran.stdout)
            if row["gpus"] == 1 and rate["median"]:
                self.assertEqual(row["ratio_to_one"], 1)
        self.assertIn("at most", ran.stderr)
        share = report["inputs"]["share-10"]
        self.assertEqual(share["files"], 100)

    def test_inputs_are_what_their_names_say_and_are_made_once(self):
        self.gpus("--rows", "alike")
        inputs = self.folder / "work" / "inputs"
        # By a second name the file outlives its replacement, which so cannot get its number.
        first = self.folder / "first.json"
        first.hardlink_to(inputs / "inputs.json")
        for share in gpu_bench.SHARES:
            files = sorted((inputs / f"share-{share}").glob("*.jpg"))
            self.assertEqual(len(files), 100)
            # SOF2: progressive (T.81, B.1.1.3).
            self.assertEqual(sum(b"\xff\xc2" in path.read_bytes() for path in files), share)
        mix = json.loads((inputs / "mix" / "mix.json").read_text())
        self.assertEqual(sorted(path.name for path in (inputs / "mix-baseline").iterdir()),
                         sorted(name for name, kind in mix.items() if not kind["progressive"]))
        self.gpus("--rows", "alike")
        self.assertTrue(first.samefile(inputs / "inputs.json"))
        self.gpus("--rows", "alike", "--mix-count", "2")
        self.assertFalse(first.samefile(inputs / "inputs.json"))

    def test_a_folder_of_somebody_else_is_left_alone(self):
        theirs = self.folder / "work" / "inputs" / "mine.jpg"
        theirs.parent.mkdir(parents=True)
        theirs.write_text("mine")
        ran = self.run_script("gpus.py", self.program, self.photos, "--work", self.folder / "work",
                              *QUICK, status=1)
        self.assertIn("accepted: another --work", ran.stderr)
        self.assertEqual(theirs.read_text(), "mine")

    def test_a_row_that_fails_does_not_stop_the_others(self):
        ran, report = self.gpus("--repeat", "1", "--rows", "alike,tenth,progressive",
                                program=self.fake("share-10"), status=1)
        # share-100 has the word in it, too.
        self.assertEqual({row["row"] for row in report["rows"]}, {"alike"})
        self.assertEqual({(told["row"], told["gpus"], told["turn"]) for told in report["failed"]},
                         {(name, count, 1) for name in ("tenth", "progressive") for count in (1, 2)})
        for told in report["failed"]:
            self.assertIn("ended with 3: framewire: cannot do this", told["error"])
        self.assertIn("FAILED: tenth, 2 threads, turn 1", ran.stderr)

    def test_what_hangs_ends_at_the_limit(self):
        self.gpus("--rows", "alike", "--repeat", "1")
        start = time.monotonic()
        _, report = self.gpus("--rows", "alike,tenth", "--repeat", "1", "--limit", "14", "--gpus",
                              "1", program=self.fake("share-0", hangs=True), status=1)
        self.assertLess(time.monotonic() - start, 60)
        self.assertEqual(report["rows"], [])
        self.assertIn("and was ended", report["failed"][0]["error"])
        self.assertIn("accepted: a longer --limit", report["failed"][1]["error"])

    def test_the_program_ends_with_the_script(self):
        self.gpus("--rows", "alike", "--repeat", "1")
        process = subprocess.Popen(
            self.command("gpus.py", self.fake("share-0", hangs=True), self.photos, "--work",
                         self.folder / "work", *QUICK), stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        pid = self.folder / "pid"
        end = time.monotonic() + 60
        while not (pid.exists() and pid.read_text()) and time.monotonic() < end:
            time.sleep(0.05)
        child = int(pid.read_text())
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(120), 128 + signal.SIGTERM)
        with self.assertRaises(ProcessLookupError):
            os.kill(child, 0)

    def test_wrong_options_say_what_is_accepted(self):
        for words, told in ((("--gpus", "0"), "--gpus: found '0'; accepted: numbers from 1 to 64"),
                            (("--gpus", "1,x"), "--gpus: found '1,x'"),
                            (("--seconds", "nan"), "--seconds: found 'nan'"),
                            (("--size", "480x"), "--size: found '480x'; accepted: WIDTHxHEIGHT"),
                            (("--rows", "alike,x"), "--rows: found 'alike,x'; accepted: alike, "),
                            (("--json", "none/x.json"), "--json: found no folder")):
            ran = self.run_script("gpus.py", self.program, self.photos, "--work", self.folder, *words,
                                  status=2)
            self.assertIn(told, ran.stderr)

    def test_sweeps_are_measured_and_drawn(self):
        out = self.folder / "out"
        self.run_script("gpu_sweeps.py", self.program, self.photos, out, *QUICK, "--repeat", "2",
                        "--rate-seconds", "2.4", "--rates", "100,200", "--memory-seconds", "2.2")
        report = json.loads((out / "sweeps.json").read_text())
        self.assertEqual(report["failed"], [])
        self.assertEqual({(row["share"], row["gpus"]) for row in report["shares"]},
                         {(share, count) for share in gpu_bench.SHARES for count in (1, 2)})
        self.assertEqual([(row["gpus"], row["rate"]) for row in report["rates"]],
                         [(1, 100), (1, 200), (2, 100), (2, 200)])
        for row in report["rates"]:
            self.assertIn("p50", row)
            self.assertEqual("p99" in row, row["answers_least"] >= 100)
            self.assertNotIn("p99.9", row, "of fewer than 1,000 answers it would be the maximum")
        memory = report["memory"]
        self.assertEqual(memory["gpus"], 2)
        self.assertGreaterEqual(len(memory["rows"]), 3)
        self.assertGreater(memory["images"], 0)

        self.run_script("gpu_plots.py", out / "sweeps.json", out / "plots")
        drawn = {path.name: xml.etree.ElementTree.parse(path) for path in (out / "plots").iterdir()}
        self.assertEqual(sorted(drawn), ["gpu-latency-by-rate.svg", "gpu-memory-over-time.svg",
                                         "gpu-rate-by-share.svg"])
        shares = drawn["gpu-rate-by-share.svg"]
        self.assertEqual(len(shares.findall(f"{SVG}circle")), 12, "a point a share and count")
        texts = [text.text for text in shares.iter(f"{SVG}text")]
        for text in ("0", "1", "3", "10", "30", "100", "1 thread", "2 threads"):
            self.assertIn(text, texts)
        texts = [text.text for text in drawn["gpu-latency-by-rate.svg"].iter(f"{SVG}text")]
        self.assertIn("p50, 2 threads", texts)
        texts = [text.text for text in drawn["gpu-memory-over-time.svg"].iter(f"{SVG}text")]
        self.assertTrue(any(text.startswith("process ") for text in texts), texts)

    def test_sweeps_tell_what_failed_and_go_on(self):
        out = self.folder / "out"
        ran = self.run_script("gpu_sweeps.py", self.fake("share-3"), self.photos, out, *QUICK,
                              "--gpus", "1", "--repeat", "1", "--only", "shares", status=1)
        report = json.loads((out / "sweeps.json").read_text())
        self.assertEqual([row["share"] for row in report["shares"]], [0, 1, 10, 100])
        self.assertEqual([told["row"] for told in report["failed"]],
                         ["3 % progressive", "30 % progressive"])
        self.assertIn("FAILED: 3 % progressive", ran.stderr)

    def test_plots_refuse_what_is_no_report(self):
        for text in ("", "[]", '{"rows": []}'):
            (self.folder / "x.json").write_text(text)
            ran = self.run_script("gpu_plots.py", self.folder / "x.json", self.folder / "plots",
                                  status=1)
            self.assertIn("accepted: sweeps.json", ran.stderr)
        (self.folder / "x.json").write_text('{"kind": "gpu_sweeps", "shares": []}')
        ran = self.run_script("gpu_plots.py", self.folder / "x.json", self.folder / "x.json",
                              self.folder / "plots", status=1)
        self.assertIn("found shares in another report", ran.stderr)

    def test_axes_hold_their_values(self):
        for values, ticks in (([115_300, 22_600], [0, 20_000, 40_000, 60_000, 80_000, 100_000,
                                                   120_000]), ([0.31], [0, 0.1, 0.2, 0.3, 0.4]),
                              ([60], [0, 10, 20, 30, 40, 50, 60])):
            axis = line_plot.LinearAxis(values, 0, 1)
            self.assertEqual([round(tick, 9) for tick in axis.ticks()], ticks)
            self.assertLessEqual(axis.at(max(values)), 1 + 1e-9)
        even = line_plot.EvenAxis([0, 1, 100, 1], 10, 20)
        self.assertEqual([even.at(value) for value in (0, 1, 100)], [10, 15, 20])


if __name__ == "__main__":
    Scripts.program = pathlib.Path(sys.argv[1]).resolve()
    Scripts.picture = pathlib.Path(sys.argv[2]).resolve()
    Scripts.work = pathlib.Path(sys.argv[3]).resolve()
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
