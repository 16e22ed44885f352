"""Many threads at one object: what they get is what one thread gets. Made for Pythons without a GIL, whose
build says so; under a GIL the work between its releases still overlaps."""

import sys
import sysconfig
import threading

import framewire
import numpy as np
import pytest
from conftest import CROPS, run, tensor_decoder

THREADS = 8


def together(*works, rounds=6):
    """Runs each work on several threads at once; raises what any of them raised."""
    start, raised = threading.Barrier(THREADS), []

    def run(work):
        try:
            start.wait(60)
            for _ in range(rounds):
                work()
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=run, args=(works[at % len(works)],)) for at in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if raised:
        raise raised[0]


@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this Python has a GIL")
def test_importing_the_package_leaves_the_gil_off():
    assert not sys._is_gil_enabled()


def test_one_engine_by_every_door(photos):
    expected = [framewire.resize(photo, size="24x") for photo in photos]
    bad = b"no JPEG"

    with framewire.Engine(codec="turbo", threads=2, queue=16) as engine:

        def by_resize():
            assert [engine.resize(photo, size="24x").jpeg for photo in photos] == expected

        def by_submit():
            futures = [engine.submit(photo, size="24x") for photo in photos]
            futures[0].cancel()
            assert [future.result().jpeg for future in futures[1:]] == expected[1:]

        def by_map():
            answers = list(engine.map([*photos, bad], size="24x", window=5, on_error="return"))
            assert [answer.jpeg for answer in answers[:-1]] == expected
            assert isinstance(answers[-1], framewire.InvalidInput)
            next(engine.map(photos, size="24x"))  # and left

        def by_looking():
            with pytest.raises(framewire.InvalidInput):
                engine.resize(bad, size="24x")
            assert engine.stats().failures > 0 and engine.devices() == ()

        together(by_resize, by_submit, by_map, by_looking)


def test_an_engine_is_closed_under_way(photos):
    engine = framewire.Engine(codec="turbo", threads=2)
    for_each = {
        "resize": lambda: engine.resize(photos[0], size="24x"),
        "submit": lambda: engine.submit(photos[1], size="24x").result(),
        "map": lambda: list(engine.map(photos, size="24x", window=3)),
    }
    ended = []

    def until_closed(call):
        def work():
            try:
                while True:
                    call()
            except framewire.EngineClosed:
                ended.append(call)

        return work

    timer = threading.Timer(0.3, engine.close)
    timer.start()
    together(*map(until_closed, for_each.values()), rounds=1)
    timer.join()
    assert len(ended) == THREADS


def test_a_closed_engine_and_answers_asked_by_many(photo, tmp_path):
    """Python code that runs below a lock of the extension's would let a thread wait for ever: in a process of
    its own, which ends then."""
    (tmp_path / "photo.jpg").write_bytes(photo)
    done = run(
        f"""
import faulthandler, framewire, sys, threading
faulthandler.dump_traceback_later(60, exit=True)
sys.setswitchinterval(1e-6)
photo = open({str(tmp_path / "photo.jpg")!r}, "rb").read()
engine = framewire.Engine("turbo", threads=1)
engine.close()
answers = [framewire.resize_with_report(photo, size="16x") for _ in range(50)]
reports = [set() for _ in answers]

def ask():
    for answer, seen in zip(answers, reports):
        seen.add(id(answer.report))
    for _ in range(500):
        for call in engine.stats, engine.devices, lambda: engine.map([]), lambda: engine.submit(photo):
            try:
                call()
            except framewire.EngineClosed:
                pass
            else:
                raise AssertionError(call)
    finished.append(True)

finished = []
threads = [threading.Thread(target=ask, daemon=True) for _ in range({THREADS})]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert len(finished) == {THREADS} and all(len(seen) == 1 for seen in reports)
print("done")
"""
    )
    assert done.stdout == "done\n", done.stderr


def test_one_decoder_and_memory_of_each_thread(jpegs, pixels):
    decoder = tensor_decoder(dtype="uint8", layout="NHWC")

    def work():
        out = np.zeros_like(pixels)
        batch = decoder.decode([*jpegs[:4], jpegs[4]], CROPS, out=out)
        assert batch.tensor is out and (out == pixels).all()
        failed = decoder.decode([jpegs[0], b"bad"], [CROPS[0], None])
        assert failed.ok == [True, False] and (failed.tensor.numpy()[0] == pixels[0]).all()

    together(work)


def test_one_answer_and_one_tensor(photo, jpegs, pixels):
    for _ in range(20):
        result = framewire.resize_with_report(photo, size="24x")
        tensor = tensor_decoder(dtype="uint8", layout="NHWC").decode(jpegs, CROPS).tensor
        seen = []

        def work():
            seen.append((id(result.report), id(result.jpeg)))  # made at the first use
            assert bytes(memoryview(result)) == result.jpeg
            assert (np.from_dlpack(tensor) == pixels).all() and (tensor.numpy() == pixels).all()

        together(work, rounds=1)
        assert len(set(seen)) == 1


def test_calls_without_an_object(photo, photos):
    expected = framewire.resize(photo, size="24x", quality=50)
    sizes = framewire.sizes(photos)
    crops = framewire.random_resized_crops(sizes, 7, 0, range(len(photos)))
    at = iter(range(10**6))

    def work():
        assert framewire.resize(photo, size="24x", quality=50) == expected
        framewire.resize(photo, size=f"{8 + next(at) % 64}x")  # options that nobody has parsed yet
        assert framewire.sizes(photos) == sizes
        assert framewire.random_resized_crops(sizes, 7, 0, range(len(photos))) == crops
        with pytest.raises(framewire.UnknownOption):
            framewire.resize(photo, sise=3)

    together(work)
