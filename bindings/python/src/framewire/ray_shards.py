"""Names of shards: what words on a command line stand for, and where outputs go.

>>> expand(["a/{000..002}.tar"])
['a/000.tar', 'a/001.tar', 'a/002.tar']
>>> [(group.shards, group.out) for group in group_shards(["in/a/0.tar", "in/b/0.tar"], "out", 8)]
[(('in/a/0.tar',), 'out/a'), (('in/b/0.tar',), 'out/b')]
"""

import dataclasses
import glob
import itertools
import os
import re
from typing import Dict, Iterable, Iterator, List, Optional, Sequence, Set, Tuple

_RANGE = re.compile(r"(\d+)\.\.(\d+)(?:\.\.(-?\d+))?", re.ASCII)
_PADDED = re.compile(r"0\d")
_WEB = re.compile(r"https?://", re.IGNORECASE)
#: As many as `framewire batch` takes.
MAX_SHARDS = 10_000_000
MAX_BRACE_DEPTH = 32
#: Of an entry of a list, as in the program's.
MAX_NAME_BYTES = 4096
_UTF8_MARK = b"\xef\xbb\xbf"
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


@dataclasses.dataclass(frozen=True)
class Group:
    """Shards of one folder that one call of `framewire batch` resizes."""

    shards: Tuple[str, ...]
    out: str
    """The folder of their outputs."""


def _brace(word: str, depth: int = 0) -> Iterator[str]:
    """As the program has it, and bash: ranges, with steps, and choices, which may have braces."""
    if depth > MAX_BRACE_DEPTH:
        raise ValueError(f"braces are more than {MAX_BRACE_DEPTH} deep")
    pairs = _pairs(word)
    for begin, end in sorted(pairs.items()):
        inside = word[begin + 1:end]
        found = _RANGE.fullmatch(inside)
        commas = _commas(begin + 1, end, word, pairs)
        if commas:
            edges = [begin, *commas, end]
            parts: Iterable[str] = (part for first, last in zip(edges, edges[1:])
                                    for part in _brace(word[first + 1:last], depth + 1))
        elif found is not None:
            parts = _range(*found.groups())
        else:
            continue
        rest = word[end + 1:]
        for part in parts:
            for more in _brace(rest, depth):
                yield word[:begin] + part + more
        return
    yield word


def _pairs(word: str) -> Dict[int, int]:
    """Where the braces end that begin in a word."""
    pairs: Dict[int, int] = {}
    begun: List[int] = []
    for at, letter in enumerate(word):
        if letter == "{":
            begun.append(at)
        elif letter == "}" and begun:
            pairs[begun.pop()] = at
    return pairs


def _commas(begin: int, end: int, word: str, pairs: Dict[int, int]) -> List[int]:
    """Those that are in no braces of their own."""
    commas: List[int] = []
    while begin < end:
        if word[begin] == ",":
            commas.append(begin)
        begin = pairs.get(begin, begin) + 1
    return commas


def _range(first: str, last: str, step: Optional[str]) -> Iterator[str]:
    width = max(len(first), len(last)) if _PADDED.match(first) or _PADDED.match(last) else 1
    by = max(1, abs(int(step))) if step else 1
    ends = (int(first), int(last) + 1, by) if int(first) <= int(last) else (int(first), int(last) - 1, -by)
    return (f"{number:0{width}}" for number in range(*ends))


def _is_file(word: str) -> bool:
    """Whether there is a file of just that name, which is then meant itself, as the program has it."""
    return not is_url(word) and os.path.exists(word)


def _names(word: str) -> Iterator[str]:
    """The names that a word with braces stands for."""
    return iter([word]) if "{" in word and _is_file(word) else _brace(word)


def expand(words: Sequence[str]) -> List[str]:
    """The shards that words stand for: names with braces, with * and ?, and @LIST, a file of names.

    Raises ValueError for what is no shard, for a pattern that no file fits, for too many shards, and
    for one that is named twice. No message has the query of an address, which may be a signature.
    """
    names: List[str] = []
    known: Set[str] = set()
    for word in words:
        for shard in _shards(word, len(words) == 1):
            shown = without_query(shard)
            if not shown.endswith(".tar"):
                raise ValueError(f"{shown}: is no shard; accepted: names that end in .tar")
            if shown in known:
                raise ValueError(f"{shown}: is named twice")
            if len(names) == MAX_SHARDS:
                raise ValueError(f"more than {MAX_SHARDS} shards")
            known.add(shown)
            names.append(shard)
    return names


def _shards(word: str, alone: bool) -> Iterator[str]:
    # Beside other words a file whose name begins with @ is meant itself.
    if word.startswith("@") and (alone or not _is_file(word)):
        for entry in _listed(word[1:]):
            for name in _names(entry):
                _check_url(name)
                yield name
    elif _is_file(word):
        yield word
    else:
        for name in _names(word):
            _check_url(name)
            yield from _found(name)


