"""Ray jobs on a cluster of Ray's own, with actors, nodes and drivers that die."""

import contextlib
import gc
import json
import os
import pathlib
import signal
import subprocess
import sys
import tarfile
import threading
import time

import framewire.ray_worker
import pytest
from conftest import make_jpeg

pytestmark = pytest.mark.filterwarnings("ignore")
SHARDS = 12
SIGNATURE = "?X-Amz-Credential=key/aws4&X-Amz-Signature="
#: What Ray calls the processes of actors.
ACTOR = f"ray::{framewire.ray_worker.Worker.__name__}"


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
