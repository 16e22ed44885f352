"""The program over one group of shards, as an actor runs it, and what the program says of them."""

import ctypes
import json
import os
import signal
import subprocess
import tempfile
import threading
from typing import Any, Dict, List, Sequence, TextIO

from framewire.ray_shards import Group, list_entry, without_query

__all__ = ["CANNOT_RUN", "Worker"]

CANNOT_RUN = 127  # as a shell says it
_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG, linux/prctl.h


class Worker:
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
        """How the program ended: its exit code, its report, the last of what it said, why shards have
        failed (`failed`), and what came of the rows of each shard that it has written (`written`)."""
        events = _Events(group)
        with tempfile.TemporaryDirectory(prefix="framewire-ray-") as folder:
            names = os.path.join(folder, "shards")
            with open(names, "wb") as file:
                file.writelines(os.fsencode(list_entry(shard)) + b"\0" for shard in group.shards)
            command = [self._program, "batch", "--files-from", names, "--null", group.out, "--resume",
                       "--json", "--progress", "json", *self._options]
            with open(os.path.join(folder, "report"), "w+", encoding="utf-8") as report:
                try:
                    code = self._follow(command, report, events)
                except OSError as error:
                    code, events.said = CANNOT_RUN, [str(error)]
                report.seek(0)
                text = report.read()
        with self._lock:
            self._standing = {}
        return {"code": code, "said": events.said, "failed": events.failed, "written": events.written,
                "report": _object(text)}

    def _follow(self, command: List[str], report: TextIO, events: "_Events") -> int:
        def end_with_the_actor() -> None:
            self._libc.prctl(_DEATH_SIGNAL, signal.SIGKILL)

        # pylint: disable=subprocess-popen-preexec-fn
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=report, stderr=subprocess.PIPE,
                              encoding="utf-8", errors="replace", preexec_fn=end_with_the_actor) as child:
            assert child.stderr is not None
            for line in child.stderr:
                standing = events.take(line)
                if standing:
                    with self._lock:
                        self._standing = standing
            return child.wait()


class _Events:
    """What the program has said of a group's shards on standard error."""

    def __init__(self, group: Group) -> None:
        self.said: List[str] = []
        self.failed: Dict[str, str] = {}
        self.written: Dict[str, Dict[str, Any]] = {}
        # Inputs are called as the list has them, or by their paths.
        self._inputs: Dict[str, str] = {}
        self._outputs: Dict[str, str] = {}
        for shard in group.shards:
            path = without_query(shard)
            self._inputs[_as_json_has(without_query(list_entry(shard)))] = shard
            self._inputs[_as_json_has(path)] = shard
            output = _as_json_has(group.out.rstrip("/") + "/" + path.rpartition("/")[2])
            self._outputs[output] = self._outputs[output + ".jsonl"] = shard

    def take(self, line: str) -> Dict[str, Any]:
        """@return how far the program is, where the line says that"""
        event = _object(line)
        if event.get("event") == "shard":
            shard = self._inputs.get(str(event.get("input")))
            if shard is not None:
                self.written[shard] = event
            return {}
        if event and event.get("event") != "error":
            return event
        if event:
            self._take_error(event)
            line = f"{event.get('error_class')}: {event.get('subject')}: {event.get('message')}"
        # Enough to see why; the manifests have every row.
        self.said = [*self.said[-19:], line.rstrip()]
        return {}

    def _take_error(self, event: Dict[str, Any]) -> None:
        subject, message = str(event.get("subject")), str(event.get("message"))
        shard = self._inputs.get(subject)
        if shard is not None:
            self.failed.setdefault(shard, message)
        elif subject in self._outputs:
            self.failed.setdefault(self._outputs[subject], f"{subject}: {message}")


def _as_json_has(name: str) -> str:
    """A name as lines of JSON have it, in which no bytes can stand that are not UTF-8."""
    return os.fsencode(name).decode("utf-8", "replace")


def _object(text: str) -> Dict[str, Any]:
    """What JSON says, or {} where it is no object."""
    if not text.startswith("{"):
        return {}
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
