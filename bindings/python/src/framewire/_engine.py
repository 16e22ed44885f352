"""Many JPEGs at once: GPUs where there are any, host threads if not."""

from __future__ import annotations

import asyncio
import atexit
import operator
import sys
import weakref
from concurrent.futures import Future
from types import TracebackType
from typing import (
    Any,
    Iterable,
    List,
    Literal,
    Mapping,
    NoReturn,
    Optional,
    SupportsIndex,
    Tuple,
    Type,
    Union,
    overload,
)

from . import _framewire
from ._arguments import flag, is_unicode, not_copied, several, shown
from ._dispatcher import Dispatcher, end_all
from ._errors import Error, InvalidInput
from ._framewire import Resized
from ._keywords import ResizeOptions
from ._options import parse
from ._report import Device, Stats, make_stats
from ._types import Answers, Buffer, Self, Unpack

# Of inputs that Engine.map() holds for the engine, where nobody has chosen a window.
_MAP_INPUT_BYTES = 1 << 30
_SUFFIXES = {"k": 1 << 10, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def _whole(name: str, value: Optional[int], high: int) -> int:
    if value is None:
        return 0
    try:
        number = operator.index(value)  # NumPy's, too
    except TypeError:
        number = -1
    if isinstance(value, bool) or not 0 <= number <= high:
        raise InvalidInput(
            f"found {shown(value)}; accepted: a whole number from 0 to {high}, or None", subject=name
        )
    return number


def _memory(name: str, value: Union[int, str, None]) -> int:
    if not isinstance(value, str):
        return _whole(name, value, 1 << 50)
    digits = value.rstrip("kKMG")
    suffix = value[len(digits) :]
    try:
        if not digits.isdecimal() or len(suffix) > 1:
            raise ValueError
        number = int(digits) * _SUFFIXES.get(suffix, 1)
    except ValueError:  # of int(), too, for more digits than it reads
        raise InvalidInput(
            f"found {value!r}; accepted: a number of bytes, with k, M or G for powers of 1024",
            subject=name,
        ) from None
    return _whole(name, number, 1 << 50)


def _ordinals(devices: Union[int, Iterable[int], None]) -> List[int]:
    if devices is None:
        return []
    ordinals: List[Any]
    if isinstance(devices, SupportsIndex):
        ordinals = [devices]
    elif hasattr(devices, "__iter__") and not isinstance(devices, (str, bytes, bytearray, Mapping)):
        ordinals = list(devices)
    else:
        raise InvalidInput(
            f"found {shown(devices)}; accepted: ordinals of GPUs, as [0, 1], or None for all",
            subject="devices",
        )
    if not ordinals:
        raise InvalidInput(
            "found no device; accepted: ordinals of GPUs, or None for all", subject="devices"
        )
    return [_whole("devices", ordinal, (1 << 31) - 1) for ordinal in ordinals]


class Engine:
    """Resizes many JPEGs at once, from any thread, on all GPUs or on host threads.

    >>> import framewire, io
    >>> with framewire.Engine(codec="turbo") as engine:
    ...     for result in engine.map([], size="256x256", resize="fill"):
    ...         print(len(result.jpeg))

    Which codec does an image depends on the image and its options alone, so that the same input
    gives the same bytes, whatever else runs. Every answer is a Resized: its stream, and the report
    of what was done. Thread-safe. An engine belongs to the process that made it: in a child after
    fork() every call raises EngineClosed.

    Args:
        codec: "auto": the GPUs, if this build and this machine have any, and host threads for what
            they do not take. "cuda", "nvjpeg": the same, but having no GPU is an error. "turbo",
            "reference": host threads alone.
        devices: CUDA ordinals; None: all.
        gpu_memory: bound on each GPU's memory in bytes, or as "8G"; None: three quarters of what is
            free.
        warm: memory taken on each GPU at once instead of when batches first need it; bytes, or
            "4G".
        streams: batches in work at once on each GPU; None: chosen.
        max_batch: images of one batch at most; None: chosen.
        batch_wait_us: microseconds that an image may wait for others to join its batch, if the GPU
            has other work meanwhile.
        threads: host threads for what is done on the CPU; None: one a core.
        queue: requests not yet answered before submit() waits; None: chosen.
        few_images: the engine gets few images: "auto" then uses a GPU only where `devices` names
            one, since starting one takes longer than thousands of images on the CPU.
        timed: measure stages on the GPUs, for stats().
        profile_memory: bound on the memory of ICC profiles that are kept ready; None: 64 MiB.

    Raises:
        Unsupported: where the codec is not part of this build, or no GPU can run it.
        InvalidInput: for a device that does not exist, and for a wrong value.
        Busy: where memory or threads ran out.
    """

    def __init__(
        self,
        codec: Literal["auto", "turbo", "reference", "cuda", "nvjpeg"] = "auto",
        *,
        devices: Union[int, Iterable[int], None] = None,
        gpu_memory: Union[int, str, None] = None,
        warm: Union[int, str, None] = None,
        streams: Optional[int] = None,
        max_batch: Optional[int] = None,
        batch_wait_us: int = 200,
        threads: Optional[int] = None,
        queue: Optional[int] = None,
        few_images: bool = False,
        timed: bool = False,
        profile_memory: Union[int, str, None] = None,
    ) -> None:
        if not isinstance(codec, str) or not is_unicode(codec):
            raise InvalidInput(
                f"found {shown(codec)}; accepted: auto, turbo, reference, cuda, nvjpeg", subject="codec"
            )
        try:
            self._native = _framewire.Engine(
                codec=codec,
                devices=_ordinals(devices),
                gpu_memory=_memory("gpu_memory", gpu_memory),
                warm=_memory("warm", warm),
                streams=_whole("streams", streams, 1024),
                max_batch=_whole("max_batch", max_batch, 1 << 20),
                batch_wait_us=_whole("batch_wait_us", batch_wait_us, 60_000_000),
                threads=_whole("threads", threads, 4096),
                queue=_whole("queue", queue, 1 << 30),
                few_images=flag("few_images", few_images),
                timed=flag("timed", timed),
                profile_memory=_memory("profile_memory", profile_memory),
            )
        except Error as error:
            if error.subject == "device":  # as the program calls it
                error.subject = "devices"
            raise
        self._dispatcher = Dispatcher(self._native)
        # An engine that nobody closes, nor refers to, still answers what was submitted.
        self._finalizer = weakref.finalize(self, self._dispatcher.finish)
        # Threads of the CPU take few at a time; a GPU is quickest with thousands under way.
        threads_there = threads or _framewire.usable_cores()
        self._window = 4096 if self._native.devices() else max(16, 4 * threads_there)
        _engines.add(self)

    def resize(self, jpeg: Buffer, **options: Unpack[ResizeOptions]) -> Resized:
        """Hands in one JPEG and waits for the answer, without the GIL. Ctrl-C ends the wait.

        Args:
            jpeg: as for framewire.resize(). Kept until the answer; must not change before.
            **options: as for framewire.resize(). `codec` may name the engine's own kind, "turbo"
                or "reference".

        Raises:
            as framewire.resize(); DeviceLost where a GPU failed; EngineClosed.
        """
        return self._native.resize(jpeg, parse(options))

    def submit(self, jpeg: Buffer, **options: Unpack[ResizeOptions]) -> Future[Resized]:
        """Hands in one JPEG; the Future has the answer, or raises what resize() raises.

        Waits, without the GIL, while `queue` requests are unanswered. Future.cancel() cancels the
        request: one that is still queued is not worked on. Callbacks of the Future run on a thread
        of this engine's: be quick in them. In a child after fork() a Future that was pending raises
        EngineClosed, and its callbacks do not run.

        Raises:
            as framewire.resize(); Busy where the engine's thread for answers cannot be started;
            Unsupported where gevent has replaced threads; EngineClosed.
        """
        return self._dispatcher.submit(jpeg, parse(options))

    async def aresize(self, jpeg: Buffer, **options: Unpack[ResizeOptions]) -> Resized:
        """As resize(), for coroutines: neither blocks the loop nor takes a thread of it.

        Where `queue` requests are unanswered, the request waits its turn. Cancelling the task
        cancels the request. A loop is woken once for each group of answers.
        """
        tag, future = self._dispatcher.call(jpeg, parse(options))
        try:
            return await future
        except asyncio.CancelledError:
            self._dispatcher.cancel(tag)
            raise
        finally:
            del future  # it holds the exception, whose traceback holds this frame

    @overload
    def map(
        self,
        jpegs: Iterable[Union[Buffer, Tuple[Buffer, Mapping[str, Any]]]],
        *,
        window: Optional[int] = ...,
        ordered: bool = ...,
        on_error: Literal["raise"] = ...,
        **options: Unpack[ResizeOptions],
    ) -> Answers[Resized]: ...
    @overload
    def map(
        self,
        jpegs: Iterable[Union[Buffer, Tuple[Buffer, Mapping[str, Any]]]],
        *,
        window: Optional[int] = ...,
        ordered: bool = ...,
        on_error: Literal["return"],
        **options: Unpack[ResizeOptions],
    ) -> Answers[Union[Resized, Error]]: ...
    def map(
        self,
        jpegs: Iterable[Union[Buffer, Tuple[Buffer, Mapping[str, Any]]]],
        *,
        window: Optional[int] = None,
        ordered: bool = True,
        on_error: Literal["raise", "return"] = "raise",
        **options: Unpack[ResizeOptions],
    ) -> Answers[Any]:
        """Resizes what an iterable yields; an iterator over the answers.

        The iterable is read as answers are taken, never more than `window` items ahead, so that it
        may be endless. The thread that takes answers reads it, by turns: no answer is given while it is
        read. Where it takes longer than a millisecond for an item, an eighth of that time is waited for
        an answer before it is asked again, and answers that are there go before it; where it is quick,
        it is read first while fewer than half of `window` are under way. Where it gives an item only
        for an answer, say window=1: one item is then read for each answer. Each item is a JPEG, as for resize(), or a tuple of a JPEG and a dict with
        options of its own, which go before `options`.

        Args:
            jpegs: the inputs.
            window: inputs that were read and whose answers were not taken, at most; None: 4096 with
                GPUs, otherwise four a thread and at least 16, and no more are read while 1 GiB of
                inputs is held for the engine.
            ordered: True: answers come in the order of the inputs. False: as they are done;
                Resized.index says which input it was.
            on_error: "raise": the first input that fails raises its Error, whose `index` says which
                input it was, and ends the iteration. "return": the Error is yielded instead.
            **options: of all inputs, as for framewire.resize().

        Closing the iterator, or leaving it to the garbage collector, cancels what is queued and
        waits for what is being worked on. What the iterable raises comes behind the answers of the
        inputs that it gave before; KeyboardInterrupt comes at once.

        Raises:
            EngineClosed: behind the answers of what was handed in, where the engine is closed
                meanwhile.
            UnknownOption, TypeError, ValueError: for an item that is neither a JPEG nor a tuple of
                one and its options; behind the answers of those before it.
        """
        self._native.check()
        if on_error not in ("raise", "return"):
            raise ValueError(f"on_error: found {shown(on_error)}; accepted: 'raise', 'return'")
        if window is not None:
            try:
                number = operator.index(window)  # NumPy's, too
            except TypeError:
                number = 0
            if isinstance(window, bool) or number < 1:
                raise ValueError(f"window: found {shown(window)}; accepted: a whole number from 1")
            window = number
        return _framewire.MapIterator(
            engine=self._native,
            owner=self,  # else it could be collected under way
            source=iter(several(jpegs)),
            options=parse(options),
            parse=parse,
            window=min(window or self._window, sys.maxsize),
            input_bytes=sys.maxsize if window else _MAP_INPUT_BYTES,
            ordered=flag("ordered", ordered),
            raises=on_error == "raise",
        )

    def stats(self) -> Stats:
        """What the engine has done since it was made, and the memory that it keeps."""
        return make_stats(self._native.stats())

    def devices(self) -> Tuple[Device, ...]:
        """The GPUs of the engine; empty on host threads."""
        return tuple(Device(*device) for device in self._native.devices())

    @property
    def no_device_reason(self) -> str:
        """Why there is no GPU, in one line; empty where there is one."""
        return self._native.no_device_reason()

    def close(self, *, cancel: bool = False) -> None:
        """Waits until everything that was submitted is answered, then ends the engine.

        Args:
            cancel: cancel first what is still queued; it is answered with Cancelled, a Future by
                its own cancellation.

        Later calls raise EngineClosed; close() itself may be called again, and does nothing in a
        child after fork(). In a callback of a Future, coroutines that still wait for room get
        EngineClosed.
        """
        if self._native.forked():
            return
        if cancel:
            self._dispatcher.cancel_all()
        self._dispatcher.finish()
        self._dispatcher.join()
        self._native.close()

    def __reduce__(self) -> NoReturn:
        not_copied("an Engine")

    def __enter__(self) -> Self:
        self._native.check()
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self.close(cancel=error is not None)

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        cancel = error is not None
        await asyncio.get_running_loop().run_in_executor(None, lambda: self.close(cancel=cancel))


_engines: weakref.WeakSet[Engine] = weakref.WeakSet()


def _close_all() -> None:
    # Threads of the engines must not outlive the interpreter, nor CUDA the process' end.
    end_all()
    for engine in list(_engines):
        try:
            engine.close(cancel=True)
        except BaseException as error:  # the others are to end, too
            _framewire.report_ignored(error, engine)


atexit.register(_close_all)
