"""python -m framewire.ray: names of shards, and a cluster whose actors and nodes are killed."""

import contextlib
import fcntl
import gc
import http.server
import io
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tarfile
import threading
import time

import framewire.ray
import framewire.ray_worker
import pytest
from conftest import make_jpeg
from framewire.ray import RaySettings
from framewire.ray_shards import Group, expand, group_shards, list_entry, name_in_list, without_queries

pytestmark = pytest.mark.filterwarnings("ignore")
SHARDS = 12
#: What Ray calls the processes of actors.
ACTOR = f"ray::{framewire.ray_worker.Worker.__name__}"


def test_words_stand_for_shards(tmp_path):
    assert expand(["a-{08..11}.tar"]) == ["a-08.tar", "a-09.tar", "a-10.tar", "a-11.tar"]
    assert expand(["{2..0}.tar", "{a,b}/{0..1}.tar"]) == [
        "2.tar", "1.tar", "0.tar", "a/0.tar", "a/1.tar", "b/0.tar", "b/1.tar"]
    assert expand(["{9..11}.tar"]) == ["9.tar", "10.tar", "11.tar"]
    assert expand(["{0..5..2}.tar", "{09..7..-2}.tar"]) == ["0.tar", "2.tar", "4.tar", "09.tar", "07.tar"]
    assert expand(["{a-{0..1},{b}}.tar"]) == ["a-0.tar", "a-1.tar", "{b}.tar"]
    assert expand(["{x{a,b}}.tar", "{a,{c}.tar"]) == ["{xa}.tar", "{xb}.tar", "{a,{c}.tar"]
    with pytest.raises(ValueError):
        expand(["{a," * 100 + "}" * 100 + ".tar"])
    assert expand(["s3://b/{0..1}.tar"]) == ["s3://b/0.tar", "s3://b/1.tar"]
    for name in ("1.tar", "0.tar", "x.txt"):
        (tmp_path / name).touch()
    assert expand([f"{tmp_path}/*.tar"]) == [f"{tmp_path}/0.tar", f"{tmp_path}/1.tar"]
    (tmp_path / "list").write_text("x/{1}.tar\r\n\ny.tar\n")
    assert expand([f"@{tmp_path}/list"]) == ["x/{1}.tar", "y.tar"]
    (tmp_path / "list").write_text("x/{1..2}.tar\n")  # as framewire batch has it
    assert expand([f"@{tmp_path}/list"]) == ["x/1.tar", "x/2.tar"]
    (tmp_path / "list").write_bytes(b"\xef\xbb\xbfx/*.tar\r\n\n[a]\r?.tar\n\xff.tar")
    assert expand([f"@{tmp_path}/list"]) == ["x/*.tar", "[a]\r?.tar", os.fsdecode(b"\xff.tar")]
    for bad in (["a.zip"], ["a.tar", "a.tar"], [f"{tmp_path}/z*.tar"], ["s3://b/*.tar"], ["s3://b/?.tar"]):
        with pytest.raises(ValueError):
            expand(bad)


