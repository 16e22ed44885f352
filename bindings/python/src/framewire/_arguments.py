"""Arguments as users write them: each becomes what the library takes, or an InvalidInput."""

from __future__ import annotations

import operator
from collections.abc import Mapping as AnyMapping
from collections.abc import Set as AnySet
from typing import Iterable, List, NoReturn, Sequence, Tuple, TypeVar

from ._errors import InvalidInput

_LEGACY_STREAM = 1  # as DLPack and CUDA number it
_MAX_FLOAT32 = 3.4028234663852886e38
_MIN_FLOAT32 = 1.401298464324817e-45  # above 0
_MAX_SHOWN = 200  # characters of a value in a message
_Input = TypeVar("_Input")


def cut(text: str) -> str:
    """A text that is no longer than a message should be."""
    return text if len(text) <= _MAX_SHOWN else text[: _MAX_SHOWN - 1] + "…"


def shown(value: object) -> str:
    """What a message says of a value: its repr(), cut, or its type where that raises.

    An int of more than 4300 digits has no repr().
    """
    try:
        return cut(repr(value))
    except Exception:
        return repr(type(value))


def is_bool(value: object) -> bool:
    """Whether it is a bool: Python's, NumPy's, or an array of one that has no dimensions."""
    if isinstance(value, bool):
        return True
    kind = getattr(getattr(value, "dtype", None), "kind", None)
    return kind == "b" and getattr(value, "shape", None) == ()


def is_unicode(text: str) -> bool:
    """Whether it has an encoding, as half of a surrogate pair has not."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def number(value: object) -> float:
    """A float of any number; text, which float() reads, is none. Raises ValueError."""
    if isinstance(value, (str, bytes, bytearray)):
        raise ValueError
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, OverflowError):
        raise ValueError from None


def numbers(value: object) -> List[float]:
    """Floats of the numbers in something with an order. Raises ValueError."""
    if isinstance(value, (str, bytes, bytearray, AnySet, AnyMapping)):
        raise ValueError
    try:
        return [number(part) for part in value]  # type: ignore[attr-defined]
    except TypeError:
        raise ValueError from None


def several(jpegs: Iterable[_Input]) -> Iterable[_Input]:
    """The same iterable. Refuses one JPEG where several belong: each of its bytes would be an image."""
    try:
        with memoryview(jpegs) as view:  # type: ignore[arg-type]
            one = view.ndim == 1 and view.itemsize == 1 and view.format != "?"
    except (TypeError, ValueError, BufferError):
        one = isinstance(jpegs, str) or not hasattr(jpegs, "__iter__") and not hasattr(jpegs, "__getitem__")
    if one:
        raise TypeError(
            f"jpegs: found {type(jpegs)}; accepted: a list of JPEG streams, each bytes or another "
            "object with its buffer; for one image [jpeg]"
        )
    return jpegs


def not_copied(what: str) -> NoReturn:
    """What copy and pickle get from objects that hold threads."""
    raise TypeError(
        f"{what} cannot be copied or pickled, since it has threads; accepted: another one, made where "
        "it is used"
    )


def flag(name: str, value: object) -> bool:
    """A bool, or 0 or 1: other values that count as true, such as "no", are mistakes."""
    if is_bool(value) or (isinstance(value, int) and value in (0, 1)):
        return bool(value)
    raise InvalidInput(f"found {shown(value)}; accepted: True and False", subject=name)


def index_of_word(name: str, value: object, accepted: Sequence[str]) -> int:
    """The position of a word; upper and lower case are the same."""
    if isinstance(value, str):
        for index, word in enumerate(accepted):
            if value.lower() == word.lower():
                return index
    raise InvalidInput(f"found {shown(value)}; accepted: {', '.join(accepted)}", subject=name)


def width_and_height(size: object) -> Tuple[int, int]:
    """The two sides of "WxH" or of a pair, in pixels; what has no order, and bytes, are no pair."""
    sides: object = () if isinstance(size, (bytes, bytearray, AnySet, AnyMapping)) else size
    try:
        if isinstance(size, str):
            sides = size.split("x")
            if all(side.isascii() and side.isdecimal() for side in size.split("x")):
                sides = [int(side) for side in size.split("x")]
        if any(map(is_bool, sides)):  # type: ignore[call-overload]
            raise ValueError
        width, height = (operator.index(side) for side in sides)  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        width = height = 0
    if not (0 < width < 1 << 31 and 0 < height < 1 << 31):
        raise InvalidInput(
            f"found {shown(size)}; accepted: (width, height) or 'WxH', sides of 1 pixel or more",
            subject="size",
        )
    return width, height


def whole_number(name: str, value: object, low: int, high: int) -> int:
    """A number that may be an index: an int, or one of NumPy's; no bool."""
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = low - 1
    if isinstance(value, bool) or not low <= number <= high:
        raise InvalidInput(
            f"found {shown(value)}; accepted: a whole number from {low} to {high}", subject=name
        )
    return number


