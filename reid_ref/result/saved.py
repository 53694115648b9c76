"""Results and values per query, read from files: each value checked by itself, then together."""
from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from reid_ref.arrays import InputError, check_choice, errors_at, warn
from reid_ref.conventions import CHOICES, CONVENTIONS, Convention, is_only_ignored
from reid_ref.disk import PathLike, path_of, read_lines, unique
from reid_ref.measures import printed
from reid_ref.ranking.good_ranks import GoodRanks
from reid_ref.result import (
    RANK_COLUMNS, RANKS, SAVED, STATUSES, Counts, Fingerprints, PerQuery, Result, in_mean)
from reid_ref.result.means import AVERAGES, NO_RANKS, Expectation, over_trials
from reid_ref.result.stored import RANK, Stored, checks, impossible
from reid_ref.result.systems import check_same_convention
from reid_ref.signature import Signature, convention_of, distance_of, fields_of, parse_signature

#: What is read here, for messages.
EXPECTED = "what reid-ref evaluate FILE --save OUT.json or Result.save wrote"
PER_QUERY = "what reid-ref evaluate FILE --per-query OUT.json writes"
SUFFIXES = (".json", ".csv")
#: How far a number may be off the ranks that it is of: the sums of another machine differ in their
#: last bits, and those in float32 by more.
NEAR = 1e-6


def load(path: PathLike) -> Result:
    """Read a result that `Result.save` or `reid-ref evaluate FILE --save OUT.json` wrote.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    Result
        As it was saved: the same doubles, ranks, labels and convention.

    Raises
    ------
    InputError
        The file cannot be read, is damaged or cut, was not saved so or by a newer version, or its
        numbers contradict its ranks; the message names the file and the field.

    Examples
    --------
    >>> import os, tempfile
    >>> import reid_ref
    >>> query, gallery = reid_ref.Labels([7], [1]), reid_ref.Labels([7, 8, 7], [2, 2, 3])
    >>> result = reid_ref.evaluate_distances([[.2, .1, .3]], query, gallery)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "ours.json")
    ...     result.save(path)
    ...     loaded = load(path)
    >>> loaded.mAP == result.mAP, loaded.ranks.rank, loaded.convention.name
    (True, array([2, 3]), 'matlab')
    """
    result = read_stored(path, EXPECTED).result
    if result is None:
        raise InputError(f"{path}: schema", f"{SAVED}, {EXPECTED}",
                         "the values of each query without ranks", "save the result anew")
    return result


def read_stored(path: PathLike, expected: str = PER_QUERY, *, signed: bool = True,
                must_hold: bool = True) -> Stored:
    """Read a saved result, or what `evaluate --per-query` wrote; JSON but for a name in .csv.

    `expected` is for messages: what the file should be. `signed`: CSV, which has no signature, is
    refused. `must_hold`: so are summaries that contradict the values of the queries, values that
    contradict ranks, and what no evaluation gives.

    Raises
    ------
    InputError
        It cannot be read, or is not such a file: the query and the key are named.
    """
    value = _read_object(path, expected)
    of_saved = _of_trials if "trials" in value else _of_result
    stored = (of_saved(_Values(value, str(path), EXPECTED)) if value.get("schema") == SAVED
              else _of_rows(_Values(value, str(path), expected), signed))
    if must_hold:
        for check in checks(stored):
            if not check.agrees and not _is_near(check.written, check.computed):
                raise InputError(f"{path}: {check.name}", got=f"contradicts what the "
                                 f"{check.source} give", remedy="see reid-ref verify, or save "
                                 "the result anew")
        for text in impossible(stored):
            raise InputError(path, got=text)
    return stored


def _read_object(path: PathLike, expected: str) -> dict[str, Any]:
    """Return the object of a JSON file, or the rows of a CSV file, not yet checked."""
    is_csv = path_of(path).suffix.lower() == ".csv"
    lines = list(read_lines(Path(path), expected))
    try:
        value = ({"queries": [_csv_row(row) for row in csv.DictReader(lines)]} if is_csv
                 else json.loads("\n".join(lines),
                                 object_pairs_hook=partial(unique, path, "key")))
    except InputError:
        raise
    except (ValueError, RecursionError, csv.Error) as error:
        raise InputError(path, got=f"cannot be read as {'CSV' if is_csv else 'JSON'} ({error})",
                         remedy=f"expected {expected}") from None
    if not isinstance(value, dict):
        raise InputError(path, f"one JSON object, {expected}")
    schema = value.get("schema", 1)
    if type(schema) is not int or not 1 <= schema <= SAVED:
        raise InputError(f"{path}: schema", f"a version up to {SAVED}", _shown(schema),
                         "take a newer reid-ref")
    if "detection_box" in value:
        raise InputError(path, expected, "boxes, as for person search", "evaluate them by "
                         "their protocol: reid-ref evaluate FILE --protocol cuhk-sysu; `reid-ref "
                         "protocols` lists all")
    if "signature" in value and not {"queries", "trials"} & value.keys():
        raise InputError(path, "the values of each query", "summaries alone",
                         "write them with reid-ref evaluate FILE --per-query OUT.json")
    if not is_csv:
        _Values(value, str(path), expected).value("signature", _TEXT)
    return value


