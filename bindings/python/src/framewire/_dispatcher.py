"""Futures and asyncio over an engine: one thread takes answers in groups and gives them out."""

from __future__ import annotations

import asyncio
import itertools
import os
import sys
import threading
import weakref
from concurrent.futures import Future
from typing import Dict, List, Optional, Tuple, Union

from . import _framewire
from ._errors import Busy, Cancelled, EngineClosed, Error, Unsupported
from ._framewire import Resized
from ._types import Buffer

_MAX_ANSWERS = 4096  # taken at once; bounds how long one group holds the GIL
_MAX_HANDED_IN = 256  # of those that wait for room, at once; what is refused costs as much


def _check_threads() -> None:
    """Refuses threads that are none: the one that takes answers would wait, and all others with it."""
    gevent = sys.modules.get("gevent.monkey")
    if gevent is not None and gevent.is_module_patched("threading"):
        raise Unsupported(
            "found threads replaced by gevent; accepted: monkey.patch_all(thread=False), or resize() and "
            "map(), which need no thread"
        )


class _EngineFuture(Future[Resized]):
    """A Future whose cancel() cancels the request in the engine too."""

    def __init__(self, queue: _framewire.RequestQueue, tag: int) -> None:
        super().__init__()
        self._queue = queue
        self._tag = tag

    def cancel(self) -> bool:
        if not super().cancel():
            return False
        self._queue.cancel(self._tag)
        return True

    def close_in_child(self, error: EngineClosed) -> None:
        """Ends the wait for an answer that a child after fork() does not get.

        Callbacks are the parent's, which runs them: what they write to may be shared with it.
        """
        self._condition = threading.Condition()  # a thread of the parent may have held the other
        self._done_callbacks: List[object] = []
        if not self.done():
            self.set_exception(error)


