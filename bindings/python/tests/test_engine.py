import asyncio
import contextlib
import gc
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import weakref
from concurrent.futures import CancelledError

import framewire
import pytest
from conftest import decode, skip_under


@pytest.fixture
def engine():
    with framewire.Engine(codec="turbo", threads=2) as made:
        yield made


def test_answers_are_those_of_resize(engine, photos):
    expected = [framewire.resize(photo, size="64x") for photo in photos]
    assert [engine.resize(photo, size="64x").jpeg for photo in photos] == expected
    futures = [engine.submit(photo, size="64x") for photo in photos]
    assert [future.result().jpeg for future in futures] == expected
    assert [result.jpeg for result in engine.map(photos, size="64x")] == expected
    stats = engine.stats()
    assert stats.host_images == 3 * len(photos) and stats.gpu_images == 0
    assert {memory.name for memory in stats.kept} >= {"profiles", "filters"}
    assert engine.devices() == () and engine.no_device_reason


def test_errors_come_from_every_door(engine, photo):
    with pytest.raises(framewire.InvalidInput):
        engine.resize(b"no JPEG")
    future = engine.submit(b"no JPEG")
    assert isinstance(future.exception(), framewire.InvalidInput)
    for call in (engine.resize, engine.submit):
        with pytest.raises(TypeError, match="buffer protocol"):
            call("photo.jpg")
        with pytest.raises(framewire.UnknownOption):
            call(photo, sise=3)
    assert engine.resize(photo, size="32x")  # none of them has broken it


def test_map_reads_lazily_and_within_its_window(engine, photos):
    read = 0

    def source():
        nonlocal read
        while True:  # endless
            read += 1
            yield photos[read % len(photos)]

    answers = engine.map(source(), size="32x", window=8)
    assert read == 0
    for given in range(1, 60):
        next(answers)
        assert given <= read <= given + 8
    answers.close()
    stopped_at = read
    time.sleep(0.05)
    assert read == stopped_at


def test_map_takes_options_of_each_item(engine, photo):
    items = [photo, (photo, {"size": "20x20", "resize": "fill"}), (photo, {"quality": 5}), (photo, {})]
    answers = list(engine.map(items, size="64x"))
    assert [decode(answer).size for answer in answers] == [(64, 36), (20, 20), (64, 36), (64, 36)]
    assert [answer.report.quality for answer in answers] == [80, 80, 5, 80]
    assert [answer.index for answer in answers] == [0, 1, 2, 3]
    wrong = [photo, (photo, {"quality": 101}), memoryview(photo)[::2], b"", photo]
    answers = list(engine.map(wrong, size="64x", on_error="return"))
    assert [type(answer) for answer in answers] == [
        framewire.Resized, *[framewire.InvalidInput] * 3, framewire.Resized
    ]
    assert [answer.index for answer in answers] == [0, 1, 2, 3, 4]
    with pytest.raises(framewire.UnknownOption):
        list(engine.map([(photo, {"sise": 3})]))
    with pytest.raises(TypeError):
        list(engine.map([photo, 7]))


def test_map_is_ordered_or_as_completed(engine, slow_photo, photos):
    inputs = [slow_photo, *photos]
    ordered = [answer.index for answer in engine.map(inputs, size="64x", window=64)]
    assert ordered == list(range(len(inputs)))
    done = [answer.index for answer in engine.map(inputs, size="64x", window=64, ordered=False)]
    assert sorted(done) == ordered
    assert done[0] != 0  # the slow one is overtaken


def test_map_raises_the_first_error_and_stops(engine, photo):
    answers = engine.map([photo, photo, b"bad", photo], size="64x")
    next(answers), next(answers)
    with pytest.raises(framewire.InvalidInput, match="input 2: ") as caught:
        next(answers)
    assert caught.value.index == 2
    assert list(answers) == []


def test_errors_of_the_source_pass_through(engine, photo):
    def source():
        yield photo
        raise KeyError("source")

    with pytest.raises(KeyError, match="source"):
        list(engine.map(source(), size="64x"))


