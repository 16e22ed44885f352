"""Exceptions: one class for each status code of the library."""

from __future__ import annotations

from typing import Any, ClassVar, Dict, Optional, Type

_by_code: Dict[str, Type["Error"]] = {}
# The grammar's name of each option and its keyword argument; framewire._options fills it.
keywords: Dict[str, str] = {}


class Error(Exception):
    """What went wrong, where, and what would be accepted.

    Attributes:
        code: the stable word of the status code, the same as in the program's JSON.
        message: what was found and what would be accepted; one line.
        offset: the byte of the input where the fault is, or None.
        subject: the option, argument or marker that the error is about; may be empty.
        index: the position of the input among those of Engine.map(), sizes(), TensorDecoder.decode()
            or crops, or None.
    """

    code: ClassVar[str] = "internal"
    message: str
    offset: Optional[int]
    subject: str
    index: Optional[int]

    def __init__(
        self,
        message: str,
        *,
        offset: Optional[int] = None,
        subject: str = "",
        index: Optional[int] = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset
        self.subject = subject
        self.index = index

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        # The first class of a code is the one that statuses become.
        _by_code.setdefault(cls.code, cls)

    def __str__(self) -> str:
        where = "" if self.index is None else f"input {self.index}: "
        about = f"{self.subject}: " if self.subject else ""
        offset = "" if self.offset is None else f" (at byte {self.offset})"
        return f"{where}{about}{self.message}{offset}"

    def __reduce__(self) -> Any:
        return _restore, (type(self), self.message, self.offset, self.subject, self.index)


class InvalidInput(Error, ValueError):
    """The bytes are no decodable JPEG, or the value of an option is wrong."""

    code = "invalid_input"


class Unsupported(Error):
    """Legal, but not processed: 12-bit, lossless, hierarchical; a GPU codec without a GPU."""

    code = "unsupported"


class TooLarge(Error):
    """A stated limit would be exceeded; nothing was allocated for the picture."""

    code = "too_large"


class Busy(Error):
    """What the request needs is all in use now; the same may succeed later."""

    code = "busy"


class DeadlineExceeded(Error):
    """The time allowed for one image ran out: the option `deadline`, in milliseconds."""

    code = "deadline"


class IoError(Error):
    """The operating system refused a file or a socket."""

    code = "io_error"


class DeviceLost(Error):
    """A GPU failed; the request may be sent again elsewhere."""

    code = "device_lost"


class PeerLost(Error):
    """The other end of a connection is gone."""

    code = "peer_lost"


class Denied(Error):
    """Somebody has no right to this."""

    code = "denied"


class Internal(Error):
    """A defect of Framewire; please report it."""

    code = "internal"


class Cancelled(Error):
    """Whoever asked no longer wants it."""

    code = "cancelled"


class UnknownOption(Error, TypeError):
    """A keyword argument that is no option, as a TypeError names an unknown argument.

    Not an InvalidInput: code that skips bad files must not skip all of them for a misspelt word.
    """

    code = "invalid_input"


class EngineClosed(Error, RuntimeError):
    """A call of a closed engine, or of an engine or TensorDecoder that a parent process made.

    Not an InvalidInput, for the same reason as UnknownOption.
    """

    code = "invalid_input"


def _restore(
    cls: Type[Error], message: str, offset: Optional[int], subject: str, index: Optional[int]
) -> Error:
    return cls(message, offset=offset, subject=subject, index=index)


def from_status(code: str, message: str, offset: Optional[int], subject: str) -> Error:
    """The exception of a status of the library. Options are called as keyword arguments there."""
    subject = keywords.get(subject, subject)
    return _by_code.get(code, Internal)(message, offset=offset, subject=subject)
