"""`reid-ref plot`: figures for a paper."""
from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from reid_ref.arrays import InputError, check_count
from reid_ref.commands.evaluate.compute import by_row
from reid_ref.console import options as common
from reid_ref.console.files import (
    add_images, evaluate_file, files_per_result, image_names)
from reid_ref.console.given import Given, given_of
from reid_ref.console.request import Request, narrowed, option
from reid_ref.console.values import numbers
from reid_ref.console.terminal import phase, show
from reid_ref.conventions import Convention
from reid_ref.disk import check_targets, is_json
from reid_ref import drawing as figures
from reid_ref.drawing import camera_matrix, results as curves, style
from reid_ref.drawing.results import DistanceSample, distance_sample
from reid_ref.drawing.rank_lists import ListRow, draw_rank_lists
from reid_ref.drawing.style import caption, with_counts
from reid_ref.evaluation.camera_pairs import CameraPairs, camera_pairs_of
from reid_ref.evaluation.how import How
from reid_ref.evaluation.rank_lists import RankList, rank_lists, worst_queries
from reid_ref.evaluation.result_file import ResultFile
from reid_ref.files.image_names import path_below
from reid_ref.labels import QueryLists
from reid_ref.result import Result
from reid_ref.result.systems import check_same_labels
from reid_ref.text import percent, row
from reid_ref.text.numbers import whole

#: Figures in which all methods share the axes.
SHARED: dict[str, Callable[..., Any]] = {
    "cmc": figures.cmc, "pr": figures.precision_recall, "ap": figures.average_precision}
FIGURES = (*SHARED, "cameras", "distances", "conventions", "rank-lists")
#: The figures that an option is of.
_LISTED = {"figure": ("rank-lists",)}
_RANKED = {"figure": (*SHARED, "conventions", "rank-lists")}
_PANELS = {"figure": FIGURES[:-1]}
#: Queries of rank lists, and their kept images.
WORST, TOP = 3, 10


@dataclass(frozen=True, kw_only=True)
class PlotRequest(Request):
    """What the command line requests."""

    figure: str
    convention: list[str] | None = narrowed("--convention", only=_RANKED)
    choices: list[str] = narrowed("--set", only=_RANKED)
    index_lists: list[str] | None = narrowed("--index-lists", only=_RANKED)
    measure: str | None = narrowed("--measure", only={"figure": ("conventions",)})
    title: str | None = option(
        "--title", only=_PANELS, metavar="TEXT",
        help="title in the place of the usual one; above several panels")
    no_title: bool = option(
        "--no-title", False, only=_PANELS, action="store_true",
        help="no title, for a figure with a caption that has it")
    output: str = option(
        "--output", short="-o", required=True, metavar="FILE",
        help="file to write: .pdf, .svg or .png")
    width: str | None = option(
        "--width", metavar="LENGTH",
        help="width of the figure, such as 84mm (default: one column, 3.3in; of rank-lists 7in); "
             "panels are next to each other if they fit")
    last_rank: int | None = option(
        "--last-rank", only={"figure": ("cmc",)}, type=whole, metavar="K",
        help="the last rank that cmc draws (default: 20)")
    query: list[int] | None = option(
        "--query", only=_LISTED, type=partial(numbers, least=0), metavar="N[,N]",
        help="these queries, from 0")
    worst: int | None = option(
        "--worst", only=_LISTED, type=whole, metavar="N",
        help=f"the N queries of lowest AP in the first result (default: {WORST})")
    top: int | None = option(
        "--top", only=_LISTED, type=whole, metavar="K",
        help=f"kept images of each list (default: {TOP})")
    images: str | None = narrowed("--images", only=_LISTED)