def _csv_row(row: dict[str, Any]) -> dict[str, Any]:
    """Return the values as JSON has them; the others are texts."""
    values = {}
    for key, text in row.items():
        if isinstance(text, str):  # not where a line is too short, or too long
            try:
                values[key] = json.loads(text.lower() or "null")
            except ValueError:
                values[key] = text
    return values


def _shown(value: Any) -> str:
    """Return the beginning of a JSON value, for messages."""
    return json.dumps(value)[:40]


def _is_near(written: Any, computed: Any) -> bool:
    try:
        first, second = (np.array(value, dtype=np.float64) for value in (written, computed))
    except (TypeError, ValueError, OverflowError):
        return False
    return first.shape == second.shape and np.allclose(first, second, 0, NEAR, equal_nan=True)


class _Kind(NamedTuple):
    """What a JSON value may be, in words and as a check."""

    words: str
    fits: Callable[[Any], bool]


_TEXT = _Kind("text", lambda value: type(value) is str)
_FLAG = _Kind("true or false", lambda value: type(value) is bool)
_WHOLE = _Kind("whole numbers below 2**63",
               lambda value: type(value) is int and -2**63 <= value < 2**63)
_CRC = _Kind("eight hexadecimal digits", lambda value: type(value) is str and bool(
    re.fullmatch("[0-9a-f]{8}", value)))
_COUNT = _Kind("whole numbers from 0, below 2**63",
               lambda value: type(value) is int and 0 <= value < 2**63)
_RANK = _Kind("ranks from 1, or null",
              lambda value: value is None or type(value) is int and 0 < value < 2**63)
_STATUS = _Kind(f"one of {', '.join(STATUSES)}", lambda value: type(value) is str and (
    value in STATUSES or is_only_ignored(value)))
# Not above the bound: NaN, infinity, and what no double holds.
_NUMBER = _Kind("numbers or null", lambda value: value is None or (
    type(value) in (int, float) and abs(value) < 2**63))
_LIST = _Kind("a list", lambda value: type(value) is list)
_ROWS = _Kind("a list of queries", lambda value: type(value) is list and len(value) > 0)
_OBJECT = _Kind("an object", lambda value: type(value) is dict)

#: What a saved result has, besides Rank-k.
_KEYS = {"schema", "mAP", "mINP", "cmc", "counts", "counted", "signature", "labels", "convention",
         "queries", "ranks"}
#: What a saved expectation has.
_OF_EXPECTATION = _KEYS - {"ranks"} | {"expected"}
#: What a saved mean over trials has.
_OF_TRIALS = {"schema", "mAP", "mINP", "cmc", "counts", "counted", "signature", "average",
              "trials"}
#: Each value of a query.
_COLUMNS = {
    "identity": _WHOLE, "camera": _WHOLE, "status": _STATUS, "counted": _FLAG, "ap": _NUMBER,
    "inp": _NUMBER, "first_match": _RANK, "n_good": _COUNT, "n_junk": _COUNT}


class _Values(NamedTuple):
    """An object of a file, whose values are checked as they are read."""

    values: Any
    where: str
    expected: str

    def value(self, key: str, kind: _Kind) -> Any:
        """Return the value of a key."""
        values = self.values if isinstance(self.values, dict) else {}
        if key not in values or not kind.fits(values[key]):
            raise InputError(f"{self.where}: {key}", self.expected,
                             _shown(values[key]) if key in values else "none")
        return values[key]

    def inside(self, key: str, known: Container[str]) -> _Values:
        """Return the object that is the value of a key, which has no keys but these."""
        return _Values(self.value(key, _OBJECT), f"{self.where}: {key}", self.expected).of(known)

    def of(self, known: Container[str]) -> _Values:
        """Return it; refuse a key that is none of these, and no Rank-k."""
        for key in self.values:
            if key not in known and not RANK.fullmatch(key):
                raise InputError(f"{self.where}: {key}", got="no key of a saved result")
        return self

    def column(self, key: str, kind: _Kind, n: int | None = None) -> list[Any]:
        """Return a list of such values, `n` of them."""
        values: list[Any] = self.value(key, _LIST)
        if n is not None and len(values) != n:
            raise InputError(self.where, got=f"{key}: expected {n} values, got {len(values)}",
                             remedy="is the file complete?")
        if set(map(type, values)) == {int} and kind.fits(min(values)) and kind.fits(max(values)):
            return values  # the common case, and the quick one
        for k, value in enumerate(values):
            if not kind.fits(value):
                raise InputError(self.where, got=f"{key}: expected {kind.words}, got "
                                 f"{_shown(value)} in entry {k}")
        return values


