"""Options that several commands share, and what they mean."""
import argparse
import contextlib
import os
import sys
import threading
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from reid_ref.arrays import InputError, check_choice
from reid_ref.arrays.memory import bytes_of
from reid_ref.console.protocol_names import reading
from reid_ref.console.request import Request
from reid_ref.console.terminal import phase, shows_progress
from reid_ref.console.words import add_argument
from reid_ref.conventions import (
    CONVENTIONS, METRICS, NAMES, NOT_IN_ALL, Convention, changed, check_known, choices_of_text,
    known_as)
from reid_ref.datasets.benchmarks import benchmark_named
from reid_ref.datasets.pooling import pool_frames
from reid_ref.evaluation.how import How
from reid_ref.evaluation.result_file import ResultFile
from reid_ref.files import read_result
from reid_ref.files.image_places import GivenLabels
from reid_ref.files.lists import read_index_lists
from reid_ref.labels import QueryLists
from reid_ref.measures import any_case, measure
from reid_ref.result import Result
from reid_ref.text.numbers import is_whole


def add_files(command: argparse.ArgumentParser, nargs: str = "+") -> None:
    """Take result files, and the names of their arrays."""
    add_argument(command, "files", nargs=nargs)
    Request.add(command, "--map")


#: Options that say how features become distances.
OF_FEATURES = ("--metric", "--normalize")


def names_of_arrays(request: Request) -> dict[str, str]:
    """Return role to name of what --map says."""
    pairs = [pair for text in request.map for pair in text.split(",")]
    names = dict(pair.partition("=")[::2] for pair in pairs)
    if len(names) < len(pairs) or "" in {*names, *names.values()}:
        raise InputError("--map", "each role once, with the name of its array, e.g. "
                         "query_features=A,gallery_features=B", repr(",".join(pairs)))
    return names


def read_files(request: Request, files: Iterable[str] | None = None,
               labels: Sequence[GivenLabels] = ()) -> ResultFile:
    """Read one result's files, or all of them; --metric is refused where there are no features.

    `labels`: of files that have none.
    """
    max_memory(request)  # a wrong one is known before the work
    check_metric(request)
    files = list(request.files if files is None else files)
    if not labels and request.labels and not os.path.isdir(request.labels[0]):
        files += request.labels
    phase(f"reading {', '.join(map(os.path.basename, files))}")
    data = read_result(*files, names=names_of_arrays(request), labels=labels,
                       reading=reading(request))
    if request.given(*OF_FEATURES):
        data.features("--metric, --normalize, --no-normalize", remedy="leave them out")
    if request.pool is not None:
        data.features("--pool", remedy="leave it out")
        return _pooled(data, request.pool)
    return data


def check_metric(request: Request) -> None:
    """Refuse what is no distance after --metric; of a measure, say which option takes it."""
    name, meant = request.metric, None
    if name is not None and name not in METRICS:
        with contextlib.suppress(InputError):
            meant = f"--measure {measure(any_case(name)).name}"
        check_choice(name, "--metric", METRICS, meant)


def _pooled(data: ResultFile, pooling: str) -> ResultFile:
    """Return tracklets in the place of their frames."""
    sides: dict[str, Any] = {}
    for side in ("query", "gallery"):
        if getattr(data, side).video is None:
            raise InputError("--pool", f"{side}_tracklet in the file, the tracklet of each frame",
                             "none")
        sides[f"{side}_features"], sides[side] = pool_frames(
            getattr(data, f"{side}_features"), getattr(data, side), pooling)
    return replace(data, **sides, layout=f"{data.layout}; frames pooled by {pooling}")


def signed(request: Request, result: Result) -> Result:
    """Return a result whose signature has the pooling of frames, where there is one."""
    if request.pool is None:
        return result
    return replace(result, signature=result.signature.changed({"pool": request.pool}))


def how(request: Request, conventions: Sequence[Convention], bar: Any = None) -> How:
    """Return how a command ranks and evaluates, from its options; `bar`: a progress bar."""
    check_metric(request)
    lists = _read_lists(request, conventions)
    return with_bar(How(tuple(conventions), request.metric, request.normalize, lists,
                        max_memory(request), None, request.threads), bar)


def with_bar(how: How, bar: Any) -> How:
    """Return how, with a progress bar if there is one."""
    return replace(how, progress=None if bar is None else bar.update)


