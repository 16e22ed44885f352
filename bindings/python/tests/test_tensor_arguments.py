import itertools
import pickle

import framewire
import numpy as np
import pytest
from conftest import CROPS, MEAN, elements_of, tensor_decoder


class OldExporter:
    """A tensor of a library from before DLPack 1.0."""

    def __init__(self, tensor):
        self.tensor = tensor

    def __dlpack__(self, stream=None):
        return self.tensor.__dlpack__()

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()


class DlpackOnly(OldExporter):
    def __dlpack__(self, **arguments):
        return self.tensor.__dlpack__(**arguments)


class InList(DlpackOnly):
    def __dlpack_device__(self):
        return list(self.tensor.__dlpack_device__())


def test_out_takes_what_fits(jpegs, pixels):
    decoder = tensor_decoder(dtype="uint8", layout="NHWC")
    shape = pixels.shape
    own = decoder.decode(jpegs).tensor
    plain = np.empty(shape, np.uint8)
    memory = bytearray(pixels.size)
    rows = np.empty((9, *shape[1:]), np.uint8)[2:7]
    view = memoryview(memory).cast("B", shape)
    for out in (plain, view, rows, own, DlpackOnly(own), DlpackOnly(plain), InList(own), OldExporter(own)):
        batch = decoder.decode(jpegs, CROPS, out=out)
        assert batch.tensor is out
        array = out if isinstance(out, np.ndarray) else np.asarray(getattr(out, "tensor", out))
        assert (array == pixels).all()
        array[:] = 0
    for dtype in ("float16", "float32"):
        out = np.empty(shape, dtype)
        tensor_decoder(dtype=dtype, layout="NHWC").decode(jpegs, CROPS, out=out)
        assert np.allclose(out * 255, pixels, atol=0.2)
    other = tensor_decoder(dtype="bfloat16")
    first = other.decode(jpegs, CROPS).tensor
    wanted = elements_of(first).copy()
    elements_of(first)[:] = 0
    other.decode(jpegs, CROPS, out=first)
    assert (elements_of(first) == wanted).all()


def test_wrong_outs_are_named(jpegs):
    decoder = tensor_decoder()
    shape = (5, 3, 48, 64)
    read_only = np.zeros(shape, "f")
    read_only.flags.writeable = False
    gaps = np.zeros((5, 3, 48, 128), "f")[..., ::2]
    wrong = [
        (np.zeros(shape), "found float64 (5, 3, 48, 64)"),
        (np.zeros(shape, "e"), "found float16"),
        (np.zeros(shape, ">f4"), "found elements of format '>f'"),
        (np.zeros(shape, "i4"), "found int32"),
        (np.zeros((4, 3, 48, 64), "f"), "found float32 (4, 3, 48, 64)"),
        (np.zeros(5 * 3 * 48 * 64, "f"), "found float32 (46080,)"),
        (np.zeros((5, 3, 64, 48), "f").transpose(0, 1, 3, 2), "not C-contiguous"),
        (gaps, "not C-contiguous"),
        (read_only, "read-only"),
        (bytes(5 * 3 * 48 * 64 * 4), "found uint8 (184320,)"),
        (tensor_decoder(dtype="float16").decode(jpegs).tensor, "found float16"),
        (DlpackOnly(tensor_decoder(dtype="bfloat16").decode(jpegs).tensor), "found bfloat16"),
        (DlpackOnly(tensor_decoder(layout="NHWC").decode(jpegs).tensor), "found float32 (5, 48, 64, 3)"),
        (DlpackOnly(gaps), "not C-contiguous"),
    ]
    for out, found in wrong:
        with pytest.raises(framewire.InvalidInput) as caught:
            decoder.decode(jpegs, out=out)
        assert found in str(caught.value) and "of float32 (5, 3, 48, 64)" in str(caught.value)
        assert caught.value.subject == "out"

    class OnDevice(DlpackOnly):
        def __dlpack_device__(self):
            return 2, 0

    with pytest.raises(framewire.InvalidInput, match="found memory of device 0; accepted: writable host"):
        decoder.decode(jpegs, out=OnDevice(read_only))
    for device in (("a", None), (1, 0.5), (1,), None, "12", (1 << 80, 0)):

        class Nowhere(DlpackOnly):
            def __dlpack_device__(self, device=device):
                return device

        with pytest.raises(framewire.InvalidInput, match="accepted: writable host memory") as caught:
            decoder.decode(jpegs, out=Nowhere(read_only))
        assert caught.value.subject == "out"
    for out in (7, "text", [0.0]):
        with pytest.raises(TypeError, match="^out: found .* accepted: "):
            decoder.decode(jpegs, out=out)
    with pytest.raises(framewire.InvalidInput, match="bfloat16"):
        tensor_decoder(dtype="bfloat16").decode(jpegs, out=np.zeros(shape, "u2"))
    # A read-only array that comes by DLPack says so by a flag, or refuses by itself.
    with pytest.raises((framewire.InvalidInput, BufferError)):
        decoder.decode(jpegs, out=DlpackOnly(read_only))


