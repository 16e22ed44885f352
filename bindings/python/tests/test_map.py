"""What Engine.map() is as an iterator; what it answers is in test_engine.py."""

import gc
import itertools
import queue
import threading
import time
import weakref

import framewire
import pytest
from conftest import run


@pytest.fixture
def engine():
    with framewire.Engine(codec="turbo", threads=2) as made:
        yield made


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("window", [1, 2, 7, 16, 300, 10**30])
def test_every_input_is_answered_once_whatever_the_window(engine, photo, ordered, window):
    inputs = [b"bad" if at % 5 == 3 else photo for at in range(60)]
    answers = list(engine.map(inputs, size="16x", window=window, ordered=ordered, on_error="return"))
    assert sorted(answer.index for answer in answers) == list(range(60))
    assert not ordered or [answer.index for answer in answers] == list(range(60))
    for answer in answers:
        assert isinstance(answer, framewire.InvalidInput) == (answer.index % 5 == 3)


def test_a_slow_source_does_not_hold_up_what_was_read(engine, photo):
    more = threading.Event()

    def source():
        yield photo
        assert more.wait(60), "the first answer was not given before the second input was read"
        yield photo

    answers = engine.map(source(), size="16x", window=1)
    next(answers)
    more.set()
    assert len(list(answers)) == 1


@pytest.mark.parametrize("ordered", [True, False])
def test_an_answer_does_not_wait_for_a_slow_source(engine, photo, ordered):
    read = 0

    def source():
        nonlocal read
        for _ in range(5):
            time.sleep(0.5)  # an eighth of it is waited for an answer
            read += 1
            yield photo

    ahead = [read - given for given, _ in enumerate(engine.map(source(), size="16x", ordered=ordered), 1)]
    assert len(ahead) == 5 and ahead.count(0) >= 4


@pytest.mark.parametrize("ordered", [True, False])
def test_answers_that_are_there_go_before_the_source(engine, slow_photo, ordered):
    last = False

    def source():
        yield from [slow_photo] * 4  # all are read before one is done
        assert last, "the source was asked though there were answers"

    answers = engine.map(source(), size="16x", window=4, ordered=ordered)
    next(answers)
    until = time.monotonic() + 60
    while engine.stats().host_images < 4 and time.monotonic() < until:
        time.sleep(0.01)
    for _ in range(3):
        next(answers)
    last = True
    assert list(answers) == []


def test_a_window_of_one_reads_an_input_for_each_answer(engine, photo):
    """A source that needs each answer for its next input."""
    inputs = queue.Queue()
    inputs.put(photo)
    for answer in engine.map(iter(inputs.get, None), size="16x", window=1):
        inputs.put(answer.jpeg if answer.index < 9 else None)
    assert answer.index == 9


@pytest.mark.parametrize("at", [0, 70])
@pytest.mark.parametrize(
    "wrong", [None, "photo.jpg", (b"", 7), (b"",), (b"", {"sise": 3}), (None, {})], ids=repr
)
def test_what_is_wrong_says_which_input(engine, photo, at, wrong):
    with pytest.raises((TypeError, ValueError), match=f"^input {at}: "):
        list(engine.map([photo] * at + [wrong, photo], size="16x"))


def test_a_tuple_is_a_jpeg_and_its_options(engine, photo):
    for wrong in ((photo,), (photo, {}, {}), ()):
        with pytest.raises(ValueError, match="tuple"):
            next(engine.map([wrong]))
    with pytest.raises(TypeError):
        next(engine.map([(photo, 7)]))
    with pytest.raises(TypeError, match="buffer protocol"):
        next(engine.map([(None, {})]))
    with pytest.raises(TypeError):
        engine.map(7)


def test_an_iterator_that_has_raised_is_over(engine, photo):
    for wrong, error in ((7, TypeError), ((photo, {"sise": 3}), framewire.UnknownOption)):
        answers = engine.map(itertools.chain([photo] * 3, [wrong], itertools.repeat(photo)), size="16x")
        with pytest.raises(error):
            list(answers)
        assert list(answers) == []
        answers.close()


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("count", [1, 7, 40])
@pytest.mark.parametrize("wrong", [KeyError("source"), 7, ("jpeg",), (b"", {"sise": 3}), (b"", 7)])
def test_answers_come_before_the_exception_that_ends_them(engine, photo, ordered, count, wrong):
    def source():
        for at in range(count):
            yield b"bad" if at % 5 == 3 else photo
        if isinstance(wrong, Exception):
            raise wrong
        yield wrong
        raise AssertionError("read on")

    answers = engine.map(source(), size="16x", ordered=ordered, on_error="return", window=50)
    given = []
    with pytest.raises((KeyError, TypeError, ValueError)) as caught:
        for answer in answers:
            given.append(answer.index)
    assert sorted(given) == list(range(count)) and (not ordered or given == sorted(given))
    assert not isinstance(caught.value, AssertionError)
    assert list(answers) == []
    if isinstance(wrong, Exception):
        assert caught.value is wrong
        assert "source" in [entry.name for entry in caught.traceback]


def test_an_error_of_an_input_comes_before_an_exception_of_the_source(engine, photo):
    def source():
        yield from [photo, b"bad", photo]
        raise KeyError("source")

    answers = engine.map(source(), size="16x", window=50)
    assert next(answers).index == 0
    with pytest.raises(framewire.InvalidInput, match="input 1: "):
        next(answers)
    assert list(answers) == []


