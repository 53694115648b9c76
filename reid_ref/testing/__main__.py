"""``python -m reid_ref.testing [module:function [options]]``.

With an evaluator: ``reid-ref crosscheck --evaluator`` of it, with the same options. Without:
whether this installation gives the recorded numbers.
"""
import runpy
import sys

from reid_ref.installed import check_installation


def main() -> int:
    """Return 0 if everything passes, 1 if not, 2 for wrong use."""
    if not sys.argv[1:]:
        return int(check_installation() != 0)
    named = ["--evaluator"] * (not sys.argv[1].startswith("-"))
    sys.argv[1:] = ["crosscheck", *named, *sys.argv[1:]]
    runpy.run_module("reid_ref", run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main())
