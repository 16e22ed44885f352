"""What users hand in by mistake: each a clear exception of a stated class, and nothing is broken after it."""

import copy
import io
import itertools
import math
import pickle
import threading
from fractions import Fraction

import framewire
import numpy as np
import pytest
from conftest import run, skip_under, tensor_decoder
from framewire import _framewire


@pytest.fixture
def engine():
    with framewire.Engine(codec="turbo", threads=2) as made:
        yield made


def doors(engine):
    """Every function that takes many JPEGs."""
    decoder = tensor_decoder()
    return {
        "decode": decoder.decode,
        "sizes": framewire.sizes,
        "map": lambda jpegs: list(engine.map(jpegs, size="16x")),
    }


@pytest.mark.parametrize("door", ["decode", "sizes", "map"])
def test_one_jpeg_is_not_many(engine, photo, door):
    call = doors(engine)[door]
    array = np.frombuffer(photo, np.uint8)
    for one in (photo, bytearray(photo), memoryview(photo), array, array.view("i1"), "photo.jpg", None, 7, engine):
        with pytest.raises(TypeError, match=r"^jpegs: found <class .*; accepted: a list .*for one image \[jpeg\]"):
            call(one)
    # What only looks alike: arrays of objects, rows of bytes, and everything that yields.
    objects = np.empty(2, object)
    objects[:] = [photo, photo]
    for many in ([photo] * 2, (photo, photo), objects, np.stack([array] * 2), iter([photo, photo])):
        assert len(call(many)) == 2
    held = bytearray(photo)
    with pytest.raises(TypeError):
        call(held)
    held.append(0)  # nothing holds it


def test_inputs_of_map_beside_options(engine, photo):
    for item, kind, said in (
        ((photo,), ValueError, "found a tuple of 1; accepted: a JPEG, or"),
        ((photo, {}, 1), ValueError, "found a tuple of 3; accepted: a JPEG, or"),
        ((photo, None), TypeError, "found <class 'NoneType'> beside a JPEG; accepted: a dict"),
        ((photo, {1: 2}), framewire.UnknownOption, "found 1; accepted: an option's name"),
        ([photo, {}], TypeError, "found <class 'list'>"),
    ):
        with pytest.raises(kind) as caught:
            list(engine.map([item], size="16x"))
        assert said in str(caught.value)
    assert len(list(engine.map([photo], size="16x"))) == 1


def test_a_source_that_misbehaves(engine, photo):
    class Interrupted:
        def __iter__(self):
            return self

        def __next__(self):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(engine.map(Interrupted(), size="16x"))

    def nested():
        yield next(engine.map([photo, photo], size="32x"))

    assert len(list(engine.map(nested(), size="16x"))) == 1

    def closes():
        yield photo
        engine.close()
        yield photo

    with pytest.raises(framewire.EngineClosed):
        list(engine.map(closes(), size="16x"))


@pytest.mark.parametrize(
    "subject, setting",
    [
        ("codec", None), ("codec", 7), ("devices", "cuda:0"), ("devices", "01"), ("devices", 0.5),
        ("devices", b"0"), ("devices", {0: 1}), ("threads", 1 << 40), ("threads", "2"), ("queue", 1 << 40), ("gpu_memory", ""), ("profile_memory", "1T"),
    ],
)
def test_settings_of_an_engine_are_named_whole(subject, setting):
    with pytest.raises(framewire.InvalidInput) as caught:
        framewire.Engine(**{subject: setting})
    assert caught.value.subject == subject
    assert f"found {setting!r}; accepted: " in str(caught.value)


def test_a_device_that_is_not_there_is_of_the_argument():
    with pytest.raises((framewire.Unsupported, framewire.InvalidInput)) as caught:
        framewire.Engine(devices=[2_000_000_000])
    assert caught.value.subject == "devices"


def test_numbers_of_numpy_are_numbers(photo):
    with framewire.Engine(codec="turbo", threads=np.int64(1), queue=np.uint8(4)) as engine:
        assert engine.resize(photo, size=np.int32(16))
    assert tensor_decoder(threads=np.int64(1)).threads == 1


