"""`reid-ref plot`: figures for a paper."""
from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

from reid_ref.arrays import InputError, check_count
from reid_ref.commands.evaluate.compute import by_row
from reid_ref.console import options as common
from reid_ref.console.files import OF_IMAGES, evaluate_file, image_names
from reid_ref.console.given import Given, under_saved
from reid_ref.console.request import Request, option
from reid_ref.console.systems import given_systems
from reid_ref.console.terminal import phase, show
from reid_ref.console.words import add_argument
from reid_ref.conventions import lacking_cameras
from reid_ref.disk import check_targets
from reid_ref import drawing as figures
from reid_ref.drawing import camera_matrix, results as curves, style
from reid_ref.drawing.rank_lists import ListRow, draw_rank_lists
from reid_ref.drawing.style import INTERVALS, RANGE, caption, with_counts
from reid_ref.evaluation.camera_pairs import CameraPairs, camera_pairs_of
from reid_ref.evaluation.groups import range_of_runs
from reid_ref.evaluation.how import How
from reid_ref.evaluation.rank_lists import RankList, rank_lists, worst_queries
from reid_ref.evaluation.result_file import ResultFile
from reid_ref.files.image_names import path_below
from reid_ref.result import Result
from reid_ref.result.runs import mean_result
from reid_ref.result.systems import METRICS, check_same_labels
from reid_ref.text import percent, row
from reid_ref.text.numbers import numbers, whole

#: Queries of rank lists, and their kept images.
WORST, TOP = 3, 10


class Drawing(NamedTuple):
    """What a figure is drawn from: the request, its results, the evaluation, whether all
    conventions are requested, inches.
    """

    request: PlotRequest
    given: list[Given]
    how: How
    every: bool
    width: float

    def of_each(self, work: Callable[[Given], Any]) -> dict[str, Any]:
        """Return what `work` makes of each result, by its name."""
        answers = self.of_runs(work)
        if several := [name for name, runs in answers.items() if len(runs) > 1]:
            raise InputError(several[0], f"one file for {self.request.figure}", "several",
                             "cmc, pr and ap draw the mean of several")
        return {name: runs[0] for name, runs in answers.items()}

    def of_runs(self, work: Callable[[Given], Any]) -> dict[str, list[Any]]:
        """Return what `work` makes of every file of each method, by its name."""
        answers = dict[str, list[Any]]()
        for given in self.given:
            with given.opened():
                answers.setdefault(given.name, []).append(work(given))
        phase("drawing")
        return answers


class PlotFigure(NamedTuple):
    """All that the command knows of a figure.

    Parameters
    ----------
    draw : function
        Returns the figure and its caption.
    options : frozenset of str
        The options of some figures that it takes.
    convention : str
        What --convention is by default; "" if it is drawn from the labels alone.
    width : str
        What --width is by default.
    """

    draw: Callable[[Drawing], tuple[Any, str]]
    options: frozenset[str]
    convention: str = "matlab"
    width: str = "3.3in"


def _shared(name: str, draw: Callable[..., Any], drawing: Drawing) -> tuple[Any, str]:
    """Draw a figure in which all methods share the axes."""
    every = drawing.of_runs(lambda given: given.results(drawing.how).items())
    runs = by_row({method: {of_one[0][0]: [result for _, result in of_one]
                            for of_one in zip(*files)} for method, files in every.items()})
    by_name = {method: mean_result(results) for method, results in runs.items()}
    last = drawing.request.last_rank or curves.LAST_RANK
    bands: Any = [range_of_runs(results, last) for results in runs.values()]
    if name == "cmc":
        draw = partial(draw, last=last, bands=bands if any(bands) else True)
    height = curves.curves_height(len(by_name))
    figure = style.draw_panels(draw, {"": by_name}, drawing.width, height)
    # A CMC curve of a single identity has no intervals, and so no band.
    words = name == "cmc" and any(ax.collections for ax in figure.axes) and (
        RANGE if any(bands) else INTERVALS)
    return figure, with_counts(caption(name, len(by_name) > 1, words or ""), {
        method: results[0] for method, results in runs.items()})


