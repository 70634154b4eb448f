"""Every kind of page by the rules of axe-core, light and dark, on a desk and on a phone; what axe cannot see.

Before the check everything that is folded is opened. Marks of charts, which are hidden from assistive
technology, and all but the first row of each table are taken out: they repeat the same elements thousands of
times.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import selenium_axe_python.axe
from selenium import webdriver

from browser import made
from browser.made import KINDS, Open

AXE = Path(selenium_axe_python.axe._DEFAULT_SCRIPT).read_text(encoding="utf-8")
REPEATED = (
    "document.querySelectorAll('.plot svg > *, tbody tr:nth-child(n+2)').forEach((one) => one.remove())"
)


def violations(browser: webdriver.Chrome) -> dict[str, list[str]]:
    """Rules that a page breaks which is unfolded, with the elements that break them."""
    browser.execute_script(REPEATED)
    browser.execute_script(AXE)
    # Of rules that hold, axe would describe every element, which takes as long as the check of them.
    found: dict[str, Any] = browser.execute_async_script(
        "const done = arguments[0]; axe.run(document, { resultTypes: ['violations'] }).then(done)"
    )
    return {rule["id"]: [node["html"][:160] for node in rule["nodes"]] for rule in found["violations"]}


# One template and one style make all pages: those with most in them stand for the others in every look, and
# of pages with the same parts one for another: `recorded` for `imported`, `report` for `answer` and
# `compared`, `predicted` for `paging`, `study` for `machine` and `swapping`.
STOOD_FOR = {"imported", "answer", "compared", "paging", "machine", "swapping"}
LOOKS: list[Any] = [("report", 1280, "light"), ("report", 390, "dark")]
LOOKS += [(kind, 390, "light") for kind in KINDS[1:] if kind not in STOOD_FOR]
LOOKS += [
    pytest.param(kind, width, scheme, marks=pytest.mark.thorough)
    for kind in KINDS
    for width, scheme in ((1280, "light"), (1280, "dark"), (390, "light"), (390, "dark"))
    if (kind, width, scheme) not in LOOKS
]


LETTERS = """
return [...document.querySelectorAll('.live svg text')].filter(one => one.textContent.trim()).map(text => {
  const svg = text.ownerSVGElement;
  const scale = svg.getBoundingClientRect().width / (svg.viewBox.baseVal.width || svg.width.baseVal.value);
  return [text.closest('.plot').dataset.figure, parseFloat(getComputedStyle(text).fontSize) * scale];
})
"""

CUT = """
const seen = (one) => one.checkVisibility();
const cut = () => [...document.querySelectorAll('.plot svg text')].filter(seen).map(text => {
  const drawing = text.ownerSVGElement.getBoundingClientRect();
  const box = text.getBoundingClientRect();
  const beyond = Math.max(box.right - drawing.right, drawing.left - box.left);
  return [text.closest('.plot').dataset.figure, text.textContent, beyond];
}).filter(([figure, words, beyond]) => beyond > 1);
const plots = [...document.querySelectorAll('.plot[data-live]')];
const live = cut();
plots.forEach(plot => plot.removeAttribute('data-live'));
const drawn = cut();
plots.forEach(plot => { plot.dataset.live = 'yes' });
return [...live, ...drawn];
"""
"""Names cut off at a side [px], in charts as scripts draw them and as they were drawn beforehand."""


@pytest.mark.parametrize(("kind", "width", "scheme"), LOOKS)
def test_axe_finds_nothing_and_letters_in_charts_can_be_read_on_a_phone(
    opened: Open, page_of: Callable[[str], Path], kind: str, width: int, scheme: str
) -> None:
    browser = opened(page_of(kind), width=width, scheme=scheme)
    made.unfold(browser)
    letters = browser.execute_script(LETTERS)
    assert letters
    assert width > 390 or [(figure, size) for figure, size in letters if size < 10.99] == []
    assert browser.execute_script(CUT) == []
    assert violations(browser) == {}


def test_no_name_is_cut_off_where_lines_end_in_long_ones(
    opened: Open, page_of: Callable[[str], Path]
) -> None:
    browser = opened(page_of("machine"), width=1280)
    made.unfold(browser)
    assert browser.execute_script("return document.querySelectorAll('.drawn svg text').length")
    assert browser.execute_script(CUT) == []


FAULTS = {
    "link-in-text-block": (r"1px solid var\(--quiet\); border-radius: 99px; font-size: .85em", "0"),
    "color-contrast": (r"--quiet: light-dark\(#5c6470", "--quiet: light-dark(#b0b4b8"),
    "landmark-unique": (r'role="group" aria-label="[^"]*"', 'role="region" aria-label="Table"'),
    "heading-order": (r"<(/?)h3", r"<\1h6"),
    "region": (r"</main>", "</main><p>A paragraph outside of all landmarks.</p>"),
    "scrollable-region-focusable": (r' tabindex="0"|target.tabIndex = 0', ""),
    "svg-img-alt": (r"</main>", '<svg role="img" width="9" height="9"><path d="M0 0h9v9z"/></svg></main>'),
    "landmark-complementary-is-top-level": (r'role="note"', 'role="complementary"'),
    "html-has-lang": (r'<html lang="en">', "<html>"),
}
"""For each rule a fault that breaks it: a pattern in the page, and what is put in its place."""


def test_axe_sees_the_faults(opened: Open, report_page: Path, tmp_path: Path) -> None:
    """The canary: the page with every fault of `FAULTS` put back breaks each of their rules, and no other."""
    # The policy knows the style and the script of the sound page alone.
    text = re.sub(
        '<meta http-equiv="Content-Security-Policy"[^>]*>', "", report_page.read_text(encoding="utf-8")
    )
    for rule, (pattern, instead) in FAULTS.items():
        text, times = re.subn(pattern, instead, text)
        assert times, f"{rule}: the page has nothing to put the fault into"
    faulty = tmp_path / "faulty.html"
    faulty.write_text(text, encoding="utf-8")
    browser = opened(faulty, width=390)
    made.unfold(browser)
    assert set(violations(browser)) == set(FAULTS)


PRINTED = """
const width = document.documentElement.clientWidth;
const seen = (one) => one.checkVisibility({ contentVisibilityAuto: true });
const words = (one) => one.id || one.textContent.trim().slice(0, 60);
const paper = [...document.querySelectorAll('details:not(.data), details.more')];
const wide = [...document.querySelectorAll('table, figure, .scroll')].filter(seen);
return {
  shut: paper.filter((one) => ![...one.querySelectorAll(':scope > :not(summary, .rows)')].every(seen))
    .map(words),
  cut: [...document.querySelectorAll('tr.rest')].filter((one) => !seen(one)).map(words),
  open: paper.length,
  clipped: wide.filter((one) => one.getBoundingClientRect().right > width + 1).map(words),
  scrolled: wide.filter((one) => one.scrollWidth > one.clientWidth + 1).map(words),
  legends: [...document.querySelectorAll('.keys li')].filter(seen)
    .map((one) => getComputedStyle(one, '::before').printColorAdjust),
};
"""


@pytest.mark.parametrize("kind", ["report", "compared", "study"])
def test_paper_shows_everything(opened: Open, page_of: Callable[[str], Path], kind: str) -> None:
    """A4 with its margins is 180 mm wide: 680 px."""
    browser = opened(page_of(kind), width=680)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print", "features": []})
    found = browser.execute_script(PRINTED)
    assert found["open"] > 0
    assert found["shut"] == found["cut"] == found["clipped"] == found["scrolled"] == []
    assert set(found["legends"]) <= {"exact"}
    assert found["legends"] or kind != "report"


def test_instants_are_in_the_zone_of_the_reader(opened: Open, report_page: Path) -> None:
    browser = opened(report_page, charts=False)
    browser.execute_cdp_cmd("Emulation.setTimezoneOverride", {"timezoneId": "Asia/Kolkata"})
    try:
        driver = opened(report_page, charts=False)
        shown = driver.find_element("css selector", ".subtitle time")
        assert shown.text == "2023-11-15 03:43:20 GMT+5:30"
        assert shown.get_attribute("title") == "2023-11-14 22:13:20 UTC"
    finally:
        browser.execute_cdp_cmd("Emulation.setTimezoneOverride", {"timezoneId": ""})


def test_only_tables_that_scroll_are_stations_of_the_keyboard(opened: Open, report_page: Path) -> None:
    stations = (
        "return [...document.querySelectorAll('.scroll[tabindex]')].filter(one => one.checkVisibility())"
        ".map(one => one.scrollWidth > one.clientWidth)"
    )
    wide = opened(report_page, width=1920).execute_script(stations)
    narrow = opened(report_page, width=390).execute_script(stations)
    assert all(wide)
    assert all(narrow)
    assert len(wide) < len(narrow)


def test_a_link_opens_what_is_folded(opened: Open, report_page: Path) -> None:
    closed = "return document.querySelector(arguments[0]).open"
    folded = "#service details.folded"
    assert not opened(report_page, charts=False).execute_script(closed, folded)
    assert opened(report_page, "#service", charts=False).execute_script(closed, folded)
    # A section that has no answer is in the list of those.
    assert opened(report_page, "#waits", charts=False).execute_script(closed, ".absent-sections")
