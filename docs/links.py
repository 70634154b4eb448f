"""Check the links of the built documentation: every page, picture and place that a page leads to is there.

    python docs/links.py docs/_build

Prints each link that leads nowhere, and ends with status 1 if there is one. Other sites are not asked.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class _Page(HTMLParser):
    """Links of a page, and its places."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.places: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("href", "src") and value and tag != "base":
                self.links.append(value)
            elif name == "id" or (name == "name" and tag == "a"):
                self.places.add(value or "")


@cache
def _read(path: Path) -> _Page:
    page = _Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def broken(site: Path) -> Iterator[str]:
    """Every link of a page of `site` that leads nowhere: ``page: link``."""
    for path in sorted(site.rglob("*.html")):
        for link in dict.fromkeys(_read(path).links):
            parts = urlsplit(link)
            # Pages of thinktime change themselves by what follows `plan?`.
            if parts.scheme or parts.netloc or parts.fragment.endswith("?"):
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path.resolve()
            if not target.exists():
                yield f"{path.relative_to(site)}: {link}"
            elif (
                parts.fragment
                and target.suffix == ".html"
                and unquote(parts.fragment) not in _read(target).places
            ):
                yield f"{path.relative_to(site)}: {link}: there is no such place on the page"


if __name__ == "__main__":
    found = list(broken(Path(sys.argv[1])))
    print(*found, sep="\n", end="\n" if found else "")
    sys.exit(bool(found))