def test_a_file_of_just_that_name_is_meant(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a[1].tar", "a1.tar", "a*.tar", "b{0,1}.tar", "@c.tar", "x[1]y.tar"):
        (tmp_path / name).touch()
    for name in ("a[1].tar", "a*.tar", "b{0,1}.tar"):
        assert expand([name]) == [name]
        (tmp_path / "list").write_text(name)
        assert expand(["@list"]) == [name]
    assert expand(["a?.tar", "@c.tar"]) == ["a*.tar", "a1.tar", "@c.tar"]
    # '[' has no meaning for the program, whether or not there is such a file.
    assert expand(["[a]{1,2}.tar"]) == ["[a]1.tar", "[a]2.tar"]
    assert expand(["x[1]*.tar"]) == ["x[1]y.tar"]


@pytest.mark.parametrize("content, says", [
    (b"a.tar\0b.tar\0", "list: line 1 holds a NUL byte; accepted: one name a line"),
    (b"a.tar\nb\0.tar\n", "list: line 2 holds a NUL byte"),
    (b"\xff\xfea\0.\0t\0a\0r\0", "list: is written in UTF-16; accepted: UTF-8"),
    (b"a.tar\n" + b"a" * 5000 + b".tar\n", "list: entry 2 is longer than 4096 bytes"),
    (b"  \n", "  : is no shard"),
])
def test_lists_that_batch_refuses_are_refused(tmp_path, content, says):
    (tmp_path / "list").write_bytes(content)
    with pytest.raises(ValueError, match=re.escape(says)):
        expand([f"@{tmp_path}/list"])


SIGNATURE = "?X-Amz-Credential=key/aws4&X-Amz-Signature="


def test_signed_addresses_stand_for_shards():
    """A '?' begins their query, which may hold anything, and is no part of their names."""
    signed = [f"https://[::1]:8/in/{i}.tar{SIGNATURE}{i}*/x.tar" for i in range(2)]
    assert expand(signed) == signed
    assert expand(["https://h/{0..1}.tar?a=*"]) == ["https://h/0.tar?a=*", "https://h/1.tar?a=*"]
    assert expand(["s3://b/[0].tar"]) == ["s3://b/[0].tar"]
    assert group_shards([f"HTTPS://H/in/a/0.tar{SIGNATURE}/x", f"https://h/in/1.tar{SIGNATURE}/y"], "/out", 9) == [
        Group((f"HTTPS://H/in/a/0.tar{SIGNATURE}/x",), "/out/a"),
        Group((f"https://h/in/1.tar{SIGNATURE}/y",), "/out")]


@pytest.mark.parametrize("words, says", [
    (["https://h/0.jpg?sig=SECRET.tar"], "https://h/0.jpg: is no shard; accepted"),
    (["https://h/0.tar?sig=SECRET", "HTTPS://H/0.tar?sig=2SECRET"], "https://h/0.tar: is named twice"),
    (["https://h/*.tar?sig=SECRET"], "https://h/*.tar: patterns in URLs are not looked up; accepted"),
    (["https://me:SECRET@h/0.tar"], "the address has a user in it; accepted"),
])
def test_refusals_show_no_query(words, says):
    with pytest.raises(ValueError, match=re.escape(says)) as raised:
        expand(words)
    assert "SECRET" not in str(raised.value)


def test_what_others_say_shows_no_query():
    shards = [f"https://h/0.tar{SIGNATURE}SECRET", "out/what?.tar"]
    assert without_queries(f"{shards[0]}: no; {shards[1]}: no", shards) == (
        "https://h/0.tar: no; out/what?.tar: no")


def test_groups_keep_the_names_of_outputs():
    assert group_shards([], "out", 4) == []
    assert group_shards(["/in/0.tar", "/in/1.tar", "/in/2.tar"], "/out/", 2) == [
        Group(("/in/0.tar", "/in/1.tar"), "/out"), Group(("/in/2.tar",), "/out")]
    assert group_shards(["/in/a/0.tar", "/in/b/c/0.tar", "/in/a/1.tar"], "/out", 2) == [
        Group(("/in/a/0.tar", "/in/a/1.tar"), "/out/a"), Group(("/in/b/c/0.tar",), "/out/b/c")]
    assert group_shards(["s3://b/in/a/0.tar", "s3://b/in/0.tar"], "s3://c/out", 9) == [
        Group(("s3://b/in/a/0.tar",), "s3://c/out/a"), Group(("s3://b/in/0.tar",), "s3://c/out")]


def test_lists_keep_the_names_that_they_have():
    shards = ["/d/in/a/0.tar", "/d/in/a/1.tar"]
    assert group_shards(shards, "/out", 9) == [Group(tuple(shards), "/out")]
    names = [name_in_list("in/a/0.tar"), name_in_list("./in/./a/1.tar")]
    assert group_shards(shards, "/out", 9, names) == [
        Group(("/d/in/a/0.tar",), "/out/in/a"), Group(("/d/in/a/1.tar",), "/out/a")]
    with pytest.raises(ValueError):
        name_in_list("../0.tar")
    for size in (1, 9):
        with pytest.raises(ValueError, match="named twice"):
            group_shards(["/d/a/0.tar", "/d/b/0.tar"], "/out", size,
                         [name_in_list("d/a/./0.tar"), name_in_list("d/b/./0.tar")])


def test_a_group_is_named_by_its_folder():
    assert list_entry("/d/in/a/0.tar") == "/d/in/a/./0.tar"
    assert list_entry("https://h/in/a/0.tar?s=/x") == "https://h/in/a/0.tar?s=/x"


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


@pytest.fixture(scope="module")
def cluster():
    """A head with one processor and a node with another."""
    pytest.importorskip("ray")
    from ray.cluster_utils import Cluster
    try:
        made = Cluster(initialize_head=True, head_node_args={
            "num_cpus": 1, "include_dashboard": False,
            "_system_config": {"health_check_initial_delay_ms": 0, "health_check_period_ms": 1000,
                               "health_check_failure_threshold": 3}})
    except Exception as error:  # pylint: disable=broad-except
        # Ray gives a node half a minute, which a loaded machine may not have.
        for process in gc.get_objects():
            if isinstance(process, subprocess.Popen) and process.returncode is None:
                process.kill()
                process.wait()
        pytest.skip(f"Ray does not start here: {error}")
    yield made
    made.shutdown()


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ray") / "in"
    for i in range(SHARDS):
        shard = folder / ("a" if i % 2 else "b") / f"{i:02}.tar"
        shard.parent.mkdir(parents=True, exist_ok=True)
        (folder / "picture.jpg").write_bytes(make_jpeg(1600, 1200, seed=i))
        with tarfile.open(shard, "w") as archive:
            for j in range(12):
                archive.add(folder / "picture.jpg", arcname=f"{i}-{j}.jpg")
    return folder


def arguments(shards, out, *more):
    return [f"{shards}/*/*.tar", str(out), "--size", "900x", *more]


class Driver:
    """python -m framewire.ray, and what it says."""

    def __init__(self, cluster, program, words):
        self.lines, self.workers = [], 0
        environment = dict(os.environ, FRAMEWIRE_PROGRAM=program, RAY_ADDRESS=cluster.address)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "framewire.ray", *words, "--progress", "json"], env=environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        for line in self.process.stderr:
            self.lines.append(line)
            if line.startswith("{"):
                self.workers = max(self.workers, json.loads(line).get("workers", 0))

    def wait(self, code):
        end = threading.Timer(300, self.process.kill)
        end.start()
        out = self.process.stdout.read()
        end.cancel()
        assert self.process.wait(300) == code, "".join(self.lines)
        self.reader.join()
        return json.loads(out) if out else {}


