"""Tar shards resized by a Ray cluster: python -m framewire.ray IN… OUT [OPTION…]

    python -m framewire.ray 'in/train-{000000..000999}.tar' out/ --size 512x512 --resize fill

Actors are handed names of shards, never bytes of pictures: each runs the program `framewire batch`
over a group of shards, in a file system that all nodes share. What is not an option of this command
goes to that one. A shard is done once its manifest is written; actors, nodes and this driver may die
at any time, and the same command goes on from what is there.
"""

import argparse
import contextlib
import ctypes
import dataclasses
import importlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from typing import Any, Dict, List, Optional, Sequence, TextIO, Tuple

from framewire.ray_shards import (Group, expand, group_shards, is_url, is_web_url, list_entry, name_in_list,
                                  without_queries, without_query)

__all__ = ["RayReport", "RaySettings", "WrongOptions", "main", "resize_shards"]

#: Options of `framewire batch` that this command gives itself, or that make no sense of groups.
_OWN = ("--shard", "--files-from", "--null", "--json", "--progress", "--metrics-file", "--manifest", "--pack",
        "--unpack", "--in-place")
_LOOK_SECONDS = 1.0
_CANNOT_RUN = 127  # as a shell says it
_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG, linux/prctl.h


class _Worker:
    """An actor: runs the program on one group of shards at a time."""

    def __init__(self, program: str, options: Sequence[str]) -> None:
        self._program = program
        self._options = list(options)
        self._lock = threading.Lock()
        self._standing: Dict[str, Any] = {}
        self._libc = ctypes.CDLL(None)

    def standing(self) -> Dict[str, Any]:
        """The program's latest line of progress, or {}."""
        with self._lock:
            return dict(self._standing)

    def run(self, group: Group) -> Dict[str, Any]:
        """How the program ended: its exit code, its report, the last of what it said, and why shards failed."""
        failed: List[str] = []
        with tempfile.TemporaryDirectory(prefix="framewire-ray-") as folder:
            names = os.path.join(folder, "shards")
            with open(names, "w", encoding="utf-8", errors="surrogateescape") as file:
                file.writelines(list_entry(shard) + "\n" for shard in group.shards)
            command = [self._program, "batch", "--files-from", names, group.out, "--resume", "--json",
                       "--progress", "json", *self._options]
            with open(os.path.join(folder, "report"), "w+", encoding="utf-8") as report:
                try:
                    code, said = self._follow(command, report, group, failed)
                except OSError as error:
                    code, said = _CANNOT_RUN, [str(error)]
                report.seek(0)
                text = report.read()
        with self._lock:
            self._standing = {}
        return {"code": code, "said": said, "failed": failed,
                "report": json.loads(text) if text.strip() else {}}

    def _follow(self, command: List[str], report: TextIO, group: Group,
                failed: List[str]) -> Tuple[int, List[str]]:
        # The program calls shards as its list does, pictures by their shard and their name.
        entries = {without_query(list_entry(shard)): without_query(shard) for shard in group.shards}

        def end_with_the_actor() -> None:
            self._libc.prctl(_DEATH_SIGNAL, signal.SIGKILL)

        # pylint: disable=subprocess-popen-preexec-fn
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=report, stderr=subprocess.PIPE,
                              text=True, errors="replace", preexec_fn=end_with_the_actor) as child:
            said: List[str] = []
            assert child.stderr is not None
            for line in child.stderr:
                event = _event(line)
                if event is not None and event.get("event") == "error" and event.get("subject") in entries:
                    failed.append(f"{entries[event['subject']]}: {event.get('message')}")
                if event is None or event.get("event") == "error":
                    # Enough to see why; the manifests have every row.
                    said = [*said[-19:], line.rstrip() if event is None else
                            f"{event.get('error_class')}: {event.get('subject')}: {event.get('message')}"]
                else:
                    with self._lock:
                        self._standing = event
            return child.wait(), said


def _event(line: str) -> Optional[Dict[str, Any]]:
    if not line.startswith("{"):
        return None
    try:
        event = json.loads(line)
    except ValueError:
        return None
    return event if isinstance(event, dict) else None


@dataclasses.dataclass
class RaySettings:
    """How the cluster is used."""

    address: Optional[str] = None
    """Of the Ray cluster; None: RAY_ADDRESS, or one on this machine."""
    workers: Optional[int] = None
    """Actors at a time; None: as many as the cluster has room for."""
    gpus: Optional[int] = None
    """Of each actor; None: 1 where the cluster has any."""
    cpus: Optional[int] = None
    """Of each actor; None: 1, or with GPUs those of its node for each."""
    group: int = 4
    """Shards that an actor is handed at once."""
    attempts: int = 10
    """How often a group is tried."""
    program: Optional[str] = None
    """The same on all nodes; None: FRAMEWIRE_PROGRAM, or framewire in PATH."""
    progress: str = "auto"
    """auto, never or json."""


