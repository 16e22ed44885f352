"""Training batches: JPEGs to one normalised tensor, and the crops and flips of their images."""

from __future__ import annotations

import math
import operator
from typing import (
    TYPE_CHECKING,
    Any,
    Dict,
    Generic,
    Iterable,
    List,
    NamedTuple,
    Optional,
    Sequence,
    Tuple,
    TypeVar,
    Union,
    overload,
)

from . import _framewire
from ._errors import Error, InvalidInput
from ._framewire import Tensor
from ._options import parse
from ._report import Note

if TYPE_CHECKING:
    from typing_extensions import Buffer, Literal

    from ._keywords import Count

Box = Tuple[int, int, int, int]
_Output = TypeVar("_Output")

# In the order of the library's enumerations.
_DTYPES = ("uint8", "float16", "bfloat16", "float32")
_LAYOUTS = ("NCHW", "NHWC")
_CHANNELS = ("RGB", "BGR", "gray", "YCbCr")
_INTERPOLATIONS = ("bilinear", "bicubic", "lanczos3", "area")
_FIDELITIES = ("exact", "fast")
_ON_ERROR = ("zero", "raise")
_LEGACY_STREAM = 1  # as DLPack and CUDA number it
# Names of the library's options that are called otherwise here.
_SUBJECTS = {"kernel": "interpolation", "stddev": "std", "type": "dtype", "color": "channels"}


class TensorImage(NamedTuple):
    """What was decoded of one image of a batch."""

    width: int
    """Pixels of the picture; upright with exif=True."""
    height: int
    """Pixels."""
    crop: Box
    """(left, top, width, height) of what was taken, in pixels of that picture."""
    orientation: int
    """EXIF, 1 to 8, applied or not."""
    warnings: Tuple[Note, ...]
    """Where the file is damaged."""


class Batch(Generic[_Output]):
    """What TensorDecoder.decode() made.

    Attributes:
        tensor: the framewire.Tensor that was made, or the `out` that was given.
        ok: for each image whether it is there; where not, its elements are zeros.
        errors: for each image why it is not there, with its `index`, or None.
        images: for each image a TensorImage, or None where it is not there.
    """

    __slots__ = ("errors", "images", "ok", "tensor")

    def __init__(
        self,
        tensor: _Output,
        errors: List[Optional[Error]],
        images: List[Optional[TensorImage]],
    ) -> None:
        self.tensor = tensor
        self.errors = errors
        self.images = images
        self.ok = [error is None for error in errors]

    def warnings(self, index: int) -> Tuple[Note, ...]:
        """What was wrong with an image that is there all the same; () for one that is not."""
        image = self.images[index]
        return () if image is None else image.warnings

    def __len__(self) -> int:
        return len(self.errors)

    def __repr__(self) -> str:
        return f"<framewire.Batch of {len(self)} images, {self.ok.count(False)} failed>"


def _word(name: str, value: object, accepted: Sequence[str]) -> int:
    """The position of a word; upper and lower case are the same."""
    if isinstance(value, str):
        for index, word in enumerate(accepted):
            if value.lower() == word.lower():
                return index
    raise InvalidInput(f"found {value!r}; accepted: {', '.join(accepted)}", subject=name)


def _size(size: object) -> Tuple[int, int]:
    sides: object = size
    if isinstance(size, str):
        sides = size.split("x")
        if all(side.isascii() and side.isdecimal() for side in size.split("x")):
            sides = [int(side) for side in size.split("x")]
    try:
        width, height = (operator.index(side) for side in sides)  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        width = height = 0
    if not (0 < width < 1 << 31 and 0 < height < 1 << 31):
        raise InvalidInput(
            f"found {size!r}; accepted: (width, height) or 'WxH', sides of 1 pixel or more",
            subject="size",
        )
    return width, height


def _whole(name: str, value: object, low: int, high: int) -> int:
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = low - 1
    if isinstance(value, bool) or not low <= number <= high:
        raise InvalidInput(
            f"found {value!r}; accepted: a whole number from {low} to {high}", subject=name
        )
    return number


def _pair(name: str, value: object) -> Tuple[float, float]:
    try:
        low, high = (float(part) for part in value)  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        raise InvalidInput(
            f"found {value!r}; accepted: two numbers, (min, max)", subject=name
        ) from None
    return low, high


