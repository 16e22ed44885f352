#!/usr/bin/env python3
"""Files to shards and back: usage: packing_test.py FRAMEWIRE PICTURE.JPG WORK_DIR [TEST…]

Shards are read by Python's own tarfile, and by WebDataset where it is installed.
"""

import io
import json
import os
import resource
import signal
import stat
import subprocess
import tarfile
import time
import unittest

import support

support.use_packages()
SIZE = ("--size", "48x")
PATTERN = "shards/%06d.tar"


class Packing(support.Case):
    def photos(self, count=12, width=320, folder="photos", first=0):
        """Pictures that differ, with text beside each, in two folders."""
        for i in range(first, first + count):
            name = f"{folder}/{'v1.0' if i % 3 else 'b'}/{i:04}"
            self.write(name + ".jpg", self.small_picture(width + 8 * (i % 7)))
            self.write(name + ".txt", f"caption {i}")

    def pack(self, *more, **options):
        return self.batch("photos", PATTERN, *SIZE, "--pack", "64K", *more, **options)

    def shards(self, folder="shards"):
        return sorted(path.name for path in (self.folder / folder).glob("*.tar"))

    def packed(self, folder="shards"):
        return [member for shard in self.shards(folder) for member in self.members(f"{folder}/{shard}")]

    def test_shards_hold_in_order_what_a_batch_makes(self):
        self.photos(40)
        self.batch("photos", "plain", "--size", "160x")
        summary = self.batch("photos", PATTERN, "--size", "160x", "--pack", "64K")
        self.assertEqual(summary["ok"], 40)
        self.assertEqual(summary["skipped"], 0)
        shards = self.shards()
        self.assertGreater(len(shards), 2)
        self.assertEqual(shards, [f"{i:06}.tar" for i in range(len(shards))])
        self.assertEqual(summary["pack"]["shards"], len(shards))
        expected = sorted((name, content) for name, content in self.tree("plain").items())
        self.assert_same(dict(self.packed()), dict(expected))
        self.assertEqual([name for name, _ in self.packed()], [name for name, _ in expected])
        sizes = [(self.folder / "shards" / shard).stat().st_size for shard in shards]
        self.assertLessEqual(max(sizes), 64 * 1024)
        self.assertGreater(min(sizes[:-1]), 48 * 1024)
        for shard, size in zip(shards, sizes):
            *rows, record = self.rows(f"shards/{shard}.jsonl")
            self.assertEqual([row["name"] for row in rows],
                             [name for name, _ in self.members(f"shards/{shard}")])
            self.assertEqual(rows[0]["output"], f"shards/{shard}: {rows[0]['name']}")
            self.assertEqual((record["shard"], record["bytes_out"], record["samples"], record["ok"]),
                             (shard, size, len(rows), len(rows)))
            self.assertEqual(record["bytes_in"], sum(row["bytes_in"] for row in rows))
        self.assertIn("40 pictures resized, 0 failed", self.run_program("report", "shards")[0])

    def test_shards_do_not_depend_on_jobs(self):
        self.photos(40)
        self.pack("--jobs", "1", "--sidecars", "txt")
        once = self.tree("shards")
        self.batch("photos", "again/%06d.tar", *SIZE, "--pack", "64K", "--jobs", "7", "--sidecars",
                   "txt")
        again = self.tree("again")
        self.assert_same({name: once[name] for name in once if name.endswith(".tar")},
                         {name: again[name] for name in again if name.endswith(".tar")})

    def test_sidecars_travel_with_their_picture(self):
        self.photos(5)
        self.write("photos/b/0003.json", '{"i": 3}')
        self.write("photos/b/lone.txt", "no picture has this name")
        summary = self.pack("--sidecars", "json,txt,cls")
        self.assertEqual(summary["pack"]["sidecars"], 6)
        names = [name for name, _ in self.packed()]
        self.assertEqual(names, ["b/0000.jpg", "b/0000.txt", "b/0003.jpg", "b/0003.json", "b/0003.txt",
                                 "v1.0/0001.jpg", "v1.0/0001.txt", "v1.0/0002.jpg", "v1.0/0002.txt",
                                 "v1.0/0004.jpg", "v1.0/0004.txt"])
        self.assertIn(("b/0003.txt", b"caption 3"), self.packed())
        self.assertEqual(self.rows("shards/000000.tar.jsonl")[-1]["copied"], 6)

    def test_a_sidecar_that_cannot_be_read_fails_its_picture(self):
        self.photos(2)
        (self.folder / "photos/b/0000.cls").mkdir()
        _, said = self.run_program("batch", "photos", PATTERN, *SIZE, "--pack", "64K", "--sidecars",
                                   "cls", code=1)
        self.assertIn("0000.cls", said)
        self.assertEqual([name for name, _ in self.packed()], ["v1.0/0001.jpg"])
        for bad in ("", ".txt", "a/b", "jpg", "txt,txt"):
            self.run_program("batch", "photos", "x/%d.tar", "--pack", "64K", f"--sidecars={bad}", code=2)

    def test_keys_are_unique_as_webdataset_cuts_them(self):
        picture = self.small_picture(320)
        for name in ("a.v1.jpg", "a.v2.jpg", "d.x/b.jpg", "d.x/b.jpeg", "d.x/c.jpg", ".hidden.jpg"):
            self.write("photos/" + name, picture)
        _, said = self.run_program("batch", "photos", PATTERN, *SIZE, "--pack", "64K", code=1)
        self.assertEqual([name for name, _ in self.packed()], ["a.v1.jpg", "d.x/b.jpeg", "d.x/c.jpg"])
        self.assertIn("a.v2.jpg: has the key 'a'", said)
        self.assertIn("photos/d.x/b.jpg: has the key 'd.x/b'", said)
        self.assertIn(".hidden.jpg: has no key", said)
        self.batch("photos", "other/%d.tar", *SIZE, "--pack", "64K", "--key-dots", "underscore", code=1)
        self.assertEqual([name for name, _ in self.packed("other")],
                         ["_hidden.jpg", "a_v1.jpg", "a_v2.jpg", "d.x/b.jpeg", "d.x/c.jpg"])
        # What was refused is in the manifest, and is not tried again unless that is asked for.
        self.assertEqual(self.pack("--resume")["failed"], 0)
        self.assertEqual(self.pack("--resume", "--retry", "failed", code=1)["failed"], 3)
        self.assertEqual(self.shards(), ["000000.tar"])

    def test_failed_pictures_have_rows_and_no_members(self):
        self.photos(6)
        self.write("photos/b/0000.jpg", "no JPEG at all")
        self.write("photos/z.jpg", "nor this")
        summary = self.pack("--sidecars", "txt", code=1)
        self.assertEqual((summary["ok"], summary["failed"]), (5, 2))
        self.assertNotIn("b/0000.txt", [name for name, _ in self.packed()])
        *rows, record = self.rows("shards/000000.tar.jsonl")
        self.assertEqual([row["status"] for row in rows], ["failed"] + ["ok"] * 5 + ["failed"])
        self.assertEqual((record["failed"], record["dropped"], record["samples"]), (2, 2, 5))
        out, _ = self.run_program("report", "shards", "--retry-list", code=1)
        self.assertEqual(out, "photos\n")
        self.write("photos/b/0000.jpg", self.small_picture(320))
        resume = ("--resume", "--sidecars", "txt")
        self.assertEqual(self.pack(*resume, code=0)["ok"], 0)
        self.assertEqual(self.pack(*resume, "--retry", "failed", code=1)["ok"], 1)
        self.assertEqual([name for name, _ in self.members("shards/000001.tar")],
                         ["b/0000.jpg", "b/0000.txt"])
        # Each picture counts once, as what became of it last.
        report = lambda code: json.loads(self.run_program("report", "shards", "--json", code=code)[0])
        said = report(1)
        self.assertEqual((said["ok"], said["failed"], said["dropped"]), (6, 1, 1))
        self.assertEqual(said["errors"], {"invalid_input": 1})
        self.write("photos/z.jpg", self.small_picture(320))
        self.assertEqual(self.pack(*resume, "--retry", "failed")["ok"], 1)
        said = report(0)
        self.assertEqual((said["ok"], said["failed"], said["with_failures"]), (7, 0, []))

    def test_resume_goes_on_behind_the_last_shard(self):
        self.photos(20)
        self.pack()
        before = self.tree("shards")
        _, said = self.run_program("batch", "photos", PATTERN, *SIZE, "--pack", "64K", code=2)
        self.assertIn("--resume", said)
        self.photos(7, first=20)
        summary = self.pack("--resume")
        self.assertEqual((summary["ok"], summary["pack"]["unchanged"]), (7, 20))
        after = self.tree("shards")
        self.assert_same({name: after[name] for name in before}, before)
        self.assertEqual(len(after), len(before) + 2)
        names = [name for name, _ in self.packed()]
        self.assertEqual(len(names), 27)
        self.assertEqual(len(set(names)), 27)
        self.assertEqual(self.pack("--resume")["pack"],
                         {"shards": 0, "samples": 0, "sidecars": 0, "unchanged": 27,
                          "failed_before": 0, "put_off": 0})
        self.run_program("batch", "photos", PATTERN, "--size", "32x", "--pack", "64K", "--resume", code=2)
        for more in ("--key-dots", "underscore"), ("--sidecars", "txt"):
            _, said = self.run_program("batch", "photos", PATTERN, *SIZE, "--pack", "64K", "--resume",
                                       *more, code=2)
            self.assertIn("other options", said)
        # A shard that nobody has packed here is neither counted nor replaced.
        self.write("shards/000077.tar", "somebody's")
        _, said = self.run_program("batch", "photos", PATTERN, *SIZE, "--pack", "64K", "--resume", code=2)
        self.assertIn("000077.tar", said)
        self.assertEqual((self.folder / "shards/000077.tar").read_bytes(), b"somebody's")

    def start(self, size, *more):
        """A batch over what is written to its standard input: it is at work until that ends."""
        words = [self.program, "batch", "--files-from", "-", "../" + PATTERN, "--size", size, "--pack", "64K",
                 *more]
        return subprocess.Popen(words, cwd=self.folder / "photos", text=True, stdin=subprocess.PIPE,
                                stderr=subprocess.DEVNULL)

    def names(self):
        return [str(path.relative_to(self.folder / "photos")) + "\n"
                for path in sorted((self.folder / "photos").rglob("*.jpg"))]

    def resumed(self):
        """A batch that makes all that is missing."""
        process = self.start("300x", "--resume", "--sidecars", "txt", "--jobs", "2")
        process.communicate("".join(self.names()))
        self.assertEqual(process.returncode, 0)

    def stop(self, end, shards):
        """Ends a batch that waits for its last picture when there are so many shards."""
        process = self.start("300x", "--resume", "--sidecars", "txt", "--jobs", "2")
        process.stdin.write("".join(self.names()[:-1]))
        process.stdin.flush()
        while len(list((self.folder / "shards").glob("*.tar"))) < shards:
            self.assertIsNone(process.poll())
            time.sleep(0.001)
        process.send_signal(end)
        process.stdin.close()
        self.assertNotEqual(process.wait(), 0)

    def stop_and_resume(self, end):
        self.photos(60, width=600)
        self.resumed()
        whole = {name: content for name, content in self.tree("shards").items() if name.endswith(".tar")}
        self.assertGreater(len(whole), 6)
        for path in (self.folder / "shards").iterdir():
            path.unlink()
        for shards in (0, 1, 3, 5):
            self.stop(end, shards)
        for name, content in self.tree("shards").items():
            if name.endswith(".tar"):
                self.assertTrue(content == whole[name], f"half a shard: {name}")
        self.resumed()
        after = self.tree("shards")
        self.assertEqual({name for name in after if not name.endswith(".jsonl")}, set(whole))
        self.assert_same({name: after[name] for name in whole}, whole)

    def test_killed_and_resumed_it_makes_the_same_shards(self):
        self.stop_and_resume(signal.SIGKILL)

    def test_interrupted_and_resumed_it_makes_the_same_shards(self):
        self.stop_and_resume(signal.SIGINT)

    def test_a_manifest_whose_shard_is_not_there_is_made_again(self):
        self.photos(20)
        self.pack()
        before = self.tree("shards")
        (self.folder / "shards" / self.shards()[-1]).unlink()
        self.pack("--resume")
        after = self.tree("shards")
        self.assert_same({name: after[name] for name in before if name.endswith(".tar")},
                         {name: before[name] for name in before if name.endswith(".tar")})

    def test_no_manifest_of_another_batch_is_replaced(self):
        self.photos(4)
        self.pack("--manifest", "rows")
        rows = self.tree("rows")
        for more in (), ("--resume",):
            _, said = self.run_program("batch", "photos", "other/%06d.tar", *SIZE, "--pack", "64K",
                                       "--manifest", "rows", *more, code=2)
            self.assertIn("is a manifest without its shard", said)
            self.assertEqual(self.tree("rows"), rows)

    def test_what_is_no_manifest_is_not_replaced(self):
        self.photos(4)
        self.write("shards/000000.tar.jsonl", "my own captions\n")
        for more in (), ("--resume",):
            self.run_program("batch", "photos", PATTERN, *SIZE, "--pack", "64K", *more, code=2)
        self.assertEqual((self.folder / "shards/000000.tar.jsonl").read_text(), "my own captions\n")

    def test_a_full_disk_leaves_nothing_half(self):
        self.photos(30, width=600)
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
        self.run_program("batch", "photos", PATTERN, "--size", "600x", "--pack", "1M", code=3,
                         preexec_fn=lambda: (signal.signal(signal.SIGXFSZ, signal.SIG_IGN), limit()))
        self.assertEqual(self.tree("shards"), {})

    def test_one_process_packs_by_a_pattern_and_parts_have_their_own(self):
        self.photos(24, width=800)
        first = self.start("700x", "--jobs", "1")
        claim = self.folder / "shards/.framewire-%d.tar.tmp"
        while not claim.exists():
            self.assertIsNone(first.poll())
            time.sleep(0.001)
        _, said = self.run_program("batch", "photos", PATTERN, "--size", "700x", "--pack", "64K", "--resume",
                                   code=3)
        self.assertIn("another batch packs by this pattern", said)
        first.communicate("".join(self.names()))
        self.assertEqual(first.returncode, 0)
        self.assertFalse(claim.exists())
        for part in ("1", "2"):
            self.batch("photos", f"parts/{part}-%04d.tar", "--size", "700x", "--pack", "64K",
                       "--shard", f"{part}/2")
        self.assert_same(dict(self.packed("parts")), dict(self.packed()))
        self.assertEqual(len(self.packed("parts")), len(self.packed()))

    def test_nobody_reads_a_shard_who_may_not_read_its_pictures(self):
        self.photos(3)
        os.umask(0o022)
        os.chmod(self.folder / "photos/b/0000.txt", 0o640)
        os.chmod(self.folder / "photos/v1.0/0001.jpg", 0o604)
        self.pack("--sidecars", "txt")
        for name in ("000000.tar", "000000.tar.jsonl"):
            mode = stat.S_IMODE((self.folder / "shards" / name).stat().st_mode)
            self.assertEqual(mode, 0o600, f"{name}: {mode:o}")

    def test_odd_patterns_and_options_are_refused(self):
        self.photos(2)
        for pattern in ("shards", "shards/x.tar", "s%d/x-%d.tar", "shards/%d-%d.tar", "shards/%x.tar",
                        "shards/%0d.tar", "shards/%099d.tar", "shards/%d.zip", "shards/%"):
            _, said = self.run_program("batch", "photos", pattern, "--pack", "64K", code=2)
            self.assertIn("%06d", said, pattern)
        self.run_program("batch", "photos", PATTERN, "--pack", "1", code=2)
        self.run_program("batch", "photos", PATTERN, code=2)
        for option in ("--in-place", "--unpack", "--failed-samples=drop"):
            self.run_program("batch", "photos", PATTERN, "--pack", "64K", option, code=2)
        self.run_program("batch", "photos", "out", "--unpack", code=2)
        self.run_program("batch", "photos", "out", "--sidecars", "txt", code=2)
        self.pack()
        self.run_program("batch", "shards/000000.tar", "x/%d.tar", "--pack", "64K", code=2)

    def test_lists_and_single_files_are_packed_too(self):
        self.photos(4)
        names = sorted(str(path.relative_to(self.folder)) for path in
                       (self.folder / "photos").rglob("*.jpg"))
        self.write("list", "\n".join(reversed(names)))
        self.batch("@list", PATTERN, *SIZE, "--pack", "64K")
        self.assertEqual([name for name, _ in self.packed()], list(reversed(names)))
        self.batch(*names, "files/%d.tar", *SIZE, "--pack", "64K")
        self.assertEqual([name for name, _ in self.packed("files")],
                         [name.removeprefix("photos/") for name in names])

    def test_webdataset_reads_it(self):
        try:
            import webdataset  # pylint: disable=import-outside-toplevel
        except ImportError:
            self.skipTest("webdataset is not installed")
        self.photos(9)
        self.pack("--sidecars", "txt")
        urls = [str(self.folder / "shards" / shard) for shard in self.shards()]
        samples = list(webdataset.WebDataset(urls, shardshuffle=False))
        self.assertEqual(len(samples), 9)
        for sample in samples:
            number = int(sample["__key__"].rsplit("/", 1)[1])
            self.assertEqual(sample["txt"].decode(), f"caption {number}")
            self.assertTrue(sample["jpg"].startswith(b"\xff\xd8"))


