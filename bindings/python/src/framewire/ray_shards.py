"""Names of shards: what words on a command line stand for, and where outputs go.

>>> expand(["a/{000..002}.tar"])
['a/000.tar', 'a/001.tar', 'a/002.tar']
>>> [(group.shards, group.out) for group in group_shards(["in/a/0.tar", "in/b/0.tar"], "out", 8)]
[(('in/a/0.tar',), 'out/a'), (('in/b/0.tar',), 'out/b')]
"""

import dataclasses
import glob
import os
import re
from typing import Dict, Iterable, Iterator, List, Sequence, Tuple

_RANGE = re.compile(r"\{(\d+)\.\.(\d+)\}")
_CHOICE = re.compile(r"\{([^{}]*,[^{}]*)\}")
#: As many as `framewire batch` takes.
MAX_SHARDS = 10_000_000


@dataclasses.dataclass(frozen=True)
class Group:
    """Shards of one folder that one call of `framewire batch` resizes."""

    shards: Tuple[str, ...]
    out: str
    """The folder of their outputs."""


def _brace(word: str) -> Iterator[str]:
    found = min(filter(None, (_RANGE.search(word), _CHOICE.search(word))),
                key=lambda match: match.start(), default=None)
    if found is None:
        yield word
        return
    if found.re is _RANGE:
        first, last = found.groups()
        step = 1 if int(first) <= int(last) else -1
        width = max(len(first), len(last)) if "0" in (first[0], last[0]) else 1
        parts: Iterable[str] = (f"{number:0{width}}"
                                for number in range(int(first), int(last) + step, step))
    else:
        parts = found.group(1).split(",")
    for part in parts:
        for rest in _brace(word[found.end():]):
            yield word[:found.start()] + part + rest


def expand(words: Sequence[str]) -> List[str]:
    """The shards that words stand for: names with braces, with * and ?, and @LIST, a file of names.

    Raises ValueError for what is no shard, for a pattern that no file fits, for too many shards, and
    for one that is named twice.
    """
    names: Dict[str, None] = {}
    for word in words:
        if word.startswith("@"):
            with open(word[1:], encoding="utf-8", errors="surrogateescape") as lines:
                listed: Iterable[str] = [line.rstrip("\r\n") for line in lines if line.strip()]
        else:
            listed = _brace(word)
        for name in listed:
            if any(mark in name for mark in "*?["):
                if is_url(name):
                    raise ValueError(f"{name}: patterns in URLs are not looked up; accepted: braces, or @LIST")
                found = sorted(glob.glob(name))
                if not found:
                    raise ValueError(f"{name}: no file fits")
            else:
                found = [name]
            for shard in found:
                if not shard.endswith(".tar"):
                    raise ValueError(f"{shard}: is no shard; accepted: names that end in .tar")
                if shard in names:
                    raise ValueError(f"{shard}: is named twice")
                if len(names) == MAX_SHARDS:
                    raise ValueError(f"more than {MAX_SHARDS} shards")
                names[shard] = None
    return list(names)


def is_url(name: str) -> bool:
    return "://" in name


def _absolute(name: str) -> str:
    return name if is_url(name) else os.path.abspath(name)


def group_shards(shards: Sequence[str], out: str, size: int) -> List[Group]:
    """Cuts shards into groups of up to `size`, so that outputs have the names that one call of
    `framewire batch` would give them: their paths below the deepest folder that holds them all."""
    folders = [_absolute(shard).split("/")[:-1] for shard in shards]
    if not folders:
        return []
    base = len(os.path.commonprefix(folders))
    groups: List[Group] = []
    waiting: Dict[str, List[str]] = {}
    for shard, folder in zip(shards, folders):
        target = "/".join([out.rstrip("/") or "/", *folder[base:]])
        group = waiting.setdefault(target, [])
        group.append(shard)
        if len(group) == size:
            groups.append(Group(tuple(waiting.pop(target)), target))
    groups += [Group(tuple(group), target) for target, group in waiting.items()]
    return groups