def actors():
    """Process ids of actors, and those of the programs that they run."""
    found = {ACTOR: [], "framewire": []}
    for path in pathlib.Path("/proc").iterdir():
        try:
            words = (path / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if words[0].startswith(ACTOR.encode()):
            found[ACTOR].append(int(path.name))
        if words[1:2] == [b"batch"] and b"--files-from" in words:
            found["framewire"].append(int(path.name))
    return found


def kill_one(kind):
    """Whether there was one to kill."""
    for process in actors()[kind]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
            return True
    return False


def until(holds, seconds=120):
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)


def outputs(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*.tar"))}


# Some minutes where the machine is busy, since Ray takes its time to notice.
@pytest.mark.skipif("FRAMEWIRE_RAY_KILLS" not in os.environ, reason="./dev python examples runs it")
def test_killed_actors_and_nodes_lose_nothing(cluster, program, shards, tmp_path):
    alone, out = tmp_path / "alone", tmp_path / "out"
    names = sorted(str(path) for path in shards.rglob("*.tar"))
    subprocess.run([program, "batch", *names, alone, "--size", "900x"], check=True, capture_output=True)
    expected = outputs(alone)
    assert len(expected) == SHARDS

    node = cluster.add_node(num_cpus=1)
    driver = Driver(cluster, program, arguments(shards, out, "--group", "1"))
    manifests = lambda: len(list(out.rglob("*.tar.jsonl")))
    until(lambda: manifests() >= 1 and kill_one(ACTOR))
    until(lambda: manifests() >= 2 and kill_one("framewire"))
    until(lambda: manifests() >= 3)
    cluster.remove_node(node, allow_graceful=False)
    until(lambda: manifests() >= 4)
    late = cluster.add_node(num_cpus=1)
    report = driver.wait(0)
    assert report["retries"] >= 2, report
    assert driver.workers in (2, 3)  # three until Ray notices that a node has gone
    assert outputs(out) == expected
    checked = subprocess.run([program, "report", out, *names], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout
    assert report["shards"] == SHARDS and not report["given_up"]

    # Again: everything is there.
    again = Driver(cluster, program, arguments(shards, out)).wait(0)
    assert (again["written"], again["unchanged"], again["ok"]) == (0, SHARDS, 0)
    until(lambda: not any(actors().values()))
    cluster.remove_node(late)


def test_a_killed_driver_goes_on(cluster, program, shards, tmp_path):
    out = tmp_path / "out"
    driver = Driver(cluster, program, arguments(shards, out, "--group", "1"))
    until(lambda: len(list(out.rglob("*.tar.jsonl"))) >= 2)
    driver.process.kill()
    driver.process.wait()
    driver.reader.join()
    until(lambda: not any(actors().values()))
    before = len(list(out.rglob("*.tar.jsonl")))
    report = Driver(cluster, program, arguments(shards, out, "--group", "5")).wait(0)
    assert report["unchanged"] == before >= 2
    assert report["written"] == SHARDS - before


def test_of_two_drivers_each_ends_well(cluster, program, shards, tmp_path):
    node = cluster.add_node(num_cpus=1)
    out = tmp_path / "out"
    drivers = [Driver(cluster, program, arguments(shards, out, "--group", group, "--workers", "1"))
               for group in ("3", "4")]
    reports = [driver.wait(0) for driver in drivers]
    assert sum(report["written"] for report in reports) == SHARDS
    for report in reports:
        assert report["written"] + report["unchanged"] == SHARDS
        assert (report["given_up"], report["retries"]) == ([], 0)
    cluster.remove_node(node)


def test_what_fails_is_told(cluster, program, shards, tmp_path):
    with tarfile.open(tmp_path / "bad.tar", "w") as archive:
        archive.add(__file__, arcname="1.jpg")
    bad = Driver(cluster, program, [str(tmp_path / "bad.tar"), str(tmp_path / "out")]).wait(1)
    assert (bad["failed"], bad["errors"]) == (1, {"invalid_input": 1})
    wrong = Driver(cluster, program, arguments(shards, tmp_path / "x", "--sise", "3x"))
    wrong.wait(2)
    assert "--sise" in "".join(wrong.lines)
    missing = Driver(cluster, program, [str(tmp_path / "none.tar"), str(tmp_path / "out")])
    why = f"{tmp_path}/none.tar: cannot open: No such file or directory"
    assert missing.wait(1)["failed_shards"] == [why]
    assert f"framewire: {why}\n" in missing.lines
    for words in (["--size", "3x"], ["a.tar", "out", "--in-place"], ["a.jpg", "out"]):
        Driver(cluster, program, words).wait(2)
    none = Driver(cluster, str(tmp_path / "no-program"), arguments(shards, tmp_path / "x", "--attempts", "2"))
    report = none.wait(3)
    assert len(report["given_up"]) == SHARDS and "no-program" in report["reasons"][0]


@pytest.fixture
def web(shards):
    """A server of the shards that wants a signature of each address: where they lie there."""
    server = pathlib.Path(__file__).parents[3] / "tests" / "support" / "web_server.py"
    if not server.is_file():
        pytest.skip("an sdist has no web server")
    with subprocess.Popen([sys.executable, server, shards], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as running:
        yield f"http://127.0.0.1:{running.stdout.readline().strip()}/signed"
        running.stdin.close()


def test_signed_addresses_are_read_and_shown_nowhere(cluster, program, shards, tmp_path, web):
    alone, out = tmp_path / "alone", tmp_path / "out"
    names = ["a/01.tar", "a/03.tar", "b/02.tar"]
    subprocess.run([program, "batch", *(shards / name for name in names), alone, "--size", "90x"],
                   check=True, capture_output=True)
    signed = [f"{web}/{name}{SIGNATURE}{name[2:]}" for name in names]
    (tmp_path / "list").write_text("\n".join([*signed, f"{web}/b/04.tar{SIGNATURE}no"]))
    words = [f"@{tmp_path}/list", str(out), "--size", "90x"]
    driver = Driver(cluster, program, words)
    report = driver.wait(1)
    assert (report["written"], report["failed"], report["given_up"]) == (3, 0, []), driver.lines
    assert outputs(out) == outputs(alone)
    again = Driver(cluster, program, words)
    assert again.wait(1)["unchanged"] == 3
    none = Driver(cluster, str(tmp_path / "no-program"), [*words, "--attempts", "1"])
    given_up = none.wait(3)
    assert f"{web}/a/01.tar" in given_up["given_up"]
    wrong = Driver(cluster, program, [*words[:1], f"{web}/out{SIGNATURE}out", *words[2:]])
    wrong.wait(2)
    assert "web servers can only be read; accepted" in "".join(wrong.lines)
    shown = [json.dumps([report, given_up]), *driver.lines, *again.lines, *none.lines, *wrong.lines]
    shown += [path.read_bytes().decode("latin-1") for path in out.rglob("*") if path.is_file()]
    assert not [text for text in shown if "X-Amz" in text]
