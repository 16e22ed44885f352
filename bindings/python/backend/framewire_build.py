"""The build backend: scikit-build-core's, with the library's sources in the sdist.

An sdist holds what lies below pyproject.toml, and the library lies above it. So its sources are
copied to `library` while an sdist is made; CMakeLists.txt takes them from there where it is.
"""

import pathlib
import shutil

from scikit_build_core.build import *  # noqa: F403
from scikit_build_core.build import build_sdist as _build_sdist

_HERE = pathlib.Path(__file__).resolve().parent.parent
_ROOT = _HERE.parent.parent
_COPY = _HERE / "library"
# The service is part of the program, not of the library.
_SOURCES = ("CMakeLists.txt", "LICENSE", "cmake", "include", "src")
_LEFT_OUT = shutil.ignore_patterns("service", "__pycache__", "debian")


def build_sdist(sdist_directory, config_settings=None):
    if (_COPY / "CMakeLists.txt").exists() and not (_ROOT / "src" / "jpeg").is_dir():
        return _build_sdist(sdist_directory, config_settings)  # from an unpacked sdist
    shutil.rmtree(_COPY, ignore_errors=True)
    _COPY.mkdir()
    try:
        for name in _SOURCES:
            if (_ROOT / name).is_dir():
                shutil.copytree(_ROOT / name, _COPY / name, ignore=_LEFT_OUT)
            else:
                shutil.copy2(_ROOT / name, _COPY / name)
        return _build_sdist(sdist_directory, config_settings)
    finally:
        shutil.rmtree(_COPY, ignore_errors=True)