def _of_channels(name: str, value: object, default: float, count: int) -> List[float]:
    """Three numbers, of which the library reads as many as there are channels."""
    if value is None:
        return [default] * 3
    try:
        numbers = [float(number) for number in value]  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        try:
            numbers = [float(value)] * count  # type: ignore[arg-type]
        except (TypeError, ValueError):
            numbers = []
    if len(numbers) != count:
        numbers_text = "one number" if count == 1 else f"a number, or {count}, one a channel"
        raise InvalidInput(f"found {value!r}; accepted: {numbers_text}", subject=name)
    return (numbers + [default] * 3)[:3]


def _ordinal(device: object) -> int:
    """The CUDA ordinal of a device; -1 for the CPU."""
    text = str(device)  # a torch.device, too
    if text == "cpu":
        return -1
    kind, _, ordinal = text.partition(":") if ":" in text else (text, "", "0")
    if isinstance(device, int) and not isinstance(device, bool):
        kind, ordinal = "cuda", text
    if kind == "cuda" and ordinal.isascii() and ordinal.isdecimal() and int(ordinal) < 1 << 31:
        return int(ordinal)
    raise InvalidInput(
        f"found {device!r}; accepted: 'cpu', a GPU's number, 'cuda', 'cuda:1'", subject="device"
    )


def _stream(stream: object, device: int) -> int:
    """The address of a cudaStream_t, or the number that stands for one of CUDA's default streams.

    0, which torch and CuPy have for the default stream in their objects, is the legacy one.
    """
    if stream is None:
        return _LEGACY_STREAM if device >= 0 else 0
    if device < 0:
        raise InvalidInput(
            f"found {stream!r}; accepted for batches on the CPU: None", subject="stream"
        )
    if hasattr(stream, "__cuda_stream__"):
        address = stream.__cuda_stream__()[1]
    elif hasattr(stream, "cuda_stream"):  # torch's
        address = stream.cuda_stream
    elif hasattr(stream, "ptr"):  # CuPy's
        address = stream.ptr
    else:
        return _whole("stream", stream, 1, (1 << 64) - 1)
    return operator.index(address) or _LEGACY_STREAM


