"""A real Prometheus scrapes a recorder over loopback, and answers what the dashboard and the guide ask."""

import contextlib
import json
import os
import re
import shutil
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import pytest
from test_metrics import PROGRAMS, recording, work

ROOT = Path(__file__).parents[2]
DASHBOARD = json.loads((ROOT / "packaging" / "grafana-dashboard.json").read_text())
GUIDE = (ROOT / "docs" / "how-to" / "watch-with-prometheus.md").read_text()
WINDOW = "4s"
"""Time over which rates are taken: that of Grafana is four times what lies between scrapes, at least."""
LACKS = "" if shutil.which("prometheus") else "prometheus: not installed; apt-get install prometheus"

if os.environ.get("THINKTIME_REQUIRE_ALL") == "1":
    assert not LACKS, LACKS
pytestmark = pytest.mark.skipif(bool(LACKS), reason=LACKS)


def queries():
    """Of the dashboard and of the guide."""
    for panel in DASHBOARD["panels"]:
        yield from (target["expr"] for one in panel.get("panels", [panel]) for target in one["targets"])
    yield from re.findall(r"^\| .* \| `(.*thinktime_\w+.*)` \|$", GUIDE, re.MULTILINE)


@contextlib.contextmanager
def prometheus(folder, target):
    """A server that scrapes `target`, by its address."""
    (folder / "prometheus.yml").write_text(
        "scrape_configs: [{job_name: thinktime, scrape_interval: 250ms, scrape_timeout: 250ms, "
        f"static_configs: [{{targets: ['{target}']}}]}}]\n"
    )
    log = folder / "prometheus.log"
    with log.open("w") as errors:
        server = subprocess.Popen(
            [
                "prometheus",
                f"--config.file={folder / 'prometheus.yml'}",
                f"--storage.tsdb.path={folder / 'data'}",
                "--web.listen-address=127.0.0.1:0",
            ],
            stderr=errors,
        )
    try:
        yield wait_for(lambda: re.search(r'msg="Listening on" address=(\S+)', log.read_text()))[1]
    finally:
        server.terminate()
        server.wait(30)


def wait_for(condition):
    deadline = time.monotonic() + 30
    while not (found := condition()):
        assert time.monotonic() < deadline, condition
        time.sleep(0.1)
    return found


def api(address, path, **parameters):
    """What the server answers; a query that it cannot read is an error with its words."""
    url = f"http://{address}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
    try:
        with urllib.request.urlopen(url, timeout=30) as answer:
            return json.load(answer)["data"]
    except urllib.error.HTTPError as error:
        if error.code == 503:
            raise  # It listens before it is ready.
        raise ValueError(json.load(error)["error"]) from error


def query(address, expression, instance, at=None):
    """Series of a query, with what Grafana puts in for its variables."""
    asked = expression.replace("$__rate_interval", WINDOW).replace("$instance", instance)
    instant = {} if at is None else {"time": at}
    return api(address, "query", query=asked.replace("[5m]", f"[{WINDOW}]"), **instant)["result"]


def stored(address, at):
    """Names of the metrics that the server has at an instant."""
    counts = query(address, 'count by (__name__) ({__name__=~"thinktime_.+"})', "", at)
    return {series["metric"]["__name__"] for series in counts}


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """Addresses of Prometheus and of the recorder that it has scraped for some time; a program works."""
    folder = tmp_path_factory.mktemp("prometheus")
    with work("worker", 60), recording(PROGRAMS["static"], folder / "log", "--gauges-every", "1s") as (_, of):
        target = f"{of[0]}:{of[1]}"
        with prometheus(folder, target) as address:
            samples = f"count_over_time(thinktime_recorder_samples_total[{WINDOW}]) >= 6"

            def has_scraped():
                with contextlib.suppress(OSError):
                    return query(address, samples, target)

            wait_for(has_scraped)
            yield address, target


def test_whatever_prometheus_has_is_shown(served):
    address, target = served
    # All at one instant; a rate needs a metric that was there some scrapes before it.
    at = time.time()
    had = stored(address, at - 0.6)
    have = stored(address, at)
    shown = set()
    for expression in queries():
        metrics = set(re.findall(r"\bthinktime_\w+", expression))
        found = query(address, expression, target, at)
        # What a machine does not have, as a quota or a GPU, has no metric; the guide also asks for one user.
        assert found or not metrics <= had or "user=" in expression, expression
        assert not found or metrics <= have, expression
        shown |= metrics if found else set()
    assert {"thinktime_machine_user_seconds_total", "thinktime_user_cpu_exact_seconds_total"} <= shown
    assert {"thinktime_user_memory_bytes", "thinktime_command_cpu_exact_seconds_total"} <= shown


def test_the_machine_can_be_chosen(served):
    address, target = served
    assert api(address, "label/instance/values", **{"match[]": "thinktime_recorder_samples_total"}) == [
        target
    ]


def test_the_command_at_work_is_shown_with_its_name(served):
    address, target = served
    expression = next(one for one in queries() if "sum by (command, user)" in one)
    assert "worker" in {series["metric"]["command"] for series in query(address, expression, target)}


def test_a_query_of_another_metric_or_machine_finds_nothing(served):
    address, target = served
    assert query(address, "thinktime_machine_active_user", target) == []
    expression = next(one for one in queries() if "thinktime_machine_active_users" in one)
    assert query(address, expression, "127.0.0.1:1") == []
    with pytest.raises(ValueError, match="parse error"):
        query(address, "rate(thinktime_machine_user_seconds_total)[5m])", target)
