import json
import subprocess

import framewire
import pytest
from conftest import make_jpeg
from PIL import Image


def turned(width, height, orientation):
    exif = Image.Exif()
    exif[0x0112] = orientation
    return make_jpeg(width, height, exif=exif)


def test_what_is_no_jpeg_says_which_input(photo):
    with pytest.raises(TypeError, match="^input 2: jpeg: found <class 'NoneType'>"):
        framewire.sizes([photo, photo, None])
    with pytest.raises(framewire.InvalidInput, match="^input 1: jpeg: found bytes that are not contiguous"):
        framewire.sizes([photo, memoryview(photo)[::2]])


def test_sizes_are_upright_unless_told_otherwise():
    jpegs = [make_jpeg(40, 30), turned(40, 30, 6), turned(40, 30, 3), make_jpeg(31, 7, mode="L")]
    assert framewire.sizes(jpegs) == [(40, 30), (30, 40), (40, 30), (31, 7)]
    assert framewire.sizes(jpegs, upright=False) == [(40, 30), (40, 30), (40, 30), (31, 7)]
    assert framewire.sizes(iter(())) == []


def test_the_head_alone_is_enough(photo):
    scan = photo.index(b"\xff\xda") + 14
    assert framewire.sizes([photo[:scan], photo[: scan + 100]]) == [(640, 360)] * 2
    progressive = make_jpeg(640, 360, progressive=True)
    assert framewire.sizes([progressive[: progressive.index(b"\xff\xda") + 14]]) == [(640, 360)]


def test_sizes_say_which_input_is_wrong(photo):
    with pytest.raises(framewire.InvalidInput, match="input 1: ") as caught:
        framewire.sizes([photo, b"GIF89a"])
    assert caught.value.index == 1
    size, error = framewire.sizes([photo, b""], on_error="return")
    assert size == (640, 360) and isinstance(error, framewire.InvalidInput) and error.index == 1
    with pytest.raises(ValueError, match="on_error"):
        framewire.sizes([photo], on_error="ignore")
    with pytest.raises(TypeError, match="buffer protocol"):
        framewire.sizes(["photo.jpg"])


def test_the_document_is_the_programs(photo, program, tmp_path):
    path = tmp_path / "photo.jpg"
    for jpeg in (photo, make_jpeg(64, 48, progressive=True), turned(40, 30, 5), photo[:900]):
        path.write_bytes(jpeg)
        command = [program, "inspect", "--json", "--size", "32x", path]
        out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        document = framewire.inspect(jpeg, name=str(path), size="32x")
        # What a GPU makes of it is another build's matter.
        expected = json.loads(out)
        for one in (document, expected):
            one["codecs"] = [codec for codec in one["codecs"] if codec["codec"] != "cuda"]
        assert document == expected


def test_inspect_raises_what_it_cannot_read(photo):
    with pytest.raises(framewire.InvalidInput) as caught:
        framewire.inspect(b"\xff\xd8\xff")
    assert caught.value.code == "invalid_input"
    assert framewire.inspect(photo)["frame"]["w"] == 640