@pytest.mark.parametrize("ordered", [True, False])
def test_close_beside_an_iterator_answers_what_was_handed_in(photo, slow_photo, ordered):
    engine = framewire.Engine(codec="turbo", threads=1, queue=4)
    inputs = [photo, slow_photo, photo, b"bad", memoryview(photo)[::2], photo, memoryview(photo)[::2]] * 9
    answers = engine.map(inputs, size="16x", window=63, on_error="return", ordered=ordered)
    given = [next(answers).index]
    engine.close()
    with pytest.raises(framewire.EngineClosed, match="closed"):
        for answer in answers:
            given.append(answer.index)
    assert 4 <= len(given) < len(inputs) and len(set(given)) == len(given)
    assert not ordered or given == list(range(len(given)))
    assert list(answers) == []


def test_a_cycle_with_a_pending_exception_is_collected(photo, slow_photo):
    class Error(Exception):
        pass

    engine = framewire.Engine(codec="turbo", threads=1)
    error = Error()

    def source():
        yield photo
        yield slow_photo
        raise error

    error.answers = engine.map(source(), size="16x", window=9)
    next(error.answers)
    gone = [weakref.ref(error), weakref.ref(engine)]
    del error, engine
    gc.collect()
    assert [reference() for reference in gone] == [None, None]


def test_without_a_window_the_bytes_of_inputs_are_bounded(engine, photo, monkeypatch):
    monkeypatch.setattr("framewire._engine._MAP_INPUT_BYTES", 1)
    read = []
    answers = engine.map((read.append(i) or photo for i in range(50)), size="16x")
    for given in range(50):
        assert next(answers).index == given
        assert len(read) <= given + 2
    assert list(answers) == []


@pytest.mark.parametrize("threads, window", [(None, 160), (9, 36), (1, 16)])
def test_the_window_goes_by_the_threads_of_the_engine(photo, monkeypatch, threads, window):
    monkeypatch.setattr("framewire._framewire.usable_cores", lambda: 40)
    read = []
    with framewire.Engine(codec="turbo", threads=threads) as engine:
        next(engine.map((read.append(i) or photo for i in itertools.count()), size="16x", ordered=False))
        assert engine._window == window
    assert len(read) <= window


def test_one_caller_at_a_time(engine, photo):
    inside, leave = threading.Event(), threading.Event()

    def source():
        yield photo
        inside.set()
        leave.wait(60)
        yield photo

    answers = engine.map(source(), size="16x", window=1)
    next(answers)
    other = threading.Thread(target=lambda: next(answers))
    other.start()
    assert inside.wait(60)
    for call in (answers.__next__, answers.close):
        with pytest.raises(ValueError, match="another thread"):
            call()
    leave.set()
    other.join()
    assert list(answers) == []

    def itself():
        yield photo
        next(again)

    again = engine.map(itself(), size="16x", window=1)
    next(again)
    with pytest.raises(ValueError, match="source itself"):
        next(again)


def test_threads_may_take_turns(engine, photos):
    expected = [framewire.resize(photo, size="24x") for photo in photos] * 5
    answers = engine.map(photos * 5, size="24x", window=9)
    lock, found = threading.Lock(), {}

    def work():
        while True:
            with lock:
                answer = next(answers, None)
            if answer is None:
                return
            found[answer.index] = answer.jpeg

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [found[index] for index in range(len(expected))] == expected


def test_a_cycle_with_its_source_is_collected(photo):
    class Source:
        def __iter__(self):
            return self

        def __next__(self):
            return photo

    engine = framewire.Engine(codec="turbo", threads=1)
    source = Source()
    source.answers = engine.map(source, size="16x", window=4)
    next(source.answers)
    gone = [weakref.ref(source), weakref.ref(engine)]
    del source, engine
    gc.collect()
    assert [reference() for reference in gone] == [None, None]


def test_a_cycle_with_an_input_is_collected(engine, photo):
    class Input(bytearray):
        pass

    one = Input(photo)
    one.answers = engine.map([one] * 9, size="16x", window=4)
    next(one.answers)
    gone = weakref.ref(one)
    del one
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("lend", ["memoryview(mapped)", "(ctypes.c_char * len(jpeg)).from_buffer_copy(jpeg)"])
def test_the_collector_leaves_what_the_engine_reads(lend):
    """It has these release their memory, where it finds them in a cycle: in a process of its own, which would
    crash."""
    done = run(
        f"""
import ctypes, faulthandler, framewire, gc, io, mmap, weakref
from PIL import Image
faulthandler.enable()
out = io.BytesIO()
Image.effect_noise((4000, 3000), 90).save(out, "JPEG", quality=95)
jpeg = out.getvalue()

def lent():
    mapped = mmap.mmap(-1, len(jpeg))
    mapped[:] = jpeg
    return {lend}

class Source:
    def __init__(self, engine, inputs):
        self.inputs = inputs
        self.unread = list(inputs)
        self.answers = engine.map(self, size="3000x", window=4)

    def __iter__(self):
        return self

    def __next__(self):
        return self.unread.pop()

engine = framewire.Engine("turbo", threads=1)
gc.disable()
inputs = [lent() for _ in range(4)]  # made first, and so cleared first
source = Source(engine, inputs)
next(source.answers)
gone = weakref.ref(source)
del source, inputs
gc.collect()
engine.close()
print("collected" if gone() is None else "kept")
"""
    )
    assert (done.returncode, done.stdout) == (0, "collected\n"), done.stderr


def test_inputs_are_let_go_of_with_their_answers(engine, photo):
    class Input(bytearray):
        pass

    inputs = [Input(photo) for _ in range(40)]
    living = [weakref.ref(one) for one in inputs]
    answers = engine.map(iter(inputs), size="16x", window=8)
    next(answers)
    inputs.clear()
    for given, _ in enumerate(answers, 2):
        held = sum(reference() is not None for reference in living)
        assert held <= 40 - given + 1
    assert not any(reference() for reference in living)
