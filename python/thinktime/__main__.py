"""The program: `thinktime`, and `python -m thinktime`."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command that `sys.argv` names, and exit with its status.

    What the command line needs is imported here: whoever interrupts it in its first moments gets a line, too.
    """
    try:
        from thinktime.cli import main as called

        called()
    except KeyboardInterrupt:
        print("thinktime: interrupted before it began", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    main()
