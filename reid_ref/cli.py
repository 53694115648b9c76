"""Arguments to calls: the command `reid-ref`.

Nothing heavy is imported before it is needed, so that `--help` answers at once. Wrong input
ends in one line on stderr and exit code 2.
"""
from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import tempfile
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

if TYPE_CHECKING:
    from reid_ref.files import ResultFile
    from reid_ref.result import Doubles, Result

IMPLEMENTATIONS = ("fast", "port", "octave", "all")


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    from reid_ref.validation import InputError

    args = _parser().parse_args(argv)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = _show_warning
            status = int(args.run(args))
            sys.stdout.flush()
            return status
    except InputError as error:
        print(f"reid-ref: error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("reid-ref: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader (head, say) has what it wanted; keep Python from complaining at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="reid-ref",
        description="The reference evaluator of person re-identification: Rank-k and mAP, "
                    "bit for bit with the MATLAB scripts.")
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    _add_evaluate(commands)
    return parser


def _add_evaluate(commands: Any) -> None:
    command = commands.add_parser(
        "evaluate", help="Rank-k, mAP and mINP of a result file",
        description="Print Rank-1/5/10/20, mAP and mINP of a result file.",
        epilog="Files: pytorch_result.mat (layumi), the same keys in .npz or MAT v7.3; the "
               "driver's separate feature and label .mat files; or a distance matrix with "
               "labels in .mat, .npz or text. Several files in any order.")
    command.set_defaults(run=_evaluate)
    command.add_argument("files", nargs="+", metavar="FILE")
    command.add_argument("--metric", default="euclidean", metavar="NAME",
                         help="how near two features are: euclidean (default), cosine or dot")
    command.add_argument("--no-normalize", dest="normalize", action="store_false",
                         help="do not divide features by their 2-norm")
    command.add_argument("--convention", default="matlab", metavar="NAME",
                         help="matlab (default) or mars")
    command.add_argument("--json", action="store_true",
                         help="print JSON with full-precision doubles instead of the table")
    command.add_argument("--per-query", metavar="FILE.csv", help="write one line a query")
    command.add_argument("--implementation", choices=IMPLEMENTATIONS, default="fast",
                         help="fast; port (Python, line by line); octave (the scripts, run "
                              "live); all: the three side by side, exit code 1 if they differ")
    command.add_argument("--matlab-dir", metavar="DIR",
                         help="your own checkout of the MATLAB scripts, for octave and all "
                              "(or REID_REF_MATLAB_DIR)")


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: error: {message}; see {self.prog} --help\n")


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from reid_ref._version import __version__

        print(f"reid-ref {__version__}")
        parser.exit()


def _evaluate(args: argparse.Namespace) -> int:
    from reid_ref import report
    from reid_ref.conventions import CONVENTIONS
    from reid_ref.files import read_result
    from reid_ref.validation import check_choice

    check_choice(args.convention, "--convention", CONVENTIONS)
    if args.per_query:
        _check_writable(Path(args.per_query))
    data = read_result(*args.files)
    if args.implementation != "fast":
        return _evaluate_scripts(args, data)
    result = _fast(args, data)
    if args.per_query:
        _write_whole(Path(args.per_query), report.per_query_csv(result, data.query))
    if args.json:
        _print_json({**_source(args, data), **report.as_json(result)})
    else:
        print(report.as_table(result, f"{', '.join(args.files)}: {data.layout}", _sizes(data)))
    return 0


def _fast(args: argparse.Namespace, data: ResultFile) -> Result:
    from reid_ref.evaluate import evaluate, evaluate_distances

    with _progress_bar(len(data.query)) as bar:
        progress = None if bar is None else bar.update
        if data.distances is not None:
            return evaluate_distances(data.distances, data.query, data.gallery, args.convention,
                                      progress=progress)
        return evaluate(*_features(data), data.query, data.gallery, args.metric, args.normalize,
                        args.convention, progress=progress)


def _evaluate_scripts(args: argparse.Namespace, data: ResultFile) -> int:
    from reid_ref import report
    from reid_ref.conventions import CONVENTIONS
    from reid_ref.evaluate import evaluate_distances
    from reid_ref.scripts import run_octave, run_port
    from reid_ref.validation import InputError

    if args.per_query:
        raise InputError("--per-query: the scripts return no value for each query; use "
                         "--implementation fast")
    labels = _distances(args, data), data.query, data.gallery
    convention = CONVENTIONS[args.convention]
    answers: dict[str, tuple[float, Doubles]] = {}
    if args.implementation == "all":
        fast = evaluate_distances(*labels, args.convention)
        answers["fast"] = fast.mean_ap, fast.cmc
    if args.implementation in ("port", "all"):
        port = run_port(*labels, convention)
        answers["port"] = port.mean_ap, port.cmc
    if args.implementation in ("octave", "all"):
        octave = run_octave(*labels, convention, args.matlab_dir)
        answers["octave"] = octave.mean_ap, octave.cmc
    difference = report.largest_difference(answers)
    if args.json:
        _print_json({**_source(args, data), "implementations": {
            name: {"mAP": report.json_number(mean_ap), "cmc": cmc.tolist()}
            for name, (mean_ap, cmc) in answers.items()}, "largest_difference": difference})
    else:
        print(report.side_by_side(answers, difference))
    return 0 if difference == 0 else 1


def _distances(args: argparse.Namespace, data: ResultFile) -> Any:
    from reid_ref.distances import distance_matrix

    if data.distances is not None:
        return data.distances
    return distance_matrix(
        *_features(data), metric=args.metric, normalize=args.normalize)


def _features(data: ResultFile) -> tuple[Any, Any]:
    # A result file holds distances or both feature arrays; its reader sees to that.
    return data.query_features, data.gallery_features


def _source(args: argparse.Namespace, data: ResultFile) -> dict[str, Any]:
    return {"files": args.files, "layout": data.layout}


def _sizes(data: ResultFile) -> str:
    if data.distances is not None:
        return f"distances {data.distances.dtype}"
    features, _ = _features(data)
    return f"features {features.shape[1]}-d {features.dtype}"


def _print_json(value: dict[str, Any]) -> None:
    print(json.dumps(value, allow_nan=False))


def _check_writable(path: Path) -> None:
    from reid_ref.validation import InputError

    if path.is_dir() or not path.absolute().parent.is_dir():
        raise InputError(f"{path}: expected a file name in a folder that exists; "
                         "nothing was evaluated or written")


def _write_whole(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    from reid_ref.validation import InputError

    try:
        handle, temporary = tempfile.mkstemp(dir=path.absolute().parent, prefix=f".{path.name}.")
        try:
            with open(handle, "w", encoding="utf-8") as file:
                file.write(text)
            os.chmod(temporary, 0o666 & ~_umask())
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from None


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _show_warning(message: Warning | str, category: type[Warning], filename: str, lineno: int,
                  file: TextIO | None = None, line: str | None = None) -> None:
    print(f"reid-ref: warning: {message}", file=sys.stderr)


def _progress_bar(total: int) -> Any:
    """A bar on stderr for work over two seconds; none where stderr is not a terminal."""
    if not sys.stderr.isatty():
        return contextlib.nullcontext()
    from tqdm import tqdm

    return tqdm(total=total, unit="query", delay=2, leave=False, file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
