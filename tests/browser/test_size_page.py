"""The page of a size: its controls show what the command prints; by keyboard, on a phone, unharmed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from thinktime.cli import run
from thinktime.sources.simulated import simulate

Open = Callable[..., webdriver.Chrome]
NAME = "<img src=x onerror=window.hurt=1>"
"""Name of the log: a page that did not escape it would run it."""
PLANS = (
    {"users": 8, "cpus": "2", "think": "as-it-is"},
    {"users": 3, "cpus": "4", "think": "1s"},
    {"users": 20, "cpus": "1", "think": "as-it-is"},
)


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Log of a simulated machine with two CPUs, at two numbers of users."""
    path = tmp_path_factory.mktemp("size") / NAME
    given = {"users": 8, "think": "exponential(mean=0.5)", "length": 120, "interval": 1.0}
    station = {
        "name": "cpu",
        "discipline": "processor_sharing",
        "servers": 2,
        "service": "exponential(mean=0.05)",
    }
    simulate("network", given | {"stations": [station]}, seed=3).record(path, trace=True)
    return path


def asked(log: Path) -> list[str]:
    """Command of the page, and of the numbers to compare it with."""
    return ["size", str(log), "--goal", "mean response < 150ms"]


@pytest.fixture(scope="module")
def page(log: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "size.html"
    numbers = ",".join(str(plan["users"]) for plan in PLANS)
    assert run([*asked(log), "--users", numbers, "--think", "1s", "-o", str(path)]) == 0
    return path


@pytest.fixture
def opened(browser: webdriver.Chrome, page: Path) -> Open:
    def open_page(setting: str = "", width: int = 1280, scheme: str = "light") -> webdriver.Chrome:
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "screen", "features": features})
        metrics = {"width": width, "height": 6_000, "deviceScaleFactor": 1, "mobile": width < 500}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        browser.get("about:blank")
        browser.get_log("browser"), browser.get_log("performance")
        browser.get(page.as_uri() + setting)
        WebDriverWait(browser, 30).until(
            lambda driver: driver.execute_script(
                "const plots = [...document.querySelectorAll('.plot')];"
                "return plots.length && plots.every(p => p.dataset.live === 'yes')"
            )
        )
        return browser

    return open_page


def readings(driver: webdriver.Chrome) -> dict[str, str]:
    found: dict[str, str] = driver.execute_script(
        "return Object.fromEntries([...document.querySelectorAll('.readings dd')]"
        ".map(one => [one.id.replace('reading-', ''), one.textContent]))"
    )
    return found


def text(driver: webdriver.Chrome, place: str) -> str:
    found: str = driver.execute_script("return document.querySelector(arguments[0]).textContent", place)
    return found