class _Call:
    """A coroutine that waits for an answer."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[Resized] = self.loop.create_future()


_Group = List[Tuple["asyncio.Future[Resized]", Union[Resized, Error]]]


def _answer_calls(group: _Group) -> None:
    for future, answer in group:
        if future.done():  # cancelled meanwhile
            continue
        if isinstance(answer, Error):
            future.set_exception(answer)
        else:
            future.set_result(answer)


class Dispatcher:
    """Requests of one engine that are answered by Future or coroutine.

    Its thread is started with the first request, and ends when finish() was called and all is
    answered. It holds the dispatcher, never the Engine, so that an Engine can be collected.
    """

    living: weakref.WeakSet[Dispatcher] = weakref.WeakSet()

    def __init__(self, engine: _framewire.Engine) -> None:
        self._engine = engine
        self._queue = _framewire.RequestQueue(engine)
        self._lock = threading.RLock()  # of what follows; a collection under it may call finish()
        self._calls: Dict[int, Union[_EngineFuture, _Call]] = {}
        # Requests of coroutines that the engine had no room for, oldest first.
        self._waiting: Dict[int, Tuple[memoryview, _framewire.Options]] = {}
        # Of each request that is just being handed in the thread that does it.
        self._entering: Dict[int, int] = {}
        # What each submit() waits on that found no room.
        self._rooms: Dict[int, _framewire.RequestQueue] = {}
        self._tags = itertools.count()
        self._finishing = False
        self._thread: Optional[threading.Thread] = None

    def submit(self, jpeg: Buffer, options: _framewire.Options) -> Future[Resized]:
        """Hands in a request; waits, without the GIL, while the engine has no room.

        close() may come meanwhile on this very thread, from a handler of a signal or of the garbage
        collector. So nothing here is a call under way while it waits for room.
        """
        tag = next(self._tags)
        future = _EngineFuture(self._queue, tag)
        room: Optional[_framewire.RequestQueue] = None
        try:
            while not self._hand_in(tag, future, jpeg, options, room):
                if room is None:
                    room = self._rooms[tag] = _framewire.RequestQueue(self._engine)
                else:
                    room.take(1)
        finally:
            self._rooms.pop(tag, None)
        return future

    def call(self, jpeg: Buffer, options: _framewire.Options) -> Tuple[int, asyncio.Future[Resized]]:
        """Hands in a request of a coroutine, or has it wait its turn; never blocks."""
        tag = next(self._tags)
        call = _Call()
        try:
            self._entering[tag] = threading.get_ident()
            self._add(tag, call)
            with self._lock:
                queued = bool(self._waiting)
            if queued or self._queue.submit([tag], [jpeg], options, self._queue) == 0:
                view = memoryview(jpeg)  # type: ignore[arg-type]  # of an array, before Python 3.12
                # Requests that wait are handed in together, and one that is refused then would take
                # the others along.
                _framewire.check_input(view)
                with self._lock:
                    self._waiting[tag] = (view, options)
                # The thread may have been told of room before there was anything in the queue.
                self._queue.wake()
        except BaseException:
            self._remove(tag)
            raise
        finally:
            self._entering.pop(tag, None)
        return tag, call.future

    def cancel(self, tag: int) -> None:
        """Cancels a request of a coroutine that nobody waits for any more."""
        with self._lock:
            if self._waiting.pop(tag, None) is not None:
                self._calls.pop(tag, None)
        self._queue.cancel(tag)
        self._queue.wake()  # should that have been the last call

    def cancel_all(self) -> None:
        """Cancels every request that is still queued."""
        with self._lock:
            calls = list(self._calls.items())
            waiting = list(self._waiting)
            self._waiting.clear()
        self._give_out([(tag, Cancelled("the engine was closed")) for tag in waiting])
        for tag, call in calls:
            if not isinstance(call, _EngineFuture):
                self._queue.cancel(tag)
                continue
            try:
                call.cancel()
            except BaseException as error:  # of a callback; the others are to be cancelled, too
                _framewire.report_ignored(error, call)

    def finish(self) -> None:
        """Takes no more requests; those there are will be answered. Does not wait."""
        if self._engine.forked():
            return
        with self._lock:
            self._finishing = True
        self._queue.wake()
        for room in list(self._rooms.values()):
            room.wake()

    def join(self) -> None:
        """Waits for the thread's end.

        Returns at once on that very thread, and in a handler that has interrupted a call of this
        dispatcher: the thread may wait for what the call holds, and ends when the call is over.
        """
        thread = self._thread
        if thread is None or thread is threading.current_thread():
            return
        interrupts = threading.get_ident() in list(self._entering.values())
        if not interrupts and not self._lock._is_owned():  # type: ignore[attr-defined]
            thread.join()

    def _hand_in(
        self,
        tag: int,
        future: _EngineFuture,
        jpeg: Buffer,
        options: _framewire.Options,
        room: Optional[_framewire.RequestQueue],
    ) -> bool:
        """Whether the engine has taken a request; `room` is told where it will have room."""
        taken = False
        try:
            self._entering[tag] = threading.get_ident()
            self._add(tag, future)
            taken = self._queue.submit([tag], [jpeg], options, room) == 1
        finally:
            if not taken:
                self._remove(tag)
            self._entering.pop(tag, None)
        return taken

    def _add(self, tag: int, call: Union[_EngineFuture, _Call]) -> None:
        self._engine.check()
        with self._lock:
            if self._finishing:
                raise EngineClosed("the engine is closed; make another one")
            if self._thread is not None:
                self._calls[tag] = call
                return
            _check_threads()
            self._calls[tag] = call
            thread = threading.Thread(target=self._run, name="framewire-answers", daemon=True)
            try:
                thread.start()
            except RuntimeError as error:
                del self._calls[tag]
                raise Busy(f"found no room for a thread that takes answers: {error}") from error
            self._thread = thread
            Dispatcher.living.add(self)

    def _remove(self, tag: int) -> None:
        with self._lock:
            self._calls.pop(tag, None)
        self._queue.wake()

    def _run(self) -> None:
        while True:
            try:
                answers = self._queue.take(_MAX_ANSWERS, None, interruptible=False)
                self._give_out(answers)
                del answers  # else the last answers would live until the next come
                self._hand_in_waiting()
            except MemoryError:
                continue  # no answer is lost, and somebody waits for each
            with self._lock:
                if self._finishing and not self._calls:
                    return

    def _give_out(self, answers: List[Tuple[int, Union[Resized, Error]]]) -> None:
        groups: Dict[asyncio.AbstractEventLoop, _Group] = {}
        for tag, answer in answers:
            call = self._calls.get(tag)
            try:
                if isinstance(call, _Call):
                    groups.setdefault(call.loop, []).append((call.future, answer))
                elif call is None or not call.set_running_or_notify_cancel():
                    pass  # nobody waits any more
                elif isinstance(answer, Error):
                    call.set_exception(answer)
                else:
                    call.set_result(answer)
            except BaseException as error:  # of a callback; others wait for the answers that follow
                _framewire.report_ignored(error, call)
            # Not before it is answered: a child after fork() answers what is still here.
            with self._lock:
                self._calls.pop(tag, None)
        for loop, group in groups.items():
            try:
                loop.call_soon_threadsafe(_answer_calls, group)
            except RuntimeError:
                pass  # the loop was closed, with all that waited in it
            except BaseException as error:
                _framewire.report_ignored(error, loop)

    def _hand_in_waiting(self) -> None:
        while True:
            with self._lock:
                waiting = list(itertools.islice(self._waiting.items(), _MAX_HANDED_IN))
            if not waiting:
                return
            tags = [tag for tag, _ in waiting]
            jpegs = [jpeg for _, (jpeg, _) in waiting]
            options = [one for _, (_, one) in waiting]
            try:
                taken = self._queue.submit(tags, jpegs, options, self._queue)
            except EngineClosed as error:  # meanwhile
                taken = len(tags)
                # Each gets an exception of its own: to raise one changes it.
                self._give_out([(tag, EngineClosed(error.message)) for tag in tags])
            with self._lock:
                for tag in tags[:taken]:
                    self._waiting.pop(tag, None)
            if taken < len(tags):
                return

    def _close_in_child(self) -> None:
        """Answers all calls after fork(): the thread that would have done it is not here."""
        self._lock = threading.RLock()  # a thread of the parent may have held the other
        self._entering.clear()
        calls = list(self._calls.values())
        self._calls.clear()
        self._waiting.clear()
        for call in calls:
            error = EngineClosed(
                "the request belongs to the parent of this process, which gets its answer"
            )
            try:
                if isinstance(call, _EngineFuture):
                    call.close_in_child(error)
                elif not call.future.done():
                    call.future.set_exception(error)
                    call.future.exception()  # else it would be logged where nobody awaits it
            except BaseException as problem:  # of a loop that is closed; the others are to be told
                _framewire.report_ignored(problem, call)


def end_all() -> None:
    """Answers what is under way in every dispatcher, and ends its thread: at the process' exit."""
    for dispatcher in list(Dispatcher.living):
        try:
            if not dispatcher._engine.forked():
                dispatcher.cancel_all()
                dispatcher.finish()
                dispatcher.join()
        except BaseException as error:  # the others are to end, too
            _framewire.report_ignored(error, dispatcher)


def _close_all_in_child() -> None:
    for dispatcher in list(Dispatcher.living):
        try:
            dispatcher._close_in_child()
        except BaseException as error:
            _framewire.report_ignored(error, dispatcher)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_all_in_child)
