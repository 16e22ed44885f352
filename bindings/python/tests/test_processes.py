"""Engines beside fork(), signals and the end of a process: each test starts an interpreter."""

import signal
import subprocess
import sys
import time

import pytest
from conftest import skip_under


def run(script, **options):
    return subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=120, **options
    )


PREPARE = """
import framewire, io, os, sys, threading, time
from PIL import Image
def make(w, h):
    out = io.BytesIO(); Image.effect_noise((w, h), 90).save(out, "JPEG"); return out.getvalue()
small, large = make(64, 48), make(3000, 2000)
"""


def test_the_exit_ends_every_engine_though_one_fails():
    done = run(
        PREPARE
        + """
sys.unraisablehook = lambda report: print(report.exc_value)
engines = [framewire.Engine("turbo", threads=1) for _ in range(3)]
futures = [engine.submit(large) for engine in engines for _ in range(9)]
for engine in engines:
    def cancel_all(cancel_all=engine._dispatcher.cancel_all):
        cancel_all()
        raise RuntimeError("failed")
    engine._dispatcher.cancel_all = cancel_all
"""
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "failed\n" * 6  # each dispatcher, then each engine


@pytest.mark.parametrize("call", [
    "engine.resize(large, size=300)",
    "list(engine.map(itertools.repeat(large), size=200))",
    "next(engine.map(itertools.repeat(large), size=200))",
    "list(engine.map(map(python, itertools.repeat(small)), size=16))",
    "engine.submit(large, size=300).result()",
    "framewire.Engine('turbo', threads=1).resize(large, size=8)",
    "engine.resize(b'no JPEG')",
])
def test_daemon_threads_do_not_break_the_exit(call):
    script = PREPARE + f"""
import itertools, threading
large = make(640, 480)
engine = framewire.Engine("turbo", threads=2)
def python(jpeg):
    for _ in range(2000): pass
    return jpeg
def work():
    while True:
        try: {call}
        except Exception: pass
for _ in range(10): threading.Thread(target=work, daemon=True).start()
time.sleep(0.2)
"""
    for _ in range(2):
        done = run(script)
        assert (done.returncode, done.stderr) == (0, "")


buffers_of_python = pytest.mark.skipif(
    sys.version_info < (3, 12), reason="Python code lends buffers from Python 3.12 on"
)


@pytest.mark.parametrize("call", [
    "decoder.decode(slow(small))",
    "decoder.decode([small], slow(None, 1))",
    "decoder.decode([small], [slow(0, 4)])",
    "decoder.decode([small], [Slow()])",
    "decoder.decode([small], out=Slow())",
    "framewire.random_flips(0, 0, slow(1))",
    "framewire.random_flips(0, 0, [Slow()] * 99)",
    "framewire.center_crops(slow((64, 48)), (8, 8))",
    "framewire.resize(Slow())",
    pytest.param("framewire.resize(Lending())", marks=buffers_of_python),
    pytest.param("decoder.decode([small], out=Lending())", marks=buffers_of_python),
    "decoder.decode([small], out=Exporting())",
])
def test_daemon_threads_in_code_of_their_users_do_not_break_the_exit(call):
    """Python code that functions of the extension call is where the interpreter's end meets threads."""
    script = PREPARE + f"""
import numpy
decoder = framewire.TensorDecoder((16, 16), threads=1)
def slow(item, times=1000):
    for _ in range(times):
        time.sleep(0.002)
        yield item
class Slow:
    def pause(self, *_, **__):
        time.sleep(0.002)
        return 1
    def __repr__(self):
        self.pause()
        return "Slow"
    __index__ = __dlpack__ = pause
    __dlpack_device__ = lambda self: (self.pause(), 0)
class Lending(Slow):
    def __buffer__(self, flags):
        self.pause()
        return memoryview(small)
    def __release_buffer__(self, view):
        self.pause()
class Ending(numpy.ndarray):
    def __del__(self):
        time.sleep(0.002)
class Exporting:  # its capsules hold the last reference
    def __dlpack__(self, **_):
        return numpy.zeros((1, 3, 16, 16), "float32").view(Ending).__dlpack__()
    __dlpack_device__ = lambda self: (1, 0)
def work():
    while True:
        try: {call}
        except Exception: pass
for _ in range(4): threading.Thread(target=work, daemon=True).start()
time.sleep(0.2)
"""
    for _ in range(3):
        done = run(script)
        assert (done.returncode, done.stderr) == (0, "")


@skip_under(["tsan"], "ThreadSanitizer knows no threads that a child starts after fork()")
def test_fork_is_detected_and_resize_goes_on():
    done = run(
        PREPARE
        + """
import gc
engine = framewire.Engine(codec="turbo", threads=2)
expected = framewire.resize(small, size="32x")
futures = [engine.submit(large, size="32x") for _ in range(4)]
answers = engine.map([small] * 50, size="32x", window=4); next(answers)
pid = os.fork()
if pid == 0:
    for call in (lambda: engine.resize(small), lambda: engine.submit(small), lambda: list(answers),
                 lambda: engine.map([small]), engine.stats, engine.devices):
        try: call()
        except framewire.EngineClosed as error: assert "fork" in str(error), error
        else: os._exit(3)
    if framewire.resize(small, size="32x") != expected: os._exit(4)
    futures[0].cancel()
    engine.close()
    answers.close()
    del engine, answers, futures
    gc.collect()
    with framewire.Engine(codec="turbo", threads=1) as own:
        if own.resize(small, size="32x").jpeg != expected: os._exit(5)
    sys.exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
assert all(future.result().jpeg for future in futures)
assert len(list(answers)) == 49
print("parent goes on")
"""
    )
    assert (done.returncode, done.stdout) == (0, "parent goes on\n"), done.stderr


@pytest.mark.parametrize("ordered", [True, False])
def test_a_child_gives_no_answers_of_its_parent(ordered):
    done = run(
        PREPARE
        + f"""
engine = framewire.Engine("turbo", threads=1)
answers = engine.map([large] * 4, size=16, window=4, ordered={ordered})
next(answers)
until = time.monotonic() + 60
while engine.stats().host_images < 4 and time.monotonic() < until: time.sleep(0.01)
next(answers)  # takes the others, too
pid = os.fork()
if pid == 0:
    try: next(answers)
    except framewire.EngineClosed: os._exit(0 if list(answers) == [] else 4)
    os._exit(3)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
assert len(list(answers)) == 2
print("parent goes on")
"""
    )
    assert (done.returncode, done.stdout) == (0, "parent goes on\n"), done.stderr


@skip_under(["tsan"], "ThreadSanitizer knows no threads that a child starts after fork()")
def test_a_child_does_not_wait_for_answers_of_its_parent():
    done = run(
        PREPARE
        + """
import asyncio, concurrent.futures, signal
engine = framewire.Engine("turbo", threads=1, queue=4)
# Nothing is answered before the fork: the thread that answers waits in a callback.
inside, go_on = threading.Event(), threading.Event()
def hold(_):
    if threading.current_thread() is threading.main_thread(): return
    inside.set()
    go_on.wait(60)
while not inside.wait(0.1): engine.submit(small).add_done_callback(hold)
called = []
futures = [engine.submit(large) for _ in range(4)]
for future in futures: future.add_done_callback(lambda _: called.append(os.getpid()))
async def wait():
    waiting = [asyncio.ensure_future(engine.aresize(small)) for _ in range(3)]
    await asyncio.sleep(0)
    pid = os.fork()
    if pid == 0:
        signal.alarm(30)
        for future in concurrent.futures.as_completed(futures):
            if not isinstance(future.exception(), framewire.EngineClosed): os._exit(3)
        for answer in await asyncio.gather(*waiting, return_exceptions=True):
            if not isinstance(answer, framewire.EngineClosed): os._exit(4)
        os._exit(5 if called else 0)
    go_on.set()
    answers = await asyncio.gather(*waiting)
    assert all(answer.jpeg for answer in answers)
    return pid
pid = asyncio.run(wait())
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
assert all(future.result().jpeg for future in futures)
engine.close()
assert len(called) == 4
print("parent goes on")
"""
    )
    assert (done.returncode, done.stdout) == (0, "parent goes on\n"), done.stderr


@skip_under(["asan"], "the allocator of libasan 12 waits in the child for locks of the parent's threads")
def test_fork_beside_threads_that_resize():
    """The child may not wait for locks that threads of the parent held."""
    done = run(
        PREPARE
        + """
import threading
stop = False
def work():
    while not stop: framewire.resize(small, size="32x")
threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads: thread.start()
for _ in range(20):
    pid = os.fork()
    if pid == 0:
        framewire.resize(small, size="32x")
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
stop = True
"""
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "wait",
    [
        "engine.resize(large)",
        "list(engine.map([large] * 40))",
        "[f.result() for f in [engine.submit(large) for _ in range(40)]]",
        # What takes or gives items here is C, which looks for no signals.
        "deque(quick.map(repeat(small), size=8), maxlen=0)",
        "framewire.random_flips(0, 0, map(bytes(1 << 22).count, repeat(b'x')))",
    ],
)
def test_ctrl_c_ends_a_wait(wait):
    # Whoever runs tests in the background may ignore the signal, and children inherit that.
    script = PREPARE + f"""
import signal; signal.signal(signal.SIGINT, signal.default_int_handler)
from collections import deque
from itertools import repeat
engine = framewire.Engine(codec="turbo", threads=1, queue=8)
quick = framewire.Engine(codec="turbo", threads=1)
slow = [engine.submit(large) for _ in range(7)]
try:
    print("waiting", flush=True)
    {wait}
except KeyboardInterrupt: print("interrupted", flush=True)
engine.close(cancel=True)
"""
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "waiting\n"
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        try:
            out, _ = process.communicate(timeout=60)
        finally:
            process.kill()
    assert (out, process.returncode) == ("interrupted\n", 0)


@pytest.mark.parametrize("left", ["", "del engine", "answers = engine.map([large] * 9); next(answers)"])
def test_an_engine_left_open_does_not_hold_up_the_exit(left):
    done = run(
        PREPARE
        + f"""
engine = framewire.Engine(codec="turbo", threads=1)
futures = [engine.submit(large) for _ in range(30)]
{left}
"""
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert not done.stdout
