import ctypes
import gc
import os
import pickle
import subprocess
import sys
import threading

import framewire
import numpy as np
import pytest
from conftest import decode, make_jpeg
from PIL import Image, ImageOps

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
CROPS = [(0, 0, 320, 240), (7, 11, 200, 161), (100, 30, 120, 90), (0, 0, 1, 1), (31, 17, 289, 223)]


@pytest.fixture(scope="module")
def jpegs():
    return [make_jpeg(320, 240, seed=seed) for seed in range(len(CROPS))]


@pytest.fixture(scope="module")
def pixels(jpegs):
    """The batch as 8-bit RGB."""
    return make(dtype="uint8", layout="NHWC").decode(jpegs, CROPS).tensor.numpy().copy()


def make(size=(64, 48), threads=2, **options):
    return framewire.TensorDecoder(size, threads=threads, **options)


def pillow(jpeg, box, size, resample=Image.Resampling.BILINEAR, exif=False):
    picture = decode(jpeg)
    if exif:
        picture = ImageOps.exif_transpose(picture)
    left, top, width, height = box
    picture = picture.convert("RGB").crop((left, top, left + width, top + height))
    return np.asarray(picture.resize(size, resample), np.int32)


def farthest(a, b):
    return int(np.abs(np.asarray(a, np.int32) - np.asarray(b, np.int32)).max())


def test_pixels_are_pillows(jpegs, pixels):
    assert pixels.shape == (len(CROPS), 48, 64, 3)
    for made, jpeg, box in zip(pixels, jpegs, CROPS):
        assert farthest(made, pillow(jpeg, box, (64, 48))) <= 2
    whole = make(dtype="uint8", layout="NHWC").decode(jpegs).tensor.numpy()
    for made, jpeg in zip(whole, jpegs):
        assert farthest(made, pillow(jpeg, (0, 0, 320, 240), (64, 48))) <= 2


def test_kernels_and_fidelities(jpegs):
    for name, resample in (("bicubic", Image.Resampling.BICUBIC), ("lanczos3", Image.Resampling.LANCZOS)):
        made = make(dtype="uint8", layout="NHWC", interpolation=name).decode(jpegs, CROPS)
        for row, jpeg, box in zip(made.tensor.numpy(), jpegs, CROPS):
            assert farthest(row, pillow(jpeg, box, (64, 48), resample)) <= 5
    halves = make((160, 120), dtype="uint8", layout="NHWC", interpolation="area").decode(jpegs)
    for row, jpeg in zip(halves.tensor.numpy(), jpegs):
        assert farthest(row, pillow(jpeg, (0, 0, 320, 240), (160, 120), Image.Resampling.BOX)) <= 2
    sharp = make(dtype="uint8", antialias=False).decode(jpegs, CROPS).tensor.numpy()
    soft = make(dtype="uint8").decode(jpegs, CROPS).tensor.numpy()
    fast = make(dtype="uint8", fidelity="fast").decode(jpegs, CROPS).tensor.numpy()
    assert farthest(sharp, soft) > 2
    assert farthest(fast, soft) <= 8 and (fast != soft).any()


def test_layouts_and_channels(jpegs, pixels):
    planes = make(dtype="uint8").decode(jpegs, CROPS).tensor.numpy()
    assert planes.shape == (len(CROPS), 3, 48, 64)
    assert (planes == pixels.transpose(0, 3, 1, 2)).all()
    reversed_ = make(dtype="uint8", layout="NHWC", channels="BGR").decode(jpegs, CROPS)
    assert (reversed_.tensor.numpy() == pixels[..., ::-1]).all()
    gray = make(dtype="uint8", channels="gray").decode(jpegs, CROPS).tensor
    assert gray.shape == (len(CROPS), 1, 48, 64)
    luma = make(dtype="uint8", channels="YCbCr").decode(jpegs, CROPS).tensor.numpy()[:, 0]
    assert (gray.numpy()[:, 0] == luma).all()
    for row, jpeg, box in zip(luma, jpegs, CROPS):
        wanted = Image.fromarray(pillow(jpeg, box, (64, 48)).astype("uint8")).convert("L")
        assert farthest(row, wanted) <= 3


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_dtypes_and_normalisation(jpegs, pixels, dtype):
    made = make(dtype=dtype, layout="NHWC", mean=MEAN, std=STD).decode(jpegs, CROPS).tensor
    assert made.dtype == dtype and made.nbytes == pixels.size * (4 if dtype == "float32" else 2)
    wanted = (pixels / 255 - np.array(MEAN)) / np.array(STD)
    if dtype == "bfloat16":
        found = (elements_of(made).astype(np.uint32) << 16).view(np.float32).reshape(made.shape)
    else:
        found = made.numpy()
        assert found.dtype == dtype
    rounding = {"float32": 2**-22, "float16": 2**-11, "bfloat16": 2**-8}[dtype]
    assert (np.abs(found - wanted) <= rounding * np.maximum(np.abs(wanted), 1) * 2).all()
    one = make(mean=0.5, std=np.float32(0.25)).decode(jpegs[:1], CROPS[:1]).tensor.numpy()
    assert np.allclose(one[0].transpose(1, 2, 0), (pixels[0] / 255 - 0.5) / 0.25, atol=1e-5)


