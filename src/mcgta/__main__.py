"""``python -m mcgta``: the command line."""

import sys

from mcgta.cli import main

if __name__ == "__main__":
    sys.exit(main())
