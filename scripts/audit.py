"""Audit of what thinktime is built from: licences, sources and known vulnerabilities; run by `make audit`.

The rules for crates are in `deny.toml`, the pinned Python packages in `packaging/requirements-cluster.lock`.
Databases of vulnerabilities are on the network. Where one cannot be reached, the audit says which packages
were not checked and ends with status 3: not known is not the same as none.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
NOT_KNOWN = 3
"""Exit status where a database could not be reached and nothing wrong was found in the others."""


def crates(deny: str) -> int:
    """Exit status of the rules for crates, and of the RustSec database where it can be fetched."""
    rules = subprocess.run([deny, "check", "--hide-inclusion-graph", "licenses", "bans", "sources"], cwd=ROOT)
    if rules.returncode:
        return 1
    fetched = subprocess.run([deny, "fetch", "db"], cwd=ROOT, capture_output=True, text=True)
    if fetched.returncode:
        reason = (fetched.stderr.strip().splitlines() or ["no reason given"])[-1]
        print(f"vulnerabilities of crates: NOT CHECKED: the RustSec database cannot be fetched ({reason})")
        return NOT_KNOWN
    return 1 if subprocess.run([deny, "check", "advisories"], cwd=ROOT).returncode else 0


def packages(pip_audit: str) -> int:
    """Exit status of the vulnerabilities of the pinned Python packages."""
    # With the extra `cluster`, all that is installed without it is there too, in the same versions.
    lock = ROOT / "packaging/requirements-cluster.lock"
    command = [pip_audit, "--requirement", str(lock), "--require-hashes", "--disable-pip", "--format", "json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    try:
        audited = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError):
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        print(f"vulnerabilities of Python packages: NOT CHECKED: pip-audit failed ({reason})")
        return NOT_KNOWN
    vulnerable = [item for item in audited if item.get("vulns")]
    skipped = [item["name"] for item in audited if "skip_reason" in item]
    for item in vulnerable:
        names = ", ".join(vulnerability["id"] for vulnerability in item["vulns"])
        print(f"{item['name']} {item['version']}: {names}")
    checked = len(audited) - len(skipped)
    print(f"vulnerabilities of Python packages: {len(vulnerable)} of {checked} checked packages have one")
    if skipped:
        print(f"NOT CHECKED, the database does not answer for them: {', '.join(sorted(skipped))}")
    return 1 if vulnerable else NOT_KNOWN if skipped else 0


def main() -> int:
    """Exit status: 0 all checked and clean, 1 something is wrong, 3 clean as far as could be checked."""
    deny, pip_audit = sys.argv[1:]
    statuses = {crates(deny), packages(pip_audit)}
    return 1 if 1 in statuses else max(statuses)


if __name__ == "__main__":
    sys.exit(main())