def test_flips(jpegs, pixels):
    decoder = make(dtype="uint8", layout="NHWC")
    flips = [True, False, True, False, True]
    for given in (flips, tuple(flips), np.array(flips), iter(flips)):
        made = decoder.decode(jpegs, CROPS, given).tensor.numpy()
        for row, plain, flip in zip(made, pixels, flips):
            assert (row == (plain[:, ::-1] if flip else plain)).all()


@pytest.mark.parametrize("orientation", range(1, 9))
def test_exif(orientation):
    exif = Image.Exif()
    exif[0x0112] = orientation
    jpeg = make_jpeg(200, 120, exif=exif)
    box = (10, 20, 90, 70)
    upright = make(dtype="uint8", layout="NHWC", exif=True)
    batch = upright.decode([jpeg], [box])
    assert farthest(batch.tensor.numpy()[0], pillow(jpeg, box, (64, 48), exif=True)) <= 2
    size = framewire.sizes([jpeg], upright=upright.exif)[0]
    assert batch.images[0][:4] == (*size, box, orientation)
    stored = make(dtype="uint8", layout="NHWC").decode([jpeg], [box])
    assert farthest(stored.tensor.numpy()[0], pillow(jpeg, box, (64, 48))) <= 2
    assert stored.images[0][:4] == (200, 120, box, orientation)


def test_crops_come_in_many_forms(jpegs, pixels):
    decoder = make(dtype="uint8", layout="NHWC")
    lists, array = [list(box) for box in CROPS], np.array(CROPS)
    for given in (tuple(CROPS), lists, array, array.astype("uint16"), iter(CROPS)):
        assert (decoder.decode(jpegs, given).tensor.numpy() == pixels).all()
    mixed = decoder.decode(iter(jpegs[:2]), [None, CROPS[1]])
    assert (mixed.tensor.numpy()[1] == pixels[1]).all()
    assert [image.crop for image in mixed.images] == [(0, 0, 320, 240), CROPS[1]]


def test_bad_images_are_zeros_and_reported(jpegs, pixels):
    bad = [jpegs[0], b"no JPEG", jpegs[2], b"", jpegs[4]]
    crops = [CROPS[0], None, (300, 200, 21, 10), None, CROPS[4]]
    decoder = make(dtype="uint8", layout="NHWC", max_input_bytes=1 << 20)
    out = np.full((5, 48, 64, 3), 7, np.uint8)
    batch = decoder.decode(bad, crops, out=out)
    assert batch.ok == [True, False, False, False, True] and len(batch) == 5
    assert (out[[0, 4]] == pixels[[0, 4]]).all() and not out[[1, 2, 3]].any()
    for index in (1, 2, 3):
        error = batch.errors[index]
        assert type(error) is framewire.InvalidInput and error.index == index
        assert str(error).startswith(f"input {index}: ") and f"image {index}" not in str(error)
        assert batch.images[index] is None and batch.warnings(index) == ()
        assert pickle.loads(pickle.dumps(error)).index == index
    assert "321" in str(batch.errors[2]) or "300" in str(batch.errors[2])
    assert batch.errors[0] is None and "3 failed" in repr(batch)
    with pytest.raises(framewire.InvalidInput, match="input 1: ") as caught:
        make(on_error="raise").decode(bad, crops)
    assert caught.value.index == 1
    small = make(max_input_pixels=1000).decode(jpegs)
    assert all(type(error) is framewire.TooLarge for error in small.errors)


