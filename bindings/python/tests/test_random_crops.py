import subprocess

import framewire
import numpy as np
import pytest
from conftest import tensor_decoder


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
    made = tensor_decoder().decode(jpegs, crops, flips).tensor.numpy()
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
        assert tensor_decoder().decode(mixed, crops).ok == [True, False, True]


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
        ("scale", lambda: framewire.random_resized_crops(size, 0, 0, [0], scale=(0.5, 0.1))),
    ]
    for subject, call in wrong:
        with pytest.raises(framewire.InvalidInput) as caught:
            call()
        assert caught.value.subject == subject
    with pytest.raises(TypeError, match="^sizes: "):
        framewire.center_crops(7, (9, 9))
    with pytest.raises(TypeError, match="^sample_ids: "):
        framewire.random_flips(0, 0, 7)


@pytest.mark.parametrize("pair", ["12", b"12", {0.5, 1.0}, ("0.5", "1"), {0.5: 1, 1.0: 2}])
def test_text_and_sets_are_no_pairs(pair):
    for argument in ("scale", "ratio"):
        with pytest.raises(framewire.InvalidInput) as caught:
            framewire.random_resized_crops([], 0, 0, [], **{argument: pair})
        assert caught.value.subject == argument