@dataclasses.dataclass
class RayReport:
    """What has come of all shards."""

    shards: int = 0
    """Those that were to be done."""
    written: int = 0
    unchanged: int = 0
    """Done by an earlier run."""
    ok: int = 0
    """Pictures resized."""
    failed: int = 0
    """Pictures that have failed, in shards that are written."""
    bytes_in: int = 0
    bytes_out: int = 0
    retries: int = 0
    """Groups that were handed out again."""
    errors: Dict[str, int] = dataclasses.field(default_factory=dict)
    """Failures by class."""
    failed_shards: List[str] = dataclasses.field(default_factory=list)
    """Shards that cannot be read, and why: "in/7.tar: cannot open: No such file or directory"."""
    given_up: List[str] = dataclasses.field(default_factory=list)
    """Shards of groups that failed too often; addresses of web servers without their queries."""
    reasons: List[str] = dataclasses.field(default_factory=list)
    """Why: the last of what the program, or Ray, said."""
    seconds: float = 0.0

    def add(self, report: Dict[str, Any]) -> None:
        """Adds the report of `framewire batch` over one group."""
        shards = report.get("shards", {})
        self.written += shards.get("written", 0)
        self.unchanged += shards.get("unchanged", 0)
        for key in ("ok", "failed", "bytes_in", "bytes_out"):
            setattr(self, key, getattr(self, key) + report.get(key, 0))
        for name, count in report.get("errors", {}).items():
            self.errors[name] = self.errors.get(name, 0) + count


@dataclasses.dataclass
class _Job:
    group: Group
    attempts: int = 0


@dataclasses.dataclass
class _Busy:
    actor: Any
    job: Optional[_Job] = None
    result: Any = None
    standing: Any = None
    seen: Dict[str, Any] = dataclasses.field(default_factory=dict)


class WrongOptions(ValueError):
    """The program does not take its options."""