def _listed(path: str) -> Iterator[str]:
    """The entries of a list, read as the program reads it."""
    with open(path, "rb") as lines:
        for number in itertools.count(1):
            line = lines.readline(len(_UTF8_MARK) + MAX_NAME_BYTES + len("\r\n"))
            if not line:
                return
            if number == 1 and line.startswith(_UTF16_MARKS):
                raise ValueError(f"{path}: is written in UTF-16; accepted: UTF-8")
            entry = line[:-1] if line.endswith(b"\n") else line
            if number == 1 and entry.startswith(_UTF8_MARK):
                entry = entry[len(_UTF8_MARK):]
            if entry.endswith(b"\r"):
                entry = entry[:-1]
            if b"\0" in entry:
                raise ValueError(f"{path}: line {number} holds a NUL byte; accepted: one name a line")
            if len(entry) > MAX_NAME_BYTES:
                raise ValueError(f"{path}: entry {number} is longer than {MAX_NAME_BYTES} bytes")
            if entry:
                yield os.fsdecode(entry)


def _check_url(name: str) -> None:
    # What stands before an @ may be a password.
    if is_web_url(name) and "@" in name.split("/")[2]:
        raise ValueError("the address has a user in it; accepted: http://HOST/PATH or https://HOST/PATH")
    shown = without_query(name)
    # On a web server '?' begins the query.
    if is_url(name) and any(mark in shown for mark in ("*" if is_web_url(name) else "*?")):
        raise ValueError(f"{shown}: patterns in URLs are not looked up; accepted: braces, or @LIST")


def _found(name: str) -> List[str]:
    """The files that fit a pattern, or the name itself."""
    if is_url(name) or _is_file(name) or not any(mark in name for mark in "*?"):
        return [name]
    # '[' has no meaning for the program.
    found = sorted(glob.glob(name.replace("[", "[[]")))
    if not found:
        raise ValueError(f"{name}: no file fits")
    return found


def is_web_url(name: str) -> bool:
    return _WEB.match(name) is not None


def is_url(name: str) -> bool:
    """Whether the program would not take it for a path."""
    return name.startswith("s3://") or is_web_url(name)


def without_query(name: str) -> str:
    """The address of a web server without its query, which may be a signature and is no part of its
    name, and with scheme and host in small letters. Any other name as it is.

    >>> without_query("HTTPS://Data.example/In/0.tar?X-Amz-Signature=8f3a")
    'https://data.example/In/0.tar'
    """
    if not is_web_url(name):
        return name
    path = name.partition("?")[0]
    parts = path.split("/", 3)
    return "/".join([*(part.lower() for part in parts[:3]), *parts[3:]])


def without_queries(text: str, shards: Sequence[str]) -> str:
    """A text that others have written, without the queries of these shards."""
    for shard in shards:
        query = shard.partition("?")[2]
        if query and is_web_url(shard):
            text = text.replace(f"?{query}", "")
    return text


def _absolute(name: str) -> str:
    return without_query(name) if is_url(name) else os.path.abspath(name)


def list_entry(shard: str) -> str:
    """The entry of a list by which the program names a shard by the last part of its path.

    >>> list_entry("in/a/0.tar")
    'in/a/./0.tar'
    """
    folder, slash, name = shard.rpartition("/")
    return shard if is_url(shard) or not slash else f"{folder}/./{name}"


def name_in_list(entry: str) -> str:
    """The name below OUT_DIR that the program gives to a list's entry.

    >>> name_in_list("in/./a/0.tar"), name_in_list("/in/0.tar")
    ('a/0.tar', 'in/0.tar')
    """
    name = os.path.normpath(entry.rpartition("/./")[2]).lstrip("/")
    if name.startswith("../"):
        raise ValueError(f"{entry}: leads out of the current folder")
    return name


def group_shards(shards: Sequence[str], out: str, size: int, names: Sequence[str] = ()) -> List[Group]:
    """Cuts shards into groups of up to `size`, so that outputs have the names that one call of
    `framewire batch` would give them: their paths below the deepest folder that holds them all, or
    `names`, which those in a list have."""
    folders = [_absolute(shard).split("/")[:-1] for shard in shards]
    if not folders:
        return []
    base = len(os.path.commonprefix(folders))
    if names:
        known: Set[str] = set()
        for shard, name in zip(shards, names):
            if name in known:
                raise ValueError(f"{shard}: is named twice: another shard's output is {name}, too")
            known.add(name)
        folders, base = [name.split("/")[:-1] for name in names], 0
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
