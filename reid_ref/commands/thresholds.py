"""`reid-ref thresholds`: up to which distance are two images of one person?"""
import argparse
import contextlib
import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

import numpy as np

from reid_ref.arrays import InputError
from reid_ref.commands import gate as gates
from reid_ref.console import options as common
from reid_ref.console.answers import FORMATS, OfFiles, input_of, show_answer
from reid_ref.console.confidence import OF_INTERVALS, drawn, interval_ends, interval_options
from reid_ref.console.request import option
from reid_ref.conventions import IGNORED, METRICS
from reid_ref.disk import check_targets, write_whole
from reid_ref.text import named_rows, percent, row, signature_rows
from reid_ref.text.numbers import reals
from reid_ref.text.plain import Share
from reid_ref.text.table import as_csv, lines
from reid_ref.thresholds.evaluation import RATES, thresholds_of
from reid_ref.thresholds.open_set import RANKS
from reid_ref.thresholds.values import OpenSet, Point, Thresholds

#: By metric a and b, for which the cosine of unit features is a - b times their distance.
COSINES = {"euclidean": (1, .5), "cosine": (1, 1), "dot": (0, 1)}


@dataclass(frozen=True)
class ThresholdAnswer(OfFiles):
    """Thresholds as JSON has them."""

    convention: str
    genuine: int
    impostor: int
    at: dict[float, Point]
    eer: Share
    equal_error: Point
    crossing: Point
    fastreid_tpr_at_fpr: dict[float, Share]
    open_set: OpenSet | None
    signature: str


def as_answer(found: Thresholds, files: list[str], layout: str) -> ThresholdAnswer:
    """Return thresholds for JSON."""
    return ThresholdAnswer(files, layout, found.convention.name, found.genuine, found.impostor,
                           found.at, found.eer, found.equal, found.crossing,
                           found.fastreid_tpr_at_fpr, found.open_set, str(found.signature))


def points_of(found: Thresholds) -> dict[str, Point]:
    """Return every threshold of pairs by the name of its row."""
    return {**{f"FAR {rate:g}": point for rate, point in found.at.items()},
            "equal error": found.equal, "crossing": found.crossing}


def as_text(found: Thresholds, given: Iterable[tuple[str, str]]) -> str:
    """Return all numbers, what is counted, and how the intervals are made."""
    ignored = found.convention.not_ranked
    text = named_rows(given) + row("distance", _distance(found)) + row(
        "pairs", f"{found.genuine:,} genuine: a query and its good images; {found.impostor:,} "
        "impostor: a query and every other kept image, distractors included") + row(
        "ignored", "; ".join(IGNORED[rule].words for rule in ignored) or "nothing")
    points = {_in_percent(name): point for name, point in points_of(found).items()}
    heads = ["accepted if", *_limits(found), "TAR, %", "FAR, %", "genuine", "impostor"]
    text += ["", *lines(heads, [
        [name, *_limits(found, point.threshold).values(), percent(point.tar), _small(point.far),
         f"{point.genuine:,}", f"{point.impostor:,}"] for name, point in points.items()])]
    text += ["", *row("EER", f"{percent(found.eer)} percent: FAR = 1 - TAR"),
             *row("crossing", "where TAR - FAR is largest, and the densities of genuine and "
                              "impostor distances cross")]
    text += _intervals(points) + _open_set(found)
    read = ", ".join(f"{percent(value)} at {100 * rate:g}%"
                     for rate, value in found.fastreid_tpr_at_fpr.items())
    text += ["", *row("fast-reid", f"its TPR@FPR, not TAR: {read}")]
    return "\n".join([*text, "", *signature_rows(str(found.signature))])


def _limits(found: Thresholds, threshold: float = 0) -> dict[str, str]:
    """Return a threshold and, of unit features, its cosine, by their heads."""
    limits = {"distance <=": repr(threshold)}
    if found.signature.get("normalize") == "yes":
        a, b = COSINES[found.signature["metric"]]
        # Upwards, so that as printed it accepts no pair more.
        limits["cos >="] = f"{np.ceil(round(1e4 * (a - b * threshold), 6)) / 1e4 + 0:.4f}"
    return limits