def _of_rows(file: _Values, signed: bool) -> Stored:
    """Return a file with an object, or a line, for each query."""
    rows = [_Values(row, f"{file.where}: query {k}", file.expected)
            for k, row in enumerate(file.value("queries", _ROWS))]
    for k, row in enumerate(rows):
        if (number := row.value("query", _WHOLE)) != k:
            raise InputError(f"{row.where}: query", f"{k}, for queries are numbered from 0, in "
                             "order", number, "write the file again")
    columns = {key: [row.value(key, kind) for row in rows] for key, kind in _COLUMNS.items()}
    per_query = _per_query(columns, (*STATUSES, *columns["status"]))
    counted = np.array(columns["counted"])
    if "signature" in file.values:
        signature = _parsed(file)
        with errors_at(file.where):
            convention = convention_of(signature)
        return Stored(file.where, file.values, per_query, counted, signature, convention,
                      _counts(file), _fingerprints(file))
    if signed:
        raise InputError(file.where, "JSON, which has the signature", "CSV", "write it with "
                         "reid-ref evaluate FILE --per-query OUT.json")
    if not np.isin(per_query.status, ("ok", "not loaded")).all():
        warn("a .csv file does not name its convention; a query without a match that counts is "
             "taken as 0; --per-query FILE.json says it")
    return Stored(file.where, file.values, per_query, counted, Signature({}),
                  CONVENTIONS["matlab"])


def _of_trials(file: _Values) -> Stored:
    """Return the mean over the trials that a file has, each one a saved result."""
    file.of(_OF_TRIALS)
    trials = [_of_result(_Values(values, f"{file.where}: trial {k}", EXPECTED))
              for k, values in enumerate(file.column("trials", _OBJECT), 1)]
    results = [trial.result for trial in trials if trial.result is not None]
    if not results:
        raise InputError(f"{file.where}: trials", EXPECTED, "none")
    check_same_convention({trial.path: trial for trial in trials})
    average = file.value("average", _TEXT)
    signature = [_signature(file, result.convention) for result in results][0]
    check_choice(average, f"{file.where}: average", AVERAGES)
    result = over_trials(results, average, signature)
    return Stored(file.where, file.values, result.per_query, in_mean(result), signature,
                  result.convention, result.counts, result.fingerprints, result, tuple(trials))


def _of_result(file: _Values) -> Stored:
    """Return a saved result, each value checked by itself."""
    is_expected = "expected" in file.values
    file.of(_OF_EXPECTATION if is_expected else _KEYS)
    queries = file.inside("queries", _COLUMNS)
    n = len(queries.column("status", _STATUS))
    columns = {key: queries.column(key, kind, n if key != "camera" or queries.values.get(key)
                                   else 0) for key, kind in _COLUMNS.items()}
    counts = _counts(file)
    per_query = _per_query(columns, (*counts.status, *columns["status"]))
    convention = _convention(file)
    mAP, mINP = np.array([file.value(key, _NUMBER) for key in ("mAP", "mINP")], np.float64)
    signature = _signature(file, convention)
    cmc = np.array(file.column("cmc", _NUMBER), np.float64)
    numbers: dict[str, Any] = {
        "mAP": float(mAP), "cmc": cmc, "mINP": float(mINP), "per_query": per_query,
        "counts": counts, "counted": file.value("counted", _COUNT), "signature": signature,
        "convention": convention, "fingerprints": _fingerprints(file)}
    result = (Expectation(**numbers, ranks=NO_RANKS, **_expected(
        file, int(per_query.n_good.sum()), len(cmc))) if is_expected else
        Result(**numbers, ranks=_ranks(file, per_query, counts.gallery)))
    return Stored(file.where, file.values, per_query, np.array(columns["counted"]), signature,
                  convention, counts, result.fingerprints, result)


def _fingerprints(file: _Values) -> Fingerprints:
    labels = file.inside("labels", Fingerprints._fields)
    return Fingerprints(*(labels.value(side, _CRC) for side in Fingerprints._fields))


def _per_query(columns: dict[str, list[Any]], names: Iterable[str]) -> PerQuery:
    whole = {name: np.array([value or 0 for value in columns[name]], np.int64)
             for name in ("identity", "camera", "first_match", "n_good", "n_junk")}
    return PerQuery(
        ap=np.array(columns["ap"], np.float64), inp=np.array(columns["inp"], np.float64), **whole,
        status=np.array(columns["status"], dtype=f"<U{max(map(len, names))}"))


