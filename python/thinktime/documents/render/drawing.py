"""A chart that was drawn beforehand, as a part of a page: its names, its size and its bytes."""

from __future__ import annotations

import html
import itertools
import math
import re

FONT_SLACK = 0.2
"""By how much letters of a reader may be wider than those with which a chart was laid out."""
LETTER_EM = {"regular": 0.66, "bold": 0.76}
"""Mean width of a letter in the widest of the usual fonts, in parts of its size: DejaVu Sans."""
BOLD = {"600", "700", "bold"}
"""Weights that a font without them shows as bold."""
DIGITS = 1
"""Decimals of a position [px]: a twentieth of a pixel cannot be seen."""
_ID, _URL = re.compile(r'\bid="([^"]+)"'), re.compile(r"url\(#([^)]+)\)")
"""Names in a drawing, and references to them."""
_ELEMENT = re.compile(r"<[^>]*>")
_IDLE = re.compile(
    r'<path class="background" d="M0,0h0v0h0Z"[^>]*/>|<path class="foreground" [^>]*display="none"/>'
)
"""What Vega draws for its own use: backgrounds without an extent, foregrounds that are not displayed."""
_UNUSED = re.compile(
    r' (?:opacity="1"|stroke-width="1"|font-family="[^"]*"|class="[^"]*"|pointer-events="[^"]*")'
)
"""Attributes that say what is so by default or by the style of the page, or are there for scripts."""
_UNSEEN = re.compile(r'<(?:path|line) [^>]*? opacity="0"[^>]*/>')
"""A mark that is there for the pointer alone."""
_DOT = re.compile(
    r'<path transform="translate\((?P<x>-?[\d.]+),(?P<y>-?[\d.]+)\)" d="M(?P<radius>[\d.]+),0A[^"]*" '
    r'fill="(?P<colour>[^"]*)"(?: stroke-width="[\d.]+")?(?: opacity="(?P<opacity>[\d.]+)")?/>'
)
"""A point: a circle without a line around it."""
_DOTS = re.compile(rf"(?:{re.sub(r'[?]P<[a-z]+>', '', _DOT.pattern)}){{3,}}")
"""Points in a row."""
_TEXT = re.compile(
    r'<text text-anchor="start" transform="translate\((?P<x>-?[\d.]+),-?[\d.]+\)"[^>]*?'
    r' font-size="(?P<size>[\d.]+)px"(?: font-weight="(?P<weight>\w+)")?[^>]*>(?P<text>[^<]*)'
)
"""A text that begins at a point, written from left to right."""
_PLACED = re.compile(r' (d|transform|x|y|x1|y1|x2|y2|width|height)="([^"]*)"')
"""Attributes that hold positions."""
_DECIMALS = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")
_STEP = re.compile(r"([ML])(-?[\d.]+),(-?[\d.]+)")
"""Part of an outline: to a point, drawing or not."""


def embedded(svg: str, name: str) -> str:
    """Drawing adapted to a page with others: unique names, the size left to the page, few bytes."""
    # Vega counts on from one drawing to the next: the same chart would not give the same bytes.
    found = enumerate(dict.fromkeys(_ID.findall(svg)), start=1)
    names = {old: f"{name}-{number}" for number, old in found}
    svg = _ID.sub(lambda match: f'id="{names[match[1]]}"', svg)
    svg = _URL.sub(lambda match: f"url(#{names.get(match[1], match[1])})", svg)
    svg = re.sub(r'^<svg ([^>]*?) width="[\d.]+" height="[\d.]+"', r"<svg \1", svg)
    # The caption and the table say it in words; a screen reader is spared the marks.
    svg = re.sub(r' (role|aria-[a-z]+)="[^"]*"', "", svg)
    svg = _short(_roomy(svg))
    return svg.replace("<svg ", '<svg aria-hidden="true" focusable="false" ', 1)


def _roomy(svg: str) -> str:
    """Drawing with room at its sides for names in wider letters than those it was laid out with."""
    box = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)
    plot = re.search(r'transform="translate\(([\d.]+),[\d.]+\)"', svg)
    if box is None or plot is None:
        return svg
    left = math.ceil(FONT_SLACK * float(plot[1]))
    # Labels of axes stand before the plot; a name at the end of a line may reach beyond it.
    ends = (float(plot[1]) + _end(text) for text in _TEXT.finditer(svg))
    width = max(float(box[1]), math.ceil(max(ends, default=0.0)))
    return svg.replace(box[0], f'viewBox="{-left} 0 {width + left:g} {box[2]}"', 1)


def _end(text: re.Match[str]) -> float:
    """Where a text ends at most [px] that begins at a point of the plot."""
    width_em = LETTER_EM["bold" if text["weight"] in BOLD else "regular"]
    return float(text["x"]) + width_em * float(text["size"]) * len(html.unescape(text["text"]))


def _short(svg: str) -> str:
    """Drawing that looks the same, in half of the bytes."""
    svg = _UNSEEN.sub("", _IDLE.sub("", svg))
    # In elements alone: a name that a chart shows may look like an attribute.
    svg = _ELEMENT.sub(lambda element: _PLACED.sub(_placed, _UNUSED.sub("", element[0])), svg)
    return _DOTS.sub(_pens, svg)


def _pens(dots: re.Match[str]) -> str:
    """Points as lines without length, drawn with a round pen: a scatter diagram in a fifth of the bytes."""
    drawn = []
    points = _DOT.finditer(dots[0])
    looks = itertools.groupby(points, key=lambda dot: (dot["radius"], dot["opacity"] or "1"))
    for (radius, opacity), same in looks:
        pen = f'stroke-width="{2 * float(radius):g}" stroke-opacity="{opacity}" stroke-linecap="round"'
        lines = "".join(f'<path stroke="{dot["colour"]}" d="M{dot["x"]},{dot["y"]}h0"/>' for dot in same)
        drawn.append(f"<g {pen}>{lines}</g>")
    return "".join(drawn)


def _placed(match: re.Match[str]) -> str:
    name, value = match.groups()
    value = _DECIMALS.sub(lambda number: _rounded(number[0]), value)
    return f' {name}="{_steps(value) if name == "d" else value}"'


def _rounded(number: str) -> str:
    short = f"{float(number):.{DIGITS}f}".rstrip("0").rstrip(".")
    return "0" if short in {"-0", ""} else short


def _steps(outline: str) -> str:
    """Outline whose horizontal and vertical lines name one coordinate each."""
    last: tuple[str, str] | None = None

    def short(match: re.Match[str]) -> str:
        nonlocal last
        kind, x, y = match.groups()
        before, last = last, (x, y)
        if kind == "L" and before is not None:
            if x == before[0]:
                return "" if y == before[1] else f"V{y}"
            if y == before[1]:
                return f"H{x}"
        return match[0]

    # Only in outlines of points: after another command the last point is not the one remembered.
    return _STEP.sub(short, outline) if not re.search("[^MLZ0-9.,-]", outline) else outline
