"""TensorDecoder.map(): on the CPU, and on a GPU or the emulation of one (./dev python emulation)."""

import gc
import itertools

import framewire
import numpy as np
import pytest
from conftest import CROPS, tensor_decoder

FLIPS = [False, True, False, True, True]


@pytest.fixture(params=["cpu", "cuda:0"])
def decoder(request):
    if request.param != "cpu":
        request.getfixturevalue("gpu")
    return framewire.TensorDecoder((64, 48), device=request.param, threads=2, dtype="uint8")


def host(tensor):
    return np.from_dlpack(tensor, device="cpu")


def test_batches_are_those_of_decode(decoder, jpegs):
    odd = [*jpegs[:2], b"no picture", jpegs[3][: len(jpegs[3]) // 2]]
    items = [jpegs, (jpegs, CROPS), (jpegs, CROPS, FLIPS), {"jpegs": odd, "flips": [True] * 4}, [], odd]
    calls = [(jpegs,), (jpegs, CROPS), (jpegs, CROPS, FLIPS), (odd, None, [True] * 4), ([],), (odd,)]
    for under_way in (1, 2, 3, 16):
        made = list(decoder.map(iter(items), under_way=under_way))
        assert len(made) == len(items)
        for batch, call in zip(made, calls):
            wanted = decoder.decode(*call)
            assert (host(batch.tensor) == host(wanted.tensor)).all()
            assert batch.ok == wanted.ok and batch.images == wanted.images
            assert [str(error) for error in batch.errors] == [str(error) for error in wanted.errors]


def test_no_more_is_read_than_is_under_way(decoder, jpegs):
    read = []

    def source():
        for number in itertools.count():
            read.append(number)
            yield jpegs[:1]

    batches = decoder.map(source(), under_way=4)
    assert not read
    most = 1 if decoder.device == "cpu" else 4
    for number in range(3):
        assert next(batches).ok == [True]
        assert len(read) == number + most
    batches.close()
    del batches
    gc.collect()
    assert decoder.decode(jpegs).ok == [True] * 5


def test_what_ends_it_comes_behind_what_was_begun(decoder, jpegs):
    def fails():
        yield jpegs[:2]
        yield jpegs[:3]
        raise KeyError("the source's own")

    for source, error in (
        (fails(), KeyError),
        ([jpegs[:2], jpegs[:3], (jpegs, [(0, 0, 1)])], framewire.InvalidInput),
        ([jpegs[:2], jpegs[:3], {"jpegs": jpegs, "crop": None}], TypeError),
        ([jpegs[:2], jpegs[:3], {"flips": FLIPS}], TypeError),
        ([jpegs[:2], jpegs[:3], ()], TypeError),
        ([jpegs[:2], jpegs[:3], tuple(jpegs)], TypeError),
        ([jpegs[:2], jpegs[:3], 5], TypeError),
    ):
        batches = decoder.map(source)
        assert [len(next(batches)), len(next(batches))] == [2, 3]
        with pytest.raises(error):
            next(batches)
        with pytest.raises(StopIteration):
            next(batches)
    for wrong in (0, 17, 2.5):
        with pytest.raises((framewire.InvalidInput, TypeError), match="under_way"):
            decoder.map([], under_way=wrong)


def test_on_error_raise(jpegs, decoder):
    raising = framewire.TensorDecoder((64, 48), device=decoder.device, on_error="raise")
    batches = raising.map([jpegs, [jpegs[0], b"no picture"], jpegs])
    assert next(batches).ok == [True] * 5
    with pytest.raises(framewire.InvalidInput) as caught:
        next(batches)
    assert caught.value.index == 1
    assert raising.decode(jpegs).ok == [True] * 5


def test_a_closed_decoder_ends_it(jpegs, decoder):
    batches = decoder.map([jpegs] * 5, under_way=2)
    first = next(batches)
    decoder.close()
    with pytest.raises(framewire.EngineClosed):
        list(batches)
    assert host(first.tensor).any()


def test_memory_of_a_batch_under_way_is_refused(gpu, jpegs):
    decoder = framewire.TensorDecoder((64, 48), device=0, dtype="uint8")
    outs = [decoder.decode(jpegs).tensor for _ in range(2)]
    wanted = host(decoder.decode(jpegs).tensor)
    items = [(jpegs, None, None, outs[i % 2]) for i in range(6)]
    for i, batch in enumerate(decoder.map(items, under_way=2)):
        assert batch.tensor is outs[i % 2] and (host(batch.tensor) == wanted).all()
    batches = decoder.map(items, under_way=3)
    assert [next(batches).ok[0], next(batches).ok[0]] == [True, True]
    with pytest.raises(framewire.InvalidInput, match="out: .*under way"):
        next(batches)


class View:
    """Another object of the same memory, as a slice of a torch tensor is."""

    def __init__(self, tensor):
        self.tensor = tensor

    def __dlpack__(self, **arguments):
        return self.tensor.__dlpack__(**arguments)

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()


def test_views_of_memory_under_way_are_refused(gpu, jpegs):
    decoder = framewire.TensorDecoder((64, 48), device=0, dtype="uint8")
    out = decoder.decode(jpegs).tensor
    batches = decoder.map(((jpegs, None, None, View(out)) for _ in range(3)), under_way=2)
    assert next(batches).ok == [True] * 5
    with pytest.raises(framewire.InvalidInput, match="out: .*under way"):
        next(batches)
    batches = decoder.map([(jpegs, None, None, View(out)), jpegs, jpegs], under_way=2)
    assert next(batches).ok == [True] * 5
    other = decoder.map([(jpegs, None, None, View(out)), jpegs], under_way=2)
    assert next(other).ok == [True] * 5  # the first map() has given its memory back
    third = decoder.map([jpegs, (jpegs, None, None, View(out)), jpegs], under_way=2)
    next(third)
    with pytest.raises(framewire.InvalidInput, match="out: .*under way"):
        decoder.decode(jpegs, out=View(out))
    third.close()
    assert decoder.decode(jpegs, out=View(out)).ok == [True] * 5


def is_held(data):
    try:
        data.append(0)
    except BufferError:
        return True
    data.pop()
    return False


@pytest.fixture
def no_collection():
    gc.disable()
    yield
    gc.enable()


def test_nothing_is_under_way_behind_its_end(gpu, jpegs, no_collection):
    decoder = framewire.TensorDecoder((64, 48), device=0, on_error="raise")
    ahead = bytearray(jpegs[0])

    def fails():
        yield jpegs[:1]
        yield [ahead]
        raise KeyError

    batches = decoder.map(fails())
    next(batches)
    assert is_held(ahead)
    batches.close()
    assert not is_held(ahead)

    batches = decoder.map([[b"no picture"], [ahead], [ahead]])
    with pytest.raises(framewire.InvalidInput) as kept:
        next(batches)
    assert not is_held(ahead) and kept.value.index == 0

    batches = decoder.map([jpegs[:1], [ahead]])
    next(batches)
    decoder.close()
    with pytest.raises(framewire.EngineClosed):
        next(batches)
    assert not is_held(ahead)


def test_an_item_that_stops_iterations_is_an_error(decoder, jpegs):
    class Stops:
        def __iter__(self):
            raise StopIteration

    batches = decoder.map([jpegs[:1], Stops(), jpegs[:1]])
    assert len(next(batches)) == 1
    with pytest.raises(RuntimeError):
        next(batches)


def test_cpu_batches_come_one_by_one(jpegs):
    assert [batch.ok for batch in tensor_decoder().map([jpegs[:1]] * 3)] == [[True]] * 3
