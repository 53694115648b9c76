"""What `reid-ref evaluate` is asked for, and what must be known before the work."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from reid_ref.arrays import InputError, check_count
from reid_ref.commands import gate as gates
from reid_ref.console import confidence, options as common, protocols
from reid_ref.console.request import CONVENTIONS, LISTS, OF_ONE, SEVERAL, option
from reid_ref.disk import check_targets, is_direct, is_json, is_packed
from reid_ref.evaluation.how import How
from reid_ref.protocols import Protocol
from reid_ref.result.runs import Runs, runs_of, splits_of
from reid_ref.text.numbers import numbers, whole

#: What sums up several results, by the value of --mean.
MEANS: Mapping[str, Callable[..., dict[str, Runs]]] = {"runs": runs_of, "splits": splits_of}
#: The formats that have room for details.
_DETAILED = {"format": ("table", "json")}

#: Values of --by that are pairs of cameras, and their rules.
PAIRS = {"camera-pair": "plain", "view-pair": "views"}


@dataclass(frozen=True, kw_only=True)
class EvaluateRequest(gates.GateRequest):
    """What the command line requests."""

    mean: str | None = option(
        "--mean", not_of=(CONVENTIONS,), choices=tuple(MEANS),
        help="also the mean of several results, its spread and its interval: of training runs on "
             "the same queries, or of splits, such as trials, which have their own; of mAP and "
             "Rank-1, or of --measure")
    per_query: str | None = option(
        "--per-query", **OF_ONE, metavar="FILE",
        help="write one line per query to FILE, named .csv or .json")
    save: str | None = option(
        "--save", **OF_ONE, metavar="FILE",
        help="write the whole result to FILE, named .json, or .json.gz to pack it, which this and "
             "other commands read as they read a result file; or the ranking to NAME.run, and who "
             "is good to NAME.qrels, the files of trec_eval")
    at: list[int] | None = option(
        "--at", **OF_ONE, only=_DETAILED, metavar="K[,K]", type=numbers,
        help="also accuracy, precision, recall and mAP of the first K images, e.g. 1,5,10")
    worst: int | None = option(
        "--worst", not_of=(SEVERAL, CONVENTIONS, LISTS), without=OF_ONE["without"],
        only=_DETAILED, type=whole, metavar="N",
        help="also the N queries of lowest AP, each with its nearest wrong image")
    by: list[str] | None = option(
        "--by", **OF_ONE, only=_DETAILED, action="append",
        choices=("identity", "camera", *PAIRS),
        help="also mAP, Rank-1 and mINP, or the numbers of --measure, of each identity, or of "
             "each query camera; or mAP and Rank-1 of each pair of a query's camera and one of "
             "the gallery, with the images of that camera alone in view-pair; may be given again")


class Plan(NamedTuple):
    """What is requested, read from the options before the work."""

    how: How
    left_out: dict[str, str]
    intervals: dict[str, Any] | None
    gates: gates.Gates
    protocol: Protocol | None


def plan_of(request: EvaluateRequest) -> Plan:
    """Return what is requested; what is wrong, or does not go together, is known before the work.
    """
    common.cmc_length(request)
    common.named(request)
    of_one = request.unfit(CONVENTIONS)  # options about one result of one convention
    protocol = protocols.check_part(request) if of_one else protocols.requested_protocol(request)
    conventions, left_out = common.conventions_of(request)
    if len(conventions) > 1:
        request.check(CONVENTIONS, "one convention", f"{len(conventions)}", "name one")
    if request.worst is not None:
        check_count(request.worst, "--worst")
    _check_written(request)
    intervals = confidence.interval_options(request, always=request.mean is not None)
    read = gates.read_gates(request)
    if read.baseline is not None and not (request.convention or request.choices or protocol):
        conventions = [read.baseline.convention]
    lists = common.read_lists(request, conventions)
    return Plan(common.how(request, conventions, lists), left_out, intervals,
                read, protocol)


def files_of_ranking(name: str | None) -> tuple[str, ...]:
    """Return the names of qrels and run; nothing of a name for another file."""
    if name is None or Path(name).suffix.lower() != ".run":
        return ()
    return str(Path(name).with_suffix(".qrels")), name


#: Options that write a file, and how its name may end.
_SUFFIXES: Mapping[str, tuple[str, ...]] = {
    "--save": (".json", ".json.gz", ".run"), "--per-query": (".csv", ".json")}


def _check_written(request: EvaluateRequest) -> None:
    """Refuse, before any work, a file that could not be written as its option says."""
    written = {flag: name for flag, name in (
        ("--save", request.save), ("--per-query", request.per_query)) if name is not None}
    for flag, name in written.items():
        suffix, suffixes = Path(name).suffix.lower(), _SUFFIXES[flag]
        if is_json(name) and is_packed(name):
            suffix = ".json.gz"
        if suffix not in suffixes and not (suffix == "" and is_direct(name)):
            *others, last = suffixes
            ends = f"{', '.join(others)} or {last}" if others else last
            raise InputError(flag, f"a name that ends in {ends}", name)
    check_targets(*files_of_ranking(request.save)[:1], *written.values())
