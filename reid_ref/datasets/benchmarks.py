"""What benchmarks are called, how many images they have, and which a text names."""
import re
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from reid_ref.arrays import InputError, check_choice, in_a_line
from reid_ref.datasets.fingerprints import FINGERPRINTS
from reid_ref.datasets.records import OnFirstUse, tables
from reid_ref.labels import Labels

#: The fields of a benchmark's file, with the type of a value, or of a list's values in a list.
FIELDS = {"name": str, "spellings": [str], "fingerprint": object, "images": [dict],
          "folders": [dict], "protocols": [dict]}


class ImageCounts(NamedTuple):
    """How many images ask and answer on a benchmark, or on a part of it, and the source.

    Parameters
    ----------
    key : str
        Of `BENCHMARKS`; those of `FINGERPRINTS` have their counts there.
    part : str
    query, gallery : int
    source, note : str
    protocol : str
        That such a file is a trial of; empty if it is one of a part's, or of none.
    """

    key: str
    query: int
    gallery: int
    source: str
    part: str = ""
    note: str = ""
    protocol: str = ""


class Benchmark(NamedTuple):
    """A benchmark of the field.

    Parameters
    ----------
    key, name : str
        The key is the name of its file.
    spellings : tuple of str
        As `folded` leaves them, the key and the name among them; a space may be missing.
    images : tuple of Images
        Every part whose counts have a source.
    protocols : tuple of mapping
        The tables of its protocols, which `reid_ref.protocols` reads. The first has the number
        that the benchmark's name stands for.
    """

    key: str
    name: str
    spellings: tuple[str, ...]
    images: tuple[ImageCounts, ...]
    protocols: tuple[Mapping[str, Any], ...]


def folded(text: str, between: str = " ") -> str:
    """Return a text in small letters, with one space or something else between words and numbers.

    Examples
    --------
    >>> folded("MSMT17_V1"), folded("Market-1501", "-")
    ('msmt17 v1', 'market-1501')
    """
    return re.sub(r"[^a-z0-9]+", between, text.casefold()).strip(between)


def _benchmark(key: str, table: Mapping[str, Any]) -> Benchmark:
    called = key, table["name"], *table.get("spellings", ())
    images = tuple(ImageCounts(key, **row) for row in table.get("images", ()))
    return Benchmark(key, table["name"], tuple(map(folded, called)), images,
                     tuple(table.get("protocols", ())))


#: Key to benchmark; those of `FINGERPRINTS` have the same key.
BENCHMARKS: Mapping[str, Benchmark] = OnFirstUse(
    lambda: {key: (key, table) for key, table in tables().items()}, lambda pair: _benchmark(*pair))


@cache
def _keys() -> dict[str, str]:
    """Return every spelling without its spaces, and the key that it means."""
    return {spelling.replace(" ", ""): benchmark.key for benchmark in BENCHMARKS.values()
            for spelling in benchmark.spellings}


@cache
def _names() -> re.Pattern[str]:
    return re.compile(r"\b(?:" + "|".join(
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
    named = (name.replace(" ", "") for name in _names().findall(folded(text)))
    return list(dict.fromkeys(_keys()[name] for name in named))


def without_names(text: str) -> str:
    """Return a text as `folded`, without the names of benchmarks.

    Examples
    --------
    >>> without_names("BoT on Market-1501")
    'bot on'
    """
    return folded(_names().sub(" ", folded(text)))


def benchmark_named(name: str) -> str | None:
    """Return the key of the benchmark that is called so, in any spelling.

    Examples
    --------
    >>> benchmark_named("Market-1501"), benchmark_named("DukeMTMC-reID"), benchmark_named("mine")
    ('market1501', 'dukemtmc', None)
    """
    return _keys().get(folded(name, ""))


def known_benchmark(name: str, argument: str = "dataset") -> str:
    """Return the key of `BENCHMARKS` that a name in any spelling means, or refuse it."""
    key = benchmark_named(name)
    check_choice(key or name, argument, BENCHMARKS)
    return str(key)


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
            remedy=f"known: {in_a_line([*FINGERPRINTS])}")
    check_choice(key or name, argument, FINGERPRINTS)
    return str(key)


def unlike_market(query: Labels, gallery: Labels) -> str:
    """Return what shows that labels are no benchmark like Market-1501; empty if nothing does.

    Examples
    --------
    >>> unlike_market(Labels([1, 2], [1, 1]), Labels([1, 2], [2, 2]))
    'query and gallery share no camera'
    """
    if query.camera is not None and gallery.camera is not None:
        if len(np.union1d(query.camera, gallery.camera)) == 1:
            return ""  # the warning of queries without a match covers it
        if not np.intersect1d(query.camera, gallery.camera).size:
            return "query and gallery share no camera"
    identity = gallery.identity[gallery.identity > 0]
    if len(identity) > 1 and len(np.unique(identity)) == len(identity):
        return "every identity has one gallery image"
    return ""
