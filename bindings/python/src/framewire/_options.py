"""Options as keyword arguments: the grammar's words, Python's values."""

from __future__ import annotations

import difflib
import functools
import operator
from numbers import Number
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Tuple

from . import _framewire
from ._arguments import cut, is_bool, is_unicode, number, shown
from ._errors import InvalidInput, UnknownOption
from ._errors import keywords as _keywords_of_names

if TYPE_CHECKING:
    from collections.abc import Sequence


class Option(NamedTuple):
    """One option of the grammar."""

    name: str
    """The keyword argument."""
    metavar: str
    """How a value is written, "WxH" say; empty for a flag."""
    choices: Tuple[str, ...]
    """The words that are accepted, where the value is one of a few and nothing else."""
    default: str
    """As it would be written; empty where there is none."""
    help: str
    group: str


def _read_options() -> Tuple[Option, ...]:
    options: List[Option] = []
    for name, metavar, choices, default, text, group in _framewire.option_specs():
        words: Tuple[str, ...] = tuple(choices.split("|")) if choices else ()
        if any(":" in word for word in words):  # fp:X:Y is no word, but how a value is written
            words, metavar = (), choices
        options.append(Option(name.replace("-", "_"), metavar, words, default, text, group))
    return tuple(options)


_OPTIONS = _read_options()
# Keyword arguments and the grammar's names. auto_orient is not the grammar's: no_auto_orient is.
_NAMES: Dict[str, str] = {option.name: option.name.replace("_", "-") for option in _OPTIONS}
_NEGATED = {"auto_orient": "no-auto-orient"}
_FLAGS = frozenset(_NAMES[option.name] for option in _OPTIONS if not option.metavar)
_FIXED = frozenset((str, int, float, bool, type(None)))  # and NumPy's numbers, by their base class
_keywords_of_names.update({name: keyword for keyword, name in _NAMES.items()})


def options() -> Tuple[Option, ...]:
    """Every option of a resize, in the order of the program's help.

    >>> import framewire
    >>> [option.name for option in framewire.options()][:3]
    ['size', 'resize', 'enlarge']
    """
    return _OPTIONS


def _number(value: object) -> Optional[str]:
    if isinstance(value, str):
        return value
    if is_bool(value):
        return "true" if value else "false"
    if isinstance(value, float):  # NumPy's float64 too
        return float.__repr__(value)
    try:
        return str(operator.index(value))  # type: ignore[arg-type]
    except TypeError:
        pass
    except ValueError:  # more digits than Python writes
        return None
    try:  # NumPy's float32, fractions, decimals
        return repr(number(value))
    except ValueError:
        return None


def _join(separator: str) -> Callable[[Sequence[object]], Optional[str]]:
    def joined(values: Sequence[object]) -> Optional[str]:
        parts = [_number(value) for value in values]
        return None if None in parts else separator.join(part for part in parts if part is not None)

    return joined


def _sides(values: Sequence[object]) -> Optional[str]:
    """(480, 270), (480, None): a side that is None follows from the other."""
    if len(values) != 2:
        return None
    parts = ["" if value is None else _number(value) for value in values]
    return None if None in parts else "x".join(part for part in parts if part is not None)


def _color(values: Sequence[object]) -> Optional[str]:
    try:
        numbers = [operator.index(value) for value in values]  # type: ignore[arg-type]
    except TypeError:
        return None
    if len(numbers) != 3 or not all(0 <= number <= 255 for number in numbers):
        return None
    return "".join(f"{number:02x}" for number in numbers)


# How a tuple or list is written, where one is natural.
_TUPLES: Dict[str, Callable[[Sequence[object]], Optional[str]]] = {
    "size": _sides,
    "min-size": _sides,
    "crop": _sides,
    "zoom": _sides,
    "padding": _join(","),
    "background": _color,
    "gravity": _join(":"),
    "crop-gravity": _join(":"),
    "extend": _join(":"),
    "extend-aspect-ratio": _join(":"),
}