def test_wrong_inputs_are_named(jpegs):
    decoder = tensor_decoder()
    for given in (jpegs[0], "photo.jpg", bytearray(3), memoryview(b"123"), 7):
        with pytest.raises(TypeError, match="^jpegs: .*accepted: a list"):
            decoder.decode(given)
    with pytest.raises(TypeError, match="^input 1: jpeg: .*buffer protocol"):
        decoder.decode([jpegs[0], None])
    with pytest.raises(framewire.InvalidInput, match="contiguous") as caught:
        decoder.decode([jpegs[0], memoryview(jpegs[1])[::2]])
    assert caught.value.index == 1
    for crops in ([(0, 0, 9, 9)] * 4, [(0, 0, 9, 9)] * 6, []):
        with pytest.raises(framewire.InvalidInput, match="one for each of 5") as caught:
            decoder.decode(jpegs, crops)
        assert caught.value.subject == "crops"
    for box in ((0, 0, 9), (0, 0, 9, 9, 9), (0, 0, 9.5, 9), (0, 0, "9", 9), (0, 0, 1 << 31, 9)):
        with pytest.raises(framewire.InvalidInput, match="left, top, width, height") as caught:
            decoder.decode(jpegs, [None, box, None, None, None])
        assert caught.value.index == 1
    for box in ((True,) * 4, (0, 0, 9, True), np.ones(4, bool)):
        with pytest.raises(framewire.InvalidInput, match="^input 3: crops: found .*whole numbers"):
            decoder.decode(jpegs, [None, None, None, box, None])
    for crops in (7, "crops", {(0, 0, 9, 9)}, {(0, 0, 9, 9): 1}):
        with pytest.raises(TypeError, match="^crops: "):
            decoder.decode(jpegs, crops)
    for box in (7, {0, 1, 9, 8}, frozenset((0, 1, 9, 8)), {0: 1, 2: 3, 9: 1, 8: 1}):
        with pytest.raises(TypeError, match="^input 4: crops: found .*left, top"):
            decoder.decode(jpegs, [None] * 4 + [box])
    with pytest.raises(TypeError, match="^jpegs: .*set"):
        decoder.decode(set(jpegs))
    with pytest.raises(framewire.InvalidInput, match="one for each of 5"):
        decoder.decode(jpegs, flips=[True])
    with pytest.raises(TypeError, match="^flips: "):
        decoder.decode(jpegs, flips=True)
    for flip in ("False", "", None, 0.3, 1.0, float("nan"), 2, -1, np.float32(1), [True], np.array([0.5])):
        with pytest.raises(framewire.InvalidInput, match="input 2: flips: found .*; accepted: True, False") as caught:
            decoder.decode(jpegs, flips=[True, 0, flip, True, True])
        assert (caught.value.subject, caught.value.index) == ("flips", 2)
    with pytest.raises(framewire.InvalidInput, match="flips"):
        decoder.decode(jpegs, flips=np.random.default_rng(1).random(5))  # probabilities
    with pytest.raises(RuntimeError, match="source"):
        decoder.decode(failing_source())
    with pytest.raises(TypeError, match="^source$"):  # not taken for an argument's
        decoder.decode(failing_source(TypeError))
    assert decoder.decode(jpegs).ok == [True] * 5  # none of them has broken it


def failing_source(kind=RuntimeError):
    yield b""
    raise kind("source")


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_arrays_of_jax_are_not_written(jpegs, dtype):
    """They never change; their capsules are from before DLPack 1.0, which had no word for that."""
    decoder = tensor_decoder(dtype=dtype)
    memory = decoder.decode(jpegs).tensor
    assert decoder.decode(jpegs, out=OldExporter(memory)).ok
    array = type("ArrayImpl", (OldExporter,), {"__module__": "jaxlib._jax"})(memory)
    with pytest.raises(framewire.InvalidInput, match="^out: found an array of JAX, which is read-only memory; accepted: "):
        decoder.decode(jpegs, out=array)


