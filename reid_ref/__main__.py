"""`python -m reid_ref` and the command `reid-ref`."""
import sys

from reid_ref.cli import main

if __name__ == "__main__":
    sys.exit(main())
