"""Words and phrases common to several sections."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from thinktime.documents import format as shown
from thinktime.documents.document import Section
from thinktime.stats.estimate import Caveat, Estimate, NotApplicable

_NOUNS = {
    "forks": "fork",
    "page_faults": "page fault",
    "page_faults_minor": "minor page fault",
    "page_faults_major": "major page fault",
    "context_switches": "context switch",
    "interrupts": "interrupt",
    "disk_operations": "disk operation",
    "disk_reads": "disk read",
    "disk_writes": "disk write",
    "net_packets": "network packet",
    "net_packets_in": "network packet received",
    "net_packets_out": "network packet sent",
    "loopback_packets": "loopback packet",
    "block_reads": "block read",
    "read_aheads": "read-ahead",
    "block_writes": "block write",
    "swap_ins": "swap-in",
    "swap_outs": "swap-out",
    "text_loads": "text load",
    "library_loads": "library load",
    "getworks": "getwork",
    "drum_interrupts": "drum interrupt",
    "segment_faults": "segment fault",
    "gate_faults": "gate fault",
    "base": "base",
}
"""Noun of a column that counts."""

FEW = 10
"""Number of completed interactions below which a response time gets no sentence."""


def noun(request: str, label: str) -> str:
    """Noun of one request of a kind: `fork` for the column `forks`; else the label of the analysis."""
    parts = request.split("+")
    if len(parts) > 1 and all(part in _NOUNS for part in parts):
        return f"{listed([_NOUNS[part] for part in parts], 'or')} (together)"
    return _NOUNS.get(request, label)


def nouns(request: str, label: str) -> str:
    """Noun of several requests of a kind: `forks`; a column without a noun has a plural as its label."""
    return shown.plural(_NOUNS[request]) if request in _NOUNS else label


def bare(value: Estimate) -> Estimate:
    """Cost with the request left out of its unit (`s/fork`: `s`), for places that name it."""
    return replace(value, unit=value.unit.partition("/")[0])


def few(n: int) -> bool:
    """True if there are too few data to rely on."""
    return n < FEW


def listed(items: Sequence[str], joint: str = "and") -> str:
    """Items in a sentence: a, b and c."""
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} {joint} {items[-1]}"


def capital(text: str) -> str:
    """`text` as the start of a sentence."""
    return text[:1].upper() + text[1:]


def share(value: Estimate | None) -> Estimate | None:
    """Estimate of a share, to be shown in per cent."""
    return None if value is None else replace(value, unit="share")


def ends(value: Estimate) -> tuple[float, float]:
    """Ends of the interval; the value itself where the method gives none."""
    low = value.value if value.low is None or not math.isfinite(value.low) else value.low
    high = value.value if value.high is None or not math.isfinite(value.high) else value.high
    return low, high


def range_of(low: float, high: float) -> str:
    """Range of numbers as a label: `4`, or `3 to 5`."""
    return (
        shown.number(_whole(low))
        if low == high
        else f"{shown.number(_whole(low))} to {shown.number(_whole(high))}"
    )


def users(label: str) -> str:
    """Number or range of users: 1 user, 3 to 4 users."""
    return f"{label} user" if label == "1" else f"{label} users"


def crowd_words(asked: int | None, started: int | None, active: float | None) -> str | None:
    """Users asked for, started, and active (mean of the intervals with any); None if unknown."""
    parts = [
        None if asked is None else f"{shown.count(asked, 'user')} asked for",
        None if started is None else f"{shown.number(started)} started",
        None if active is None else f"{shown.number(active)} active on average while any was",
    ]
    return ", ".join(filter(None, parts)) or None


def were(amount: int, noun: str) -> str:
    """Number of things with its verb: 1 interval was, 12 intervals were."""
    return f"{shown.count(amount, noun)} {'was' if amount == 1 else 'were'}"


def there_are_only(amount: int, noun: str) -> str:
    """Start of a sentence on too few data: There is only 1 interval, There are only 12 intervals."""
    return f"There {'is' if amount == 1 else 'are'} only {shown.count(amount, noun)}"


def whole(value: float | None) -> float | None:
    """Count that is kept as a float, without decimals."""
    return None if value is None else _whole(value)


def _whole(value: float) -> float:
    return int(value) if float(value).is_integer() else value


def one_of(name: str) -> str:
    """Noun with its article: a fork, an interrupt."""
    return f"{'an' if name[:1].lower() in 'aeio' else 'a'} {name}"


def percent(part: float) -> str:
    """Share that was chosen, not measured, without additional digits: 5 %."""
    return f"{part * 100:g}\N{NO-BREAK SPACE}%"


def p_value(p: float) -> str:
    """Probability of a test as part of a sentence: p = 0.02, or p < 0.001."""
    text = shown.probability(p)
    return f"p {text}" if text.startswith("<") else f"p = {text}"


def refused(name: str, title: str, result: NotApplicable) -> Section:
    """Section of an analysis that does not apply: the reason and the remedy."""
    reason = result.reason.rstrip(".")
    # What begins with the name of a log, and a colon, keeps it as it is.
    reason = reason if reason.partition(" ")[0].endswith(":") else capital(reason)
    remedy = f" {capital(result.remedy.rstrip('.'))}." if result.remedy else ""
    return Section(name=name, title=title, summary=(), not_applicable=f"{reason}.{remedy}")


def loads_chosen(users: str) -> str:
    """Caveat of shares and means of a log whose loads were chosen."""
    return (
        f"A play stepped through {users} users. How long each load lasted was chosen, so that shares and "
        "means of the whole log describe this play, and have no interval."
    )


def few_attributed(share: float) -> str:
    """Sentence for statements about users where much of the machine's CPU time belongs to none of them."""
    return (
        f"{shown.quantity(share, 'share')} of the CPU time could be attributed to users: the rest is of "
        "processes that the recorder did not see, and its users are missing here. To see them, record as "
        "root, outside of a PID namespace."
    )


def worded(caveats: Iterable[Caveat], words: Mapping[str, Callable[..., str]]) -> tuple[str, ...]:
    """Sentences of caveats: the entry of `words` for the kind of each, called with its values by name."""
    return tuple(words[caveat.kind](**caveat.values) for caveat in caveats)
