"""Every kind of page is read in a quarter of an hour, small, and fits a phone; the rest is a click away."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.support.ui import WebDriverWait

from browser.made import KINDS, Open
from thinktime.documents.document import Document
from thinktime.documents.render import arranged, render

QUARTER_OF_AN_HOUR = 3300
"""Words that are read in fifteen minutes."""
LARGEST_BYTES = 1_500_000
SEEN = "return (document.body.innerText.match(/\\S+/g) || []).length"
WIDTHS = """
const wide = [...document.querySelectorAll('table')].filter((one) => one.checkVisibility())
  .map((one) => one.closest('.scroll')).filter((one) => one.scrollWidth > one.clientWidth);
wide.forEach((one) => { one.scrollLeft = 60; });
return {
  page: document.documentElement.scrollWidth,
  quiet: wide.filter((one) => getComputedStyle(one.querySelector('caption'), '::after').content === 'none')
    .map((one) => one.ariaLabel),
  gone: wide.filter((one) => {
    const name = one.querySelector('tbody th').getBoundingClientRect();
    return Math.abs(name.left - one.getBoundingClientRect().left) > 1 || name.width > innerWidth / 2;
  }).map((one) => one.ariaLabel),
  count: wide.length,
};
"""


def seen(browser: webdriver.Chrome, page: Path) -> int:
    """Words of a page that are seen without a click, those in charts and contents included."""
    metrics = {"width": 1280, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    browser.get(page.as_uri())
    words: int = browser.execute_script(SEEN)
    return words


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_is_short_and_fits_a_phone(
    browser: webdriver.Chrome, page_of: Callable[[str], Path], kind: str
) -> None:
    page = page_of(kind)
    assert seen(browser, page) <= QUARTER_OF_AN_HOUR
    assert page.stat().st_size <= LARGEST_BYTES
    metrics = {"width": 390, "height": 900, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    # Other tests see to the charts, which would take most of the time of this one.
    browser.execute_script("document.querySelectorAll('.plot').forEach((one) => one.remove())")
    browser.execute_script("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    # What a page says of a table follows the size that the table is given.
    browser.execute_async_script("requestAnimationFrame(() => setTimeout(arguments[0]))")
    found = browser.execute_script(WIDTHS)
    assert found["page"] <= 390
    assert found["quiet"] == found["gone"] == []
    assert found["count"] or kind not in {"report", "recorded", "compared"}


def test_a_page_without_the_limit_is_seen_to_be_long(
    browser: webdriver.Chrome, report: Document, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The canary: the same report with room for everything."""
    monkeypatch.setattr(arranged, "WORDS_SHOWN", 1_000_000)
    page = tmp_path / "long.html"
    page.write_text(render(report, "html"), encoding="utf-8")
    assert seen(browser, page) > QUARTER_OF_AN_HOUR


def test_a_link_opens_what_it_leads_into(opened: Open, report_page: Path) -> None:
    browser = opened(report_page, charts=False)
    inside = "details.folded [id^=table-], details.folded figure"
    names: list[str] = browser.execute_script(
        "return [...document.querySelectorAll(arguments[0])].filter((one) => !one.checkVisibility())"
        ".map((one) => one.id)",
        inside,
    )
    assert names
    shown = "return document.getElementById(arguments[0]).checkVisibility()"
    for name in (names[0], names[-1]):
        browser.execute_script("location.hash = arguments[0]", name)
        WebDriverWait(browser, 10).until(lambda one, name=name: one.execute_script(shown, name))


def test_a_long_table_shows_all_its_rows_when_asked(opened: Open, page_of: Callable[[str], Path]) -> None:
    browser = opened(page_of("report"))
    rows = (
        "return [...document.querySelectorAll('table:has(tr.rest)')].filter((one) => one.checkVisibility())"
    )
    count = f"{rows}.map((one) => [...one.tBodies[0].rows].filter((row) => row.checkVisibility()).length)"
    before = browser.execute_script(count)
    assert before
    assert set(before) == {arranged.ROWS_SHOWN}
    buttons = browser.find_elements("css selector", ".scroll:has(tr.rest) + button.rows")
    button = next(one for one in buttons if one.is_displayed())
    table = browser.find_element("id", button.get_attribute("aria-controls"))
    assert button.get_attribute("aria-expanded") == "false"
    button.click()
    assert button.get_attribute("aria-expanded") == "true"
    assert all(row.is_displayed() for row in table.find_elements("css selector", "tbody tr"))


def test_without_scripts_nothing_is_missing(
    opened: Open, browser: webdriver.Chrome, report_page: Path
) -> None:
    """Tables have all their rows and figures their drawings, as on paper."""
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        browser.get(report_page.as_uri())
        hidden = browser.find_elements("css selector", "table.cut, button.rows")
        drawings = browser.find_elements("css selector", "#timeline .drawn svg")
        assert (hidden, [one.is_displayed() for one in drawings]) == ([], [True])
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
