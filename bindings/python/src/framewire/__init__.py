"""JPEG to JPEG at the speed of the hardware.

>>> import framewire
>>> framewire.resize(b"no picture", size="480x")
Traceback (most recent call last):
...
framewire.InvalidInput: no JPEG: it does not start with FF D8 (at byte 0)

One JPEG on the calling thread: resize(), resize_with_report(). Many, on GPUs or host threads:
Engine. Training batches: TensorDecoder, with random_resized_crops() and its kin. What headers say:
sizes(), inspect(). The words of the options: options(). Every error is an Error, of one class for
each status code.
"""

import typing as _typing

from . import _interpreter as _interpreter  # first: it may refuse
from ._crops import center_crops, center_crops_to_shape, random_flips, random_resized_crops
from ._engine import Engine
from ._errors import (
    Busy,
    Cancelled,
    DeadlineExceeded,
    Denied,
    DeviceLost,
    EngineClosed,
    Error,
    Internal,
    InvalidInput,
    IoError,
    PeerLost,
    TooLarge,
    UnknownOption,
    Unsupported,
)
from ._framewire import Resized, Tensor, __version__
from ._functions import inspect, resize, resize_with_report, sizes
from ._keywords import ResizeOptions
from ._options import Option, options
from ._report import Device, Image, KeptMemory, Note, Profiles, Report, Stage, Stats, Times
from ._tensor import Batch, TensorDecoder, TensorImage
from ._types import Answers

__all__ = [
    "Answers",
    "Batch",
    "Busy",
    "Cancelled",
    "DeadlineExceeded",
    "Denied",
    "Device",
    "DeviceLost",
    "Engine",
    "EngineClosed",
    "Error",
    "Image",
    "Internal",
    "InvalidInput",
    "IoError",
    "KeptMemory",
    "Note",
    "Option",
    "PeerLost",
    "Profiles",
    "Report",
    "ResizeOptions",
    "Resized",
    "Stage",
    "Stats",
    "Tensor",
    "TensorDecoder",
    "TensorImage",
    "Times",
    "TooLarge",
    "UnknownOption",
    "Unsupported",
    "__version__",
    "center_crops",
    "center_crops_to_shape",
    "inspect",
    "options",
    "random_flips",
    "random_resized_crops",
    "resize",
    "resize_with_report",
    "sizes",
]
_public = [_made for _made in map(globals().get, __all__) if isinstance(_made, type)]
for _class in _public:
    # Read in the module whose names they are: typing.get_type_hints(), and what builds on it, looks in
    # the one that the class says from now on. In place: __new__() of a named tuple shares them.
    _hints = _typing.get_type_hints(_class, include_extras=True)
    _own = getattr(_class, "__annotations__", {})
    _own.update({_name: _hints[_name] for _name in _own})
for _class in _public:
    _class.__module__ = "framewire"
del _class, _hints, _own, _public, _typing
