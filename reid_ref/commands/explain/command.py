"""`reid-ref explain`: why two conventions give two numbers for one ranking."""
import argparse
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from reid_ref.analysis.explain import AP_DIGITS, Explanation, explain, target_named
from reid_ref.analysis.validate.candidates import WORDS
from reid_ref.arrays import InputError
from reid_ref.commands import gate as gates
from reid_ref.console import options as common
from reid_ref.console.answers import input_of, show_answer
from reid_ref.console.request import Request, option
from reid_ref.conventions import UNMATCHED, check_known, find_convention
from reid_ref.evaluation.how import How, labels_to_rank
from reid_ref.evaluation.rank_lists import ListedImage, ranked_list
from reid_ref.evaluation.result_file import ResultFile
from reid_ref.extensions import declared_names
from reid_ref.labels import Labels, count_distractors
from reid_ref.measures import measure
from reid_ref.result import Result, values_of
from reid_ref.result.views import Means, means_of
from reid_ref.result.systems import METRICS
from reid_ref.text import named_rows, signature_rows, wrap
from reid_ref.text.numbers import whole
from reid_ref.text.plain import Share
from reid_ref.text.table import lines as table_lines
from reid_ref.variations import VARIATIONS


@dataclass(frozen=True, kw_only=True)
class ExplainRequest(Request):
    """What the command line requests."""

    origin: str = option("--from", "matlab")
    target: str = option("--to", "torchreid")
    query: int | None = option("--query", type=whole)


def add(command: argparse.ArgumentParser) -> None:
    """Walk from one convention to another, one choice at a time: the effect of each on mAP and
    Rank-1, or the numbers of --measure, the queries affected, and those that moved most. The
    effects add up exactly. A variation, as `reid-ref validate` tries them, is one step.

    Examples:
        reid-ref explain fixtures/market_like.mat
        reid-ref explain fixtures/market_like.mat --from layumi --to fast-reid --measure mAP
        reid-ref explain fixtures/market_like.mat --query 3
    """
    common.add_files(command)
    ExplainRequest.add(command, "--from", "--to", "--set", "--metric", "--normalize",
                       "--index-lists", "--max-memory", "--measure", "--query",
                       formats=("table", "json"))


def run(request: ExplainRequest) -> None:
    found = target_named(request.target)
    if not isinstance(found, str) and request.query is not None:
        raise InputError("--query", "two conventions", f"--to {request.target}", "leave it out")
    if isinstance(found, str):  # the error of a name lists variations, too
        check_known(found, "--to", [*VARIATIONS, *declared_names("variation")])
    conventions = common.with_choices(request, [find_convention(request.origin, "--from"), *(
        [find_convention(found, "--to")] if isinstance(found, str) else [])])
    origin, target = conventions[0], conventions[-1] if isinstance(found, str) else found
    named = common.named(request)
    data = common.read_files(request)
    if request.query is not None and not 0 <= request.query < len(data.query):
        raise InputError("--query", f"a number from 0 to {len(data.query) - 1}", request.query)
    how = common.how(request, conventions)
    gates.examine(data, how, normalize=True)
    try:
        walk = explain(data, origin, target, metric=how.metric, normalize=how.normalize,
                       lists=how.lists, max_memory=how.max_memory)
    except InputError as error:
        raise error.renamed({"target": "--to"}) from None
    common.check_measures(named, [walk.start, *(step.result for step in walk.steps)])
    listed = [] if request.query is None else _listed(data, request.query, how, walk)
    show_answer(
        request.format, table=lambda: as_text(
            walk, input_of(request.files, data), data.query, request.query, listed,
            named or METRICS),
        json=lambda: as_answer(
            walk, data.query, request.files, data.layout, request.query, listed, named))


def _listed(data: ResultFile, query: int, how: How, walk: Explanation) -> list[ListedImage]:
    """Return the ranked list of a query, with its ranks under both conventions."""
    both = data.input.among(replace(how, conventions=(
        walk.start.convention, walk.end.convention)))
    one = slice(query, query + 1)
    asks, gallery = labels_to_rank(data.query, data.gallery, both.conventions)
    return ranked_list(
        next(data.input.exact_rows(np.array([query]), replace(
            how, conventions=how.conventions[:1]))), asks[one], gallery,
        list(both.conventions), lists=both.lists_of(one),
        distractors=count_distractors(data.query, data.gallery) > 0)


def as_text(walk: Explanation, given: Iterable[tuple[str, str]], query: Labels,
            number: int | None, listed: list[ListedImage],
            measures: Sequence[str] = METRICS) -> str:
    """Return the input, the walk or the ranked list of query `number`, and both signatures."""
    pages = ([waterfall(walk, measures), most_moved(walk, query)] if number is None else
             [query_page(number, walk, query, listed)])
    return "\n".join([*named_rows(given), "", *pages, "",
                      *signature_rows(str(walk.start.signature)),
                      *signature_rows(str(walk.end.signature))])


def waterfall(walk: Explanation, measures: Sequence[str] = METRICS) -> str:
    """Return one line per step. The effects printed add up to the printed difference."""
    rows = [_step(walk.origin.name, measures, walk.start)]
    before = walk.start
    for step in walk.steps:
        change = step.value if step.choice == "ignored" else f"{step.choice} {step.value}"
        rows.append(_step(f" {change}", measures, step.result, before, f"{step.affected:,}"))
        before = step.result
    rows.append(_step(walk.target.name, measures, walk.end, walk.start))
    heads = [head for name in measures for head in (name, "effect")]
    text = [*table_lines(["percent", *heads, "affected"], rows, indent=29), ""]
    for step in walk.steps:
        text += wrap(f"{step.value}: {step.meaning}", rest="    ") if step.meaning else []
    return "\n".join([*text, *wrap(WORDS["affected"].format(AP_DIGITS), rest="    ")])