def test_names_that_have_no_utf8(jpegs):
    decoder = tensor_decoder()
    memory = decoder.decode(jpegs).tensor
    place = {"__module__": "\udc80"}  # half of a surrogate pair
    assert decoder.decode(jpegs, out=type("Array", (OldExporter,), place)(memory)).ok == [True] * 5
    refusing = type("Array", (OldExporter,), {**place, "__dlpack__": failing_source.__get__})(memory)
    with pytest.raises(framewire.InvalidInput, match=r"^out: found <class '\\udc80.Array'>, which does not lend its memory; "):
        decoder.decode(jpegs, out=refusing)
    with pytest.raises(framewire.InvalidInput, match=r"^input 0: flips: found <class '\\udc80.Array'>; "):
        decoder.decode(jpegs, flips=[refusing] * 5)


def test_crops_and_flips_without_end_are_refused(jpegs):
    decoder = tensor_decoder()
    for refused in (
        lambda: decoder.decode(jpegs, itertools.repeat(None)),
        lambda: decoder.decode(jpegs, flips=itertools.repeat(True)),
        lambda: framewire.random_resized_crops([(9, 9)] * 5, 1, 0, itertools.count()),
    ):
        with pytest.raises(framewire.InvalidInput, match="found more than 5; accepted: one for each of 5 images"):
            refused()


@pytest.mark.parametrize(
    "subject, options, kind",
    [
        ("size", {"size": 224}, framewire.InvalidInput),
        ("size", {"size": (224, None)}, framewire.InvalidInput),
        ("size", {"size": "224x"}, framewire.InvalidInput),
        ("size", {"size": (0, 9)}, framewire.InvalidInput),
        ("size", {"size": b"88"}, framewire.InvalidInput),
        ("size", {"size": {640, 480}}, framewire.InvalidInput),
        ("size", {"size": {640: 1, 480: 2}}, framewire.InvalidInput),
        ("size", {"size": (1 << 40, 9)}, framewire.InvalidInput),
        ("size", {"size": (100, 9), "max_output_side": 99}, framewire.TooLarge),
        ("size", {"size": (100, 9), "max_output_pixels": 899}, framewire.TooLarge),
        ("device", {"device": "cuda:999"}, framewire.Unsupported),
        ("device", {"device": 999}, framewire.Unsupported),
        ("device", {"device": -1}, framewire.InvalidInput),
        ("device", {"device": True}, framewire.InvalidInput),
        ("device", {"device": "cuda:"}, framewire.InvalidInput),
        ("device", {"device": "tpu"}, framewire.InvalidInput),
        ("dtype", {"dtype": "float64"}, framewire.InvalidInput),
        ("dtype", {"dtype": "uint8", "mean": 0.5}, framewire.InvalidInput),
        ("layout", {"layout": "CHWN"}, framewire.InvalidInput),
        ("channels", {"channels": 3}, framewire.InvalidInput),
        ("mean", {"mean": (1, 2)}, framewire.InvalidInput),
        ("mean", {"mean": "much"}, framewire.InvalidInput),
        ("mean", {"channels": "gray", "mean": MEAN}, framewire.InvalidInput),
        ("mean", {"mean": float("nan")}, framewire.InvalidInput),
        ("mean", {"mean": "123"}, framewire.InvalidInput),
        ("mean", {"mean": b"123"}, framewire.InvalidInput),
        ("mean", {"mean": "0.5"}, framewire.InvalidInput),
        ("mean", {"mean": ("0.1", "0.2", "0.3")}, framewire.InvalidInput),
        ("std", {"std": {0.1, 0.2, 0.3}}, framewire.InvalidInput),
        ("std", {"std": frozenset([0.1, 0.2, 0.3])}, framewire.InvalidInput),
        ("std", {"std": {0.1: 1, 0.2: 2, 0.3: 3}}, framewire.InvalidInput),
        ("std", {"std": (1, 0, 1)}, framewire.InvalidInput),
        ("std", {"std": 1e-50}, framewire.InvalidInput),
        ("std", {"std": -1e39}, framewire.InvalidInput),
        ("interpolation", {"interpolation": "nearest"}, framewire.InvalidInput),
        ("antialias", {"interpolation": "area", "antialias": False}, framewire.InvalidInput),
        ("antialias", {"antialias": "no"}, framewire.InvalidInput),
        ("exif", {"exif": "no"}, framewire.InvalidInput),
        ("exif", {"exif": None}, framewire.InvalidInput),
        ("exif", {"exif": 2}, framewire.InvalidInput),
        ("fidelity", {"fidelity": "best"}, framewire.InvalidInput),
        ("on_error", {"on_error": "skip"}, framewire.InvalidInput),
        ("threads", {"threads": 0}, framewire.InvalidInput),
        ("threads", {"threads": 1025}, framewire.InvalidInput),
        ("threads", {"threads": True}, framewire.InvalidInput),
        ("max_scans", {"max_scans": "many"}, framewire.InvalidInput),
    ],
)
def test_wrong_options_are_named(subject, options, kind):
    with pytest.raises(framewire.Error) as caught:
        framewire.TensorDecoder(**options)
    assert type(caught.value) is kind and caught.value.subject == subject