@pytest.mark.parametrize("wrong", [{"window": 0}, {"window": "8"}, {"on_error": "skip"}])
def test_map_refuses_wrong_arguments_at_once(engine, wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        engine.map([], **wrong)


def test_a_full_queue_is_waited_for_not_refused(photos):
    with framewire.Engine(codec="turbo", threads=1, queue=2) as engine:
        expected = [framewire.resize(photo, size="32x") for photo in photos]
        assert [a.jpeg for a in engine.map(photos * 3, size="32x", window=50)] == expected * 3
        answers = [None] * 4

        def work(at):
            futures = [engine.submit(photo, size="32x") for photo in photos]
            answers[at] = [future.result().jpeg for future in futures]

        threads = [threading.Thread(target=work, args=(at,)) for at in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert answers == [expected] * 4


def test_cancelling_a_future_cancels_what_is_queued(slow_photo, photo):
    with framewire.Engine(codec="turbo", threads=1, queue=64) as engine:
        slow = [engine.submit(slow_photo, size="4000x") for _ in range(4)]
        queued = [engine.submit(photo, size="64x") for _ in range(20)]
        assert all(future.cancel() for future in queued)
        assert all(future.result().jpeg for future in slow)
        for future in queued:
            with pytest.raises(CancelledError):
                future.result()
        engine.resize(photo, size="64x")  # behind what was queued, if that was done
        assert engine.stats().host_images <= 7  # the slow ones, the last, and what had begun


def test_a_closed_map_cancels_what_is_queued(slow_photo, photo):
    with framewire.Engine(codec="turbo", threads=1) as engine:
        answers = engine.map([photo] + [slow_photo] * 30, size="64x", window=31)
        next(answers)
        answers.close()
        engine.resize(photo, size="64x")  # behind what was queued, if that was done
        assert engine.stats().host_images < 25  # of 32; a busy machine may close late


def test_close_answers_what_is_pending(photos):
    engine = framewire.Engine(codec="turbo", threads=1)
    futures = [engine.submit(photo, size="64x") for photo in photos]
    engine.close()
    assert all(future.done() and future.result().jpeg for future in futures)
    engine.close()


def test_close_can_cancel(slow_photo, photos):
    engine = framewire.Engine(codec="turbo", threads=1)
    futures = [engine.submit(photo, size="64x") for photo in [slow_photo, *photos]]
    engine.close(cancel=True)
    assert all(future.done() for future in futures)
    assert futures[-1].cancelled()


def test_every_call_of_a_closed_engine_says_so(photo):
    engine = framewire.Engine(codec="turbo", threads=1)
    running = engine.map([photo] * 100, size="64x", window=2)
    next(running)
    engine.close()
    calls = [
        lambda: engine.resize(photo),
        lambda: engine.submit(photo),
        lambda: engine.map([photo]),
        lambda: list(running),
        engine.stats,
        engine.devices,
        lambda: engine.no_device_reason,
        engine.__enter__,
    ]
    for call in calls:
        with pytest.raises(framewire.EngineClosed, match="closed") as caught:
            call()
        assert not isinstance(caught.value, framewire.InvalidInput)


def test_an_engine_that_nobody_keeps_still_answers(photos):
    engine = framewire.Engine(codec="turbo", threads=1)
    gone = weakref.ref(engine)
    futures = [engine.submit(photo, size="64x") for photo in photos]
    answers = engine.map(photos, size="64x")
    del engine
    assert len(list(answers)) == len(photos)
    del answers
    gc.collect()
    assert gone() is None
    assert all(future.result(timeout=60).jpeg for future in futures)


def test_callbacks_may_close_the_engine(photo):
    engine = framewire.Engine(codec="turbo", threads=1)
    closed = threading.Event()
    engine.submit(photo, size="32x").add_done_callback(lambda _: (engine.close(), closed.set()))
    assert closed.wait(60)


@pytest.fixture
def ignored(monkeypatch):
    """Exceptions that nobody could catch."""
    seen = []
    monkeypatch.setattr(sys, "unraisablehook", lambda report: seen.append(report.exc_type))
    return seen


def test_callbacks_may_raise_anything(photo, slow_photo, ignored):
    with framewire.Engine(codec="turbo", threads=1) as engine:
        for kind in (SystemExit, KeyboardInterrupt, GeneratorExit, asyncio.CancelledError):

            def fail(_, kind=kind):
                raise kind

            for _ in range(100):
                if kind in ignored:
                    break
                futures = [engine.submit(one, size="64x") for one in (slow_photo, photo, photo)]
                for future in futures:
                    with contextlib.suppress(kind):  # where it is done the callback runs here
                        future.add_done_callback(fail)
                assert all(future.result(60).jpeg for future in futures)
        engine.submit(slow_photo, size="64x").set_result("of somebody else")
    assert {SystemExit, KeyboardInterrupt, GeneratorExit, asyncio.CancelledError} < set(ignored)


def test_close_cancels_all_whatever_callbacks_raise(slow_photo, photo, ignored):
    def leave(_):
        sys.exit()

    engine = framewire.Engine(codec="turbo", threads=1)
    futures = [engine.submit(one, size="64x") for one in (slow_photo, photo, photo, photo)]
    for future in futures:
        with contextlib.suppress(SystemExit):
            future.add_done_callback(leave)
    engine.close(cancel=True)
    assert all(future.done() for future in futures) and SystemExit in ignored


def test_a_thread_that_did_not_start_is_tried_again(photo, monkeypatch):
    def no_room(self):
        raise RuntimeError("can't start new thread")

    with framewire.Engine(codec="turbo", threads=1) as engine:
        with monkeypatch.context() as patch:
            patch.setattr(threading.Thread, "start", no_room)
            for _ in range(2):
                with pytest.raises(framewire.Busy, match="can't start new thread"):
                    engine.submit(photo, size="32x")
        assert engine.submit(photo, size="32x").result(60).jpeg


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


def test_a_buffer_is_held_until_the_answer_and_no_longer(photo, slow_photo):
    with framewire.Engine(codec="turbo", threads=1) as engine:
        engine.submit(slow_photo, size="64x")
        held = bytearray(photo)
        future = engine.submit(held, size="64x")
        with pytest.raises(BufferError):
            held.append(0)
        future.result()
        held.append(0)


def test_wrong_settings_are_named():
    for wrong in (
        {"codec": "quick"}, {"threads": -1}, {"threads": 2.5}, {"queue": True}, {"devices": []},
        {"gpu_memory": "8X"}, {"warm": "GG"}, {"batch_wait_us": -1}, {"devices": [-1]},
    ):
        with pytest.raises(framewire.InvalidInput) as caught:
            framewire.Engine(**wrong)
        assert caught.value.subject == next(iter(wrong))
    with pytest.raises(framewire.Unsupported):
        framewire.Engine(codec="cuda", devices=0)
    with pytest.raises(TypeError):
        pickle.dumps(framewire.Engine(codec="turbo", threads=1))


def test_many_threads_share_an_engine(engine, photos):
    expected = [framewire.resize(photo, size="48x") for photo in photos]
    wrong = []

    def work(kind):
        for photo, answer in zip(photos, expected):
            got = engine.resize(photo, size="48x") if kind else engine.submit(photo, size="48x").result()
            if got.jpeg != answer:
                wrong.append(kind)

    threads = [threading.Thread(target=work, args=(i % 2,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


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
    ],
)
def test_ctrl_c_ends_a_wait(wait):
    # Whoever runs tests in the background may ignore the signal, and children inherit that.
    script = PREPARE + f"""
import signal; signal.signal(signal.SIGINT, signal.default_int_handler)
engine = framewire.Engine(codec="turbo", threads=1, queue=8)
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
        out, _ = process.communicate(timeout=60)
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


def test_no_thread_and_no_memory_is_left_behind(photo):
    def once():
        with framewire.Engine(codec="turbo", threads=2) as engine:
            engine.submit(photo, size="32x").result()
            list(engine.map([photo] * 8, size="32x"))

    def threads():
        return len(os.listdir("/proc/self/task"))

    once()
    before = threads()
    for _ in range(20):
        once()
    # Up to Python 3.12 join() returns some milliseconds before the thread of the system ends.
    end = time.monotonic() + 10
    while threads() > before and time.monotonic() < end:
        time.sleep(0.01)
    assert threads() <= before
