"""``python -m reid_ref.testing [module:function [--convention NAME]]``.

With an evaluator: the checks. Without: whether this installation gives the recorded numbers.
"""
import argparse
import os
import sys
from collections.abc import Sequence

from reid_ref.arrays import InputError
from reid_ref.foreign.arguments import setting
from reid_ref.text.numbers import real, whole


def main(arguments: Sequence[str] | None = None) -> int:
    """Return 0 if everything passes, 1 if not, 2 for wrong use; 130 after Ctrl-C, 141 after head.
    """
    parser = argparse.ArgumentParser(
        "python -m reid_ref.testing", description="Test an evaluator by the rule that it claims; "
        "without one, whether this installation gives the recorded numbers.")
    parser.add_argument("evaluator", nargs="?", metavar="module:function",
                        help="or file.py:function; two functions: module:mean_ap,cmc")
    parser.add_argument("--convention", metavar="NAME",
                        help="the rule that it claims (default: the one that it follows)")
    parser.add_argument("--max-rank", type=whole, metavar="N", help="the longest rank asked for")
    parser.add_argument("--tolerance", type=real, metavar="D",
                        help="how far a number may be off (default 1e-12)")
    parser.add_argument("--timeout", type=real, metavar="SECONDS", default=60,
                        help="how long any one call may take (default 60)")
    parser.add_argument("--setting", type=setting, action="append", default=[],
                        metavar="NAME=VALUE",
                        help="a further argument of the evaluator; may be repeated")
    given = parser.parse_args(arguments)
    try:
        passed = _passes(given)
        sys.stdout.flush()
    except InputError as error:
        print(f"reid_ref.testing: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader, such as head, is gone: without this Python fails at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 141
    return 0 if passed else 1


def _passes(given: argparse.Namespace) -> bool:
    if given.evaluator is None:
        from reid_ref.installed import check_installation
        return check_installation() == 0
    from reid_ref.testing.kit import check_evaluator
    report = check_evaluator(given.evaluator, given.convention, max_rank=given.max_rank,
                             tolerance=given.tolerance, timeout=given.timeout,
                             **dict(given.setting))
    print(report)
    return report.passed


if __name__ == "__main__":
    sys.exit(main())
