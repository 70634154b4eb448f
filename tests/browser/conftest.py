"""A real browser for the pages: Debian's chromium, driven through selenium."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium import webdriver

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
    yield driver
    driver.quit()
