"""python -m framewire.ray without a cluster: what becomes of shards, groups and their tries."""

import contextlib
import fcntl
import http.server
import io
import json
import pathlib
import sys
import tarfile
import threading

import framewire.ray
import framewire.ray_worker
import pytest
from conftest import make_jpeg
from framewire.ray import RaySettings
from framewire.ray_shards import Group

pytestmark = pytest.mark.filterwarnings("ignore")


class FakeRay:
    """Nodes without a cluster, and an actor that is never started."""

    def __init__(self, *resources):
        self.resources = resources

    def nodes(self):
        return [{"Alive": True, "Resources": one} for one in self.resources]

    def remote(self, _):
        return self

    def options(self, **_):
        return self


@pytest.mark.parametrize("progress", ["auto", "never", "json"])
@pytest.mark.parametrize("settings", [{"cpus": 9}, {"gpus": 2}, {"gpus": 1, "cpus": 2, "workers": 3}])
def test_an_actor_that_no_node_has_room_for_is_told_of_once(progress, settings):
    said = io.StringIO()
    fake = FakeRay({"CPU": 8.0}, {"CPU": 1.0, "GPU": 1.0})
    driver = framewire.ray._Driver(fake, [], RaySettings(progress=progress, **settings), [], said)
    assert [driver._room(), driver._room()] == [settings.get("workers", 1)] * 2
    line, = said.getvalue().splitlines()
    assert "no node has" in line and "--gpus" in line
    assert progress != "json" or json.loads(line)["event"] == "warning"
    fake.resources = ({"CPU": 16.0, "GPU": 2.0},)  # one has come
    assert driver._room() >= 1 and said.getvalue().count("\n") == 1


@pytest.mark.parametrize("words", [
    ["--group", "abc"], ["--workers", "0"], ["--gpus", "-1"], ["--gpus", "9" * 5000], ["--cpus", "1.5"],
    ["--attempts", "-5"], ["--wait", "soon"], ["--wait", "nan"], ["--wait", "-1"],
])
def test_wrong_numbers_are_named(words, capsys):
    with pytest.raises(SystemExit) as ended:
        framewire.ray.main(["in.tar", "out", *words])
    said = capsys.readouterr().err
    assert ended.value.code == 2 and f"argument {words[0]}: found {words[1]}; accepted: a " in said


def test_a_shard_that_is_missing_is_named(program, tmp_path):
    with tarfile.open(tmp_path / "0.tar", "w") as archive:
        for i in range(25):  # that fail, too
            archive.add(__file__, arcname=f"{i}.jpg")
    group = Group(tuple(str(tmp_path / name) for name in ("none.tar", "0.tar")), str(tmp_path / "out"))
    ended = framewire.ray_worker.Worker(program, ["--size", "8x"]).run(group)
    why = f"{tmp_path}/none.tar: cannot open: No such file or directory"
    none = group.shards[0]
    assert ended["failed"] == {none: why.partition(": ")[2]} and ended["code"] == 1
    rows = ended["written"].pop(group.shards[1])
    assert not ended["written"] and rows == {
        "event": "shard", "input": rows["input"], "ok": 0, "failed": 25, "errors": {"invalid_input": 25},
        "bytes_in": 0, "bytes_out": 0, "copy_errors": 0}
    ended["written"][group.shards[1]] = rows
    fake = FakeRay()
    fake.get = lambda result: result
    driver = framewire.ray._Driver(fake, [group], RaySettings(progress="never"), [], io.StringIO())
    driver._take(framewire.ray._Busy(None, framewire.ray._Job(group), ended))
    assert driver._report.failed_shards == [why] and driver._report.failed == 25


