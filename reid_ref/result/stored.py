"""What a file of values per query holds, and whether its summaries follow from them."""
from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from reid_ref import metrics
from reid_ref.arrays import Doubles, InputError
from reid_ref.conventions import ARITHMETIC, Convention
from reid_ref.disk import PathLike, read_lines
from reid_ref.labels import JUNK
from reid_ref.ranking.good_ranks import of_queries
from reid_ref.result import SAVED, STATUSES, Fingerprints, PerQuery, Result
from reid_ref.signature import Signature
from reid_ref.text import number, numbers

SUFFIXES = (".json", ".csv")


@dataclass(frozen=True)
class QueryTable:
    """One file.

    Parameters
    ----------
    path : str
    numbers : dict
        The whole object; without a signature where the file is CSV.
    per_query : PerQuery
    counted : bool, shape (n_query,)
        As written: which queries are in the mean of mAP.
    result : Result or None
        Of a saved result, all of it.
    """

    path: str
    numbers: Mapping[str, Any]
    per_query: PerQuery
    counted: npt.NDArray[np.bool_]
    result: Result | None

    @property
    def fingerprints(self) -> Fingerprints:
        """Fingerprints of the labels; empty where the file has none."""
        labels = _dict(self.numbers.get("labels"))
        return Fingerprints(labels.get("query", ""), labels.get("gallery", ""))


def table_of_rows(value: dict[str, Any], path: PathLike, expected: str) -> QueryTable:
    """Return the table of a file with an object, or a line, for each query."""
    rows = value_of(value, "queries", lambda rows: isinstance(rows, list) and len(rows) > 0,
                    str(path), expected)
    columns = {key: [value_of(row, key, fits, f"{path}: query {k}", expected)
                     for k, row in enumerate(rows)] for key, fits in _COLUMNS.items()}
    for k, named in enumerate(columns["query"]):
        if named != k:
            raise InputError(f"{path}: query {k}: query", f"{k}, for queries are numbered from "
                             "0, in order", named, "write the file again")
    whole = {key: np.array([value or 0 for value in columns[key]], dtype=np.int64)
             for key in ("identity", "camera", "first_match", "n_good", "n_junk")}
    per_query = PerQuery(
        ap=_doubles(columns["ap"]), inp=_doubles(columns["inp"]),
        status=np.array(columns["status"]), **whole)
    return QueryTable(str(path), value, per_query, np.array(columns["counted"]), None)


def read_object(path: PathLike, expected: str) -> dict[str, Any]:
    """Return the object of a JSON file, or the rows of a CSV file, not yet checked.

    `expected` is for messages: what the file should be.
    """
    is_csv = Path(path).suffix.lower() == ".csv"
    text = "\n".join(read_lines(Path(path), expected))
    try:
        value = {"queries": _csv_rows(text)} if is_csv else json.loads(text)
    except (ValueError, RecursionError, csv.Error) as error:
        raise InputError(path, got=f"cannot be read as {'CSV' if is_csv else 'JSON'} ({error})",
                         remedy=f"expected {expected}") from None
    if not isinstance(value, dict):
        raise InputError(path, f"one JSON object, {expected}")
    if value.get("schema", 1) not in range(1, SAVED + 1):
        raise InputError(f"{path}: schema", f"a version up to {SAVED}", shown(value["schema"]),
                         "take a newer reid-ref")
    if "signature" in value and "queries" not in value:
        raise InputError(path, "the values of each query", "summaries alone",
                         "write them with reid-ref evaluate FILE --per-query OUT.json")
    if not is_csv:
        value_of(value, "signature", lambda text: isinstance(text, str), str(path), expected)
    return value


def value_of(value: Any, key: str, fits: Callable[[Any], bool], where: str, expected: str) -> Any:
    """Return the value of a key."""
    if not isinstance(value, dict) or key not in value or not fits(value[key]):
        got = shown(value[key]) if isinstance(value, dict) and key in value else "none"
        raise InputError(f"{where}: {key}", expected, got)
    return value[key]