def min_and_max(name: str, value: object) -> Tuple[float, float]:
    """Two numbers, in the order in which they came."""
    try:
        low, high = numbers(value)
    except ValueError:
        raise InvalidInput(
            f"found {shown(value)}; accepted: two numbers, (min, max)", subject=name
        ) from None
    return low, high


def values_of_channels(name: str, value: object, default: float, count: int) -> List[float]:
    """Three numbers, of which the library reads as many as there are channels."""
    if value is None:
        return [default] * 3
    try:
        found = numbers(value)
    except ValueError:
        try:
            found = [number(value)] * count
        except ValueError:
            found = []
    # The library has 32 bits of each.
    low = _MIN_FLOAT32 if name == "std" else 0.0
    if len(found) != count or not all(low <= abs(one) <= _MAX_FLOAT32 for one in found):
        accepted = "a number from " + (
            "1.4e-45 to 3.4e38, positive or negative" if name == "std" else "-3.4e38 to 3.4e38"
        )
        if count > 1:
            accepted += f", or {count}, one a channel"
        raise InvalidInput(f"found {shown(value)}; accepted: {accepted}", subject=name)
    return (found + [default] * 3)[:3]


def device_ordinal(device: object) -> int:
    """The CUDA ordinal of a device; -1 for the CPU."""
    number_given = -1
    try:
        if hasattr(device, "__index__"):  # NumPy's numbers, too
            number_given = -1 if isinstance(device, bool) else operator.index(device)
        else:
            text = str(device)  # a torch.device, too
            if text in ("cpu", "cpu:0"):  # the CPU has but one number
                return -1
            kind, _, ordinal = text.partition(":") if ":" in text else (text, "", "0")
            if kind == "cuda" and ordinal.isascii() and ordinal.isdecimal():
                number_given = int(ordinal)
    except (TypeError, ValueError):  # no number, or one of too many digits
        pass
    if 0 <= number_given < 1 << 31:
        return number_given
    raise InvalidInput(
        f"found {shown(device)}; accepted: 'cpu', a GPU's number, 'cuda', 'cuda:1'", subject="device"
    )


def stream_address(stream: object, device: int) -> int:
    """The address of a cudaStream_t, or the number that stands for one of CUDA's default streams.

    0, which torch and CuPy have for the default stream in their objects, is the legacy one.
    """
    if stream is None:
        return _LEGACY_STREAM if device >= 0 else 0
    if device < 0:
        raise InvalidInput(
            f"found {shown(stream)}; accepted for batches on the CPU: None", subject="stream"
        )
    if hasattr(stream, "__cuda_stream__"):
        address = stream.__cuda_stream__()[1]
    elif hasattr(stream, "cuda_stream"):  # torch's
        address = stream.cuda_stream
    elif hasattr(stream, "ptr"):  # CuPy's
        address = stream.ptr
    else:
        return whole_number("stream", stream, 1, (1 << 64) - 1)
    return operator.index(address) or _LEGACY_STREAM
