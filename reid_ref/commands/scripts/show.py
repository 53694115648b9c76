"""What scripts, port and fast path answer, and the lines of a driver next to its authors' figures.
"""
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from reid_ref.commands.scripts.compute.drivers import DriverAnswer, LineNumbers
from reid_ref.commands.scripts.compute.programs import ScriptAnswer
from reid_ref.console.answers import Dataset, NamedCurve, OfFiles, dataset_of, table_of_curves
from reid_ref.datasets import Recognised, recognise
from reid_ref.datasets.driver_files import DRIVERS, Driver
from reid_ref.datasets.published import Published, load
from reid_ref.measures import RANKS
from reid_ref.text import NO_BENCHMARK, by_reason, named_rows, filenames, percent, signature_rows
from reid_ref.text.table import lines as table_lines


@dataclass(frozen=True)
class Scripts(OfFiles):
    """The answers as JSON has them."""

    convention: str
    results: list[NamedCurve]
    largest_difference: float


def as_table(answers: Mapping[str, ScriptAnswer], difference: float,
             ranks: Sequence[int] = RANKS) -> str:
    """Return one column per program, and their largest difference."""
    text = table_of_curves("", answers, ranks, repr)
    verdict = "equal to the last bit" if difference == 0 else "NOT equal"
    length = len(next(iter(answers.values())).cmc)
    return "\n".join([*text, "", f"largest difference of mAP and {length:,} entries of CMC: "
                                 f"{difference!r} ({verdict})"])


def published_lines(driver: Driver, files: Iterable[str],
                    benchmark: Recognised | None) -> dict[str, Published]:
    """Return the figure that the driver's authors print for each method, of these images.

    The features are known by the names of their files.

    Examples
    --------
    >>> from reid_ref.datasets import FINGERPRINTS
    >>> from reid_ref.datasets.driver_files import DRIVERS
    >>> market = Recognised(FINGERPRINTS["market1501"], off=())
    >>> lines = published_lines(DRIVERS["market1501"], ["ResNet_50_IDE_test.mat"], market)
    >>> lines["Euclidean"].rank1, lines["Euclidean"].mAP
    ('78.92', '55.03')
    """
    if benchmark is None or benchmark.off:
        return {}
    text = " ".join(files).lower()
    model = ("IDE_CaffeNet" if "caffenet" in text else "LOMO" if "lomo" in text else
             "IDE_ResNet_50")
    name, _, split = benchmark.fingerprint.name.partition(" ")
    rows = [row for row in load() if row.source_repo == driver.repository
            and row.dataset == name and row.split.startswith(split.strip("()"))]
    return {method: row for method in driver.methods for row in rows
            if row.method == f"{model} + {method}"}


def _known(files: list[str],
           answer: DriverAnswer) -> tuple[Recognised | None, dict[str, Published]]:
    """Return the benchmark that the images are of, and its figures by method."""
    benchmark = recognise(answer.inputs.query.labels, answer.inputs.gallery.labels)
    return benchmark, published_lines(DRIVERS[answer.name], files, benchmark)


class PrintedFigure(NamedTuple):
    """The figure that the driver's authors print, with its digits."""

    key: str
    Rank_1: str
    mAP: str


@dataclass(frozen=True, kw_only=True)
class LineRow(LineNumbers):
    """One line of the driver."""

    method: str
    published: PrintedFigure | None


class DriverLines(NamedTuple):
    """What a driver prints as JSON has it."""

    files: list[str]
    driver: str
    script: str
    dataset: Dataset | None
    seed: int | None
    lines: list[LineRow]
    left_out: dict[str, str]
    complex_distances: int | None
    signature: str


def driver_lines(files: list[str], answer: DriverAnswer) -> DriverLines:
    """Return what a driver prints, for JSON."""
    benchmark, figures = _known(files, answer)
    published = {method: PrintedFigure(figure.key, figure.rank1, figure.mAP)
                 for method, figure in figures.items()}
    lines = [LineRow(method=method, published=published.get(method), **vars(line))
             for method, line in answer.lines.items()]
    return DriverLines(
        files, answer.name, DRIVERS[answer.name].script, dataset_of(benchmark),
        answer.seed if answer.inputs.train else None, lines, answer.left_out, answer.imaginary,
        answer.signature)


def driver_table(files: list[str], answer: DriverAnswer) -> str:
    """Return the lines for a terminal of 80 columns, in percent."""
    driver, inputs = DRIVERS[answer.name], answer.inputs
    benchmark, figures = _known(files, answer)
    sizes = f"{len(inputs.query):,} queries, {len(inputs.gallery):,} gallery"
    sizes += f", {len(inputs.train):,} train" if inputs.train else ""
    lines = named_rows([
        ("input", filenames(files)),
        ("driver", f"{driver.script} of {driver.repository} ({driver.commit})"),
        ("images", f"{sizes}; features {inputs.query.features.shape[1]}-d, computed in "
         f"{driver.dtype}"), ("dataset", benchmark.sentence if benchmark else NO_BENCHMARK),
        *([("seed", f"{answer.seed}, of the training pairs")] if inputs.train else [])])
    heads = ["percent", "Rank-1", "mAP"]
    heads += ["pairs: Rank-1", "mAP"] if driver.camera_pairs else []
    heads += ["published", ""] if figures else []
    cells = []
    for method in driver.methods:
        values, figure = _cells(answer.lines.get(method)), figures.get(method)
        values += [figure.rank1, figure.mAP] if figure else []
        cells.append([method, *values, *[""] * (len(heads) - 1 - len(values))])
    lines += ["", *table_lines(heads, cells, indent=24), ""]
    return "\n".join([*lines, *named_rows(_notes(driver, answer, figures)),
                      *signature_rows(answer.signature)])


def _cells(line: LineNumbers | None) -> list[str]:
    if line is None:
        return ["-", "-"]
    # A dash is a line that was not computed; NaN is what the driver prints.
    return [percent(line.Rank_1, "nan"), percent(line.mAP, "nan"),
            *(f"{100 * value:.4f}" for value in line.camera_pairs or ())]


def _notes(driver: Driver, answer: DriverAnswer,
           figures: dict[str, Published]) -> list[tuple[str, str]]:
    notes = []
    if answer.imaginary:
        n_pairs = len(answer.inputs.query) * len(answer.inputs.gallery)
        notes.append(("Euclidean", f"{driver.dtype} rounding produced {answer.imaginary:,} "
                      f"complex distances of {n_pairs:,}, roots of negative squares (MATLAB sorts "
                      "them by absolute value); reid-ref evaluate ranks by exact distances"))
    cells = [cell for line in answer.lines.values() for cell in _cells(line)]
    if driver.camera_pairs and "nan" in cells:
        notes.append(("nan", "as in the driver: one query without a match makes mAP NaN; one pair "
                      "of cameras without a score makes the means over pairs NaN. reid-ref "
                      "evaluate --by camera-pair shows which, and counts the others"))
    notes += [("left out", f"{', '.join(methods)}: {reason}")
              for reason, methods in by_reason(answer.left_out).items()]
    for figure in list(figures.values())[:1]:
        notes.append(("published", f"{figure.method.partition(' + ')[0]}, {figure.source_repo}, "
                      f"{figure.source_path}: only its features give these digits"))
    return notes