def shown(value: Any) -> str:
    """Return the beginning of a JSON value, for messages."""
    return json.dumps(value)[:40]


def _csv_rows(text: str) -> list[dict[str, Any]]:
    """Return the rows as JSON has them."""
    return [{key: _csv_value(row[key]) for key in _COLUMNS if row.get(key) is not None}
            for row in csv.DictReader(text.splitlines())]


def _csv_value(text: str) -> Any:
    words = {"": None, "True": True, "False": False}
    if text in words:
        return words[text]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def is_whole(value: Any) -> bool:
    """Return whether a JSON value is an integer of 64 bits."""
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63


def _is_share(value: Any) -> bool:
    # Not above the bound: NaN, infinity, and what no double holds.
    return value is None or isinstance(value, (int, float)) and not isinstance(
        value, bool) and abs(value) < 2**63


#: Each key of a query, and what its value may be.
_COLUMNS: dict[str, Callable[[Any], bool]] = {
    "query": is_whole, "identity": is_whole, "camera": is_whole,
    "status": lambda value: isinstance(value, str) and value in STATUSES,
    "counted": lambda value: isinstance(value, bool),
    "ap": _is_share, "inp": _is_share,
    "first_match": lambda value: value is None or is_whole(value) and value > 0,
    "n_good": lambda value: is_whole(value) and value >= 0,
    "n_junk": lambda value: is_whole(value) and value >= 0}


def _doubles(values: list[float | None]) -> Doubles:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


@dataclass(frozen=True)
class Stored(QueryTable):
    """One file with a signature.

    Parameters
    ----------
    fields : Signature
    convention : Convention
        What was evaluated: as the signature says, or as it was saved.
    """

    fields: Signature
    convention: Convention

    def in_mean(self, values: Doubles) -> Doubles:
        """Return the values, one per query, that the convention takes into a mean."""
        loaded = self.per_query.status != "not loaded"
        return self.convention.counted(values[loaded], self.per_query.n_good[loaded])


@dataclass(frozen=True)
class Check:
    """One number of the file, and the same computed again.

    Parameters
    ----------
    name : str
    written, found : Any
        Plain JSON values; None is NaN.
    source : str
        What it was computed from.
    """

    name: str
    written: Any
    found: Any
    source: str = "queries"

    @property
    def agrees(self) -> bool:
        """Whether both are the same, to the last bit."""
        return bool(self.written == self.found)


def checks(stored: Stored) -> Iterator[Check]:
    """Compute every summary again from the values of each query, and these from saved ranks."""
    yield from _images(stored)
    yield from _means(stored)
    if stored.convention.curve.counts:
        yield from _curve(stored)
    if stored.result is not None:
        yield from _of_gallery(stored.result)
        yield from _of_ranks(stored.result)
        yield from _of_curve(stored, stored.result)


def ranks_written(stored: Stored) -> list[str]:
    """Return the names of each Rank-k in the file."""
    return [name for name in stored.numbers if re.fullmatch("Rank-[1-9][0-9]{0,6}", name)]


def _images(stored: Stored) -> Iterator[Check]:
    """Yield the counts of queries, of images and of good pairs."""
    per_query, counts = stored.per_query, _dict(stored.numbers.get("counts"))
    loaded = np.count_nonzero(per_query.status != "not loaded")
    yield Check("queries of the signature", int(stored.fields["queries"]), int(loaded))
    gallery, absent = counts.get("gallery"), counts.get("gallery_not_loaded")
    if isinstance(gallery, int) and isinstance(absent, int):
        yield Check("gallery of the signature", int(stored.fields["gallery"]), gallery - absent)
    yield Check("counts: query", counts.get("query"), len(per_query.status))
    yield Check("counts: good", counts.get("good"), int(per_query.n_good.sum()))
    yield Check("counts: status", counts.get("status"), {
        name: int(np.count_nonzero(per_query.status == name)) for name in STATUSES})
    if len(per_query.camera):
        yield Check("labels: query", _dict(stored.numbers.get("labels")).get("query"),
                    per_query.labels().fingerprint())