class TensorDecoder:
    """Decodes batches of JPEGs into tensors: each image decoded, cropped, resized and flipped.

    >>> import framewire
    >>> decoder = framewire.TensorDecoder(size=(224, 160), dtype="float16", mean=0.5, std=0.25)
    >>> decoder.decode([]).tensor.shape
    (0, 3, 160, 224)

    On the CPU a batch is spread over the decoder's threads. With a GPU as `device` it is decoded
    there, in its memory, and host threads read headers and gather bytes for it. Thread-safe:
    batches of several threads come one after the other; several decoders overlap. A decoder belongs
    to the process that made it: in a child after fork() decode() raises EngineClosed. close(), or
    the end of `with`, frees its threads and memory; batches stay.

    Args:
        size: (width, height) in pixels of every image, in this order as for resize(), or "WxH".
            torchvision's transforms take (height, width), and so do the tensor's dimensions.
        device: "cpu", or the number of a GPU as CUDA counts them; "cuda", "cuda:1" and a
            torch.device say the same.
        dtype: of an element: "float32", "float16", "bfloat16", "uint8".
        layout: "NCHW" or "NHWC".
        channels: "RGB", "BGR", "gray" (one channel) or "YCbCr".
        mean, std: out = (sample / 255 − mean) / std; a number, or one a channel, in their order.
            None: 0 and 1. uint8 takes neither: its samples stay from 0 to 255.
        interpolation: "bilinear", "bicubic", "lanczos3" or "area".
        antialias: stretch the kernel where a crop shrinks, as Pillow does; False, for "bilinear"
            and "bicubic" alone: as torch.nn.functional.interpolate(align_corners=False).
        fidelity: "exact": torchvision's pixels within 1 level of 255, Pillow's bilinear within 2.
            "fast": each plane of the file is filtered at its own sampling, and decoded smaller
            where that is enough; docs/tensors.md says how far that is from exact.
        exif: show pictures as their EXIF orientation says, and count crops in the upright picture.
        on_error: "zero": images that fail become zeros, and Batch.errors says why. "raise":
            decode() raises the first of these errors instead of returning.
        threads: that work on a batch, the caller's among them, 1 to 1024; None: one a core. A GPU
            is served by 16 at most.
        max_input_bytes, max_input_pixels, max_scans, max_scan_pixels, deadline: bounds on each
            image, as the options of resize(); max_output_side, max_output_pixels: bounds on `size`.
            None: the defaults that framewire.options() tells.

    Raises:
        InvalidInput: for a wrong value or combination; its `subject` names the argument.
        TooLarge: for a `size` beyond max_output_side or max_output_pixels.
        Unsupported: for a GPU that is not there, and for every GPU where the package was built
            without CUDA.
        Busy: where memory ran out.
        DeviceLost: where a GPU failed.
    """

    def __init__(
        self,
        size: Union[str, Tuple[int, int], Sequence[int]] = (224, 224),
        device: object = "cpu",
        dtype: Literal["float32", "float16", "bfloat16", "uint8"] = "float32",
        layout: Literal["NCHW", "NHWC"] = "NCHW",
        channels: Literal["RGB", "BGR", "gray", "YCbCr", "rgb", "bgr", "ycbcr"] = "RGB",
        mean: Union[float, Iterable[float], None] = None,
        std: Union[float, Iterable[float], None] = None,
        interpolation: Literal["bilinear", "bicubic", "lanczos3", "area"] = "bilinear",
        antialias: bool = True,
        fidelity: Literal["exact", "fast"] = "exact",
        exif: bool = False,
        on_error: Literal["zero", "raise"] = "zero",
        threads: Optional[int] = None,
        *,
        max_input_bytes: Optional[Count] = None,
        max_input_pixels: Optional[Count] = None,
        max_scans: Optional[int] = None,
        max_scan_pixels: Optional[Count] = None,
        max_output_side: Optional[int] = None,
        max_output_pixels: Optional[Count] = None,
        deadline: Optional[int] = None,
    ) -> None:
        self._device = _ordinal(device)
        width, height = _size(size)
        color = _word("channels", channels, _CHANNELS)
        count = 1 if _CHANNELS[color] == "gray" else 3
        limits: Dict[str, Any] = {
            "max_input_bytes": max_input_bytes,
            "max_input_pixels": max_input_pixels,
            "max_scans": max_scans,
            "max_scan_pixels": max_scan_pixels,
            "max_output_side": max_output_side,
            "max_output_pixels": max_output_pixels,
            "deadline": deadline,
        }
        self._raises = _word("on_error", on_error, _ON_ERROR) == 1
        self._exif = bool(exif)
        try:
            self._native = _framewire.TensorDecoder(
                device=self._device,
                width=width,
                height=height,
                type=_word("dtype", dtype, _DTYPES),
                layout=_word("layout", layout, _LAYOUTS),
                color=color,
                kernel=_INTERPOLATIONS[_word("interpolation", interpolation, _INTERPOLATIONS)],
                mean=_of_channels("mean", mean, 0.0, count),
                std=_of_channels("std", std, 1.0, count),
                antialias=bool(antialias),
                fast=_word("fidelity", fidelity, _FIDELITIES) == 1,
                exif=self._exif,
                threads=0 if threads is None else _whole("threads", threads, 1, 1024),
                limits=parse(limits),
            )
        except Error as error:
            error.subject = _SUBJECTS.get(error.subject, error.subject)
            raise

    @property
    def threads(self) -> int:
        """Threads that work on a batch, the caller's among them."""
        return self._native.threads()

    @property
    def device(self) -> str:
        """Where batches are made: "cpu", or "cuda:0" for the GPU of number 0."""
        return "cpu" if self._device < 0 else f"cuda:{self._device}"

    def close(self) -> None:
        """Waits for a batch under way, then ends the threads and frees what the decoder holds.

        Batches stay as they are. decode() raises EngineClosed from now on; closing again does
        nothing.
        """
        self._native.close()

    def __enter__(self) -> TensorDecoder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def exif(self) -> bool:
        """Whether crops count in the upright picture: sizes(jpegs, upright=decoder.exif)."""
        return self._exif

    @overload
    def decode(
        self,
        jpegs: Iterable[Buffer],
        crops: Optional[Iterable[Optional[Sequence[int]]]] = ...,
        flips: Optional[Iterable[bool]] = ...,
        out: None = ...,
        stream: object = ...,
    ) -> Batch[Tensor]: ...
    @overload
    def decode(
        self,
        jpegs: Iterable[Buffer],
        crops: Optional[Iterable[Optional[Sequence[int]]]] = ...,
        flips: Optional[Iterable[bool]] = ...,
        *,
        out: _Output,
        stream: object = ...,
    ) -> Batch[_Output]: ...
    def decode(
        self,
        jpegs: Iterable[Buffer],
        crops: Optional[Iterable[Optional[Sequence[int]]]] = None,
        flips: Optional[Iterable[bool]] = None,
        out: Any = None,
        stream: object = None,
    ) -> Batch[Any]:
        """Decodes a batch. Releases the GIL meanwhile; returns when all of it is done.

        On a GPU, too: the batch is then there for every stream.

        Args:
            jpegs: N JPEG streams, each as for resize(); any number, also none. Bytes that change
                meanwhile make other pixels, nothing worse.
            crops: for each image (left, top, width, height) in pixels of the picture as stored, or
                of the upright picture with exif=True, or None: all of it. An (N, 4) array does.
                None: all of each picture.
            flips: for each image whether to exchange left and right of what is made; None: none.
            out: memory to write to instead of new memory, which becomes Batch.tensor: writable,
                C-contiguous, of the decoder's dtype and shape: (N, channels, height, width), or
                (N, height, width, channels) with layout="NHWC". On the CPU a torch.Tensor, a NumPy
                array, a framewire.Tensor, or anything else with DLPack or the buffer protocol; used
                again and again it saves the kernel the work of new pages. On a GPU a torch.Tensor,
                a CuPy array, a framewire.Tensor, or anything else in memory of that GPU with DLPack
                or __cuda_array_interface__. Must not be read or written by others before the call
                returns, except for what `stream` holds.
            stream: for a decoder on a GPU: a CUDA stream of that GPU, as a torch.cuda.Stream, a
                cupy.cuda.Stream, an object with __cuda_stream__(), or a number: a cudaStream_t, 1
                for the legacy default stream, 2 for the per-thread one. `out` is written when what
                the stream holds now is over. Without `out`: a stream in which earlier batches of
                this decoder are used, so that their memory can be used again. None: the legacy
                default stream, which is torch's and CuPy's unless another one is made current.

        Returns:
            The Batch. An image that fails - no JPEG, a crop that is not inside of the picture, a
            limit - concerns no other one; of damaged files what can be decoded is, with warnings.

        Raises:
            InvalidInput: for crops, flips, `out` or `stream` that do not fit, saying what would;
                for bytes that are not contiguous. Nothing was written then. With on_error="raise"
                the first image's error, whatever it is; the other images were written then.
            Busy: where threads or memory ran out.
            DeviceLost: where a GPU failed; `out` holds anything then.
            EngineClosed: behind close(), and in a child of the process that made the decoder.
            TypeError: for objects of other kinds.
        """
        tensor, errors, images = self._native.decode(
            jpegs, crops, flips, out, _stream(stream, self._device)
        )
        if self._raises:
            for error in errors:
                if error is not None:
                    raise error
        return Batch(
            tensor, errors, [None if image is None else _make_image(*image) for image in images]
        )


