"""Tar shards resized by a Ray cluster: python -m framewire.ray IN… OUT [OPTION…]

    python -m framewire.ray 'in/train-{000000..000999}.tar' out/ --size 512x512 --resize fill

Actors are handed names of shards, never bytes of pictures: each runs the program `framewire batch`
over a group of shards, in a file system that all nodes share. What is not an option of this command
goes to that one. A shard is done once its manifest is written; actors, nodes and this driver may die
at any time, and the same command goes on from what is there.
"""

import argparse
import contextlib
import dataclasses
import importlib
import json
import os
import random
import shutil
import sys
import time
from typing import Any, Callable, Dict, List, Optional, Sequence, TextIO, Tuple

from framewire.ray_report import RayReport
from framewire.ray_shards import (Group, expand, group_shards, is_url, is_web_url, name_in_list,
                                  without_queries, without_query)
from framewire.ray_worker import CANNOT_RUN, Worker

__all__ = ["RayReport", "RaySettings", "WrongOptions", "main", "resize_shards"]

#: Options of `framewire batch` that this command gives itself, or that make no sense of groups.
_OWN = ("--shard", "--files-from", "--null", "--json", "--progress", "--metrics-file", "--manifest", "--pack",
        "--unpack", "--in-place")
_MAX_DIGITS = 9  # of a number on the command line
_LOOK_SECONDS = 1.0
#: Pauses before what has failed is tried again: the first, which doubles, and the longest.
_FIRST_PAUSE_SECONDS = 1.0
_MAX_PAUSE_SECONDS = 60.0


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
    """How often a shard that fails in passing is tried, with pauses that grow to a minute."""
    wait: float = 3600.0
    """Seconds for which a shard is waited for that another process is at work on."""
    program: Optional[str] = None
    """The same on all nodes; None: FRAMEWIRE_PROGRAM, or framewire in PATH."""
    progress: str = "auto"
    """auto, never or json."""


@dataclasses.dataclass
class _Job:
    """A group, or a part of one whose call did not tell what has become of each shard."""

    group: Group
    attempts: int = 0
    """Calls that have failed."""
    checks: int = 0
    """Calls that found another process at work on the shard."""
    busy_since: Optional[float] = None
    """The time of the first of these."""
    not_before: float = 0.0
    """The time at which the next call may begin."""

    def parts(self, size: int) -> List["_Job"]:
        shards = self.group.shards
        return [dataclasses.replace(self, group=Group(shards[at:at + size], self.group.out))
                for at in range(0, len(shards), size)]

    def of(self, shards: Sequence[str]) -> "_Job":
        return dataclasses.replace(self, group=Group(tuple(shards), self.group.out))


@dataclasses.dataclass
class _Outcome:
    """What has become of a group's shards, as far as a call of the program tells."""

    settled: List[str] = dataclasses.field(default_factory=list)
    """Written, there before, or failed for good."""
    retryable: List[str] = dataclasses.field(default_factory=list)
    """Failed for a reason that may pass."""
    busy: List[str] = dataclasses.field(default_factory=list)
    """Another process is at work on them."""
    unknown: List[str] = dataclasses.field(default_factory=list)
    """Any of these; a call over fewer shards will tell."""


def _outcome(group: Group, ended: Dict[str, Any]) -> _Outcome:
    """A shard that is written is settled, however the call ended."""
    counts = ended["report"].get("shards", {})
    unchanged, busy, failed = (counts.get(name, 0) for name in ("unchanged", "elsewhere", "failed"))
    written = [shard for shard in group.shards if shard in ended["written"]]
    shards, may_pass = _not_written(group, ended), ended["code"] == 3
    found = _Outcome(settled=written)
    if ended["code"] not in (0, 1, 3) or unchanged + busy + failed != len(shards):
        (found.retryable if len(shards) == 1 else found.unknown).extend(shards)
        return found
    # Errors name shards that have failed; one alone needs no name.
    named = [shard for shard in shards if (failed if len(shards) == 1 else shard in ended["failed"])]
    rest = [shard for shard in shards if shard not in named]
    if len(named) != failed:
        found.unknown = shards
        return found
    (found.retryable if may_pass else found.settled).extend(named)
    (found.settled if not busy else found.busy if busy == len(rest) else found.unknown).extend(rest)
    return found


