"""Claims are judged, and put into words, by the expressions of `study.toml`."""

from __future__ import annotations

from dataclasses import replace

import pytest

from thinktime.errors import InputError
from thinktime.stats.estimate import Estimate
from thinktime.studies.claims import Statement

ABOVE = Estimate(value=0.3, n=4, method="given", low=0.1, high=0.5)
AROUND = Estimate(value=0.3, n=4, method="given", low=-0.1, high=0.7)
OPEN = Estimate(value=0.3, n=4, method="given")
MEASURES = {
    "gain": ABOVE,
    "doubt": AROUND,
    "open": OPEN,
    "none": None,
    "empty": [],
    "gains": [ABOVE, AROUND],
    "share": {"old": 16.0, "new": 4.0},
    "levels": {"vsio": 1.0, "page_io": 2.0},
    "verdict": "outside",
    "chosen": ["vsio", "vmio"],
    "settled": True,
}


def statement(
    holds_if: str | list[str] = "settled",
    *,
    undecided_if: str = "",
    statistic: str = "",
    amount: float = 0.25,
) -> Statement:
    return Statement(
        id="claim",
        source="Table 1",
        text="it holds",
        holds_if=holds_if,
        undecided_if=undecided_if,
        statistic=statistic,
        amount=amount,
    )


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("gain > amount", True),
        ("gain > 0.3", False),
        ("low(gain) > 0", True),
        ("low(doubt) > 0", False),
        ("low(open) > -1e9", False),
        ("high(-gain) < 0", True),
        ("low(2 * gain) > 0.15", True),
        ("abs(gain / 0.28 - 1) <= 0.1", True),
        ("gains > 0", True),
        ("low(gains) > 0", False),
        ("any(low(gains) > 0)", True),
        ("count(low(gains) > 0) >= 2", False),
        ("empty > 0", False),
        ("any(empty > 0)", False),
        ("len(empty) == 0", True),
        ("share.new < amount * share.old", False),
        ("share.new <= amount * share.old", True),
        ("levels.vsio < levels.page_io < 3", True),
        ("levels.vsio < levels.page_io < 2", False),
        ("min(levels) == 1 and max(levels) == 2 and median(levels) == 1.5", True),
        ("levels >= [1, 2]", True),
        ("verdict == 'outside'", True),
        ("verdict != 'outside'", False),
        ("chosen == ['vsio', 'vmio']", True),
        ("chosen == ['vsio']", False),
        ("settled and not gain < 0", True),
        (["gain > 0", "settled or doubt > 1"], True),
        (["gain > 0", "doubt > 1"], False),
        ("alpha < gain", True),
        ("none < 1", None),
        ("none < 1 and gain < 0", False),
        ("none < 1 and gain > 0", None),
        ("none < 1 or gain > 0", True),
        ("not none", None),
        ("max(levels) < none", None),
    ],
)
def test_conditions(condition: str | list[str], holds: bool | None) -> None:
    assert statement(condition).verdict(MEASURES) is holds


def test_a_case_may_be_undecided() -> None:
    judged = statement("verdict == 'outside'", undecided_if="verdict == 'no difference'")
    outcomes = [judged.verdict({"verdict": text}) for text in ("outside", "inside", "no difference")]
    assert outcomes == [True, False, None]


def test_a_measure_may_be_the_verdict() -> None:
    verdicts = [statement("settled").verdict({"settled": holds}) for holds in (True, False, None)]
    assert verdicts == [True, False, None]


@pytest.mark.parametrize(
    ("statistic", "words"),
    [
        ("{gain:.2f} of {100 * amount:.0f} %", "0.30 of 25 %"),
        ("{gain:.2fi}", "0.30 (0.10 to 0.50)"),
        ("{100 * gain:+.0fi %}", "+30 % (+10 to +50)"),
        ("{open:.2fi}", "0.30"),
        ("{gain: s}", "0.30\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}0.20 s"),
        ("{share.old - share.new:.1f} s", "12.0 s"),
        ("{levels:.1f ms}", "vsio 1.0 ms, page io 2.0 ms"),
        ("{100 * levels:.0f}", "vsio 100, page io 200"),
        ("{chosen}; {verdict}", "vsio, vmio; outside"),
        ("{count(gains > 0)} of {len(gains)}", "2 of 2"),
    ],
)
def test_statistics(statistic: str, words: str) -> None:
    assert statement(statistic=statistic).words(MEASURES) == words


@pytest.mark.parametrize(
    ("each", "words"),
    [
        ("{name} {levels:.1f} of {whole:g} s", "by request: vsio 1.0 of 4 s, page io 2.0 of 5 s"),
        ("{name} {levels:g} s, {gain:.1f}", "by request: vsio 1 s, 0.3; page io 2 s, 0.3"),
    ],
)
def test_items_of_mappings(each: str, words: str) -> None:
    judged = replace(statement(statistic="by request: {each}"), each=each)
    assert judged.words({**MEASURES, "whole": {"vsio": 4.0, "page_io": 5.0}}) == words


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("gain >", "is not an expression"),
        ("gain.__class__()", "there is no function gain.__class__"),
        ("open('/etc/passwd')", "there is no function open"),
        ("[x for x in gains]", "is not allowed"),
        ("gain ** 2 > 0", "is not allowed"),
    ],
)
def test_a_condition_that_cannot_be_read_is_refused(condition: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        _ = statement(condition).verdict(MEASURES)


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(InputError, match="there is no 'gian'; there are alpha, amount, gain"):
        _ = statement("gian > 0").verdict(MEASURES)


def test_an_amount_cannot_have_the_name_of_a_function() -> None:
    with pytest.raises(InputError, match="low has another meaning"):
        Statement(id="claim", source="Table 1", text="it holds", holds_if="settled", amount={"low": 1.0})
