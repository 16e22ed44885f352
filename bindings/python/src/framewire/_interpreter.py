"""Refuses to be imported by another interpreter than a process' first one.

The extension's types, and what they call, live once a process. Another interpreter would share them, and
take them along when it ends, so that the first one could not go on.
"""

from __future__ import annotations

import importlib


def _check() -> None:
    for name in ("_interpreters", "_xxsubinterpreters"):  # from Python 3.13 on, and before
        try:
            interpreters = importlib.import_module(name)
        except ImportError:
            continue
        if interpreters.get_current() != interpreters.get_main():
            raise ImportError(
                "framewire: found a subinterpreter; accepted: the main interpreter. Use threads, "
                "which work side by side without the GIL, or processes"
            )
        return


_check()