def add(command: argparse.ArgumentParser) -> None:
    """Draw result files, several methods in one figure, in the fonts and the width of a page with
    two columns.

    cmc: CMC curves with their 95 % intervals. pr: mean precision at levels of recall. ap: AP by
    query, of one method by identity, too. cameras: each pair of cameras. distances: of the same
    and of other identities. conventions: mAP and Rank-1 under each, of a file, or of saved results
    of one method. rank-lists: queries and their
    nearest images. FILE is any that reid-ref evaluate reads. The same files give the same bytes.
    """
    command.add_argument("figure", choices=FIGURES, metavar="|".join(FIGURES), help="what to draw")
    common.add_files(command)
    PlotRequest.add(command, "--output", "--width")
    title = command.add_mutually_exclusive_group()
    PlotRequest.add(title, "--title", "--no-title")
    PlotRequest.add(command, "--convention", "--set", "--metric", "--normalize", "--index-lists",
                    "--max-memory", "--measure", "--name", conventions="matlab")
    PlotRequest.add(command, "--last-rank")
    group = command.add_argument_group("rank-lists")
    either = group.add_mutually_exclusive_group()
    PlotRequest.add(either, "--query", "--worst")
    PlotRequest.add(group, "--top")
    add_images(command)


def run(request: PlotRequest) -> None:
    is_list = request.figure == "rank-lists"
    width = style.inches(request.width or ("7in" if is_list else "3.3in"), "--width")
    style.check_figure(request.output)
    check_targets(request.output)
    conventions = _conventions(request)
    _check_numbers(request, conventions)
    groups = files_per_result(request, request.files)
    lists = common.read_lists(request, conventions)
    figure, words = (
        (_rank_lists(request, groups, conventions, lists, width), caption("rank-lists"))
        if is_list else _figure(request, groups, conventions, lists, width))
    if request.title is not None or request.no_title:
        style.retitle(figure, request.title or "")
    style.save(figure, request.output)
    show("\n".join([style.wrote_line(request.output), *row("caption", words)]))


def _conventions(request: PlotRequest) -> list[Convention]:
    """Return the conventions to draw: matlab if none is named, all for their own figure."""
    if request.figure in ("cameras", "distances"):  # drawn from the labels alone
        return []
    return common.conventions_of(request, _default(request))[0]


def _default(request: PlotRequest) -> str:
    return "all" if request.figure == "conventions" else "matlab"


def _check_numbers(request: PlotRequest, conventions: list[Convention]) -> None:
    """Refuse wrong numbers, and what rank lists do not take."""
    common.named(request)
    for flag, value, least in (("--last-rank", request.last_rank, 2),
                               ("--worst", request.worst, 1), ("--top", request.top, 1)):
        check_count(least if value is None else value, flag, least)
    if request.figure == "rank-lists" and len(conventions) > 1:
        raise InputError("--convention", "one for rank-lists", len(conventions))
    if request.figure == "rank-lists" and conventions[0].needs_lists and not request.index_lists:
        raise InputError("--convention", got=f"{conventions[0].name} takes lists of good and junk "
                         "images", remedy="name their files after --index-lists")


def _figure(request: PlotRequest, groups: list[list[Path]], conventions: list[Convention],
            lists: QueryLists | None, width: float) -> tuple[Any, str]:
    """Return the figure and its caption."""
    draw: Callable[..., Any]
    if request.figure == "cameras":
        return camera_matrix.matrix_per_method(_for_each_system(
            request, groups, lambda given: _pairs(request, given.data_for("plot cameras"))),
            width), caption("cameras")
    if request.figure == "distances":
        samples = _for_each_system(request, groups, lambda given: _sample(
            request, given.data_for("plot distances")))
        on_one_scale = partial(figures.distances, scale=curves.shared_axes([*samples.values()]))
        return (style.draw_panels(on_one_scale, samples, width, curves.DISTANCES_HEIGHT),
                caption(curves.caption_of([*samples.values()])))
    how = common.how(request, conventions, lists)
    if request.figure == "conventions":
        results = _by_convention(request, groups, how)
        height = curves.conventions_height(max(map(len, results.values())))
        draw, words = figures.conventions, caption("conventions")
        if named := common.named(request):
            draw = partial(draw, measures=named)
            words = caption("conventions", measures=", ".join(named))
        return style.draw_panels(draw, results, width, height, scaled=False), words
    by_name = by_row(_for_each_system(request, groups, lambda given: given.results(how)))
    draw = SHARED[request.figure]
    if request.last_rank:
        draw = partial(figures.cmc, last=request.last_rank)
    figure = style.draw_panels(draw, {"": by_name}, width)
    # A CMC curve of a single identity has no intervals, and so no band.
    bands = request.figure == "cmc" and any(ax.collections for ax in figure.axes)
    return figure, with_counts(caption(request.figure, len(by_name) > 1, bands), by_name)