class Unpacking(support.Case):
    def shard(self, members, name="in.tar", **kind):
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w", **kind) as archive:
            for member, content in members:
                header = tarfile.TarInfo(member)
                header.mtime = 1_600_000_000
                if isinstance(content, bytes):
                    header.size = len(content)
                    archive.addfile(header, io.BytesIO(content))
                else:
                    header.type, header.linkname = content
                    archive.addfile(header)
        return self.write(name, buffer.getvalue())

    def test_back_and_forth(self):
        for i in range(12):
            self.write(f"photos/d/{i}.jpg", self.small_picture(320 + 8 * i))
            self.write(f"photos/d/{i}.txt", f"caption {i}")
        self.batch("photos", PATTERN, "--pack", "64K", "--sidecars", "txt")
        self.assertGreater(len(list((self.folder / "shards").glob("*.tar"))), 1)
        last = len(list((self.folder / "shards").glob("*.tar"))) - 1
        summary = self.batch(f"shards/{{000000..{last:06}}}.tar", "back", "--unpack", "--sidecars", "txt")
        self.assertEqual(summary["ok"], 12)
        # Each way encodes once.
        self.batch("photos", "once")
        self.batch("once", "twice")
        texts = {name: content for name, content in self.tree("photos").items() if ".txt" in name}
        self.assert_same(self.tree("back"), {**self.tree("twice"), **texts})
        self.batch(f"shards/{{000000..{last:06}}}.tar", "pictures", "--unpack")
        self.assert_same(self.tree("pictures"), self.tree("twice"))

    def test_names_from_strangers_stay_below_the_folder(self):
        picture = self.small_picture(320)
        self.shard([("./a.jpg", picture), ("../up.jpg", picture), ("/abs.jpg", picture),
                    ("d/../e.jpg", picture), ("a.jpg", picture), ("x//y.jpg", picture),
                    ("b.txt", b"../../etc"), ("../b.txt", b"up"), ("b.txt", b"twice"),
                    ("link.jpg", (tarfile.SYMTYPE, "/etc/passwd")),
                    ("hard.jpg", (tarfile.LNKTYPE, "a.jpg")), ("e", (tarfile.DIRTYPE, "")),
                    (".framewire-1-1.tmp", picture), ("z.png", b"not wanted")])
        _, said = self.run_program("batch", "in.tar", "out/deep", "--unpack", "--sidecars", "txt",
                                   "--manifest", "m.jsonl", code=1)
        self.assertEqual(set(self.tree("out")), {"deep/a.jpg", "deep/b.txt"})
        self.assertEqual((self.folder / "out/deep/b.txt").read_text(), "../../etc")
        for name in ("../up.jpg", "/abs.jpg", "d/../e.jpg", "x//y.jpg", "../b.txt"):
            self.assertIn(f"in.tar: {name}: has ", said)
        self.assertIn("in.tar: a.jpg: would be written to a.jpg like an earlier member", said)
        self.assertIn("in.tar: b.txt: would be written to b.txt like an earlier member", said)
        self.assertEqual([row["status"] for row in self.rows("m.jsonl")].count("failed"), 8)
        self.assertFalse((self.folder.parent / "up.jpg").exists())

    def test_a_name_with_nul_is_refused(self):
        picture = self.small_picture(320)
        record = b"path=a\0b.jpg\n"
        record = b"%d %s" % (len(record) + 3, record)
        pax = tarfile.TarInfo("PaxHeader")
        pax.type, pax.size = tarfile.XHDTYPE, len(record)
        plain = tarfile.TarInfo("c.jpg")
        plain.size = len(picture)
        padded = lambda content: content + bytes(-len(content) % 512)
        self.write("in.tar", pax.tobuf() + padded(record) + plain.tobuf() + padded(picture) + bytes(1024))
        _, said = self.run_program("batch", "in.tar", "out", "--unpack", code=1)
        self.assertEqual(self.tree("out"), {})
        self.assertIn("NUL", said)

    def test_a_cut_shard_gives_what_it_has_and_the_next_follows(self):
        picture = self.small_picture(320)
        whole = self.shard([("a.jpg", picture), ("b.jpg", picture)], "1.tar").read_bytes()
        self.write("1.tar", whole[:512 + len(picture) + 700])
        self.shard([("c.jpg", picture)], "2.tar")
        _, said = self.run_program("batch", "{1,2,3}.tar", "out", "--unpack", code=1)
        self.assertEqual(set(self.tree("out")), {"a.jpg", "c.jpg"})
        self.assertIn("1.tar", said)
        self.assertIn("3.tar", said)

    def test_resume_makes_what_is_missing(self):
        picture = self.small_picture(320)
        self.shard([(f"{i}.{end}", content) for i in range(5)
                    for end, content in (("jpg", picture), ("txt", b"text"))])
        words = ("in.tar", "out", *SIZE, "--unpack", "--sidecars", "txt", "--manifest", "m.jsonl")
        self.batch(*words)
        before = self.tree("out")
        self.assertEqual(len(before), 10)
        (self.folder / "out/3.jpg").unlink()
        (self.folder / "out/4.txt").unlink()
        summary = self.batch(*words, "--resume")
        self.assertEqual((summary["ok"], summary["unchanged"]), (1, 4))
        self.assert_same(self.tree("out"), before)

    def test_no_output_replaces_a_shard(self):
        picture = self.small_picture(320)
        self.shard([("in.tar", picture), ("b.jpg", picture)])
        before = (self.folder / "in.tar").read_bytes()
        self.run_program("batch", "in.tar", ".", "--unpack", code=1)
        self.assertEqual((self.folder / "in.tar").read_bytes(), before)
        self.assertTrue((self.folder / "b.jpg").exists())


if __name__ == "__main__":
    support.main(__doc__)