def _make_image(
    width: int,
    height: int,
    crop: Box,
    orientation: int,
    warnings: Iterable[Tuple[str, str, Optional[int]]],
) -> TensorImage:
    return TensorImage(width, height, crop, orientation, tuple(Note(*note) for note in warnings))


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
    return _framewire.random_resized_crops(
        sizes,
        _whole("seed", seed, 0, _MAX_UINT64),
        _whole("epoch", epoch, 0, _MAX_UINT32),
        sample_ids,
        *_pair("scale", scale),
        *_pair("ratio", ratio),
    )


def random_flips(seed: int, epoch: int, sample_ids: Iterable[int], p: float = 0.5) -> List[bool]:
    """Draws for each sample, with probability p, whether to flip it; independent of its crop.

    Seed, epoch and sample_ids are those of random_resized_crops().
    """
    if not isinstance(p, (int, float)) or math.isnan(p):
        raise InvalidInput(f"found {p!r}; accepted: a number from 0 to 1", subject="p")
    return _framewire.random_flips(
        _whole("seed", seed, 0, _MAX_UINT64),
        _whole("epoch", epoch, 0, _MAX_UINT32),
        sample_ids,
        p,
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
    return _framewire.center_crops(sizes, *_size(size))


def center_crops_to_shape(
    sizes: Sizes, size: Union[str, Tuple[int, int], Sequence[int]]
) -> List[Optional[Box]]:
    """The largest box in the middle of each picture that has the shape of `size`.

    With it torchvision's Resize(224) and CenterCrop(224) become one step.

    >>> import framewire
    >>> framewire.center_crops_to_shape([(640, 480)], (224, 224))
    [(80, 0, 480, 480)]
    """
    return _framewire.center_crops_to_shape(sizes, *_size(size))
