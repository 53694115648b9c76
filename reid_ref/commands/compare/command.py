"""`reid-ref compare`: is one system better than another? Differences with their intervals."""
import argparse
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from reid_ref.analysis.compare import compare_systems
from reid_ref.analysis.compare.answer import Compared
from reid_ref.arrays import ComparisonWarning, InputError, each_warning_once, warn
from reid_ref.commands.compare import show
from reid_ref.commands.compare.show import benchmarks
from reid_ref.console import confidence, files as ranked_lists, options as common, protocols
from reid_ref.console import systems
from reid_ref.console.given import under_saved
from reid_ref.console.answers import FORMATS, show_answer
from reid_ref.console.request import Request, option
from reid_ref.console.terminal import phase
from reid_ref.console.words import add_argument
from reid_ref.datasets.fingerprints import FINGERPRINTS
from reid_ref.measures import measure_names
from reid_ref.result import Result
from reid_ref.result.systems import METRICS, warn_copies
from reid_ref.statistics.units import RESAMPLES


class Read(NamedTuple):
    """A result, and the file that it is from."""

    file: str
    result: Result


#: The results of each system on one benchmark; several of one system are its runs.
OnBenchmark = dict[str, list[Read]]


@dataclass(frozen=True, kw_only=True)
class CompareRequest(Request):
    """What the command line requests."""

    all_pairs: bool = option("--all-pairs", False, action="store_true")
    paired_seeds: bool = option("--paired-seeds", False, action="store_true")
    underline: bool = option("--underline", False, action="store_true")


def add(command: argparse.ArgumentParser) -> None:
    """Print the difference of each system to the baseline, over the same queries: its interval,
    and p of a paired test by identity. Of systems on several benchmarks: one row per system, as
    the main table of a paper has them.

    Examples:
        reid-ref compare fixtures/baselines/person-reidentification-retail-0031.json.gz \
fixtures/baselines/person-reidentification-retail-0076.json.gz
        reid-ref compare base=fixtures/baselines/person-reidentification-retail-0031.json.gz \
ours=fixtures/baselines/person-reidentification-retail-0076.json.gz --format latex

    Files: result files that hold everything, as reid-ref evaluate reads them; ranked lists, with
    --labels; or .json files that reid-ref evaluate --save wrote, which need no features. A SYSTEM
    is a file; a folder of saved results; or NAME=FILE[,FILE...], a file for each benchmark, or
    several on one, a method trained with several seeds: its number is their mean, and whether
    these trained models differ, and whether the methods do, are two answers. The benchmark is the
    protocol, which the file names, or that of its counts; else it is named after the file. Exit
    code: 0; 2 for wrong input, or other labels.
    """
    common.add_files(command)
    CompareRequest.add(command, "--all-pairs", "--paired-seeds", "--underline")
    # Of distances; there is the usual one alone.
    command.add_argument("--metric", metavar="NAME", help=argparse.SUPPRESS)
    add_argument(command, "--measure", default=",".join(METRICS), filled={
        "measures": measure_names(), "default": ",".join(METRICS)})
    Request.add(command, "--convention", "--set", "--normalize", "--index-lists", "--max-memory",
                "--threads", "--name", formats=FORMATS)
    Request.add(command, *protocols.OF_PROTOCOLS, *ranked_lists.OF_LABELS, *confidence.OF_TESTS)


def run(request: CompareRequest) -> None:
    if len(request.files) < 2:
        raise InputError("FILE", "at least 2", len(request.files), "reid-ref evaluate shows one")
    if request.metric is not None:
        raise InputError("--metric", "--measure for the numbers to print, such as --measure "
                         "mAP,Rank-1", f"--metric {request.metric}, which elsewhere is the "
                         "distance between features", "there is no choice of distances here")
    metrics, options = common.named(request), confidence.read_options(request)
    options |= {"resamples": request.resamples, "all_pairs": request.all_pairs,
                "paired_seeds": request.paired_seeds}
    every = by_benchmark(read_systems(request))
    several = len(every) > 1
    answers = {name: compared(name if several else "", on_benchmark, metrics, **options)
               for name, on_benchmark in every.items()}
    answer: Any = benchmarks.MainTable(answers) if several else next(iter(answers.values()))
    pages: Any = benchmarks if several else show
    show_answer(request.format, json=lambda: answer, table=lambda: pages.as_text(answer),
                csv=lambda: pages.as_csv(answer),
                paper=lambda: pages.as_table(answer, request.underline))


