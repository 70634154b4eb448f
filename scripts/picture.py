"""Take the picture of a report for the README: `python tests/browser/picture.py report.html report.png`."""

from __future__ import annotations

import base64
import sys
import tempfile
import time
from pathlib import Path

from selenium import webdriver

from conftest import FLAGS, found

WIDTH, HEIGHT, SCALE = 1280, 1520, 1.25


def main(page: Path, picture: Path) -> None:
    with tempfile.TemporaryDirectory() as profile:
        options = webdriver.ChromeOptions()
        options.binary_location = found("chromium", "chromium-browser", "google-chrome")
        for flag in (*FLAGS, f"--user-data-dir={profile}"):
            options.add_argument(flag)
        driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(found("chromedriver")))
        features = [{"name": "prefers-color-scheme", "value": "light"}]
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        metrics = {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": SCALE, "mobile": False}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        driver.get(page.resolve().as_uri())
        time.sleep(2)  # fonts and the charts in view
        shot = driver.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})
        picture.write_bytes(base64.b64decode(shot["data"]))
        driver.quit()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
