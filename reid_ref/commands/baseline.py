"""`reid-ref baseline`: every line that a MATLAB driver prints of these features."""
from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from reid_ref.commands import common
from reid_ref.commands.terminal import show

if TYPE_CHECKING:
    from reid_ref.analysis.published import Published
    from reid_ref.datasets import Recognised
    from reid_ref.drivers import Baseline, Driver, Inputs, Line

WIDTH = 80


def add(commands: Any) -> None:
    command = commands.add_parser(
        "baseline", help="every line that a MATLAB driver prints",
        description="Print method, Rank-1 and mAP as a MATLAB driver does: Euclidean, re-ranking, "
                    "XQDA, KISSME; for MARS the means over pairs of cameras, too.",
        epilog="Files: those that the driver loads, in any order (train in the names of the "
               "training files), or a result file as reid-ref evaluate reads it, which gives the "
               "lines that learn nothing. JSON keys: files, driver, script, dataset, seed, lines "
               "(method, rank1, mAP, pair_rank1, pair_mAP, published), left_out, imaginary, "
               "exact, signature. Exit code: 0, also where training files are not given and the "
               "lines that learn from them are left out; 1 when another line could not be "
               "computed; 2 for wrong input.")
    command.set_defaults(run=run)
    command.add_argument("files", nargs="+", metavar="FILE")
    command.add_argument("--driver", required=True, metavar="NAME",
                         help="market1501, cuhk03, mars or ide")
    command.add_argument("--seed", type=int, default=0, metavar="N",
                         help="of the training pairs; default 0")
    command.add_argument("--json", action="store_true", help="print JSON, in full precision")


def run(args: argparse.Namespace) -> int:
    from reid_ref.arrays import InputError, check_choice, each_warning_once
    from reid_ref.datasets import recognise
    from reid_ref.drivers import DRIVERS, baseline, random_choices, read_inputs

    check_choice(args.driver, "--driver", DRIVERS)
    if not 0 <= args.seed < 2**32:
        raise InputError(f"--seed: expected a whole number from 0 to {2**32 - 1}, got {args.seed}")
    driver = DRIVERS[args.driver]
    inputs = read_inputs(args.driver, *args.files)
    order, draws = (random_choices(len(inputs.train), args.seed) if inputs.train
                    else (None, None))
    with (each_warning_once(),
          common.progress_bar(len(inputs.query) * len(driver.methods)) as bar):

        def tell(method: str, queries: int) -> None:
            bar.set_description(method)
            bar.update(queries)

        answer = baseline(driver, inputs, order, draws, tell if bar is not None else None)
    found = recognise(inputs.query.labels, inputs.gallery.labels)
    beside = published_lines(driver, args.files, found)
    signature = _signature(args, driver, inputs)
    if args.json:
        common.print_json(_as_json(args, driver, inputs, answer, found, beside, signature))
    else:
        show(as_table(args, driver, inputs, answer, found, beside, signature))
    return int(any(why != driver.without_training for why in answer.left_out.values()))


def published_lines(driver: Driver, files: list[str],
                    found: Recognised | None) -> dict[str, Published]:
    """Return the figure that the driver's authors print for each method, of these images."""
    from reid_ref.analysis.published import load

    if found is None or found.off:
        return {}
    names = " ".join(files).lower()
    model = ("IDE_CaffeNet" if "caffenet" in names else "LOMO" if "lomo" in names else
             "IDE_ResNet_50")
    name, _, split = found.fingerprint.name.partition(" ")
    rows = [row for row in load() if row.source_repo == driver.repository
            and row.dataset == name and row.split.startswith(split.strip("()"))]
    return {method: row for method in driver.methods for row in rows
            if row.method == f"{model} + {method}"}


def _signature(args: argparse.Namespace, driver: Driver, inputs: Inputs) -> str:
    from reid_ref._version import __version__

    fields = {"driver": args.driver, "convention": driver.convention, "features": driver.dtype,
              **({"rerank": "matlab", "k1": 20, "k2": 6, "lambda": 0.3}
                 if any(one.reranked for one in driver.methods.values()) else {}),
              **({"seed": args.seed, "train": len(inputs.train)} if inputs.train else {}),
              "queries": len(inputs.query), "gallery": len(inputs.gallery),
              "reid-ref": __version__}
    return "|".join(f"{key}:{value}" for key, value in fields.items())