def _step(change: str, measures: Sequence[str], result: Result, before: Result | None = None,
          affected: str = "") -> list[str]:
    cells = [change]
    for name in measures:
        digits, value = 4 if measure(name).of_curve else 6, _points(result, name)
        cells += [f"{value:.{digits}f}",
                  "" if before is None else f"{value - _points(before, name):+.{digits}f}"]
    return [*cells, affected]


def _points(result: Result, name: str) -> float:
    """Return a number in percent, rounded as printed, so that the printed effects add up."""
    value, = values_of(result, [name])
    return round(100 * value, 6)


def most_moved(walk: Explanation, query: Labels) -> str:
    """Return the queries whose AP moved most, one line each."""
    if not (moved := walk.most_moved()):
        same = len(walk.start.per_query.n_good) == len(walk.end.per_query.n_good)
        return "\n" + (f"The AP of no query changed in {AP_DIGITS} digits." if same else
                       "The queries are not the same.")
    n_good = walk.start.per_query.n_good
    aps = [result.of_query("mAP") for result in (walk.start, walk.end)]
    of_camera = [] if query.camera is None else ["camera"]
    heads = ["moved most", "identity", *of_camera, "good", f"AP {walk.origin.name}",
             f"AP {walk.target.name}"]
    return "\n".join(["", *table_lines(heads, [
        [f"query {k}", str(query.identity_of(k)), *(str(query.camera_of(k)) for _ in of_camera),
         str(n_good[k]),
         *(f"{ap[k]:.{AP_DIGITS}f}" for ap in aps)] for k in moved], indent=12),
        "--query N shows the ranked list of query N."])


def query_page(k: int, walk: Explanation, query: Labels, listed: list[ListedImage]) -> str:
    """Return one query's ranked list around its good images, and its AP on either side."""
    names, camera = (walk.origin.name, walk.target.name), query.camera_of(k)
    of_query = "" if camera is None else f", camera {camera}"
    lines = [f"query {k}: identity {query.identity_of(k)}{of_query}", ""]
    for name, result in zip(names, (walk.start, walk.end)):
        values, unmatched = result.per_query, UNMATCHED[result.convention.unmatched].words
        first = values.first_match[k]
        lines += [name, *wrap(
            f"AP {float(result.of_query('mAP')[k])!r}, {values.n_good[k]} good, "
            + (f"first match at rank {first}" if first else "no match")
            if values.n_good[k] else f"no good image: {unmatched}", "    ", "        ")]
    for distances in [step.value for step in walk.steps if step.choice == "distances"]:
        lines += ["", *wrap(WORDS["other distances"].format(*names, distances), rest="    ")]
    lines += ["", f"{'place':>6}{names[0]:>11.10}{names[1]:>11.10}{'image':>7}{'identity':>9}"
                  f"{'' if camera is None else ' cam'}{'distance':>10}  role"]
    for before, image in zip([0, *(image.place for image in listed)], listed):
        lines += [f"{'...':>6}"] * (image.place != before + 1)
        ranks = "".join(f"{'-' if rank is None else rank:>11}" for rank in image.ranks)
        lines.append(f"{image.place:>6}{ranks}{image.image:>7}{image.identity:>9}"
                     f"{'' if image.camera is None else f'{image.camera:>4}'}"
                     f"{image.distance:>10.6g}  {image.role}")
    return "\n".join([*lines, "", *(
        line for text in WORDS["listed"] for line in wrap(text.format(*names)))])


@dataclass(frozen=True, kw_only=True)
class StepNumbers(Means):
    """The numbers under one convention as JSON has them."""

    signature: str


@dataclass(frozen=True, kw_only=True)
class End(StepNumbers):
    """The numbers at one end of the walk."""

    convention: str


@dataclass(frozen=True, kw_only=True)
class StepRow(StepNumbers):
    """The numbers after one step."""

    choice: str
    value: str
    meaning: str
    affected: int


class Moved(NamedTuple):
    """A query whose AP changed; without cameras, `camera` is null."""

    query: int
    identity: int | str
    camera: int | str | None
    ap_from: Share
    ap_to: Share


@dataclass(frozen=True, kw_only=True)
class Explained:
    """The walk as JSON has it; `query` and `list` where a query is named."""

    files: list[str]
    layout: str
    from_: End
    steps: list[StepRow]
    to: End
    moved_most: list[Moved]
    query: int | None = None
    list_: list[ListedImage] | None = None


def as_answer(walk: Explanation, query: Labels, files: list[str], layout: str, number: int | None,
              listed: list[ListedImage], measures: Sequence[str] = ()) -> Explained:
    """Return the walk, and the ranked list of query `number`, for JSON."""
    before, after = (result.of_query("mAP").tolist() for result in (walk.start, walk.end))
    identity = query.texts("identity").tolist()
    return Explained(
        files=files, layout=layout,
        from_=End(convention=walk.origin.name, **_numbers(walk.start, measures)),
        steps=[StepRow(choice=step.choice, value=step.value, meaning=step.meaning,
                       affected=step.affected, **_numbers(step.result, measures))
               for step in walk.steps],
        to=End(convention=walk.target.name, **_numbers(walk.end, measures)),
        moved_most=[Moved(k, identity[k], query.camera_of(k), before[k], after[k])
                    for k in walk.most_moved()],
        query=number, list_=None if number is None else listed)


def _numbers(result: Result, measures: Sequence[str]) -> dict[str, Any]:
    return {**means_of(result, measures), "signature": str(result.signature)}