@pytest.mark.parametrize("plan", PLANS, ids=str)
def test_the_page_shows_the_digits_of_the_command(
    opened: Open,
    log: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    plan: dict[str, Any],
) -> None:
    monkeypatch.setenv("COLUMNS", "160")  # a row of the table on one line
    driver = opened("#plan?" + "&".join(f"{key}={value}" for key, value in plan.items()))
    shown = readings(driver)
    line = text(driver, ".answer li")
    think = [] if plan["think"] == "as-it-is" else ["--think", plan["think"]]
    capsys.readouterr()
    options = ["--cpus", plan["cpus"], *think, "--users", str(plan["users"])]
    assert run([*asked(log), *options]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert " ".join(line.split()) in printed
    columns = [shown[name] for name in ("response", "p90", "throughput", "utilisation")]
    cells = [re.sub(r"( [mµ]?s| %|/s)$", "", " ".join(value.split())) for value in columns]
    assert " ".join([str(plan["users"]), *cells]) in printed
    assert run([*asked(log), *options, "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert line.startswith(f"{found['answer']['users']} user")


def test_plans_differ(opened: Open) -> None:
    """The canary: readings that did not follow the controls would agree with one command at the most."""
    seen = set()
    for plan in PLANS:
        driver = opened("#plan?" + "&".join(f"{key}={value}" for key, value in plan.items()))
        seen.add(readings(driver)["response"])
    assert len(seen) == len(PLANS)


def test_the_keyboard_moves_answer_curves_and_address(opened: Open) -> None:
    driver = opened()
    before, first = readings(driver), text(driver, ".answer li")
    curve = (
        "return document.querySelector('#figure-size-explored-response .live path').closest('svg').innerHTML"
    )
    drawn = driver.execute_script(curve)
    slider = driver.find_element("id", "control-cpus")
    slider.send_keys(Keys.END)
    assert readings(driver) != before
    assert text(driver, ".answer li") != first
    WebDriverWait(driver, 10).until(lambda one: one.execute_script(curve) != drawn)
    cpus = slider.get_attribute("aria-valuetext")
    WebDriverWait(driver, 10).until(lambda one: f"cpus={cpus}" in one.current_url)
    assert f"--cpus {cpus}" in text(driver, "#command")
    # What a screen reader is told, once the slider rests.
    assert text(driver, "#said").startswith(text(driver, ".answer li"))
    driver.find_element("css selector", "#controls button[type=reset]").send_keys(Keys.ENTER)
    WebDriverWait(driver, 10).until(lambda one: readings(one) == before)


def test_a_link_opens_the_setting_that_was_shared(opened: Open) -> None:
    driver = opened()
    driver.find_element("id", "control-cpus").send_keys(Keys.HOME)
    shown, link = readings(driver), driver.find_element("id", "shared").get_attribute("href")
    assert link is not None
    assert readings(opened(link[link.index("#") :])) == shown
    # What does not belong to this page is ignored.
    opened("#plan?cpus=999&nonsense=<b>&users")
    assert driver.get_log("browser") == []


def test_every_control_has_a_name_and_a_value_in_words(opened: Open) -> None:
    driver = opened()
    tree = driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    of = {
        role: [node for node in tree if node.get("role", {}).get("value") == role and not node["ignored"]]
        for role in ("slider", "status", "button", "link")
    }
    assert [node["name"]["value"] for node in of["slider"]] == ["Users", "CPUs", "Think time"]
    for role in ("slider", "button", "link"):
        assert all(node["name"]["value"].strip() for node in of[role])
    assert len(of["status"]) == 1
    texts = driver.execute_script(
        "return [...document.querySelectorAll('.controls input')].map(one => one.ariaValueText)"
    )
    assert all(texts)
    ids: list[str] = driver.execute_script("return [...document.querySelectorAll('[id]')].map(e => e.id)")
    assert sorted(ids) == sorted(set(ids))


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1280, "light")])
def test_nothing_overflows_and_nothing_is_complained_of(opened: Open, width: int, scheme: str) -> None:
    driver = opened(width=width, scheme=scheme)
    assert driver.execute_script("return document.documentElement.scrollWidth") <= width
    wide = driver.execute_script(
        "return [...document.querySelectorAll('.live svg, p, h1, h2, h3, li, dd, input, output')]"
        ".filter(e => e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML.slice(0, 80))"
    )
    assert wide == []
    assert driver.get_log("browser") == []


def test_a_hostile_name_is_shown_and_runs_nothing(opened: Open, page: Path) -> None:
    driver = opened()
    driver.find_element("id", "control-users").send_keys(Keys.HOME)
    assert driver.execute_script("return window.hurt === undefined")
    assert NAME in text(driver, "#command")
    assert NAME in text(driver, ".subtitle")
    messages = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    urls = [
        one["params"]["request"]["url"] for one in messages if one["method"] == "Network.requestWillBeSent"
    ]
    assert urls
    assert [url for url in urls if not url.startswith((page.as_uri(), "data:", "about:"))] == []


def test_the_surface_is_about_100_kilobytes(page: Path) -> None:
    found = re.search(r'id="varied">(.*?)</script>', page.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    assert len(found[1].encode()) < 150_000
