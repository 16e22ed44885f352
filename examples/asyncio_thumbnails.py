#!/usr/bin/env python3
"""asyncio_thumbnails.py OUT_DIR FILE…: thumbnails, many at a time, without blocking the loop.

A web service does the same with a request's body: `await engine.aresize(body, size="480x")`.
"""

import asyncio
import pathlib
import sys

import framewire


def choose_targets(paths, out):
    """Where each thumbnail goes. Ends the program where one would replace another, or an original."""
    originals = {(found.st_dev, found.st_ino) for found in (path.stat() for path in paths if path.exists())}
    targets = {}
    for path in paths:
        target = out / path.name
        if target in targets:
            sys.exit(f"{targets[target]} and {path} would both become {target}; give one of them at a time")
        if target.exists() and (target.stat().st_dev, target.stat().st_ino) in originals:
            sys.exit(f"{target} is an original; give another OUT_DIR")
        targets[target] = path
    return targets


async def thumbnail(engine, path, target):
    """What was written, or why nothing was, as a line; and whether it was."""
    try:
        jpeg = await asyncio.to_thread(path.read_bytes)
        result = await engine.aresize(jpeg, size="480x", quality=80)
        await asyncio.to_thread(target.write_bytes, result.jpeg)
    except (framewire.Error, OSError) as error:
        return f"{path}: {error}", False
    return f"{target}: {len(result.jpeg)} bytes", True


async def main():
    """The exit code: 1 where a thumbnail is missing."""
    if len(sys.argv) < 3:
        sys.exit(__doc__.splitlines()[0])
    out = pathlib.Path(sys.argv[1])
    targets = choose_targets([pathlib.Path(name) for name in sys.argv[2:]], out)
    out.mkdir(parents=True, exist_ok=True)
    with framewire.Engine() as engine:
        # An engine takes as many as its queue holds; further ones wait here for their turn.
        tasks = [thumbnail(engine, path, target) for target, path in targets.items()]
        whole = True
        for done in asyncio.as_completed(tasks):
            line, made = await done
            whole = whole and made
            print(line)
    return 0 if whole else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