class RayHere:
    """Stands for the module ray: one actor, whose calls end before they are waited for."""

    class exceptions:
        class RayError(Exception):
            pass

    class Call:
        def __init__(self, call):
            self.call = call

        def remote(self, *words):
            result = RayHere.Result()
            result.value = self.call(*words)
            return result

    class Result:
        value = None

    class Actor:
        def __init__(self, here, worker):
            self.here, self.worker = here, worker
            self.run, self.standing = RayHere.Call(self.run_here), RayHere.Call(worker.standing)

        def run_here(self, group):
            self.here.groups.append([pathlib.Path(shard).name for shard in group.shards])
            return self.worker.run(group)

    def __init__(self):
        self.groups = []

    def is_initialized(self):
        return True

    def nodes(self):
        return [{"Alive": True, "Resources": {"CPU": 1.0}}]

    def remote(self, kind):
        self.kind = kind
        return self

    def options(self, **_):
        start = RayHere.Call(lambda *words: RayHere.Actor(self, self.kind(*words)))
        start.remote = start.call
        return start

    def wait(self, results, **_):
        return results, []

    def get(self, result):
        return result.value

    def kill(self, _):
        pass


@pytest.fixture
def here(program, tmp_path, monkeypatch, capsys):
    """Runs the command without a cluster, in a folder with four shards. @return a call that gives the exit
    code, the report, and what was said"""
    monkeypatch.chdir(tmp_path)
    fake = RayHere()
    monkeypatch.setitem(sys.modules, "ray", fake)
    monkeypatch.setattr(framewire.ray, "_FIRST_PAUSE_SECONDS", 0.05, raising=False)
    for name in ("in/0", "in/1", "in/2", "in/3", "other/0"):
        shard = tmp_path / f"{name}.tar"
        shard.parent.mkdir(exist_ok=True)
        picture = shard.with_suffix(".jpg")
        picture.write_bytes(make_jpeg(64, 48, seed=len(name) + int(name[-1])))
        with tarfile.open(shard, "w") as archive:
            archive.add(picture, arcname="a.jpg")
            archive.add(picture, arcname="b.jpg")
        picture.unlink()

    def run(*words):
        fake.groups.clear()
        code = framewire.ray.main([*words[:2], "--program", program, "--size", "9x", "--progress", "never",
                                   *words[2:]])
        out, said = capsys.readouterr()
        return code, json.loads(out), said

    run.fake = fake
    return run


def test_an_output_without_a_name_is_no_folder(here, capsys, tmp_path):
    assert framewire.ray.main(["in/0.tar", ""]) == 2
    assert "OUT: found an empty name" in capsys.readouterr().err
    assert not here.fake.groups and not (tmp_path / "0.tar").exists()


def test_a_program_that_is_not_there_is_told_of_once(here):
    code, report, said = here("in/{0..3}.tar", "out", "--attempts", "3", "--program", "/no/framewire")
    assert code == 3 and len(report["given_up"]) == 4
    assert said.count("an actor cannot run the program: ") == 1 and "'/no/framewire'; trying again" in said


