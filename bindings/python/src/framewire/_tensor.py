"""Training batches: JPEGs to one normalised tensor."""

from __future__ import annotations

import collections
import functools
from typing import (
    Any,
    Callable,
    Deque,
    Dict,
    Generator,
    Generic,
    Iterable,
    List,
    Literal,
    NamedTuple,
    NoReturn,
    Optional,
    Sequence,
    Tuple,
    TypeVar,
    Union,
    overload,
)

from . import _framewire
from ._arguments import (
    device_ordinal,
    flag,
    index_of_word,
    not_copied,
    several,
    stream_address,
    values_of_channels,
    whole_number,
    width_and_height,
)
from ._crops import Box
from ._errors import EngineClosed, Error
from ._framewire import Tensor
from ._keywords import Count
from ._options import parse
from ._report import Note
from ._types import Buffer, Self

_Output = TypeVar("_Output")

# In the order of the library's enumerations.
_DTYPES = ("uint8", "float16", "bfloat16", "float32")
_LAYOUTS = ("NCHW", "NHWC")
_CHANNELS = ("RGB", "BGR", "gray", "YCbCr")
_INTERPOLATIONS = ("bilinear", "bicubic", "lanczos3", "area")
_FIDELITIES = ("exact", "fast")
_ON_ERROR = ("zero", "raise")
# Names of the library's options that are called otherwise here.
_SAID = {"-1, the CPU": "'cpu'", "max_output_side_px": "max_output_side", "stddev": "std"}
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
    """What TensorDecoder.decode() or map() made.

    Attributes:
        tensor: the framewire.Tensor that was made, or the `out` that was given.
        errors: for each image why it is not there, with its `index`, or None.
    """

    # The tensor first: it says what pickle and deepcopy() are to take instead.
    __slots__ = ("tensor", "errors", "_made", "_ok", "_images")  # noqa: RUF023
    tensor: _Output
    errors: List[Optional[Error]]

    def __init__(
        self,
        tensor: _Output,
        errors: List[Optional[Error]],
        made: _framewire.DecodedImages,
    ) -> None:
        self.tensor = tensor
        self.errors = errors
        self._made = made
        self._ok: Optional[List[bool]] = None
        self._images: Optional[List[Optional[TensorImage]]] = None

    @property
    def ok(self) -> List[bool]:
        """For each image whether it is there; where not, its elements are zeros."""
        if self._ok is None:
            self._ok = [error is None for error in self.errors]
        return self._ok

    @property
    def images(self) -> List[Optional[TensorImage]]:
        """For each image a TensorImage, or None where it is not there."""
        if self._images is None:
            self._images = [
                None if fields is None else _make_image(*fields) for fields in self._made.fields()
            ]
        return self._images

    def warnings(self, index: int) -> Tuple[Note, ...]:
        """What was wrong with an image that is there all the same; () for one that is not."""
        image = self.images[index]
        return () if image is None else image.warnings

    def __len__(self) -> int:
        return len(self.errors)

    def __repr__(self) -> str:
        return f"<framewire.Batch of {len(self)} images, {self.ok.count(False)} failed>"


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
        self._closed = False
        self._device = device_ordinal(device)
        width, height = width_and_height(size)
        color = index_of_word("channels", channels, _CHANNELS)
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
        self._raises = index_of_word("on_error", on_error, _ON_ERROR) == 1
        self._exif = flag("exif", exif)
        try:
            self._native = _framewire.TensorDecoder(
                device=self._device,
                width=width,
                height=height,
                type=index_of_word("dtype", dtype, _DTYPES),
                layout=index_of_word("layout", layout, _LAYOUTS),
                color=color,
                kernel=_INTERPOLATIONS[index_of_word("interpolation", interpolation, _INTERPOLATIONS)],
                mean=values_of_channels("mean", mean, 0.0, count),
                std=values_of_channels("std", std, 1.0, count),
                antialias=flag("antialias", antialias),
                fast=index_of_word("fidelity", fidelity, _FIDELITIES) == 1,
                exif=self._exif,
                threads=0 if threads is None else whole_number("threads", threads, 1, 1024),
                limits=parse(limits),
            )
        except Error as error:
            error.subject = _SUBJECTS.get(error.subject, error.subject)
            for theirs, ours in _SAID.items():
                error.message = error.message.replace(theirs, ours)
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
        """Waits for batches under way, then ends the threads and frees what the decoder holds.

        Batches stay as they are; those that map() has under way are lost. decode() raises
        EngineClosed from now on; closing again does nothing.
        """
        self._closed = True
        self._native.close()

    def __reduce__(self) -> NoReturn:
        not_copied("a TensorDecoder")

    def __enter__(self) -> Self:
        if self._closed:
            raise EngineClosed("the decoder was closed; make another one")
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
    @overload
    def decode(
        self,
        jpegs: Iterable[Buffer],
        crops: Optional[Iterable[Optional[Sequence[int]]]],
        flips: Optional[Iterable[bool]],
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
                meanwhile make other pixels, nothing worse; a mapped file that becomes shorter
                ends the process, as it does any reader.
            crops: for each image (left, top, width, height) in pixels of the picture as stored, or
                of the upright picture with exif=True, or None: all of it. An (N, 4) array does.
                None: all of each picture.
            flips: for each image whether to exchange left and right of what is made: a bool, also
                NumPy's, or 0 or 1; None: none.
            out: memory to write to instead of new memory, which becomes Batch.tensor: writable,
                C-contiguous, of the decoder's dtype and shape: (N, channels, height, width), or
                (N, height, width, channels) with layout="NHWC". On the CPU a torch.Tensor, a NumPy
                array, of ml_dtypes.bfloat16 too, a framewire.Tensor, or anything else with DLPack or
                the buffer protocol; used again and again it saves the kernel the work of new pages.
                On a GPU a torch.Tensor, a CuPy array, a framewire.Tensor, or anything else in memory
                of that GPU with DLPack or __cuda_array_interface__. Must not be read or written by
                others before the call returns, except for what `stream` holds.
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
        made = self._native.decode(
            several(jpegs), crops, flips, out, stream_address(stream, self._device)
        )
        try:
            return self._make_batch(*made)
        finally:
            # A traceback holds this frame: the batch shall not live on with it.
            del made, jpegs, crops, flips, out

    def map(
        self,
        batches: Iterable[Any],
        *,
        under_way: int = 3,
        stream: object = None,
    ) -> Generator[Batch[Any], None, None]:
        """Decodes one batch after the other, and yields them in order.

        On a GPU batches overlap: files of the next are copied while the GPU makes those before,
        which from C++ is 1.3 to 1.7 times as fast as one call after the other. On the CPU, whose
        threads a single batch keeps at work, it is decode() in a loop.

        >>> import framewire
        >>> decoder = framewire.TensorDecoder(size=(32, 32))
        >>> [len(batch) for batch in decoder.map([[], []])]
        [0, 0]

        Args:
            batches: any iterable, also an endless one. Each item is what decode() takes: a list of
                JPEGs, a tuple (jpegs, crops), (jpegs, crops, flips) or (jpegs, crops, flips, out),
                or a dict of decode()'s arguments. A tuple is never a batch of JPEGs itself.
            under_way: batches that are begun before the first of them is waited for, 1 to 16. So
                many are read ahead, and while the iteration is suspended the GPU goes on writing
                theirs: items that bring an `out` need `under_way` of them by turns.
            stream: as of decode(), for items that bring none.

        Yields:
            A Batch for each item. Ending early, by close() or by letting go of the generator, waits
            for what is under way, and drops it.

        Raises:
            As decode(), of the item that it concerns, and what `batches` raises: behind the batches
            of the items before. Also InvalidInput for `out` that a batch under way has, and
            EngineClosed for what is under way when the decoder is closed.
        """
        most = whole_number("under_way", under_way, 1, 16)
        stream_address(stream, self._device)
        return self._map(batches, most if self._device >= 0 else 1, stream)

    def _map(
        self, batches: Iterable[Any], most: int, stream: object
    ) -> Generator[Batch[Any], None, None]:
        pending: Deque[Callable[[], Batch[Any]]] = collections.deque()
        failure: Optional[Exception] = None
        item: Any = None
        try:
            source = iter(batches)
            while failure is None:
                try:
                    item = next(source)
                except StopIteration:
                    break
                except Exception as error:
                    failure = error
                    break
                try:
                    pending.append(self._begin(_arguments_of(item, stream)))
                except Exception as error:
                    failure = error
                item = None
                while failure is None and len(pending) >= most:
                    yield pending.popleft()()
            while pending:
                yield pending.popleft()()
            if failure is not None:
                raise failure
        finally:
            # A traceback, or the cycle by it, holds this frame: no batch shall live on with it.
            failure = item = None
            pending.clear()

    def _begin(self, arguments: Dict[str, Any]) -> Callable[[], Batch[Any]]:
        try:
            if self._device < 0:
                return functools.partial(self.decode, **arguments)
            begun = self._native.begin(
                several(arguments["jpegs"]),
                arguments.get("crops"),
                arguments.get("flips"),
                arguments.get("out"),
                stream_address(arguments.get("stream"), self._device),
            )
            return lambda: self._make_batch(*begun.wait())
        finally:
            del arguments

    def _make_batch(self, tensor: Any, made: _framewire.DecodedImages) -> Batch[Any]:
        errors = made.errors()
        if self._raises:
            for error in errors:
                if error is None:
                    continue
                try:
                    raise error
                finally:
                    # The traceback holds this frame: neither a cycle nor the batch shall live on.
                    del error, errors, tensor, made
        return Batch(tensor, errors, made)


_ARGUMENTS = ("jpegs", "crops", "flips", "out", "stream")


def _arguments_of(item: Any, stream: object) -> Dict[str, Any]:
    """decode()'s arguments of an item of map()."""
    if isinstance(item, dict):
        arguments = dict(item)
    elif isinstance(item, tuple):
        if not 1 <= len(item) <= 4:
            raise TypeError(
                f"batches: found a tuple of {len(item)}; accepted: (jpegs, crops, flips, out), of "
                "which all but the first may be left out"
            )
        arguments = dict(zip(_ARGUMENTS, item))
    else:
        arguments = {"jpegs": item}
    for name in arguments:
        if name not in _ARGUMENTS:
            raise TypeError(f"batches: found {name!r}; accepted: {', '.join(_ARGUMENTS)}")
    if "jpegs" not in arguments:
        raise TypeError("batches: found a dict without 'jpegs'; accepted: decode()'s arguments")
    arguments.setdefault("stream", stream)
    return arguments


def _make_image(
    width: int,
    height: int,
    crop: Box,
    orientation: int,
    warnings: Iterable[Tuple[str, str, Optional[int]]],
) -> TensorImage:
    return TensorImage(width, height, crop, orientation, tuple(Note(*note) for note in warnings))