class _Driver:
    """Hands groups to actors, as many as the cluster has room for."""

    def __init__(self, ray: Any, groups: Sequence[Group], settings: RaySettings,
                 options: Sequence[str], stream: TextIO) -> None:
        self._ray = ray
        self._settings = settings
        self._stream = stream
        self._queue = [_Job(group) for group in groups]
        self._busy: List[_Busy] = []
        self._report = RayReport(shards=sum(len(group.shards) for group in groups))
        self._done = 0
        self._start = time.monotonic()
        self._told = 0.0
        self._has_room = True
        self._gpus, self._cpus = self._share()
        given = any(word == "--jobs" or word.startswith("--jobs=") for word in options)
        jobs = [] if given else ["--jobs", str(max(1, self._cpus))]
        self._actor = ray.remote(_Worker).options(
            num_gpus=self._gpus, num_cpus=self._cpus, max_concurrency=2, max_restarts=0)
        program = settings.program or os.environ.get("FRAMEWIRE_PROGRAM") or shutil.which("framewire")
        self._words = (program or "framewire", [*options, *jobs])

    def _share(self) -> Tuple[int, int]:
        """GPUs and CPUs of one actor."""
        nodes = [node["Resources"] for node in self._ray.nodes() if node["Alive"]]
        with_gpus = [node for node in nodes if node.get("GPU", 0) >= 1]
        gpus = self._settings.gpus
        if gpus is None:
            gpus = 1 if with_gpus else 0
        if self._settings.cpus is not None:
            return gpus, self._settings.cpus
        if gpus == 0 or not with_gpus:
            return gpus, 1
        return gpus, max(1, min(int(node.get("CPU", 1) / node["GPU"] * gpus) for node in with_gpus))

    def _room(self) -> int:
        """How many actors the cluster has room for now; says once where no node has any for one."""
        room = 0
        for node in self._ray.nodes():
            if not node["Alive"]:
                continue
            has = node["Resources"]
            parts = [has.get(name, 0) // share
                     for name, share in (("CPU", self._cpus), ("GPU", self._gpus)) if share]
            room += int(min(parts, default=0))
        if self._has_room and room == 0:
            self._warn(f"no node has what an actor needs, {self._cpus} CPUs and {self._gpus} GPUs; waiting for "
                       "one; accepted: fewer, by --cpus and --gpus")
        self._has_room = room > 0
        return self._settings.workers or max(1, room)

    def _warn(self, message: str) -> None:
        if self._settings.progress == "json":
            message = json.dumps({"event": "warning", "message": message})
        else:
            message = f"framewire: {message}"
        print(message, file=self._stream, flush=True)

    def run(self) -> RayReport:
        try:
            while self._queue or any(worker.job for worker in self._busy):
                self._hand_out()
                self._wait()
                self._look()
        finally:  # who has connected to Ray before stays connected: no actor is to stay
            for worker in self._busy:
                self._ray.kill(worker.actor)
        self._report.seconds = time.monotonic() - self._start
        self._tell("end")
        return self._report

    def _hand_out(self) -> None:
        room = self._room()
        for worker in self._busy:
            if worker.job is None and self._queue:
                self._begin(worker)
        while self._queue and len(self._busy) < room:
            worker = _Busy(self._actor.remote(*self._words))
            self._busy.append(worker)
            self._begin(worker)
        if not self._queue:
            self._let_go()

    def _let_go(self) -> None:
        """Ends actors without work: another, with work, may wait for the room that they take."""
        for worker in [worker for worker in self._busy if worker.job is None]:
            self._ray.kill(worker.actor)
            self._busy.remove(worker)

    def _begin(self, worker: _Busy) -> None:
        worker.job = self._queue.pop(0)
        worker.job.attempts += 1
        worker.seen = {}
        worker.result = worker.actor.run.remote(worker.job.group)
        worker.standing = None

    def _wait(self) -> None:
        results = {worker.result: worker for worker in self._busy if worker.job is not None}
        if not results:
            time.sleep(_LOOK_SECONDS / 10)
            return
        ready, _ = self._ray.wait(list(results), num_returns=1, timeout=_LOOK_SECONDS)
        for result in ready:
            self._take(results[result])

    def _take(self, worker: _Busy) -> None:
        job = worker.job
        assert job is not None
        worker.job = None
        try:
            ended = self._ray.get(worker.result)
        except self._ray.exceptions.RayError as error:
            # The actor or its node has died, or cannot be reached; whatever it has begun is there.
            self._busy.remove(worker)
            self._ray.kill(worker.actor)
            said = str(error).strip().splitlines()
            self._again(job, ": ".join([type(error).__name__, *(line.strip() for line in said[-1:])]))
            return
        report = ended["report"]
        if ended["code"] == 2:
            raise WrongOptions(without_queries("\n".join(ended["said"]), job.group.shards))
        elsewhere = report.get("shards", {}).get("elsewhere", 0)
        if ended["code"] in (0, 1) and not elsewhere:
            self._report.add(report)
            self._report.failed_shards += [without_queries(one, job.group.shards) for one in ended["failed"]]
            self._done += len(job.group.shards)
            return
        # A shard that another process has may be one that a dead actor had begun.
        why = "another process is at work on it" if elsewhere else f"exit code {ended['code']}"
        self._again(job, "; ".join([why, *ended["said"][-3:]]))

    def _again(self, job: _Job, reason: str) -> None:
        if job.attempts < self._settings.attempts:
            self._report.retries += 1
            self._queue.append(job)
            return
        shards = [without_query(shard) for shard in job.group.shards]
        self._report.given_up += shards
        reason = without_queries(reason, job.group.shards)
        self._report.reasons.append(f"{shards[0]} and {len(shards) - 1} more: {reason}")

    def _look(self) -> None:
        """Takes what actors have said of their progress, and asks again."""
        for worker in self._busy:
            if worker.job is None:
                continue
            if worker.standing is not None:
                ready, _ = self._ray.wait([worker.standing], timeout=0)
                if not ready:
                    continue
                try:
                    worker.seen = self._ray.get(worker.standing)
                except self._ray.exceptions.RayError:
                    worker.seen = {}  # its result will tell
            worker.standing = worker.actor.standing.remote()
        self._tell("progress")

    def _tell(self, event: str) -> None:
        words = self._settings.progress
        now = time.monotonic()
        every = 1.0 if words == "json" or self._stream.isatty() else 5.0
        if words == "never" or (event == "progress" and now - self._told < every):
            return
        self._told = now
        report, seen = self._report, [worker.seen for worker in self._busy if worker.job is not None]
        sums = {key: getattr(report, key) + sum(one.get(key, 0) for one in seen)
                for key in ("ok", "failed", "bytes_in", "bytes_out")}
        done = self._done + sum(one.get("shards_done") or 0 for one in seen)
        seconds = now - self._start
        left = seconds / done * (report.shards - done) if done else None
        if words == "json":
            print(json.dumps({"event": event, **sums, "shards_done": done, "shards_total": report.shards,
                              "workers": len(seen), "retries": report.retries, "seconds": round(seconds, 3),
                              "remaining_seconds": left and round(left, 3)}), file=self._stream, flush=True)
            return
        line = (f"{done}/{report.shards} shards  {len(seen)} workers  {sums['ok']} resized"
                + (f"  {sums['failed']} failed" if sums["failed"] else "")
                + (f"  {report.retries} retries" if report.retries else "")
                + f"  {sums['ok'] / seconds:.1f} images/s"
                + (f"  {left:.0f}s left" if left and event != "end" else ""))
        end = "\n" if event == "end" or not self._stream.isatty() else ""
        start = "\r\x1b[K" if self._stream.isatty() else ""
        print(start + line, end=end, file=self._stream, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m framewire.ray", allow_abbrev=False,
        usage="python -m framewire.ray IN… OUT [OPTION…]",
        description="Resizes tar shards with a Ray cluster. IN are shards, in quotes 'train-{000..999}.tar' or "
        "'in/*.tar', or @LIST; they come before all options. All other options are those of framewire batch.")
    parser.add_argument("--address", help="of the Ray cluster; if not given, RAY_ADDRESS, or one on this machine")
    parser.add_argument("--workers", type=_positive, metavar="N",
                        help="actors at a time; if not given, as many as the cluster has room for")
    parser.add_argument("--gpus", type=int, metavar="N", help="of each actor; 1 where the cluster has any")
    parser.add_argument("--cpus", type=_positive, metavar="N",
                        help="of each actor; if not given, 1, or with GPUs those of its node for each")
    parser.add_argument("--group", type=_positive, default=RaySettings.group, metavar="N",
                        help="shards that an actor is handed at once (4)")
    parser.add_argument("--attempts", type=_positive, default=RaySettings.attempts, metavar="N",
                        help="how often a group is tried (10)")
    parser.add_argument("--program", help="framewire, if not in PATH; the same on all nodes")
    parser.add_argument("--progress", choices=("auto", "never", "json"), default="auto")
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"found {text}; accepted: 1 or more")
    return number


