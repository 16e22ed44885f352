"""Resizes on the calling thread, and what headers say."""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, Literal, Tuple, Union, overload

from . import _framewire
from ._arguments import flag, is_unicode, several, shown
from ._errors import Error, InvalidInput, from_status
from ._framewire import Resized
from ._keywords import ResizeOptions
from ._options import parse
from ._types import Buffer, Unpack


def resize(jpeg: Buffer, **options: Unpack[ResizeOptions]) -> bytes:
    """Resizes one JPEG on the CPU, on the calling thread. Releases the GIL meanwhile.

    Args:
        jpeg: one JPEG stream: bytes, bytearray, memoryview, mmap, a NumPy array of uint8, or
            anything else with the buffer protocol whose bytes are contiguous. Must not change
            before the call returns.
        **options: the words of the program's options with underscores: size="480x" or
            size=(480, None), quality=80, resize="fill". framewire.options() lists all.

    Returns:
        The new JPEG stream.

    Raises:
        UnknownOption: for a keyword that is no option; names the nearest one.
        InvalidInput: for a value that an option does not take, and for bytes that are no JPEG or,
            with strict=True, only decode with warnings.
        Unsupported: for 12-bit, lossless and hierarchical files, and for codecs that need a GPU.
        TooLarge: for one of the limits among the options.
        DeadlineExceeded: when `deadline` milliseconds have passed (30,000 by default).
        Busy: when memory ran out.
        TypeError: for an object without the buffer protocol.

    Thread-safe; threads work side by side. Works in children after fork().
    """
    return _framewire.resize(jpeg, parse(options))


def resize_with_report(jpeg: Buffer, **options: Unpack[ResizeOptions]) -> Resized:
    """As resize(), with the report of what was done: sizes, codec, times, warnings."""
    return _framewire.resize_with_report(jpeg, parse(options))


@overload
def sizes(
    jpegs: Iterable[Buffer], *, upright: bool = ..., on_error: Literal["raise"] = ...
) -> List[Tuple[int, int]]: ...
@overload
def sizes(
    jpegs: Iterable[Buffer], *, upright: bool = ..., on_error: Literal["return"]
) -> List[Union[Tuple[int, int], Error]]: ...
def sizes(
    jpegs: Iterable[Buffer],
    *,
    upright: bool = True,
    on_error: Literal["raise", "return"] = "raise",
) -> Any:
    """Reads (width, height) in pixels of each JPEG, from its headers alone.

    Args:
        jpegs: JPEG streams, as for resize(). The beginning of a file, up to its first scan, is
            enough.
        upright: True for the sides as a viewer shows them, with EXIF orientation applied; False for
            the sides as stored.
        on_error: "return" puts the Error in the place of the size instead of raising it.

    Raises:
        InvalidInput: for bytes without readable headers; its `index` says which.
    """
    if on_error not in ("raise", "return"):
        raise ValueError(f"on_error: found {shown(on_error)}; accepted: 'raise', 'return'")
    is_upright = flag("upright", upright)
    result: List[Union[Tuple[int, int], Error]] = []
    for index, jpeg in enumerate(several(jpegs)):
        try:
            result.append(_framewire.size_of(jpeg, is_upright, index))
        except Error as error:
            if on_error == "raise":
                raise
            result.append(error.with_traceback(None))  # it would hold all of `jpegs`
    return result


def inspect(jpeg: Buffer, *, name: str = "", **options: Unpack[ResizeOptions]) -> Dict[str, Any]:
    """Says what a JPEG is made of: the document of `framewire inspect --json`.

    Args:
        jpeg: one JPEG stream, as for resize(). Its size is not limited: no pixel is decoded.
        name: what the document says under "file".
        **options: of a resize; "codecs" says what each codec would make of the file with them.

    Returns:
        Keys file, bytes, markers, frame, scans, tables, metadata, warnings and codecs.

    Raises:
        InvalidInput: for bytes whose headers cannot be read.
    """
    if not isinstance(name, str) or not is_unicode(name):
        raise InvalidInput(f"found {shown(name)}; accepted: text without surrogates", subject="name")
    document = _framewire.inspect(jpeg, parse(options), name)
    error = document.get("error")
    if error is not None:
        raise from_status(error["class"], error["message"], error.get("offset"), "")
    return document