def _in_percent(name: str) -> str:
    """Return the name of a row with its rate in percent."""
    return f"FAR {100 * float(name[4:]):g} %" if name.startswith("FAR ") else name


def _small(rate: float) -> str:
    """Return a rate in percent with four digits, however small it is."""
    return f"{100 * rate:.4g}"


def _distance(found: Thresholds) -> str:
    metric = found.signature.get("metric")
    if metric is None:
        return f"as given, {found.signature['distances']}; smaller is nearer"
    unit = " of features divided by their norm" if found.signature["normalize"] == "yes" else ""
    return f"{METRICS[metric]}{unit}"


def _intervals(points: dict[str, Point]) -> list[str]:
    of_tar = [point.tar_interval for point in points.values() if point.tar_interval is not None]
    if not of_tar:
        return []
    table = lines([f"{of_tar[0].level:g} % interval", "TAR, %", "FAR, %"], [
        [name, interval_ends(point.tar_interval), interval_ends(point.far_interval, form=_small)]
        for name, point in points.items()])
    first = of_tar[0]
    how = drawn(first.unit, first.method, first.resamples, first.seed)
    return ["", *table, "", *row(
        "interval", f"of TAR and FAR at this threshold, each by itself. TAR: {how}. FAR: "
        "identities on both sides, to first order; - where no impostor pair is accepted, or all "
        "are")]


def _open_set(thresholds: Thresholds) -> list[str]:
    if (found := thresholds.open_set) is None:
        return ["", *row("open set", "none: no query has an identity, other than -1, that "
                         "the gallery lacks")]
    dirs = [f"DIR-{k}, %" for k in RANKS]
    text = lines(["open set", *_limits(thresholds), "FAR, %", *dirs], [
        [_in_percent(f"FAR {rate:g}"), *_limits(thresholds, point.threshold).values(),
         _small(point.far), *(percent(point.dir[k]) for k in RANKS)]
        for rate, point in found.at.items()], indent=10)
    ends = [[_in_percent(f"FAR {rate:g}"), *(interval_ends(point.intervals[k]) for k in RANKS)]
            for rate, point in found.at.items() if point.intervals is not None]
    text += ["", *lines(["interval", *dirs], ends)] if ends else []
    return ["", *text, "", *row(
        "DIR-k", f"detected and at rank k or less, of {found.genuine:,} queries with a good "
        f"image; FAR of {found.impostor:,} queries whose identity the gallery lacks")]


def as_rows(found: Thresholds) -> str:
    """Return all numbers as CSV: pairs first, then queries of the open set."""
    rows: list[Iterable[object]] = [
        [name, point.threshold, point.tar, point.far, point.genuine, point.impostor,
         *(end for interval in (point.tar_interval, point.far_interval)
           for end in ((None, None) if interval is None else (interval.low, interval.high))),
         *[None] * len(RANKS)] for name, point in points_of(found).items()]
    rows += [] if found.open_set is None else [
        [f"open set FAR {rate:g}", point.threshold, None, point.far, None, point.impostor,
         *[None] * 4, *point.dir.values()] for rate, point in found.open_set.at.items()]
    return as_csv(["row", "threshold", "TAR", "FAR", "genuine", "impostor", "TAR low", "TAR high",
                   "FAR low", "FAR high", *(f"DIR-{k}" for k in RANKS)], rows)


def named_numbers(found: Thresholds) -> dict[str, float]:
    """Return the numbers that a gate may name, each by its name."""
    at = {} if found.open_set is None else found.open_set.at
    return {"EER": found.eer, **{f"TAR@{rate}": point.tar for rate, point in found.at.items()}, **{
        f"DIR-{k}@{rate}": share for rate, point in at.items() for k, share in point.dir.items()}}