def test_objects_with_threads_are_neither_copied_nor_pickled(engine, photo):
    decoder = tensor_decoder()
    batch = decoder.decode([photo])
    for made in (engine, decoder):
        for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError, match="cannot be copied or pickled, since it has threads; accepted: "):
                attempt(made)
    for made in (batch, batch.tensor):
        for attempt in (copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError, match=r"accepted: .*tensor\.numpy\(\)"):
                attempt(made)
    assert decoder.decode([photo]).ok == [True]


def test_with_again(photo):
    engine, decoder = framewire.Engine(codec="turbo", threads=1), tensor_decoder()
    with engine, decoder:
        with engine, decoder:
            assert engine.resize(photo, size="16x")
        with pytest.raises(framewire.EngineClosed):
            engine.resize(photo, size="16x")
    for closed in (engine, decoder):
        with pytest.raises(framewire.EngineClosed, match="was closed|is closed"):
            with closed:
                pass


@pytest.mark.parametrize(
    "subject, arguments",
    [
        ("scale", {"scale": (1, 0)}), ("scale", {"scale": (0, 1)}), ("scale", {"scale": (0.5, 1.5)}),
        ("scale", {"scale": (math.nan, 1)}), ("ratio", {"ratio": (0, 0)}), ("ratio", {"ratio": (2, 1)}),
        ("ratio", {"ratio": (1, math.inf)}),
    ],
)
def test_bounds_of_crops_are_named_as_they_were_given(subject, arguments):
    with pytest.raises(framewire.InvalidInput) as caught:
        framewire.random_resized_crops([(9, 9)], 1, 0, [1], **arguments)
    assert caught.value.subject == subject and f"found {arguments[subject]!r}" in str(caught.value)


@pytest.mark.parametrize("p", [-0.1, 1.1, math.nan, math.inf, "x", None])
def test_a_probability_is_from_0_to_1(p):
    with pytest.raises(framewire.InvalidInput, match="from 0 to 1"):
        framewire.random_flips(1, 0, [1], p=p)


def test_messages_have_the_words_of_the_arguments():
    for options, said in (
        ({"size": (65535, 1)}, "which max_output_side sets"),
        ({"size": (1, 1), "dtype": "uint8", "mean": 0.5}, "accepted with it: mean 0 and std 1"),
        ({"size": (1, 1), "device": 1000}, None),
    ):
        with pytest.raises(framewire.Error) as caught:
            framewire.TensorDecoder(**options)
        assert said is None or said in str(caught.value)
        assert "_px" not in str(caught.value) and "stddev" not in str(caught.value)


def test_flags_are_bools(engine, photo):
    for value in (True, 1, np.bool_(True)):
        assert framewire.sizes([photo], upright=value)
        assert list(engine.map([photo], size="8x", ordered=value))
    for value in ("no", None, [], 2, 1.0):
        with pytest.raises(framewire.InvalidInput, match="^upright: found .*; accepted: True and False"):
            framewire.sizes([photo], upright=value)
        with pytest.raises(framewire.InvalidInput, match="^ordered: "):
            engine.map([photo], size="8x", ordered=value)
        with pytest.raises(framewire.InvalidInput, match="^few_images: "):
            framewire.Engine(few_images=value)


def test_names_of_documents(photo):
    assert framewire.inspect(photo, name="straße.jpg")["file"] == "straße.jpg"
    for name in (5, None, b"photo.jpg", "\ud800"):
        with pytest.raises(framewire.InvalidInput, match="^name: found .*; accepted: text"):
            framewire.inspect(photo, name=name)


