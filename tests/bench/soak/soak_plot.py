"""Small multiples over one axis of time, as SVG."""

import math
from typing import NamedTuple
from xml.sax.saxutils import escape

WIDTH, PANEL, LEFT, RIGHT, TOP, GAP = 900, 96, 64, 150, 34, 30
INK, FAINT, GRID = "#1f2328", "#656d76", "#d8dee4"
COLOURS = ("#0969da", "#bc4c00", "#1a7f37", "#8250df")
MOST_POINTS = 240


class Line(NamedTuple):
    name: str
    points: list  # (seconds, value)
    area: bool = False


class Panel(NamedTuple):
    title: str
    unit: str
    lines: list
    limit: float = 0  # drawn, where it is not 0
    limit_words: str = ""
    scale: float = 1  # values are divided by it
    steps: bool = False


def subsampled(points):
    """At most MOST_POINTS; of each group its largest value, so that no peak is hidden."""
    if len(points) <= MOST_POINTS:
        return points
    size = len(points) / MOST_POINTS
    groups = [points[int(i * size):max(int(i * size) + 1, int((i + 1) * size))] for i in range(MOST_POINTS)]
    return [max(group, key=lambda point: point[1]) for group in groups]


def nice_top(value):
    """The next 1, 2, 2.5 or 5 times a power of ten."""
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 2, 2.5, 5, 10) if step * power >= value * 0.999)


def number(value):
    return f"{value:,.3f}".rstrip("0").rstrip(".") if value < 10 else f"{value:,.0f}"


def text(x, y, words, colour=FAINT, anchor="start", weight="normal"):
    return f'<text x="{x:.0f}" y="{y:.0f}" fill="{colour}" text-anchor="{anchor}" font-weight="{weight}">{escape(words)}</text>'


def draw_panel(panel, top, seconds):
    """The lines of SVG of one panel whose plot begins at `top`."""
    most = max([value / panel.scale for line in panel.lines for _, value in line.points] + [panel.limit / panel.scale])
    highest = nice_top(most)
    right, bottom = WIDTH - RIGHT, top + PANEL

    def place(second, value):
        return f"{LEFT + (right - LEFT) * second / seconds:.1f},{bottom - PANEL * value / panel.scale / highest:.1f}"

    out = [text(LEFT, top - 8, panel.title, INK, weight="600")]
    for share in (0, 0.5, 1):
        y = bottom - PANEL * share
        out.append(f'<path d="M{LEFT} {y:.1f}H{right}" stroke="{GRID}"/>')
        out.append(text(LEFT - 6, y + 4, number(highest * share) + (f" {panel.unit}" if share == 1 else ""), anchor="end"))
    if panel.limit:
        y = bottom - PANEL * panel.limit / panel.scale / highest
        out.append(f'<path d="M{LEFT} {y:.1f}H{right}" stroke="#cf222e" stroke-dasharray="5 4"/>')
        out.append(text(right + 6, y + 4, panel.limit_words, "#cf222e"))
    taken = [bottom - PANEL * panel.limit / panel.scale / highest] if panel.limit else []
    for colour, line in zip(COLOURS, panel.lines):
        points = subsampled(line.points)
        if not points:
            continue
        path = " ".join(place(*point) for point in points)
        out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.5" stroke-linejoin="round"/>')
        y = bottom - PANEL * points[-1][1] / panel.scale / highest + 4
        while any(abs(y - other) < 13 for other in taken):
            y -= 1
        taken.append(y)
        out.append(text(right + 6, y, line.name, colour))
    return out


def render(title, panels, seconds):
    seconds = max(seconds, 1)
    height = TOP + len(panels) * (PANEL + GAP) + 16
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
           'font-family="system-ui, sans-serif" font-size="12">',
           f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>', text(LEFT, 16, title, INK, weight="600")]
    for index, panel in enumerate(panels):
        out += draw_panel(panel, TOP + 12 + index * (PANEL + GAP), seconds)
    bottom = TOP + 12 + len(panels) * (PANEL + GAP) - GAP
    unit, length = ("min", 60) if seconds >= 300 else ("s", 1)
    for share in (0, 0.25, 0.5, 0.75, 1):
        x = LEFT + (WIDTH - RIGHT - LEFT) * share
        out.append(text(x, bottom + 18, number(round(seconds * share / length, 1)) + (f" {unit}" if share == 1 else ""),
                        anchor="middle"))
    return "\n".join([*out, "</svg>"]) + "\n"
