"""`python -m allemande` is the `allemande` command."""

import sys

from allemande.cli import main

if __name__ == "__main__":
    sys.exit(main())