@skip_under(["asan", "tsan"], "a sanitizer's shadow takes more addresses than are left to the test")
def test_a_batch_too_large_for_memory(photo):
    """Says so instead of being killed; 6 TB exceed any address space that is left to one process here."""
    decoder = tensor_decoder((7000, 7000), threads=1)
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (64 << 30, hard))
    try:
        with pytest.raises(framewire.Busy, match=r"^found no memory for a batch of \d+ bytes; accepted: fewer"):
            decoder.decode([photo] * 10_000)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
    with pytest.raises(framewire.InvalidInput, match="crops"):
        decoder.decode([photo], itertools.repeat((0, 0, 1, 1), 2))


def test_bytes_that_change_meanwhile(photo):
    """Other pixels or an error, and no crash."""
    changing, stop = bytearray(photo), threading.Event()

    def change():
        for at in itertools.count():
            if stop.is_set():
                return
            changing[20 + at * 7919 % (len(changing) - 20)] = at & 255

    changer = threading.Thread(target=change)
    changer.start()
    try:
        decoder = tensor_decoder(threads=2)
        for _ in range(30):
            batch = decoder.decode([changing])
            assert batch.ok[0] or isinstance(batch.errors[0], framewire.Error)
            try:
                framewire.resize(changing, size="16x")
            except framewire.Error:
                pass
    finally:
        stop.set()
        changer.join()
    assert decoder.decode([photo]).ok == [True]


def test_files_and_paths_are_refused(photo, tmp_path):
    path = tmp_path / "photo.jpg"
    path.write_bytes(photo)
    with path.open("rb") as file:
        for wrong in (path, str(path), file, io.BytesIO(photo)):
            with pytest.raises(TypeError, match="^jpeg: found <class .*accepted: an object with the buffer protocol"):
                framewire.resize(wrong)


def test_other_interpreters_are_refused_and_harm_nobody():
    """What an extension's types have in common with another interpreter would die with it."""
    ran = run("""
try:
    import _interpreters as interpreters
except ImportError:
    try:
        import _xxsubinterpreters as interpreters
    except ImportError:
        raise SystemExit("none")
import framewire
from PIL import Image
import io
data = io.BytesIO()
Image.new("RGB", (32, 32)).save(data, "JPEG")
first = framewire.resize(data.getvalue(), size="16x")
script = '''
try:
    import framewire
except ImportError as error:
    assert "subinterpreter" in str(error), error
else:
    raise SystemError("imported")
'''
for _ in range(2):
    try:
        other = interpreters.create("legacy")
    except TypeError:
        other = interpreters.create()
    failed = interpreters.run_string(other, script)
    assert failed is None, failed
    interpreters.destroy(other)
    assert framewire.resize(data.getvalue(), size="16x") == first
""")
    if "none" in ran.stderr:
        pytest.skip("this Python has no module for interpreters")
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize(
    "use",
    [
        lambda: memoryview(framewire.Resized.__new__(framewire.Resized)),
        lambda: memoryview(framewire.Tensor.__new__(framewire.Tensor)),
        lambda: next(_framewire.MapIterator.__new__(_framewire.MapIterator)),
        lambda: framewire.resize(framewire.Resized.__new__(framewire.Resized)),
        lambda: framewire.Resized.__new__(framewire.Resized).jpeg,
    ],
)
@pytest.mark.filterwarnings("ignore:nanobind")
def test_objects_that_were_never_made(use):
    with pytest.raises(TypeError):
        use()


HUGE = 10**5000  # which Python does not write in decimal
LONG = "9" * 5000  # nor read
BEYOND = 10**400  # no float