def _cameras(drawing: Drawing) -> tuple[Any, str]:
    def pairs(given: Given) -> CameraPairs:
        data = given.data_for("plot cameras")
        return camera_pairs_of(data.input, data.query, data.gallery, "plain", drawing.how)

    return (camera_matrix.matrix_per_method(drawing.of_each(pairs), drawing.width),
            caption("cameras"))


def _distances(drawing: Drawing) -> tuple[Any, str]:
    def sample(given: Given) -> curves.DistanceSample:
        data = given.data_for("plot distances")
        with common.progress_bar(len(data.query)) as bar:
            blocks = data.input.exact_blocks(data.query, data.gallery, drawing.how)
            drawn = curves.distance_sample(blocks, data.query, data.gallery,
                                           progress=None if bar is None else bar.update)
        return replace(drawn, squared=data.query_features is not None
                       and drawing.how.distance()[0] == "euclidean")

    samples = drawing.of_each(sample)
    on_one_scale = partial(figures.distances, scale=curves.shared_axes([*samples.values()]))
    return (style.draw_panels(on_one_scale, samples, drawing.width, curves.DISTANCES_HEIGHT),
            caption(curves.caption_of([*samples.values()])))


def _conventions(drawing: Drawing) -> tuple[Any, str]:
    request, how = drawing.request, drawing.how
    saved = not any(given.has_data for given in drawing.given)

    def that_apply(given: Given) -> Mapping[str, Result]:
        """Evaluate under the conventions that the labels suffice for."""
        if saved:
            return given.results(how)
        data = given.data_for("plot conventions")
        lacking = lacking_cameras(how.conventions, data.query) if drawing.every else {}
        return evaluate_file(request, data, replace(how, conventions=tuple(
            each for each in how.conventions if each.name not in lacking)))

    results = drawing.of_each(that_apply)
    if saved:
        results = {"": _of_one_method(results)}
    height = curves.conventions_height(max(map(len, results.values())))
    named = common.named(request)
    draw = partial(figures.conventions, measures=named or METRICS)
    return (style.draw_panels(draw, results, drawing.width, height, scaled=False),
            caption("conventions", measures=", ".join(named)))


def _of_one_method(by_name: Mapping[str, Mapping[str, Result]]) -> Mapping[str, Result]:
    """Return saved results by convention, which must be those of one method."""
    check_same_labels({name: result for name, results in by_name.items()
                       for result in results.values()})
    name_of: dict[str, str] = {}
    for name, (convention,) in by_name.items():
        if convention in name_of:
            raise InputError(name, "results of one method, each under a convention of its own",
                             f"{convention}, as {name_of[convention]}", "leave one out")
        name_of[convention] = name
    return {convention: by_name[name][convention] for convention, name in name_of.items()}


def _rank_lists(drawing: Drawing) -> tuple[Any, str]:
    """Draw the queries of --query, or the worst ones; one row per system."""
    request, how = drawing.request, drawing.how
    if len(how.conventions) > 1:
        raise InputError("--convention", "one for rank-lists", len(how.conventions))
    if how.conventions[0].needs_lists and not request.index_lists:
        raise InputError("--convention", got=f"{how.conventions[0].name} takes lists of good and "
                         "junk images", remedy="name their files after --index-lists")

    def read_images(given: Given) -> tuple[ResultFile, Any, Result | None]:
        data = given.data_for("plot rank-lists")
        names = None if request.images is None else image_names(request, given.files, data)
        results = () if request.query else given.results(how).values()
        return data, names, next(iter(results), None)

    by_system = drawing.of_each(read_images)
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
    return (draw_rank_lists([row for of_query in zip(*rows) for row in of_query], drawing.width),
            caption("rank-lists"))


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


