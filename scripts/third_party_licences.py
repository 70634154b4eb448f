"""Licences of everything that the programs we ship are linked with, as one text; run by `make licences`.

Where a crate offers several licences, its MIT text is taken, which is short and names the authors. Equal
texts stand once.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
SHIPPED = ("thinktime-python", "thinktime-recorder")
"""Crates whose programs are handed out: the extension module and the static recorder."""
HEAD = """Third-party licences

The extension module of thinktime and the recorder contain the crates below, and the Rust standard library
(MIT OR Apache-2.0). `make licences` wrote this text from Cargo.lock.
"""


def linked(metadata: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Packages that the shipped crates are linked with, by `name version`; ours are left out."""
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    waiting = [key for key, package in packages.items() if package["name"] in SHIPPED]
    reached: set[str] = set()
    while waiting:
        key = waiting.pop()
        is_macro = any("proc-macro" in target["kind"] for target in packages[key]["targets"])
        if key not in reached and not is_macro:
            reached.add(key)
            # Build scripts and macros run where the program is built and are not in it.
            normal = (
                item["pkg"]
                for item in nodes[key]["deps"]
                if any(kind["kind"] is None for kind in item["dep_kinds"])
            )
            waiting.extend(normal)
    members = set(metadata["workspace_members"])
    found = (packages[key] for key in reached - members)
    return {f"{package['name']} {package['version']}": package for package in found}


def texts(package: dict[str, Any]) -> Iterator[str]:
    """Licence texts of a package: the MIT one where there is one, otherwise all."""
    folder = Path(package["manifest_path"]).parent
    files = sorted(
        path
        for path in folder.iterdir()
        if path.is_file() and path.name.upper().startswith(("LICEN", "COPYING", "UNLICENSE", "NOTICE"))
    )
    mit = [path for path in files if "MIT" in path.name.upper() and " AND " not in (package["license"] or "")]
    # A folder with a licence of its own is code of others: the C sources of zstd.
    bundled = sorted(path for path in folder.glob("*/LICENSE*") if path.is_file())
    for path in [*(mit[:1] or files), *bundled]:
        yield "\n".join(line.rstrip() for line in path.read_text(errors="replace").strip().splitlines())


def document(metadata: dict[str, Any]) -> str:
    """The whole text: the crates with their licences, then each text with its crates."""
    packages = linked(metadata)
    holders: dict[str, list[str]] = defaultdict(list)
    without = []
    for name, package in sorted(packages.items()):
        found = list(texts(package))
        for text in found:
            holders[text].append(name)
        if not found:
            without.append(name)
    lines = [HEAD]
    lines += [f"  {name}: {package['license']}" for name, package in sorted(packages.items())]
    if without:
        lines += [
            "",
            f"Without a text of their own: {', '.join(without)}; the SPDX texts of their licences hold.",
        ]
    for text, names in sorted(holders.items(), key=lambda item: item[1]):
        lines += ["", "-" * 78, ", ".join(names), "", text]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the text to the file that is named, or to standard output."""
    command = ["cargo", "metadata", "--format-version", "1", "--locked"]
    command += ["--filter-platform", "x86_64-unknown-linux-gnu"]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    text = document(json.loads(done.stdout))
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(text)
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