def max_memory(request: Request) -> int | None:
    """Return the bytes of --max-memory, where a command has it and it was given."""
    given = request.max_memory
    return None if given is None else bytes_of(given, "--max-memory")


def convention_names(request: Request, default: str = "matlab") -> list[str] | None:
    """Return the names after every --convention, each once; None for `all`."""
    given = [default] if request.convention is None else request.convention
    requested = list(dict.fromkeys(known_as(name.strip())
                                   for names in given for name in names.split(",")))
    for name in requested:
        key = None if name in NAMES else benchmark_named(name)
        if key is not None:
            raise InputError("--convention", got=f"{name!r} is a benchmark, not a convention",
                             remedy=f"--protocol {key} evaluates it as papers do, and reid-ref "
                             "protocols lists what else they print")
        check_known(name, "--convention", ("all",))
    if "all" not in requested:
        return requested
    if len(requested) > 1:
        raise InputError("--convention", "all, or names", ', '.join(requested), "all has every "
                         "convention that applies")
    return None


def requested(request: Request, default: str = "matlab") -> tuple[How, dict[str, str] | None]:
    """Return how to evaluate under the conventions requested, with the choices after --set; and
    why `all` is less, None where they are named.
    """
    names, left_out = convention_names(request, default), None
    if names is None:
        left_out = {name: why for name, why in NOT_IN_ALL.items()
                    if not (request.index_lists and CONVENTIONS[name].needs_lists)}
        names = [name for name in CONVENTIONS if name not in left_out]
    return how(request, with_choices(request, [CONVENTIONS[name] for name in names])), left_out


def one_convention(request: Request, purpose: str = "") -> Convention:
    """Return the only convention that is requested; `purpose` says why there is only one."""
    names = convention_names(request)
    if names is None or len(names) > 1:
        raise InputError("--convention", f"one{purpose}", ', '.join(names or ['all']), "name one")
    return with_choices(request, [CONVENTIONS[names[0]]])[0]


def with_choices(request: Request, conventions: Iterable[Convention]) -> list[Convention]:
    """Return the conventions with the choices after --set."""
    choices = choices_of_text(request.choices, "--set")
    return [changed(convention, choices, "--set") for convention in conventions]


def named(request: Request) -> list[str]:
    """Return the measures after --measure, all of which are known; none without it."""
    if request.measure is None:
        return []
    return list(dict.fromkeys(measure(any_case(name.strip())).name
                              for name in request.measure.split(",")))


def check_measures(measures: Iterable[str], results: Collection[Result]) -> None:
    """Refuse a measure after --measure that is not defined for a result."""
    for name in measures:
        for result in results:
            result.value(name)


def _read_lists(request: Request, conventions: Iterable[Convention]) -> QueryLists | None:
    """Read the lists after --index-lists, if one of the conventions takes them."""
    if not request.index_lists:
        return None
    if not any(convention.needs_lists for convention in conventions):
        raise InputError("--index-lists", "a convention that takes lists, veri or oxford",
                         remedy="leave it out, or name one of them")
    return read_index_lists(*request.index_lists)


def cmc_length(request: Request) -> int | None:
    """Return how many ranks of the CMC curve JSON has; None is all."""
    if request.cmc is None:
        return 50
    if request.cmc == "all":
        return None
    if not is_whole(request.cmc) or int(request.cmc) < 1:
        raise InputError("--cmc", "all or a whole number from 1", repr(request.cmc))
    return int(request.cmc)


def progress_bar(total: int, what: str = "") -> Any:
    """Say what is done with so many queries, and from the third second on how far it is.

    Nothing is said where stderr is no terminal, or with --quiet.
    """
    what = what or f"ranking {total:,} queries"
    phase(what)
    return _shown_bar(total, what) if shows_progress() else contextlib.nullcontext()


@contextlib.contextmanager
def _shown_bar(total: int, what: str) -> Iterator[Any]:
    """Draw a bar every two seconds, also where no progress is reported."""
    from tqdm import tqdm

    done = threading.Event()

    def draw() -> None:
        while not done.wait(2):
            bar.delay = 0
            bar.refresh()

    with tqdm(desc=what, total=total, delay=2, leave=False, file=sys.stderr,
              bar_format="{l_bar}{bar}| {elapsed}, {remaining} left") as bar:
        thread = threading.Thread(target=draw, daemon=True)
        thread.start()
        try:
            yield bar
        finally:
            done.set()
            thread.join()