def _means(stored: Stored) -> Iterator[Check]:
    """Yield mAP, mINP and the number of queries in them, in the convention's own arithmetic."""
    per_query = stored.per_query
    # The last good image of a list that is cut may have any rank.
    is_open = "ranked" in stored.fields and bool(
        (np.isnan(per_query.inp) & (per_query.n_good > 0)).any())
    for name, values in (("mAP", per_query.ap), ("mINP", per_query.inp)):
        mean = stored.convention.mean(stored.in_mean(values))
        yield Check(name, stored.numbers.get(name),
                    None if name == "mINP" and is_open else number(mean))
    kept = stored.in_mean(np.arange(len(stored.counted), dtype=np.float64)).astype(np.int64)
    yield Check("counted", stored.numbers.get("counted"), len(kept))
    yield Check("queries that are counted", np.flatnonzero(stored.counted).tolist(), kept.tolist())


def _curve(stored: Stored) -> Iterator[Check]:
    """Yield Rank-k and the curve."""
    written, ranks = stored.numbers.get("cmc"), ranks_written(stored)
    length = len(written) if isinstance(written, list) else 0
    every = [int(name.removeprefix("Rank-")) for name in ranks]
    curve = _first_matches(stored, max([length, *every]))
    for k in every:
        yield Check(f"Rank-{k}", stored.numbers[f"Rank-{k}"], number(float(curve[k - 1])))
    yield Check("cmc", written, numbers(curve[:length]))


def _first_matches(stored: Stored, length: int) -> Doubles:
    loaded = stored.per_query.status != "not loaded"
    n_query = stored.convention.n_in_cmc(stored.per_query.n_good[loaded])
    curve = metrics.cumulative_matching(stored.per_query.first_match[loaded], length, n_query)
    return ARITHMETIC[stored.convention.arithmetic].curve(curve, n_query)


def _of_gallery(result: Result) -> Iterator[Check]:
    """Yield how many gallery images are left, by the convention's rules for label -1."""
    counts, per_query, convention = result.counts, result.per_query, result.convention
    absent = 0 if convention.loaded(np.array([JUNK])).all() else counts.gallery_junk
    ignored = counts.gallery_junk - absent if "label -1" in convention.ignored else 0
    other = (per_query.n_junk - ignored)[per_query.status != "not loaded"]
    for name, found in (("gallery_not_loaded", absent),
                        ("gallery_kept", counts.gallery - ignored - absent),
                        ("junk_same_camera", int(other.sum()))):
        yield Check(f"counts: {name}", getattr(counts, name), found, "other counts")


def _of_ranks(result: Result) -> Iterator[Check]:
    """Yield what each query got, and a curve of all good images."""
    convention, per_query = result.convention, result.per_query
    loaded = per_query.status != "not loaded"
    whole = of_queries(result.ranks, loaded)
    ranks = convention.cut_off(whole)
    inp = metrics.inverse_negative_penalty(ranks)
    inp[np.isnan(per_query.inp[loaded]) & (whole.found < whole.n_good)] = np.nan  # a cut list
    for name, values in (("ap", convention.average_precision(ranks)), ("inp", inp)):
        yield Check(name, numbers(getattr(per_query, name)[loaded]), numbers(values), "ranks")
    yield Check("counts: tied", result.counts.tied, metrics.count_tied_queries(whole), "ranks")
    yield Check("first_match", per_query.first_match[loaded].tolist(), ranks.first_match.tolist(),
                "ranks")
    curve = convention.curve
    if curve.of_rows is None and not curve.counts:
        yield Check("cmc", numbers(result.cmc),
                    numbers(convention.curve_of_ranks(ranks, len(result.cmc))), "ranks")


def _of_curve(stored: Stored, result: Result) -> Iterator[Check]:
    """Yield each Rank-k of a curve that no values per query give."""
    if not result.convention.curve.counts:
        for name in ranks_written(stored):
            k = int(name.removeprefix("Rank-"))
            found = number(float(result.cmc[k - 1])) if k <= len(result.cmc) else None
            yield Check(name, stored.numbers[name], found, "entries of cmc")


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
