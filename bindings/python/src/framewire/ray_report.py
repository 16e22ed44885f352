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
    """Done by an earlier run, or by a call whose actor has died."""
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

    def add_written(self, rows: Dict[str, Any]) -> None:
        """Adds a shard that is written, with what came of its rows."""
        self.written += 1
        for key in ("ok", "failed", "bytes_in", "bytes_out", "copy_errors"):
            setattr(self, key, getattr(self, key) + rows.get(key, 0))
        for name, count in rows.get("errors", {}).items():
            self.errors[name] = self.errors.get(name, 0) + count
