"""The keyword arguments of a resize, for type checkers."""

from __future__ import annotations

from typing import Literal, Optional, Tuple, TypedDict, Union

Side = Optional[int]
Size = Union[str, int, Tuple[Side, Side]]
CropSize = Union[str, float, Tuple[Optional[float], Optional[float]]]
Anchor = Union[str, Tuple[Union[str, float], ...]]
Count = Union[str, int]


class ResizeOptions(TypedDict, total=False):
    """The options that framewire.options() lists, as keyword arguments; None is the default."""

    size: Optional[Size]
    resize: Optional[Literal["fit", "fill", "fill-down", "force", "auto"]]
    enlarge: Optional[bool]
    min_size: Optional[Size]
    max_result_side: Optional[int]
    crop: Optional[CropSize]
    crop_gravity: Optional[Anchor]
    gravity: Optional[Anchor]
    zoom: Optional[Union[str, float, Tuple[float, float]]]
    dpr: Optional[float]
    rotate: Optional[Literal["0", "90", "180", "270", 0, 90, 180, 270]]
    flip: Optional[Literal["none", "h", "v", "hv"]]
    extend: Optional[Anchor]
    extend_aspect_ratio: Optional[Anchor]
    padding: Optional[Union[str, int, Tuple[int, ...]]]
    background: Optional[Union[str, Tuple[int, int, int]]]
    kernel: Optional[Literal["lanczos3", "bicubic", "bilinear", "area", "nearest"]]
    sharpen: Optional[float]
    color: Optional[Literal["srgb", "keep"]]
    no_auto_orient: Optional[bool]
    auto_orient: Optional[bool]
    quality: Optional[int]
    sampling: Optional[Literal["keep", "444", "422", "420", "440", "gray", 444, 422, 420, 440]]
    progressive: Optional[bool]
    optimize_huffman: Optional[bool]
    restart_interval: Optional[int]
    max_bytes: Optional[Count]
    always_encode: Optional[bool]
    metadata: Optional[Literal["strip", "copyright", "keep"]]
    gain_map: Optional[Literal["keep", "drop"]]
    codec: Optional[Literal["auto", "reference", "turbo", "cuda", "nvjpeg"]]
    strict: Optional[bool]
    max_input_bytes: Optional[Count]
    max_input_pixels: Optional[Count]
    max_scans: Optional[int]
    max_scan_pixels: Optional[Count]
    max_output_side: Optional[int]
    max_output_pixels: Optional[Count]
    deadline: Optional[int]
