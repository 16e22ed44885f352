"""What has come of all shards of a Ray job, as its driver counts it."""

import dataclasses
from typing import Any, Dict, List

__all__ = ["RayReport"]


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
    copy_errors: int = 0
    """Members besides pictures that could not be copied."""
    retries: int = 0
    """Groups, and parts of them, that were handed out again because they had failed."""
    errors: Dict[str, int] = dataclasses.field(default_factory=dict)
    """Failures by class."""
    failed_shards: List[str] = dataclasses.field(default_factory=list)
    """Shards that cannot be read or made, and why: "in/7.tar: cannot open: No such file or directory"."""
    given_up: List[str] = dataclasses.field(default_factory=list)
    """Shards that failed too often, or that another process has kept for too long; addresses of web
    servers without their queries."""
    reasons: List[str] = dataclasses.field(default_factory=list)
    """Why: the last of what the program, or Ray, said."""
    seconds: float = 0.0

    def add(self, report: Dict[str, Any]) -> None:
        """Adds the report of `framewire batch` over one group, without the shards that it found done."""
        shards = report.get("shards", {})
        self.written += shards.get("written", 0)
        self.copy_errors += shards.get("copy_errors", 0)
        # Pictures count with their shards: of a call that has made none they are made again.
        pictures = ("ok", "bytes_in", "bytes_out") if shards.get("written", 0) else ()
        for key in ("failed", *pictures):
            setattr(self, key, getattr(self, key) + report.get(key, 0))
        self._add_errors(report.get("errors", {}))

    def add_failures(self, classes: Dict[str, int]) -> None:
        """Adds pictures that have failed, by class."""
        self.failed += sum(classes.values())
        self._add_errors(classes)

    def subtract_failures(self, classes: Dict[str, int]) -> None:
        """Takes off failures in shards that are tried again, whose next call reports them."""
        self.add_failures({name: -min(count, self.errors.get(name, 0)) for name, count in classes.items()})

    def _add_errors(self, classes: Dict[str, int]) -> None:
        for name, count in classes.items():
            self.errors[name] = self.errors.get(name, 0) + count
        self.errors = {name: count for name, count in self.errors.items() if count}
