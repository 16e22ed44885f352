"""Pictures and decoders that the tests make, and the program that the package must equal."""

import ctypes
import io
import os
import pathlib
import random
import subprocess
import sys

import framewire
import numpy as np
import pytest
from PIL import Image, ImageOps


def make_jpeg(width, height, seed=0, quality=90, **save):
    """Blobs and noise: more than a flat colour for entropy coder and filters."""
    noise = random.Random(seed)
    small = Image.frombytes("RGB", (16, 12), bytes(noise.randrange(256) for _ in range(16 * 12 * 3)))
    picture = small.resize((width, height), Image.Resampling.BICUBIC)
    mode = save.pop("mode", "RGB")
    out = io.BytesIO()
    picture.convert(mode).save(out, "JPEG", quality=quality, **save)
    return out.getvalue()


def decode(jpeg):
    """Decodes with Pillow, which raises for what is no whole JPEG."""
    picture = Image.open(io.BytesIO(bytes(jpeg)))
    picture.load()
    return picture


def skip_under(sanitizers, why):
    """Of what these sanitizers, asan or tsan, cannot do themselves: ./dev python asan|tsan."""
    loaded = os.environ.get("LD_PRELOAD", "")
    return pytest.mark.skipif(any(f"lib{name}." in loaded for name in sanitizers), reason=why)


@pytest.fixture(scope="session")
def photo():
    return make_jpeg(640, 360)


@pytest.fixture(scope="session")
def photos():
    return [make_jpeg(160 + 16 * i, 120, seed=i) for i in range(24)]


@pytest.fixture(scope="session")
def slow_photo():
    """Takes some hundred milliseconds at 4000 pixels wide: long enough to find others queued behind it."""
    return make_jpeg(6000, 4000, progressive=True)


@pytest.fixture(scope="session")
def program():
    path = os.environ.get("FRAMEWIRE_PROGRAM", "")
    if not pathlib.Path(path).is_file():
        pytest.skip("FRAMEWIRE_PROGRAM names no program")
    return path


MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
CROPS = [(0, 0, 320, 240), (7, 11, 200, 161), (100, 30, 120, 90), (0, 0, 1, 1), (31, 17, 289, 223)]


def tensor_decoder(size=(64, 48), threads=2, **options):
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


@pytest.fixture(scope="session")
def jpegs():
    """One for each of CROPS."""
    return [make_jpeg(320, 240, seed=seed) for seed in range(len(CROPS))]


@pytest.fixture(scope="session")
def pixels(jpegs):
    """The batch of `jpegs` and CROPS as 8-bit RGB."""
    return tensor_decoder(dtype="uint8", layout="NHWC").decode(jpegs, CROPS).tensor.numpy().copy()


def run(script):
    """Runs a script in a process of its own."""
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)


def _has_device(ordinal):
    try:
        framewire.TensorDecoder(device=ordinal).close()
    except framewire.Unsupported as error:
        return str(error)
    return ""


@pytest.fixture(scope="session")
def gpu():
    """Skips, and says why, where the package cannot use a GPU."""
    if why := _has_device(0):
        pytest.skip(why)


@pytest.fixture(scope="session")
def two_gpus():
    return not _has_device(1)
