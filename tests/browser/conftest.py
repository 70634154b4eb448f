"""A real browser, Debian's chromium driven through selenium, and a page of every kind, each made once."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from selenium import webdriver

import shared
from browser import made
from browser.made import Open
from thinktime import reports
from thinktime.documents.document import Document
from thinktime.log import Log

REMEDY = "apt-get install chromium chromium-driver"
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--hide-scrollbars",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def found(*names: str) -> str:
    path = next((path for name in names if (path := shutil.which(name))), None)
    if path is None:
        message = f"no {names[0]} on this machine; to run the browser tests: {REMEDY}"
        if os.environ.get("THINKTIME_REQUIRE_ALL") == "1":
            pytest.fail(message)
        pytest.skip(message)
    return path


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    options = webdriver.ChromeOptions()
    options.binary_location = found("chromium", "chromium-browser", "google-chrome")
    profile: Path = tmp_path_factory.mktemp("profile")
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(found("chromedriver")))
    driver.set_page_load_timeout(60)
    driver.set_script_timeout(200)
    yield driver
    driver.quit()


@pytest.fixture(scope="session")
def opened(browser: webdriver.Chrome) -> Open:
    """Function that opens a page, all of it in view, with every chart that is not folded drawn.

    Without charts: as high as a screen, and nothing is waited for. That takes a third of the time.
    """

    def open_page(
        path: Path, setting: str = "", *, width: int = 1280, scheme: str = "light", charts: bool = True
    ) -> webdriver.Chrome:
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "screen", "features": features})
        # As high as the page: charts are drawn when they come into view.
        height = 60_000 if charts else 900
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        browser.get("about:blank")
        browser.get_log("browser"), browser.get_log("performance")
        browser.get(path.as_uri() + setting)
        if charts:
            made.drawn(browser)
        return browser

    return open_page


# Pages


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of the pages, for all workers."""
    return shared.folder(tmp_path_factory, "pages")


@pytest.fixture(scope="session")
def played(folder: Path) -> Path:
    return shared.once(folder / "played", lambda: made.played_log(folder))


@pytest.fixture(scope="session")
def report(played: Path) -> Document:
    """Report of a played log."""
    return reports.build([Log.open(played)])


@pytest.fixture(scope="session")
def report_page(request: pytest.FixtureRequest, folder: Path) -> Path:
    return shared.once(
        folder / "report.html", lambda: made.report_page(request.getfixturevalue("report"), folder)
    )


@pytest.fixture(scope="session")
def study_page(folder: Path) -> Path:
    return shared.once(folder / "study.html", lambda: made.study_page(folder))


@pytest.fixture(scope="session")
def page_of(request: pytest.FixtureRequest, folder: Path) -> Callable[[str], Path]:
    """Function that gives the page of a kind."""

    def fixture(name: str) -> Path:
        path: Path = request.getfixturevalue(name)
        return path

    makers: dict[str, Callable[[], Path]] = {
        "report": lambda: fixture("report_page"),
        "size": lambda: made.size_page(folder),
        "study": lambda: fixture("study_page"),
        "machine": lambda: made.machine_page(folder),
        "swapping": lambda: made.swapping_page(folder),
        "recorded": lambda: made.recorded_page(folder),
        "compared": lambda: made.compared_page(folder),
        "experiment": lambda: made.experiment_page(folder),
        "paging": lambda: made.paging_page(folder),
        "imported": lambda: made.imported_page(folder),
        "comparison": lambda: made.comparison_page(
            fixture("played"), page("recorded").with_suffix(""), folder
        ),
        "predicted": lambda: made.predicted_page(folder),
        "answer": lambda: made.answer_page(fixture("played"), folder),
        "fleet": lambda: made.fleet_page(folder),
    }

    def page(kind: str) -> Path:
        if kind in ("report", "study"):
            return makers[kind]()
        return shared.once(folder / f"{kind}.html", makers[kind])

    return page
