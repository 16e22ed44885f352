"""The emulated CUDA runtime that the extension is linked with, for what tests do beside the package.

Its functions have C++'s names, which NVIDIA's runtime has not.
"""

import ctypes

from framewire import _framewire

_LIBRARY = ctypes.CDLL(_framewire.__file__)
IS_THERE = hasattr(_LIBRARY, "_Z13cudaSetDevicei")
_DEVICE_TO_DEVICE = 3


def _call(name, *arguments):
    assert getattr(_LIBRARY, name)(*arguments) == 0, name


def make_stream(device):
    """The address of a stream, which lives as long as the process."""
    stream = ctypes.c_void_p()
    _call("_Z13cudaSetDevicei", device)
    _call("_Z25cudaStreamCreateWithFlagsPP11CUstream_stj", ctypes.byref(stream), 1)
    _call("_Z13cudaSetDevicei", 0)
    return stream.value


def copy(to, source, size, stream):
    """Enqueues a copy between addresses of device memory."""
    _call("_Z15cudaMemcpyAsyncPvPKvm14cudaMemcpyKindP11CUstream_st", ctypes.c_void_p(to),
          ctypes.c_void_p(source), ctypes.c_size_t(size), _DEVICE_TO_DEVICE, ctypes.c_void_p(stream))


def synchronize(stream):
    _call("_Z21cudaStreamSynchronizeP11CUstream_st", ctypes.c_void_p(stream))
