"""Take the picture of a report for the README.

    python scripts/picture.py REPORT.html docs/pictures/report.png

Needs Chromium and its driver (`apt-get install chromium chromium-driver`).
"""

from __future__ import annotations

import argparse
import base64
import shutil
import sys
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.support.ui import WebDriverWait

WIDTH, HEIGHT, SCALE = 1280, 1520, 1.25
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars")
DRAWN_WITHIN_S = 60
# Fonts are loaded, and each chart in view has its marks.
IS_DRAWN = """
return document.fonts.status === 'loaded' && [...document.querySelectorAll('.plot')].every((plot) =>
  plot.getBoundingClientRect().top > window.innerHeight
  || plot.querySelectorAll('.live svg path, .live svg line').length > 0)
"""


def program(*names: str) -> str:
    """Path of the first of these programs that is installed."""
    path = next((path for name in names if (path := shutil.which(name))), None)
    if path is None:
        sys.exit(f"there is no {names[0]} on this machine: apt-get install chromium chromium-driver")
    return path


def take(page: Path, picture: Path) -> None:
    """Draw `page` in light colours and write the part in view to `picture`."""
    options = webdriver.ChromeOptions()
    options.binary_location = program("chromium", "chromium-browser", "google-chrome")
    for flag in FLAGS:
        options.add_argument(flag)
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(program("chromedriver")))
    try:
        features = [{"name": "prefers-color-scheme", "value": "light"}]
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        metrics = {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": SCALE, "mobile": False}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        driver.get(page.resolve().as_uri())
        WebDriverWait(driver, DRAWN_WITHIN_S).until(lambda driver: driver.execute_script(IS_DRAWN))
        screenshot = driver.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})
        picture.write_bytes(base64.b64decode(screenshot["data"]))
    finally:
        driver.quit()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Take the picture of a report for the README.")
    parser.add_argument("report", type=Path, help="page that `thinktime report -o` wrote")
    parser.add_argument("picture", type=Path, help="PNG file to write")
    arguments = parser.parse_args()
    take(arguments.report, arguments.picture)
