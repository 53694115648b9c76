"""`python -m reid_ref` and the command `reid-ref`: the little that comes before `cli`."""
import sys


def main() -> int:
    """Run the command line; Ctrl-C, from the first import on, is one line and exit code 130."""
    try:
        from reid_ref.cli import main as run
    except KeyboardInterrupt:
        sys.stderr.write("reid-ref: interrupted\n")
        return 130
    return run()


if __name__ == "__main__":
    sys.exit(main())
