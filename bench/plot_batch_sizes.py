#!/usr/bin/env python3
"""Draws images/s against batch size, a line a codec, from `framewire bench jpeg2jpeg --json` runs.

usage: plot_batch_sizes.py OUT.svg RUN.json…. Each run was made with another --batch.
"""

import json
import math
import sys

WIDTH, HEIGHT = 720, 420
LEFT, RIGHT, TOP, BOTTOM = 80, 150, 48, 56
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


class Axis:
    """A logarithmic axis from whole powers of `base`."""

    def __init__(self, values, base, start, end):
        self.base = base
        self.low = math.floor(math.log(min(values), base))
        self.high = max(self.low + 1, math.ceil(math.log(max(values), base)))
        self.start, self.end = start, end

    def at(self, value):
        part = (math.log(value, self.base) - self.low) / (self.high - self.low)
        return self.start + part * (self.end - self.start)

    def ticks(self):
        return [self.base**k for k in range(self.low, self.high + 1)]


def draw(lines, title):
    points = [point for line in lines.values() for point in line]
    x = Axis([p[0] for p in points], 2, LEFT, WIDTH - RIGHT)
    y = Axis([p[1] for p in points], 10, HEIGHT - BOTTOM, TOP)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
           'font-family="sans-serif" font-size="12">',
           f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
           f'<text x="{LEFT}" y="24" font-size="14" fill="#222222">Images/s against batch size: '
           f'{title}</text>']
    for tick in y.ticks():
        out.append(f'<path d="M{LEFT} {y.at(tick):.1f}H{WIDTH - RIGHT}" stroke="#dddddd"/>'
                   f'<text x="{LEFT - 8}" y="{y.at(tick) + 4:.1f}" text-anchor="end" '
                   f'fill="#444444">{tick:,}</text>')
    for tick in x.ticks():
        out.append(f'<text x="{x.at(tick):.1f}" y="{HEIGHT - BOTTOM + 20}" text-anchor="middle" '
                   f'fill="#444444">{tick:g}</text>')
    out.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 14}" text-anchor="middle" '
               'fill="#444444">images in a batch, at most</text>')
    for codec, line in lines.items():
        color = COLORS.get(codec, "#7a3e9d")
        path = "L".join(f"{x.at(b):.1f} {y.at(r):.1f}" for b, r in line)
        out.append(f'<path d="M{path}" fill="none" stroke="{color}" stroke-width="2.5"/>')
        out += [f'<circle cx="{x.at(b):.1f}" cy="{y.at(r):.1f}" r="3.5" fill="{color}"/>'
                for b, r in line]
        last = line[-1]
        out.append(f'<text x="{x.at(last[0]) + 10:.1f}" y="{y.at(last[1]) + 4:.1f}" fill="{color}" '
                   f'font-weight="bold">{codec} {last[1]:,.0f}</text>')
    return "\n".join(out + ["</svg>", ""])


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    lines, title = read(sys.argv[2:])
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        file.write(draw(lines, title))


if __name__ == "__main__":
    main()
