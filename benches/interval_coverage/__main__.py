"""Command: `PYTHONPATH=benches python -m interval_coverage --help`."""

import sys

from interval_coverage.run import main

sys.exit(main(sys.argv[1:]))