def test_damaged_files_have_warnings(jpegs):
    batch = make().decode([jpegs[0][: len(jpegs[0]) // 2], jpegs[1]])
    assert batch.ok == [True, True]
    assert "truncated" in [note.kind for note in batch.warnings(0)]
    assert batch.images[0].warnings == batch.warnings(0) and batch.warnings(1) == ()


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


def test_out_takes_what_fits(jpegs, pixels):
    decoder = make(dtype="uint8", layout="NHWC")
    shape = pixels.shape
    own = decoder.decode(jpegs).tensor
    plain = np.empty(shape, np.uint8)
    memory = bytearray(pixels.size)
    rows = np.empty((9, *shape[1:]), np.uint8)[2:7]
    view = memoryview(memory).cast("B", shape)
    for out in (plain, view, rows, own, DlpackOnly(own), DlpackOnly(plain), OldExporter(own)):
        batch = decoder.decode(jpegs, CROPS, out=out)
        assert batch.tensor is out
        array = out if isinstance(out, np.ndarray) else np.asarray(getattr(out, "tensor", out))
        assert (array == pixels).all()
        array[:] = 0
    for dtype in ("float16", "float32"):
        out = np.empty(shape, dtype)
        make(dtype=dtype, layout="NHWC").decode(jpegs, CROPS, out=out)
        assert np.allclose(out * 255, pixels, atol=0.2)
    other = make(dtype="bfloat16")
    first = other.decode(jpegs, CROPS).tensor
    wanted = elements_of(first).copy()
    elements_of(first)[:] = 0
    other.decode(jpegs, CROPS, out=first)
    assert (elements_of(first) == wanted).all()


def test_wrong_outs_are_named(jpegs):
    decoder = make()
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
        (make(dtype="float16").decode(jpegs).tensor, "found float16"),
        (DlpackOnly(make(dtype="bfloat16").decode(jpegs).tensor), "found bfloat16"),
        (DlpackOnly(make(layout="NHWC").decode(jpegs).tensor), "found float32 (5, 48, 64, 3)"),
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

    with pytest.raises(framewire.InvalidInput, match="of a device"):
        decoder.decode(jpegs, out=OnDevice(read_only))
    for out in (7, "text", [0.0]):
        with pytest.raises(TypeError, match="^out: found .* accepted: "):
            decoder.decode(jpegs, out=out)
    with pytest.raises(framewire.InvalidInput, match="bfloat16"):
        make(dtype="bfloat16").decode(jpegs, out=np.zeros(shape, "u2"))
    # A read-only array that comes by DLPack says so by a flag, or refuses by itself.
    with pytest.raises((framewire.InvalidInput, BufferError)):
        decoder.decode(jpegs, out=DlpackOnly(read_only))


def test_wrong_inputs_are_named(jpegs):
    decoder = make()
    for given in (jpegs[0], "photo.jpg", bytearray(3), memoryview(b"123"), 7):
        with pytest.raises(TypeError, match="^jpegs: .*accepted: a list"):
            decoder.decode(given)
    with pytest.raises(TypeError, match="buffer protocol"):
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
    for crops in (7, "crops", [7] * 5):
        with pytest.raises(TypeError, match="^crops: "):
            decoder.decode(jpegs, crops)
    with pytest.raises(framewire.InvalidInput, match="one for each of 5"):
        decoder.decode(jpegs, flips=[True])
    with pytest.raises(TypeError, match="^flips: "):
        decoder.decode(jpegs, flips=True)
    with pytest.raises(RuntimeError, match="source"):
        decoder.decode(failing_source())
    assert decoder.decode(jpegs).ok == [True] * 5  # none of them has broken it


def failing_source():
    yield b""
    raise RuntimeError("source")


@pytest.mark.parametrize(
    "subject, options, kind",
    [
        ("size", {"size": 224}, framewire.InvalidInput),
        ("size", {"size": (224, None)}, framewire.InvalidInput),
        ("size", {"size": "224x"}, framewire.InvalidInput),
        ("size", {"size": (0, 9)}, framewire.InvalidInput),
        ("size", {"size": (1 << 40, 9)}, framewire.InvalidInput),
        ("size", {"size": (100, 9), "max_output_side": 99}, framewire.TooLarge),
        ("size", {"size": (100, 9), "max_output_pixels": 899}, framewire.TooLarge),
        ("device", {"device": "cuda"}, framewire.Unsupported),
        ("device", {"device": "cuda:1"}, framewire.Unsupported),
        ("device", {"device": 0}, framewire.Unsupported),
        ("device", {"device": "tpu"}, framewire.InvalidInput),
        ("dtype", {"dtype": "float64"}, framewire.InvalidInput),
        ("dtype", {"dtype": "uint8", "mean": 0.5}, framewire.InvalidInput),
        ("layout", {"layout": "CHWN"}, framewire.InvalidInput),
        ("channels", {"channels": 3}, framewire.InvalidInput),
        ("mean", {"mean": (1, 2)}, framewire.InvalidInput),
        ("mean", {"mean": "much"}, framewire.InvalidInput),
        ("mean", {"channels": "gray", "mean": MEAN}, framewire.InvalidInput),
        ("mean", {"mean": float("nan")}, framewire.InvalidInput),
        ("std", {"std": (1, 0, 1)}, framewire.InvalidInput),
        ("interpolation", {"interpolation": "nearest"}, framewire.InvalidInput),
        ("antialias", {"interpolation": "area", "antialias": False}, framewire.InvalidInput),
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


def test_options_have_defaults_and_other_spellings(jpegs):
    decoder = framewire.TensorDecoder()
    tensor = decoder.decode(jpegs).tensor
    assert (tensor.shape, tensor.dtype, len(tensor)) == ((5, 3, 224, 224), "float32", 5)
    assert decoder.threads >= 1 and decoder.exif is False and make(threads=3).threads == 3
    assert make("64x48", channels="ycbcr", dtype="UINT8").decode(jpegs).tensor.shape == (5, 3, 48, 64)
    with pytest.raises(TypeError):
        framewire.TensorDecoder(sise=3)
    with pytest.raises(TypeError):
        pickle.dumps(decoder)


def test_no_images():
    for dtype in ("uint8", "float16", "bfloat16", "float32"):
        batch = make(dtype=dtype).decode([], [], [])
        assert batch.tensor.shape == (0, 3, 48, 64) and batch.ok == batch.errors == batch.images == []
    batch = make().decode(iter(()), out=np.empty((0, 3, 48, 64), "f"))
    assert len(batch.tensor) == 0
    assert make().decode([]).tensor.numpy().shape == (0, 3, 48, 64)
    assert np.from_dlpack(make().decode([]).tensor).shape == (0, 3, 48, 64)


def elements_of(tensor):
    """The 16-bit elements of a tensor that NumPy has no type for, by its old capsule."""

    class Capsule(ctypes.Structure):
        _fields_ = [
            ("data", ctypes.c_void_p), ("device", ctypes.c_int32 * 2), ("ndim", ctypes.c_int32),
            ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
            ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
            ("byte_offset", ctypes.c_uint64),
        ]

    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    capsule = tensor.__dlpack__()
    held = Capsule.from_address(get(capsule, b"dltensor"))
    assert (list(held.device), held.ndim, held.code, held.bits, held.lanes) == ([1, 0], 4, 4, 16, 1)
    assert tuple(held.shape[:4]) == tensor.shape and held.byte_offset == 0
    assert held.data % 256 == 0
    count = int(np.prod(tensor.shape))
    return np.ctypeslib.as_array((ctypes.c_uint16 * count).from_address(held.data))


def test_the_tensor_outlives_batch_and_decoder(jpegs, pixels):
    def views():
        tensor = make(dtype="uint8", layout="NHWC").decode(jpegs, CROPS).tensor
        return [tensor.numpy(), np.asarray(tensor), np.asarray(memoryview(tensor)), np.from_dlpack(tensor)]

    for view in views():
        gc.collect()
        assert (view == pixels).all()
    array, *_ = views()
    tensor = make(dtype="uint8", layout="NHWC").decode(jpegs, CROPS).tensor
    tensor.numpy()[0] = 9  # one memory
    assert (np.from_dlpack(tensor)[0] == 9).all() and (np.asarray(tensor)[0] == 9).all()
    copy = np.array(tensor, copy=True)
    copy[:] = 1
    assert (tensor.numpy()[0] == 9).all()
    assert np.asarray(tensor, np.float64).dtype == np.float64


def test_capsules(jpegs):
    tensor = make().decode(jpegs).tensor
    assert tensor.__dlpack_device__() == (1, 0)
    names = [repr(tensor.__dlpack__(**given)).split('"')[1] for given in (
        {}, {"max_version": None}, {"max_version": (0, 8)}, {"max_version": (1, 0)},
        {"max_version": (1, 2), "dl_device": (1, 0), "copy": False},
    )]
    assert names == ["dltensor"] * 3 + ["dltensor_versioned"] * 2
    with pytest.raises(BufferError, match="stream"):
        tensor.__dlpack__(stream=1)
    with pytest.raises(BufferError, match="dl_device"):
        tensor.__dlpack__(dl_device=(2, 0))
    copied = np.from_dlpack(tensor, copy=True)
    copied[:] = 5
    assert not (tensor.numpy() == 5).all()
    view = memoryview(tensor)
    assert (view.format, view.shape, view.readonly, view.c_contiguous) == ("f", (5, 3, 48, 64), False, True)
    assert "float32 (5, 3, 48, 64)" in repr(tensor)
    half = make(dtype="bfloat16").decode(jpegs).tensor
    for read in (memoryview, lambda tensor: tensor.numpy(), np.asarray):
        with pytest.raises(BufferError, match="bfloat16"):
            read(half)


def test_torch_shares_the_memory(jpegs):
    torch = pytest.importorskip("torch")
    for dtype in ("uint8", "float16", "bfloat16", "float32"):
        decoder = make(dtype=dtype)
        batch = decoder.decode(jpegs, CROPS)
        shared = torch.from_dlpack(batch.tensor)
        assert shared.dtype == getattr(torch, dtype) and tuple(shared.shape) == batch.tensor.shape
        out = torch.zeros(batch.tensor.shape, dtype=shared.dtype)
        crops, flips = torch.tensor(CROPS), torch.zeros(5, dtype=bool)
        assert decoder.decode(jpegs, crops, flips, out=out).tensor is out
        assert torch.equal(out, shared)
        with pytest.raises(framewire.InvalidInput, match="C-contiguous"):
            decoder.decode(jpegs, out=out.transpose(0, 1).contiguous().transpose(0, 1))
    last = torch.zeros(5, 3, 48, 64).to(memory_format=torch.channels_last)
    make(layout="NHWC").decode(jpegs, CROPS, out=last.permute(0, 2, 3, 1))
    assert torch.equal(last, torch.from_dlpack(make().decode(jpegs, CROPS).tensor))
    # Strides of sides of 1 say nothing.
    make((1, 1)).decode(jpegs, out=torch.zeros(5, 3, 1, 1).to(memory_format=torch.channels_last))
    assert make().decode([], out=torch.zeros(0, 3, 48, 64)).ok == []


def test_crops_are_reproducible_and_in_the_picture(jpegs):
    sizes = [(320, 240), (17, 900), (1, 1), (4000, 3000)] * 25
    ids = list(range(100))
    crops = framewire.random_resized_crops(sizes, seed=3, epoch=1, sample_ids=ids)
    assert crops == framewire.random_resized_crops(sizes, 3, 1, np.arange(100))
    assert crops[40:60] == framewire.random_resized_crops(np.array(sizes)[40:60], 3, 1, ids[40:60])
    for (width, height), (left, top, wide, high) in zip(sizes, crops):
        assert left >= 0 and top >= 0 and wide >= 1 and high >= 1
        assert left + wide <= width and top + high <= height
    for other in ((4, 1), (3, 2)):
        assert framewire.random_resized_crops(sizes, *other, ids) != crops
    areas = [w * h / (320 * 240) for _, _, w, h in framewire.random_resized_crops(
        [(320, 240)] * 500, 0, 0, range(500), scale=(0.25, 0.5), ratio=(1, 1))]
    assert 0.24 < min(areas) < 0.27 and 0.48 < max(areas) < 0.51
    top = (1 << 64) - 1
    # What the C++ function draws, recorded: the same on every machine.
    assert framewire.random_resized_crops([(640, 480)], top, (1 << 32) - 1, [top]) == [RECORDED_CROP]
    assert framewire.random_flips(42, 3, range(16)) == [bool(int(bit)) for bit in RECORDED_FLIPS]


RECORDED_CROP = (25, 0, 601, 479)
RECORDED_FLIPS = "0010100100001110"


def test_crops_equal_the_programs(program, jpegs, tmp_path):
    import json

    for index, jpeg in enumerate(jpegs):
        (tmp_path / f"{index}.jpg").write_bytes(jpeg)
    files = [str(tmp_path / f"{index}.jpg") for index in range(len(jpegs))]
    done = subprocess.run(
        [program, "tensor", *files, "--size", "64x48", "--crop", "random", "--flip", "random",
         "--seed", "9", "--epoch", "4", "--out", str(tmp_path / "batch.npy")],
        capture_output=True, text=True,
    )
    if "tensor" in done.stderr and "no command" in done.stderr:
        pytest.skip("the program has no command tensor")
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in (tmp_path / "batch.jsonl").read_text().splitlines()]
    crops = framewire.random_resized_crops(framewire.sizes(jpegs), 9, 4, range(len(jpegs)))
    flips = framewire.random_flips(9, 4, range(len(jpegs)))
    made = make().decode(jpegs, crops, flips).tensor.numpy()
    assert [row["flip"] for row in rows] == flips
    assert (np.load(tmp_path / "batch.npy") == made).all()


def test_flips_and_centers():
    flips = framewire.random_flips(1, 0, range(4000))
    assert set(map(type, flips)) == {bool} and 1850 < sum(flips) < 2150
    assert framewire.random_flips(1, 0, [5, 9]) == [flips[5], flips[9]]
    assert not any(framewire.random_flips(1, 0, range(99), p=0))
    assert all(framewire.random_flips(1, 0, range(99), p=1))
    sizes = [(640, 480), (225, 500)]
    assert framewire.center_crops(sizes, "224x224") == [(208, 128, 224, 224), (0, 138, 224, 224)]
    shaped = framewire.center_crops_to_shape(sizes, (1, 1))
    assert shaped == [(80, 0, 480, 480), (0, 138, 225, 225)]
    with pytest.raises(framewire.InvalidInput) as caught:
        framewire.center_crops([(640, 480), (100, 480)], (224, 224))
    assert caught.value.index == 1


def test_images_without_a_size_have_no_crop(jpegs):
    mixed = [jpegs[0], b"no JPEG", jpegs[1]]
    sizes = framewire.sizes(mixed, upright=False, on_error="return")
    for crops in (
        framewire.random_resized_crops(sizes, 0, 0, range(3)),
        framewire.center_crops(sizes, (64, 48)),
        framewire.center_crops_to_shape([(320, 240), None, (320, 240)], (64, 48)),
    ):
        assert crops[1] is None and crops[0] and crops[2]
        assert make().decode(mixed, crops).ok == [True, False, True]


def test_wrong_draws_are_named():
    size = [(320, 240)]
    wrong = [
        ("seed", lambda: framewire.random_resized_crops(size, -1, 0, [0])),
        ("seed", lambda: framewire.random_flips(1.5, 0, [0])),
        ("epoch", lambda: framewire.random_resized_crops(size, 0, 1 << 32, [0])),
        ("sample_ids", lambda: framewire.random_resized_crops(size, 0, 0, [-1])),
        ("sample_ids", lambda: framewire.random_resized_crops(size, 0, 0, [0, 1])),
        ("sample_ids", lambda: framewire.random_flips(0, 0, [1 << 64])),
        ("scale", lambda: framewire.random_resized_crops(size, 0, 0, [0], scale=0.5)),
        ("ratio", lambda: framewire.random_resized_crops(size, 0, 0, [0], ratio=(1, 2, 3))),
        ("sizes", lambda: framewire.random_resized_crops([(320, 2.5)], 0, 0, [0])),
        ("sizes", lambda: framewire.center_crops([(320,)], (9, 9))),
        ("size", lambda: framewire.center_crops(size, 9)),
        ("p", lambda: framewire.random_flips(0, 0, [0], p="half")),
        ("", lambda: framewire.random_resized_crops([(0, 240)], 0, 0, [0])),
        ("", lambda: framewire.random_resized_crops(size, 0, 0, [0], scale=(0.5, 0.1))),
    ]
    for subject, call in wrong:
        with pytest.raises(framewire.InvalidInput) as caught:
            call()
        assert caught.value.subject == subject
    with pytest.raises(TypeError, match="^sizes: "):
        framewire.center_crops(7, (9, 9))
    with pytest.raises(TypeError, match="^sample_ids: "):
        framewire.random_flips(0, 0, 7)


def test_threads_share_a_decoder(jpegs, pixels):
    decoder = make(dtype="uint8", layout="NHWC")
    wrong = []

    def work(at):
        for _ in range(20):
            count = 1 + at % len(jpegs)
            batch = decoder.decode([*jpegs[:count], b"bad"], [*CROPS[:count], None])
            if batch.ok != [True] * count + [False] or (batch.tensor.numpy()[:count] != pixels[:count]).any():
                wrong.append(at)

    threads = [threading.Thread(target=work, args=(at,)) for at in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_the_gil_is_released():
    decoder = make((224, 224), threads=1)
    large = [make_jpeg(3000, 2000)] * 6
    done = threading.Event()
    thread = threading.Thread(target=lambda: (decoder.decode(large), done.set()))
    thread.start()
    steps = 0
    while not done.is_set():
        done.wait(0.001)
        steps += 1
    thread.join()
    assert steps > 20


def test_inputs_are_held_and_let_go(jpegs):
    held = bytearray(jpegs[0])
    decoder = make()
    decoder.decode([held])
    held.append(0)  # no buffer is left
    with pytest.raises(framewire.InvalidInput):
        decoder.decode([held], [(1, 2, 3)])
    held.append(0)
    out = bytearray(3 * 48 * 64 * 4)
    decoder.decode([held], out=memoryview(out).cast("B").cast("f", (1, 3, 48, 64)))
    with pytest.raises(framewire.InvalidInput):
        decoder.decode([held], out=memoryview(out).cast("B").cast("f", (1, 3, 64, 48)))
    gc.collect()
    out.append(0)


def run(script):
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)


PREPARE = """
import framewire, gc, io, os, sys
from PIL import Image
out = io.BytesIO(); Image.effect_noise((320, 240), 90).save(out, "JPEG"); jpegs = [out.getvalue()] * 6
decoder = framewire.TensorDecoder((64, 48), dtype="uint8", threads=3)
"""


@pytest.mark.parametrize("begun", [False, True])
def test_fork_is_detected(begun):
    done = run(PREPARE + f"""
tensor = decoder.decode(jpegs if {begun} else []).tensor
pid = os.fork()
if pid == 0:
    try: decoder.decode(jpegs)
    except framewire.EngineClosed as error: assert "fork" in str(error), error
    else: os._exit(3)
    own = framewire.TensorDecoder((64, 48), dtype="uint8", threads=3).decode(jpegs).tensor
    if {begun} and bytes(own) != bytes(tensor): os._exit(4)
    del decoder, tensor
    gc.collect()
    sys.exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
assert all(decoder.decode(jpegs).ok)
print("parent goes on")
""")
    assert (done.returncode, done.stdout) == (0, "parent goes on\n"), done.stderr


def test_a_decoder_left_over_does_not_hold_up_the_exit():
    done = run(PREPARE + """
import threading
threading.Thread(target=lambda: [decoder.decode(jpegs) for _ in range(10**6)], daemon=True).start()
decoder.decode(jpegs)
""")
    assert (done.returncode, done.stderr) == (0, "")


def test_no_memory_and_no_thread_is_left_behind():
    done = run(PREPARE + """
import numpy, resource
def some(count):
    for i in range(count):
        batch = decoder.decode([*jpegs, b"bad"], [(0, 0, 64, 64)] * 7, [True] * 7)
        view = numpy.from_dlpack(batch.tensor)
        batch.tensor.__dlpack__(); batch.tensor.__dlpack__(max_version=(1, 0))
        decoder.decode([*jpegs, b"bad"], out=view)
        framewire.random_resized_crops([(64, 64)] * 50, i, 0, range(50))
        for wrong in ({"out": view[0]}, {"crops": [1]}, {"flips": [1]}):
            try: decoder.decode([*jpegs, b"bad"], **wrong)
            except Exception: pass
def resident(): return int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()
def threads(): return len(os.listdir("/proc/self/task"))
some(100)
before = resident()
some(900)
after = resident()
alive = threads()
for _ in range(20): framewire.TensorDecoder((9, 9), threads=4).decode(jpegs)
assert threads() == alive, threads()
print((after - before) >> 10)
assert after - before < 4 << 20
""")
    assert done.returncode == 0, done.stdout + done.stderr
