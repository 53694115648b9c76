"""What benchmarks are called, and the convention by which papers print numbers on them."""
from __future__ import annotations

import re
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from reid_ref.arrays import InputError, check_choice
from reid_ref.datasets.fingerprints import FINGERPRINTS
from reid_ref.disk import rows_of_table
from reid_ref.labels import Labels


class Benchmark(NamedTuple):
    """A benchmark of the field.

    Parameters
    ----------
    key, name : str
    spellings : tuple of str
        As `folded` leaves them, but for the key and the name; a space may be missing.
    convention : str
        That papers print; empty where no convention of a ranked list gives it.
    note : str
        What else is needed for their number.
    sizes : tuple of str
        Queries and gallery images, as "3803x301", where no labels are on record.
    """

    key: str
    name: str
    spellings: tuple[str, ...]
    convention: str
    note: str
    sizes: tuple[str, ...]


def folded(text: str, between: str = " ") -> str:
    """Return a text in small letters, with one space or something else between words and numbers.

    Examples
    --------
    >>> folded("MSMT17_V1"), folded("Market-1501", "-")
    ('msmt17 v1', 'market-1501')
    """
    return re.sub(r"[^a-z0-9]+", between, text.casefold()).strip(between)


def _read(row: dict[str, str]) -> Benchmark:
    called = row["key"], row["name"], *filter(None, row["spellings"].split(";"))
    return Benchmark(row["key"], row["name"], tuple(map(folded, called)), row["convention"],
                     row["note"], tuple(row["sizes"].split(";")))


#: Key to benchmark; those of `FINGERPRINTS` have the same key.
BENCHMARKS = MappingProxyType({
    row["key"]: _read(row) for row in rows_of_table("datasets/benchmarks.csv")})


class Images(NamedTuple):
    """How many images ask and answer on a benchmark, or on a part of it, and who says so.

    Parameters
    ----------
    key : str
        Of `BENCHMARKS`; those of `FINGERPRINTS` have their counts there.
    part : str
    query, gallery : int
    source, note : str
    """

    key: str
    part: str
    query: int
    gallery: int
    source: str
    note: str


#: Every part of every benchmark whose counts have a source.
IMAGES = tuple(Images(row["key"], row["part"], int(row["query"]), int(row["gallery"]),
                      row["source"], row["note"]) for row in rows_of_table("datasets/images.csv"))

_KEYS = {spelling.replace(" ", ""): benchmark.key for benchmark in BENCHMARKS.values()
         for spelling in benchmark.spellings}
_NAMES = re.compile(r"\b(?:" + "|".join(
    spelling.replace(" ", " ?") for spelling in sorted(
        {name for benchmark in BENCHMARKS.values() for name in benchmark.spellings},
        key=len, reverse=True)) + r")\b")


def benchmarks_in(text: str) -> list[str]:
    """Return the keys of the benchmarks that a text names, in its order.

    Examples
    --------
    >>> benchmarks_in("DukeMTMC-reID to Market1501"), benchmarks_in("supermarket")
    (['dukemtmc', 'market1501'], [])
    """
    named = (name.replace(" ", "") for name in _NAMES.findall(folded(text)))
    return list(dict.fromkeys(_KEYS[name] for name in named))


def benchmark_named(name: str) -> str | None:
    """Return the key of the benchmark that is called so, in any spelling.

    Examples
    --------
    >>> benchmark_named("Market-1501"), benchmark_named("DukeMTMC-reID"), benchmark_named("mine")
    ('market1501', 'dukemtmc', None)
    """
    return _KEYS.get(folded(name, ""))


def counted_benchmark(name: str, argument: str = "dataset") -> str:
    """Return the key of `FINGERPRINTS` that a name in any spelling means.

    Raises
    ------
    InputError
        An unknown name, or a benchmark whose good images are not on record.

    Examples
    --------
    >>> counted_benchmark("MSMT17_V1")
    'msmt17'
    """
    key = benchmark_named(name)
    if key is not None and key not in FINGERPRINTS:
        raise InputError(
            argument, got=f"the good images of {BENCHMARKS[key].name} are not on record",
            remedy=f"known: {', '.join(FINGERPRINTS)}")
    check_choice(key or name, argument, FINGERPRINTS)
    return str(key)


def expected_convention(query: Labels, gallery: Labels) -> tuple[str, str, str] | None:
    """Return why papers do not print the numbers of Market-1501's rules on such labels.

    Returns
    -------
    (str, str, str) or None
        What the labels show, the convention that papers print on such data, and what else it
        takes; None for labels as those of Market-1501.

    Examples
    --------
    >>> expected_convention(Labels([1, 2], [1, 1]), Labels([1, 2], [2, 2]))
    ('query and gallery share no camera', 'torchreid', '')
    """
    size = f"{len(query)}x{len(gallery)}"
    for known in BENCHMARKS.values():
        if size in known.sizes:
            return f"the counts are those of {known.name}", known.convention, known.note
    if len(np.union1d(query.camera, gallery.camera)) == 1:
        return None  # the warning of queries without a match says it
    if not np.intersect1d(query.camera, gallery.camera).size:
        return "query and gallery share no camera", "torchreid", ""
    identity = gallery.identity[gallery.identity > 0]
    if len(identity) > 1 and len(np.unique(identity)) == len(identity):
        return "every identity has one gallery image", "torchreid", ""
    return None
