"""The page of a study: its diagram and its published points, on a desk and on a phone."""

from __future__ import annotations

from pathlib import Path

import pytest

from browser.made import Open, unfold


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_charts_are_drawn_and_nothing_is_wider_than_the_screen(
    opened: Open, study_page: Path, width: int, scheme: str
) -> None:
    browser = opened(study_page, width=width, scheme=scheme)
    unfold(browser)
    plots = browser.execute_script("return document.querySelectorAll('.plot').length")
    assert plots == 3
    assert browser.get_log("browser") == []
    wide = browser.execute_script("return document.documentElement.scrollWidth")
    assert wide <= width
    # Published points are diamonds; Vega draws a diamond as a path of four straight sides.
    diamonds = browser.execute_script(
        "return [...document.querySelectorAll('#figure-figure-11-mean .live .mark-symbol path')]"
        ".filter(p => (p.getAttribute('d').match(/L/g) || []).length === 3).length"
    )
    assert diamonds == 8
