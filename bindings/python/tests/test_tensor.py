import pickle

import framewire
import numpy as np
import pytest
from conftest import CROPS, MEAN, STD, elements_of, farthest, make_jpeg, pillow, tensor_decoder
from PIL import Image


def test_pixels_are_pillows(jpegs, pixels):
    assert pixels.shape == (len(CROPS), 48, 64, 3)
    for made, jpeg, box in zip(pixels, jpegs, CROPS):
        assert farthest(made, pillow(jpeg, box, (64, 48))) <= 2
    whole = tensor_decoder(dtype="uint8", layout="NHWC").decode(jpegs).tensor.numpy()
    for made, jpeg in zip(whole, jpegs):
        assert farthest(made, pillow(jpeg, (0, 0, 320, 240), (64, 48))) <= 2


def test_kernels_and_fidelities(jpegs):
    for name, resample in (("bicubic", Image.Resampling.BICUBIC), ("lanczos3", Image.Resampling.LANCZOS)):
        made = tensor_decoder(dtype="uint8", layout="NHWC", interpolation=name).decode(jpegs, CROPS)
        for row, jpeg, box in zip(made.tensor.numpy(), jpegs, CROPS):
            assert farthest(row, pillow(jpeg, box, (64, 48), resample)) <= 5
    halves = tensor_decoder((160, 120), dtype="uint8", layout="NHWC", interpolation="area").decode(jpegs)
    for row, jpeg in zip(halves.tensor.numpy(), jpegs):
        assert farthest(row, pillow(jpeg, (0, 0, 320, 240), (160, 120), Image.Resampling.BOX)) <= 2
    sharp = tensor_decoder(dtype="uint8", antialias=False).decode(jpegs, CROPS).tensor.numpy()
    soft = tensor_decoder(dtype="uint8").decode(jpegs, CROPS).tensor.numpy()
    fast = tensor_decoder(dtype="uint8", fidelity="fast").decode(jpegs, CROPS).tensor.numpy()
    assert farthest(sharp, soft) > 2
    assert farthest(fast, soft) <= 8 and (fast != soft).any()


def test_layouts_and_channels(jpegs, pixels):
    planes = tensor_decoder(dtype="uint8").decode(jpegs, CROPS).tensor.numpy()
    assert planes.shape == (len(CROPS), 3, 48, 64)
    assert (planes == pixels.transpose(0, 3, 1, 2)).all()
    reversed_ = tensor_decoder(dtype="uint8", layout="NHWC", channels="BGR").decode(jpegs, CROPS)
    assert (reversed_.tensor.numpy() == pixels[..., ::-1]).all()
    gray = tensor_decoder(dtype="uint8", channels="gray").decode(jpegs, CROPS).tensor
    assert gray.shape == (len(CROPS), 1, 48, 64)
    luma = tensor_decoder(dtype="uint8", channels="YCbCr").decode(jpegs, CROPS).tensor.numpy()[:, 0]
    assert (gray.numpy()[:, 0] == luma).all()
    for row, jpeg, box in zip(luma, jpegs, CROPS):
        wanted = Image.fromarray(pillow(jpeg, box, (64, 48)).astype("uint8")).convert("L")
        assert farthest(row, wanted) <= 3


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_dtypes_and_normalisation(jpegs, pixels, dtype):
    made = tensor_decoder(dtype=dtype, layout="NHWC", mean=MEAN, std=STD).decode(jpegs, CROPS).tensor
    assert made.dtype == dtype and made.nbytes == pixels.size * (4 if dtype == "float32" else 2)
    wanted = (pixels / 255 - np.array(MEAN)) / np.array(STD)
    if dtype == "bfloat16":
        found = (elements_of(made).astype(np.uint32) << 16).view(np.float32).reshape(made.shape)
    else:
        found = made.numpy()
        assert found.dtype == dtype
    rounding = {"float32": 2**-22, "float16": 2**-11, "bfloat16": 2**-8}[dtype]
    assert (np.abs(found - wanted) <= rounding * np.maximum(np.abs(wanted), 1) * 2).all()
    one = tensor_decoder(mean=0.5, std=np.float32(0.25)).decode(jpegs[:1], CROPS[:1]).tensor.numpy()
    assert np.allclose(one[0].transpose(1, 2, 0), (pixels[0] / 255 - 0.5) / 0.25, atol=1e-5)


def test_flips(jpegs, pixels):
    decoder = tensor_decoder(dtype="uint8", layout="NHWC")
    flips = [True, False, True, False, True]
    numbers = [int(flip) for flip in flips]
    for given in (flips, tuple(flips), np.array(flips), iter(flips), numbers, np.array(numbers, "u1"),
                  [np.array(flip) for flip in flips]):
        made = decoder.decode(jpegs, CROPS, given).tensor.numpy()
        for row, plain, flip in zip(made, pixels, flips):
            assert (row == (plain[:, ::-1] if flip else plain)).all()


@pytest.mark.parametrize("orientation", range(1, 9))
def test_exif(orientation):
    exif = Image.Exif()
    exif[0x0112] = orientation
    jpeg = make_jpeg(200, 120, exif=exif)
    box = (10, 20, 90, 70)
    upright = tensor_decoder(dtype="uint8", layout="NHWC", exif=True)
    batch = upright.decode([jpeg], [box])
    assert farthest(batch.tensor.numpy()[0], pillow(jpeg, box, (64, 48), exif=True)) <= 2
    size = framewire.sizes([jpeg], upright=upright.exif)[0]
    assert batch.images[0][:4] == (*size, box, orientation)
    stored = tensor_decoder(dtype="uint8", layout="NHWC").decode([jpeg], [box])
    assert farthest(stored.tensor.numpy()[0], pillow(jpeg, box, (64, 48))) <= 2
    assert stored.images[0][:4] == (200, 120, box, orientation)


def test_crops_come_in_many_forms(jpegs, pixels):
    decoder = tensor_decoder(dtype="uint8", layout="NHWC")
    lists, array = [list(box) for box in CROPS], np.array(CROPS)
    for given in (tuple(CROPS), lists, array, array.astype("uint16"), iter(CROPS)):
        assert (decoder.decode(jpegs, given).tensor.numpy() == pixels).all()
    mixed = decoder.decode(iter(jpegs[:2]), [None, CROPS[1]])
    assert (mixed.tensor.numpy()[1] == pixels[1]).all()
    assert [image.crop for image in mixed.images] == [(0, 0, 320, 240), CROPS[1]]


def test_bad_images_are_zeros_and_reported(jpegs, pixels):
    bad = [jpegs[0], b"no JPEG", jpegs[2], b"", jpegs[4]]
    crops = [CROPS[0], None, (300, 200, 21, 10), None, CROPS[4]]
    decoder = tensor_decoder(dtype="uint8", layout="NHWC", max_input_bytes=1 << 20)
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
        tensor_decoder(on_error="raise").decode(bad, crops)
    assert caught.value.index == 1
    small = tensor_decoder(max_input_pixels=1000).decode(jpegs)
    assert all(type(error) is framewire.TooLarge for error in small.errors)


def test_damaged_files_have_warnings(jpegs):
    batch = tensor_decoder().decode([jpegs[0][: len(jpegs[0]) // 2], jpegs[1]])
    assert batch.ok == [True, True]
    assert "truncated" in [note.kind for note in batch.warnings(0)]
    assert batch.images[0].warnings == batch.warnings(0) and batch.warnings(1) == ()