@pytest.mark.parametrize("mean, std", [(float("nan"), None), (1e39, None), (None, 1e-50), (None, 0)])
@pytest.mark.parametrize("channels", ["RGB", "gray"])
def test_numbers_of_channels_say_their_range(mean, std, channels):
    least = "1.4e-45" if mean is None else "-3.4e38"
    accepted = f"accepted: a number from {least} to 3.4e38"
    with pytest.raises(framewire.InvalidInput, match=accepted) as caught:
        framewire.TensorDecoder(mean=mean, std=std, channels=channels)
    assert ("one a channel" in caught.value.message) == (channels == "RGB")


def test_out_that_is_not_aligned_says_what_would_be(jpegs):
    skewed = np.zeros(4 * 3 * 4 * 4 + 1, np.uint8)[1:].view(np.float32).reshape(1, 3, 4, 4)
    with pytest.raises(framewire.InvalidInput, match="^out: .*not aligned.*; accepted: an address that is a"):
        tensor_decoder((4, 4)).decode(jpegs[:1], out=skewed)


def test_options_have_defaults_and_other_spellings(jpegs):
    decoder = framewire.TensorDecoder()
    tensor = decoder.decode(jpegs).tensor
    assert (tensor.shape, tensor.dtype, len(tensor)) == ((5, 3, 224, 224), "float32", 5)
    assert decoder.threads >= 1 and decoder.exif is False and tensor_decoder(threads=3).threads == 3
    assert tensor_decoder("64x48", channels="ycbcr", dtype="UINT8").decode(jpegs).tensor.shape == (5, 3, 48, 64)
    with pytest.raises(TypeError):
        framewire.TensorDecoder(sise=3)
    with pytest.raises(TypeError):
        pickle.dumps(decoder)


@pytest.mark.parametrize("device", ["cpu", "cpu:0"])
def test_the_cpu_has_two_names(device):
    assert tensor_decoder(device=device).device == "cpu"
    with pytest.raises(framewire.InvalidInput, match="^device: "):
        tensor_decoder(device=device + "1")


def test_sides_are_no_bools():
    for size in ((True, True), (8, True), [np.bool_(True), 8]):
        with pytest.raises(framewire.InvalidInput, match="^size: found "):
            tensor_decoder(size)
        with pytest.raises(framewire.InvalidInput, match="^size: found "):
            framewire.center_crops([(9, 9)], size)
    for size in ((True, 9), {9, 8}):
        with pytest.raises((framewire.InvalidInput, TypeError), match="^input 0: sizes: found "):
            framewire.center_crops([size], (2, 2))


def test_no_images():
    for dtype in ("uint8", "float16", "bfloat16", "float32"):
        batch = tensor_decoder(dtype=dtype).decode([], [], [])
        assert batch.tensor.shape == (0, 3, 48, 64) and batch.ok == batch.errors == batch.images == []
    batch = tensor_decoder().decode(iter(()), out=np.empty((0, 3, 48, 64), "f"))
    assert len(batch.tensor) == 0
    assert tensor_decoder().decode([]).tensor.numpy().shape == (0, 3, 48, 64)
    assert np.from_dlpack(tensor_decoder().decode([]).tensor).shape == (0, 3, 48, 64)
