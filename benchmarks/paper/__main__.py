"""``python -m paper``: the paper's experiments."""

import sys

from paper.command import main

if __name__ == "__main__":
    sys.exit(main())