def test_shards_that_fail_for_their_outputs_are_told(here, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out/0.tar.jsonl").write_text("captions\n")
    code, report, said = here("in/{0,1}.tar", "out")
    why, = report["failed_shards"]
    assert code == 1 and why.startswith(f"{tmp_path}/in/0.tar: {tmp_path}/out/0.tar.jsonl: is no manifest")
    assert f"framewire: {why}\n" in said
    assert (report["written"], report["ok"], report["failed"], report["given_up"]) == (1, 2, 0, [])

    code, report, said = here("in/{0,1}.tar", "in")
    assert code == 1 and len(report["failed_shards"]) == 2
    assert all(f"in/{i}.tar: is an input of this batch" in report["failed_shards"][i] for i in range(2))

    assert here("in/1.tar", "third")[0] == 0
    (tmp_path / "third/0.tar").write_bytes((tmp_path / "third/1.tar").read_bytes())
    code, report, said = here("in/0.tar", "third")
    assert (code, report["failed_shards"]) == (0, [])
    code, report, said = here("other/0.tar", "third")
    assert code == 1 and "other/0.tar: " in report["failed_shards"][0] and "was made of" in said


def test_names_may_have_line_breaks(here, tmp_path):
    (tmp_path / "in/0.tar").rename(tmp_path / "in/0\n1.tar")
    assert here("in/0*.tar", "out")[0] == 0
    assert (tmp_path / "out/0\n1.tar").is_file()


def test_members_that_cannot_be_copied_are_told(here, tmp_path, monkeypatch):
    call = framewire.ray_worker.Worker.run

    def with_an_error(self, group):
        ended = call(self, group)
        ended["written"][group.shards[2]]["copy_errors"] = 1
        return {**ended, "code": 1}

    monkeypatch.setattr(framewire.ray_worker.Worker, "run", with_an_error)
    code, report, said = here("in/{0..3}.tar", "out")
    assert (code, report["copy_errors"], report["written"]) == (1, 1, 4) and "could not be copied: 1;" in said


@contextlib.contextmanager
def locked(path):
    """Another process has the shard with this claim."""
    path.parent.mkdir(exist_ok=True)
    with open(path, "w", encoding="utf-8") as claim:
        fcntl.flock(claim, fcntl.LOCK_EX)
        yield claim


def test_a_shard_in_work_elsewhere_is_waited_for(here, tmp_path):
    with locked(tmp_path / "out/.framewire-2.tar.tmp") as claim:
        end = threading.Timer(2, lambda: fcntl.flock(claim, fcntl.LOCK_UN))
        end.start()
        code, report, said = here("in/{0..3}.tar", "out", "--attempts", "1")
        end.join()
    assert code == 0, said
    assert (report["written"], report["unchanged"], report["ok"], report["retries"]) == (4, 0, 8, 0)
    assert here.fake.groups[0] == ["0.tar", "1.tar", "2.tar", "3.tar"]
    # Looked at ever more seldom; the others once more at most.
    assert 3 <= here.fake.groups.count(["2.tar"]) <= 12
    assert here.fake.groups.count(["3.tar"]) <= 1 and ["0.tar"] not in here.fake.groups
    assert said.count("another process is at work on it; waiting up to 3600 s") == 1


def test_a_shard_that_another_keeps_is_given_up_alone(here, tmp_path):
    with locked(tmp_path / "out/.framewire-0.tar.tmp"):
        code, report, said = here("in/{0..3}.tar", "out", "--wait", "0.5")
    assert (code, report["given_up"], report["written"], report["ok"]) == (3, [f"{tmp_path}/in/0.tar"], 3, 6)
    assert "0.tar: another process has been at work on it for 0.5 s" in said


@pytest.mark.parametrize("attempts", [1, 2, 3])
def test_a_server_that_fails_one_shard_takes_no_other_along(here, tmp_path, attempts):
    """It answers 500 during the first two calls of the program."""
    class Handler(http.server.SimpleHTTPRequestHandler):
        def do_GET(self):
            if self.path.endswith("/1.tar") and len(here.fake.groups) <= 2:
                self.send_error(500)
            else:
                super().do_GET()

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        url = f"http://127.0.0.1:{server.server_port}/in"
        code, report, said = here(url + "/{0..3}.tar", "out", "--attempts", str(attempts))
        server.shutdown()
        thread.join()
    groups = [["0.tar", "1.tar", "2.tar", "3.tar"], ["1.tar"], ["1.tar"]]
    assert here.fake.groups == groups[:attempts]
    if attempts < 3:
        assert (code, report["given_up"]) == (3, [url + "/1.tar"])
        assert (report["written"], report["ok"], report["failed"]) == (3, 6, 0)
        assert f"given up: {url}/1.tar: the server answered 500" in said
    else:
        assert (code, report["given_up"]) == (0, [])
        assert (report["written"], report["ok"], report["failed"], report["errors"]) == (4, 8, 0, {})
    assert report["retries"] == attempts - 1


def test_a_shard_that_ends_the_program_takes_no_other_along(here, program, tmp_path):
    """Pictures that have failed in shards that were made before that count, too."""
    with tarfile.open(tmp_path / "in/0.tar", "w") as archive:
        archive.add(__file__, arcname="bad.jpg")
    dies = tmp_path / "dies"
    dies.write_text(f"""#!/bin/sh
if tr '\\0' '\\n' < $3 | grep -q 2.tar; then
  tr '\\0' '\\n' < $3 | grep 0.tar > {tmp_path}/first
  shift 4
  [ ! -s {tmp_path}/first ] || {program} batch --files-from {tmp_path}/first "$@"
  kill -9 $$
fi
exec {program} "$@"
""")
    dies.chmod(0o755)
    code, report, said = here("in/{0..3}.tar", "out", "--attempts", "3", "--program", str(dies))
    assert (code, report["given_up"]) == (3, [f"{tmp_path}/in/2.tar"]), said
    assert "in/2.tar: exit code -9" in said
    assert report["written"] + report["unchanged"] == 3 and report["ok"] == 4
    assert (report["failed"], report["errors"]) == (1, {"invalid_input": 1})


@pytest.mark.parametrize("code, options", [(3, []), (3, ["--retry", "failed"]), (130, [])])
def test_what_a_group_that_broke_off_has_made_counts_once(here, program, tmp_path, code, options):
    """The first call writes 0.tar and breaks off in 1.tar, of which it has made two pictures, as where a disk
    is full: its report has their counts, and no shard of theirs."""
    for name in ("in/0.tar", "in/1.tar"):
        with tarfile.open(tmp_path / name, "a") as archive:
            archive.add(__file__, arcname="bad.jpg")
    expected = here("in/{0..3}.tar", "whole", *options)[1]
    assert (expected["written"], expected["ok"], expected["failed"]) == (4, 8, 2)

    breaks_off = tmp_path / "breaks_off"
    breaks_off.write_text(f"""#!{sys.executable}
import json, os, pathlib, subprocess, sys
program, words, first = {program!r}, sys.argv[1:], pathlib.Path({str(tmp_path / "first")!r})
if first.exists():
    os.execv(program, [program, *words])
names = pathlib.Path(words[words.index("--files-from") + 1]).read_bytes().split(b"\\0")
reports = []
for name, out in (names[0], words[4]), (names[1], {str(tmp_path / "lost")!r}):
    first.write_bytes(name)
    ran = subprocess.run([program, words[0], "--files-from", first, "--null", out, *words[5:]],
                         stdout=subprocess.PIPE, stderr=None if name == names[0] else subprocess.DEVNULL)
    reports.append(json.loads(ran.stdout))
report, lost = reports
for key in ("ok", "failed", "bytes_in", "bytes_out"):
    report[key] += lost[key]
for key, count in lost["errors"].items():
    report["errors"][key] = report["errors"].get(key, 0) + count
print(json.dumps(report))
sys.exit({code})
""")
    breaks_off.chmod(0o755)
    ended, report, said = here("in/{0..3}.tar", "out", "--program", str(breaks_off), *options)
    assert ended == 1 and report["retries"] >= 1 and not report["given_up"], said
    for key in ("written", "unchanged", "ok", "failed", "errors", "bytes_in", "bytes_out", "failed_shards"):
        assert report[key] == expected[key], key
    assert here.fake.groups[0] == ["0.tar", "1.tar", "2.tar", "3.tar"]
    assert not [group for group in here.fake.groups[1:] if "0.tar" in group]


def test_pauses_grow_to_a_bound():
    for times, most in ((1, 1), (2, 2), (4, 8), (50, 60)):
        found = {framewire.ray._pause(times) for _ in range(50)}
        assert most / 2 <= min(found) < max(found) <= most
