"""The report as a reader meets it: on a desk, on a phone, in the dark, on paper, without a network."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver

from browser import made
from browser.made import Open
from reports import handmade_document
from thinktime.documents.document import Document

DRAWN = """
return [...document.querySelectorAll('.plot')].map((plot) =>
  plot.querySelectorAll('.live svg path, .live svg line').length)
"""


def requests(driver: webdriver.Chrome) -> list[str]:
    entries = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    return [
        entry["params"]["request"]["url"]
        for entry in entries
        if entry["method"] == "Network.requestWillBeSent"
    ]


def test_every_chart_is_drawn_and_nothing_is_complained_of(
    opened: Open, report: Document, report_page: Path
) -> None:
    driver = opened(report_page)
    made.unfold(driver)
    marks = driver.execute_script(DRAWN)
    assert len(marks) == sum(len(section.figures) for section in report.sections)
    assert all(count > 5 for count in marks)
    assert driver.get_log("browser") == []


def test_no_request_leaves_the_file(opened: Open, report_page: Path) -> None:
    driver = opened(report_page)
    asked = requests(driver)
    assert asked, "the log of requests is empty: the test would see nothing"
    assert [url for url in asked if url != report_page.as_uri() and not url.startswith("data:")] == []


def test_the_policy_stops_what_does_not_belong(opened: Open, report_page: Path, tmp_path: Path) -> None:
    """The canary: the same page with a foreign script and picture must be seen to be refused."""
    foreign = "<script>window.foreign = 1</script><img src='http://127.0.0.1:9/x.png' alt=''>"
    changed = tmp_path / "changed.html"
    changed.write_text(
        report_page.read_text(encoding="utf-8").replace("</main>", foreign + "</main>"), encoding="utf-8"
    )
    driver = opened(changed, charts=False)
    assert driver.execute_script("return window.foreign === undefined")
    assert any("Content Security Policy" in entry["message"] for entry in driver.get_log("browser"))


# Between two widths nothing but the room changes.
@pytest.mark.parametrize(
    "width", [320, 1280, *(pytest.param(width, marks=pytest.mark.thorough) for width in (390, 768, 1920))]
)
def test_nothing_overflows(opened: Open, report_page: Path, width: int) -> None:
    driver = opened(report_page, width=width)
    assert driver.execute_script("return document.documentElement.scrollWidth") <= width
    wide = driver.execute_script(
        "return [...document.querySelectorAll('.live svg, p, h1, h2, h3, li, dd')]"
        ".filter(e => e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML.slice(0, 80))"
    )
    assert wide == []


def test_ids_stay_unique_when_the_charts_are_drawn(opened: Open, report_page: Path) -> None:
    driver = opened(report_page)
    ids: list[str] = driver.execute_script("return [...document.querySelectorAll('[id]')].map(e => e.id)")
    assert sorted(ids) == sorted(set(ids))


def _contrast(first: list[float], second: list[float]) -> float:
    """Contrast ratio of two colours (WCAG 2.2, relative luminance)."""

    def luminance(colour: list[float]) -> float:
        linear = [
            c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
            for c in (part / 255 for part in colour)
        ]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


COLOURS = """
const parse = (name) => {
  const probe = document.createElement('span');
  document.body.append(probe);
  probe.style.color = `var(--${name})`;
  const [r, g, b] = getComputedStyle(probe).color.match(/[\\d.]+/g).map(Number);
  probe.remove();
  return [r, g, b];
};
return Object.fromEntries(arguments[0].map((name) => [name, parse(name)]));
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast(opened: Open, report_page: Path, scheme: str) -> None:
    """WCAG 2.2: 4.5 for text (1.4.3), 3 for what a chart says by colour (1.4.11)."""
    driver = opened(report_page, scheme=scheme, charts=False)
    marks = [
        "user",
        "system",
        "interrupt",
        "iowait",
        "steal",
        "users",
        "memory",
        "disk",
        "queue",
        "p90",
        "p99",
        "direct",
    ]
    names = [
        "page",
        "card",
        "ink",
        "quiet",
        "accent",
        "warn",
        "warn-soft",
        "next-soft",
        *(f"c-{mark}" for mark in marks),
    ]
    colours: dict[str, Any] = driver.execute_script(COLOURS, names)
    for ground in ("page", "card", "next-soft"):
        for text in ("ink", "quiet", "accent", "warn"):
            assert _contrast(colours[text], colours[ground]) >= 4.5, (text, ground)
    assert _contrast(colours["ink"], colours["warn-soft"]) >= 4.5
    for mark in marks:
        assert _contrast(colours[f"c-{mark}"], colours["card"]) >= 3, mark


@pytest.mark.parametrize(("scheme", "dark"), [("light", False), ("dark", True)])
def test_the_page_follows_the_reader_s_theme(
    opened: Open, report_page: Path, scheme: str, dark: bool
) -> None:
    driver = opened(report_page, scheme=scheme)
    background = driver.execute_script(COLOURS, ["page"])["page"]
    assert (sum(background) < 200) == dark
    # The charts follow without being drawn again: their colours are the page's variables.
    label = driver.execute_script("return getComputedStyle(document.querySelector('.live svg text')).fill")
    text = [float(part) for part in label[label.index("(") + 1 : -1].split(",")[:3]]
    assert _contrast(text, driver.execute_script(COLOURS, ["card"])["card"]) >= 4.5


def test_the_theme_button_goes_round(opened: Open, report_page: Path) -> None:
    driver = opened(report_page, scheme="light", charts=False)
    button = driver.find_element("id", "theme")
    seen = []
    for _ in range(3):
        button.click()
        seen.append((button.text, sum(driver.execute_script(COLOURS, ["page"])["page"]) < 200))
    assert seen == [("Theme: light", False), ("Theme: dark", True), ("Theme: auto", False)]


def test_paper_gets_the_drawings_and_a_light_page(opened: Open, report_page: Path) -> None:
    driver = opened(report_page, scheme="dark")
    features = [{"name": "prefers-color-scheme", "value": "dark"}]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print", "features": features})
    state = driver.execute_script(
        "return [...document.querySelectorAll('.plot')].map(p => ["
        "getComputedStyle(p.querySelector('.drawn')).display, "
        "getComputedStyle(p.querySelector('.live')).display])"
    )
    assert state
    assert all(pair == ["block", "none"] for pair in state)
    assert sum(driver.execute_script(COLOURS, ["ink"])["ink"]) < 200
    pdf = driver.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})
    assert base64.b64decode(pdf["data"]).startswith(b"%PDF")


def test_data_of_a_figure_opens(opened: Open, report_page: Path) -> None:
    driver = opened(report_page)
    summary = driver.find_element("css selector", "details.data summary")
    summary.click()
    assert driver.find_element("css selector", "details.data table").is_displayed()


def test_a_hostile_log_runs_nothing(opened: Open, tmp_path: Path) -> None:
    from thinktime.documents.render import html as render_html

    path = tmp_path / "hostile.html"
    path.write_text(render_html.render(handmade_document.document()), encoding="utf-8")
    driver = opened(path)
    assert driver.get_log("browser") == []
    assert (
        driver.find_element("css selector", "h1").text == "<script>alert('x')</script>&\"\\x1b[2J\\u202edrow"
    )
