"""Crops and flips of training batches: drawn for each sample, or in the middle of each picture."""

from __future__ import annotations

import math
from typing import Iterable, List, Optional, Sequence, Tuple, Union

from . import _framewire
from ._arguments import min_and_max, number, shown, whole_number, width_and_height
from ._errors import Error, InvalidInput

Box = Tuple[int, int, int, int]
Sizes = Iterable[Union[Sequence[int], Error, None]]
"""(width, height) of each image, or what stands for an image without a size."""

_MAX_UINT64 = (1 << 64) - 1
_MAX_UINT32 = (1 << 32) - 1


def random_resized_crops(
    sizes: Sizes,
    seed: int,
    epoch: int,
    sample_ids: Iterable[int],
    scale: Tuple[float, float] = (0.08, 1.0),
    ratio: Tuple[float, float] = (3 / 4, 4 / 3),
) -> List[Optional[Box]]:
    """Draws a crop for each image with the distribution of torchvision's RandomResizedCrop.

    A crop depends on its size, the seed, the epoch and the sample's number, and on nothing else:
    not on the batch, the worker, the rank or the order in which samples come. It is not the box
    that torch's generator would have drawn.

    >>> import framewire
    >>> framewire.random_resized_crops([(640, 480), None], seed=7, epoch=0, sample_ids=[1, 2])[1]
    >>> crops = framewire.random_resized_crops([(640, 480)] * 9, 7, 0, range(9))
    >>> crops[4:] == framewire.random_resized_crops([(640, 480)] * 5, 7, 0, range(4, 9))
    True

    Args:
        sizes: (width, height) in pixels of each picture, as framewire.sizes(jpegs,
            upright=decoder.exif, on_error="return") gives them; an Error or None gives None.
        seed: of the whole training, 0 to 2⁶⁴ − 1.
        epoch: 0 to 2³² − 1; count it up, so that a sample gets another crop each time.
        sample_ids: the number of each sample in the data set, 0 to 2⁶⁴ − 1.
        scale: (min, max) of the crop's area, as a part of the picture's.
        ratio: (min, max) of width : height.

    Returns:
        (left, top, width, height) in pixels for each size.

    Raises:
        InvalidInput: for sides outside of 1 to 2²⁴, and for wrong numbers; `index` says which.
    """
    areas, shapes = min_and_max("scale", scale), min_and_max("ratio", ratio)
    if not 0 < areas[0] <= areas[1] <= 1:
        raise InvalidInput(f"found {shown(scale)}; accepted: 0 < min ≤ max ≤ 1", subject="scale")
    if not 0 < shapes[0] <= shapes[1] < math.inf:
        raise InvalidInput(f"found {shown(ratio)}; accepted: 0 < min ≤ max, finite", subject="ratio")
    return _framewire.random_resized_crops(
        sizes,
        whole_number("seed", seed, 0, _MAX_UINT64),
        whole_number("epoch", epoch, 0, _MAX_UINT32),
        sample_ids,
        *areas,
        *shapes,
    )


def random_flips(seed: int, epoch: int, sample_ids: Iterable[int], p: float = 0.5) -> List[bool]:
    """Draws for each sample, with probability p, whether to flip it; independent of its crop.

    Seed, epoch and sample_ids are those of random_resized_crops().
    """
    try:
        probability = number(p)
    except ValueError:
        probability = math.nan
    if not 0 <= probability <= 1:
        raise InvalidInput(f"found {shown(p)}; accepted: a number from 0 to 1", subject="p")
    return _framewire.random_flips(
        whole_number("seed", seed, 0, _MAX_UINT64),
        whole_number("epoch", epoch, 0, _MAX_UINT32),
        sample_ids,
        probability,
    )


def center_crops(
    sizes: Sizes, size: Union[str, Tuple[int, int], Sequence[int]]
) -> List[Optional[Box]]:
    """The box of `size`, (width, height) in pixels or "WxH", in the middle of each picture.

    Placed as torchvision's CenterCrop does, halves to the even number.

    >>> import framewire
    >>> framewire.center_crops([(640, 480)], (224, 224))
    [(208, 128, 224, 224)]

    Raises:
        InvalidInput: for a picture that is smaller, which torchvision pads; `index` says which.
    """
    return _framewire.center_crops(sizes, *width_and_height(size))


def center_crops_to_shape(
    sizes: Sizes, size: Union[str, Tuple[int, int], Sequence[int]]
) -> List[Optional[Box]]:
    """The largest box in the middle of each picture that has the shape of `size`.

    With it torchvision's Resize(224) and CenterCrop(224) become one step.

    >>> import framewire
    >>> framewire.center_crops_to_shape([(640, 480)], (224, 224))
    [(80, 0, 480, 480)]
    """
    return _framewire.center_crops_to_shape(sizes, *width_and_height(size))