def resize_shards(shards: Sequence[str], out: str, options: Sequence[str] = (), *,
                  settings: Optional[RaySettings] = None, stream: TextIO = sys.stderr) -> RayReport:
    """Resizes shards with the cluster that Ray is connected to, or connects to.

    `options` are those of `framewire batch`. Raises WrongOptions where that refuses them, ValueError for
    shards that are none, and what Ray raises where there is no cluster.
    """
    chosen = settings or RaySettings()
    # Not imported above: the package does without Ray.
    ray: Any = importlib.import_module("ray")
    # Actors have folders of their own.
    found = expand(shards)
    names = [shard if is_url(shard) else os.path.abspath(shard) for shard in found]
    is_list = len(shards) == 1 and shards[0].startswith("@") and not any(map(is_url, found))
    listed = [name_in_list(shard) for shard in found] if is_list else []
    if is_web_url(out):
        raise ValueError(f"{without_query(out)}: web servers can only be read; accepted as OUT: a folder, "
                         "or s3://BUCKET/PREFIX")
    groups = group_shards(names, out if is_url(out) else os.path.abspath(out), chosen.group, listed)
    connected = ray.is_initialized()
    if not connected:
        ray.init(address=chosen.address, log_to_driver=False)
    try:
        return _Driver(ray, groups, chosen, options, stream).run()
    finally:
        if not connected:
            ray.shutdown()


def main(words: Optional[Sequence[str]] = None) -> int:
    """The command. Exit codes are those of `framewire batch`."""
    given = list(sys.argv[1:] if words is None else words)
    cut = next((index for index, word in enumerate(given) if word.startswith("-")), len(given))
    parser = _parser()
    settings, options = parser.parse_known_args(given[cut:])
    if cut < 2:
        parser.error("accepted: IN… OUT before the first option")
    for word in options:
        if word.partition("=")[0] in _OWN:
            parser.error(f"{word} is not for clusters")
    try:
        # Ray prints what it has to say; standard output is the report's.
        with contextlib.redirect_stdout(sys.stderr):
            report = resize_shards(given[:cut - 1], given[cut - 1], options,
                                   settings=RaySettings(**vars(settings)))
    except ImportError:
        print("framewire: there is no Ray; accepted: python3 -m pip install ray", file=sys.stderr)
        return 3
    except WrongOptions as error:
        print(error, file=sys.stderr)
        return 2
    except (OSError, ValueError) as error:
        print(f"framewire: {error}", file=sys.stderr)
        return 2
    print(json.dumps(dataclasses.asdict(report), indent=2))
    for failed in report.failed_shards:
        print(f"framewire: {failed}", file=sys.stderr)
    for reason in report.reasons:
        print(f"framewire: given up: {reason}", file=sys.stderr)
    if report.given_up:
        return 3
    return 1 if report.failed else 0


if __name__ == "__main__":
    # Under its own name, so that actors find the class by it.
    sys.exit(importlib.import_module("framewire.ray").main())
