"""Pictures that the tests make, and the program that the package must equal."""

import io
import os
import pathlib
import random

import pytest
from PIL import Image


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