def read_systems(request: Request) -> dict[str, list[Read]]:
    """Read the files of every system; evaluate those that are no saved results."""
    every = systems.systems_of(request, protocols.check_part(request))
    convention = common.one_convention(request, ", since systems are compared under one")
    how, results = common.how(request, [convention]), dict[str, list[Read]]()
    how = under_saved(request, how, every)
    _hint_at_seeds({given.name: given.files[0] for given in every})
    with each_warning_once():  # seeds of one system have the same labels
        for given in every:
            with given.opened():
                result, = given.results(how).values()
                results.setdefault(given.name, []).append(Read(given.files[0], result))
    phase(f"tests and intervals from {request.resamples or RESAMPLES:,} resamples")
    return results


def _hint_at_seeds(files: Mapping[str, str]) -> None:
    """Warn of systems whose names differ only by a number, for each of several methods."""
    methods = dict[str, list[str]]()
    for name, file in files.items():
        methods.setdefault(name.rstrip("0123456789").rstrip("-_."), []).append(file)
    if len(methods) > 1 and min(map(len, methods.values())) > 1:
        warn("names differ only by a number; if these are seeds of a method, write " + " ".join(
            f"{name}={','.join(runs)}" for name, runs in methods.items()), ComparisonWarning)


def by_benchmark(results: Mapping[str, list[Read]]) -> dict[str, OnBenchmark]:
    """Return the results of each benchmark, by the name of the system, with its runs.

    Systems of one file each are on one benchmark. If a system has several results on one, a
    benchmark of a single system is refused: files of other queries are no seeds.
    """
    if all(len(runs) == 1 for runs in results.values()):
        return {"": dict(results)}
    benchmarks: dict[str, OnBenchmark] = {}
    for name, runs in results.items():
        for one in runs:
            benchmarks.setdefault(_benchmark(one, benchmarks), {}).setdefault(name, []).append(one)
    first = next(iter(results))
    seeds = any(len(runs) > 1 for each in benchmarks.values() for runs in each.values())
    for benchmark, on_benchmark in benchmarks.items():
        lacking = [name for name in results if name not in on_benchmark]
        if seeds and len(on_benchmark) == 1:
            (name, runs), = on_benchmark.items()
            raise InputError(name, "files of queries that another system has, too",
                             f"{', '.join(run.file for run in runs)} on {benchmark}, which "
                             f"{', '.join(lacking)} lacks", "leave it out, or name the others")
        if seeds:
            systems.check_seeds((name, run.file) for name, runs in on_benchmark.items()
                                for run in runs)
        if first not in on_benchmark:
            raise InputError(first, f"a result on {benchmark}, since the other systems are "
                             "compared with the first", "none", "name another system first")
        if lacking:
            warn(f"{', '.join(lacking)}: no result on {benchmark}", ComparisonWarning)
    return benchmarks


def _benchmark(one: Read, benchmarks: Mapping[str, OnBenchmark]) -> str:
    """Return the protocol, with its part, or the benchmark that a result has the counts of; else
    that of the same labels, or the name of its file for a new one.
    """
    signature, counts = one.result.signature, one.result.counts
    if "protocol" in signature:
        part = signature.get("part", "all")
        return signature["protocol"] + ("" if part == "all" else f" {part}")
    identities = len(set(one.result.per_query.identity.tolist()))
    for benchmark in FINGERPRINTS.values():
        expected = benchmark.counts
        if (counts.query, identities) == (expected.query, expected.query_identities) and (
                # Many loaders leave out the images labelled -1.
                counts.gallery in (expected.gallery, expected.gallery - expected.junk)):
            return benchmark.name
    return next((name for name, others in benchmarks.items() for results in others.values()
                 if results[0].result.fingerprints == one.result.fingerprints),
                Path(one.file).stem)


def compared(benchmark: str, systems: OnBenchmark, metrics: list[str], **options: Any) -> Compared:
    """Compare systems on one benchmark; several results of one system are its seeds."""
    by_name = {name: [run.result for run in runs] for name, runs in systems.items()}
    files = [run.file for runs in systems.values() for run in runs]
    with ranked_lists.naming_errors(benchmark, files) if benchmark else nullcontext():
        warn_copies({name: {run.file: run.result for run in runs}
                     for name, runs in systems.items()})
        answer = compare_systems(by_name, metrics, **options)
    return Compared(**vars(answer), files=files, signatures={
        name: str(runs[0].signature) for name, runs in by_name.items()})
