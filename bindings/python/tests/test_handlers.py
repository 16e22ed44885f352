"""Engines that are closed by a handler, of a signal or of the garbage collector, which comes at any time."""

import asyncio
import signal
import threading

import framewire
import pytest
from conftest import run

_CLOSES_IN_A_HANDLER = """
import faulthandler, gc, io, os, signal, sys, threading
import framewire
from PIL import Image

faulthandler.dump_traceback_later(60, exit=True)
out = io.BytesIO()
Image.effect_noise((1500, 1000), 90).convert("RGB").save(out, "JPEG")
engine = framewire.Engine("turbo", queue=2, threads=1)

class Closes:
    def __del__(self):
        engine.close()

def close(*_):
    if MODE == "del":
        cycle = Closes()
        cycle.itself = cycle
        del cycle
        gc.collect()
    else:
        engine.close(cancel=MODE == "cancel")
    print("closed")

signal.signal(signal.SIGTERM, close)
threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGTERM)).start()
futures = []
try:
    while True:
        futures.append(engine.submit(out.getvalue(), size="48x"))
except framewire.EngineClosed:
    print("raised")
assert futures and all(future.result(60) for future in futures if not future.cancelled())
"""


@pytest.mark.parametrize("mode", ["close", "cancel", "del"])
def test_close_in_a_handler_that_interrupts_submit(mode):
    ran = run(_CLOSES_IN_A_HANDLER.replace("MODE", repr(mode)))
    assert ran.stdout.split() == ["closed", "raised"], ran.stderr
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize("at", ["before", "under the lock", "behind"])
@pytest.mark.parametrize("name", ["submit", "call"])
def test_close_within_a_request_that_is_handed_in(photo, monkeypatch, at, name):
    """As a handler would at that place, on the same thread."""
    engine = framewire.Engine("turbo", threads=1)
    assert engine.submit(photo, size="16x").result(60)  # has started the thread
    dispatcher = engine._dispatcher
    add = dispatcher._add

    def adds(*arguments):
        if at == "before":
            engine.close()
        if at == "under the lock":
            with dispatcher._lock:
                engine.close()
        add(*arguments)
        if at == "behind":
            engine.close()

    monkeypatch.setattr(dispatcher, "_add", adds)
    hung = threading.Timer(60, lambda: signal.raise_signal(signal.SIGABRT))
    hung.start()
    try:
        if name == "submit":
            with pytest.raises(framewire.EngineClosed):
                engine.submit(photo, size="16x")
        else:
            with pytest.raises(framewire.EngineClosed):
                asyncio.run(engine.aresize(photo, size="16x"))
    finally:
        hung.cancel()
    dispatcher._thread.join(60)
    assert not dispatcher._thread.is_alive()


def test_submit_that_waits_for_room_is_told_of_the_end(photo, slow_photo):
    engine = framewire.Engine("turbo", queue=2, threads=1)
    raised = []

    def submits():
        try:
            while True:
                engine.submit(slow_photo, size="16x")
        except framewire.Error as error:
            raised.append(error)

    thread = threading.Thread(target=submits)
    thread.start()
    while not engine._dispatcher._rooms:
        pass
    engine.close(cancel=True)
    thread.join(60)
    assert not thread.is_alive() and isinstance(raised[0], framewire.EngineClosed)
