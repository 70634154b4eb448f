"""The page of a study: its diagram and its published points, on a desk and on a phone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.support.ui import WebDriverWait

from thinktime.documents.render import render
from thinktime.studies import load
from thinktime.studies.laboratory import Settings
from thinktime.studies.study import run
from thinktime.studies.study_report import report

PARTS = {"configuration", "modified", "recomputed"}


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The parts of Anderson and Sargent (1974) that are quick to run."""
    study = load("anderson-sargent-1974")
    parts = tuple(part for part in study.paper.parts if part.name in PARTS)
    quick = replace(study, paper=replace(study.paper, parts=parts))
    path = tmp_path_factory.mktemp("study") / "study.html"
    path.write_text(render(report(run(quick, Settings(replications=8))), "html"), encoding="utf-8")
    return path


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_charts_are_drawn_and_nothing_is_wider_than_the_screen(
    browser: webdriver.Chrome, page: Path, width: int, scheme: str
) -> None:
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "screen", "features": features})
    metrics = {"width": width, "height": 12_000, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    browser.get_log("browser")
    browser.get(page.as_uri())
    WebDriverWait(browser, 30).until(
        lambda driver: driver.execute_script(
            "return [...document.querySelectorAll('.plot')].every(p => p.dataset.live === 'yes')"
        )
    )
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
