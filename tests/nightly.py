"""How much of a long test runs: a small sample in the suite, all of it in `.ci/nightly`.

A test that is long as a whole is marked `nightly` and left out of the suite. One that has many
like cases asks here how many of them run.
"""
import os

NIGHTLY = os.environ.get("REID_REF_NIGHTLY") == "1"


def cases(sample, everything):
    """Return `everything` in the nightly job, else `sample`: numbers of cases, or the cases."""
    return everything if NIGHTLY else sample
