import asyncio
import contextlib
import gc
import os
import pickle
import sys
import threading
import time
import types
import weakref
from concurrent.futures import CancelledError

import framewire
import pytest
from conftest import decode


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


def test_threads_of_gevent_are_refused(photo, monkeypatch):
    """The one that takes answers would wait for the first, and the whole process with it."""
    patched = {"threading"}
    monkeypatch.setitem(sys.modules, "gevent.monkey", types.SimpleNamespace(is_module_patched=patched.__contains__))
    with framewire.Engine(codec="turbo", threads=1) as engine:
        with pytest.raises(framewire.Unsupported, match=r"^found threads replaced by gevent; accepted: .*thread=False"):
            engine.submit(photo, size="32x")
        assert engine.resize(photo, size="32x").jpeg
        assert len(list(engine.map([photo], size="32x"))) == 1
        patched.clear()
        assert engine.submit(photo, size="32x").result(60).jpeg


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