def named_number(name: str, far: Iterable[float] = RATES) -> str:
    """Return the name of a number as `named_numbers` has it; the rates are those requested.

    Examples
    --------
    >>> named_number("tar@far=0.01%"), named_number("DIR-1@1e-2"), named_number("eer")
    ('TAR@0.0001', 'DIR-1@0.01', 'EER')
    """
    measure, _, rate = name.upper().replace("FAR=", "").partition("@")
    with contextlib.suppress(argparse.ArgumentTypeError):
        measure += f"@{rates(rate)[0]}"
    measures = "TAR", *(f"DIR-{k}" for k in RANKS)
    if measure not in ("EER", *(f"{each}@{one}" for each in measures for one in far)):
        raise InputError("", f"NAME=PERCENT, NAME being EER, or {', '.join(measures)} at a rate "
                         f"of --far ({', '.join(f'{one:g}' for one in far)}), e.g. TAR@1e-4=95")
    return measure


def rates(text: str) -> list[float]:
    """Read rates such as 1e-2,0.1%."""
    given = [value / (100 if "%" in part else 1) for part in text.split(",")
             for value in reals(part.replace("%", ""))]
    if not given:
        raise argparse.ArgumentTypeError(
            f"expected rates from 0 to 1, e.g. 1e-2,1e-3,1e-4, got {text!r}")
    return given


@dataclass(frozen=True, kw_only=True)
class ThresholdsRequest(gates.GateRequest):
    """What the command line requests."""

    expect: list[str] | None = option("--expect", action="append")
    fail_under: list[str] | None = option("--fail-under", action="append")
    save: str | None = option("--save")
    far: list[float] = option("--far", tuple(RATES), type=rates)


def add(command: argparse.ArgumentParser) -> None:
    """Print thresholds of the distance up to which two images are taken for one person: TAR at
    FAR, the equal error rate, where the densities cross; and DIR at FAR where the gallery lacks
    the identity of some queries.

    Examples:
        reid-ref thresholds fixtures/market_like.mat
        reid-ref thresholds fixtures/market_like.mat --far 1e-2,1e-3 --json

    FILE is any that reid-ref evaluate reads, with features or distances. The convention defines
    which pairs are genuine, and which are ignored. Exit code: 0 where all is well; 2 for wrong
    input; 3 where --expect is missed; 4 below --fail-under.
    """
    common.add_files(command)
    ThresholdsRequest.add(command, "--far", "--convention", "--set", "--metric", "--normalize",
                          "--index-lists", "--max-memory", "--save",
                          formats=("table", "json", "csv"))
    ThresholdsRequest.add(command, *OF_INTERVALS, "--expect", "--tolerance",
                          "--fail-under")


def run(request: ThresholdsRequest) -> int:
    if (options := interval_options(request)) and options.pop("unit") != "identity":
        raise InputError("--unit", "identity", "another unit; impostor pairs have two identities")
    wanted = gates.read_gates(request, partial(named_number, far=request.far))
    if "EER" in wanted.least:
        raise InputError("--fail-under", "TAR or DIR, of which more is better", "EER")
    if request.save is not None:
        if not request.save.lower().endswith(".json"):
            raise InputError("--save", "a name that ends in .json", request.save)
        check_targets(request.save)
    how = common.how(request, [common.one_convention(request)])
    data = common.read_files(request)
    doing = f"counting pairs of {len(data.query):,} queries"
    with common.progress_bar(len(data.query), doing) as bar:
        found = thresholds_of(data.input, data.query, data.gallery, common.with_bar(how, bar),
                              request.far, options)
    answer = as_answer(found, request.files, data.layout)
    if request.save is not None:
        write_whole(request.save, FORMATS["json"].write(answer) + "\n")
    show_answer(request.format, json=lambda: answer, csv=lambda: as_rows(found),
                table=lambda: as_text(found, input_of(request.files, data)))
    return gates.status_of(wanted, lambda name: named_numbers(found).get(name, math.nan), {})