def _text(name: str, value: object) -> Optional[str]:
    if isinstance(value, (tuple, list)):
        written = _TUPLES.get(name)
        return written(value) if written is not None else None
    return _number(value)


def _accepted(name: str) -> str:
    option = next(option for option in _OPTIONS if _NAMES[option.name] == name)
    if option.choices:
        return "one of " + ", ".join(option.choices)
    if not option.metavar:
        return "True or False"
    return option.metavar + (", or a tuple" if name in _TUPLES else "")


def _setting(keyword: str, value: object) -> Tuple[str, Optional[str]]:
    if not isinstance(keyword, str):  # of a dict beside an input of map()
        raise UnknownOption(f"found {shown(keyword)}; accepted: an option's name", subject="options")
    negated = _NEGATED.get(keyword)
    name = negated or _NAMES.get(keyword)
    if name is None:
        known = [*_NAMES, *_NEGATED]
        word = cut(keyword if keyword.isprintable() else repr(keyword)[1:-1])
        near = difflib.get_close_matches(word.lower().replace("-", "_"), known, 1)
        hint = f"did you mean {near[0]}?" if near else "framewire.options() lists all"
        raise UnknownOption(f"unknown option; {hint}", subject=word)
    if value is None:
        return name, None
    text = _text(name, value)
    if (
        text is None
        or not is_unicode(text)
        or (negated and text not in ("true", "false"))
        or (not text and name in _FLAGS)  # which a command line's alone would switch on
    ):
        accepted = "True or False" if negated else _accepted(name)
        raise InvalidInput(f"found {shown(value)}; accepted: {accepted}", subject=keyword)
    if negated:
        text = "false" if text == "true" else "true"
    return name, text


def _settings(keywords: Mapping[str, object]) -> List[Tuple[str, str]]:
    if not _NEGATED.keys().isdisjoint(keywords) and "no_auto_orient" in keywords:
        raise InvalidInput(
            "found beside no_auto_orient; accepted: one of the two", subject="auto_orient"
        )
    settings = [_setting(keyword, value) for keyword, value in keywords.items()]
    return [(name, text) for name, text in settings if text is not None]


@functools.lru_cache(maxsize=256)
def _parse_known(
    settings: Tuple[Tuple[str, object, object], ...], base: Optional[_framewire.Options]
) -> _framewire.Options:
    return _parse({keyword: value for keyword, value, _ in settings}, base)


def _parse(
    keywords: Mapping[str, object], base: Optional[_framewire.Options]
) -> _framewire.Options:
    return _framewire.parse_options(_settings(keywords), base)


def _is_number(value: object) -> bool:
    try:
        return isinstance(value, Number) and hash(value) is not None
    except TypeError:  # a signalling NaN has none
        return False


def _is_fixed(value: object) -> bool:
    """Whether it always means the same, and has a hash, as text, numbers and tuples of them do.

    A tensor of torch, say, has a hash, too, but may be written to.
    """
    if isinstance(value, tuple):
        return all(part.__class__ in _FIXED or _is_number(part) for part in value)
    return value.__class__ in _FIXED or _is_number(value)


def _types(value: object) -> object:
    """The type, and those of a tuple's elements."""
    if isinstance(value, tuple):
        return (value.__class__, *(element.__class__ for element in value))
    return value.__class__


def parse(
    keywords: Mapping[str, Any], base: Optional[_framewire.Options] = None
) -> _framewire.Options:
    """The options that keyword arguments name, on top of `base`. None leaves an option as it is."""
    if not all(map(_is_fixed, keywords.values())):
        return _parse(keywords, base)
    # Whoever resizes much uses the same options again: to look them up costs a twentieth. Types are
    # part of the key, since True == 1 == 1.0.
    return _parse_known(
        tuple((keyword, value, _types(value)) for keyword, value in keywords.items()), base
    )