#: Options that some figures take.
RANKED = frozenset({"--convention", "--set", "--index-lists"})
PANELS = frozenset({"--title", "--no-title"})
LISTED = frozenset({"--query", "--worst", "--top", "--images"})
FIGURES = {
    "cmc": PlotFigure(partial(_shared, "cmc", figures.cmc), RANKED | PANELS | {"--last-rank"}),
    "pr": PlotFigure(partial(_shared, "pr", figures.precision_recall), RANKED | PANELS),
    "ap": PlotFigure(partial(_shared, "ap", figures.average_precision), RANKED | PANELS),
    "cameras": PlotFigure(_cameras, PANELS, convention=""),
    "distances": PlotFigure(_distances, PANELS, convention=""),
    "conventions": PlotFigure(_conventions, RANKED | PANELS | {"--measure"}, convention="all"),
    "rank-lists": PlotFigure(_rank_lists, RANKED | LISTED, width="7in")}


#: What some of them do not take.
OF_SOME = frozenset.union(*(figure.options for figure in FIGURES.values()))


@dataclass(frozen=True, kw_only=True)
class PlotRequest(Request):
    """What the command line requests."""

    figure: str
    title: str | None = option("--title")
    no_title: bool = option("--no-title", False, action="store_true")
    output: str = option("--output", short="-o", required=True)
    width: str | None = option("--width")
    last_rank: int | None = option("--last-rank", type=whole)
    query: list[int] | None = option("--query", type=partial(numbers, least=0))
    worst: int | None = option("--worst", type=whole, filled={"default": WORST})
    top: int | None = option("--top", type=whole, filled={"default": TOP})


def add(command: argparse.ArgumentParser) -> None:
    """Draw result files, several methods in one figure, in the fonts and the width of a page with
    two columns.

    Examples:
        reid-ref plot cmc fixtures/market_like.mat -o cmc.pdf
        reid-ref plot conventions fixtures/market_like.mat --convention matlab,fast-reid -o map.pdf
        reid-ref plot rank-lists fixtures/market_like.mat --worst 2 -o lists.png

    cmc: CMC curves with their 95 % intervals. pr: mean precision at levels of recall. ap: AP by
    query, of one method by identity, too. cameras: each pair of cameras. distances: of the same
    and of other identities. conventions: mAP and Rank-1 under each, of a file, or of saved results
    of one method. rank-lists: queries and their
    nearest images. FILE is any that reid-ref evaluate reads. The same files give the same bytes.
    """
    add_argument(command, "figure", type=str.lower, choices=FIGURES, metavar="|".join(FIGURES))
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
    PlotRequest.add(command, *OF_IMAGES)


def run(request: PlotRequest) -> None:
    figure = FIGURES[request.figure]
    for flag in request.given(*sorted(OF_SOME - figure.options)):
        takes = [name for name, each in FIGURES.items() if flag in each.options]
        raise InputError(flag, f"the figure {' or '.join(takes)}", request.figure,
                         "change the figure, or leave it out")
    width = style.inches(request.width or figure.width, "--width")
    style.check_figure(request.output)
    check_targets(request.output)
    how, left_out = (common.requested(request, figure.convention) if figure.convention else
                     (common.how(request, ()), None))
    common.named(request)
    for flag, value, least in (("--last-rank", request.last_rank, 2),
                               ("--worst", request.worst, 1), ("--top", request.top, 1)):
        check_count(least if value is None else value, flag, least)
    given = given_systems(request)
    if left_out is None:
        how = under_saved(request, how, given)
    drawn, words = figure.draw(Drawing(request, given, how, left_out is not None, width))
    if request.title is not None or request.no_title:
        style.retitle(drawn, request.title or "")
    style.save(drawn, request.output)
    show("\n".join([style.wrote_line(request.output), *row("caption", words)]))