def _not_written(group: Group, ended: Dict[str, Any]) -> List[str]:
    return [shard for shard in group.shards if shard not in ended["written"]]


@dataclasses.dataclass
class _Busy:
    actor: Any
    job: Optional[_Job] = None
    result: Any = None
    standing: Any = None
    seen: Dict[str, Any] = dataclasses.field(default_factory=dict)


def _pause(times: int) -> float:
    """Seconds before the next try; not the same for all, which would meet again."""
    longest = min(_MAX_PAUSE_SECONDS, _FIRST_PAUSE_SECONDS * 2.0 ** min(times - 1, 30))
    return random.uniform(longest / 2, longest)


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
        self._has_waited = False
        self._has_lacked = False
        self._gpus, self._cpus = self._share()
        given = any(word == "--jobs" or word.startswith("--jobs=") for word in options)
        jobs = [] if given else ["--jobs", str(max(1, self._cpus))]
        self._actor = ray.remote(Worker).options(
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
                self._look()
                self._wait()
        finally:  # who has connected to Ray before stays connected: no actor is to stay
            for worker in self._busy:
                self._ray.kill(worker.actor)
        self._report.seconds = time.monotonic() - self._start
        self._tell("end")
        return self._report

    def _hand_out(self) -> None:
        room = self._room()
        for worker in self._busy:
            if worker.job is None:
                self._begin(worker)
        while len(self._busy) < room and self._next() is not None:
            worker = _Busy(self._actor.remote(*self._words))
            self._busy.append(worker)
            self._begin(worker)
        if self._next() is None:
            self._let_go()

    def _next(self) -> Optional[int]:
        """The place in the queue of the first job that may begin."""
        now = time.monotonic()
        return next((at for at, job in enumerate(self._queue) if job.not_before <= now), None)

    def _let_go(self) -> None:
        """Ends actors without work: another, with work, may wait for the room that they take."""
        for worker in [worker for worker in self._busy if worker.job is None]:
            self._ray.kill(worker.actor)
            self._busy.remove(worker)

    def _begin(self, worker: _Busy) -> None:
        at = self._next()
        if at is None:
            return
        worker.job = self._queue.pop(at)
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
        self._settle(job, ended)

    def _settle(self, job: _Job, ended: Dict[str, Any]) -> None:
        group = job.group
        if ended["code"] == 2:
            raise WrongOptions(without_queries("\n".join(ended["said"]), group.shards))
        reason = "; ".join([f"exit code {ended['code']}", *ended["said"][-3:]])
        if ended["code"] == CANNOT_RUN:  # whatever the shards
            if not self._has_lacked:
                self._warn(f"an actor cannot run the program: {ended['said'][-1]}; trying again; accepted: "
                           "--program, the same on all nodes")
            self._has_lacked = True
            self._again(job, reason, split=False)
            return
        outcome = _outcome(group, ended)
        self._count(group, ended, outcome)
        for shard in outcome.retryable:
            self._again(job.of([shard]), without_query(ended["failed"].get(shard, "")) or reason)
        for shard in outcome.busy:
            self._wait_for(job.of([shard]))
        if outcome.unknown and ended["code"] in (0, 1):
            self._split(job.of(outcome.unknown))
        elif outcome.unknown:
            self._again(job.of(outcome.unknown), reason)

    def _count(self, group: Group, ended: Dict[str, Any], outcome: _Outcome) -> None:
        """Counts shards that are settled; what the call has done for others counts with the call that
        settles them."""
        report, written, failed = self._report, ended["written"], dict(ended["failed"])
        self._done += len(outcome.settled)
        left = _not_written(group, ended)
        if len(left) == 1 and ended["report"].get("shards", {}).get("failed", 0):
            failed.setdefault(left[0], "; ".join(ended["said"][-3:]))
        for shard in outcome.settled:
            if shard in written:
                report.add_written(written[shard])
            elif shard not in failed:
                report.unchanged += 1
            if shard in failed:
                why = f"{without_query(shard)}: {failed[shard]}"
                report.failed_shards.append(without_queries(why, group.shards))

    def _split(self, job: _Job) -> None:
        """Hands out halves, whose calls tell more of each shard."""
        self._queue += job.parts((len(job.group.shards) + 1) // 2)

    def _wait_for(self, job: _Job) -> None:
        """Checks a shard later that another process is at work on: that process may make it, or die."""
        now, name = time.monotonic(), without_query(job.group.shards[0])
        if job.busy_since is None:
            job.busy_since = now
            if not self._has_waited:
                self._warn(f"{name}: another process is at work on it; waiting up to {self._settings.wait:g} s "
                           "for such shards")
            self._has_waited = True
        left = job.busy_since + self._settings.wait - now
        if left <= 0:
            self._give_up(job, f"another process has been at work on it for {self._settings.wait:g} s; "
                          "accepted: the same command later, or more by --wait")
            return
        job.checks += 1
        job.not_before = now + min(left, _pause(job.checks))
        self._queue.append(job)

    def _again(self, job: _Job, reason: str, split: bool = True) -> None:
        """Tries shards again after a pause, in halves, so that one that fails does not take others along."""
        job.attempts += 1
        size = len(job.group.shards)
        split = split and size > 1
        is_last = job.attempts >= self._settings.attempts
        if is_last and not split:
            self._give_up(job, reason)
            return
        self._report.retries += 1
        job.not_before = time.monotonic() + _pause(job.attempts)
        self._queue += job.parts(1 if is_last else (size + 1) // 2) if split else [job]

    def _give_up(self, job: _Job, reason: str) -> None:
        shards = [without_query(shard) for shard in job.group.shards]
        self._report.given_up += shards
        more = f" and {len(shards) - 1} more" if len(shards) > 1 else ""
        self._report.reasons.append(f"{shards[0]}{more}: {without_queries(reason, job.group.shards)}")

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
    parser.add_argument("--workers", type=_from(1), metavar="N",
                        help="actors at a time; if not given, as many as the cluster has room for")
    parser.add_argument("--gpus", type=_from(0), metavar="N", help="of each actor; 1 where the cluster has any")
    parser.add_argument("--cpus", type=_from(1), metavar="N",
                        help="of each actor; if not given, 1, or with GPUs those of its node for each")
    parser.add_argument("--group", type=_from(1), default=RaySettings.group, metavar="N",
                        help="shards that an actor is handed at once (4)")
    parser.add_argument("--attempts", type=_from(1), default=RaySettings.attempts, metavar="N",
                        help="how often a shard that fails in passing is tried (10)")
    parser.add_argument("--wait", type=_seconds, default=RaySettings.wait, metavar="SECONDS",
                        help="for a shard that another process is at work on (3600)")
    parser.add_argument("--program", help="framewire, if not in PATH; the same on all nodes")
    parser.add_argument("--progress", choices=("auto", "never", "json"), default="auto")
    return parser


def _from(least: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not (text.isascii() and text.isdecimal() and len(text) <= _MAX_DIGITS) or int(text) < least:
            raise argparse.ArgumentTypeError(f"found {text}; accepted: a whole number from {least}")
        return int(text)

    return read


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"found {text}; accepted: a number of seconds from 0")
    return seconds


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
    if not out:  # which abspath() would make the current folder
        raise ValueError("OUT: found an empty name; accepted: a folder, or s3://BUCKET/PREFIX")
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
                                   settings=RaySettings(**vars(settings)), stream=sys.stderr)
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
    if report.copy_errors:
        print(f"framewire: members besides pictures that could not be copied: {report.copy_errors}; the "
              "manifests name them", file=sys.stderr)
    if report.given_up:
        return 3
    return 1 if report.failed or report.failed_shards or report.copy_errors else 0


if __name__ == "__main__":
    # Under its own name, so that actors find the class by it.
    sys.exit(importlib.import_module("framewire.ray").main())