def _as_json(args: argparse.Namespace, driver: Driver, inputs: Inputs, answer: Baseline,
             found: Recognised | None, beside: dict[str, Published],
             signature: str) -> dict[str, Any]:
    from reid_ref.report.tables import json_number

    def numbers(line: Line) -> dict[str, Any]:
        pairs = {"pair_rank1": line.pair_rank1, "pair_mAP": line.pair_ap}
        return {"rank1": line.rank1, "mAP": json_number(line.mean_ap),
                **{key: value if value is None else json_number(value)
                   for key, value in pairs.items()}}

    def published(row: Published | None) -> dict[str, str] | None:
        return {"key": row.key, "rank1": row.rank1, "mAP": row.mAP} if row else None

    return {
        "files": args.files, "driver": args.driver, "script": driver.script,
        "dataset": found.sentence if found else None,
        "seed": args.seed if inputs.train else None,
        "lines": [{"method": method, **numbers(line), "published": published(beside.get(method))}
                  for method, line in answer.lines.items()],
        "left_out": answer.left_out, "imaginary": answer.imaginary,
        "exact": answer.exact and numbers(answer.exact), "signature": signature}


def as_table(args: argparse.Namespace, driver: Driver, inputs: Inputs, answer: Baseline,
             found: Recognised | None, beside: dict[str, Published], signature: str) -> str:
    """Return the lines for a terminal of 80 columns, in percent."""
    from textwrap import wrap

    def row(name: str, text: str) -> list[str]:
        return wrap(text, WIDTH, initial_indent=f"{name:10}", subsequent_indent=" " * 10,
                    break_long_words=False, break_on_hyphens=False)

    sizes = f"{len(inputs.query):,} queries, {len(inputs.gallery):,} gallery"
    lines = row("input", common.names(args.files))
    lines += row("driver", f"{driver.script} of {driver.repository} ({driver.commit})")
    lines += row("images", sizes + (f", {len(inputs.train):,} train" if inputs.train else "")
                 + f"; features {inputs.query.features.shape[1]}-d, computed in {driver.dtype}")
    lines += row("dataset", found.sentence if found else
                 "none of the known benchmarks has such counts")
    if inputs.train:
        lines += row("seed", f"{args.seed}, of the training pairs")
    pairs = f"{'pairs: Rank-1':>15}{'mAP':>9}" if driver.camera_pairs else ""
    lines += ["", f"{'percent':26}{'Rank-1':>8}{'mAP':>8}{pairs}"
                  + (f"{'published':>13}" if beside else "")]
    for method in driver.methods:
        lines.append((f"{method:26}" + _cells(answer.lines.get(method)) + (
            f"{beside[method].rank1:>11}{beside[method].mAP:>7}" if method in beside
            else "")).rstrip())
    notes = [*_notes(driver, inputs, answer)]
    if beside:
        first = next(iter(beside.values()))
        notes.append(("published", f"{first.method.partition(' + ')[0]}, {first.source_repo}, "
                      f"{first.source_path}: only its features give these digits"))
    lines += [""] + [line for name, text in notes for line in row(name, text)]
    return "\n".join([*lines, *row("signature", signature.replace("|", " | "))])


def _cells(line: Line | None) -> str:
    if line is None:
        return f"{'-':>8}{'-':>8}"
    text = f"{100 * line.rank1:8.2f}{100 * line.mean_ap:8.2f}"
    if line.pair_rank1 is not None and line.pair_ap is not None:
        text += f"{100 * line.pair_rank1:15.4f}{100 * line.pair_ap:9.4f}"
    return text


def _notes(driver: Driver, inputs: Inputs, answer: Baseline) -> list[tuple[str, str]]:
    notes = []
    if answer.exact is not None:
        n_pairs = len(inputs.query) * len(inputs.gallery)
        roots = (" (roots of squares that rounding made negative; MATLAB sorts them by absolute "
                 "value)" if answer.imaginary else "")
        notes.append(("Euclidean", f"{answer.imaginary:,} of {n_pairs:,} distances are imaginary"
                      f"{roots}; exact distances give {100 * answer.exact.rank1:.2f}, "
                      f"{100 * answer.exact.mean_ap:.2f}"))
    if driver.camera_pairs and any(line.mean_ap != line.mean_ap or line.pair_ap != line.pair_ap
                                   or line.pair_rank1 != line.pair_rank1
                                   for line in answer.lines.values()):
        notes.append(("nan", "as in the driver: one query without a good image makes mAP NaN, one "
                      "pair of cameras without a score the means over pairs (reid-ref evaluate "
                      "and camera-pairs tell which, and count the others)"))
    why: dict[str, list[str]] = {}
    for method, reason in answer.left_out.items():
        why.setdefault(reason, []).append(method)
    notes += [("left out", f"{', '.join(methods)}: {reason}") for reason, methods in why.items()]
    return notes
