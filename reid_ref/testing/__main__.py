"""``python -m reid_ref.testing``: does this installation give the recorded answers?"""
import sys

from reid_ref.testing import installation

if __name__ == "__main__":
    sys.exit(installation.main())
