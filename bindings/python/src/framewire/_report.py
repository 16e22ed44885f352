"""What is told about images and engines, as named tuples: typed, immutable, picklable."""

from __future__ import annotations

from typing import Iterable, List, NamedTuple, Optional, Tuple


class Image(NamedTuple):
    """One end of a resize, as stored in the file, before EXIF orientation is applied."""

    width: int
    """Pixels."""
    height: int
    """Pixels."""
    bytes: int
    components: int
    """1 gray, 3 YCbCr or RGB, 4 CMYK."""
    sampling: str
    """"444", "422", "420", "440", "gray", or factors such as "2x2,1x2,1x1"."""
    process: str
    """"baseline", "extended", "progressive", "lossless"; with "arithmetic "."""


class Times(NamedTuple):
    """Wall time of each stage of one call in microseconds; 0 where a stage was fused into another."""

    parse_us: float
    decode_resample_us: float
    """On a GPU the whole batch, from copy to copy."""
    encode_us: float
    total_us: float


class Note(NamedTuple):
    """Something that was wrong with the file or given up, though an output exists."""

    kind: str
    """A stable word: "truncated", "corrupt_data", "icc_ignored", …"""
    message: str
    offset: Optional[int]
    """Byte of the input, if there is one."""


class Report(NamedTuple):
    """What was done to one image."""

    input: Image
    output: Image
    codec: str
    """The codec that ran: "turbo", "cuda", "nvjpeg" or "reference"."""
    codec_reason: str
    """Why that one."""
    decode_scale: int
    """Eighths at which the picture was decoded: 8, 6, 5, 4, 2 or 1."""
    quality: int
    """As written; lower than asked for under max_bytes, 0 where the original was kept."""
    color_converted: bool
    assumed_profile: str
    """The profile that EXIF names and the file does not carry; empty where none was assumed."""
    gain_map_kept: bool
    original_kept: bool
    """The output holds the original's own entropy-coded data, which was smaller."""
    times: Times
    warnings: Tuple[Note, ...]


def make_report(
    source: Tuple[int, int, int, int, str, str],
    output: Tuple[int, int, int, int, str, str],
    codec: str,
    codec_reason: str,
    decode_scale: int,
    quality: int,
    color_converted: bool,
    assumed_profile: str,
    gain_map_kept: bool,
    original_kept: bool,
    times: Tuple[float, float, float, float],
    warnings: Iterable[Tuple[str, str, Optional[int]]],
) -> Report:
    """Called by the extension."""
    return Report(
        Image(*source),
        Image(*output),
        codec,
        codec_reason,
        decode_scale,
        quality,
        color_converted,
        assumed_profile,
        gain_map_kept,
        original_kept,
        Times(*times),
        tuple(Note(*note) for note in warnings),
    )


class Device(NamedTuple):
    """One GPU of an engine."""

    ordinal: int
    name: str
    lost: bool
    """Failed and retired; its requests were answered with DeviceLost."""


class Stage(NamedTuple):
    """Time in one stage on the devices, summed over all images."""

    name: str
    us: float


class Profiles(NamedTuple):
    """The ICC profiles that an engine keeps ready, and how often inputs had one of them."""

    kept: int
    bytes: int
    hits: int
    misses: int
    prepared: int


class KeptMemory(NamedTuple):
    """One kind of memory that an engine keeps for requests to come."""

    name: str
    bytes: int
    bound_bytes: int
    hits: int
    misses: int


class Stats(NamedTuple):
    """What an engine has done since it was made."""

    gpu_images: int
    host_images: int
    fallbacks: int
    """Images that a GPU should have done and did not take."""
    failures: int
    """Requests answered with an error."""
    batches: int
    device_bytes: int
    """Memory held on all GPUs now."""
    pinned_bytes: int
    """Host memory held for copies now."""
    stages: Tuple[Stage, ...]
    """Empty unless the engine was made with timed=True."""
    profiles: Profiles
    kept: Tuple[KeptMemory, ...]


_RawStats = Tuple[
    int,
    int,
    int,
    int,
    int,
    int,
    int,
    List[Tuple[str, float]],
    Tuple[int, int, int, int, int],
    List[Tuple[str, int, int, int, int]],
]


def make_stats(raw: _RawStats) -> Stats:
    """From what the extension tells."""
    return Stats(
        *raw[:7],
        tuple(Stage(*stage) for stage in raw[7]),
        Profiles(*raw[8]),
        tuple(KeptMemory(*memory) for memory in raw[9]),
    )
