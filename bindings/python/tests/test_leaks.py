"""Memory stays flat, whatever is decoded or refused.

Each kind of call is made again and again. What malloc has given out, and how many blocks Python holds, must
not grow by as much as the smallest of them a call. FRAMEWIRE_LEAK_CALLS=1000000 makes a long run of it.
"""

import ctypes
import gc
import os
import sys

import framewire
import pytest
from conftest import make_jpeg

CALLS = int(os.environ.get("FRAMEWIRE_LEAK_CALLS", "1500"))
BYTES_A_CALL = 16  # malloc gives out 32 at least, and what threads and caches hold goes up and down
BLOCKS_A_CALL = 0.5
WINDOWS = 3  # the best of them counts: threads and caches fill up at their own time
NAMES = ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost")


class Mallinfo(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in NAMES]


@pytest.fixture(scope="module")
def used():
    """(bytes that malloc has given out, blocks that Python has)"""
    libc = ctypes.CDLL(None)
    if not hasattr(libc, "mallinfo2"):
        pytest.skip("mallinfo2() needs glibc 2.33")
    libc.mallinfo2.restype = Mallinfo

    def read():
        gc.collect()
        now = libc.mallinfo2()
        return now.uordblks + now.hblkhd, sys.getallocatedblocks()

    return read


def check(used, work, calls=1):
    """`work` makes so many calls at once."""
    times = max(1, CALLS // WINDOWS // calls)
    for _ in range(max(2, times // 10)):
        work()
    before, grown = used(), []
    for _ in range(WINDOWS):
        for _ in range(times):
            work()
        after = used()
        grown.append([(now - then) / (times * calls) for now, then in zip(after, before)])
        before = after
    size, blocks = (min(window[at] for window in grown) for at in (0, 1))
    assert size < BYTES_A_CALL and blocks < BLOCKS_A_CALL, grown


@pytest.fixture(scope="module")
def small():
    return make_jpeg(16, 16)


def refused(call, *arguments, **options):
    try:
        call(*arguments, **options)
    except framewire.Error:
        return
    raise AssertionError("was not refused")


def test_what_is_lost_is_noticed(used):
    libc = ctypes.CDLL(None)
    with pytest.raises(AssertionError):
        check(used, lambda: libc.malloc(24))
    kept = []
    with pytest.raises(AssertionError):
        check(used, lambda: kept.append(object()))


def test_resize(used, small):
    check(used, lambda: framewire.resize(small, size="8x"))
    check(used, lambda: framewire.resize_with_report(small, size="8x").report)


def test_a_refused_file(used, small):
    check(used, lambda: refused(framewire.resize, b"no JPEG"))
    check(used, lambda: refused(framewire.resize, small[:60]))
    check(used, lambda: refused(framewire.resize, small, max_input_pixels=9))
    check(used, lambda: refused(framewire.resize, small, quality=101))
    check(used, lambda: refused(framewire.resize, small, sise=9))


def test_heads(used, small):
    check(used, lambda: framewire.sizes([small, b"bad", small[:60]], on_error="return"), calls=3)
    check(used, lambda: framewire.inspect(small))


def test_engine(used, small):
    with framewire.Engine(codec="turbo", threads=2) as engine:
        check(used, lambda: engine.resize(small, size="8x").report)
        check(used, lambda: engine.submit(small, size="8x").result().jpeg)
        check(used, lambda: refused(engine.resize, b"no JPEG"))
        inputs = [small, (small, {"size": "4x"}), b"bad", small[:60], (small, {"quality": 101})] * 20
        check(used, lambda: list(engine.map(inputs, size="8x", on_error="return")), calls=100)
        check(used, lambda: next(engine.map([small] * 20, size="8x")), calls=20)
        check(used, lambda: refused(list, engine.map(inputs, size="8x")), calls=20)


def test_tensors(used, small):
    jpegs = [small, b"bad", small, small[:60]] * 8
    for threads in (1, 2):
        with framewire.TensorDecoder((8, 8), threads=threads) as decoder:
            check(used, lambda: decoder.decode(jpegs).tensor.numpy(), calls=32)
            check(used, lambda: decoder.decode([small] * 32, [(0, 0, 8, 8)] * 32, [True] * 32), calls=32)
            check(used, lambda: refused(decoder.decode, jpegs, [(0, 0)] * 32), calls=32)


def test_crops(used):
    sizes = [(640, 480), None] * 10
    check(used, lambda: framewire.random_resized_crops(sizes, 7, 0, range(20)), calls=20)
    check(used, lambda: refused(framewire.center_crops, [(3, 3)], (224, 224)))