def _ranks(file: _Values, per_query: PerQuery, n_gallery: int) -> GoodRanks:
    ranks = file.inside("ranks", RANK_COLUMNS)
    n_ranked = sum(ranks.column("found", _COUNT))
    columns = {name: np.array(ranks.column(
        name, _WHOLE if name == "image" else _COUNT,
        n_ranked if name in ("rank", "nearer", "tied", "image") else len(per_query.status)),
        np.int64) for name in RANK_COLUMNS}
    good_ranks = GoodRanks(n_good=per_query.n_good, n_junk=per_query.n_junk, **columns)
    for text, bad in _contradictions(good_ranks, n_gallery):
        if bad.any():
            raise InputError(ranks.where, got=f"{text}, which entry {int(np.argmax(bad))} is not")
    return good_ranks


def _contradictions(ranks: GoodRanks, n_gallery: int) -> Iterator[tuple[str, Any]]:
    """Yield what must hold of every entry, and where it does not."""
    query, rank, nearer = ranks.query, ranks.rank, ranks.nearer
    yield "found: expected no more than the query's n_good", ranks.found > ranks.n_good
    yield "rank: expected at most the query's n_kept", rank > ranks.n_kept[query]
    yield "rank: expected ascending ranks of each query", np.append(
        False, (np.diff(query) == 0) & (np.diff(rank) <= 0))
    yield "nearer: expected less than rank, and at least rank - tied", (
        (nearer >= rank) | (nearer + ranks.tied < rank))
    yield "tied: expected at most n_kept - nearer", nearer + ranks.tied > ranks.n_kept[query]
    yield "image: expected a number below that of gallery images", (
        (ranks.image < -1) | (ranks.image >= n_gallery))


def _expected(saved: _Values, n: int, length: int) -> dict[str, Any]:
    """Return what an expectation is the mean of: `n` queries, a curve to rank `length`."""
    file = saved.inside("expected", ("weight", "match", "sd"))
    columns = {name: np.array(file.column(name, _NUMBER, size), np.float64)
               for name, size in (("weight", n), ("match", n * length))}
    for name, values in columns.items():
        if not ((values >= 0) & (values <= 1)).all():
            raise InputError(f"{file.where}: {name}", "numbers from 0 to 1", "another")
    names = printed(k for k in RANKS if k <= length)
    sd = file.inside("sd", names)
    return {"weight": columns["weight"], "match": columns["match"].reshape(n, length),
            "draws": dict(zip(names, np.array([sd.value(name, _NUMBER) for name in names],
                                              np.float64).tolist()))}


def _counts(file: _Values) -> Counts:
    counts = file.inside("counts", Counts.__dataclass_fields__)
    numbers: dict[str, Any] = {field.name: counts.value(field.name, _COUNT)
                               for field in fields(Counts) if field.name != "status"}
    for name, number in numbers.items():
        if name.startswith("gallery_") and number > numbers["gallery"]:
            raise InputError(counts.where, got=f"{name}: expected at most {numbers['gallery']}, "
                             f"the gallery, got {number}")
    names = dict.fromkeys((*STATUSES, *filter(is_only_ignored, counts.value("status", _OBJECT))))
    status = counts.inside("status", names)
    return Counts(**numbers, status={name: status.value(name, _COUNT) for name in names})


def _convention(file: _Values) -> Convention:
    """Return the convention, which checks its choices itself."""
    choices = file.inside("convention", Convention.__dataclass_fields__)
    for key in ("source", "loader", "base", "measure"):
        choices.value(key, _TEXT)
    for key in ("also", "oddities", "ignored"):
        choices.column(key, _TEXT)
    try:
        return Convention(**choices.values)
    except (InputError, TypeError) as error:
        raise InputError(choices.where, got=error) from None


def _parsed(file: _Values) -> Signature:
    """Return the signature of a file, or of one of its trials."""
    text = file.value("signature", _TEXT)
    with errors_at(file.where):
        return parse_signature(text)


def _signature(file: _Values, convention: Convention) -> Signature:
    """Return the signature of a saved result, which must be that of its convention."""
    signature, expected = _parsed(file), fields_of(convention)
    measured = distance_of(convention.metric, convention.normalize)
    expected.update((key, value) for key, value in measured.items() if key in signature)
    for key in ("convention", *CHOICES, "top_k", *measured):
        if signature.get(key) != expected.get(key):
            raise InputError(file.where, got=f"signature: expected {key} {expected.get(key)}, as "
                             f"the convention has, got {signature.get(key)}")
    return signature