@pytest.mark.parametrize(
    "subject, call",
    [
        ("size", lambda: framewire.resize(b"", size="\ud800")),
        ("gravity", lambda: framewire.resize(b"", gravity=("\ud800", 1))),
        ("size", lambda: framewire.resize(b"", size=HUGE)),
        ("size", lambda: framewire.resize(b"", size=(HUGE, None))),
        ("background", lambda: framewire.resize(b"", background=(HUGE, 1, 1))),
        ("dpr", lambda: framewire.resize(b"", dpr=Fraction(BEYOND))),
        ("dpr", lambda: framewire.resize(b"", dpr=Fraction(HUGE))),
        ("codec", lambda: framewire.Engine("\ud800")),
        ("gpu_memory", lambda: framewire.Engine("turbo", gpu_memory=LONG)),
        ("gpu_memory", lambda: framewire.Engine("turbo", gpu_memory=LONG + "G")),
        ("warm", lambda: framewire.Engine("turbo", warm=HUGE)),
        ("threads", lambda: framewire.Engine("turbo", threads=HUGE)),
        ("devices", lambda: framewire.Engine("turbo", devices=[HUGE])),
        ("device", lambda: framewire.TensorDecoder(device="cuda:" + LONG)),
        ("device", lambda: framewire.TensorDecoder(device=HUGE)),
        ("size", lambda: framewire.TensorDecoder(size=LONG + "x1")),
        ("size", lambda: framewire.TensorDecoder(size=(HUGE, 1))),
        ("threads", lambda: framewire.TensorDecoder(threads=HUGE)),
        ("dtype", lambda: framewire.TensorDecoder(dtype=HUGE)),
        ("mean", lambda: framewire.TensorDecoder(mean=BEYOND)),
        ("mean", lambda: framewire.TensorDecoder(mean=1e39)),
        ("std", lambda: framewire.TensorDecoder(std=(1, 1, HUGE))),
        ("scale", lambda: framewire.random_resized_crops([], 0, 0, [], scale=(BEYOND, 1))),
        ("ratio", lambda: framewire.random_resized_crops([], 0, 0, [], ratio=(1, HUGE))),
        ("seed", lambda: framewire.random_flips(HUGE, 0, [])),
        ("sample_ids", lambda: framewire.random_flips(0, 0, [HUGE])),
        ("p", lambda: framewire.random_flips(0, 0, [], p=HUGE)),
        ("sizes", lambda: framewire.center_crops([(HUGE, 1)], (1, 1))),
        ("sizes", lambda: framewire.center_crops([("\ud800", 1)], (1, 1))),
        ("crops", lambda: tensor_decoder().decode([b""], [(0, 0, 1, HUGE)])),
        ("flips", lambda: tensor_decoder().decode([b""], flips=[HUGE])),
        ("stream", lambda: tensor_decoder().decode([b""], stream=HUGE)),
    ],
)
def test_what_python_cannot_read_or_write_is_an_invalid_input(subject, call):
    with pytest.raises(framewire.InvalidInput) as caught:
        call()
    assert caught.value.subject == subject and "found " in str(caught.value) and "accepted" in str(caught.value)


def test_words_of_map_that_have_no_text(engine, photo):
    with pytest.raises(ValueError, match="window: found <class 'int'>"):
        engine.map([], window=-HUGE)
    with pytest.raises(framewire.UnknownOption, match="found <class 'int'>"):
        list(engine.map([(photo, {HUGE: 1})]))


def test_numbers_and_bools_of_numpy_everywhere(engine, photo):
    assert len(list(engine.map([photo] * 3, size="16x", window=np.int64(2)))) == 3
    for window in (True, np.True_, 2.0, "2", np.int64(0)):
        with pytest.raises(ValueError, match="window"):
            engine.map([], window=window)
    for device in (np.int64(999), np.uint8(99)):
        with pytest.raises(framewire.Unsupported):
            framewire.TensorDecoder(device=device)
    for device in (np.True_, np.int64(-1), np.float32(0)):
        with pytest.raises(framewire.InvalidInput):
            framewire.TensorDecoder(device=device)
    assert framewire.random_flips(1, 0, range(9), p=np.float32(0.5)) == framewire.random_flips(1, 0, range(9))
    with pytest.raises(framewire.InvalidInput):
        framewire.random_flips(1, 0, [1], p="0.5")
    assert framewire.resize(photo, progressive=np.True_) == framewire.resize(photo, progressive=True)
    assert framewire.resize(photo, auto_orient=np.False_) == framewire.resize(photo, auto_orient=False)
    with pytest.raises(framewire.InvalidInput):
        framewire.resize(photo, quality=np.True_)