def _for_each_system(request: PlotRequest, groups: list[list[Path]],
                     work: Callable[[Given], Any]) -> dict[str, Any]:
    """Return what `work` makes of each result, by its name."""
    answers = {}
    for given in given_of(request, groups):
        with given.opened():
            answers[given.name] = work(given)
    phase("drawing")
    return answers


def _by_convention(request: PlotRequest, groups: list[list[Path]],
                   how: How) -> dict[str, Mapping[str, Result]]:
    """Return each method's results by convention; saved results are those of one method."""
    def results_of(given: Given) -> Mapping[str, Result]:
        return (given.results(how) if saved else
                _that_apply(request, given.data_for("plot conventions"), how))

    saved = all(map(is_json, itertools.chain(*groups)))
    by_name = _for_each_system(request, groups, results_of)
    if not saved:
        return by_name
    check_same_labels({name: result for name, results in by_name.items()
                       for result in results.values()})
    of_convention: dict[str, str] = {}
    for name, (convention,) in by_name.items():
        if convention in of_convention:
            raise InputError(name, "results of one method, each under a convention of its own",
                             f"{convention}, as {of_convention[convention]}", "leave one out")
        of_convention[convention] = name
    return {"": {convention: by_name[name][convention]
                 for convention, name in of_convention.items()}}


def _that_apply(request: PlotRequest, data: ResultFile, how: How) -> dict[str, Result]:
    """Evaluate under the conventions that the labels suffice for."""
    applying, _ = common.that_apply(request, how.conventions, data.query, _default(request))
    return evaluate_file(request, data, replace(how, conventions=tuple(applying)))


def _pairs(request: PlotRequest, data: ResultFile) -> CameraPairs:
    return camera_pairs_of(data.input, data.query, data.gallery, "plain",
                           common.how(request, ()))


def _sample(request: PlotRequest, data: ResultFile) -> DistanceSample:
    with common.progress_bar(len(data.query)) as bar:
        blocks = data.input.exact_blocks(data.query, data.gallery, common.how(request, ()))
        return distance_sample(blocks, data.query, data.gallery,
                               progress=None if bar is None else bar.update)


def _rank_lists(request: PlotRequest, groups: list[list[Path]],
                conventions: list[Convention], lists: QueryLists | None, width: float) -> Any:
    """Return the figure of the queries of --query, or of the worst ones; one row per system."""
    how = common.how(request, conventions, lists)

    def read_images(given: Given) -> tuple[ResultFile, Any, Result | None]:
        data = given.data_for("plot rank-lists")
        names = None if request.images is None else image_names(request, given.files, data)
        results = () if request.query else given.results(how).values()
        return data, names, next(iter(results), None)

    by_system = _for_each_system(request, groups, read_images)
    first, (data, _, result) = next(iter(by_system.items()))
    queries: list[int] = (request.query or [] if result is None else
                          worst_queries(result, request.worst or WORST).tolist())
    if max(queries) >= len(data.query):
        raise InputError("--query", f"numbers from 0 to {len(data.query) - 1}", max(queries))
    rows = []
    for name, (other, names, result) in by_system.items():
        if other.query != data.query:
            raise InputError(name, f"the query labels of {first}", "others", "both must be of the "
                             "same queries, in the same order")
        ranked = rank_lists(other, queries, how, request.top or TOP)
        rows.append(_rows(f"{name}: " if len(by_system) > 1 else "", ranked, result,
                          request.images or "", names))
    return draw_rank_lists([row for of_query in zip(*rows) for row in of_query], width)


def _rows(start: str, lists: list[RankList], result: Result | None, root: str,
          names: tuple[list[str], list[str]] | None) -> list[ListRow]:
    """Return the rows of one system; of its images those that are shown must exist."""
    rows = []
    for ranked in lists:
        title = f"{start}query {ranked.query}"
        if result is not None:
            ap = percent(result.of_query("mAP")[ranked.query], "")
            title += f", AP {ap}" if ap else ", no match"
        query, gallery = None, {}
        if names is not None:
            query = path_below(root, names[0][ranked.query])
            gallery = {entry.image: path_below(root, names[1][entry.image])
                       for entry in (*ranked.entries, ranked.next_good) if entry}
        rows.append(ListRow(title, ranked, query, gallery))
    return rows
