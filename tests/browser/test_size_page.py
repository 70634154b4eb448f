"""The page of a size: its controls show what the command prints; by keyboard, on a phone, unharmed."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from browser import made
from thinktime.cli import run
from thinktime.documents import format as formatted
from thinktime.sources.simulated import simulate
from thinktime.stats.estimate import Estimate

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
def site(page_of: Callable[[str], Path]) -> tuple[list[str], Path]:
    """Command of a page with memory, and the page."""
    page = page_of("size")
    return made.size_command(page.parent), page


@pytest.fixture
def opened(browser: webdriver.Chrome, page: Path) -> Open:
    def open_page(
        setting: str = "", width: int = 1280, scheme: str = "light", page: Path = page
    ) -> webdriver.Chrome:
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


def texts(driver: webdriver.Chrome, place: str) -> list[str]:
    found: list[str] = driver.execute_script(
        "return [...document.querySelectorAll(arguments[0])].map(one => one.textContent)", place
    )
    return found


def disagreeing(driver: webdriver.Chrome, printed: str, users: int) -> list[str]:
    """Texts of the page that the command did not print: sentences, warnings and numbers."""
    shown = readings(driver)
    columns = [shown[name] for name in ("response", "p90", "throughput", "utilisation", "memory")]
    cells = [re.sub(r"( [mµ]?s| %|/s)$", "", " ".join(value.split())) for value in columns]
    told = [*texts(driver, ".answer .follows"), *texts(driver, "#beware .follows")]
    names = {"response": ("response", "p90"), "throughput": ("throughput", "utilisation", "memory")}
    wrong = [text for text in told if " ".join(text.split()) not in printed]
    for figure, columns_ in names.items():
        rows = driver.execute_script(
            "return [...document.querySelectorAll(arguments[0])]"
            ".map(row => [...row.cells].map(cell => cell.textContent))",
            f"#table-size-explored-{figure}-data tbody tr",
        )
        row = [str(users), *(shown[name] for name in columns_)]
        wrong += [] if row in rows else [" ".join(row)]
    row = " ".join([str(users), *cells])
    return wrong + ([] if row in printed else [row])


def test_every_text_follows_the_controls_with_the_digits_of_the_command(
    opened: Open,
    site: tuple[list[str], Path],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    command, page = site
    before, said = "", set()
    for setting in made.SETTINGS:
        driver = opened("#plan?" + "&".join(f"{key}={value}" for key, value in setting.items()), page=page)
        options = [
            word for key, value in setting.items() if value != "as-it-is" for word in (f"--{key}", str(value))
        ]
        capsys.readouterr()
        assert run([*command, *options]) == 0
        # Warnings and methods begin with a word that the page does not have.
        printed = " ".join(capsys.readouterr().out.replace("Beware: ", "").split())
        users = int(setting["users"])
        assert disagreeing(driver, printed, users) == []
        # The canary: the page does not agree with the command of another setting.
        assert not before or disagreeing(driver, before, users)
        before = printed
        said.update(texts(driver, "figcaption p"))
    assert "Memory is full" in printed
    # Two figures, whose words depend on CPUs and think time: five settings have five of each.
    assert len(said) == 2 * len(made.SETTINGS)


@pytest.fixture(scope="module")
def by_class(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Page of users of two classes, of a log with both."""
    folder = tmp_path_factory.mktemp("classes")
    station = {"name": "cpu", "discipline": "processor_sharing", "servers": 2}
    described = [
        {
            "name": name,
            "users": users,
            "think": f"exponential(mean={think_s})",
            "service": {"cpu": f"exponential(mean={cpu_s})"},
        }
        for name, users, think_s, cpu_s in (("notebook", 6, 0.5, 0.05), ("batch", 2, 1.0, 0.2))
    ]
    given = {"users": 0, "length": 120, "interval": 1.0, "stations": [station], "classes": described}
    simulate("network", given, seed=1).record(folder / "log", trace=True)
    command = ["size", str(folder / "log"), "--goal", "mean response < 500ms", "--think", "1s"]
    assert run([*command, "--users", "notebook=12,batch=4", "-o", str(folder / "size.html")]) == 0
    return folder / "size.html"


def test_classes_have_controls_whose_command_prints_the_page(
    browser: webdriver.Chrome, by_class: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seen = set()
    settings = ("", "#plan?cpus=1&users-0=8&users-1=6", "#plan?cpus=4&users-0=12&users-1=36&think=as-it-is")
    for setting in settings:
        browser.get("about:blank")
        browser.get(by_class.as_uri() + setting)
        WebDriverWait(browser, 30).until(
            lambda driver: driver.execute_script("return !document.getElementById('controls').hidden")
        )
        command = shlex.split(text(browser, "#command"))[1:]
        capsys.readouterr()
        assert run(command) == 0
        printed = " ".join(capsys.readouterr().out.split())
        told = texts(browser, ".answer .follows")
        assert told
        assert [one for one in told if " ".join(one.split()) not in printed] == []
        assert run([*command, "--format", "json"]) == 0
        found = json.loads(capsys.readouterr().out)
        mix = [one for one in found["predictions"] if one["users"] == found["answer"]["users"]]
        for at, name in enumerate(found["answer"]["users"]):
            shown = readings(browser)
            for key, quantity in (("response", "response_s"), ("throughput", "throughput_per_s")):
                (one,) = [one for one in mix if (one["class"], one["quantity"]) == (name, quantity)]
                ends = {end: one[end] for end in ("value", "low", "high", "unit")}
                assert shown[f"{key}-{at}"] == formatted.cell(Estimate(**ends, n=1, method="predicted"))
            # The figure of the class lists the same digits, for each number of its users.
            rows = browser.execute_script(
                "return [...document.querySelectorAll(arguments[0])]"
                ".map(row => [...row.cells].map(cell => cell.textContent))",
                f"#table-size-explored-class-{at}-data tbody tr",
            )
            users = str(found["answer"]["users"][name])
            assert [users, shown[f"response-{at}"], shown[f"p90-{at}"]] in rows
            assert len({row[1] for row in rows}) == len(rows)
        seen.add(told[0])
    assert any("do not fit" in one for one in seen)
    # The canary: a page that did not follow its controls would agree with one command at the most.
    assert len(seen) == 3
    assert browser.execute_script("return document.documentElement.scrollWidth <= innerWidth")
    # By keyboard, the figure of a class follows the users of the other.
    place = "#figure-size-explored-class-1"
    figure = f"return document.querySelector('{place} .live path').closest('svg').innerHTML"
    words = text(browser, f"{place}-words")
    WebDriverWait(browser, 30).until(
        lambda driver: driver.execute_script(f"return !!document.querySelector('{place} .live path')")
    )
    drawn = browser.execute_script(figure)
    browser.find_element("id", "control-users-0").send_keys(Keys.HOME)
    assert text(browser, f"{place}-words") != words
    WebDriverWait(browser, 30).until(lambda driver: driver.execute_script(figure) != drawn)


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
