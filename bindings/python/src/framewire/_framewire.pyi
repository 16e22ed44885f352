from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

from ._errors import Error
from ._report import Report, _RawStats
from ._types import Buffer

__version__: str

class Options: ...

class Resized:
    """A finished JPEG and the report of how it was made.

    Has the buffer protocol, read only: file.write(result), memoryview(result)
    and numpy.frombuffer(memoryview(result), "uint8") read the stream without a copy.
    """

    def __init__(self, jpeg: bytes, report: Report, index: Optional[int] = None) -> None: ...
    @property
    def jpeg(self) -> bytes:
        """bytes: the stream; copied at the first use."""
    @property
    def report(self) -> Report:
        """Report: what was done to make the stream."""
    @property
    def index(self) -> Optional[int]:
        """int: the position of the input in the iterable of Engine.map(); otherwise None."""
    def __bytes__(self) -> bytes: ...
    def __len__(self) -> int: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...

class Engine:
    def __init__(
        self,
        *,
        codec: str,
        devices: List[int],
        gpu_memory: int,
        warm: int,
        streams: int,
        max_batch: int,
        batch_wait_us: int,
        threads: int,
        queue: int,
        few_images: bool,
        timed: bool,
        profile_memory: int,
    ) -> None: ...
    def check(self) -> None: ...
    def forked(self) -> bool: ...
    def resize(self, jpeg: Buffer, options: Options) -> Resized: ...
    def stats(self) -> _RawStats: ...
    def devices(self) -> List[Tuple[int, str, bool]]: ...
    def no_device_reason(self) -> str: ...
    def close(self) -> None: ...

class RequestQueue:
    def __init__(self, engine: Engine) -> None: ...
    def submit(
        self,
        tags: List[int],
        jpegs: Sequence[Buffer],
        options: Union[Options, List[Options]],
        room: Optional[RequestQueue] = None,
    ) -> int: ...
    def take(
        self, max: int, timeout_s: Optional[float] = None, interruptible: bool = True
    ) -> List[Tuple[int, Union[Resized, Error]]]: ...
    def wake(self) -> None: ...
    def cancel(self, tag: int) -> None: ...
    def cancel_all(self) -> None: ...
    def close(self) -> None: ...

def check_input(jpeg: Buffer) -> None: ...
def usable_cores() -> int: ...
def report_ignored(error: BaseException, where: object) -> None: ...

class MapIterator:
    """The iterator over the answers of Engine.map()."""

    def __init__(
        self,
        *,
        engine: Engine,
        owner: object,
        source: Iterator[Any],
        options: Options,
        parse: Callable[[Mapping[str, Any], Options], Options],
        window: int,
        input_bytes: int,
        ordered: bool,
        raises: bool,
    ) -> None: ...
    def close(self) -> None:
        """Cancels what is queued and waits for what is being worked on; there are no more answers
        then."""
    def __iter__(self) -> MapIterator: ...
    def __next__(self) -> Union[Resized, Error]: ...

class Tensor:
    """A batch in host memory or in a GPU's: C-contiguous, writable, its shape (N, channels, height,
    width) or (N, height, width, channels).

    In host memory: torch.from_dlpack(tensor), numpy.asarray(tensor) and memoryview(tensor) share
    its memory, and keep it alive: it outlives the Batch and the TensorDecoder. bfloat16, which
    NumPy and the buffer protocol lack, goes by DLPack alone.

    In a GPU's: torch.from_dlpack(tensor), cupy.from_dlpack(tensor) and whatever else takes DLPack
    or __cuda_array_interface__ (version 3) share it and keep it alive. The batch is there for
    every stream. Memory that is let go of is written again by a later batch of the decoder, after
    work in the stream that took it over; work in further streams must be over by then.
    numpy.from_dlpack(tensor, device="cpu") copies it to host memory.
    """

    @property
    def shape(self) -> Tuple[int, int, int, int]:
        """(N, channels, height, width), or the layout's order."""
    @property
    def dtype(self) -> str:
        """str: "uint8", "float16", "bfloat16" or "float32"."""
    @property
    def device(self) -> str:
        """str: "cpu", or "cuda:0" for the GPU of ordinal 0."""
    @property
    def nbytes(self) -> int:
        """int: bytes of all elements."""
    def numpy(self) -> Any:
        """A NumPy array of the same memory. Raises BufferError for bfloat16 and a GPU's memory."""
    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> Any: ...
    def __dlpack__(
        self,
        *,
        stream: Optional[int] = None,
        max_version: Optional[Tuple[int, int]] = None,
        dl_device: Optional[Tuple[int, int]] = None,
        copy: Optional[bool] = None,
    ) -> Any: ...
    def __dlpack_device__(self) -> Tuple[int, int]: ...
    @property
    def __cuda_array_interface__(self) -> Dict[str, Any]: ...
    def __len__(self) -> int: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...

_Box = Tuple[int, int, int, int]
_RawImage = Tuple[int, int, _Box, int, List[Tuple[str, str, Optional[int]]]]

class DecodedImages:
    def errors(self) -> List[Optional[Error]]: ...
    def fields(self) -> List[Optional[_RawImage]]: ...

class BatchUnderWay:
    def wait(self) -> Tuple[Any, DecodedImages]: ...

class TensorDecoder:
    def __init__(
        self,
        *,
        device: int,
        width: int,
        height: int,
        type: int,
        layout: int,
        color: int,
        kernel: str,
        mean: List[float],
        std: List[float],
        antialias: bool,
        fast: bool,
        exif: bool,
        threads: int,
        limits: Options,
    ) -> None: ...
    def decode(
        self, jpegs: Iterable[Buffer], crops: Any, flips: Any, out: Any, stream: int
    ) -> Tuple[Any, DecodedImages]: ...
    def begin(
        self, jpegs: Iterable[Buffer], crops: Any, flips: Any, out: Any, stream: int
    ) -> BatchUnderWay: ...
    def threads(self) -> int: ...
    def close(self) -> None: ...

def parse_options(settings: List[Tuple[str, str]], base: Optional[Options] = None) -> Options: ...
def option_specs() -> List[Tuple[str, str, str, str, str, str]]: ...
def resize(jpeg: Buffer, options: Options) -> bytes: ...
def resize_with_report(jpeg: Buffer, options: Options) -> Resized: ...
def size_of(jpeg: Buffer, upright: bool, index: int) -> Tuple[int, int]: ...
def inspect(jpeg: Buffer, options: Options, name: str) -> Dict[str, Any]: ...
def random_resized_crops(
    sizes: Iterable[object],
    seed: int,
    epoch: int,
    sample_ids: Iterable[int],
    min_area: float,
    max_area: float,
    min_ratio: float,
    max_ratio: float,
) -> List[Optional[_Box]]: ...
def random_flips(seed: int, epoch: int, sample_ids: Iterable[int], p: float) -> List[bool]: ...
def center_crops(sizes: Iterable[object], width: int, height: int) -> List[Optional[_Box]]: ...
def center_crops_to_shape(
    sizes: Iterable[object], width: int, height: int
) -> List[Optional[_Box]]: ...
