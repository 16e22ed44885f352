#!/usr/bin/env python3
"""Draws images/s against batch size, a line a codec, from `framewire bench jpeg2jpeg --json` runs.

usage: plot_batch_sizes.py OUT.svg RUN.json…. Each run was made with another --batch.
"""

import json
import sys

from line_plot import OTHER_COLOR, Line, draw

COLORS = {"cuda": "#2b7de9", "nvjpeg": "#d9822b", "turbo": "#5a9e4b", "reference": "#888888"}


def read(paths):
    """Lines as {codec: [(batch, images_per_second)]}, and what the runs have in common."""
    lines, title = {}, ""
    for path in paths:
        with open(path, encoding="utf-8") as file:
            run = json.load(file)
        devices = {d["name"] for row in run["rows"] for d in row["devices"]}
        title = f'{", ".join(sorted(devices))}; {run["options"]}'
        for row in run["rows"]:
            lines.setdefault(row["codec"], []).append((row["batch"], row["images_per_second"]))
    return {codec: sorted(points) for codec, points in lines.items()}, title


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    codecs, title = read(sys.argv[2:])
    lines = [Line(f"{codec} {points[-1][1]:,.0f}", points, COLORS.get(codec, OTHER_COLOR))
             for codec, points in codecs.items()]
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        file.write(draw(lines, f"Images/s against batch size: {title}",
                        "images in a batch, at most"))


if __name__ == "__main__":
    main()
