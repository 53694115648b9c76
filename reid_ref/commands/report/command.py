"""`reid-ref report`: one HTML page of a result file, or of several."""
import argparse
from dataclasses import dataclass

from reid_ref.arrays import InputError, check_count, optional_module
from reid_ref.commands.report.compute import Options, gather
from reid_ref.commands.report.show import NEEDS, page
from reid_ref.console import options as common, protocols, systems
from reid_ref.console.files import OF_IMAGES, image_names
from reid_ref.console.given import Given, under_saved
from reid_ref.console.request import Request, option
from reid_ref.console.terminal import show
from reid_ref.disk import check_targets, write_whole
from reid_ref.drawing.style import wrote_line
from reid_ref.evaluation.how import How
from reid_ref.evaluation.result_file import ResultFile
from reid_ref.result import Result
from reid_ref.text.numbers import whole


@dataclass(frozen=True, kw_only=True)
class ReportRequest(Request):
    """What the command line requests."""

    output: str = option("--output", short="-o", required=True)
    queries: int = option("--queries", 60, type=whole)
    top: int = option("--top", 10, type=whole)
    seed: int = option("--seed", 12345, type=whole)


def add(command: argparse.ArgumentParser) -> None:
    """Write one HTML file that needs no other and no network. Several results are compared with
    the first. NAME=FILE,FILE[,FILE...] is a method trained with several seeds: numbers and tests
    are of all of them, figures and rank lists of the first.

    Examples:
        reid-ref report fixtures/market_like.mat -o page.html
        reid-ref report fixtures/baselines/osnet_x0_25.json.gz -o page.html

    A result that reid-ref evaluate --save wrote, or a part of a protocol, has no distances: what
    needs them is left out. The same input and versions give the same bytes.
    """
    common.add_files(command)
    ReportRequest.add(command, "--output", "--convention", "--metric", "--normalize",
                      "--max-memory", "--threads", "--measure", "--name", *protocols.OF_PROTOCOLS,
                      "--queries", "--top", *OF_IMAGES, "--seed")


def run(request: ReportRequest) -> None:
    options, protocol = _options(request), protocols.check_part(request)
    optional_module("report", *NEEDS)
    check_targets(request.output)
    every = systems.given_systems(request, protocol)
    options = options._replace(how=under_saved(request, options.how, every))
    files, seeds = _read(every, options.how)
    images = None if request.images is None else (request.images, {
        name: image_names(request, paths, data) for name, (paths, data) in files.items()
        if isinstance(data, ResultFile)})
    n_query = sum(len(data.query) for _, data in files.values() if isinstance(data, ResultFile))
    with common.progress_bar(2 * n_query, f"ranking {n_query:,} queries") as bar:
        content = gather(files, options._replace(how=common.with_bar(options.how, bar)), seeds)
    with common.progress_bar(len(content.queries) * len(files), "drawing the page") as bar:
        text = page(content, images, None if bar is None else bar.update)
    write_whole(request.output, text)
    show(wrote_line(request.output))


def _options(request: ReportRequest) -> Options:
    """Return how the page is made; refuse what does not go together."""
    convention = common.one_convention(request)
    if convention.needs_lists:
        raise InputError("--convention", got=f"{convention.name} takes lists of good and junk "
                         "images, which the report does not read", remedy="name another")
    for name, least in (("queries", 0), ("top", 1), ("seed", 0)):
        check_count(getattr(request, name), f"--{name}", least, 2**32 - 1)
    return Options(common.how(request, [convention]), request.queries, request.top, request.seed,
                   common.named(request))


def _read(every: list[Given], how: How) -> tuple[
        dict[str, tuple[list[str], ResultFile | Result]], dict[str, list[Result]]]:
    """Return what the first file of each result holds, and the results of its other seeds."""
    answers: dict[str, tuple[list[str], ResultFile | Result]] = {}
    seeds: dict[str, list[Result]] = {}
    for given in every:
        with given.opened():
            if given.has_data and given.name not in answers:
                answers[given.name] = given.files, given.data
                continue
            result, = given.results(how).values()
            if given.name in answers:
                answers[given.name][0].extend(given.files)
                seeds.setdefault(given.name, []).append(result)
            else:
                answers[given.name] = given.files, result
    return answers, seeds
