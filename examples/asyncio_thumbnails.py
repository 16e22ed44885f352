#!/usr/bin/env python3
"""asyncio_thumbnails.py OUT_DIR FILE…: thumbnails, many at a time, without blocking the loop.

A web service does the same with a request's body: `await engine.aresize(body, size="480x")`.
"""

import asyncio
import pathlib
import sys

import framewire


async def thumbnail(engine, path, out):
    """The path of what was written, or why nothing was."""
    try:
        jpeg = await asyncio.to_thread(path.read_bytes)
        result = await engine.aresize(jpeg, size="480x", quality=80)
        await asyncio.to_thread((out / path.name).write_bytes, result.jpeg)
    except (framewire.Error, OSError) as error:
        return f"{path}: {error}"
    return f"{out / path.name}: {len(result.jpeg)} bytes"


async def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__.splitlines()[0])
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    with framewire.Engine() as engine:
        # An engine takes as many as its queue holds; further ones wait here for their turn.
        tasks = [thumbnail(engine, pathlib.Path(name), out) for name in sys.argv[2:]]
        for done in asyncio.as_completed(tasks):
            print(await done)


if __name__ == "__main__":
    asyncio.run(main())
