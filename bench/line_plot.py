"""Draws lines as SVG, over axes that are logarithmic, linear, evenly spaced or of time."""

import math

WIDTH, HEIGHT = 720, 420
LEFT, RIGHT, TOP, BOTTOM = 80, 165, 48, 56
OTHER_COLOR = "#7a3e9d"


class Axis:
    """A logarithmic axis from whole powers of `base`, with a tick at each or at every n-th."""

    def __init__(self, values, base, start, end, every=1):
        self.base, self.every = base, every
        self.low = math.floor(math.log(min(values), base) / every) * every
        high = math.ceil(math.log(max(values), base) / every) * every
        self.high = max(self.low + every, high)
        self.start, self.end = start, end

    def at(self, value):
        part = (math.log(value, self.base) - self.low) / (self.high - self.low)
        return self.start + part * (self.end - self.start)

    def ticks(self):
        return [self.base**k for k in range(self.low, self.high + 1, self.every)]

    def name(self, value):
        return f"{value:,}"


class LinearAxis:
    """A linear axis from zero, with a tick at each whole step: 1, 2 or 5 times a power of ten, of
    which at most six reach the largest value."""

    def __init__(self, values, start, end):
        most = max(max(values), 1e-9)
        power = 10.0 ** math.floor(math.log10(most / 6))
        self.step = next(power * n for n in (1, 2, 5, 10) if power * n * 6 >= most * (1 - 1e-12))
        self.count = math.ceil(most / self.step - 1e-9)
        self.start, self.end = start, end

    def at(self, value):
        return self.start + value / (self.step * self.count) * (self.end - self.start)

    def ticks(self):
        return [self.step * k for k in range(self.count + 1)]

    def name(self, value):
        return f"{value:,.0f}" if self.step >= 1 else f"{value:g}"


class EvenAxis:
    """An axis with a tick at each value that occurs, all equally far apart; for values between
    which nothing is measured."""

    def __init__(self, values, start, end):
        self.values = sorted(set(values))
        self.start, self.end = start, end

    def at(self, value):
        part = self.values.index(value) / max(1, len(self.values) - 1)
        return self.start + part * (self.end - self.start)

    def ticks(self):
        return self.values

    def name(self, value):
        return f"{value:g}"


class Line:
    def __init__(self, label, points, color=OTHER_COLOR, dashed=False):
        """@param points  (x, y), in order"""
        self.label, self.points, self.color, self.dashed = label, points, color, dashed


def escape(text):
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def label_heights(ends):
    """Where labels go that would like to be at `ends`: so far apart that none covers another."""
    heights = dict(enumerate(ends))
    last = -math.inf
    for index in sorted(heights, key=heights.get):
        heights[index] = last = max(heights[index], last + 14)
    return heights


class TimeAxis:
    """A linear axis from zero, in seconds, with about six ticks."""

    def __init__(self, values, start, end):
        self.high, self.start, self.end = max(max(values), 1e-9), start, end

    def at(self, value):
        return self.start + value / self.high * (self.end - self.start)

    def ticks(self):
        """At the smallest of 1, 2, 5, 10, 20, … and their like in minutes that gives few."""
        steps = [unit * n for unit in (1, 60, 3600) for n in (1, 2, 5, 10, 20, 30)]
        step = next((s for s in steps if self.high / s <= 7), 3600 * 24)
        return [k * step for k in range(int(self.high / step) + 1)]

    def name(self, value):
        return f"{value:g} s" if self.high < 180 else f"{value / 60:g} min"


def picture(lines, title, x, y, x_name, x_label=None, line_width="2.5", circles=True):
    """@param x, y  axes; @param x_name  text of a tick"""
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
           'font-family="sans-serif" font-size="12">',
           f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
           f'<text x="{LEFT}" y="24" font-size="14" fill="#222222">{escape(title)}</text>']
    for tick in y.ticks():
        out.append(f'<path d="M{LEFT} {y.at(tick):.1f}H{WIDTH - RIGHT}" stroke="#dddddd"/>'
                   f'<text x="{LEFT - 8}" y="{y.at(tick) + 4:.1f}" text-anchor="end" '
                   f'fill="#444444">{y.name(tick)}</text>')
    for tick in x.ticks():
        out.append(f'<text x="{x.at(tick):.1f}" y="{HEIGHT - BOTTOM + 20}" text-anchor="middle" '
                   f'fill="#444444">{x_name(tick)}</text>')
    if x_label is not None:
        out.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 14}" text-anchor="middle" '
                   f'fill="#444444">{escape(x_label)}</text>')
    heights = label_heights([y.at(line.points[-1][1]) for line in lines])
    for index, line in enumerate(lines):
        path = "L".join(f"{x.at(a):.1f} {y.at(b):.1f}" for a, b in line.points)
        dashes = ' stroke-dasharray="6 4"' if line.dashed else ""
        out.append(f'<path d="M{path}" fill="none" stroke="{line.color}" '
                   f'stroke-width="{line_width}"{dashes}/>')
        if circles:
            out += [f'<circle cx="{x.at(a):.1f}" cy="{y.at(b):.1f}" r="3.5" fill="{line.color}"/>'
                    for a, b in line.points]
        out.append(f'<text x="{x.at(line.points[-1][0]) + 10:.1f}" y="{heights[index] + 4:.1f}" '
                   f'fill="{line.color}" font-weight="bold">{escape(line.label)}</text>')
    return "\n".join(out + ["</svg>", ""])


def draw(lines, title, x_label, x_ticks=1, x_name=lambda value: f"{value:g}", x_axis=None,
         y_axis=None):
    """@param x_ticks  a tick at every so many powers of two; @param x_name  text of one
    @param x_axis, y_axis  LinearAxis or EvenAxis instead of logarithmic ones"""
    points = [point for line in lines for point in line.points]
    x_axis = x_axis or (lambda values, start, end: Axis(values, 2, start, end, x_ticks))
    y_axis = y_axis or (lambda values, start, end: Axis(values, 10, start, end))
    return picture(lines, title, x_axis([p[0] for p in points], LEFT, WIDTH - RIGHT),
                   y_axis([p[1] for p in points], HEIGHT - BOTTOM, TOP), x_name, x_label)


def draw_over_time(lines, title):
    """Lines over seconds; a logarithmic axis upwards, for figures of different kinds.
    @param lines  at least one with a point above zero; points at zero and nan are left out"""
    for line in lines:
        line.points = [(a, b) for a, b in line.points if b > 0]
    lines = [line for line in lines if line.points]
    x = TimeAxis([p[0] for line in lines for p in line.points], LEFT, WIDTH - RIGHT)
    y = Axis([p[1] for line in lines for p in line.points], 10, HEIGHT - BOTTOM, TOP)
    return picture(lines, title, x, y, x.name, line_width="1.5", circles=False)
