"""Arguments as users write them: each becomes what the library takes, or an InvalidInput."""

from __future__ import annotations

import operator
from typing import Iterable, List, NoReturn, Sequence, Tuple, TypeVar

from ._errors import InvalidInput

_LEGACY_STREAM = 1  # as DLPack and CUDA number it
_Input = TypeVar("_Input")


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


def index_of_word(name: str, value: object, accepted: Sequence[str]) -> int:
    """The position of a word; upper and lower case are the same."""
    if isinstance(value, str):
        for index, word in enumerate(accepted):
            if value.lower() == word.lower():
                return index
    raise InvalidInput(f"found {value!r}; accepted: {', '.join(accepted)}", subject=name)


def width_and_height(size: object) -> Tuple[int, int]:
    """The two sides of "WxH" or of a pair, in pixels."""
    sides: object = size
    if isinstance(size, str):
        sides = size.split("x")
        if all(side.isascii() and side.isdecimal() for side in size.split("x")):
            sides = [int(side) for side in size.split("x")]
    try:
        width, height = (operator.index(side) for side in sides)  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        width = height = 0
    if not (0 < width < 1 << 31 and 0 < height < 1 << 31):
        raise InvalidInput(
            f"found {size!r}; accepted: (width, height) or 'WxH', sides of 1 pixel or more",
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
            f"found {value!r}; accepted: a whole number from {low} to {high}", subject=name
        )
    return number


def min_and_max(name: str, value: object) -> Tuple[float, float]:
    """Two numbers, in the order in which they came."""
    try:
        low, high = (float(part) for part in value)  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        raise InvalidInput(
            f"found {value!r}; accepted: two numbers, (min, max)", subject=name
        ) from None
    return low, high


def values_of_channels(name: str, value: object, default: float, count: int) -> List[float]:
    """Three numbers, of which the library reads as many as there are channels."""
    if value is None:
        return [default] * 3
    try:
        numbers = [float(number) for number in value]  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        try:
            numbers = [float(value)] * count  # type: ignore[arg-type]
        except (TypeError, ValueError):
            numbers = []
    if len(numbers) != count:
        numbers_text = "one number" if count == 1 else f"a number, or {count}, one a channel"
        raise InvalidInput(f"found {value!r}; accepted: {numbers_text}", subject=name)
    return (numbers + [default] * 3)[:3]


def device_ordinal(device: object) -> int:
    """The CUDA ordinal of a device; -1 for the CPU."""
    text = str(device)  # a torch.device, too
    if text == "cpu":
        return -1
    kind, _, ordinal = text.partition(":") if ":" in text else (text, "", "0")
    if isinstance(device, int) and not isinstance(device, bool):
        kind, ordinal = "cuda", text
    if kind == "cuda" and ordinal.isascii() and ordinal.isdecimal() and int(ordinal) < 1 << 31:
        return int(ordinal)
    raise InvalidInput(
        f"found {device!r}; accepted: 'cpu', a GPU's number, 'cuda', 'cuda:1'", subject="device"
    )


def stream_address(stream: object, device: int) -> int:
    """The address of a cudaStream_t, or the number that stands for one of CUDA's default streams.

    0, which torch and CuPy have for the default stream in their objects, is the legacy one.
    """
    if stream is None:
        return _LEGACY_STREAM if device >= 0 else 0
    if device < 0:
        raise InvalidInput(
            f"found {stream!r}; accepted for batches on the CPU: None", subject="stream"
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
