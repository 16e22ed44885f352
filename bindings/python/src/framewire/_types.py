"""Words of annotations that older Pythons lack, so that typing.get_type_hints() works on all of them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, Union

if TYPE_CHECKING:
    from typing_extensions import Buffer as _Buffer
    from typing_extensions import Self as Self
    from typing_extensions import Unpack as Unpack

    class _Array(Protocol):
        """A NumPy array, which NumPy's own types give the buffer protocol from Python 3.12 on alone."""

        @property
        def __array_struct__(self) -> Any: ...

    Buffer = Union[_Buffer, _Array]
else:
    if sys.version_info >= (3, 12):
        from collections.abc import Buffer
    else:

        class Buffer:
            """What has the buffer protocol: bytes, bytearray, memoryview, mmap, arrays."""

    if sys.version_info >= (3, 11):
        from typing import Self, Unpack
    else:
        Self = Any

        class Unpack:
            """Unpack[ResizeOptions] is ResizeOptions here."""

            def __class_getitem__(cls, keywords):
                return keywords


_Answer = TypeVar("_Answer", covariant=True)


class Answers(Protocol[_Answer]):
    """The iterator that Engine.map() returns."""

    def __iter__(self) -> Answers[_Answer]: ...

    def __next__(self) -> _Answer:
        """The next answer."""
        ...

    def close(self) -> None:
        """Cancels what is queued and waits for what is being worked on; no more answers come then."""
